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
//
// Formulas say how many messages all N ranks send together and how many blocks are in them:
//   R(N, k) = sum over w = 1, k + 1, (k + 1)^2 ... < N of min(k, (N - 1) / w), rounded down
//   D(N, k) = the digits to the base k, that are not 0, of all numbers below N
//   T(N)    = sum over v = 1, 2 ... < N of min(lowest bit of v, N - v)
//   P(N)    = sum over w = 1, 2, 4 ... < N of N - w
//   W(N)    = sum over w = 1, 2, 4 ... < N of N + min(w, N - w) - 1
//   C       the largest power of two not above N, S = N - C the surplus ranks
//   E(N)    = C log2 C + 2 S
//   F       1 where the root is not rank 0, else 0
//   G       1 where the root is a surplus rank, which folds into a neighbour, else 0
//   M       nodes, m ranks of the root's, Q the sum of the squares of the ranks of each
//   L       ranks of the largest node
//   X       runs: the longest ranges of ranks that share a node; M where these follow each other
// The direct algorithms read each other's memory, so they are for ranks of one node: their blocks
// are those that are read, their messages what publish nodes tell, and empty ones of who has read.
// Blocks are the caller's, or the pieces of a vector that is cut. "As many blocks" means one a
// message. Where blocks differ in size, all travel equally often, unless a builder says otherwise;
// an alltoall's travel once, but for a rank's to itself. study/traffic.cpp evaluates this, the
// verifier counts messages, blocks and bytes, and test/study/formulas_test.py reads these lines.
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

class Topology;

/// What an algorithm can be tuned by; each reads what its row of the table names.
struct Tuning {
    /// Parts that a tree's node is cut into (k-nomial), children of one (pipelined), neighbours of
    /// one (Cayley).
    std::uint32_t radix = 2;
    std::uint32_t ports = 1;     ///< partners of one round
    std::uint32_t window = 4;    ///< blocks that a rank sends at once
    std::uint32_t segments = 8;  ///< pieces that the vector is cut into

    friend constexpr bool operator==(const Tuning&, const Tuning&) = default;
};

/// One call as the builder of a rank sees it. All but the place is equal on all ranks.
struct Call {
    Place place{};
    std::uint32_t root = 0;
    Tuning tuning;
    const Topology* topology = nullptr;  ///< of all ranks; two-level algorithms only
};

// --- Barrier: no rank finishes before all have started.

/// Dissemination: ceil(log size / log (ports + 1)) rounds of empty messages.
/// Formula: N R(N, ports) messages, no blocks.
Graph barrier_dissemination(Place place, std::uint32_t ports);

/// Everyone tells rank 0, which then tells everyone. For ranks that share cores, which may meet
/// instead, without messages.
/// Formula: 2 (N - 1) messages, no blocks.
Graph barrier_linear(Place place);

/// Two levels: everyone tells its node's lead, leads disseminate, leads release their nodes.
/// Formula: 2 (N - M) + M R(M, ports) messages, no blocks.
Graph barrier_two_level(const Call& call);

// --- One vector from or to the root, or to all.

/// K-nomial tree from the root, largest subtree first. With radix 2 the binomial tree, with radix
/// `size` the root sends to all.
/// Formula: N - 1 messages, as many blocks.
Graph bcast_knomial(const Call& call);

/// Pieces follow each other down a tree of `radix` children; with one child the chain. For long
/// vectors.
/// Formula: segments (N - 1) messages, as many blocks.
Graph bcast_pipelined(const Call& call);

/// Root scatters pieces down a binomial tree, then a ring allgathers them: for long vectors.
/// Formula: N^2 - 1 - T(N) messages of N (N - 1) blocks.
Graph bcast_scatter_ring(Place place, std::uint32_t root);

/// Two levels: binomial among the leads of nodes, then binomial in each node.
/// Formula: N - 1 messages, as many blocks.
Graph bcast_two_level(const Call& call);

/// Everyone reads the root's buffer, and tells it when that is done.
/// Formula: 2 (N - 1) messages of N - 1 blocks.
Graph bcast_direct(Place place, std::uint32_t root);

/// K-nomial tree over ranks in their order (tree root 0), result forwarded to `root`. Right for
/// operators that do not commute.
/// Formula: N - 1 + F messages, as many blocks.
Graph reduce_knomial(const Call& call);

/// Pieces follow each other up a tree of `radix` children; with one child the chain. For long
/// vectors and operators that commute.
/// Formula: segments (N - 1) messages, as many blocks.
Graph reduce_pipelined(const Call& call);

/// Recursive halving of the vector, then a binomial gather of the pieces (Rabenseifner); surplus
/// ranks fold into a neighbour first. For long vectors and operators that commute.
/// Formula: S + C log2 C + C - 1 + G messages of S C + C (C - 1) + C / 2 log2 C + G C blocks. In
/// the gather a piece travels once for each bit in which its number and the root's differ.
Graph reduce_halving_gather(Place place, std::uint32_t root);

/// Two levels: binomial in each node, then binomial among the leads. For operators that commute.
/// Formula: N - 1 messages, as many blocks.
Graph reduce_two_level(const Call& call);

