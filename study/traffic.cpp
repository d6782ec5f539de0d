// SPDX-License-Identifier: Apache-2.0
#include "study/traffic.hpp"

#include <algorithm>
#include <bit>

namespace headway::study {

using coll::Algorithm;

namespace {

using Count = std::uint64_t;

/// Messages of one rank in rounds of `ports` partners, by which everyone hears of everyone.
Count round_messages(Count size, Count ports)
{
    Count messages = 0;
    for (Count step = 1; step < size; step *= ports + 1) {
        messages += std::min(ports, (size - 1) / step);
    }
    return messages;
}

Count largest_power(Count size)
{
    return std::bit_floor(size);
}

Count log2_of(Count power)
{
    return static_cast<Count>(std::countr_zero(power));
}

/// Messages of recursive doubling with surplus ranks that fold in.
Count doubling_messages(Count size)
{
    const Count cores = largest_power(size);
    return cores * log2_of(cores) + 2 * (size - cores);
}

/// Digits to the base `radix` that are not zero, of all numbers below `size`.
Count digits_below(Count size, Count radix)
{
    Count digits = 0;
    radix = std::max<Count>(radix, 2);  // as trees do
    for (Count step = 1; step < size; step *= radix) {
        // Of each period of radix * step numbers, all but the first step have this digit.
        const Count period = radix * step;
        const Count rest = size % period;
        digits += size / period * (period - step) + (rest > step ? rest - step : 0);
    }
    return digits;
}

/// Ranks below each rank of the binomial tree, itself included, but for the top.
Count subtree_blocks(Count size)
{
    Count blocks = 0;
    for (Count v = 1; v < size; ++v) {
        blocks += std::min(v & (~v + 1), size - v);
    }
    return blocks;
}

/// Messages of scan_doubling.
Count prefix_messages(Count size)
{
    Count messages = 0;
    for (Count step = 1; step < size; step *= 2) {
        messages += size - step;
    }
    return messages;
}

/// The algorithms of two levels.
class TwoLevel {
  public:
    TwoLevel(const coll::Call& call)
        : call_(call),
          topology_(*call.topology),
          size_(call.place.size),
          nodes_(topology_.node_count()),
          inside_(size_ - nodes_)
    {
    }

    Traffic traffic(const coll::Row& row) const
    {
        if (row.algorithm == Algorithm::allreduce_many_leads) {
            const Count messages =
                coll::many_leads_pieces(topology_) * (2 * inside_ + doubling_messages(nodes_));
            return {messages, messages};
        }
        switch (row.collective) {
            case coll::Collective::barrier:
                return {2 * inside_ + nodes_ * round_messages(nodes_, call_.tuning.ports), 0};
            case coll::Collective::allreduce: {
                const Count messages = 2 * inside_ + doubling_messages(nodes_);
                return {messages, messages};
            }
            case coll::Collective::gather:
            case coll::Collective::scatter:
                return {
                    size_ - 1,
                    2 * size_ - topology_.ranks_of(topology_.node_of(call_.root)).size() - nodes_};
            case coll::Collective::allgather:
            case coll::Collective::allgatherv:
                return {2 * inside_ + wrapped_messages(),
                        inside_ + size_ * (nodes_ - 1) + size_ * inside_};
            case coll::Collective::alltoall:
                return {2 * inside_ + nodes_ * (nodes_ - 1),
                        2 * size_ * inside_ + size_ * size_ - same_node_pairs()};
            case coll::Collective::scan:
            case coll::Collective::exscan: {
                const Count runs = topology_.run_count();
                const Count messages = 2 * (size_ - runs) + prefix_messages(runs);
                return {messages, messages};
            }
            case coll::Collective::reduce_scatter:
                return {2 * inside_ + (nodes_ - 1) * topology_.run_count(),
                        size_ * inside_ + (nodes_ - 1) * size_ + inside_};
            default:
                return {size_ - 1, size_ - 1};
        }
    }

