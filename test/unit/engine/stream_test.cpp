// SPDX-License-Identifier: Apache-2.0
// Long messages that are under way together, and who copies them (docs/design/013).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include "unit/engine/in_process_node.hpp"
#include "unit/engine/numbered.hpp"

namespace headway::engine {
namespace {

constexpr std::uint64_t message_bytes = 1'000'001;
constexpr std::uint64_t together_min = 3'000'000;

/// So many messages of rank 0 to rank 1, which both wait for all of them.
struct Window {
    Window(std::size_t messages, Distance distance, config::CoreCachesChoice caches)
        : node(2, knobs_with(caches), distance), got(messages)
    {
        node.give_cores();
        if (caches == config::CoreCachesChoice::separate) {
            node.node().copied_by_system_min = together_min;
        }
        node.driver(0).rank().waiting_threads.store(1);
        node.driver(1).rank().waiting_threads.store(1);
        for (auto& bytes : got) {
            bytes.resize(message_bytes);
            receives.push_back(node.start_receive(1, 0, 1, bytes.data(), message_bytes));
            (void)node.start_send(0, 1, 1, sent.data(), message_bytes);
        }
    }

    static config::Knobs knobs_with(config::CoreCachesChoice caches)
    {
        config::Knobs knobs;
        knobs.core_caches = caches;
        return knobs;
    }

    /// As ranks that wait; false: it never ends, or bytes are wrong.
    bool complete()
    {
        constexpr int sweeps_max = 10'000;
        const auto is_complete = [](const Op* op) { return op->word.is_complete(); };
        for (int sweeps = 0; !std::ranges::all_of(receives, is_complete); ++sweeps) {
            if (sweeps == sweeps_max) {
                return false;
            }
            for (const std::uint32_t rank : {1U, 0U}) {
                node.driver(rank).progress();
                (void)copy_next(node.driver(rank), CopyShare::own);
            }
        }
        return std::ranges::all_of(got, [&](const auto& bytes) { return bytes == sent; });
    }

    std::uint64_t staged_bytes() { return node.driver(1).rank().counters.bytes_piped.load(); }
    InProcessNode node;
    const std::vector<std::byte> sent = numbered(message_bytes);
    std::vector<std::vector<std::byte>> got;
    std::vector<Op*> receives;
};

TEST(Stream, IsCopiedByBothRanksWhereCoresAskEachOther)
{
    Window window(4, Distance::reachable, config::CoreCachesChoice::separate);
    ASSERT_TRUE(window.complete());
    EXPECT_EQ(window.staged_bytes(), 0U);
    EXPECT_EQ(window.node.driver(1).rank().counters.bytes_copied_across.load(), 4 * message_bytes);
}

TEST(Stream, OfFewerBytesIsStaged)
{
    Window window(2, Distance::reachable, config::CoreCachesChoice::separate);
    ASSERT_TRUE(window.complete());
    EXPECT_GT(window.staged_bytes(), message_bytes);
}

TEST(Stream, IsStagedWhereCoresShareACacheOrNobodyMayReach)
{
    for (const auto& [distance, caches] :
         {std::pair{Distance::reachable, config::CoreCachesChoice::shared},
          std::pair{Distance::apart, config::CoreCachesChoice::separate}}) {
        Window window(4, distance, caches);
        ASSERT_TRUE(window.complete());
        EXPECT_GT(window.staged_bytes(), message_bytes);
    }
}

TEST(Stream, IsMoreThanTheCachesOfTwoCoresHold)
{
    InProcessNode separate(2, Window::knobs_with(config::CoreCachesChoice::separate));
    separate.give_cores();
    EXPECT_GE(separate.node().copied_by_system_min, 128U * 1024);
    EXPECT_LT(separate.node().copied_by_system_min, UINT64_MAX);
    separate.node().is_oversubscribed = true;
    separate.node().choose_buffers();
    EXPECT_EQ(separate.node().copied_by_system_min, UINT64_MAX);
}

TEST(CopyListProperty, KeepsOrderAndCountsBytesSinceItWasEmpty)
{
    std::mt19937 random(7);
    std::vector<CopyJob> jobs(8);
    std::deque<CopyJob*> model;
    std::uint64_t bytes = 0;
    CopiesOfReceiver list;
    for (int step = 0; step < 10'000; ++step) {
        CopyJob& job = jobs[random() % jobs.size()];
        const auto found = std::ranges::find(model, &job);
        if (random() % 4 == 0 && !model.empty()) {
            list.turn();
            model.push_back(model.front());
            model.pop_front();
        } else if (found != model.end()) {
            list.remove(&job);
            model.erase(found);
            bytes = model.empty() ? 0 : bytes;
        } else {
            job.total_bytes = random() % 1000;
            bytes += job.total_bytes;
            list.push_back(&job);
            model.push_back(&job);
        }
        ASSERT_EQ(list.bytes_since_empty(), bytes);
        ASSERT_EQ(list.size(), model.size());
        CopyJob* at = list.first();
        for (CopyJob* expected : model) {
            ASSERT_EQ(at, expected);
            at = CopiesOfReceiver::after(at);
        }
        ASSERT_EQ(at, nullptr);
    }
}

}  // namespace
}  // namespace headway::engine