/// Recursive doubling; surplus ranks fold into a neighbour first. Keeps rank order.
/// Formula: E(N) messages, as many blocks.
Graph allreduce_recursive_doubling(Place place);

/// Everyone sends to rank 0, which combines in rank order and sends the result to everyone. Keeps
/// rank order. For ranks that share cores, which may meet instead, without messages.
/// Formula: 2 (N - 1) messages, as many blocks.
Graph allreduce_linear(Place place);

/// Recursive halving of the vector, then recursive doubling allgather (Rabenseifner); surplus
/// ranks fold into a neighbour first. For long vectors and operators that commute.
/// Formula: 2 S + 2 C log2 C messages of 2 S C + 2 C (C - 1) blocks.
Graph allreduce_halving_doubling(Place place);

/// Ring: every piece is combined on its way around, then goes around once more. 2 (size - 1)
/// rounds with the neighbours. For very long vectors and operators that commute.
/// Formula: 2 N (N - 1) messages, as many blocks.
Graph allreduce_ring(Place place);

/// Two levels: binomial reduction in each node, recursive doubling among the leads, binomial
/// spread in each node. Keeps rank order where the ranks of each node follow each other.
/// Formula: 2 (N - M) + E(M) messages, as many blocks.
Graph allreduce_two_level(const Call& call);

/// Two levels in which every rank leads: a node's ranks share out the pieces of the vector, as many
/// as the largest node has ranks (at most 1024). Members send every lead its pieces, leads of one
/// piece double recursively and send the result to their nodes. For long vectors and operators that
/// commute.
/// Formula: 2 L (N - M) + L E(M) messages, as many blocks.
Graph allreduce_many_leads(const Call& call);
std::uint32_t many_leads_pieces(const Topology& topology) noexcept;

/// Everyone combines its piece of all vectors where they lie, then reads the other pieces of the
/// result. Keeps rank order. In place, scratch has room for the vector.
/// Formula: 3 N (N - 1) messages of 2 N (N - 1) blocks.
Graph allreduce_direct(Place place);

// --- One block of each rank.

/// Everyone sends straight to the root; blocks arrive in their place. The root may list them.
/// Formula: N - 1 messages, as many blocks. The root's does not travel.
Graph gather_flat(Place place, std::uint32_t root);

/// The root sends every block straight to its rank. The root may list them.
/// Formula: N - 1 messages, as many blocks. The root's does not travel.
Graph scatter_flat(Place place, std::uint32_t root);

/// K-nomial tree to the root: a rank sends the blocks of all below it in one message.
/// Formula: N - 1 messages of D(N, radix) blocks.
Graph gather_knomial(const Call& call);

/// The same tree from the root.
/// Formula: N - 1 messages of D(N, radix) blocks.
Graph scatter_knomial(const Call& call);

/// Two levels: blocks are gathered in each node, leads send them to the root.
/// Formula: N - 1 messages of 2 N - M - m blocks.
Graph gather_two_level(const Call& call);

/// The same way back.
/// Formula: N - 1 messages of 2 N - M - m blocks.
Graph scatter_two_level(const Call& call);

/// Everyone reads its block where it lies at the root, and tells it when that is done.
/// Formula: 2 (N - 1) messages of N - 1 blocks.
Graph scatter_direct(Place place, std::uint32_t root);

/// Bruck with `ports` partners a round: ceil(log size / log (ports + 1)) rounds through scratch.
/// For short blocks.
/// Formula: N R(N, ports) messages of N (N - 1) blocks.
Graph allgather_bruck(Place place, std::uint32_t ports);

/// The same for listed blocks. Block i of scratch has the size of rank (rank + i) mod size's.
/// Formula: N R(N, 1) messages of N (N - 1) blocks.
Graph allgatherv_bruck(Place place);

/// Ring: size - 1 rounds with the neighbours, no scratch. For long blocks. They may be listed.
/// Formula: N (N - 1) messages, as many blocks.
Graph allgather_ring(Place place);

/// Everyone sends its block straight to everyone. Blocks may be listed.
/// Formula: N (N - 1) messages, as many blocks.
Graph allgather_linear(Place place);

/// Standard exchange: in round j everyone swaps all it has with the ranks that differ from it in
/// digit j to the base ports + 1. With one port recursive doubling. Requires that the size is a
/// power of ports + 1.
/// Formula: N R(N, ports) messages of N (N - 1) blocks.
Graph allgather_exchange(const Call& call);

/// Neighbour exchange: size / 2 rounds, each with one neighbour in turn, of two blocks. Requires
/// an even size.
/// Formula: N^2 / 2 messages of N (N - 1) blocks.
Graph allgather_neighbor_exchange(Place place);

/// Bruck's pattern, each block a message of its own that is forwarded at once. A late rank holds up
/// only what goes through it.
/// Formula: N (N - 1) messages, as many blocks.
Graph allgather_pipelined_bruck(const Call& call);

