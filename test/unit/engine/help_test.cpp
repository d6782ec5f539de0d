// SPDX-License-Identifier: Apache-2.0
//
// Work done for ranks that are away, and long messages copied by whoever is idle. One thread moves
// all hands, so a test says exactly who works when.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "data/element.hpp"
#include "engine/door.hpp"
#include "in_process_node.hpp"

namespace headway::engine {
namespace {

constexpr std::uint64_t message_bytes = 100'000;

std::vector<std::byte> pattern(std::uint64_t bytes)
{
    std::vector<std::byte> made(bytes);
    for (std::uint64_t i = 0; i < bytes; ++i) {
        made[i] = static_cast<std::byte>(i * 31 + (i >> 8));
    }
    return made;
}

/// What MPI_Irecv does, and then the rank goes away to compute.
Op* receive_and_leave(InProcessNode& node, std::uint32_t rank, std::int32_t source, void* buffer,
                      std::uint64_t bytes)
{
    Op* receive = node.start_receive(rank, source, 1, buffer, bytes);
    EXPECT_FALSE(node.driver(rank).rank().ownership.leave());
    return receive;
}

template <typename Set>
class RankSets : public testing::Test {};
using Kinds = testing::Types<RankSet, SpreadRankSet>;
TYPED_TEST_SUITE(RankSets, Kinds);

TYPED_TEST(RankSets, TwoCoverTheFirstRanksTogether)
{
    TypeParam asleep;
    RankSet ended;
    for (const std::uint32_t count : {1U, 7U, 8U, 9U, 63U, 64U, 65U, 130U, ranks_per_node_max}) {
        for (std::uint32_t rank = 0; rank < count; ++rank) {
            EXPECT_FALSE(asleep.covers_with(ended, count)) << "without rank " << rank;
            if (rank % 3 == 0) {
                ended.add(rank);
            } else {
                asleep.add(rank);
            }
        }
        EXPECT_TRUE(asleep.covers_with(ended, count));
        if (count < ranks_per_node_max) {
            EXPECT_FALSE(asleep.covers_with(ended, count + 1));
        }
        for (std::uint32_t rank = 0; rank < count; ++rank) {
            EXPECT_EQ(ended.has(rank), rank % 3 == 0);
            EXPECT_EQ(asleep.remove(rank), rank % 3 != 0);
            (void)ended.remove(rank);
        }
    }
}

TYPED_TEST(RankSets, TheNextOneIsTheFirstFromThere)
{
    TypeParam set;
    EXPECT_EQ(set.next(), ranks_per_node_max);
    const std::uint32_t members[] = {0, 7, 8, 63, 64, 200, ranks_per_node_max - 1};
    for (const std::uint32_t rank : members) {
        set.add(rank);
    }
    std::uint32_t from = 0;
    for (const std::uint32_t rank : members) {
        EXPECT_EQ(set.next(from), rank) << "from " << from;
        from = rank + 1;
    }
    EXPECT_EQ(set.next(from), ranks_per_node_max);
    EXPECT_EQ(set.next(9, 64), 63U);
}

/// The rank computes, whatever bells were rung.
void goes_away(Driver& driver)
{
    while (driver.rank().ownership.leave()) {
    }
}

TEST(Help, TheSenderThatWaitsWorksForAReceiverThatComputes)
{
    InProcessNode node(2);
    const auto sent = pattern(message_bytes);
    std::vector<std::byte> got(message_bytes);
    Op* receive = receive_and_leave(node, 1, 0, got.data(), got.size());
    Op* send = node.start_send(0, 1, 1, sent.data(), sent.size());
    Worker& sender = node.driver(0).worker();
    EXPECT_TRUE(sender.has_asked());
    while (sender.help()) {
    }
    EXPECT_TRUE(receive->word.is_complete());
    EXPECT_TRUE(send->word.is_complete());
    EXPECT_EQ(got, sent);
    EXPECT_TRUE(node.driver(1).rank().ownership.is_free());
    EXPECT_GE(node.driver(1).rank().counters.times_helped.load(), 1U);
}

TEST(Help, NobodyIsCalledForARankThatIsInside)
{
    InProcessNode node(2);
    const auto sent = pattern(message_bytes);
    std::vector<std::byte> got(message_bytes);
    (void)node.start_receive(1, 0, 1, got.data(), got.size());
    (void)node.start_send(0, 1, 1, sent.data(), sent.size());
    EXPECT_FALSE(node.driver(0).worker().has_asked());
    EXPECT_TRUE(node.driver(1).rank().ownership.is_rung());
    node.settle();
    EXPECT_EQ(got, sent);
    EXPECT_EQ(node.driver(1).rank().counters.times_helped.load(), 0U);
}

TEST(Help, ShortMessagesCallNobody)
{
    InProcessNode node(2);
    std::uint32_t got = 0;
    const std::uint32_t sent = 7;
    Op* receive = receive_and_leave(node, 1, 0, &got, sizeof got);
    (void)node.start_send(0, 1, 1, &sent, sizeof sent);
    EXPECT_FALSE(node.driver(0).worker().has_asked());
    EXPECT_EQ(node.driver(1).rank().open_ops.count(), 0U);
    ASSERT_TRUE(node.driver(1).rank().ownership.enter());
    node.settle();
    EXPECT_TRUE(receive->word.is_complete());
}

TEST(Help, AnIdleRankTakesOverWhatASenderLeavesBehind)
{
    InProcessNode node(3);
    const auto sent = pattern(message_bytes);
    std::vector<std::byte> got(message_bytes);
    Op* receive = receive_and_leave(node, 1, 0, got.data(), got.size());
    (void)node.start_send(0, 1, 1, sent.data(), sent.size());
    // Rank 2 sleeps inside MPI; rank 0 goes on to compute.
    SpreadRankSet& idle = node.node().directory.idle;
    idle.add(2);
    node.driver(0).worker().hand_over();
    EXPECT_FALSE(idle.remove(2)) << "rank 2 was not chosen";
    EXPECT_TRUE(node.driver(2).rank().ownership.is_rung());
    while (node.driver(2).worker().help()) {
    }
    EXPECT_TRUE(receive->word.is_complete());
    EXPECT_EQ(got, sent);
}

TEST(Help, BothSidesThatWaitCopyPieces)
{
    config::Knobs knobs;
    knobs.copy_piece = 4096;
    InProcessNode node(2, knobs);
    const auto sent = pattern(message_bytes);
    std::vector<std::byte> got(message_bytes);
    Op* send = node.start_send(0, 1, 1, sent.data(), sent.size());
    Op* receive = node.start_receive(1, 0, 1, got.data(), got.size());
    node.driver(1).progress();
    std::uint64_t by_sender = 0;
    std::uint64_t by_receiver = 0;
    while (!receive->word.is_complete()) {
        by_sender += copy_some(node.driver(0), 4096);
        by_receiver += copy_some(node.driver(1), 4096);
    }
    EXPECT_EQ(by_sender + by_receiver, message_bytes);
    EXPECT_LE(by_sender - by_receiver, 4096U);
    EXPECT_TRUE(send->word.is_complete());
    EXPECT_EQ(got, sent);
    // Both let go of the job.
    EXPECT_FALSE(has_unattended_copies(node.driver(0)));
    EXPECT_FALSE(has_unattended_copies(node.driver(1)));
}

TEST(Help, ACallThatDoesNotBlockCopiesNoMoreThanItMay)
{
    config::Knobs knobs;
    knobs.copy_at_once = 8192;
    InProcessNode node(2, knobs);
    const auto sent = pattern(message_bytes);
    std::vector<std::byte> got(message_bytes);
    (void)node.start_send(0, 1, 1, sent.data(), sent.size());
    Op* receive = node.start_receive(1, 0, 1, got.data(), got.size());
    node.driver(1).advance();
    EXPECT_EQ(std::memcmp(got.data(), sent.data(), 8192), 0);
    EXPECT_EQ(got[8192], std::byte{0});
    EXPECT_NE(sent[8192], std::byte{0});
    EXPECT_TRUE(has_unattended_copies(node.driver(1)));
    while (!receive->word.is_complete()) {
        node.driver(1).advance();
    }
    EXPECT_EQ(got, sent);
}

TEST(Help, WithNobodyElseACallCopiesAll)
{
    config::Knobs knobs;
    knobs.progress = config::ProgressChoice::none;
    InProcessNode node(2, knobs);
    const auto sent = pattern(message_bytes);
    std::vector<std::byte> got(message_bytes);
    (void)node.start_send(0, 1, 1, sent.data(), sent.size());
    Op* receive = node.start_receive(1, 0, 1, got.data(), got.size());
    node.driver(1).advance();
    EXPECT_TRUE(receive->word.is_complete());
    EXPECT_EQ(got, sent);
}

TEST(Help, UserReductionsWaitForTheirOwner)
{
    static int runs;
    runs = 0;
    InProcessNode node(2);
    node.node().user_reduction = [](Driver&, std::uint64_t, const void* in, void* inout,
                                    std::uint64_t) {
        ++runs;
        std::uint32_t left = 0;
        std::uint32_t right = 0;
        std::memcpy(&left, in, 4);
        std::memcpy(&right, inout, 4);
        right += left;
        std::memcpy(inout, &right, 4);
        return true;
    };
    Graph graph;
    const auto arrival = graph.receive(0, 1, {Space::scratch, 0, 1});
    graph.scratch_blocks = 1;
    graph.order(arrival, graph.reduce({Space::scratch, 0, 1}, {Space::receive, 0, 1}));
    GraphTemplate* stored = store_graph(node.driver(1).allocator(), graph);
    std::uint32_t sum = 40;
    GraphArguments arguments;
    arguments.receive = &sum;
    arguments.count = 1;
    arguments.element_bytes = 4;
    arguments.reduction.user_op = 1;
    Op* done = start_graph(node.driver(1), *stored, node.world(1), arguments);
    EXPECT_FALSE(node.driver(1).rank().ownership.leave());

    Graph other;
    other.send(1, 1, {Space::send, 0, 1});
    GraphTemplate* sending = store_graph(node.driver(0).allocator(), other);
    const std::uint32_t two = 2;
    arguments = {};
    arguments.send = &two;
    arguments.count = 1;
    arguments.element_bytes = 4;
    (void)start_graph(node.driver(0), *sending, node.world(0), arguments);
    EXPECT_TRUE(node.driver(0).worker().has_asked());
    while (node.driver(0).worker().help()) {
    }
    EXPECT_EQ(runs, 0);
    EXPECT_FALSE(done->word.is_complete());
    ASSERT_TRUE(node.driver(1).rank().ownership.enter());
    node.driver(1).progress();
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(sum, 42U);
    EXPECT_TRUE(done->word.is_complete());
}

TEST(Help, CopiesThatNobodyDoesAreFoundAgain)
{
    // Two messages in hand when their receiver goes away: the first helper ends both.
    InProcessNode node(3);
    const auto sent = pattern(message_bytes);
    std::vector<std::byte> first(message_bytes);
    std::vector<std::byte> second(message_bytes);
    (void)node.start_send(0, 1, 1, sent.data(), sent.size());
    (void)node.start_send(0, 1, 1, sent.data(), sent.size());
    Op* one = node.start_receive(1, 0, 1, first.data(), first.size());
    Op* two = node.start_receive(1, 0, 1, second.data(), second.size());
    node.driver(1).progress();
    EXPECT_TRUE(has_unattended_copies(node.driver(1)));
    (void)node.driver(1).rank().ownership.leave();
    node.driver(1).worker().leave_behind(node.driver(1).rank());
    while (node.driver(2).worker().help()) {
    }
    EXPECT_TRUE(one->word.is_complete());
    EXPECT_TRUE(two->word.is_complete());
    EXPECT_EQ(first, sent);
    EXPECT_EQ(second, sent);
}

TEST(Help, WhoDefersLeavesCopiesAmongTheWanted)
{
    // What an agent does for a while where every core has a rank: it matches, and copies nothing.
    InProcessNode node(3);
    const auto sent = pattern(message_bytes);
    std::vector<std::byte> got(message_bytes);
    Op* receive = node.start_receive(1, 0, 1, got.data(), got.size());
    (void)node.driver(1).rank().ownership.leave();
    (void)node.start_send(0, 1, 1, sent.data(), sent.size());
    node.driver(0).worker().hand_over();
    Worker& helper = node.driver(2).worker();
    helper.defer_copies(true);
    while (!helper.has_deferred() && helper.help()) {
    }
    EXPECT_TRUE(helper.has_deferred());
    EXPECT_FALSE(receive->word.is_complete());
    EXPECT_TRUE(has_unattended_copies(node.driver(1))) << "it was matched";
    helper.defer_copies(false);
    while (helper.help()) {
    }
    EXPECT_TRUE(receive->word.is_complete());
    EXPECT_EQ(got, sent);
}

/// Of rank 0, which rank 1 has matched; nothing of it is copied.
struct MatchedMessage {
    MatchedMessage()
    {
        (void)node.start_send(0, 1, 1, sent.data(), sent.size());
        (void)node.start_receive(1, 0, 1, got.data(), got.size());
        node.driver(1).progress();
    }

