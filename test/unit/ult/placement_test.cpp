// SPDX-License-Identifier: Apache-2.0
//
// On which core tasks run: thefts, and the way home.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "crew_tasks.hpp"
#include "ult/crew.hpp"

namespace headway::ult {
namespace {

TEST(Placement, StealsFromAWorkerThatDoesNotSwitch)
{
    CrewOptions options = with_workers(2);
    options.look_ns = 0;  // no monitor: only a thief can help
    std::atomic<bool> has_run{false};
    run_tasks(
        options, 4,
        [&](Crew&, std::size_t i) {
            // Tasks 0 and 2 start on one core, 1 and 3 on the other.
            if (i == 2) {
                has_run = true;
            }
            while (i == 0 && !has_run) {
            }
        },
        [](const Crew& crew) { EXPECT_GE(crew.counters().steals, 1U); });
    EXPECT_TRUE(has_run);
}

TEST(Placement, ReturnsToItsFirstCoreOnceThatSwitches)
{
    CrewOptions options = with_workers(2);
    options.patience_ns = 10'000'000'000;  // no spare worker: only a thief can help
    std::atomic<bool> was_abroad{false};
    std::atomic<bool> is_over{false};
    run_tasks(options, 3, [&](Crew& crew, std::size_t i) {
        const auto is_at_home = [] { return own_task()->core == own_task()->home; };
        const auto rest = [&crew] { crew.sleep_until(platform::monotonic_ns() + 1'000); };
        if (i == 0) {
            while (!is_at_home()) {
                rest();
            }
            while (!was_abroad) {
            }
            while (!is_over) {
                rest();
            }
        } else if (i == 2) {
            while (is_at_home()) {
                rest();
            }
            was_abroad = true;
            while (!is_at_home()) {
                rest();
            }
            is_over = true;
        }
    });
    EXPECT_TRUE(is_over);
}

TEST(Placement, ReturnsToItsFirstCoreOnceThatHasNothingToRun)
{
    CrewOptions options = with_workers(2);
    options.look_ns = 0;
    options.spin_ns = 0;  // workers without work sleep, so that nobody takes the task back
    constexpr std::uint32_t rounds = 4;  // one may have woken for a rest that was over
    std::atomic<std::uint32_t> answered{0};
    std::atomic<const Core*> home{nullptr};
    std::atomic<const Core*> abroad{nullptr};
    std::atomic<std::uint32_t> word{0};
    std::atomic<bool> has_returned{false};
    Crew crew(options);
    const std::function<void(std::size_t)> body = [&](std::size_t i) {
        const auto is_at_home = [] { return own_task()->core == own_task()->home; };
        const auto rest = [&crew] { crew.sleep_until(platform::monotonic_ns() + 1'000); };
        if (i == 0) {  // keeps the home of task 2, and then leaves it for good
            while (!is_at_home()) {
                rest();
            }
            while (abroad == nullptr) {
            }
        } else if (i == 1) {
            // Has its worker look at the other core, which it does once it has nothing to run: long
            // enough that it gets there first on a slow machine, too.
            while (abroad == nullptr) {
                crew.sleep_until(platform::monotonic_ns() + 1'000'000);
            }
        } else {
            while (is_at_home()) {
                rest();
            }
            home = own_task()->home;
            abroad = own_task()->core;
            for (std::uint32_t round = 0; round < rounds && !has_returned; ++round) {
                (void)crew.wait(word, round, never_ns);
                has_returned = is_at_home();
                ++answered;
            }
        }
    };
    {
        Tasks tasks(crew, 3, body);
        ASSERT_TRUE(crew.start());
        for (std::uint32_t round = 0; round < rounds && !has_returned; ++round) {
            while (abroad == nullptr || home.load()->sleepers == 0 ||
                   abroad.load()->sleepers == 0) {
                std::this_thread::yield();
            }
            word = round + 1;
            crew.wake(word, 1);
            while (answered == round) {
                std::this_thread::yield();
            }
        }
    }
    crew.stop();
    EXPECT_TRUE(has_returned);
}

TEST(Placement, WakesAWorkerForTasksThatComputeInTurns)
{
    // Two tasks of one core compute for longer than a thief would watch, and then yield, so that
    // the core always switches between two looks of the monitor.
    constexpr std::int64_t turn_ns = 100'000;
    constexpr int turns_max = 50'000;
    std::atomic<const Core*> other{nullptr};
    std::atomic<bool> is_asleep{false};
    std::atomic<bool> is_apart{false};
    run_tasks(with_workers(2), 3, [&](Crew& crew, std::size_t i) {
        if (i == 1) {  // leaves its worker without work
            other = own_task()->home;
            return;
        }
        const auto yield = [&] {
            crew.yield();
            if (own_task()->core == other) {
                is_apart = true;
            }
        };
        while (!is_asleep && !is_apart) {
            is_asleep = is_asleep || (other != nullptr && other.load()->sleepers != 0);
            yield();
        }
        for (int turn = 0; turn < turns_max && !is_apart; ++turn) {
            const std::int64_t end_ns = platform::monotonic_ns() + turn_ns;
            while (platform::monotonic_ns() < end_ns) {
            }
            yield();
        }
    });
    EXPECT_TRUE(is_apart);
}

TEST(Placement, KeepsBoundTasksOnTheirCores)
{
    CrewOptions options = with_workers(2);
    options.keeps_tasks = true;
    std::atomic<int> moved{0};
    run_tasks(
        options, 8,
        [&](Crew& crew, std::size_t i) {
            for (int round = 0; round < 200; ++round) {
                moved += own_task()->core->index == i % 2 ? 0 : 1;
                crew.yield();
            }
        },
        [](const Crew& crew) { EXPECT_EQ(crew.counters().steals, 0U); });
    EXPECT_EQ(moved, 0);
}

}  // namespace
}  // namespace headway::ult
