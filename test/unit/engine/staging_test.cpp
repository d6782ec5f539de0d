// SPDX-License-Identifier: Apache-2.0
#include "engine/staging.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "unit/engine/in_process_node.hpp"

namespace headway::engine {
namespace {

constexpr std::uint32_t few_slots = 4;

struct SlotsInMemory {
    alignas(Staging) std::byte bytes[Staging::bytes_needed(few_slots)] = {};
    Staging* staging = new (bytes) Staging;

    SlotsInMemory() { staging->open(few_slots); }
};

std::vector<std::byte> numbered(std::size_t bytes)
{
    std::vector<std::byte> made(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
        made[i] = static_cast<std::byte>(i * 7 + i / 251);
    }
    return made;
}

TEST(Staging, GivesItsSlotsInTurnHoweverSoonTheyAreEmpty)
{
    const auto memory = std::make_unique<SlotsInMemory>();
    Staging& staging = *memory->staging;
    const auto piece = numbered(StagingSlot::bytes_max);
    std::vector<StagingSlot*> given;
    for (std::uint32_t i = 0; i < few_slots; ++i) {
        StagingSlot* const slot = staging.next();
        ASSERT_NE(slot, nullptr);
        EXPECT_EQ(staging.next(), slot) << "it is not taken before it is filled";
        staging.fill(slot, piece.data(), piece.size());
        EXPECT_EQ(std::memcmp(slot->bytes, piece.data(), piece.size()), 0);
        slot->release();
        for (const StagingSlot* before : given) {
            EXPECT_NE(before, slot);
        }
        given.push_back(slot);
    }
    EXPECT_EQ(staging.next(), given.front());
}

TEST(Staging, AFullSlotIsNotGivenAgain)
{
    const auto memory = std::make_unique<SlotsInMemory>();
    Staging& staging = *memory->staging;
    const auto piece = numbered(100);
    StagingSlot* const first = staging.next();
    for (std::uint32_t i = 0; i < few_slots; ++i) {
        staging.fill(staging.next(), piece.data(), piece.size());
    }
    EXPECT_EQ(staging.next(), nullptr);
    first->release();
    EXPECT_EQ(staging.next(), first);
}

TEST(Staging, StaysWithinItsShareOfTheHeap)
{
    constexpr std::uint64_t gibibyte = 1ULL << 30;
    EXPECT_EQ(Staging::slots_for(2, gibibyte), Staging::slots_max);
    for (const std::uint64_t ranks : {2U, 16U, 64U, 300U}) {
        const std::uint32_t slots = Staging::slots_for(ranks, gibibyte);
        EXPECT_GE(slots, Staging::slots_min);
        if (slots > Staging::slots_min) {
            EXPECT_LE(ranks * Staging::bytes_needed(slots), gibibyte / 8);
        }
    }
}

/// A long message between two ranks that the receiver has matched, of two processes.
class Matched {
  public:
    Matched() : node(2, {}, Distance::reachable), sent(numbered(message_bytes)), got(message_bytes)
    {
        node.node().is_oversubscribed = false;
        send = node.start_send(0, 1, 1, sent.data(), sent.size());
        receive = node.start_receive(1, 0, 1, got.data(), got.size());
        node.driver(1).progress();
        node.driver(0).rank().waiting_threads.store(1);
        node.driver(1).rank().waiting_threads.store(1);
    }

    std::uint64_t staged_bytes() { return node.driver(1).rank().counters.bytes_piped.load(); }
    bool is_complete() const { return send->word.is_complete() && receive->word.is_complete(); }

    static constexpr std::size_t message_bytes = 3'000'001;
    InProcessNode node;
    const std::vector<std::byte> sent;
    std::vector<std::byte> got;
    Op* send = nullptr;
    Op* receive = nullptr;
};

TEST(StagedPieces, CarryAMessageWhoseRanksBothWait)
{
    Matched message;
    while (!message.is_complete()) {
        EXPECT_FALSE(copy_next(message.node.driver(1), CopyShare::own)) << "left to the sender";
        ASSERT_TRUE(copy_next(message.node.driver(0), CopyShare::own));
        EXPECT_EQ(message.node.driver(1).progress(), 1);
    }
    EXPECT_EQ(message.got, message.sent);
    EXPECT_EQ(message.staged_bytes(), Matched::message_bytes);
}

TEST(StagedPieces, AreNotWaitedForWhereTheSenderIsAwayOrNobodyComesAfter)
{
    for (const bool is_away : {true, false}) {
        Matched message;
        if (is_away) {
            message.node.driver(0).rank().waiting_threads.store(0);
            ASSERT_FALSE(message.node.driver(0).rank().ownership.leave());
        }
        while (copy_next(message.node.driver(1), is_away ? CopyShare::own : CopyShare::any)) {
        }
        EXPECT_TRUE(message.is_complete());
        EXPECT_EQ(message.got, message.sent);
        EXPECT_EQ(message.staged_bytes(), 0U);
    }
}

TEST(StagedPieces, AreNotWaitedForForEver)
{
    Matched message;
    int sweeps = 0;
    while (!copy_next(message.node.driver(1), CopyShare::own)) {
        ASSERT_LT(++sweeps, 1'000'000) << "the sender never stages anything";
    }
    while (copy_next(message.node.driver(1), CopyShare::own)) {
    }
    EXPECT_GT(sweeps, 0);
    EXPECT_TRUE(message.is_complete());
    EXPECT_EQ(message.got, message.sent);
}

TEST(StagedPieces, WhereAllSlotsAreFullTheSenderCopiesItself)
{
    Matched message;
    while (copy_next(message.node.driver(0), CopyShare::own)) {
    }
    EXPECT_FALSE(message.is_complete()) << "staged pieces wait for their receiver";
    while (message.node.driver(1).progress() != 0) {
    }
    EXPECT_TRUE(message.is_complete());
    EXPECT_EQ(message.got, message.sent);
    EXPECT_GE(message.staged_bytes(), Staging::slots_min * StagingSlot::bytes_max);
    EXPECT_LT(message.staged_bytes(), Matched::message_bytes);
}

}  // namespace
}  // namespace headway::engine
