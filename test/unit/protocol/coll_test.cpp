// SPDX-License-Identifier: Apache-2.0
//
// Every collective algorithm, on all ranks at once and on symbols: the right blocks at the right
// places, reductions in rank order, no deadlock, nothing out of bounds, nothing read while it may
// be written.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "graph_faults.hpp"
#include "protocol/coll/select.hpp"
#include "symbolic_run.hpp"

namespace headway::protocol::coll {
namespace {

using engine::Space;

struct Subject {
    const char* name;
    Algorithm algorithm;
    Collective collective;
    bool has_root;
    InPlace in_place;
    bool keeps_order;  ///< reductions: for operators that do not commute
};

/// One call: every rank's parameters but the rank.
struct Setting {
    std::uint32_t size;
    std::uint32_t root;
    std::uint32_t count;
    bool in_place;
};

Symbols vector_of(std::uint32_t rank, std::uint32_t count)
{
    Symbols all(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        all[i] = symbol_of(rank, i);
    }
    return all;
}

Symbols slice(const Symbols& all, std::uint32_t first, std::uint32_t count)
{
    return {all.begin() + first, all.begin() + first + count};
}

void put(Symbols& target, std::uint32_t first, const Symbols& values)
{
    target.resize(std::max<std::size_t>(target.size(), first + values.size()));
    std::copy(values.begin(), values.end(), target.begin() + first);
}

class CollTest : public testing::TestWithParam<Subject> {
  protected:
    static bool is_in_place(const Setting& setting, std::uint32_t rank)
    {
        return setting.in_place &&
               (GetParam().in_place == InPlace::everyone || rank == setting.root);
    }

    /// The count is that of one vector, not of one rank's block.
    static bool has_vector()
    {
        const Collective collective = GetParam().collective;
        return collective == Collective::bcast || collective == Collective::reduce ||
               collective == Collective::allreduce;
    }

    static std::vector<Graph> graphs(const Setting& setting)
    {
        std::vector<Graph> all;
        for (std::uint32_t rank = 0; rank < setting.size; ++rank) {
            all.push_back(build(GetParam().algorithm,
                                {rank, setting.size, is_in_place(setting, rank)}, setting.root));
        }
        return all;
    }

    /// The buffers that the caller hands over. What a call must not touch has no room.
    static void fill(SymbolicRun& run, const Setting& setting);
    /// What must stand in the receive space of a rank afterwards.
    static Symbols expected(const Setting& setting, std::uint32_t rank);

    static void check(const Setting& setting, std::uint32_t seed)
    {
        SCOPED_TRACE("size " + std::to_string(setting.size) + " root " +
                     std::to_string(setting.root) + " count " + std::to_string(setting.count) +
                     (setting.in_place ? " in place" : "") + " seed " + std::to_string(seed));
        SymbolicRun run(graphs(setting), setting.count, seed);
        fill(run, setting);
        run.run();
        ASSERT_EQ(run.faults(), std::vector<std::string>{});
        const Symbols first = run.space(0, Space::receive);
        for (std::uint32_t rank = 0; rank < setting.size; ++rank) {
            Symbols found = run.space(rank, Space::receive);
            if (GetParam().collective == Collective::allreduce) {
                ASSERT_TRUE(found == first) << "rank " << rank << " combined in another order";
            }
            for (Symbol& value : found) {
                if (!GetParam().keeps_order) {
                    std::sort(value.contributors.begin(), value.contributors.end());
                }
            }
            ASSERT_TRUE(found == expected(setting, rank)) << "rank " << rank;
        }
    }

