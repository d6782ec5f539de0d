// SPDX-License-Identifier: Apache-2.0
// Long messages that ranks send each other at the same time, and who reads them (docs/design/013).
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "engine/copy_ways.hpp"
#include "unit/engine/in_process_node.hpp"
#include "unit/engine/numbered.hpp"

namespace headway::engine {
namespace {

config::Knobs knobs_with(config::CoreCachesChoice caches)
{
    config::Knobs knobs;
    knobs.core_caches = caches;
    return knobs;
}

/// A core for each rank. From what length on messages are left to the system as a rule, which the
/// caches of this machine would say, is not these tests' matter.
void give_cores(InProcessNode& node)
{
    node.give_cores();
    node.node().copied_by_system_min = UINT64_MAX;
}

/// Messages that two ranks which both wait send to each other, `distance` apart.
struct Exchanged {
    Exchanged(Distance distance, config::CoreCachesChoice caches)
        : node(2, knobs_with(caches), distance)
    {
        give_cores(node);
        for (std::uint32_t rank = 0; rank < 2; ++rank) {
            node.driver(rank).rank().waiting_threads.store(1);
            got[rank].resize(sent.size());
            receives[rank] = node.start_receive(rank, 1 - static_cast<std::int32_t>(rank), 1,
                                                got[rank].data(), got[rank].size());
            (void)node.start_send(rank, 1 - rank, 1, sent.data(), sent.size());
        }
    }

    /// As ranks that wait; false: it never ends.
    bool complete()
    {
        constexpr int sweeps_max = 10'000;
        int sweeps = 0;
        while (!receives[0]->word.is_complete() || !receives[1]->word.is_complete()) {
            for (std::uint32_t rank = 0; rank < 2; ++rank) {
                node.driver(rank).progress();
                (void)copy_next(node.driver(rank), CopyShare::own);
            }
            if (++sweeps == sweeps_max) {
                return false;
            }
        }
        return got[0] == sent && got[1] == sent;
    }

    std::uint64_t staged_bytes(std::uint32_t rank)
    {
        return node.driver(rank).rank().counters.bytes_piped.load();
    }

    InProcessNode node;
    const std::vector<std::byte> sent = numbered(3'000'001);
    std::vector<std::byte> got[2];
    Op* receives[2] = {};
};

TEST(CoreCaches, DecideHowLanesShowPayloadsWhereEachRankHasACore)
{
    using transport::shm::Showing;
    const auto showing = [](config::CoreCachesChoice caches, bool is_oversubscribed) {
        InProcessNode node(2, knobs_with(caches));
        node.node().is_oversubscribed = is_oversubscribed;
        node.node().choose_buffers();
        return node.node().lane_showing;
    };
    EXPECT_EQ(showing(config::CoreCachesChoice::separate, false), Showing::announced);
    EXPECT_EQ(showing(config::CoreCachesChoice::separate, true), Showing::in_steps);
    EXPECT_EQ(showing(config::CoreCachesChoice::shared, false), Showing::in_steps);
}

TEST(Exchange, IsReadWhereCoresAskEachOther)
{
    Exchanged messages(Distance::reachable, config::CoreCachesChoice::separate);
    EXPECT_FALSE(copy_next(messages.node.driver(0), CopyShare::own)) << "nor before the match";
    ASSERT_TRUE(messages.complete());
    EXPECT_EQ(messages.staged_bytes(0) + messages.staged_bytes(1), 0U);
}

TEST(Exchange, IsStagedWhereTheyShareACache)
{
    Exchanged messages(Distance::reachable, config::CoreCachesChoice::shared);
    ASSERT_TRUE(messages.complete());
    EXPECT_GT(messages.staged_bytes(0), 0U);
    EXPECT_GT(messages.staged_bytes(1), 0U);
}

/// A message of rank 0 to rank 1 that both know of and wait for.
struct OneWay {
    explicit OneWay(config::CoreCachesChoice caches = config::CoreCachesChoice::separate)
        : node(2, knobs_with(caches), Distance::reachable)
    {
        give_cores(node);
        node.driver(0).rank().waiting_threads.store(1);
        node.driver(1).rank().waiting_threads.store(1);
        receive = node.start_receive(1, 0, 1, got.data(), got.size());
        (void)node.start_send(0, 1, 1, sent.data(), sent.size());
        node.driver(1).progress();
        node.driver(0).progress();
    }

