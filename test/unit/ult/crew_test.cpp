// SPDX-License-Identifier: Apache-2.0
#include "ult/crew.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cfenv>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "crew_tasks.hpp"

namespace headway::ult {
namespace {

thread_local std::size_t local_number = 0;
thread_local std::string local_text;

TEST(Crew, KeepsWhatBelongsToAThreadAcrossSwitches)
{
    std::atomic<int> wrong{0};
    run_tasks(with_workers(2), 20, [&](Crew& crew, std::size_t i) {
        local_number = i;
        local_text = "task " + std::to_string(i) + " has a text that is too long to lie in place";
        const std::string text = local_text;
        const std::thread::id self = std::this_thread::get_id();
        for (int round = 0; round < 500; ++round) {
            errno = static_cast<int>(i) + round;
            void* const block = std::malloc(64 + i);
            std::memset(block, static_cast<int>(i), 64 + i);
            crew.yield();
            const bool is_own = errno == static_cast<int>(i) + round && local_number == i &&
                                local_text == text && self == std::this_thread::get_id() &&
                                static_cast<unsigned char*>(block)[63] == i;
            wrong += is_own ? 0 : 1;
            std::free(block);
        }
    });
    EXPECT_EQ(wrong, 0);
}

TEST(Crew, CatchesInATaskWhatWasThrownInIt)
{
    std::atomic<int> caught{0};
    run_tasks(with_workers(2), 8, [&](Crew& crew, std::size_t i) {
        for (int round = 0; round < 100; ++round) {
            try {
                crew.yield();
                throw std::runtime_error(std::to_string(i));
            } catch (const std::runtime_error& error) {
                crew.yield();  // others throw and catch while this one has an exception in hand
                caught += error.what() == std::to_string(i) ? 1 : 0;
            }
        }
    });
    EXPECT_EQ(caught, 800);
}

TEST(Crew, KeepsTheRoundingOfEachTask)
{
    std::atomic<int> wrong{0};
    run_tasks(with_workers(2), 4, [&](Crew& crew, std::size_t i) {
        const int mode = i % 2 == 0 ? FE_UPWARD : FE_DOWNWARD;
        std::fesetround(mode);
        for (int round = 0; round < 100; ++round) {
            crew.yield();
            volatile double third = 1.0;
            third = third / 3.0;
            wrong +=
                (third > 1.0 / 3.0) == (mode == FE_UPWARD) && std::fegetround() == mode ? 0 : 1;
        }
        std::fesetround(FE_TONEAREST);
    });
    EXPECT_EQ(wrong, 0);
}

TEST(Crew, RunsReadyTasksInTurn)
{
    std::vector<std::size_t> order;
    run_tasks(with_workers(1), 3, [&](Crew& crew, std::size_t i) {
        for (int round = 0; round < 4; ++round) {
            order.push_back(i);
            crew.yield();
        }
    });
    EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}));
}

TEST(Crew, SleepsOnAWordUntilItIsWoken)
{
    std::atomic<std::uint32_t> word{0};
    std::atomic<int> awake{0};
    run_tasks(with_workers(2), 10, [&](Crew& crew, std::size_t i) {
        if (i == 9) {
            crew.yield();
            word.store(1);
            crew.wake(word, INT_MAX);
            return;
        }
        while (word.load() == 0) {
            (void)crew.wait(word, 0, never_ns);
        }
        ++awake;
    });
    EXPECT_EQ(awake, 9);
}

TEST(Crew, PassesAWordOnAroundARing)
{
    constexpr std::size_t count = 16;
    constexpr std::uint32_t rounds = 400;
    std::vector<std::atomic<std::uint32_t>> words(count);
    run_tasks(with_workers(3), count, [&](Crew& crew, std::size_t i) {
        for (std::uint32_t round = 1; round <= rounds; ++round) {
            if (i != 0) {
                while (words[i].load() != round) {
                    (void)crew.wait(words[i], round - 1, never_ns);
                }
            }
            std::atomic<std::uint32_t>& next = words[(i + 1) % count];
            next.store(round);
            crew.wake(next, 1);
            if (i == 0) {
                while (words[0].load() != round) {
                    (void)crew.wait(words[0], round - 1, never_ns);
                }
            }
        }
    });
    EXPECT_EQ(words[0].load(), rounds);
}

TEST(Crew, SleepsNotOnAWordThatHasChanged)
{
    std::atomic<std::uint32_t> word{5};
    platform::FutexWait slept{};
    run_tasks(with_workers(1), 1,
              [&](Crew& crew, std::size_t) { slept = crew.wait(word, 4, never_ns); });
    EXPECT_EQ(slept, platform::FutexWait::value_differed);
}