    static void check_all(std::uint32_t size, std::uint32_t root)
    {
        for (const bool in_place : {false, true}) {
            if (in_place && GetParam().in_place == InPlace::nobody) {
                continue;
            }
            for (const std::uint32_t count : {0U, 1U, 7U, 2 * size + 3}) {
                if (count > 7 && !has_vector()) {
                    continue;
                }
                check({size, root, count, in_place}, size * 131 + root * 17 + count);
                if (HasFatalFailure()) {
                    return;
                }
            }
        }
    }
};

void CollTest::fill(SymbolicRun& run, const Setting& setting)
{
    const auto [size, root, count, in_place] = setting;
    for (std::uint32_t rank = 0; rank < size; ++rank) {
        Symbols& send = run.space(rank, Space::send);
        Symbols& receive = run.space(rank, Space::receive);
        const bool own_in_place = is_in_place(setting, rank);
        const Symbols own = vector_of(rank, count);
        switch (GetParam().collective) {
            case Collective::barrier:
            case Collective::neighbor_allgather:  // these two: between_groups_test.cpp
            case Collective::neighbor_alltoall:
                break;
            case Collective::bcast:
                receive = rank == root ? own : Symbols(count);
                break;
            case Collective::reduce:
                receive = rank == root ? Symbols(count) : Symbols();
                (own_in_place ? receive : send) = own;
                break;
            case Collective::allreduce:
            case Collective::scan:
            case Collective::exscan:
                receive.resize(count);
                (own_in_place ? receive : send) = own;
                break;
            case Collective::gather:
                receive.resize(rank == root ? size * count : 0);
                own_in_place ? put(receive, rank * count, own) : put(send, 0, own);
                break;
            case Collective::scatter:
                send = vector_of(rank, rank == root ? size * count : 0);
                receive.resize(own_in_place ? 0 : count);
                break;
            case Collective::allgather:
            case Collective::allgatherv:
                receive.resize(size * count);
                own_in_place ? put(receive, rank * count, own) : put(send, 0, own);
                break;
            case Collective::alltoall:
            case Collective::alltoallv:
                receive.resize(size * count);
                (own_in_place ? receive : send) = vector_of(rank, size * count);
                break;
            case Collective::reduce_scatter:
                receive.resize(count);
                send = vector_of(rank, size * count);
                break;
        }
    }
}

/// `values`, which are rank `first`'s, combined with those of the ranks up to `last`, in order.
Symbols combined(Symbols values, std::uint32_t first, std::uint32_t last)
{
    for (Symbol& value : values) {
        for (std::uint32_t other = first + 1; other <= last; ++other) {
            value.contributors += static_cast<char16_t>(other);
        }
    }
    return values;
}

Symbols CollTest::expected(const Setting& setting, std::uint32_t rank)
{
    const auto [size, root, count, in_place] = setting;
    Symbols all;
    switch (GetParam().collective) {
        case Collective::barrier:
        case Collective::neighbor_allgather:
        case Collective::neighbor_alltoall:
            break;
        case Collective::bcast:
            all = vector_of(root, count);
            break;
        case Collective::reduce:
        case Collective::allreduce:
            if (rank == root || GetParam().collective == Collective::allreduce) {
                all = combined(vector_of(0, count), 0, size - 1);
            }
            break;
        case Collective::scan:
            all = combined(vector_of(0, count), 0, rank);
            break;
        case Collective::exscan:
            // Rank 0's result is left alone.
            all = rank != 0 ? combined(vector_of(0, count), 0, rank - 1) : Symbols(count);
            break;
        case Collective::reduce_scatter:
            all = combined(slice(vector_of(0, size * count), rank * count, count), 0, size - 1);
            break;
        case Collective::gather:
        case Collective::allgather:
        case Collective::allgatherv:
            for (std::uint32_t from = 0; from < size; ++from) {
                if (rank == root || GetParam().collective != Collective::gather) {
                    put(all, from * count, vector_of(from, count));
                }
            }
            break;
        case Collective::scatter:
            if (!is_in_place(setting, rank)) {
                all = slice(vector_of(root, size * count), rank * count, count);
            }
            break;
        case Collective::alltoall:
        case Collective::alltoallv:
            for (std::uint32_t from = 0; from < size; ++from) {
                put(all, from * count, slice(vector_of(from, size * count), rank * count, count));
            }
            break;
    }
    return all;
}

constexpr std::uint32_t size_max = 17;

TEST_P(CollTest, BringsTheRightBlocksForEveryRoot)
{
    for (std::uint32_t size = 1; size <= size_max; ++size) {
        for (std::uint32_t root = 0; root < (GetParam().has_root ? size : 1); ++root) {
            check_all(size, root);
            ASSERT_FALSE(HasFatalFailure());
        }
    }
}

TEST_P(CollTest, BringsTheRightBlocksToManyRanks)
{
    for (const std::uint32_t size : {24U, 31U, 32U, 33U, 63U, 64U}) {
        for (const std::uint32_t root : {0U, size / 3, size - 1}) {
            if (root == 0 || GetParam().has_root) {
                const std::uint32_t count = has_vector() ? size + 5 : 2;
                check({size, root, count, GetParam().in_place != InPlace::nobody}, size);
                ASSERT_FALSE(HasFatalFailure());
            }
        }
    }
}

TEST_P(CollTest, BringsTheSameInAnyOrderOfEvents)
{
    for (std::uint32_t seed = 1; seed <= 100; ++seed) {
        const std::uint32_t size = 5 + seed % 7;
        check({size, GetParam().has_root ? seed % size : 0, 11,
               seed % 2 == 0 && GetParam().in_place != InPlace::nobody},
              seed);
        ASSERT_FALSE(HasFatalFailure());
    }
}

TEST_P(CollTest, NothingIsReadWhileItMayBeWritten)
{
    for (const std::uint32_t size : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 11U, 13U, 16U, 17U, 33U}) {
        for (std::uint32_t root = 0; root < (GetParam().has_root ? size : 1); ++root) {
            for (const bool in_place : {false, GetParam().in_place != InPlace::nobody}) {
                for (const Graph& graph : graphs({size, root, 1, in_place})) {
                    ASSERT_EQ(GraphFaults(graph).all(), std::vector<std::string>{})
                        << "size " << size << " root " << root << " in place " << in_place;
                }
            }
        }
    }
}

constexpr Subject subjects[] = {
    {"barrier_dissemination", Algorithm::barrier_dissemination, Collective::barrier, false,
     InPlace::nobody, true},
    {"bcast_binomial", Algorithm::bcast_binomial, Collective::bcast, true, InPlace::nobody, true},
    {"bcast_scatter_ring", Algorithm::bcast_scatter_ring, Collective::bcast, true, InPlace::nobody,
     true},
    {"reduce_binomial", Algorithm::reduce_binomial, Collective::reduce, true, InPlace::root, true},
    {"allreduce_recursive_doubling", Algorithm::allreduce_recursive_doubling, Collective::allreduce,
     false, InPlace::everyone, true},
    {"allreduce_halving_doubling", Algorithm::allreduce_halving_doubling, Collective::allreduce,
     false, InPlace::everyone, false},
    {"gather_flat", Algorithm::gather_flat, Collective::gather, true, InPlace::root, true},
    {"scatter_flat", Algorithm::scatter_flat, Collective::scatter, true, InPlace::root, true},
    {"allgather_bruck", Algorithm::allgather_bruck, Collective::allgather, false, InPlace::everyone,
     true},
    {"allgather_ring", Algorithm::allgather_ring, Collective::allgather, false, InPlace::everyone,
     true},
    {"alltoall_pairwise", Algorithm::alltoall_pairwise, Collective::alltoall, false,
     InPlace::everyone, true},
    {"alltoall_bruck", Algorithm::alltoall_bruck, Collective::alltoall, false, InPlace::nobody,
     true},
    {"scan_doubling", Algorithm::scan_doubling, Collective::scan, false, InPlace::nobody, true},
    {"exscan_doubling", Algorithm::exscan_doubling, Collective::exscan, false, InPlace::nobody,
     true},
    {"reduce_scatter_halving", Algorithm::reduce_scatter_halving, Collective::reduce_scatter, false,
     InPlace::nobody, false},
    {"reduce_scatter_binomial", Algorithm::reduce_scatter_binomial, Collective::reduce_scatter,
     false, InPlace::nobody, true},
};

INSTANTIATE_TEST_SUITE_P(All, CollTest, testing::ValuesIn(subjects),
                         [](const auto& each) { return std::string(each.param.name); });

// MPI-5.0 section 6.3: nobody leaves a barrier before everybody has entered it.
TEST(CollBarrier, NobodyLeavesBeforeTheLastEnters)
{
    for (std::uint32_t size = 2; size <= 33; ++size) {
        for (std::uint32_t late = 0; late < size; ++late) {
            std::vector<Graph> all;
            for (std::uint32_t rank = 0; rank < size; ++rank) {
                all.push_back(barrier_dissemination({rank, size, false}, 1));
            }
            SymbolicRun run(std::move(all), 0, size);
            run.run_without(late);
            for (std::uint32_t rank = 0; rank < size; ++rank) {
                ASSERT_FALSE(rank != late && run.is_complete(rank))
                    << "rank " << rank << " of " << size << " left without " << late;
            }
        }
    }
}

}  // namespace
}  // namespace headway::protocol::coll
