// SPDX-License-Identifier: Apache-2.0
//
// The verifier accepts every algorithm and rejects each small damage to it.
#include "study/verifier.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "mutation.hpp"
#include "study/graph_order.hpp"
#include "unit/protocol/graph_faults.hpp"

namespace headway::study {
namespace {

using coll::Algorithm;
using engine::Graph;
using engine::Space;

constexpr Algorithm between_groups[] = {
    Algorithm::inter_bcast,    Algorithm::inter_reduce,         Algorithm::inter_allreduce,
    Algorithm::inter_gather,   Algorithm::inter_scatter,        Algorithm::inter_allgather,
    Algorithm::inter_alltoall, Algorithm::inter_reduce_scatter, Algorithm::barrier_dissemination,
};

/// All numbers of ranks to 17, and one that is no power of anything.
Reach short_reach()
{
    return {.through = 17, .samples = {40}, .all_roots_through = 17};
}

class OfOneGroup : public testing::TestWithParam<coll::Row> {};

TEST_P(OfOneGroup, DoesWhatMpiSays)
{
    const Swept swept = sweep(GetParam(), short_reach());
    EXPECT_EQ(swept.fault.value_or(""), "");
    EXPECT_GT(swept.cases, 3U);
}

TEST(BetweenGroups, DoWhatMpiSays)
{
    for (const Algorithm algorithm : between_groups) {
        const Swept swept = sweep_between_groups(algorithm, short_reach());
        EXPECT_EQ(swept.fault.value_or(""), "");
        EXPECT_GT(swept.cases, 3U);
    }
}

TEST(Neighbors, DoWhatMpiSays)
{
    const Swept swept = sweep_neighbors(short_reach());
    EXPECT_EQ(swept.fault.value_or(""), "");
    EXPECT_GT(swept.cases, 30U);
}

/// Without an edge, the graph may still be right: then no two nodes that touch the same bytes, and
/// no two messages of one name, are without order. This asks each pair.
bool is_equivalent(const Posed& mutant, const Mutation& mutation)
{
    return mutation.is_of_edge && !mutant.contract.is_barrier &&
           protocol::coll::GraphFaults(mutant.graphs[mutation.rank]).all().empty();
}

/// Twenty damages that are no mere change of looks.
void expect_rejected(const std::string& name, const std::function<Posed(std::uint32_t)>& draw)
{
    constexpr int wanted = 20;
    int rejected = 0;
    for (std::uint32_t seed = 1; rejected < wanted && seed < 2000; ++seed) {
        Posed posed = draw(seed);
        ASSERT_EQ(examine(posed).value_or(""), "") << name;
        Mutator mutator(seed * 7919);
        const auto mutation = mutator.mutate(posed);
        if (!mutation) {
            continue;
        }
        const Verdict verdict = verify(posed.graphs, posed.contract);
        if (verdict.fault) {
            ++rejected;
            EXPECT_NE(verdict.fault->find("rank "), std::string::npos) << *verdict.fault;
        } else {
            EXPECT_TRUE(is_equivalent(posed, *mutation)) << name << ": " << mutation->sentence;
        }
    }
    EXPECT_EQ(rejected, wanted) << name;
}

/// A call of some ranks. Of barriers such that no message is superfluous: in a barrier of five
/// ranks the last round tells what is known already.
Case draw_case(const coll::Row& row, std::uint32_t seed)
{
    const bool is_barrier = row.collective == coll::Collective::barrier;
    Case one{.row = &row, .tuning = row.tuning};
    const std::uint32_t sizes[] = {4, 5, 8, 9, 12, 16};
    do {
        one.size = is_barrier ? 16 : sizes[seed++ % std::size(sizes)];
    } while (!coll::fits(row, one.size, one.tuning));
    one.root = coll::is_rooted(row.collective) ? seed % one.size : 0;
    one.in_place = seed % 2 == 0 && row.in_place != coll::InPlace::nobody;
    one.is_listed = seed % 3 == 0 && row.listing != coll::Listing::no;
    for (std::uint32_t rank = 0; row.reads.topology && rank < one.size; ++rank) {
        one.node_of_rank.push_back(is_barrier || seed % 2 == 0 ? rank % 4 : rank / 3);
    }
    return one;
}

TEST_P(OfOneGroup, IsRejectedWhenDamaged)
{
    expect_rejected(std::string(GetParam().name),
                    [&](std::uint32_t seed) { return pose(draw_case(GetParam(), seed)); });
}

TEST(BetweenGroups, AreRejectedWhenDamaged)
{
    for (const Algorithm algorithm : between_groups) {
        const bool is_barrier = algorithm == Algorithm::barrier_dissemination;
        const bool needs_equal = algorithm == Algorithm::inter_reduce_scatter;
        expect_rejected("between groups " + std::to_string(static_cast<int>(algorithm)),
                        [&](std::uint32_t seed) {
                            const std::uint32_t size = is_barrier ? 8 : 4 + 2 * (seed % 3);
                            const std::uint32_t first =
                                needs_equal ? size / 2 : 1 + seed % (size - 1);
                            return pose_between_groups(algorithm, size, first, seed % size);
                        });
    }
}

TEST(Neighbors, AreRejectedWhenDamaged)
{
    const Neighborhoods ring{
        {{3, 1}, {0, 2}, {1, 3}, {2, 0}}, {{3, 1}, {0, 2}, {1, 3}, {2, 0}}, true};
    const Neighborhoods parallel{{{1, 1}, {0, 0}}, {{1, 1}, {0, 0}}, false};
    expect_rejected("neighbors", [&](std::uint32_t seed) {
        return pose_neighbors(seed % 2 == 0 ? ring : parallel, seed % 3 == 0);
    });
}

INSTANTIATE_TEST_SUITE_P(All, OfOneGroup,
                         testing::ValuesIn(coll::table().begin(), coll::table().end()),
                         [](const auto& each) { return std::string(each.param.name); });

TEST_P(OfOneGroup, IsRejectedWhenItTakesMoreScratchThanItsBound)
{
    Posed posed = pose(draw_case(GetParam(), 1));
    engine::Graph& last = posed.graphs.back();
    last.scratch_blocks = static_cast<std::uint32_t>(posed.scratch_blocks_max.back());
    EXPECT_EQ(examine(posed).value_or(""), "") << "as much as it may take";
    ++last.scratch_blocks;
    EXPECT_NE(examine(posed).value_or("").find("but its bound says"), std::string::npos);
}

/// The most sends of a rank that may be under way at once. By Dilworth's theorem it is their number
/// less the largest matching of sends with later ones.
class SendsAtOnce {
  public:
    explicit SendsAtOnce(const Graph& graph) : order_(graph)
    {
        for (Graph::NodeIndex node = 0; node < graph.nodes().size(); ++node) {
            if (graph.nodes()[node].kind == engine::NodeKind::send) {
                sends_.push_back(node);
            }
        }
        matched_.assign(sends_.size(), none);
    }

