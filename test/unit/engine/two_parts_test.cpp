// SPDX-License-Identifier: Apache-2.0
// Long messages of two parts, of which each rank copies one, or left to a receiver that waits
// (docs/design/036).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "transport/shm/reading_choice.hpp"
#include "unit/engine/in_process_node.hpp"
#include "unit/engine/numbered.hpp"

namespace headway::engine {
namespace {

constexpr std::uint32_t sender = 0;
constexpr std::uint32_t receiver = 1;
constexpr std::uint64_t message_bytes = 1'000'001;
constexpr std::uint64_t first_part = 500'000 / 64 * 64;

config::Knobs knobs_with(config::InsideWayChoice way, config::CoreCachesChoice caches)
{
    config::Knobs knobs;
    knobs.inside_way = way;
    knobs.core_caches = caches;
    return knobs;
}

/// A sender and a receiver that wait, where cores ask each other and long messages have two parts.
class TwoParts : public testing::Test {
  public:
    explicit TwoParts(config::InsideWayChoice way = config::InsideWayChoice::read,
                      config::CoreCachesChoice caches = config::CoreCachesChoice::separate,
                      Distance distance = Distance::reachable)
        : node(2, knobs_with(way, caches), distance)
    {
        node.give_cores();
        node.node().copied_by_system_min = UINT64_MAX;  // whatever caches this machine has
        wait(sender, true);
        wait(receiver, true);
        // The lane is made with the first message.
        std::uint64_t number = 1;
        (void)node.start_send(sender, receiver, 9, &number, sizeof number);
        Op* const first = node.start_receive(receiver, sender, 9, &number, sizeof number);
        (void)node.driver(receiver).progress();
        EXPECT_TRUE(first->word.is_complete());
    }

    void wait(std::uint32_t rank, bool waits)
    {
        node.driver(rank).rank().waiting_threads.store(waits ? 1 : 0);
    }
    Op* send(std::uint64_t bytes = message_bytes)
    {
        return node.start_send(sender, receiver, 1, sent.data(), bytes);
    }
    Op* receive(std::uint64_t bytes = message_bytes)
    {
        return node.start_receive(receiver, sender, 1, got.data(), bytes);
    }
    bool copy(std::uint32_t rank) { return copy_next(node.driver(rank), CopyShare::own); }
    bool has_come(std::uint64_t from, std::uint64_t to) const
    {
        const auto at = [](std::uint64_t offset) { return static_cast<std::ptrdiff_t>(offset); };
        return std::equal(got.begin() + at(from), got.begin() + at(to), sent.begin() + at(from));
    }
    std::uint64_t staged_bytes()
    {
        return node.driver(receiver).rank().counters.bytes_piped.load();
    }
    std::uint32_t told(transport::shm::Readable kind = transport::shm::Readable::halves)
    {
        return told_word(kind).number;
    }
    transport::shm::ReadingTold told_word(
        transport::shm::Readable kind = transport::shm::Readable::halves)
    {
        const transport::shm::Lane* const lane = node.driver(receiver).lane_from(sender);
        return transport::shm::ReadingTold::of_word(
            lane->reading_told[static_cast<std::size_t>(kind)].load());
    }
    /// Sends a message of which both ranks do what they find to do; of one that has two parts,
    /// which this says, only these two copy any.
    bool pass_one(std::uint32_t one = sender, std::uint32_t other = receiver)
    {
        Op* const posted = receive();
        Op* const op = send();
        is_left = op->copy_job == nullptr;
        const bool has_parts = !is_left && op->copy_job->has_two_parts();
        for (int sweeps = 0; !posted->word.is_complete() && sweeps < 10'000; ++sweeps) {
            for (const std::uint32_t rank : {sender, receiver}) {
                (void)node.driver(rank).progress();
                if (!has_parts || rank == one || rank == other) {
                    (void)copy(rank);
                }
            }
        }
        EXPECT_TRUE(posted->word.is_complete());
        EXPECT_TRUE(op->word.is_complete());
        EXPECT_TRUE(has_come(0, message_bytes));
        node.driver(sender).destroy_op(op);
        node.driver(receiver).destroy_op(posted);
        return has_parts;
    }