    /// Of blocks that are listed: those that leads have for themselves travel once less.
    Count bytes_of_listed(Count all) const
    {
        Count of_leads = 0;
        for (std::uint32_t node = 0; node < nodes_; ++node) {
            of_leads += bytes_of_size(topology_.lead_of(node, 0));
        }
        return (nodes_ - 1 + inside_ + 1) * all - of_leads;
    }

  private:
    /// Bruck among leads: what wraps goes in two messages.
    Count wrapped_messages() const
    {
        Count messages = 0;
        for (Count step = 1; step < nodes_; step *= 2) {
            messages += nodes_ + std::min(step, nodes_ - step) - 1;
        }
        return messages;
    }
    Count same_node_pairs() const
    {
        Count pairs = 0;
        for (std::uint32_t node = 0; node < nodes_; ++node) {
            pairs += topology_.ranks_of(node).size() * topology_.ranks_of(node).size();
        }
        return pairs;
    }

    const coll::Call& call_;
    const coll::Topology& topology_;
    Count size_;
    Count nodes_;
    Count inside_;
};

/// Reductions that halve the vector; surplus ranks fold in.
Traffic halving_traffic(Algorithm algorithm, Count size, std::uint32_t root)
{
    const Count cores = largest_power(size);
    const Count surplus = size - cores;
    const Count halving = cores * log2_of(cores);
    if (algorithm == Algorithm::allreduce_halving_doubling) {
        return {2 * surplus + 2 * halving, 2 * surplus * cores + 2 * cores * (cores - 1)};
    }
    if (algorithm == Algorithm::reduce_scatter_halving) {
        return {2 * surplus + halving, surplus * size + size * (cores - 1) + surplus};
    }
    const Count is_root_spared = root < 2 * surplus && root % 2 == 0 ? 1 : 0;
    return {surplus + halving + cores - 1 + is_root_spared, surplus * cores + cores * (cores - 1) +
                                                                cores / 2 * log2_of(cores) +
                                                                is_root_spared * cores};
}

/// Members that read each other's memory: what they tell, and the blocks that they read.
Traffic direct_traffic(Algorithm algorithm, Count size)
{
    const Count pairs = size * (size - 1);
    switch (algorithm) {
        case Algorithm::bcast_direct:
        case Algorithm::scatter_direct:
            return {2 * (size - 1), size - 1};
        case Algorithm::allreduce_direct:
            return {3 * pairs, 2 * pairs};
        default:
            return {2 * pairs, pairs};
    }
}

/// Algorithms of one level that only send.
Traffic flat_traffic(Algorithm algorithm, const coll::Call& call)
{
    const Count size = call.place.size;
    const Count pairs = size * (size - 1);
    const Count forwarded = call.root != 0 ? 1 : 0;
    switch (algorithm) {
        case Algorithm::barrier_dissemination:
        case Algorithm::barrier_dissemination_ports:
            return {size * round_messages(size, call.tuning.ports), 0};
        case Algorithm::barrier_linear:
        case Algorithm::allreduce_linear:
            return {2 * (size - 1), algorithm == Algorithm::barrier_linear ? 0 : 2 * size - 2};
        case Algorithm::bcast_scatter_ring:
            return {size - 1 + pairs - subtree_blocks(size), pairs};
        case Algorithm::reduce_flat:
        case Algorithm::reduce_binomial:
        case Algorithm::reduce_knomial:
            return {size - 1 + forwarded, size - 1 + forwarded};
        case Algorithm::reduce_halving_gather:
        case Algorithm::allreduce_halving_doubling:
        case Algorithm::reduce_scatter_halving:
            return halving_traffic(algorithm, size, call.root);
        case Algorithm::allreduce_recursive_doubling:
            return {doubling_messages(size), doubling_messages(size)};
        case Algorithm::allreduce_ring:
            return {2 * pairs, 2 * pairs};
        case Algorithm::gather_binomial:
        case Algorithm::gather_knomial:
        case Algorithm::scatter_binomial:
        case Algorithm::scatter_knomial:
            return {size - 1, digits_below(size, call.tuning.radix)};
        case Algorithm::allgather_bruck:
        case Algorithm::allgatherv_bruck:
        case Algorithm::allgather_bruck_ports:
        case Algorithm::allgather_recursive_doubling:
        case Algorithm::allgather_exchange:
            return {size * round_messages(size, call.tuning.ports), pairs};
        case Algorithm::allgather_neighbor_exchange:
            return {size * size / 2, pairs};
        case Algorithm::alltoall_bruck:
        case Algorithm::alltoall_bruck_ports:
            return {size * round_messages(size, call.tuning.ports),
                    size * digits_below(size, Count{call.tuning.ports} + 1)};
        case Algorithm::scan_doubling:
            return {prefix_messages(size), prefix_messages(size)};
        case Algorithm::exscan_doubling:
            return {size - 1 + prefix_messages(size - 1), size - 1 + prefix_messages(size - 1)};
        case Algorithm::reduce_scatter_binomial:
            return {2 * (size - 1), size * (size - 1) + size - 1};
        case Algorithm::allgather_linear:
        case Algorithm::allgather_ring:
        case Algorithm::allgather_pipelined_bruck:
        case Algorithm::allgather_cayley:
        case Algorithm::alltoall_pairwise:
        case Algorithm::alltoall_throttled:
        case Algorithm::reduce_scatter_ring:
        case Algorithm::reduce_scatter_pairwise:
            return {pairs, pairs};
        default:
            // Trees of one vector, and everything that goes straight from or to the root.
            return {size - 1, size - 1};
    }
}

/// The bytes are not there yet.
Traffic counts_of(const coll::Row& row, const coll::Call& call)
{
    if (row.reads.topology) {
        return TwoLevel(call).traffic(row);
    }
    if (row.reads.segments) {
        const Count messages = Count{call.tuning.segments} * (call.place.size - 1);
        return {messages, messages};
    }
    if (row.reads.peers) {
        return direct_traffic(row.algorithm, call.place.size);
    }
    return flat_traffic(row.algorithm, call);
}

/// Bytes of `count` blocks whose sizes are named from 0 on.
Count bytes_of_all(std::uint32_t count)
{
    Count bytes = 0;
    for (std::uint32_t name = 0; name < count; ++name) {
        bytes += bytes_of_size(name);
    }
    return bytes;
}

/// In the gather of reduce_halving_gather a piece takes as many steps as its core differs from the
/// root's in bits.
Count bytes_of_gather(Count size, std::uint32_t root)
{
    const Count surplus = size - largest_power(size);
    const Count root_core = root < 2 * surplus ? root / 2 : root - surplus;
    Count bytes = 0;
    for (std::uint32_t piece = 0; piece < largest_power(size); ++piece) {
        bytes += static_cast<Count>(std::popcount(piece ^ root_core)) * bytes_of_size(piece);
    }
    return bytes;
}

/// A block for each pair of ranks. In place both of a pair have one size.
Count bytes_of_pairs(std::uint32_t size, bool in_place)
{
    Count bytes = 0;
    for (std::uint32_t from = 0; from < size; ++from) {
        for (std::uint32_t to = 0; to < size; ++to) {
            const bool is_turned = in_place && from > to;
            const std::uint32_t name = is_turned ? to * size + from : from * size + to;
            bytes += from != to ? bytes_of_size(name) : 0;
        }
    }
    return bytes;
}

/// A block of each rank.
Count bytes_of_listed(Algorithm algorithm, std::uint32_t size, std::uint32_t root)
{
    const Count all = bytes_of_all(size);
    const auto surplus = static_cast<std::uint32_t>(size - largest_power(size));
    Count bytes = (size - 1) * all;
    switch (algorithm) {
        case Algorithm::gather_flat:
        case Algorithm::scatter_flat:
            return all - bytes_of_size(root);
        case Algorithm::reduce_scatter_binomial:
            return bytes + all - bytes_of_size(0);
        case Algorithm::reduce_scatter_halving:
            for (std::uint32_t spared = 0; spared < 2 * surplus; spared += 2) {
                bytes += bytes_of_size(spared);
            }
            return bytes;
        default:
            return bytes;
    }
}

Count bytes_of(const coll::Row& row, const coll::Call& call, const Sizing& sizing, Count blocks)
{
    const std::uint32_t size = call.place.size;
    if (sizing.is_listed && row.collective == coll::Collective::alltoall) {
        return bytes_of_pairs(size, sizing.in_place);
    }
    if (sizing.is_listed && row.reads.topology) {
        return TwoLevel(call).bytes_of_listed(bytes_of_all(size));
    }
    if (sizing.is_listed) {
        return bytes_of_listed(row.algorithm, size, call.root);
    }
    if (sizing.pieces == 0) {
        return blocks * bytes_of_size(0);
    }
    if (row.algorithm == Algorithm::reduce_halving_gather) {
        const Count cores = largest_power(size);
        const Count gathered = cores / 2 * log2_of(cores);
        return (blocks - gathered) / cores * bytes_of_all(sizing.pieces) +
               bytes_of_gather(size, call.root);
    }
    return blocks / sizing.pieces * bytes_of_all(sizing.pieces);
}

/// The least number of rounds in which groups that grow by `radix` hold `size`.
Count rounds_of(Count size, Count radix)
{
    Count rounds = 0;
    for (Count reached = 1; reached < size; reached *= radix) {
        ++rounds;
    }
    return rounds;
}

}  // namespace

Traffic traffic_of(const coll::Row& row, const coll::Call& call, const Sizing& sizing)
{
    Traffic traffic = counts_of(row, call);
    traffic.bytes = bytes_of(row, call, sizing, traffic.blocks);
    return traffic;
}

std::uint64_t scratch_blocks_max(const coll::Row& row, const coll::Call& call, std::uint32_t pieces)
{
    const coll::ScratchBound& bound = row.scratch;
    const Count size = call.place.size;
    const Count radix = std::max(call.tuning.radix, 2U);
    const Count whole = row.collective == coll::Collective::reduce_scatter ? size : 1;
    const Count vector = pieces != 0 ? pieces : whole;
    const Count vectors = bound.vectors + bound.a_partner * (radix - 1) * rounds_of(size, radix) +
                          bound.a_child * call.tuning.radix;
    const Count blocks = vectors * vector + size * bound.a_rank;
    if (call.topology == nullptr) {
        return blocks;
    }
    const Count members = call.topology->ranks_of(call.topology->node_of(call.place.rank)).size();
    return blocks + members * (bound.a_member * size + bound.a_node * call.topology->node_count());
}

std::uint64_t scratch_blocks_between_groups(Algorithm algorithm, Count own_size)
{
    switch (algorithm) {
        case Algorithm::inter_reduce:
        case Algorithm::inter_allreduce:
            return rounds_of(own_size, 2);
        case Algorithm::inter_reduce_scatter:
            return own_size * (rounds_of(own_size, 2) + 1);
        default:
            return 0;
    }
}

namespace {

Traffic counts_between_groups(Algorithm algorithm, Count first, Count second)
{
    const Count inside = first + second - 2;
    switch (algorithm) {
        case Algorithm::inter_allreduce:
            return {2 * inside + 2, 2 * inside + 2};
        case Algorithm::inter_allgather:
        case Algorithm::inter_alltoall:
            return {2 * first * second, 2 * first * second};
        case Algorithm::inter_reduce_scatter:
            return {2 * inside + 2, first * first + second * second + inside};
        case Algorithm::barrier_dissemination:
            return {(first + second) * round_messages(first + second, 1), 0};
        default:
            return {second, second};
    }
}

}  // namespace

Traffic traffic_between_groups(Algorithm algorithm, Count first, Count second)
{
    Traffic traffic = counts_between_groups(algorithm, first, second);
    traffic.bytes = traffic.blocks * bytes_of_size(0);
    return traffic;
}

}  // namespace headway::study
