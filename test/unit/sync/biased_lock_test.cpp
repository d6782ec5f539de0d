// SPDX-License-Identifier: Apache-2.0
#include "sync/biased_lock.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace headway::sync {
namespace {

void lock(BiasedLock& door)
{
    if (!door.try_lock()) {
        door.wait_and_lock();
    }
}

TEST(BiasedLock, OneThreadSharesItWithNobody)
{
    BiasedLock door;
    door.belong_to(platform::RealAtomics::self(), 1, platform::join_thread_barriers());
    EXPECT_TRUE(door.try_lock());
    EXPECT_EQ(door.depth(), 2U);
    EXPECT_TRUE(door.is_own());
    std::thread([&] { EXPECT_FALSE(door.is_own()); }).join();
    EXPECT_FALSE(door.is_wanted());
    door.unlock();
    EXPECT_EQ(door.depth(), 1U);
    door.unlock();
    EXPECT_EQ(door.is_shared(), !platform::join_thread_barriers());
}

TEST(BiasedLock, AnotherThreadIsKeptOutUntilTheFirstOneLeaves)
{
    for (const bool can_strike : {platform::join_thread_barriers(), false}) {
        BiasedLock door;
        door.belong_to(platform::RealAtomics::self(), 1, can_strike);
        int inside = 0;
        std::thread other([&] {
            lock(door);
            EXPECT_EQ(inside, 1);
            door.unlock();
        });
        while (!door.is_wanted()) {
            std::this_thread::yield();
        }
        inside = 1;
        door.unlock();
        other.join();
        EXPECT_TRUE(door.is_shared());
        EXPECT_FALSE(door.is_own());
        lock(door);
        EXPECT_TRUE(door.is_own());
        EXPECT_EQ(door.depth(), 1U);
        door.unlock();
    }
}

TEST(BiasedLock, ManyThreadsCountWithoutLoss)
{
    constexpr int rounds = 20'000;
    constexpr int others = 3;
    for (const bool can_strike : {platform::join_thread_barriers(), false}) {
        BiasedLock door;
        door.belong_to(platform::RealAtomics::self(), 0, can_strike);
        int count = 0;
        const auto add = [&] {
            for (int round = 0; round < rounds; ++round) {
                lock(door);
                lock(door);
                ++count;
                door.unlock();
                door.unlock();
            }
        };
        std::vector<std::thread> threads;
        for (int i = 0; i < others; ++i) {
            threads.emplace_back(add);
        }
        add();
        for (std::thread& thread : threads) {
            thread.join();
        }
        EXPECT_EQ(count, (others + 1) * rounds);
    }
}

}  // namespace
}  // namespace headway::sync
