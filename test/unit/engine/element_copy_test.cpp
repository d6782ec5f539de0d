// SPDX-License-Identifier: Apache-2.0
//
// Long messages whose ends are elements with gaps: whoever moves them, all bytes come to where they
// belong, and nothing else is written.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "data/layout.hpp"
#include "engine/copy_job.hpp"
#include "engine/staged_pieces.hpp"
#include "unit/engine/in_process_node.hpp"
#include "unit/engine/numbered.hpp"

namespace headway::engine {
namespace {

/// A column of doubles: `count` runs of `run_bytes`, each `stride` bytes behind the one before.
class Column {
  public:
    Column(std::uint64_t count, std::uint64_t run_bytes, std::int64_t stride)
        : layout_(data::make_vector(count, run_bytes, stride, *byte())),
          memory_(static_cast<std::size_t>(stride) * count, gap)
    {
        elements_ = {layout_->program.view(), layout_->extent, memory_.data()};
    }

    std::uint64_t bytes() const { return layout_->size_bytes(); }
    const data::TypedElements& elements() const { return elements_; }

    void set(const std::vector<std::byte>& packed)
    {
        data::unpack(elements_, 0, bytes(), packed.data());
    }
    std::vector<std::byte> packed() const
    {
        std::vector<std::byte> made(bytes());
        data::pack(elements_, 0, bytes(), made.data());
        return made;
    }
    /// Whether nothing but the runs was written.
    bool has_its_gaps()
    {
        set(std::vector<std::byte>(bytes(), gap));
        return std::ranges::all_of(memory_, [](std::byte each) { return each == gap; });
    }

  private:
    static constexpr std::byte gap{0xA5};

    static data::Layout::Pointer byte()
    {
        const data::BasicPart part{{1, 1}, 0, 1};
        return data::make_basic({&part, 1});
    }

    data::Layout::Pointer layout_;
    std::vector<std::byte> memory_;
    data::TypedElements elements_;
};

/// Sweeps for one rank alone until the op is complete.
bool sweep_alone(InProcessNode& node, std::uint32_t rank, const Op& op)
{
    for (int sweep = 0; sweep < 10'000 && !op.word.is_complete(); ++sweep) {
        node.sweep(rank);
    }
    return op.word.is_complete();
}

/// A message between two ranks whose ends may be columns.
struct ColumnMessage {
    ColumnMessage(Distance distance, bool source_has_gaps, bool target_has_gaps,
                  std::uint64_t run_bytes = 24)
        : node(2, {}, distance),
          content(numbered(message_bytes)),
          got(message_bytes),
          source(message_bytes / run_bytes, run_bytes, static_cast<std::int64_t>(run_bytes + 32)),
          target(message_bytes / run_bytes, run_bytes, static_cast<std::int64_t>(run_bytes + 8))
    {
        source.set(content);
        send = node.driver(0).create_op(OpKind::send);
        send->header = {.context = 0, .source = 0, .tag = 1};
        send->peer = 1;
        send->address = source_has_gaps ? nullptr : const_cast<std::byte*>(content.data());
        send->size_bytes = message_bytes;
        if (source_has_gaps) {
            send->in_elements = InElements::yes;
            send->elements = &source.elements();
        }
        receive = node.driver(1).create_op(OpKind::receive);
        receive->header = {.context = 0, .source = 0, .tag = 1};
        receive->address = got.data();
        receive->size_bytes = message_bytes;
        if (target_has_gaps) {
            receive->in_elements = InElements::possible;
            receive->elements = &target.elements();
        }
    }

    void start()
    {
        protocol::start_send(node.driver(0), send, false);
        protocol::start_receive(node.driver(1), receive);
    }

    /// What the receiver has, wherever it was told to put it.
    std::vector<std::byte> received() const
    {
        return receive->in_elements == InElements::yes ? target.packed() : got;
    }

