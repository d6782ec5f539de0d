// SPDX-License-Identifier: Apache-2.0
//
// Collectives between two groups and with neighbours, on all ranks at once and on symbols, as
// coll_test.cpp does it for one group.
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "protocol/coll/between_groups.hpp"
#include "protocol/coll/select.hpp"
#include "symbolic_run.hpp"

namespace headway::protocol::coll {
namespace {

using engine::Space;

constexpr std::uint32_t count = 3;

struct Sizes {
    std::uint32_t first;
    std::uint32_t second;
};

class BetweenGroups : public testing::TestWithParam<Sizes> {
  protected:
    std::uint32_t size() const { return GetParam().first + GetParam().second; }
    TwoSides sides(std::uint32_t rank) const { return {rank, size(), GetParam().first}; }
    bool is_first(std::uint32_t rank) const { return rank < GetParam().first; }

    /// The root as a rank names it: not at all in the root's own group.
    std::uint32_t root_for(std::uint32_t rank, std::uint32_t root) const
    {
        return rank != root && is_first(rank) == is_first(root) ? no_root : root;
    }

    SymbolicRun make_run(Algorithm algorithm, std::uint32_t root, std::uint32_t seed) const
    {
        std::vector<Graph> graphs;
        for (std::uint32_t rank = 0; rank < size(); ++rank) {
            graphs.push_back(build_between_groups(algorithm, sides(rank), root_for(rank, root)));
        }
        return {std::move(graphs), count, seed};
    }

    static Symbols elements(std::uint32_t rank, std::uint32_t first, std::uint32_t many)
    {
        Symbols all;
        for (std::uint32_t i = 0; i < many; ++i) {
            all.push_back(symbol_of(rank, first + i));
        }
        return all;
    }

    /// The other group's vectors combined in rank order.
    Symbols combined(std::uint32_t rank, std::uint32_t first, std::uint32_t many) const
    {
        Symbols all;
        for (std::uint32_t i = 0; i < many; ++i) {
            Symbol value{first + i, {}};
            const TwoSides place = sides(rank);
            for (std::uint32_t k = 0; k < place.other_size(); ++k) {
                value.contributors.push_back(static_cast<char16_t>(place.other_begin() + k));
            }
            all.push_back(value);
        }
        return all;
    }