    InProcessNode node = InProcessNode(2);
    const std::vector<std::byte> sent = pattern(message_bytes);
    std::vector<std::byte> got = std::vector<std::byte>(message_bytes);
};

// It has sent, say, and is about to wait.
TEST(Help, AReceiverLeavesCopiesToASenderWhoIsInACall)
{
    MatchedMessage message;
    InProcessNode& node = message.node;
    EXPECT_TRUE(has_unattended_copies(node.driver(1))) << "for who has no bell to ring";
    EXPECT_FALSE(has_unattended_copies(node.driver(1), true));
    EXPECT_TRUE(node.driver(0).rank().ownership.leave()) << "not before it has looked";
    EXPECT_TRUE(has_unattended_copies(node.driver(0))) << "if it does not wait after all";
    goes_away(node.driver(0));
    EXPECT_TRUE(has_unattended_copies(node.driver(1), true));
}

TEST(Help, ASenderLeavesCopiesToAReceiverWhoWaits)
{
    MatchedMessage message;
    InProcessNode& node = message.node;
    EXPECT_TRUE(has_unattended_copies(node.driver(0))) << "the receiver is away";
    node.driver(1).rank().waiting_threads.store(1);
    EXPECT_FALSE(has_unattended_copies(node.driver(0)));
    // He may be back at once, so that nothing is copied for him yet; and where he is, he copies.
    node.driver(1).rank().waiting_threads.store(0);
    while (node.driver(1).rank().ownership.leave()) {  // a bell was rung
    }
    EXPECT_FALSE(copy_next(node.driver(0), CopyShare::own));
    ASSERT_TRUE(node.driver(1).rank().ownership.enter());
    EXPECT_TRUE(copy_next(node.driver(1), CopyShare::own));
    while (copy_next(node.driver(0), CopyShare::all)) {
    }
    EXPECT_EQ(message.got, message.sent);
}

TEST(Help, ARankLeavesNoStepOfItsOwnGraphsBehind)
{
    // Rank 1 copies what arrives until nothing is left of it, and leaves before it sweeps again.
    InProcessNode node(2);
    const auto sent = pattern(message_bytes);
    std::vector<std::byte> passed(message_bytes);
    std::vector<std::byte> got(message_bytes);
    Graph there_and_back;
    there_and_back.send(1, 1, {Space::send, 0, 1});
    there_and_back.receive(1, 2, {Space::receive, 0, 1});
    Graph pass_on;
    const auto arrival = pass_on.receive(0, 1, {Space::receive, 0, 1});
    pass_on.order(arrival, pass_on.send(0, 2, {Space::receive, 0, 1}));
    GraphArguments arguments;
    arguments.send = sent.data();
    arguments.receive = got.data();
    arguments.count = 1;
    arguments.element_bytes = message_bytes;
    Op* back = start_graph(node.driver(0), *store_graph(node.driver(0).allocator(), there_and_back),
                           node.world(0), arguments);
    Door door;
    door.open(node.driver(1));
    door.enter();
    arguments.send = nullptr;
    arguments.receive = passed.data();
    (void)start_graph(node.driver(1), *store_graph(node.driver(1).allocator(), pass_on),
                      node.world(1), arguments);
    (void)node.driver(1).rank().ownership.answer_bell();
    node.driver(1).progress();
    EXPECT_EQ(copy_some(node.driver(1), UINT64_MAX), message_bytes);
    EXPECT_FALSE(node.driver(1).rank().fired.is_empty());
    door.leave();
    node.settle(1);
    EXPECT_TRUE(back->word.is_complete());
    EXPECT_EQ(got, sent);
}

TEST(Help, WhomAHelperLeavesBehindInPassingIsNotForgotten)
{
    // A helper in reach of the last rank alone: its work asks for more ranks than it remembers.
    constexpr std::uint32_t far = 10;
    InProcessNode node(far + 2, {}, Distance::apart);
    RankState& near = node.driver(far).rank();
    near.process = node.node().own_process;
    Graph graph;
    const auto arrival = graph.receive(far + 1, 1, {Space::scratch, 0, 1});
    graph.scratch_blocks = 1;
    for (std::uint32_t rank = 0; rank < far; ++rank) {
        graph.order(arrival, graph.send(rank, 2, {Space::scratch, 0, 1}));
    }
    GraphArguments arguments;
    arguments.count = 1;
    arguments.element_bytes = 4;
    (void)start_graph(node.driver(far), *store_graph(node.driver(far).allocator(), graph),
                      node.world(far), arguments);
    Graph other;
    other.send(far, 1, {Space::send, 0, 1});
    const std::uint32_t two = 2;
    arguments.send = &two;
    (void)start_graph(node.driver(far + 1), *store_graph(node.driver(far + 1).allocator(), other),
                      node.world(far + 1), arguments);
    Directory& directory = node.node().directory;
    for (std::uint32_t rank = 0; rank <= far; ++rank) {
        (void)node.driver(rank).rank().ownership.leave();
    }
    directory.wanted.add(far);
    std::vector<sync::OwnershipWord*> beds;
    for (std::uint32_t rank = 0; rank < far; ++rank) {
        beds.push_back(&directory.processes[rank].agent_bed);
        EXPECT_TRUE(beds.back()->enter());
        EXPECT_TRUE(beds.back()->prepare_park());
    }
    Worker& helper = node.driver(far + 1).worker();
    while (helper.help()) {
    }
    for (std::uint32_t rank = 0; rank < far; ++rank) {
        EXPECT_TRUE(directory.wanted.remove(rank)) << rank;
        EXPECT_TRUE(beds[rank]->is_rung()) << "nobody woke the agent of rank " << rank;
    }
}

}  // namespace
}  // namespace headway::engine