    InProcessNode node;
    const std::vector<std::byte> sent = numbered(message_bytes);
    std::vector<std::byte> got = std::vector<std::byte>(message_bytes);
    bool is_left = false;  ///< the message before: to its receiver
};

TEST_F(TwoParts, EachRankCopiesTheSameOneWhoeverIsFirst)
{
    for (const std::uint32_t first : {sender, receiver, sender}) {
        std::ranges::fill(got, std::byte{0});
        Op* const posted = receive();
        Op* const op = send();
        EXPECT_TRUE(op->copy_job->has_two_parts());
        EXPECT_FALSE(copy(sender)) << "nothing is staged early";
        (void)node.driver(receiver).progress();
        (void)node.driver(sender).progress();
        EXPECT_TRUE(copy(first));
        const bool is_front = first == sender;  // whose number is the lower one
        EXPECT_EQ(has_come(0, first_part), is_front);
        EXPECT_EQ(has_come(first_part, message_bytes), !is_front);
        EXPECT_TRUE(copy(first == sender ? receiver : sender));
        EXPECT_TRUE(posted->word.is_complete());
        EXPECT_TRUE(op->word.is_complete());
        EXPECT_TRUE(has_come(0, message_bytes));
    }
    EXPECT_EQ(staged_bytes(), 0U);
    EXPECT_EQ(told(), 3U);
}

TEST_F(TwoParts, TheWayBackHasTheSameOnes)
{
    Op* const posted = node.start_receive(sender, receiver, 1, got.data(), message_bytes);
    (void)node.start_send(receiver, sender, 1, sent.data(), message_bytes);  // makes its lane
    node.settle();
    ASSERT_TRUE(posted->word.is_complete());
    std::ranges::fill(got, std::byte{0});
    (void)node.start_receive(sender, receiver, 1, got.data(), message_bytes);
    (void)node.start_send(receiver, sender, 1, sent.data(), message_bytes);
    (void)node.driver(sender).progress();
    (void)copy(sender);  // looks for pieces, as some came lately
    EXPECT_TRUE(copy(sender));
    EXPECT_TRUE(has_come(0, first_part));
    EXPECT_FALSE(has_come(first_part, message_bytes));
    node.settle();
}

TEST_F(TwoParts, WhoIsAloneCopiesBoth)
{
    for (const std::uint32_t alone : {receiver, sender}) {
        std::ranges::fill(got, std::byte{0});
        Op* const posted = receive();
        Op* const op = send();
        (void)node.driver(receiver).progress();
        (void)node.driver(sender).progress();
        while (copy(alone)) {
        }
        EXPECT_TRUE(posted->word.is_complete());
        EXPECT_TRUE(op->word.is_complete());
        EXPECT_TRUE(has_come(0, message_bytes));
    }
    EXPECT_EQ(told(), 1U) << "the sender alone cannot know what it costs the receiver";
    EXPECT_EQ(told_word().from, transport::shm::ReadFrom::both_halves);
}

TEST_F(TwoParts, AShorterReceiveTakesWhatFits)
{
    for (const std::uint64_t room : {first_part / 2, first_part, first_part + 1000}) {
        std::ranges::fill(got, std::byte{0});
        Op* const posted = receive(room);
        (void)send();
        node.settle();
        EXPECT_TRUE(posted->word.is_complete());
        EXPECT_EQ(posted->error, OpError::truncated);
        EXPECT_TRUE(has_come(0, room));
        EXPECT_EQ(got[room], std::byte{0});
    }
}

TEST_F(TwoParts, AreNotForExchangesWhichAreRead)
{
    std::vector<std::byte> reply(message_bytes);
    (void)node.start_receive(sender, receiver, 1, reply.data(), message_bytes);
    (void)receive();
    EXPECT_FALSE(send()->copy_job->has_two_parts());
    (void)node.start_send(receiver, sender, 1, sent.data(), message_bytes);
    node.settle();
    EXPECT_TRUE(has_come(0, message_bytes));
}

TEST_F(TwoParts, AreNotForStreamsNorForThreadsOfARankNorForWhoComputes)
{
    node.node().copied_by_system_min = message_bytes;
    EXPECT_FALSE(send()->copy_job->has_two_parts()) << "a stream";
    node.node().copied_by_system_min = 1'000 * message_bytes;
    EXPECT_TRUE(send()->copy_job->has_two_parts());
    node.driver(receiver).rank().threads.are_several.store(1);
    EXPECT_FALSE(send()->copy_job->has_two_parts()) << "threads";
    node.driver(receiver).rank().threads.are_several.store(0);
    wait(receiver, false);
    node.node().knobs.progress = config::ProgressChoice::none;
    EXPECT_FALSE(send()->copy_job->has_two_parts()) << "it computes";
    wait(receiver, true);
    for (int i = 0; i < 4; ++i) {
        (void)receive();
    }
    node.settle();
}

TEST_F(TwoParts, RanksThatShareCoresUseTheSystemAndNoSlots)
{
    node.node().is_oversubscribed = true;
    (void)pass_one();
    EXPECT_EQ(staged_bytes(), 0U);
}

class TwoPartsApart : public TwoParts {
  public:
    TwoPartsApart()
        : TwoParts(config::InsideWayChoice::read, config::CoreCachesChoice::separate,
                   Distance::apart)
    {
    }
};

TEST_F(TwoPartsApart, RanksThatShareCoresUseSlotsWhereTheSystemMayNotCopy)
{
    node.node().is_oversubscribed = true;
    EXPECT_FALSE(pass_one());
    EXPECT_EQ(staged_bytes(), message_bytes);
}

class TwoPartsMeasured : public TwoParts {
  public:
    TwoPartsMeasured() : TwoParts(config::InsideWayChoice::automatic) {}
};

TEST_F(TwoPartsMeasured, AreTriedNowAndThen)
{
    int messages = 0;
    while (told() == 0 && messages < 100) {
        (void)pass_one();
        ++messages;
    }
    EXPECT_EQ(messages, 16) << "slots at first";
    for (int i = 0; i < 3; ++i) {
        (void)pass_one();
    }
    EXPECT_EQ(told(), 4U);
}

TEST_F(TwoPartsMeasured, AreGivenUpWhereOneRankCopiesBoth)
{
    for (const std::uint32_t alone : {receiver, sender}) {
        int parts = 0;
        for (int message = 0; message < 300; ++message) {
            parts += pass_one(alone, alone) ? 1 : 0;
        }
        EXPECT_GT(parts, 0) << "they are tried";
        EXPECT_LE(parts, 4 * 4) << alone;
    }
}

/// Messages until one is left to its receiver, which reads it at once; how many were not.
int pass_others(TwoPartsMeasured& test)
{
    const WaitMark mark(test.node.driver(receiver));
    int others = 0;
    while (!test.is_left && others < 100) {
        (void)test.pass_one(receiver, receiver);
        others += test.is_left ? 0 : 1;
    }
    return others;
}

TEST_F(TwoPartsMeasured, WhereOneRankCopiesBothMessagesAreLeftToTheReceiver)
{
    const int others = pass_others(*this);
    EXPECT_GE(others, 15 + 4) << "slots, then parts";
    EXPECT_LE(others, 15 + 4 + 4) << "and some that count as of a stream";
    EXPECT_EQ(told(transport::shm::Readable::alone), 1U);
    const WaitMark mark(node.driver(receiver));
    for (std::uint32_t left = 1; left <= 3; ++left) {
        Op* const posted = receive();
        Op* const op = send();
        ASSERT_EQ(op->copy_job, nullptr);
        (void)node.driver(receiver).progress();
        EXPECT_TRUE(posted->word.is_complete()) << "read at once, in one piece";
        EXPECT_TRUE(op->word.is_complete());
        EXPECT_TRUE(has_come(0, message_bytes));
        EXPECT_EQ(told(transport::shm::Readable::alone), 1 + left);
        node.driver(sender).destroy_op(op);
        node.driver(receiver).destroy_op(posted);
    }
    EXPECT_NE(told_word(transport::shm::Readable::alone).from, transport::shm::ReadFrom::unknown)
        << "a trial's reads are made twice";
}

TEST_F(TwoPartsMeasured, AreSharedWhereNobodyWaits)
{
    (void)pass_others(*this);
    (void)pass_one();
    EXPECT_TRUE(is_left);
    EXPECT_EQ(told(transport::shm::Readable::alone), 1U) << "nobody can tell what it cost";
    int others = 0;
    do {
        (void)pass_one();
        ++others;
    } while (!is_left && others < 100);
    EXPECT_EQ(others, 8 + 1) << "some through slots first";
}

TEST_F(TwoPartsMeasured, OneIsLeftAtATime)
{
    (void)pass_others(*this);
    const WaitMark mark(node.driver(receiver));
    const auto is_next_left = [&] { return send()->copy_job == nullptr; };
    ASSERT_TRUE(is_next_left()) << "after some through slots";
    EXPECT_FALSE(is_next_left()) << "the one before has not been read";
    for (int messages = 0; messages < 2; ++messages) {
        Op* const posted = receive();
        node.settle();
        EXPECT_TRUE(posted->word.is_complete());
        EXPECT_TRUE(has_come(0, message_bytes));
    }
    EXPECT_TRUE(is_next_left()) << "it has";
    (void)receive();
    node.settle();
}

TEST_F(TwoPartsMeasured, WhoWaitsForSomethingElseDoesNotTakeThemIn)
{
    (void)pass_others(*this);
    Op* const op = send();
    ASSERT_EQ(op->copy_job, nullptr);
    {
        const WaitMark mark(node.driver(receiver));
        (void)node.driver(receiver).progress();
    }
    EXPECT_FALSE(op->word.is_complete()) << "as any long message, it stays where it is";
    QuickReceive quick{.wanted = {.context = 0, .source = sender, .tag = 1},
                       .address = got.data(),
                       .size_bytes = message_bytes};
    EXPECT_TRUE(node.node().messages.receive_at_once(node.driver(receiver), quick, sender));
    EXPECT_TRUE(op->word.is_complete());
    EXPECT_TRUE(has_come(0, message_bytes));
    node.driver(sender).destroy_op(op);
}

class TwoPartsRefused : public TwoParts {
  public:
    TwoPartsRefused() : TwoParts(config::InsideWayChoice::lane) {}
};

TEST_F(TwoPartsRefused, TheSlotsServe)
{
    EXPECT_FALSE(pass_one());
    EXPECT_EQ(staged_bytes(), message_bytes);
}

class TwoPartsNear : public TwoParts {
  public:
    TwoPartsNear() : TwoParts(config::InsideWayChoice::read, config::CoreCachesChoice::shared) {}
};

TEST_F(TwoPartsNear, TheSlotsServe)
{
    EXPECT_FALSE(pass_one());
    EXPECT_EQ(staged_bytes(), message_bytes);
}

/// Which of a job's bytes have been taken.
struct Taken {
    explicit Taken(std::uint64_t total, std::uint64_t second_part) : times(total)
    {
        job.total_bytes = total;
        job.second_part = second_part;
    }
    bool take(std::uint64_t wanted, PieceEnd end)
    {
        const Piece piece = job.take(wanted, end);
        for (std::uint64_t at = piece.from; at < piece.from + piece.bytes; ++at) {
            ++times.at(at);
        }
        return piece.bytes != 0;
    }
    bool is_all_once() const
    {
        return std::ranges::all_of(times, [](int count) { return count == 1; });
    }

