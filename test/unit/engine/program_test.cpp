// SPDX-License-Identifier: Apache-2.0
//
// Programs, which are started again and again, and instances that serve run after run. All ranks
// of a node are moved by one thread, so that every run of a seed is the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "collective_runs.hpp"
#include "heap_famine.hpp"

namespace headway::engine {
namespace {

/// Numbers for runs that are none of the scope's own.
constexpr std::uint32_t first_sequence = 1'000'000;

/// One persistent collective of all ranks. What rank r gives in its n-th run follows from both.
class Repeated {
  public:
    Repeated(InProcessNode& node, Algorithm algorithm, std::size_t count, std::uint32_t number)
        : node_(node), collective_(node, algorithm), count_(count), number_(number)
    {
        for (std::uint32_t rank = 0; rank < node.size(); ++rank) {
            Member& member = members_.emplace_back();
            member.send.resize(count);
            member.receive.resize(count);
            GraphArguments arguments = vector_of(member.send, member.receive);
            arguments.sequence = first_sequence + number;
            member.program = create_program(node.driver(rank), collective_.stored(rank),
                                            node.world(rank), arguments);
            EXPECT_NE(member.program, nullptr);
        }
    }
    ~Repeated()
    {
        for (std::uint32_t rank = 0; rank < node_.size(); ++rank) {
            destroy_program(node_.driver(rank), members_[rank].program);
        }
    }
    Repeated(const Repeated&) = delete;
    Repeated& operator=(const Repeated&) = delete;

    /// Requires: is_idle().
    bool start(std::uint32_t rank)
    {
        Member& member = members_[rank];
        for (std::size_t i = 0; i < count_; ++i) {
            member.send[i] = given(rank, member.runs, i);
            member.receive[i] = -1;
        }
        member.op = start_program(node_.driver(rank), member.program);
        return member.op != nullptr;
    }
    bool is_idle(std::uint32_t rank) const { return members_[rank].op == nullptr; }
    int runs(std::uint32_t rank) const { return members_[rank].runs; }

    /// Ends the run of a rank that is complete, if there is one, and compares its sums.
    void end_if_complete(std::uint32_t rank)
    {
        Member& member = members_[rank];
        if (member.op == nullptr || !member.op->word.is_complete()) {
            return;
        }
        EXPECT_EQ(member.op->error, OpError::none);
        node_.driver(rank).destroy_op(member.op);
        member.op = nullptr;
        for (std::size_t i = 0; i < count_; ++i) {
            std::int64_t sum = 0;
            for (std::uint32_t other = 0; other < node_.size(); ++other) {
                sum += given(other, member.runs, i);
            }
            ASSERT_EQ(member.receive[i], sum) << "program " << number_ << ", rank " << rank
                                              << ", run " << member.runs << ", element " << i;
        }
        ++member.runs;
    }

  private:
    struct Member {
        std::vector<std::int64_t> send;
        std::vector<std::int64_t> receive;
        GraphInstance* program = nullptr;
        Op* op = nullptr;
        int runs = 0;
    };

    std::int64_t given(std::uint32_t rank, int run, std::size_t i) const
    {
        return static_cast<std::int64_t>(rank * 1000 + i) * (run + 1) + 7 * number_;
    }

