// SPDX-License-Identifier: Apache-2.0
#include "platform/thread.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <thread>

#include <gtest/gtest.h>

namespace headway::platform {

namespace {

/// What the system says of the calling thread; as it defines it.
struct Attributes {
    std::uint32_t size = 0;
    std::uint32_t policy = 0;
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t runtime_ns = 0;
    std::uint64_t deadline_ns = 0;
    std::uint64_t period_ns = 0;
};

Attributes attributes_of_this_thread()
{
    Attributes attributes;
    EXPECT_EQ(::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0U), 0);
    return attributes;
}

bool knows_short_turns()
{
    utsname name{};
    int major = 0;
    int minor = 0;
    return ::uname(&name) == 0 && std::sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
           (major > 6 || (major == 6 && minor >= 12));
}

}  // namespace

TEST(Thread, ShortTurnsAreOfTheUsualClassAndItsPriority)
{
    std::thread([] {
        const Attributes before = attributes_of_this_thread();
        take_short_turns();
        const Attributes after = attributes_of_this_thread();
        EXPECT_EQ(after.policy, static_cast<std::uint32_t>(SCHED_OTHER));
        EXPECT_EQ(after.nice, before.nice);
        if (!knows_short_turns()) {
            GTEST_SKIP() << "the system has one length of turns for all threads";
        }
        EXPECT_EQ(after.runtime_ns, 100'000U);
    }).join();
}

TEST(Thread, ShortTurnsAreNotForWhoHasAClassOfItsOwn)
{
    std::thread([] {
        give_way_to_all();
        const Attributes before = attributes_of_this_thread();
        take_short_turns();
        const Attributes after = attributes_of_this_thread();
        EXPECT_EQ(after.policy, static_cast<std::uint32_t>(SCHED_IDLE));
        EXPECT_EQ(after.runtime_ns, before.runtime_ns);
    }).join();
}

TEST(Thread, WhoGivesWayIsOfTheClassThatDoes)
{
    std::thread([] {
        give_way();
        EXPECT_EQ(::sched_getscheduler(0), SCHED_BATCH);
    }).join();
}

}  // namespace headway::platform