TEST(Crew, WakesATaskAtItsDeadline)
{
    std::atomic<std::uint32_t> word{0};
    std::atomic<int> timed_out{0};
    std::atomic<int> early{0};
    run_tasks(with_workers(2), 6, [&](Crew& crew, std::size_t i) {
        const std::int64_t due_ns =
            platform::monotonic_ns() + 1'000'000 * static_cast<std::int64_t>(i + 1);
        const auto slept = crew.wait(word, 0, due_ns);
        timed_out += slept == platform::FutexWait::timed_out ? 1 : 0;
        early += platform::monotonic_ns() < due_ns ? 1 : 0;
        crew.sleep_until(due_ns + 2'000'000);
        early += platform::monotonic_ns() < due_ns + 2'000'000 ? 1 : 0;
    });
    EXPECT_EQ(timed_out, 6);
    EXPECT_EQ(early, 0);
}

TEST(Crew, WakesTasksFromThreadsAndThreadsFromTasks)
{
    std::atomic<std::uint32_t> to_task{0};
    std::atomic<std::uint32_t> to_thread{0};
    constexpr std::uint32_t rounds = 200;
    Crew crew(with_workers(2));
    const std::function<void(std::size_t)> body = [&](std::size_t) {
        for (std::uint32_t round = 1; round <= rounds; ++round) {
            to_thread.store(round);
            crew.wake(to_thread, 1);
            while (to_task.load() != round) {
                (void)crew.wait(to_task, round - 1, never_ns);
            }
        }
    };
    {
        Tasks tasks(crew, 1, body);
        ASSERT_TRUE(crew.start());
        for (std::uint32_t round = 1; round <= rounds; ++round) {
            while (to_thread.load() != round) {
                (void)crew.wait(to_thread, round - 1, never_ns);
            }
            to_task.store(round);
            crew.wake(to_task, 1);
        }
    }
    crew.stop();
    EXPECT_EQ(to_task.load(), rounds);
}

TEST(Crew, RunsOthersWhileATaskKeepsItsWorker)
{
    // The first task spins until the last one has run, and neither yields nor sleeps.
    std::atomic<bool> has_run{false};
    run_tasks(
        with_workers(1), 3,
        [&](Crew&, std::size_t i) {
            if (i == 2) {
                has_run = true;
            }
            while (!has_run) {
            }
        },
        [](const Crew& crew) {
            EXPECT_GE(crew.counters().evictions, 1U);
            EXPECT_GE(crew.counters().spare_workers, 1U);
        });
    EXPECT_TRUE(has_run);
}

TEST(Crew, UsesEvictedWorkersAgain)
{
    // Each round one task spins until the other has run: a core is taken from its worker each time.
    constexpr std::uint32_t rounds = 10;
    std::atomic<std::uint32_t> turn{0};
    run_tasks(
        with_workers(1), 2,
        [&](Crew& crew, std::size_t i) {
            for (std::uint32_t round = 0; round < rounds; ++round) {
                while (turn.load() % 2 != i) {
                }
                turn.fetch_add(1);
                crew.yield();
            }
        },
        [](const Crew& crew) { EXPECT_LE(crew.counters().spare_workers, 3U); });
    EXPECT_EQ(turn.load(), 2 * rounds);
}

std::uint64_t digest_of(std::uint64_t seed, std::vector<std::size_t>& order)
{
    CrewOptions options = with_workers(1);
    options.seed = seed;
    options.look_ns = 0;
    std::uint64_t digest = 0;
    std::atomic<std::uint32_t> word{0};
    run_tasks(
        options, 5,
        [&](Crew& crew, std::size_t i) {
            for (int round = 0; round < 20; ++round) {
                order.push_back(i);
                crew.yield();
                if (i == 4) {
                    word.fetch_add(1);
                    crew.wake(word, 1);
                } else if (word.load() == 0) {
                    (void)crew.wait(word, 0, never_ns);
                }
            }
            word.fetch_add(1);
            crew.wake(word, INT_MAX);
        },
        [&](const Crew& crew) { digest = crew.digest(); });
    return digest;
}

TEST(Crew, RepeatsAnOrderBySeed)
{
    std::vector<std::size_t> first;
    std::vector<std::size_t> again;
    std::vector<std::size_t> other;
    const std::uint64_t digest = digest_of(7, first);
    EXPECT_EQ(digest_of(7, again), digest);
    EXPECT_EQ(again, first);
    EXPECT_NE(digest_of(8, other), digest);
    EXPECT_NE(other, first);
}