    CopyJob job;
    std::vector<int> times;
};

TEST(CopyJobProperty, EachByteIsTakenOnce)
{
    std::mt19937 random(11);
    for (int run = 0; run < 300; ++run) {
        const std::uint64_t total = 1 + random() % 2000;
        Taken taken(total, random() % 2 == 0 ? total : random() % total);
        std::uint64_t left = total;
        while (taken.job.has_pieces()) {
            ASSERT_EQ(taken.job.left(), left);
            ASSERT_TRUE(taken.take(1 + random() % 300,
                                   random() % 2 == 0 ? PieceEnd::front : PieceEnd::back));
            left = total - static_cast<std::uint64_t>(
                               std::ranges::count_if(taken.times, [](int n) { return n != 0; }));
        }
        ASSERT_FALSE(taken.take(1, PieceEnd::front));
        ASSERT_TRUE(taken.is_all_once());
    }
}

TEST(CopyJobProperty, EachByteIsTakenOnceByTwoThreads)
{
    constexpr std::uint64_t total = 200'000;
    CopyJob job;
    job.total_bytes = total;
    job.second_part = total / 2;
    std::vector<int> times(total);
    const auto take_all = [&](PieceEnd end) {
        for (Piece piece = job.take(7, end); piece.bytes != 0; piece = job.take(7, end)) {
            for (std::uint64_t at = piece.from; at < piece.from + piece.bytes; ++at) {
                ++times[at];
            }
        }
    };
    std::thread other(take_all, PieceEnd::back);
    take_all(PieceEnd::front);
    other.join();
    EXPECT_TRUE(std::ranges::all_of(times, [](int count) { return count == 1; }));
}

}  // namespace
}  // namespace headway::engine
