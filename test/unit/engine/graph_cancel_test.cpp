// SPDX-License-Identifier: Apache-2.0
//
// Collectives in which a node fails: who hears of it and when, and that neither a message nor a
// byte is left behind that another run could meet.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "collective_runs.hpp"
#include "protocol/coll/table.hpp"

namespace headway::engine {
namespace {

using protocol::coll::Row;
using Buffer = std::vector<std::int64_t>;

class GraphCancel : public testing::TestWithParam<Route> {
  protected:
    GraphCancel() : node(4, knobs_of(GetParam()), GetParam().distance) {}

    /// An allreduce on the whole world that gives the right sums.
    void expect_that_others_work()
    {
        constexpr std::size_t count = 3000;
        Collective allreduce(node, Algorithm::allreduce_recursive_doubling);
        std::vector<Buffer> sent(node.size(), Buffer(count));
        std::vector<Buffer> got(node.size(), Buffer(count));
        for (std::uint32_t rank = 0; rank < node.size(); ++rank) {
            std::ranges::fill(sent[rank], rank + 1);
            allreduce.start(rank, vector_of(sent[rank], got[rank]));
        }
        node.settle();
        for (std::uint32_t rank = 0; rank < node.size(); ++rank) {
            ASSERT_EQ(allreduce.end(rank), OpError::none);
            ASSERT_EQ(got[rank], Buffer(count, 10));
        }
    }

    InProcessNode node;
};

TEST_P(GraphCancel, WhoDependsOnAFailedMemberIsToldSo)
{
    expect_that_others_work();
    const std::uint64_t before = node.bytes_in_use();
    {
        // Rank 0 sends to 2 and to 1, rank 2 to 3.
        Collective bcast(node, Algorithm::bcast_binomial);
        std::vector<Buffer> buffers{Buffer(2000, 7), Buffer(2000), Buffer(1999), Buffer(2000)};
        for (std::uint32_t rank = 0; rank < node.size(); ++rank) {
            bcast.start(rank, vector_of(buffers[rank], buffers[rank]));
        }
        node.settle();
        EXPECT_EQ(bcast.end(0), OpError::none);
        EXPECT_EQ(bcast.end(1), OpError::none);
        EXPECT_EQ(bcast.end(2), OpError::truncated);
        EXPECT_EQ(bcast.end(3), OpError::given_up);
        EXPECT_EQ(buffers[1], buffers[0]);
        EXPECT_EQ(buffers[3], Buffer(2000, 0));
    }
    expect_that_others_work();
    EXPECT_EQ(node.bytes_in_use(), before);
}

// Whatever a member gave, it is its caller's again.
TEST_P(GraphCancel, AMemberThatFailsDoesNotWaitForWhoHasNotCome)
{
    expect_that_others_work();
    const std::uint64_t before = node.bytes_in_use();
    {
        Collective gather(node, Algorithm::gather_flat, 1);
        std::vector<Buffer> sent{Buffer(20, 5), Buffer(10, 5), Buffer(10, 5), Buffer(10, 5)};
        Buffer got(40, 0);
        const auto start = [&](std::uint32_t rank) {
            GraphArguments arguments = vector_of(sent[rank], sent[rank]);
            arguments.receive = got.data();
            gather.start(rank, arguments);
        };
        start(1);
        start(0);
        node.settle();
        ASSERT_TRUE(gather.is_complete(1)) << "ranks 2 and 3 have not come";
        EXPECT_EQ(gather.end(1), OpError::truncated);
        std::ranges::fill(got, -1);
        gather.forget(1);
        start(2);
        start(3);
        node.settle();
        for (const std::uint32_t rank : {0U, 2U, 3U}) {
            EXPECT_EQ(gather.end(rank), OpError::none) << "rank " << rank;
        }
        EXPECT_EQ(got, Buffer(40, -1)) << "the caller has it back";
    }
    expect_that_others_work();
    EXPECT_EQ(node.bytes_in_use(), before);
}

// All runs of a program name their messages alike.
TEST_P(GraphCancel, LateMessagesOfAFailedRunDoNotMeetTheNextOne)
{
    constexpr std::uint32_t sequence = 77;
    expect_that_others_work();
    const std::uint64_t before = node.bytes_in_use();
    {
        Collective gather(node, Algorithm::gather_flat);
        std::vector<Buffer> sent{Buffer(10, 1), Buffer(10, 1), Buffer(20, 1), Buffer(10, 1)};
        Buffer got(40, 0);
        std::vector<GraphInstance*> programs(node.size());
        const auto make = [&](std::uint32_t rank) {
            GraphArguments arguments = vector_of(sent[rank], sent[rank]);
            arguments.receive = got.data();
            arguments.sequence = sequence;
            destroy_program(node.driver(rank), programs[rank]);
            programs[rank] =
                create_program(node.driver(rank), gather.stored(rank), node.world(rank), arguments);
        };
        const auto run = [&](std::uint32_t rank) {
            Op* const op = start_program(node.driver(rank), programs[rank]);
            node.settle();
            return op;
        };
        const auto end = [&](std::uint32_t rank, Op* op) {
            EXPECT_TRUE(op->word.is_complete()) << "rank " << rank;
            const OpError error = op->error;
            node.driver(rank).destroy_op(op);
            return error;
        };
        for (std::uint32_t rank = 0; rank < node.size(); ++rank) {
            make(rank);
        }
        // Rank 2 gives too much. Ranks 1 and 3 come when the root is in the next run already.
        Op* const first_of_2 = run(2);
        Op* const first_of_0 = run(0);
        ASSERT_EQ(end(0, first_of_0), OpError::truncated);
        ASSERT_EQ(end(2, first_of_2), OpError::none);
        EXPECT_FALSE(can_start(*programs[0]));
        EXPECT_TRUE(can_start(*programs[2]));
        make(0);
        sent[2] = Buffer(10, 2);
        make(2);
        std::ranges::fill(sent[0], 2);
        Op* const second_of_0 = run(0);
        Op* const second_of_2 = run(2);
        for (const std::uint32_t rank : {1U, 3U}) {
            EXPECT_EQ(end(rank, run(rank)), OpError::none);
            std::ranges::fill(sent[rank], 2);
            EXPECT_EQ(end(rank, run(rank)), OpError::none);
        }
        EXPECT_EQ(end(0, second_of_0), OpError::none);
        EXPECT_EQ(end(2, second_of_2), OpError::none);
        EXPECT_EQ(got, Buffer(40, 2));
        for (std::uint32_t rank = 0; rank < node.size(); ++rank) {
            destroy_program(node.driver(rank), programs[rank]);
        }
    }
    expect_that_others_work();
    EXPECT_EQ(node.bytes_in_use(), before);
}

/// One call of any algorithm in which one member names another length than the others.
class WrongCall {
  public:
    WrongCall(InProcessNode& node, const Row& row, std::mt19937& random)
        : node_(node), collective_(node, row.algorithm, draw(random, is_rooted(row.collective)))
    {
        constexpr std::size_t counts[] = {1, 30, 1500};
        const std::size_t usual = counts[random() % std::size(counts)];
        const auto wrong = static_cast<std::uint32_t>(random() % node.size());
        const std::size_t other = random() % 2 == 0 ? usual * 2 : usual / 2;
        // Room for a block of each rank, as the longest of them says.
        for (std::uint32_t rank = 0; rank < node.size(); ++rank) {
            counts_.push_back(rank == wrong ? other : usual);
            send_.emplace_back(2 * usual * node.size(), 1);
            receive_.emplace_back(2 * usual * node.size(), 1);
        }
    }