/// Every block spreads along one tree whose nodes have `radix` neighbours; what comes from one
/// neighbour goes to the others. Requires radix >= 2.
/// Formula: N (N - 1) messages, as many blocks.
Graph allgather_cayley(const Call& call);

/// Two levels: gathered in each node, Bruck's pattern among the leads without copies, binomial
/// spread in each node.
/// Formula: 2 (N - M) + W(M) messages of N - M + N (M - 1) + N (N - M) blocks.
Graph allgather_two_level(const Call& call);

/// The same for listed blocks, which everyone has by position in scratch first.
/// Formula: 2 (N - M) + W(M) messages of N - M + N (M - 1) + N (N - M) blocks. Those of leads
/// travel once less.
Graph allgatherv_two_level(const Call& call);

/// Everyone reads the block of each rank where it lies, and tells that rank when it is done.
/// Formula: 2 N (N - 1) messages of N (N - 1) blocks.
Graph allgather_direct(Place place);

/// All pairs, partners rotated so that no rank is everybody's first target. Blocks may be listed;
/// in place, block i of scratch has the size of receive's.
/// No more than `window` blocks leave a rank at once.
/// Formula: N (N - 1) messages, as many blocks.
Graph alltoall_pairwise(Place place, std::uint32_t window);

/// Bruck with `ports` partners a round: in round j a block moves by its digit j to the base
/// ports + 1, through scratch. For short blocks. With one port ceil(log2 size) rounds of half of
/// the blocks each; with more, fewer rounds and fewer blocks in all.
/// Formula: N R(N, ports) messages of N D(N, ports + 1) blocks.
Graph alltoall_bruck(Place place, std::uint32_t ports);

/// Two levels: blocks are gathered in each node, leads swap those of whole nodes, and hand them
/// out. For short blocks.
/// Formula: 2 (N - M) + M (M - 1) messages of 2 N (N - M) + N^2 - Q blocks.
Graph alltoall_two_level(const Call& call);

/// Everyone reads its blocks where they lie; in place, out of scratch.
/// Formula: 2 N (N - 1) messages of N (N - 1) blocks.
Graph alltoall_direct(Place place);

// --- Prefixes, and reductions whose result is scattered.

/// Inclusive prefix along the chain of ranks. Keeps rank order.
/// Formula: N - 1 messages, as many blocks.
Graph scan_linear(Place place);

/// Inclusive prefix by recursive doubling: ceil(log2 size) rounds. Keeps rank order.
/// Formula: P(N) messages, as many blocks.
Graph scan_doubling(Place place);

/// Exclusive prefix: contributions move up by one rank, then scan_doubling without rank 0, whose
/// result is left alone. Keeps rank order.
/// Formula: N - 1 + P(N - 1) messages, as many blocks.
Graph exscan_doubling(Place place);

/// Inclusive prefix in two levels: each run of ranks combines up a binomial tree, the runs' first
/// ranks find by doubling what is before them, and hand it down the tree. Keeps rank order.
/// Formula: 2 (N - X) + P(X) messages, as many blocks.
Graph scan_two_level(const Call& call);

/// Exclusive prefix in the same two levels. Keeps rank order.
/// Formula: 2 (N - X) + P(X) messages, as many blocks.
Graph exscan_two_level(const Call& call);

/// Recursive halving of the blocks; surplus ranks fold into a neighbour first. For operators that
/// commute. Blocks may be listed; send's follow each other, and scratch's are of the same sizes.
/// Formula: 2 S + C log2 C messages of S N + N (C - 1) + S blocks. Those of surplus ranks travel
/// once more.
Graph reduce_scatter_halving(Place place);

/// Binomial tree to rank 0, which sends every block to its rank. Keeps rank order. Blocks may be
/// listed as above.
/// Formula: 2 (N - 1) messages of N (N - 1) + N - 1 blocks. All but rank 0's travel once more.
Graph reduce_scatter_binomial(Place place);

/// Ring: every block is combined on its way around to its rank. For long blocks and operators that
/// commute. Blocks may be listed as above.
/// Formula: N (N - 1) messages, as many blocks.
Graph reduce_scatter_ring(Place place);

/// Every block goes straight to its rank, which combines them in rank order. Keeps rank order.
/// Formula: N (N - 1) messages, as many blocks.
Graph reduce_scatter_pairwise(Place place);

/// Two levels: binomial reduction in each node, leads send each other the blocks of whole nodes,
/// combine them in the order of nodes and hand them out. Keeps rank order where the ranks of each
/// node follow each other. Blocks may be listed; scratch begins with the own node's, once a node.
/// Formula: 2 (N - M) + (M - 1) X messages of N (N - M) + (M - 1) N + N - M blocks. Those of leads
/// travel once less.
Graph reduce_scatter_two_level(const Call& call);

/// Everyone combines its block of all ranks where they lie. Keeps rank order.
/// Formula: 2 N (N - 1) messages of N (N - 1) blocks.
Graph reduce_scatter_direct(Place place);

// --- Neighbours.

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
/// Formula: a message for each edge, as many blocks.
Graph neighbor_exchange(const Neighbors& neighbors, bool has_one_block);

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