    /// Runs it, then compares what stands in each rank's receive space.
    template <typename Expected>
    void check(SymbolicRun& run, const Expected& expected) const
    {
        run.run();
        ASSERT_EQ(run.faults(), std::vector<std::string>{});
        for (std::uint32_t rank = 0; rank < size(); ++rank) {
            ASSERT_TRUE(run.space(rank, Space::receive) == expected(rank)) << "rank " << rank;
        }
    }
};

constexpr std::uint32_t seeds = 8;

TEST_P(BetweenGroups, BcastReachesTheOtherGroupOnly)
{
    for (std::uint32_t root = 0; root < size(); ++root) {
        for (std::uint32_t seed = 0; seed < seeds; ++seed) {
            SymbolicRun run = make_run(Algorithm::inter_bcast, root, seed);
            for (std::uint32_t rank = 0; rank < size(); ++rank) {
                if (root_for(rank, root) != no_root) {
                    run.space(rank, Space::receive).resize(count);
                }
            }
            run.space(root, Space::receive) = elements(root, 0, count);
            check(run, [&](std::uint32_t rank) {
                return root_for(rank, root) != no_root ? elements(root, 0, count) : Symbols{};
            });
        }
    }
}

TEST_P(BetweenGroups, ReduceCombinesTheOtherGroupInRankOrder)
{
    for (std::uint32_t root = 0; root < size(); ++root) {
        for (std::uint32_t seed = 0; seed < seeds; ++seed) {
            SymbolicRun run = make_run(Algorithm::inter_reduce, root, seed);
            for (std::uint32_t rank = 0; rank < size(); ++rank) {
                if (is_first(rank) != is_first(root)) {
                    run.space(rank, Space::send) = elements(rank, 0, count);
                }
            }
            run.space(root, Space::receive).resize(count);
            check(run, [&](std::uint32_t rank) {
                return rank == root ? combined(rank, 0, count) : Symbols{};
            });
        }
    }
}

TEST_P(BetweenGroups, AllreduceGivesEachTheOtherGroupsResult)
{
    for (std::uint32_t seed = 0; seed < seeds; ++seed) {
        SymbolicRun run = make_run(Algorithm::inter_allreduce, no_root, seed);
        for (std::uint32_t rank = 0; rank < size(); ++rank) {
            run.space(rank, Space::send) = elements(rank, 0, count);
            run.space(rank, Space::receive).resize(count);
        }
        check(run, [&](std::uint32_t rank) { return combined(rank, 0, count); });
    }
}

TEST_P(BetweenGroups, GatherAndScatterServeTheRoot)
{
    for (std::uint32_t root = 0; root < size(); ++root) {
        const TwoSides of_root = sides(root);
        SymbolicRun gather = make_run(Algorithm::inter_gather, root, root);
        SymbolicRun scatter = make_run(Algorithm::inter_scatter, root, root);
        for (std::uint32_t rank = 0; rank < size(); ++rank) {
            if (is_first(rank) != is_first(root)) {
                gather.space(rank, Space::send) = elements(rank, 0, count);
                scatter.space(rank, Space::receive).resize(count);
            }
        }
        gather.space(root, Space::receive).resize(std::size_t{count} * of_root.other_size());
        scatter.space(root, Space::send) = elements(root, 0, count * of_root.other_size());
        check(gather, [&](std::uint32_t rank) {
            Symbols all;
            for (std::uint32_t k = 0; rank == root && k < of_root.other_size(); ++k) {
                const Symbols block = elements(of_root.other_begin() + k, 0, count);
                all.insert(all.end(), block.begin(), block.end());
            }
            return all;
        });
        check(scatter, [&](std::uint32_t rank) {
            const bool is_served = is_first(rank) != is_first(root);
            const std::uint32_t place = rank - sides(rank).own_begin();
            return is_served ? elements(root, place * count, count) : Symbols{};
        });
    }
}

TEST_P(BetweenGroups, ExchangesGoAcross)
{
    for (const bool is_gather : {true, false}) {
        SymbolicRun run = make_run(
            is_gather ? Algorithm::inter_allgather : Algorithm::inter_alltoall, no_root, 5);
        for (std::uint32_t rank = 0; rank < size(); ++rank) {
            const std::uint32_t others = sides(rank).other_size();
            run.space(rank, Space::send) = elements(rank, 0, count * (is_gather ? 1 : others));
            run.space(rank, Space::receive).resize(std::size_t{count} * others);
        }
        check(run, [&](std::uint32_t rank) {
            const TwoSides place = sides(rank);
            const std::uint32_t own = rank - place.own_begin();
            Symbols all;
            for (std::uint32_t k = 0; k < place.other_size(); ++k) {
                const Symbols block =
                    elements(place.other_begin() + k, is_gather ? 0 : own * count, count);
                all.insert(all.end(), block.begin(), block.end());
            }
            return all;
        });
    }
}

// Blocks of the own group: the vectors of both are equally long only where the groups are.
TEST_P(BetweenGroups, ReduceScatterHandsOutTheOtherGroupsResult)
{
    if (GetParam().first != GetParam().second) {
        GTEST_SKIP() << "uniform blocks need groups of one size; vectors are in test/mpi";
    }
    for (std::uint32_t seed = 0; seed < seeds; ++seed) {
        SymbolicRun run = make_run(Algorithm::inter_reduce_scatter, no_root, seed);
        for (std::uint32_t rank = 0; rank < size(); ++rank) {
            run.space(rank, Space::send) = elements(rank, 0, count * GetParam().first);
            run.space(rank, Space::receive).resize(count);
        }
        check(run, [&](std::uint32_t rank) {
            return combined(rank, (rank - sides(rank).own_begin()) * count, count);
        });
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, BetweenGroups,
                         testing::Values(Sizes{1, 1}, Sizes{1, 2}, Sizes{2, 1}, Sizes{2, 2},
                                         Sizes{3, 5}, Sizes{5, 3}, Sizes{8, 8}, Sizes{7, 1}));

/// A ring as a grid of one dimension: neighbours before and after.
SymbolicRun make_ring(std::uint32_t size, bool is_gather, std::uint32_t seed)
{
    std::vector<Graph> graphs;
    for (std::uint32_t rank = 0; rank < size; ++rank) {
        const int both[] = {static_cast<int>((rank + size - 1) % size),
                            static_cast<int>((rank + 1) % size)};
        graphs.push_back(neighbor_exchange({both, both, true}, is_gather));
    }
    return {std::move(graphs), 1, seed};
}

// Also with two ranks, where both neighbours are one rank.
TEST(NeighborExchange, WhatLeavesOneWayArrivesFromTheOther)
{
    for (std::uint32_t size = 2; size < 6; ++size) {
        for (std::uint32_t seed = 0; seed < 20; ++seed) {
            SymbolicRun run = make_ring(size, false, seed);
            for (std::uint32_t rank = 0; rank < size; ++rank) {
                run.space(rank, Space::send) = {symbol_of(rank, 0), symbol_of(rank, 1)};
                run.space(rank, Space::receive).resize(2);
            }
            run.run();
            ASSERT_EQ(run.faults(), std::vector<std::string>{});
            for (std::uint32_t rank = 0; rank < size; ++rank) {
                const Symbols& found = run.space(rank, Space::receive);
                EXPECT_EQ(found[0], symbol_of((rank + size - 1) % size, 1));
                EXPECT_EQ(found[1], symbol_of((rank + 1) % size, 0));
            }
        }
    }
}

TEST(NeighborExchange, LeavesBlocksOfNobodyAlone)
{
    const int none_below[] = {-1, 1};
    const int none_above[] = {0, -1};
    std::vector<Graph> graphs;
    graphs.push_back(neighbor_exchange({none_below, none_below, true}, true));
    graphs.push_back(neighbor_exchange({none_above, none_above, true}, true));
    SymbolicRun run(std::move(graphs), 1, 3);
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
        run.space(rank, Space::send) = {symbol_of(rank, 0)};
        run.space(rank, Space::receive).resize(2);
    }
    run.run();
    ASSERT_EQ(run.faults(), std::vector<std::string>{});
    EXPECT_EQ(run.space(0, Space::receive), (Symbols{Symbol{}, symbol_of(1, 0)}));
    EXPECT_EQ(run.space(1, Space::receive), (Symbols{symbol_of(0, 0), Symbol{}}));
}

// Several edges between two ranks of a graph: their blocks keep their order.
TEST(NeighborExchange, MatchesParallelEdgesInOrder)
{
    const int three[] = {1, 1, 1};
    const int back[] = {0, 0, 0};
    const std::span<const int> none;
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
        std::vector<Graph> graphs;
        graphs.push_back(neighbor_exchange({none, three, false}, false));
        graphs.push_back(neighbor_exchange({back, none, false}, false));
        SymbolicRun run(std::move(graphs), 1, seed);
        run.space(0, Space::send) = {symbol_of(0, 0), symbol_of(0, 1), symbol_of(0, 2)};
        run.space(1, Space::receive).resize(3);
        run.run();
        ASSERT_EQ(run.faults(), std::vector<std::string>{});
        EXPECT_EQ(run.space(1, Space::receive), run.space(0, Space::send));
    }
}

}  // namespace
}  // namespace headway::protocol::coll
