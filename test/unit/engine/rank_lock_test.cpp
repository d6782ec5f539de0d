// SPDX-License-Identifier: Apache-2.0
#include "engine/rank_lock.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace headway::engine {
namespace {

TEST(RankLock, ThreadsThatMetLongAgoMeetNoMore)
{
    constexpr int sweeps = 10'000;  // more than it remembers
    RankLock lock;
    lock.enable(0);
    const auto visit = [&] {
        lock.lock();
        lock.unlock();
    };
    std::thread(visit).join();  // from now on it is the first thread's no more
    lock.lock();
    EXPECT_FALSE(lock.meets_threads());
    std::thread other(visit);
    while (!lock.is_wanted()) {
        std::this_thread::yield();
    }
    lock.unlock();
    other.join();
    lock.lock();
    EXPECT_TRUE(lock.meets_threads());
    EXPECT_TRUE(lock.meets_threads());
    for (int sweep = 0; sweep < sweeps; ++sweep) {
        (void)lock.meets_threads();
    }
    EXPECT_FALSE(lock.meets_threads());
    lock.unlock();
}

TEST(RankLock, WhoHasItIsTold)
{
    RankLock lock;
    lock.enable(0);
    EXPECT_FALSE(lock.is_own());
    lock.lock();
    EXPECT_TRUE(lock.is_own());
    std::thread([&] { EXPECT_FALSE(lock.is_own()); }).join();
    lock.unlock();
    EXPECT_FALSE(lock.is_own());
}

}  // namespace
}  // namespace headway::engine