TEST(Crew, LetsNoneOfManyStarve)
{
    // Everybody goes on until each has had its turns: one that starves would stop them all.
    constexpr std::size_t count = 64;
    constexpr int turns_each = 200;
    std::atomic<std::size_t> satisfied{0};
    run_tasks(with_workers(2), count, [&](Crew& crew, std::size_t) {
        for (int turns = 0; satisfied != count; ++turns) {
            satisfied += turns == turns_each ? 1 : 0;
            crew.yield();
        }
    });
    EXPECT_EQ(satisfied, count);
}

std::atomic<std::uint32_t> shown_number{0};

TEST(Crew, HasATaskShowItselfThatSleeps)
{
    CrewOptions options = with_workers(2);
    options.show_task = [] { shown_number = own_task()->number; };
    Crew crew(options);
    std::atomic<std::uint32_t> word{0};
    std::array<Task*, 4> tasks{};
    std::atomic<int> asleep{0};
    const std::function<void(std::size_t)> body = [&](std::size_t i) {
        tasks[i] = own_task();
        ++asleep;
        while (word.load() == 0) {
            (void)crew.wait(word, 0, never_ns);
        }
    };
    {
        const Tasks all(crew, tasks.size(), body);
        ASSERT_TRUE(crew.start());
        while (asleep != static_cast<int>(tasks.size())) {
            crew.yield();
        }
        for (const std::uint32_t number : {3U, 1U, 2U}) {
            while (shown_number != number) {
                crew.inspect(*tasks[number], 0);
            }
        }
        word = 1;
        crew.wake(word, INT_MAX);
    }
    crew.stop();
}

TEST(Crew, EndsATaskWithoutItsThread)
{
    // The birth thread sleeps on, detached: nobody may free what its stack holds.
    auto* const task = new Task;
    auto* const crew = new Crew(with_workers(1));
    auto* const word = new std::atomic<std::uint32_t>{0};
    std::thread([=] {
        if (crew->enter(*task)) {
            word->store(1);
            crew->wake(*word, 1);
            crew->end();
        }
    }).detach();
    wait_for_birth(task->birth);
    crew->make_ready(*task, 0, 0);
    ASSERT_TRUE(crew->start());
    while (word->load() == 0) {
        (void)crew->wait(*word, 0, never_ns);
    }
    EXPECT_EQ(word->load(), 1U);
}

TEST(Crew, ServesThreadsThatAreNoTasks)
{
    Crew crew(with_workers(1));
    EXPECT_EQ(own_task(), nullptr);
    crew.yield();
    const std::atomic<std::uint32_t> word{0};
    EXPECT_EQ(crew.wait(word, 1, never_ns), platform::FutexWait::value_differed);
    EXPECT_EQ(crew.wait(word, 0, 1), platform::FutexWait::timed_out);
    crew.wake(word, 1);
}

/// As another process would have it: it changes the word and rings, and only a worker may wake.
struct Bell {
    explicit Bell(Crew& to) : crew(to) {}
    void ring()
    {
        rung.fetch_add(1, std::memory_order_release);
        platform::RealAtomics::fence_full();
        if (sleepers.load(std::memory_order_relaxed) != 0) {
            platform::system_wake(rung, 1);
        }
    }

    Crew& crew;
    std::atomic<std::uint32_t> rung{0};
    std::atomic<std::uint32_t> sleepers{0};
    std::atomic<std::uint32_t> word{0};
};

TEST(Crew, AnswersABellFromOutside)
{
    constexpr std::uint32_t rounds = 200;
    for (const std::int64_t spin_ns : {std::int64_t{0}, std::int64_t{50'000}}) {
        CrewOptions options = with_workers(2);
        options.spin_ns = spin_ns;
        Crew crew(options);
        Bell bell(crew);
        crew.listen_to({&bell.rung, &bell.sleepers,
                        [](void* argument) {
                            auto& own = *static_cast<Bell*>(argument);
                            (void)own.crew.wake(own.word, 1);
                        },
                        &bell});
        ASSERT_TRUE(crew.start());
        std::atomic<std::uint32_t> seen{0};
        const std::function<void(std::size_t)> follow = [&](std::size_t) {
            for (std::uint32_t round = 0; round < rounds; ++round) {
                while (bell.word.load(std::memory_order_acquire) == round) {
                    (void)crew.wait(bell.word, round, never_ns);
                }
                seen.store(round + 1, std::memory_order_release);
            }
        };
        Tasks tasks(crew, 1, follow);
        for (std::uint32_t round = 0; round < rounds; ++round) {
            bell.word.store(round + 1, std::memory_order_release);
            bell.ring();
            while (seen.load(std::memory_order_acquire) == round) {
                std::this_thread::yield();
            }
        }
        tasks.join();
        crew.stop();
    }
}

}  // namespace
}  // namespace headway::ult