    InProcessNode node;
    const std::vector<std::byte> sent = numbered(3'000'001);
    std::vector<std::byte> got = std::vector<std::byte>(3'000'001);
    Op* receive = nullptr;
};

TEST(Exchange, ASenderWhoExpectsNothingIsInNone)
{
    InProcessNode node(2, knobs_with(config::CoreCachesChoice::separate), Distance::reachable);
    give_cores(node);
    node.driver(1).rank().is_looking.store(1);
    const auto sent = numbered(3'000'001);
    (void)node.start_send(0, 1, 1, sent.data(), sent.size());
    EXPECT_TRUE(copy_next(node.driver(0), CopyShare::own)) << "the beginning is staged";
}

TEST(Exchange, IsNotLeftToASenderWhoReadsHimself)
{
    OneWay message;
    EXPECT_FALSE(copy_next(message.node.driver(1), CopyShare::own)) << "left to the sender";
    message.node.driver(0).rank().is_copying.store(1);
    while (copy_next(message.node.driver(1), CopyShare::own)) {
    }
    EXPECT_TRUE(message.receive->word.is_complete());
    EXPECT_EQ(message.got, message.sent);
}

TEST(OneWay, IsNotLeftToASenderWhoCopiesBySystemBetweenCoresThatShareACacheEither)
{
    OneWay message(config::CoreCachesChoice::shared);
    EXPECT_FALSE(copy_next(message.node.driver(1), CopyShare::own)) << "left to the sender";
    message.node.driver(0).rank().is_copying.store(1);
    EXPECT_TRUE(copy_next(message.node.driver(1), CopyShare::own));
    while (copy_next(message.node.driver(1), CopyShare::own)) {
    }
    EXPECT_TRUE(message.receive->word.is_complete());
    EXPECT_EQ(message.got, message.sent);
}

TEST(OneWay, WhoComesBackFindsALargePartLeft)
{
    OneWay message(config::CoreCachesChoice::shared);
    RankState& receiver = message.node.driver(1).rank();
    receiver.waiting_threads.store(0);
    const CopyJob& job = *receiver.copies.first();
    // What one call of the system takes, whoever comes back meanwhile must wait for.
    std::uint64_t left = job.left();
    while (!message.receive->word.is_complete()) {
        ASSERT_TRUE(copy_next(message.node.driver(0), CopyShare::all));
        if (message.receive->word.is_complete()) {
            break;
        }
        const std::uint64_t piece = left - job.left();
        EXPECT_LE(piece, std::max<std::uint64_t>(left / 2 + 4096, 128 * 1024));
        left = job.left();
    }
    EXPECT_EQ(message.got, message.sent);
}

TEST(OneWay, WhoIsAMomentLateFindsTheOtherInNoLongCopy)
{
    OneWay message(config::CoreCachesChoice::shared);
    RankState& receiver = message.node.driver(1).rank();
    receiver.waiting_threads.store(0);
    const CopyJob& job = *receiver.copies.first();
    const auto next_piece = [&](std::uint32_t rank) {
        return large_piece(message.node.driver(rank).rank(), job, false);
    };
    EXPECT_EQ(next_piece(0), job.piece_bytes);
    EXPECT_EQ(next_piece(1), job.piece_bytes);
    ASSERT_TRUE(copy_next(message.node.driver(0), CopyShare::all));
    EXPECT_EQ(job.total_bytes - job.left(), job.piece_bytes);
    EXPECT_EQ(next_piece(0), 8 * job.piece_bytes) << "few calls for what is left to a rank alone";
}

TEST(Exchange, NothingIsStagedForAReceiverWhoReads)
{
    OneWay message;
    message.node.driver(1).rank().is_copying.store(1);
    while (copy_next(message.node.driver(0), CopyShare::own)) {
    }
    EXPECT_TRUE(message.receive->word.is_complete());
    EXPECT_EQ(message.node.driver(1).rank().counters.bytes_piped.load(), 0U);
    EXPECT_EQ(message.got, message.sent);
}

TEST(Exchange, IsStagedWhereNobodyMayReadAndFromBeforeTheMatchOn)
{
    Exchanged messages(Distance::apart, config::CoreCachesChoice::separate);
    EXPECT_TRUE(copy_next(messages.node.driver(0), CopyShare::own)) << "the beginning";
    ASSERT_TRUE(messages.complete());
    EXPECT_EQ(messages.staged_bytes(0), messages.sent.size());
    EXPECT_EQ(messages.staged_bytes(1), messages.sent.size());
}

}  // namespace
}  // namespace headway::engine
