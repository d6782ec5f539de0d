// SPDX-License-Identifier: Apache-2.0
//
// Context ids of communicators: two alive never share one, whoever leads them; a freed one comes
// back last; running out is told; who still uses one can tell.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "boot/single.hpp"
#include "object/process.hpp"

namespace headway::object {
namespace {

class ContextTest : public testing::Test {
  protected:
    static constexpr int ranks = 3;

    void SetUp() override
    {
        auto boot = boot::open_single();
        auto opened = Process::open(boot, {.count = ranks});
        ASSERT_TRUE(opened.has_value()) << opened.sentence();
        process_ = std::move(opened.value());
        const auto joined = process_->join_node();
        ASSERT_TRUE(joined.has_value()) << joined.sentence();
        for (int i = 0; i < ranks; ++i) {
            ASSERT_TRUE(rank(i).open(MPI_THREAD_SINGLE).has_value());
        }
    }
    void TearDown() override
    {
        for (int i = 0; process_ != nullptr && i < ranks; ++i) {
            rank(i).close_world();
            rank(i).close();
        }
    }
    Rank& rank(int index) { return process_->rank(index); }

    std::unique_ptr<Process> process_;
};

TEST_F(ContextTest, NoTwoLeadersGiveTheSameUntilTheyRunOut)
{
    std::set<std::uint32_t> alive = {rank(0).world->context(), rank(0).self->context()};
    ASSERT_EQ(alive.size(), 2U);
    std::vector<std::uint32_t> last(ranks);
    for (int i = 0; i < ranks; ++i) {
        std::size_t count = 0;
        for (std::uint32_t made = rank(i).pick_context(); made != 0;
             made = rank(i).pick_context()) {
            ASSERT_EQ(made & 1U, 0U) << "odd ids name collective steps";
            ASSERT_TRUE(alive.insert(made).second) << "rank " << i << " gave " << made << " twice";
            last[static_cast<std::size_t>(i)] = made;
            ++count;
        }
        EXPECT_GT(count, 4000U);
    }
    // Room comes back with the first that is freed, and only then.
    for (int i = 0; i < ranks; ++i) {
        EXPECT_EQ(rank(i).pick_context(), 0U);
        rank(i).contexts().drop(last[static_cast<std::size_t>(i)]);
        const std::uint32_t made = rank(i).pick_context();
        EXPECT_NE(made, 0U);
        EXPECT_TRUE(alive.insert(made).second) << "one that was free until now";
        EXPECT_EQ(rank(i).pick_context(), 0U);
    }
}

// So many ranks that each can lead 15 communicators, with 16 numbers.
constexpr std::uint32_t many_ranks = 1U << 24U;
constexpr std::uint32_t numbers = 16;

TEST(ContextIds, AFreedOneComesBackWhenAllOthersHaveHadTheirTurn)
{
    ContextIds ids(many_ranks - 1, many_ranks);
    ASSERT_EQ(ids.alive_max(), numbers - 1);
    const std::uint32_t kept = ids.pick(false);
    const std::uint32_t first = ids.pick(true);
    ids.drop(first);
    for (std::uint32_t i = 0; i < numbers - 2; ++i) {
        const std::uint32_t made = ids.pick(i % 2 == 0);
        EXPECT_NE(made, kept);
        EXPECT_NE(ids.number(made), ids.number(first));
        EXPECT_EQ(ContextIds::is_spread(made), i % 2 == 0);
        ids.give_back(made);
    }
    EXPECT_EQ(ids.pick(true), first) << "the one that is alive was passed over";
}

TEST(ContextIds, LeadersHaveNumbersOfTheirOwn)
{
    std::set<std::uint32_t> all = {ContextIds::world, ContextIds::self, ContextIds::ground};
    for (const std::uint32_t rank : {0U, 1U, 2U, many_ranks / 2, many_ranks - 1}) {
        ContextIds ids(rank, many_ranks);
        for (std::uint32_t i = 0; i < ids.alive_max(); ++i) {
            const std::uint32_t made = ids.pick(i % 2 == 0);
            EXPECT_EQ(made & 0x8000'0001U, 0U) << "bits of collective steps and internal messages";
            EXPECT_TRUE(all.insert(made).second);
        }
        EXPECT_EQ(ids.pick(false), 0U);
    }
}

TEST(ContextIds, AreHeldUntilDropped)
{
    ContextIds leader(0, 2), member(1, 2);
    EXPECT_GT(leader.alive_max(), 4000U);
    const std::uint32_t made = leader.pick(false);
    EXPECT_FALSE(member.is_held(made));
    member.hold(made);
    leader.hold(made);
    leader.drop(made);
    EXPECT_FALSE(leader.is_held(made));
    EXPECT_TRUE(member.is_held(made));
    member.drop(made);
    EXPECT_FALSE(member.is_held(made));
    member.hold(ContextIds::world);
    EXPECT_FALSE(member.is_held(ContextIds::world)) << "fixed ones belong to nobody";
}

TEST_F(ContextTest, ACommunicatorGivesItsOwnBackWithItsLastReference)
{
    Rank& leader = rank(0);
    const std::uint32_t rounds = leader.contexts().alive_max() + 10;
    for (std::uint32_t round = 0; round < rounds; ++round) {
        const std::uint32_t context = leader.pick_context();
        ASSERT_NE(context, 0U);
        Communicator* made =
            Communicator::create(leader, context, {0, 2}, leader.world->error_handler());
        ASSERT_NE(made, nullptr);
        EXPECT_EQ(made->size(), 2);
        EXPECT_EQ(made->rank(), 0);
        EXPECT_EQ(made->members(), (std::vector<int>{0, 2}));
        made->add_reference();  // an operation under way
        made->free_handle();
        EXPECT_EQ(made->context(), context);
        EXPECT_TRUE(leader.contexts().is_held(context));
        made->drop_reference();
        EXPECT_FALSE(leader.contexts().is_held(context));
    }
}

}  // namespace
}  // namespace headway::object
