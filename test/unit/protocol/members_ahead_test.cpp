// SPDX-License-Identifier: Apache-2.0
// What a sweep does with messages of members that are ahead in collectives: where ranks share
// cores, one of each, so that they wait for room instead of filling this rank's memory.
#include <gtest/gtest.h>

#include <cstdint>

#include "protocol/point_to_point.hpp"
#include "unit/engine/in_process_node.hpp"

namespace headway::protocol {
namespace {

using engine::Op;
using engine::OpKind;

constexpr std::uint32_t root = 0;
constexpr std::uint32_t members = 2;  // beside the root
constexpr std::uint32_t calls = 10;
constexpr std::uint32_t collective_context = 1;

class MembersAhead : public testing::Test {
  public:
    explicit MembersAhead(bool shares_cores = true) : node(1 + members)
    {
        node.node().is_oversubscribed = shares_cores;
        node.node().choose_buffers();
    }

    Op* make(std::uint32_t rank, OpKind kind, std::uint32_t source, std::uint32_t call,
             std::uint32_t* value)
    {
        Op* const op = node.driver(rank).create_op(kind);
        op->header = {.context = context,
                      .source = static_cast<std::int32_t>(source),
                      .tag = 0,
                      .sequence = call};
        op->address = reinterpret_cast<std::byte*>(value);
        op->size_bytes = sizeof *value;
        return op;
    }
    void send_all()
    {
        for (std::uint32_t call = 0; call < calls; ++call) {
            for (std::uint32_t member = 1; member <= members; ++member) {
                std::uint32_t value = 100 * member + call;
                Op* const op = make(member, OpKind::send, member, call, &value);
                op->peer = root;
                start_send(node.driver(member), op, false);
            }
        }
    }
    std::uint64_t kept() { return node.driver(root).rank().counters.unexpected_queue.load(); }

    engine::InProcessNode node;
    std::uint32_t context = collective_context;
};

TEST_F(MembersAhead, AreTakenOneOfEachASweep)
{
    send_all();
    for (std::uint32_t sweep = 1; sweep <= calls; ++sweep) {
        (void)node.driver(root).progress();
        EXPECT_LE(kept(), (1 + members) * sweep);
    }
    EXPECT_GT(kept(), 0U);
}

TEST_F(MembersAhead, DoNotHideWhatIsBehindThem)
{
    send_all();
    for (std::uint32_t member = 1; member <= members; ++member) {
        std::uint32_t value = 0;
        Op* const last = make(root, OpKind::receive, member, calls - 1, &value);
        start_receive(node.driver(root), last);
        for (std::uint32_t sweep = 0; sweep < members * calls; ++sweep) {
            (void)node.driver(root).progress();
        }
        EXPECT_TRUE(last->word.is_complete());
        EXPECT_EQ(value, 100 * member + calls - 1);
    }
    EXPECT_EQ(kept(), members * (calls - 1));
}

TEST_F(MembersAhead, WhoAreAwaitedKeepASweepGoing)
{
    std::uint32_t values[members][calls] = {};
    for (std::uint32_t member = 1; member <= members; ++member) {
        for (std::uint32_t call = 0; call < calls; ++call) {
            Op* const op = make(root, OpKind::receive, member, call, &values[member - 1][call]);
            start_receive(node.driver(root), op);
        }
    }
    send_all();
    EXPECT_EQ(node.driver(root).progress(), static_cast<int>(members * calls));
    EXPECT_EQ(kept(), 0U);
}

TEST_F(MembersAhead, OrdinaryMessagesAreTakenAsTheyCome)
{
    context = 0;
    send_all();
    EXPECT_EQ(node.driver(root).progress(), static_cast<int>(members * calls));
    EXPECT_EQ(kept(), members * calls);
}

class MembersAheadOnCoresOfTheirOwn : public MembersAhead {
  public:
    MembersAheadOnCoresOfTheirOwn() : MembersAhead(false) {}
};

TEST_F(MembersAheadOnCoresOfTheirOwn, AreTakenAsTheyCome)
{
    send_all();
    EXPECT_EQ(node.driver(root).progress(), static_cast<int>(members * calls));
    EXPECT_EQ(kept(), members * calls);
}

}  // namespace
}  // namespace headway::protocol
