// SPDX-License-Identifier: Apache-2.0
//
// Every algorithm of the table through the graph engine, with bytes in place of symbols: what the
// contract says of blocks must stand in the buffers.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "study/sweep.hpp"
#include "unit/engine/in_process_node.hpp"

namespace headway::study {
namespace {

using engine::BlockLayout;

/// What stands in an element of somebody's input.
std::int64_t element_of(Origin origin, std::uint64_t index)
{
    return static_cast<std::int64_t>(1 + index + 1000 * (origin.block + 100 * origin.rank));
}

std::int64_t wanted_element(const ReceiveBlock& block, std::uint64_t index)
{
    std::int64_t sum = 0;
    const std::uint32_t ranks = block.wanted == Wanted::combined ? block.count : 1;
    for (std::uint32_t i = 0; i < ranks; ++i) {
        sum += element_of({block.origin.rank + i, block.origin.block}, index);
    }
    return sum;
}

/// The buffers of one rank, and its run.
class Buffers {
  public:
    Buffers(const engine::Graph& graph, const Contract& contract, const RankContract& facts,
            std::uint64_t count)
        : facts_(facts),
          layout_{graph.blocks, graph.block_count, sizeof(std::int64_t), count},
          send_(room(facts.send.size())),
          receive_(room(facts.receive.size())),
          do_overlap_(contract.do_spaces_overlap)
    {
        for (std::uint32_t block = 0; block < facts.send.size(); ++block) {
            fill(send_, block, facts.send[block].origin);
        }
        for (std::uint32_t block = 0; block < facts.receive.size(); ++block) {
            if (facts.receive[block].has_input) {
                fill(receive_, block, facts.receive[block].input);
            }
        }
        before_ = receive_;
    }

    engine::GraphArguments arguments()
    {
        return {.send = send_.data(),
                .receive = do_overlap_ ? send_.data() : receive_.data(),
                .count = layout_.count,
                .element_bytes = layout_.element_bytes,
                .reduction = {data::ReduceOperator::sum, data::ElementKind::int64, 0}};
    }

    void expect_wanted(const std::string& where) const
    {
        const std::vector<std::int64_t>& found = do_overlap_ ? send_ : receive_;
        for (std::uint32_t block = 0; block < facts_.receive.size(); ++block) {
            const ReceiveBlock& wanted = facts_.receive[block];
            const std::uint64_t first = layout_.element_offset(block);
            for (std::uint64_t i = 0; i < layout_.element_offset(block + 1) - first; ++i) {
                const bool is_left_alone = wanted.wanted == Wanted::untouched;
                ASSERT_EQ(found[first + i],
                          is_left_alone ? before_[first + i] : wanted_element(wanted, i))
                    << where << ", block " << block << ", element " << i;
            }
        }
    }

  private:
    std::vector<std::int64_t> room(std::size_t blocks) const
    {
        return std::vector<std::int64_t>(layout_.element_offset(static_cast<std::uint32_t>(blocks)),
                                         -1);
    }
    void fill(std::vector<std::int64_t>& buffer, std::uint32_t block, Origin origin) const
    {
        const std::uint64_t first = layout_.element_offset(block);
        for (std::uint64_t i = 0; i < layout_.element_offset(block + 1) - first; ++i) {
            buffer[first + i] = element_of(origin, i);
        }
    }

    const RankContract& facts_;
    BlockLayout layout_;
    std::vector<std::int64_t> send_;
    std::vector<std::int64_t> receive_;
    std::vector<std::int64_t> before_;
    bool do_overlap_;
};

void execute(const Case& one, std::uint64_t count)
{
    const Posed posed = pose(one);
    engine::InProcessNode node(one.size);
    std::vector<Buffers> buffers;
    std::vector<engine::GraphTemplate*> stored;
    std::vector<engine::Op*> ops;
    for (std::uint32_t rank = 0; rank < one.size; ++rank) {
        buffers.emplace_back(posed.graphs[rank], posed.contract, posed.contract.ranks[rank], count);
    }
    for (std::uint32_t rank = 0; rank < one.size; ++rank) {
        stored.push_back(engine::store_graph(node.driver(rank).allocator(), posed.graphs[rank]));
        ops.push_back(engine::start_graph(node.driver(rank), *stored[rank], node.world(rank),
                                          buffers[rank].arguments()));
        ASSERT_NE(ops[rank], nullptr);
    }
    node.settle();
    for (std::uint32_t rank = 0; rank < one.size; ++rank) {
        ASSERT_TRUE(ops[rank]->word.is_complete()) << one.sentence() << ", rank " << rank;
        EXPECT_EQ(ops[rank]->error, engine::OpError::none);
        node.driver(rank).destroy_op(ops[rank]);
        buffers[rank].expect_wanted(one.sentence() + ", rank " + std::to_string(rank));
        engine::destroy_template(node.driver(rank).allocator(), stored[rank]);
    }
}

class Executed : public testing::TestWithParam<coll::Row> {};

TEST_P(Executed, LeavesWhatTheContractSays)
{
    const coll::Row& row = GetParam();
    int runs = 0;
    for (const std::uint32_t size : {1U, 2U, 3U, 4U, 5U, 8U}) {
        for (const bool in_place : {false, true}) {
            const bool exists = !in_place || row.in_place != coll::InPlace::nobody;
            if (!exists || !coll::fits(row, size, row.tuning)) {
                continue;
            }
            Case one{.row = &row,
                     .size = size,
                     .root = coll::is_rooted(row.collective) ? size / 2 : 0,
                     .in_place = in_place,
                     .tuning = row.tuning};
            for (std::uint32_t rank = 0; row.reads.topology && rank < size; ++rank) {
                one.node_of_rank.push_back(in_place ? rank % 3 : rank / 2);
            }
            // Fewer elements than pieces; some; more than messages take along at once.
            for (const std::uint64_t count : {1U, 21U, 3000U}) {
                execute(one, count);
                ASSERT_FALSE(HasFatalFailure());
                ++runs;
            }
        }
    }
    EXPECT_GE(runs, 6);
}

INSTANTIATE_TEST_SUITE_P(All, Executed,
                         testing::ValuesIn(coll::table().begin(), coll::table().end()),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace headway::study