    std::size_t count()
    {
        std::size_t matches = 0;
        for (std::size_t first = 0; first < sends_.size(); ++first) {
            is_tried_.assign(sends_.size(), false);
            matches += match(first) ? 1U : 0U;
        }
        return sends_.size() - matches;
    }

  private:
    static constexpr std::size_t none = SIZE_MAX;

    bool match(std::size_t first)
    {
        for (std::size_t later = 0; later < sends_.size(); ++later) {
            if (is_tried_[later] || !order_.is_before(sends_[first], sends_[later])) {
                continue;
            }
            is_tried_[later] = true;
            if (matched_[later] == none || match(matched_[later])) {
                matched_[later] = first;
                return true;
            }
        }
        return false;
    }

    GraphOrder order_;
    std::vector<Graph::NodeIndex> sends_;
    std::vector<std::size_t> matched_;  ///< by the later send
    std::vector<bool> is_tried_;
};

TEST(Throttled, SendsAsManyBlocksAtOnceAsItsWindowAndNoMore)
{
    const coll::Row& row = coll::row_of(Algorithm::alltoall_throttled);
    for (std::uint32_t size = 2; size < 24; ++size) {
        for (const std::uint32_t window : {1U, 2U, 3U, 4U, 9U}) {
            for (const bool in_place : {false, true}) {
                const coll::Call call{.place = {size / 2, size, in_place},
                                      .tuning = {.window = window}};
                EXPECT_EQ(SendsAtOnce(row.build(call)).count(), std::min(window, size - 1))
                    << size << " ranks, window " << window;
            }
        }
    }
}

/// Two ranks that swap their one block.
Contract swap_contract()
{
    return contract_of({.collective = coll::Collective::allgather, .size = 2});
}

std::string fault_of(const std::vector<Graph>& graphs, const Contract& contract)
{
    return verify(graphs, contract).fault.value_or("");
}

TEST(Verifier, FindsADeadlockThatBuffersWouldHide)
{
    std::vector<Graph> graphs(2);
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
        const auto sent = graphs[rank].send(1 - rank, 0, {});
        const auto received = graphs[rank].receive(1 - rank, 0, {Space::receive, 1 - rank, 1});
        graphs[rank].copy({}, {Space::receive, rank, 1});
        graphs[rank].order(sent, received);
    }
    const std::string fault = fault_of(graphs, swap_contract());
    EXPECT_NE(fault.find("waits for ever where messages are not buffered"), std::string::npos)
        << fault;
}

TEST(Verifier, NamesRankNodeAndBlockOfARace)
{
    std::vector<Graph> graphs(2);
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
        graphs[rank].copy({}, {Space::receive, rank, 1});
        graphs[rank].send(1 - rank, 0, {Space::receive, rank, 1});
        graphs[rank].receive(1 - rank, 0, {Space::receive, 1 - rank, 1});
    }
    EXPECT_EQ(
        fault_of(graphs, swap_contract()),
        "rank 0: node 0 (copy) and node 1 (send to rank 1 in slot 0) touch block 0 of receive "
        "at once: no edges order them");
}

