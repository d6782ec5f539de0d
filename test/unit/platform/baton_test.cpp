// SPDX-License-Identifier: Apache-2.0
#include "platform/baton.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "platform/futex.hpp"
#include "platform/thread.hpp"
#include "platform/timer.hpp"

#if defined(__SANITIZE_THREAD__)
/// A program that ends at a standstill has threads that nobody will join.
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options()
{
    return "report_thread_leaks=0";
}
#endif

namespace headway::platform {
namespace {

/// Threads that take steps beside each other write down whose turn it was.
struct Schedule {
    std::vector<int> turns;
    std::uint64_t digest = 0;
    std::uint64_t steps = 0;
};

Schedule run_threads(std::uint64_t seed, int count, int steps)
{
    Schedule run;
    Baton baton(seed);
    std::vector<Thread> threads(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
        EXPECT_TRUE(threads[static_cast<std::size_t>(i)].start([&run, i, steps] {
            for (int step = 0; step < steps; ++step) {
                run.turns.push_back(i);
                scheduling_point();
            }
        }));
    }
    for (Thread& thread : threads) {
        thread.join();
    }
    run.digest = baton.digest();
    run.steps = baton.steps();
    return run;
}

int changes(const std::vector<int>& turns)
{
    int count = 0;
    for (std::size_t i = 1; i < turns.size(); ++i) {
        count += turns[i] != turns[i - 1] ? 1 : 0;
    }
    return count;
}

TEST(Baton, ASeedRepeatsItsScheduleAndOthersDiffer)
{
    std::vector<std::uint64_t> digests;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const Schedule first = run_threads(seed, 4, 60);
        const Schedule again = run_threads(seed, 4, 60);
        EXPECT_EQ(first.turns.size(), 240U);
        EXPECT_EQ(first.turns, again.turns) << "seed " << seed;
        EXPECT_EQ(first.digest, again.digest) << "seed " << seed;
        EXPECT_EQ(first.steps, again.steps) << "seed " << seed;
        EXPECT_GE(changes(first.turns), 4) << "seed " << seed;
        for (const std::uint64_t other : digests) {
            EXPECT_NE(first.digest, other) << "seed " << seed;
        }
        digests.push_back(first.digest);
    }
}

TEST(Baton, WithoutItTheSystemSchedules)
{
    EXPECT_EQ(own_scheduler, nullptr);
    {
        const Baton baton(1);
        EXPECT_EQ(own_scheduler, &baton);
        const std::int64_t now_ns = monotonic_ns();
        EXPECT_EQ(monotonic_ns(), now_ns);
        yield_core();
        EXPECT_GT(monotonic_ns(), now_ns);
    }
    EXPECT_EQ(own_scheduler, nullptr);
}

TEST(Baton, SleepersWakeInTheOrderOfTheirDeadlines)
{
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Baton baton(seed);
        const std::int64_t begin_ns = monotonic_ns();
        const std::int64_t hour_ns = 3'600'000'000'000;
        const std::atomic<std::uint32_t> word{0};
        std::vector<int> woken;
        std::vector<Thread> threads(5);
        for (int i = 0; i < 5; ++i) {
            ASSERT_TRUE(threads[static_cast<std::size_t>(i)].start([&, i] {
                const Deadline deadline = Deadline::at_ns(begin_ns + (5 - i) * hour_ns);
                while (futex_wait(word, 0, deadline) != FutexWait::timed_out) {
                }
                EXPECT_TRUE(deadline.has_passed());
                woken.push_back(i);
            }));
        }
        for (Thread& thread : threads) {
            thread.join();
        }
        EXPECT_EQ(woken, (std::vector<int>{4, 3, 2, 1, 0})) << "seed " << seed;
        EXPECT_GE(monotonic_ns(), begin_ns + 5 * hour_ns);
        EXPECT_LT(monotonic_ns(), begin_ns + 6 * hour_ns);
    }
}

TEST(Baton, AWakeUpEndsASleepWithoutTime)
{
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        Baton baton(seed);
        std::atomic<std::uint32_t> word{0};
        int rounds = 0;
        // Ping-pong: each waits for the other's number.
        const auto play = [&](std::uint32_t own) {
            for (std::uint32_t turn = own; turn < 40; turn += 2) {
                for (std::uint32_t seen = word.load(); seen != turn; seen = word.load()) {
                    EXPECT_NE(futex_wait(word, seen, Deadline::never()), FutexWait::timed_out);
                }
                ++rounds;
                word.store(turn + 1);
                futex_wake(word);
            }
        };
        std::vector<Thread> threads(2);
        ASSERT_TRUE(threads[0].start([&] { play(0); }));
        ASSERT_TRUE(threads[1].start([&] { play(1); }));
        for (Thread& thread : threads) {
            thread.join();
        }
        EXPECT_EQ(rounds, 40);
    }
}

TEST(Baton, ATimerRunsOutInVirtualTime)
{
    Baton baton(3);
    TimerSleep timer;
    ASSERT_TRUE(timer.open());
    const std::int64_t moment_ns = monotonic_ns() + 7'000'000'000'000;
    Thread thread;
    std::int64_t woken_ns = 0;
    ASSERT_TRUE(start_thread(thread, [&] {
        timer.sleep();
        woken_ns = monotonic_ns();
    }));
    yield_core();
    timer.set(Deadline::at_ns(moment_ns + 1'000'000'000));
    yield_core();
    timer.set(Deadline::at_ns(moment_ns));
    thread.join();
    EXPECT_GE(woken_ns, moment_ns);
    EXPECT_LT(woken_ns, moment_ns + 1'000'000'000);
}

struct Note : WaitNote {
    Note() : WaitNote{[](const WaitNote&) { return std::string("a word that nobody writes"); }} {}
};

void stand_still()
{
    Baton baton(17);
    const std::atomic<std::uint32_t> word{0};
    Thread thread;
    Thread other;
    (void)thread.start([&] {
        own_scheduler->name_seat("rank 0");
        const Note note;
        const NotedWait noted(note);
        for (;;) {
            (void)futex_wait(word, 0, Deadline::never());
        }
    });
    (void)other.start([] { own_scheduler->name_seat("rank 1"); });
    thread.join();
}

TEST(BatonDeathTest, AStandstillEndsTheProgramWithTheSeed)
{
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(stand_still(), ::testing::ExitedWithCode(1),
                "headway: the simulated job has come to a standstill after [0-9]+ steps: rank 0 "
                "waits for a word that nobody writes, rank 1 has ended; HEADWAY_SIM=17 repeats it");
}

}  // namespace
}  // namespace headway::platform
