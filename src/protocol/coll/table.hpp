// SPDX-License-Identifier: Apache-2.0
// All algorithms as data: what selection, verifier, simulator and drawing know of them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

enum class Collective : std::uint8_t {
    barrier,
    bcast,
    reduce,
    allreduce,
    gather,
    scatter,
    allgather,
    allgatherv,
    alltoall,
    alltoallv,  ///< also alltoallw
    scan,
    exscan,
    reduce_scatter,
    neighbor_allgather,
    neighbor_alltoall,
};

/// Its graph depends on a topology, not on a place alone.
constexpr bool is_of_neighbors(Collective collective) noexcept
{
    return collective == Collective::neighbor_allgather ||
           collective == Collective::neighbor_alltoall;
}

constexpr bool is_rooted(Collective collective) noexcept
{
    return collective == Collective::bcast || collective == Collective::reduce ||
           collective == Collective::gather || collective == Collective::scatter;
}

/// The algorithms of one group in the order of the table, then those of neighbours and those
/// between groups, whose builders take other parameters.
enum class Algorithm : std::uint8_t {
    barrier_dissemination,
    barrier_dissemination_ports,
    barrier_linear,
    barrier_two_level,
    bcast_flat,
    bcast_binomial,
    bcast_knomial,
    bcast_pipelined_chain,
    bcast_pipelined_tree,
    bcast_scatter_ring,
    bcast_two_level,
    bcast_direct,
    reduce_flat,
    reduce_binomial,
    reduce_knomial,
    reduce_pipelined_chain,
    reduce_pipelined_tree,
    reduce_halving_gather,
    reduce_two_level,
    allreduce_linear,
    allreduce_recursive_doubling,
    allreduce_halving_doubling,
    allreduce_ring,
    allreduce_two_level,
    allreduce_many_leads,
    allreduce_direct,
    gather_flat,
    gather_binomial,
    gather_knomial,
    gather_two_level,
    scatter_flat,
    scatter_binomial,
    scatter_knomial,
    scatter_two_level,
    scatter_direct,
    allgather_linear,
    allgather_ring,
    allgather_recursive_doubling,
    allgather_exchange,
    allgather_bruck,
    allgather_bruck_ports,
    allgather_pipelined_bruck,
    allgather_neighbor_exchange,
    allgather_cayley,
    allgather_two_level,
    allgather_direct,
    allgatherv_bruck,
    allgatherv_two_level,
    alltoall_pairwise,
    alltoall_throttled,
    alltoall_bruck,
    alltoall_bruck_ports,
    alltoall_two_level,
    alltoall_direct,
    scan_linear,
    scan_doubling,
    scan_two_level,
    exscan_doubling,
    exscan_two_level,
    reduce_scatter_halving,
    reduce_scatter_binomial,
    reduce_scatter_ring,
    reduce_scatter_pairwise,
    reduce_scatter_two_level,
    reduce_scatter_direct,
    neighbor_allgather,
    neighbor_alltoall,
    inter_bcast,
    inter_reduce,
    inter_allreduce,
    inter_gather,
    inter_scatter,
    inter_allgather,
    inter_alltoall,
    inter_reduce_scatter,
};

/// As the enumerator.
std::string_view name_of(Collective collective) noexcept;

/// Who may have his own block in the receive space already.
enum class InPlace : std::uint8_t { nobody, root, everyone };

/// Numbers of ranks that an algorithm is for.
enum class Sizes : std::uint8_t { any, even, power_of_ports };

/// Whether blocks may be listed (v-forms), and then the sizes of scratch's.
enum class Listing : std::uint8_t {
    no,
    no_scratch,
    as_send,      ///< block i of scratch has the size of send's block i mod size
    as_receive,   ///< block i of scratch has the size of receive's block i, used in place only
    rotated,      ///< block i of scratch has the size of rank (rank + i) mod size's
    by_position,  ///< block i of scratch has the size of the rank's at position i of the topology
    /// Scratch of leads begins with the blocks of their nodes' ranks, once for each node. The rest,
    /// and that of others, is as_send.
    by_node,
};

/// Which fields of Call a builder reads besides place and root.
struct Reads {
    bool radix = false;
    bool ports = false;
    bool window = false;
    bool segments = false;
    bool topology = false;
    bool peers = false;  ///< members read each other's memory: they share a node
};

/// How many blocks of scratch a rank's graph has at most: the sum of these. A vector is what the
/// operator combines, or one block; a vector that is cut has as many blocks as pieces, one of
/// reduce_scatter as many as there are ranks. Beside it an instance has two words a node.
struct ScratchBound {
    std::uint32_t vectors = 0;
    /// Vectors for each of (radix - 1) log N / log radix partners, rounded up; radix 2 where the
    /// algorithm reads none.
    std::uint32_t a_partner = 0;
    std::uint32_t a_child = 0;   ///< vectors for each of radix children
    std::uint32_t a_rank = 0;    ///< blocks
    std::uint32_t a_member = 0;  ///< blocks for each rank and each rank of the own node
    std::uint32_t a_node = 0;    ///< blocks for each node and each rank of the own node
};

struct Row {
    Algorithm algorithm;
    std::string_view name;  ///< as the enumerator
    Collective collective;
    Graph (*build)(const Call& call);
    InPlace in_place = InPlace::nobody;
    bool keeps_order = true;  ///< right for operators that do not commute
    /// Right for them where the ranks of each node follow each other.
    bool keeps_order_of_nodes = false;
    Sizes sizes = Sizes::any;
    /// A slot has 16 bits: beyond, messages between two ranks would share names.
    std::uint32_t ranks_max = UINT32_MAX;
    Listing listing = Listing::no;
    ScratchBound scratch{};
    Reads reads{};
    Tuning tuning{};  ///< used unless the caller knows better
};

/// The algorithms of one group.
std::span<const Row> table() noexcept;

/// Requires: an algorithm of one group.
const Row& row_of(Algorithm algorithm) noexcept;

/// Null: there is no such algorithm.
const Row* find_row(std::string_view name) noexcept;

/// Whose block each block of scratch is as long as, over and over, where blocks are listed. For
/// `by_position` and `by_node` a topology.
std::vector<std::uint32_t> scratch_owners(Listing listing, Place place, const Topology* topology);

/// An algorithm of one group can serve `size` ranks, tuned like this.
bool fits(const Row& row, std::uint32_t size, const Tuning& tuning) noexcept;

}  // namespace headway::protocol::coll