    InProcessNode& node_;
    Collective collective_;
    std::size_t count_;
    std::uint32_t number_;
    std::deque<Member> members_;
};

void run_in_turn(InProcessNode& node, Repeated& repeated)
{
    for (std::uint32_t rank = 0; rank < node.size(); ++rank) {
        ASSERT_TRUE(repeated.start(rank));
    }
    node.settle();
    for (std::uint32_t rank = 0; rank < node.size(); ++rank) {
        repeated.end_if_complete(rank);
    }
}

constexpr Algorithm allreduces[] = {
    Algorithm::allreduce_recursive_doubling, Algorithm::allreduce_halving_doubling,
    Algorithm::allreduce_ring, Algorithm::allreduce_linear, Algorithm::allreduce_direct};

class Programs : public testing::TestWithParam<Route> {};

TEST_P(Programs, EveryRunGivesItsOwnSumsAndLeavesNothingBehind)
{
    for (const std::uint32_t ranks : {1U, 2U, 3U, 5U, 8U}) {
        InProcessNode node(ranks, knobs_of(GetParam()), GetParam().distance);
        std::optional<std::uint64_t> before;
        for (int round = 0; round < 2; ++round) {
            for (const Algorithm algorithm : allreduces) {
                for (const std::size_t count : {0U, 1U, 100U, 3000U}) {
                    Repeated repeated(node, algorithm, count, 0);
                    for (int run = 0; run < 3; ++run) {
                        run_in_turn(node, repeated);
                    }
                    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
                        ASSERT_EQ(repeated.runs(rank), 3);
                    }
                }
            }
            // The first round makes lanes and contexts, which stay.
            EXPECT_EQ(node.bytes_in_use(), before.value_or(node.bytes_in_use()));
            before = node.bytes_in_use();
        }
    }
}

/// Programs of one communicator, started by each rank in an order of its own and as early as it
/// can, so that ranks are runs ahead of others, among runs of other graphs.
class Mixture {
  public:
    Mixture(InProcessNode& node, std::size_t programs, int runs, std::uint32_t seed)
        : node_(node), runs_(runs), random_(seed), others_(node, Algorithm::bcast_binomial)
    {
        constexpr std::size_t counts[] = {0, 1, 60, 2000};
        for (std::size_t i = 0; i < programs; ++i) {
            programs_.emplace_back(node, allreduces[random_() % std::size(allreduces)],
                                   counts[random_() % std::size(counts)],
                                   static_cast<std::uint32_t>(i));
        }
    }

    void run_all()
    {
        std::uint32_t late = draw_rank();
        while (!are_over()) {
            const std::uint32_t rank = draw_rank();
            if (rank == late && random_() % 400 != 0) {
                continue;
            }
            if (rank == late) {
                late = draw_rank();
            }
            act(rank);
        }
        end_others();
    }

    bool are_over() const
    {
        for (const Repeated& each : programs_) {
            for (std::uint32_t rank = 0; rank < node_.size(); ++rank) {
                if (each.runs(rank) < runs_) {
                    return false;
                }
            }
        }
        return true;
    }

  private:
    std::uint32_t draw_rank() { return static_cast<std::uint32_t>(random_() % node_.size()); }

    void act(std::uint32_t rank)
    {
        if (random_() % 4 == 0) {
            node_.sweep(rank);
        }
        Repeated& each = programs_[random_() % programs_.size()];
        each.end_if_complete(rank);
        if (each.is_idle(rank) && each.runs(rank) < runs_) {
            ASSERT_TRUE(each.start(rank));
        }
        if (random_() % 50 == 0 && other_ops_.size() < others_max) {
            start_others();
        }
    }

    /// A broadcast that all ranks start, its root last.
    void start_others()
    {
        for (std::uint32_t rank = node_.size(); rank-- > 0;) {
            std::vector<std::int64_t>& buffer = buffers_.emplace_back(50, rank == 0 ? 7 : 0);
            other_ops_.push_back(start_graph(node_.driver(rank), others_.stored(rank),
                                             node_.world(rank), vector_of(buffer, buffer)));
        }
    }
    void end_others()
    {
        node_.settle();
        for (std::size_t i = 0; i < other_ops_.size(); ++i) {
            ASSERT_TRUE(other_ops_[i]->word.is_complete());
            ASSERT_EQ(other_ops_[i]->error, OpError::none);
            ASSERT_EQ(buffers_[i], std::vector<std::int64_t>(50, 7));
            node_.driver(other_ops_[i]->owner->rank).destroy_op(other_ops_[i]);
        }
    }