    static constexpr std::uint64_t message_bytes = 600'000;
    InProcessNode node;
    std::vector<std::byte> content;
    std::vector<std::byte> got;
    Column source;
    Column target;
    Op* send = nullptr;
    Op* receive = nullptr;
};

// What anybody may take out of its slot stands in front of what only the rank's own process can.
TEST(Elements, ThatOnlyTheRankKnowsAreNotKeptByPiecesThatAreForOthers)
{
    ColumnMessage message(Distance::reachable, false, true);
    InProcessNode& node = message.node;
    node.node().is_oversubscribed = false;
    const auto plain = numbered(20'000);
    std::vector<std::byte> plain_got(plain.size());
    (void)node.start_send(0, 1, 2, plain.data(), plain.size());
    protocol::start_send(node.driver(0), message.send, false);
    for (const std::int32_t tag : {3, 4}) {  // behind others a message has no more than one piece
        (void)node.start_send(0, 1, tag, plain.data(), plain.size());
    }
    while (copy_next(node.driver(0), CopyShare::own)) {
    }
    while (node.driver(1).progress() != 0) {
    }
    protocol::start_receive(node.driver(1), message.receive);
    const Op* const plain_receive = node.start_receive(1, 0, 2, plain_got.data(), plain_got.size());
    RankState& receiver = node.driver(1).rank();
    ASSERT_TRUE(keeps_pieces(receiver, true));
    ASSERT_TRUE(keeps_pieces(receiver, false));
    while (node.driver(1).progress() != 0) {
    }
    EXPECT_FALSE(keeps_pieces(receiver, true)) << "a sweep of the rank takes its own out";
    EXPECT_TRUE(keeps_pieces(receiver, false)) << "its call does not wait, so others do that";
    receiver.waiting_threads.store(1);
    node.settle();
    EXPECT_TRUE(plain_receive->word.is_complete());
    EXPECT_TRUE(message.receive->word.is_complete());
    EXPECT_EQ(plain_got, plain);
    EXPECT_EQ(message.received(), message.content);
}

TEST(Elements, TravelInPiecesWhicheverEndHasGapsAndWhereverTheRanksAre)
{
    for (const Distance distance : {Distance::together, Distance::reachable, Distance::apart}) {
        for (const int gaps : {1, 2, 3}) {
            for (const std::uint64_t run_bytes : {24U, 6000U}) {
                const bool target_has_gaps = (gaps & 2) != 0;
                ColumnMessage message(distance, (gaps & 1) != 0, target_has_gaps, run_bytes);
                message.start();
                message.node.settle();
                ASSERT_TRUE(message.send->word.is_complete());
                ASSERT_TRUE(message.receive->word.is_complete());
                EXPECT_EQ(message.receive->in_elements == InElements::yes, target_has_gaps);
                EXPECT_EQ(message.received(), message.content);
                EXPECT_TRUE(message.target.has_its_gaps());
            }
        }
    }
}

TEST(Elements, OfAReceiverAreReadToByItWhileTheSenderIsAway)
{
    for (const std::uint64_t run_bytes : {24U, 1000U, 6000U, 60'000U}) {
        ColumnMessage message(Distance::reachable, false, true, run_bytes);
        InProcessNode& node = message.node;
        node.node().own_process = node.driver(1).rank().process;
        protocol::start_send(node.driver(0), message.send, false);
        ASSERT_FALSE(node.driver(0).rank().ownership.leave());
        protocol::start_receive(node.driver(1), message.receive);
        ASSERT_TRUE(sweep_alone(node, 1, *message.receive));
        EXPECT_TRUE(message.send->word.is_complete());
        EXPECT_EQ(node.driver(1).rank().counters.bytes_copied_across.load(),
                  message.content.size());
        EXPECT_EQ(message.received(), message.content);
        EXPECT_TRUE(message.target.has_its_gaps());
        ASSERT_TRUE(node.driver(0).rank().ownership.try_enter());
    }
}

TEST(Elements, OfASenderAreWrittenByItWhileTheReceiverIsAway)
{
    for (const std::uint64_t run_bytes : {24U, 1000U, 6000U, 60'000U}) {
        ColumnMessage message(Distance::reachable, true, false, run_bytes);
        InProcessNode& node = message.node;
        message.start();
        node.sweep(1);  // matches
        RankState& receiver = node.driver(1).rank();
        (void)receiver.ownership.leave();
        receiver.waiting_threads.store(0);
        ASSERT_TRUE(sweep_alone(node, 0, *message.send));
        EXPECT_TRUE(message.receive->word.is_complete());
        EXPECT_EQ(receiver.counters.bytes_copied_across.load(), message.content.size());
        EXPECT_EQ(message.received(), message.content);
        ASSERT_TRUE(receiver.ownership.try_enter());
    }
}

TEST(Elements, BehindTheRoomOfAReceiverGoNowhere)
{
    for (const std::uint64_t run_bytes : {24U, 6000U}) {
        ColumnMessage message(Distance::reachable, false, true, run_bytes);
        InProcessNode& node = message.node;
        const std::uint64_t room = 120'000;
        message.receive->size_bytes = room;
        message.start();
        node.settle();
        EXPECT_EQ(message.receive->error, OpError::truncated);
        std::vector<std::byte> expected(message.content.size(), std::byte{0xA5});
        std::copy_n(message.content.begin(), room, expected.begin());
        EXPECT_EQ(message.received(), expected);
    }
}

TEST(Elements, OfAReceiverThatIsAwayAreLeftToItsOwnProcess)
{
    ColumnMessage message(Distance::reachable, false, true);
    InProcessNode& node = message.node;
    protocol::start_receive(node.driver(1), message.receive);
    RankState& receiver = node.driver(1).rank();
    ASSERT_FALSE(receiver.ownership.leave());
    protocol::start_send(node.driver(0), message.send, false);
    for (int sweep = 0; sweep < 1000; ++sweep) {
        node.sweep(0);
        (void)node.driver(0).worker().help();
    }
    EXPECT_FALSE(message.receive->word.is_complete()) << "the helper does not know the elements";
    EXPECT_TRUE(node.node().directory.wanted_at_home.has(1));
    // An agent that leaves copies to others for a while does not forget this one: nobody else can,
    // though the sender waits.
    node.driver(0).rank().waiting_threads.store(1);
    node.node().own_process = receiver.process;
    Worker agent(node.node(), nullptr);
    agent.defer_copies(true);
    agent.work_for(receiver);
    EXPECT_TRUE(agent.has_deferred());
    EXPECT_TRUE(node.node().directory.wanted.has(1));
    ASSERT_TRUE(receiver.ownership.try_enter());
    node.settle();
    EXPECT_TRUE(message.receive->word.is_complete());
    EXPECT_TRUE(message.send->word.is_complete());
    EXPECT_EQ(message.received(), message.content);
    EXPECT_EQ(receiver.kept_pieces, nullptr);
}

TEST(Elements, OfASenderThatIsAwayAreLeftToItsOwnProcess)
{
    ColumnMessage message(Distance::reachable, true, false);
    InProcessNode& node = message.node;
    protocol::start_send(node.driver(0), message.send, false);
    RankState& sender = node.driver(0).rank();
    ASSERT_FALSE(sender.ownership.leave());
    protocol::start_receive(node.driver(1), message.receive);
    for (int sweep = 0; sweep < 1000; ++sweep) {
        node.sweep(1);
        (void)node.driver(1).worker().help();
    }
    EXPECT_FALSE(message.receive->word.is_complete());
    EXPECT_TRUE(node.node().directory.wanted_at_home.has(0));
    ASSERT_TRUE(sender.ownership.try_enter());
    node.settle();
    EXPECT_TRUE(message.receive->word.is_complete());
    EXPECT_EQ(message.received(), message.content);
}

constexpr transport::FrameHeader short_name{.context = 0, .source = 0, .tag = 5, .sequence = 0};

/// Rank 0 makes a message of the column's elements in its lane to rank 1.
bool post_made(InProcessNode& node, const Column& column)
{
    const auto pack = [](const void* elements, std::uint64_t from, std::uint64_t to,
                         std::byte* place) {
        data::pack(*static_cast<const data::TypedElements*>(elements), from, to, place);
    };
    return node.driver(0).try_post_made(1, short_name, {pack, &column.elements(), column.bytes()});
}

bool take_apart(InProcessNode& node, const Column& column)
{
    QuickReceive receive{
        .wanted = short_name, .size_bytes = column.bytes(), .elements = &column.elements()};
    return protocol::receive_at_once(node.driver(1), receive, 0);
}

TEST(ElementCopy, AShortMessageGoesFromElementsToElements)
{
    InProcessNode node(2, {}, Distance::reachable);
    node.give_cores();
    Column from(500, 24, 100);
    const std::vector<std::byte> bytes = numbered(from.bytes());
    from.set(bytes);
    for (const bool is_kept : {false, true}) {
        Column into(1000, 12, 60);
        ASSERT_TRUE(post_made(node, from));
        if (is_kept) {
            node.sweep(1);
        }
        ASSERT_TRUE(take_apart(node, into));
        EXPECT_EQ(into.packed(), bytes);
        EXPECT_TRUE(into.has_its_gaps());
    }
    Column small(499, 24, 100);
    ASSERT_TRUE(post_made(node, from));
    EXPECT_FALSE(take_apart(node, small)) << "it is too long, which is for an op to say";
}

TEST(ElementCopy, NothingIsMadeWhereFramesGoOtherWays)
{
    InProcessNode node(2);
    Column column(500, 24, 100);
    node.driver(1).rank().is_full.store(1);
    EXPECT_FALSE(post_made(node, column)) << "the receiver takes no eager messages";
    config::Knobs knobs;
    knobs.sim = 1;
    InProcessNode simulated(2, knobs);
    EXPECT_FALSE(post_made(simulated, column));
}

TEST(ElementCopy, AShortMessageIsTakenApartWhileItIsMade)
{
    constexpr int messages = 200;
    InProcessNode node(2, {}, Distance::reachable);
    node.give_cores();
    Column from(600, 20, 5000);
    const std::vector<std::byte> bytes = numbered(from.bytes());
    from.set(bytes);
    std::thread sender([&] {
        for (int i = 0; i < messages; ++i) {
            while (!post_made(node, from)) {
                node.sweep(0);
            }
        }
    });
    for (int i = 0; i < messages; ++i) {
        Column into(1200, 10, 50);
        while (!take_apart(node, into)) {
            std::this_thread::yield();
        }
        ASSERT_EQ(into.packed(), bytes);
        ASSERT_TRUE(into.has_its_gaps());
    }
    sender.join();
}

}  // namespace
}  // namespace headway::engine