    void start(std::uint32_t rank)
    {
        GraphArguments arguments = vector_of(send_[rank], receive_[rank]);
        arguments.count = counts_[rank];
        collective_.start(rank, arguments);
    }
    OpError end(std::uint32_t rank) { return collective_.end(rank); }

  private:
    std::uint32_t draw(std::mt19937& random, bool is_rooted) const
    {
        return is_rooted ? static_cast<std::uint32_t>(random() % node_.size()) : 0;
    }

    InProcessNode& node_;
    Collective collective_;
    std::vector<std::size_t> counts_;
    std::vector<Buffer> send_;
    std::vector<Buffer> receive_;
};

/// Whether some member has failed.
bool run_wrong_call(InProcessNode& node, const Row& row, std::mt19937& random)
{
    WrongCall call(node, row, random);
    std::vector<std::uint32_t> order{0, 1, 2, 3};
    std::ranges::shuffle(order, random);
    for (const std::uint32_t rank : order) {
        call.start(rank);
        for (std::uint32_t sweeps = random() % 8; sweeps != 0; --sweeps) {
            node.sweep(static_cast<std::uint32_t>(random() % node.size()));
        }
    }
    node.settle();
    bool has_failed = false;
    for (std::uint32_t rank = 0; rank < node.size(); ++rank) {
        has_failed = call.end(rank) != OpError::none || has_failed;
    }
    return has_failed;
}

TEST_P(GraphCancel, NoWrongCallOfAnyAlgorithmHangsOrLeavesAnythingBehind)
{
    int failed = 0;
    for (const Row& row : protocol::coll::table()) {
        if (row.reads.topology || row.ranks_max < node.size()) {
            continue;
        }
        SCOPED_TRACE(row.name);
        expect_that_others_work();
        const std::uint64_t before = node.bytes_in_use();
        for (std::uint32_t seed = 1; seed <= 15; ++seed) {
            SCOPED_TRACE("seed " + std::to_string(seed));
            std::mt19937 random(seed);
            failed += run_wrong_call(node, row, random) ? 1 : 0;
            ASSERT_EQ(node.bytes_in_use(), before);
        }
        expect_that_others_work();
    }
    EXPECT_GT(failed, 200);
}

INSTANTIATE_TEST_SUITE_P(Routes, GraphCancel, testing::ValuesIn(routes), name_of_route);

}  // namespace
}  // namespace headway::engine