    static constexpr std::size_t others_max = 200;

    InProcessNode& node_;
    int runs_;
    std::mt19937 random_;
    std::deque<Repeated> programs_;
    Collective others_;
    std::deque<std::vector<std::int64_t>> buffers_;
    std::vector<Op*> other_ops_;
};

TEST_P(Programs, RanksThatAreRunsAheadOfOthersMeetTheRightOnes)
{
    for (std::uint32_t seed = 1; seed <= 12; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        InProcessNode node(1 + seed % 6, knobs_of(GetParam()), GetParam().distance);
        Mixture(node, 4, 12, seed).run_all();
        const std::uint64_t before = node.bytes_in_use();
        Mixture(node, 4, 12, seed).run_all();
        EXPECT_EQ(node.bytes_in_use(), before);
    }
}

TEST_P(Programs, SixtyFourGoOnAtOnce)
{
    InProcessNode node(4, knobs_of(GetParam()), GetParam().distance);
    Mixture(node, 64, 3, 99).run_all();
}

INSTANTIATE_TEST_SUITE_P(Routes, Programs, testing::ValuesIn(routes), name_of_route);

/// Starts all ranks while the heap has nothing to give, and sees them end.
void run_in_famine(InProcessNode& node, Repeated& repeated, int run)
{
    const HeapFamine famine(node.driver(0).allocator());
    run_in_turn(node, repeated);
    for (std::uint32_t rank = 0; rank < node.size(); ++rank) {
        ASSERT_EQ(repeated.runs(rank), run + 1) << "rank " << rank;
    }
}

// Of the heap, that is: the ops of its messages come from those that were used before.
TEST(Program, TheSecondStartAllocatesNothing)
{
    InProcessNode node(2);
    for (const Algorithm algorithm :
         {Algorithm::allreduce_recursive_doubling, Algorithm::allreduce_halving_doubling}) {
        Repeated repeated(node, algorithm, 500, 0);
        run_in_turn(node, repeated);
        for (int run = 1; run < 4; ++run) {
            run_in_famine(node, repeated, run);
        }
    }
}

TEST(Program, WhatTemplatesKeepOfManyRunsIsBounded)
{
    constexpr std::uint64_t bound = 32 * 1024;
    constexpr std::size_t runs = 200;
    InProcessNode node(2);
    {
        // Makes lanes and contexts, which stay.
        Repeated repeated(node, Algorithm::allreduce_recursive_doubling, 10, 0);
        run_in_turn(node, repeated);
    }
    for (const std::size_t count : {10U, 1000U, 100'000U}) {
        Collective collective(node, Algorithm::allreduce_recursive_doubling);
        std::vector<std::vector<std::int64_t>> send(2, std::vector<std::int64_t>(count, 1));
        std::vector<std::vector<std::int64_t>> receive(2 * runs, std::vector<std::int64_t>(count));
        std::vector<Op*> ops;
        const std::uint64_t before = node.bytes_in_use();
        for (std::size_t run = 0; run < runs; ++run) {
            for (std::uint32_t rank = 0; rank < 2; ++rank) {
                ops.push_back(start_graph(node.driver(rank), collective.stored(rank),
                                          node.world(rank),
                                          vector_of(send[rank], receive[2 * run + rank])));
            }
        }
        node.settle();
        for (Op* const op : ops) {
            ASSERT_TRUE(op->word.is_complete());
            node.driver(op->owner->rank).destroy_op(op);
        }
        for (std::uint32_t rank = 0; rank < 2; ++rank) {  // bins for so many messages
            protocol::forget_context(node.driver(rank), node.world(rank).collective_context());
        }
        EXPECT_LE(node.bytes_in_use(), before + 2 * bound) << count << " elements";
        EXPECT_EQ(receive, std::vector(2 * runs, std::vector<std::int64_t>(count, 2)));
    }
}

}  // namespace
}  // namespace headway::engine
