// SPDX-License-Identifier: Apache-2.0
#include "protocol/tickets.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "unit/memory/heap_fixture.hpp"

namespace headway::protocol {
namespace {

class TicketsTest : public ::testing::Test {
  protected:
    std::unique_ptr<memory::NodeHeap> heap =
        std::move(memory::NodeHeap::create(memory::small_heap(1)).value());
    memory::Allocator& allocator = heap->for_rank(0);
    Tickets tickets;
};

TEST_F(TicketsTest, NamesEachOpOnce)
{
    std::vector<engine::Op> ops(100);
    std::set<Ticket> known;
    for (engine::Op& op : ops) {
        const Ticket ticket = tickets.issue(allocator, &op, 7, 11);
        ASSERT_NE(ticket, 0U);
        EXPECT_TRUE(known.insert(ticket).second);
    }
    auto op = ops.begin();
    std::set<engine::Op*> found;
    for (const Ticket ticket : known) {
        Tickets::Entry* const entry = tickets.find(ticket, 7);
        ASSERT_NE(entry, nullptr);
        EXPECT_EQ(entry->bytes_left, 11U);
        found.insert(entry->op);
    }
    EXPECT_EQ(found.size(), ops.size());
    EXPECT_EQ(*found.begin(), &*op);
}

TEST_F(TicketsTest, KnowsNothingElse)
{
    engine::Op op;
    EXPECT_EQ(tickets.find(0, 1), nullptr);
    EXPECT_EQ(tickets.find(UINT64_MAX, 1), nullptr);
    const Ticket ticket = tickets.issue(allocator, &op, 1, 0);
    EXPECT_EQ(tickets.find(ticket, 2), nullptr) << "another rank has no business with it";
    EXPECT_EQ(tickets.find(ticket + 1, 1), nullptr);
    EXPECT_EQ(tickets.find(ticket + (Ticket{1} << 32), 1), nullptr);
    EXPECT_NE(tickets.find(ticket, 1), nullptr);
}

TEST_F(TicketsTest, ForgetsWhatIsCancelledAndUsesThePlaceAgain)
{
    engine::Op op;
    const Ticket first = tickets.issue(allocator, &op, 1, 0);
    tickets.cancel(first);
    EXPECT_EQ(tickets.find(first, 1), nullptr);
    const Ticket second = tickets.issue(allocator, &op, 1, 0);
    EXPECT_EQ(static_cast<std::uint32_t>(second), static_cast<std::uint32_t>(first));
    EXPECT_NE(second, first);
    EXPECT_EQ(tickets.find(first, 1), nullptr);
    EXPECT_NE(tickets.find(second, 1), nullptr);
}

}  // namespace
}  // namespace headway::protocol
