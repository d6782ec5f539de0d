// SPDX-License-Identifier: Apache-2.0
//
// Context ids of communicators: two alive never share one, whoever leads them; freed ones rest for
// a while; running out is told.
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
        auto opened = Process::open(boot::open_single(), {.count = ranks});
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
        for (std::uint32_t made = rank(i).acquire_context(); made != 0;
             made = rank(i).acquire_context()) {
            ASSERT_EQ(made & 1U, 0U) << "odd ids name collective steps";
            ASSERT_TRUE(alive.insert(made).second) << "rank " << i << " gave " << made << " twice";
            last[static_cast<std::size_t>(i)] = made;
            ++count;
        }
        EXPECT_GT(count, 4000U);
    }
    // Room comes back with the first that is freed, and only then.
    for (int i = 0; i < ranks; ++i) {
        EXPECT_EQ(rank(i).acquire_context(), 0U);
        const std::uint32_t freed = last[static_cast<std::size_t>(i)];
        rank(i).release_context(freed);
        EXPECT_EQ(rank(i).acquire_context(), freed);
        EXPECT_EQ(rank(i).acquire_context(), 0U);
    }
}

TEST_F(ContextTest, AFreedOneRestsBeforeItIsGivenAgain)
{
    const std::uint32_t first = rank(1).acquire_context();
    rank(1).release_context(first);
    std::set<std::uint32_t> others;
    for (int i = 0; i < 16; ++i) {
        const std::uint32_t made = rank(1).acquire_context();
        EXPECT_NE(made, first);
        others.insert(made);
        rank(1).release_context(made);
    }
    // A program that makes and frees for ever needs few ids.
    for (int i = 0; i < 100'000; ++i) {
        const std::uint32_t made = rank(1).acquire_context();
        ASSERT_NE(made, 0U);
        others.insert(made);
        rank(1).release_context(made);
    }
    EXPECT_LE(others.size(), 20U);
}

TEST_F(ContextTest, OnlyTheLeaderTakesBack)
{
    const std::uint32_t foreign = rank(2).acquire_context();
    for (int i = 0; i < 40; ++i) {
        rank(1).release_context(foreign);
    }
    std::set<std::uint32_t> made;
    for (int i = 0; i < 40; ++i) {
        made.insert(rank(1).acquire_context());
    }
    EXPECT_EQ(made.count(foreign), 0U);
    EXPECT_EQ(made.size(), 40U);
}

TEST_F(ContextTest, ACommunicatorGivesItsOwnBackWithItsLastReference)
{
    Rank& leader = rank(0);
    std::set<std::uint32_t> used;
    for (int round = 0; round < 100; ++round) {
        const std::uint32_t context = leader.acquire_context();
        Communicator* made =
            Communicator::create(leader, context, {0, 2}, leader.world->error_handler());
        ASSERT_NE(made, nullptr);
        EXPECT_EQ(made->size(), 2);
        EXPECT_EQ(made->rank(), 0);
        EXPECT_EQ(made->members(), (std::vector<int>{0, 2}));
        made->add_reference();  // an operation under way
        made->free_handle();
        EXPECT_EQ(made->context(), context);
        made->drop_reference();
        used.insert(context);
    }
    EXPECT_LE(used.size(), 20U);
}

}  // namespace
}  // namespace headway::object