TEST(Verifier, TellsWhatStandsInTheWrongBlock)
{
    std::vector<Graph> graphs(2);
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
        graphs[rank].copy({}, {Space::receive, 1 - rank, 1});
        graphs[rank].send(1 - rank, 0, {});
        graphs[rank].receive(1 - rank, 0, {Space::receive, rank, 1});
    }
    EXPECT_EQ(fault_of(graphs, swap_contract()),
              "rank 0: block 0 of receive ends with block 0 of rank 1, not with block 0 of rank 0");
}

// Both results are right, but floating point would tell them apart.
TEST(Verifier, WantsOneTreeOnAllRanks)
{
    constexpr engine::Extent result{.space = Space::receive};
    std::vector<Graph> graphs(3);
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
        Graph& graph = graphs[rank];
        graph.scratch_blocks = 3;
        std::vector<Graph::NodeIndex> here(3);
        for (std::uint32_t other = 0; other < 3; ++other) {
            const engine::Extent place{Space::scratch, other, 1};
            if (other != rank) {
                graph.send(other, 0, {});
                here[other] = graph.receive(other, 0, place);
            } else {
                here[other] = graph.copy({}, place);
            }
        }
        // Ranks 0 and 1: (0 + 1) + 2; rank 2: 0 + (1 + 2).
        const std::uint32_t first = rank == 2 ? 1 : 0;
        const auto one = graph.reduce({Space::scratch, first, 1}, {Space::scratch, first + 1, 1});
        const auto two =
            graph.reduce({Space::scratch, first == 0 ? 1U : 0U, 1}, {Space::scratch, 2, 1});
        const auto last = graph.copy({Space::scratch, 2, 1}, result);
        for (const auto node : here) {
            graph.order(node, one);
        }
        graph.order(one, two);
        graph.order(two, last);
    }
    const Contract contract = contract_of({.collective = coll::Collective::allreduce, .size = 3});
    EXPECT_EQ(fault_of(graphs, contract),
              "rank 2: block 0 of receive is combined in another way than that of rank 0, so that "
              "it may differ in its last bits");
}

// A rank whose last message came may leave, although it has not heard of everyone.
TEST(Verifier, WantsABarrierToHoldEveryoneBack)
{
    constexpr engine::Extent nothing{Space::send, 0, 0};
    std::vector<Graph> graphs(3);
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
        graphs[rank].send((rank + 1) % 3, 0, nothing);
        graphs[rank].receive((rank + 2) % 3, 0, nothing);
    }
    const Contract contract = contract_of({.collective = coll::Collective::barrier, .size = 3});
    EXPECT_NE(fault_of(graphs, contract).find("before rank 1 has begun"), std::string::npos);
}

}  // namespace
}  // namespace headway::study
