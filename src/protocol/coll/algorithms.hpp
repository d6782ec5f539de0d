// SPDX-License-Identifier: Apache-2.0
//
// The collective algorithms: pure functions from (rank, size, root) to the graph of that rank. No
// communicator, no input or output, no message size: extents count in blocks, the instance knows
// the bytes. Each lives in a file of its own name.
//
// What the spaces hold:
//   bcast              receive: the buffer on every rank (send unused)
//   reduce, allreduce  send: the contribution, receive: the result (root only for reduce)
//   gather             send: one block, receive at the root: `size` blocks
//   scatter            send at the root: `size` blocks, receive: one block
//   allgather          send: one block, receive: `size` blocks
//   alltoall           send and receive: `size` blocks
//   scan, exscan       send: the contribution, receive: the result
//   reduce_scatter     send: `size` blocks, receive: one block
//   neighbor_...       send: one block, or one a destination, receive: one a source
// In place, `Place` tells a builder that the send space is not there: the contribution, or the
// rank's own block, stands in the receive space. One exception: reduce_scatter reads the send space
// in place too, and the caller points both spaces at the same bytes.
//
// Blocks may differ in size (v-forms): an instance then lists them (engine::Blocks::listed). The
// builders that say so put listed blocks into extents one by one, except in spaces whose blocks
// follow each other.
//
// Reductions combine operands in rank order, and always in the same tree for the same size, so
// that results are bitwise equal run to run and, for allreduce, on all ranks.
#pragma once

#include <cstdint>
#include <span>

#include "engine/graph.hpp"

namespace headway::protocol::coll {

using engine::Graph;

/// The place of a rank among `size` ranks. Requires rank < size.
struct Place {
    std::uint32_t rank = 0;
    std::uint32_t size = 1;
    /// The caller's own block is in the receive space already.
    bool in_place = false;
};

/// Dissemination: ceil(log2 size) rounds of empty messages; no rank finishes before all started.
Graph barrier_dissemination(Place place);

/// Binomial tree from the root, largest subtree first.
Graph bcast_binomial(Place place, std::uint32_t root);

/// Root scatters pieces down a binomial tree, then a ring allgathers them: for long vectors.
Graph bcast_scatter_ring(Place place, std::uint32_t root);

/// Binomial tree over ranks in their order (tree root 0), result forwarded to `root`. Right for
/// operators that do not commute.
Graph reduce_binomial(Place place, std::uint32_t root);

/// Recursive doubling; surplus ranks fold into a neighbour first. Keeps rank order.
Graph allreduce_recursive_doubling(Place place);

/// Recursive halving of the vector, then recursive doubling allgather (Rabenseifner); surplus
/// ranks fold into a neighbour first. For long vectors and operators that commute.
Graph allreduce_halving_doubling(Place place);

/// Everyone sends straight to the root; blocks arrive in their place. The root may list them.
Graph gather_flat(Place place, std::uint32_t root);

/// The root sends every block straight to its rank. The root may list them.
Graph scatter_flat(Place place, std::uint32_t root);

/// Bruck: ceil(log2 size) rounds through scratch. For short blocks.
Graph allgather_bruck(Place place);

/// The same for listed blocks. Block i of scratch has the size of rank (rank + i) mod size's.
Graph allgatherv_bruck(Place place);

/// Ring: size - 1 rounds with the neighbours, no scratch. For long blocks. They may be listed.
Graph allgather_ring(Place place);

/// All pairs, partners rotated so that no rank is everybody's first target. Blocks may be listed;
/// in place, block i of scratch has the size of receive's.
Graph alltoall_pairwise(Place place);

/// Bruck: ceil(log2 size) rounds of half of the blocks each, through scratch. For short blocks.
Graph alltoall_bruck(Place place);

/// Inclusive prefix by recursive doubling: ceil(log2 size) rounds. Keeps rank order.
Graph scan_doubling(Place place);

/// Exclusive prefix: contributions move up by one rank, then scan_doubling without rank 0, whose
/// result is left alone. Keeps rank order.
Graph exscan_doubling(Place place);

/// Recursive halving of the blocks; surplus ranks fold into a neighbour first. For operators that
/// commute. Blocks may be listed; send's follow each other, and scratch's are of the same sizes.
Graph reduce_scatter_halving(Place place);

/// Binomial tree to rank 0, which sends every block to its rank. Keeps rank order. Blocks may be
/// listed as above.
Graph reduce_scatter_binomial(Place place);

/// The neighbours of a rank, in the order of their blocks; negative: none there.
struct Neighbors {
    std::span<const int> sources;
    std::span<const int> destinations;
    /// Blocks 2d and 2d + 1 are those of one dimension of a grid: what leaves in one direction
    /// arrives from the opposite one, also where both neighbours are one rank.
    bool are_opposite = false;
};

/// Straight to all destinations and from all sources; blocks may be listed. With `has_one_block`
/// (allgather) the send space is one block for all. Messages between the same two ranks keep the
/// order of their blocks.
Graph neighbor_exchange(const Neighbors& neighbors, bool has_one_block);

/// Number of rounds that double up to `size`: ceil(log2 size).
constexpr std::uint32_t rounds_of_doubling(std::uint32_t size) noexcept
{
    std::uint32_t rounds = 0;
    while ((std::uint64_t{1} << rounds) < size) {
        ++rounds;
    }
    return rounds;
}

/// Largest power of two not above `size`. Requires size > 0.
constexpr std::uint32_t power_of_two_below(std::uint32_t size) noexcept
{
    std::uint32_t power = 1;
    while (power <= size / 2) {
        power *= 2;
    }
    return power;
}

}  // namespace headway::protocol::coll
