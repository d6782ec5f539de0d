// SPDX-License-Identifier: Apache-2.0
#include "engine/staging.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "engine/copy_bytes.hpp"
#include "engine/staged_pieces.hpp"
#include "unit/engine/in_process_node.hpp"
#include "unit/engine/numbered.hpp"

namespace headway::engine {
namespace {

constexpr std::uint32_t few_slots = 4;

/// In memory that was used before, as the node heap gives it.
struct SlotsInMemory {
    alignas(Staging) std::byte bytes[Staging::bytes_needed(few_slots)];
    Staging* staging = nullptr;

    SlotsInMemory()
    {
        std::memset(bytes, 0x5A, sizeof bytes);
        staging = new (bytes) Staging;
        staging->open(few_slots);
    }
};

/// No slot is passed over.
bool never(const StagingSlot& /*slot*/)
{
    return false;
}

TEST(Staging, GivesItsSlotsInTurnHoweverSoonTheyAreEmpty)
{
    const auto memory = std::make_unique<SlotsInMemory>();
    Staging& staging = *memory->staging;
    const auto piece = numbered(StagingSlot::bytes_max);
    std::vector<StagingSlot*> given;
    for (std::uint32_t i = 0; i < few_slots; ++i) {
        StagingSlot* const slot = staging.next(never);
        ASSERT_NE(slot, nullptr);
        EXPECT_EQ(staging.next(never), slot) << "it is not taken before it is filled";
        staging.fill(slot, nullptr, piece.data(), piece.size());
        EXPECT_EQ(std::memcmp(slot->bytes, piece.data(), piece.size()), 0);
        EXPECT_FALSE(slot->release()) << "nobody waits for it";
        for (const StagingSlot* before : given) {
            EXPECT_NE(before, slot);
        }
        given.push_back(slot);
    }
    EXPECT_EQ(staging.next(never), given.front());
}

TEST(Staging, AFullSlotIsNotGivenAgain)
{
    const auto memory = std::make_unique<SlotsInMemory>();
    Staging& staging = *memory->staging;
    const auto piece = numbered(100);
    StagingSlot* const first = staging.next(never);
    for (std::uint32_t i = 0; i < few_slots; ++i) {
        staging.fill(staging.next(never), nullptr, piece.data(), piece.size());
    }
    EXPECT_EQ(staging.next(never), nullptr);
    EXPECT_FALSE(first->release());
    EXPECT_EQ(staging.next(never), first);
}

TEST(Staging, CountsTheEmptySlotsThatItWillGiveOneAfterTheOther)
{
    const auto memory = std::make_unique<SlotsInMemory>();
    Staging& staging = *memory->staging;
    const auto piece = numbered(100);
    EXPECT_EQ(staging.count_empty(0, never), 0U);
    EXPECT_EQ(staging.count_empty(2, never), 2U);
    EXPECT_EQ(staging.count_empty(100, never), few_slots);
    std::vector<StagingSlot*> given;
    for (std::uint32_t left = few_slots; left != 0; --left) {
        EXPECT_EQ(staging.count_empty(100, never), left);
        given.push_back(staging.next(never));
        staging.fill(given.back(), nullptr, piece.data(), piece.size());
    }
    EXPECT_EQ(staging.count_empty(100, never), 0U) << "all are full";
    (void)given[0]->release();
    (void)given[2]->release();
    EXPECT_EQ(staging.count_empty(100, never), 1U) << "behind the first one a full one follows";
    const auto is_first = [&](const StagingSlot& slot) { return &slot == given[1]; };
    staging.fill(staging.next(never), nullptr, piece.data(), piece.size());
    EXPECT_EQ(staging.count_empty(100, never), 0U);
    EXPECT_EQ(staging.count_empty(100, is_first), 1U) << "what is held is passed over";
    EXPECT_EQ(staging.next(never), given[2]);
}

TEST(Staging, WhoeverEmptiesASlotThatIsAwaitedHearsOfIt)
{
    const auto memory = std::make_unique<SlotsInMemory>();
    Staging& staging = *memory->staging;
    StagingSlot* const first = staging.next(never);
    EXPECT_EQ(staging.await_next(never), first) << "it is empty already";
    const auto piece = numbered(100);
    for (std::uint32_t i = 0; i < few_slots; ++i) {
        staging.fill(staging.next(never), nullptr, piece.data(), piece.size());
    }
    EXPECT_EQ(staging.await_next(never), nullptr);
    EXPECT_EQ(staging.await_next(never), nullptr) << "it is awaited already";
    EXPECT_EQ(staging.next(never), nullptr);
    EXPECT_TRUE(first->release());
    EXPECT_EQ(staging.await_next(never), first);
    staging.fill(first, nullptr, piece.data(), piece.size());
    EXPECT_FALSE(first->release()) << "that it was awaited is over";
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

TEST(StreamedMessages, AreThoseThatALastCacheCannotHold)
{
    constexpr std::uint64_t mebibyte = 1ULL << 20;
    EXPECT_EQ(streamed_bytes_min(0), 8 * mebibyte) << "nothing is known";
    EXPECT_EQ(streamed_bytes_min(16 * mebibyte), 8 * mebibyte);
    EXPECT_EQ(streamed_bytes_min(300 * mebibyte), 75 * mebibyte);
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
        const int pieces = message.node.driver(1).progress();
        EXPECT_GE(pieces, 1);
        EXPECT_LE(pieces, 8) << "a sender sweeps between two stretches";
    }
    EXPECT_EQ(message.got, message.sent);
    EXPECT_EQ(message.staged_bytes(), Matched::message_bytes);
}

TEST(StagedPieces, AreNotWaitedForWhereTheSenderIsAwayOrNobodyComesAfter)
{
    constexpr int looks_max = 100;
    for (const bool is_away : {true, false}) {
        Matched message;
        if (is_away) {
            message.node.driver(0).rank().waiting_threads.store(0);
            ASSERT_FALSE(message.node.driver(0).rank().ownership.leave());
        }
        const CopyShare share = is_away ? CopyShare::own : CopyShare::any;
        // One who is away may be between two calls, so that he is given a moment.
        int looks = is_away ? 0 : looks_max;
        while (!copy_next(message.node.driver(1), share)) {
            ASSERT_LT(++looks, looks_max);
        }
        while (copy_next(message.node.driver(1), share)) {
        }
        EXPECT_TRUE(message.is_complete());
        EXPECT_EQ(message.got, message.sent);
        EXPECT_EQ(message.staged_bytes(), 0U);
    }
}

// It would be kept in its call as long as the sender goes on.
TEST(StagedPieces, AreNotForAReceiverOnItsWayOut)
{
    Matched message;
    message.node.driver(1).rank().waiting_threads.store(0);
    EXPECT_FALSE(copy_next(message.node.driver(0), CopyShare::own)) << "it may be about to wait";
    while (copy_next(message.node.driver(0), CopyShare::all)) {
    }
    EXPECT_TRUE(message.is_complete()) << "the sender writes all of it";
    EXPECT_EQ(message.got, message.sent);
    EXPECT_EQ(message.staged_bytes(), 0U);
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

/// A long message between two ranks of two processes that the receiver looks for, and has not
/// matched.
class Offered {
  public:
    explicit Offered(Distance distance, std::size_t bytes = 300'000)
        : node(2, {}, distance), sent(numbered(bytes)), got(bytes)
    {
        node.node().is_oversubscribed = false;
        node.driver(1).rank().is_looking.store(1);
        send = offer();
    }

    Op* offer() { return node.start_send(0, 1, 1, sent.data(), sent.size()); }
    /// What the sender stages before the match, pieces.
    std::uint64_t stage()
    {
        std::uint64_t frames = 0;
        while (copy_next(node.driver(0), CopyShare::own)) {
            const int taken = node.driver(1).progress();
            EXPECT_GE(taken, frames == 0 ? 2 : 1) << "its offer is the first";
            frames += static_cast<std::uint64_t>(taken);
        }
        return frames - std::min<std::uint64_t>(frames, 1);
    }
    std::uint64_t staged_bytes() { return node.driver(1).rank().counters.bytes_piped.load(); }

    InProcessNode node;
    const std::vector<std::byte> sent;
    std::vector<std::byte> got;
    Op* send = nullptr;
};

/// Sweeps of both ranks until neither finds anything; false: it never ends.
bool settle(InProcessNode& node);

TEST(EarlyPieces, WaitForTheMatchAndAreTheBeginning)
{
    for (const Distance distance : {Distance::reachable, Distance::apart}) {
        Offered message(distance);
        const std::uint64_t pieces = message.stage();
        EXPECT_GT(pieces, 0U);
        EXPECT_LT(pieces * StagingSlot::bytes_max, message.sent.size()) << "no more than that";
        EXPECT_FALSE(message.send->word.is_complete());
        Op* receive = message.node.start_receive(1, 0, 1, message.got.data(), message.got.size());
        EXPECT_FALSE(receive->word.is_complete());
        ASSERT_TRUE(settle(message.node));
        EXPECT_TRUE(message.send->word.is_complete());
        EXPECT_TRUE(receive->word.is_complete());
        EXPECT_EQ(message.got, message.sent);
        EXPECT_GE(message.staged_bytes(), pieces * (StagingSlot::bytes_max / 2));
    }
}

TEST(EarlyPieces, AreNotForAReceiverThatComputesAndHasPostedReceives)
{
    InProcessNode node(2, {}, Distance::reachable);
    node.node().is_oversubscribed = false;
    const auto sent = numbered(300'000);
    std::uint64_t number = 0;
    (void)node.start_receive(1, 0, 2, &number, sizeof number);
    (void)node.start_send(0, 1, 1, sent.data(), sent.size());
    EXPECT_FALSE(copy_next(node.driver(0), CopyShare::own)) << "it is helped";
    node.driver(1).rank().is_looking.store(1);
    EXPECT_TRUE(copy_next(node.driver(0), CopyShare::own));
}

TEST(EarlyPieces, WaitForAReceiverThatComesLate)
{
    InProcessNode node(2, {}, Distance::reachable);
    node.node().is_oversubscribed = false;
    const auto sent = numbered(3'000'001);
    std::vector<std::byte> got(sent.size());
    (void)node.start_send(0, 1, 1, sent.data(), sent.size());
    while (copy_next(node.driver(0), CopyShare::own)) {
    }
    EXPECT_EQ(node.driver(0).rank().early_pieces, node.node().staging_slots / 4);
    const Op* const receive = node.start_receive(1, 0, 1, got.data(), got.size());
    RankState& receiver = node.driver(1).rank();
    while (node.driver(1).progress() != 0) {
    }
    EXPECT_NE(receiver.kept_pieces, nullptr) << "a call that does not wait copies little";
    EXPECT_EQ(receiver.counters.bytes_piped.load(), 0U);
    receiver.waiting_threads.store(1);
    ASSERT_TRUE(settle(node));
    EXPECT_TRUE(receive->word.is_complete());
    EXPECT_EQ(got, sent);
}

TEST(EarlyPieces, AShortReceiveTakesWhatFits)
{
    for (const std::size_t room : {0U, 10'000U, 40'000U, 200'000U}) {
        Offered message(Distance::reachable);
        EXPECT_GT(message.stage(), 0U);
        Op* receive = message.node.start_receive(1, 0, 1, message.got.data(), room);
        ASSERT_TRUE(settle(message.node));
        EXPECT_TRUE(message.send->word.is_complete());
        EXPECT_EQ(message.send->error, OpError::none);
        EXPECT_TRUE(receive->word.is_complete());
        EXPECT_EQ(receive->error, OpError::truncated);
        EXPECT_EQ(receive->status_bytes, room);
        std::vector<std::byte> expected(message.sent.begin(),
                                        message.sent.begin() + static_cast<std::ptrdiff_t>(room));
        expected.resize(message.sent.size());
        EXPECT_EQ(message.got, expected);
    }
}

TEST(EarlyPieces, OfMessagesThatNobodyTakesDoNotKeepOthersFromTheSlots)
{
    for (const Distance distance : {Distance::reachable, Distance::apart}) {
        Offered message(distance);
        const std::uint32_t slots = message.node.node().staging_slots;
        for (std::uint32_t i = 0; i < 2 * slots; ++i) {
            (void)message.offer();
        }
        for (std::uint32_t i = 0; i < 4 * slots; ++i) {
            (void)copy_next(message.node.driver(0), CopyShare::own);
            (void)message.node.driver(1).progress();
        }
        EXPECT_LE(message.node.driver(0).rank().early_pieces, slots / 4);
        // Another message, of another name, needs more slots than there are.
        const auto other = numbered(2 * slots * StagingSlot::bytes_max);
        std::vector<std::byte> other_got(other.size());
        Op* receive = message.node.start_receive(1, 0, 2, other_got.data(), other_got.size());
        Op* send = message.node.start_send(0, 1, 2, other.data(), other.size());
        ASSERT_TRUE(settle(message.node));
        EXPECT_TRUE(send->word.is_complete());
        EXPECT_TRUE(receive->word.is_complete());
        EXPECT_EQ(other_got, other);
        for (std::uint32_t i = 0; i <= 2 * slots; ++i) {
            receive = message.node.start_receive(1, 0, 1, message.got.data(), message.got.size());
            ASSERT_TRUE(settle(message.node));
            ASSERT_TRUE(receive->word.is_complete()) << i;
            ASSERT_EQ(message.got, message.sent);
        }
        EXPECT_EQ(message.node.driver(0).rank().early_pieces, 0U);
        EXPECT_TRUE(message.node.driver(0).rank().offered.is_empty());
    }
}

TEST(EarlyPieces, AreTakenOutByAHelperWhereItsReceiverIsAway)
{
    Offered message(Distance::reachable);
    EXPECT_GT(message.stage(), 0U);
    Op* receive = message.node.start_receive(1, 0, 1, message.got.data(), message.got.size());
    RankState& receiver = message.node.driver(1).rank();
    EXPECT_TRUE(has_unattended_copies(message.node.driver(1))) << "the beginning is in slots";
    EXPECT_FALSE(has_pieces_for_own_process(message.node.driver(1)));
    while (receiver.ownership.leave()) {
    }
    message.node.driver(1).worker().leave_behind(receiver);
    for (int sweep = 0; sweep < 1000; ++sweep) {
        message.node.sweep(0);
        (void)message.node.driver(0).worker().help();
    }
    EXPECT_TRUE(receive->word.is_complete());
    EXPECT_TRUE(message.send->word.is_complete());
    EXPECT_EQ(message.got, message.sent);
}

TEST(EarlyPieces, ThatAreTheWholeMessageLeaveNothingBehind)
{
    Offered message(Distance::reachable, 40'000);
    std::uint64_t in_use[2] = {};
    for (std::uint64_t& after : in_use) {
        EXPECT_GT(message.stage(), 0U);
        Op* receive = message.node.start_receive(1, 0, 1, message.got.data(), message.got.size());
        ASSERT_TRUE(settle(message.node));
        EXPECT_TRUE(receive->word.is_complete());
        EXPECT_EQ(message.got, message.sent);
        message.node.driver(0).destroy_op(message.send);
        message.node.driver(1).destroy_op(receive);
        after = message.node.bytes_in_use();
        message.send = message.offer();
    }
    EXPECT_EQ(in_use[0], in_use[1]) << "the job is freed";
}

/// Sweeps of both ranks until neither finds anything; false: it never ends.
bool settle(InProcessNode& node)
{
    constexpr int sweeps_max = 10'000;
    for (int sweep = 0; sweep < sweeps_max; ++sweep) {
        if (node.sweep(0) + node.sweep(1) == 0) {
            return true;
        }
    }
    return false;
}

TEST(StagedOnly, PiecesGoBetweenProcessesThatCannotReachEachOther)
{
    for (const std::size_t bytes : {17'000U, 65'536U, 3'000'001U, 9'000'000U}) {
        InProcessNode node(2, {}, Distance::apart);
        const auto sent = numbered(bytes);
        std::vector<std::byte> got(bytes);
        Op* send = node.start_send(0, 1, 1, sent.data(), sent.size());
        Op* receive = node.start_receive(1, 0, 1, got.data(), got.size());
        ASSERT_TRUE(settle(node));
        EXPECT_TRUE(send->word.is_complete());
        EXPECT_TRUE(receive->word.is_complete());
        EXPECT_EQ(receive->error, OpError::none);
        EXPECT_EQ(got, sent);
        EXPECT_EQ(node.driver(1).rank().counters.bytes_piped.load(), bytes);
    }
}

TEST(StagedOnly, ASenderWithoutRoomIsRungWhenThereIsSome)
{
    InProcessNode node(2, {}, Distance::apart);
    const auto sent = numbered(9'000'000);
    std::vector<std::byte> got(sent.size());
    (void)node.start_send(0, 1, 1, sent.data(), sent.size());
    Op* receive = node.start_receive(1, 0, 1, got.data(), got.size());
    node.driver(1).progress();
    while (node.driver(0).progress() != 0) {
    }
    EXPECT_FALSE(has_to_stage(node.driver(0))) << "all slots are full";
    sync::OwnershipWord& sender = node.driver(0).rank().ownership;
    (void)sender.answer_bell();
    ASSERT_FALSE(receive->word.is_complete());
    EXPECT_NE(node.driver(1).progress(), 0);
    EXPECT_TRUE(sender.answer_bell());
    ASSERT_TRUE(settle(node));
    EXPECT_EQ(got, sent);
}

TEST(StagedOnly, ASenderWithoutMemoryForSlotsEndsTheMessageWithAnError)
{
    InProcessNode node(2, {}, Distance::apart);
    const auto sent = numbered(100'000);
    std::vector<std::byte> got(sent.size());
    Op* send = node.start_send(0, 1, 1, sent.data(), sent.size());
    Op* receive = node.start_receive(1, 0, 1, got.data(), got.size());
    node.driver(1).progress();
    std::vector<void*> taken;
    for (std::size_t bytes = 64ULL << 20; bytes >= 64; bytes /= 2) {
        while (void* place = node.driver(0).allocator().allocate(bytes)) {
            taken.push_back(place);
        }
    }
    ASSERT_TRUE(settle(node));
    EXPECT_TRUE(send->word.is_complete());
    EXPECT_EQ(send->error, OpError::no_memory);
    EXPECT_TRUE(receive->word.is_complete());
    EXPECT_EQ(receive->error, OpError::no_memory);
    for (void* place : taken) {
        node.driver(0).allocator().free(place);
    }
}

}  // namespace
}  // namespace headway::engine
