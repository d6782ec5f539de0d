// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/select.hpp"

namespace headway::protocol::coll {

namespace {

// Where the long-message algorithms begin to pay. First values, by ping-pong figures of one node;
// a fitted cost model replaces them.
constexpr std::uint64_t bcast_long_bytes = 128 * 1024;
constexpr std::uint64_t allreduce_long_bytes = 16 * 1024;
constexpr std::uint64_t allgather_long_bytes = 4 * 1024;
constexpr std::uint64_t alltoall_long_bytes = 256;
constexpr std::uint32_t alltoall_bruck_ranks = 8;

}  // namespace

Algorithm choose(Collective collective, const Shape& shape) noexcept
{
    switch (collective) {
        case Collective::barrier:
            return Algorithm::barrier_dissemination;
        case Collective::bcast:
            return shape.bytes >= bcast_long_bytes && shape.size > 2 ? Algorithm::bcast_scatter_ring
                                                                     : Algorithm::bcast_binomial;
        case Collective::reduce:
            return Algorithm::reduce_binomial;
        case Collective::allreduce:
            return shape.bytes >= allreduce_long_bytes && shape.is_commutative
                       ? Algorithm::allreduce_halving_doubling
                       : Algorithm::allreduce_recursive_doubling;
        case Collective::gather:
            return Algorithm::gather_flat;
        case Collective::scatter:
            return Algorithm::scatter_flat;
        case Collective::allgather:
            return shape.bytes < allgather_long_bytes && shape.size > 2 ? Algorithm::allgather_bruck
                                                                        : Algorithm::allgather_ring;
        case Collective::allgatherv:
            return shape.bytes < allgather_long_bytes && shape.size > 2
                       ? Algorithm::allgatherv_bruck
                       : Algorithm::allgather_ring;
        case Collective::alltoall:
            return shape.bytes < alltoall_long_bytes && shape.size >= alltoall_bruck_ranks
                       ? Algorithm::alltoall_bruck
                       : Algorithm::alltoall_pairwise;
        case Collective::alltoallv:
            return Algorithm::alltoall_pairwise;
        case Collective::scan:
            return Algorithm::scan_doubling;
        case Collective::exscan:
            return Algorithm::exscan_doubling;
        case Collective::neighbor_allgather:
            return Algorithm::neighbor_allgather;
        case Collective::neighbor_alltoall:
            return Algorithm::neighbor_alltoall;
        case Collective::reduce_scatter:
            break;
    }
    return shape.is_commutative ? Algorithm::reduce_scatter_halving
                                : Algorithm::reduce_scatter_binomial;
}

Algorithm choose_between_groups(Collective collective) noexcept
{
    switch (collective) {
        case Collective::bcast:
            return Algorithm::inter_bcast;
        case Collective::reduce:
            return Algorithm::inter_reduce;
        case Collective::allreduce:
            return Algorithm::inter_allreduce;
        case Collective::gather:
            return Algorithm::inter_gather;
        case Collective::scatter:
            return Algorithm::inter_scatter;
        case Collective::allgather:
        case Collective::allgatherv:
            return Algorithm::inter_allgather;
        case Collective::alltoall:
        case Collective::alltoallv:
            return Algorithm::inter_alltoall;
        case Collective::reduce_scatter:
            return Algorithm::inter_reduce_scatter;
        default:
            // Nobody leaves before all of both groups have come.
            return Algorithm::barrier_dissemination;
    }
}

Graph build_between_groups(Algorithm algorithm, const TwoSides& sides, std::uint32_t root)
{
    switch (algorithm) {
        case Algorithm::inter_bcast:
            return inter_bcast(sides, root);
        case Algorithm::inter_reduce:
            return inter_reduce(sides, root);
        case Algorithm::inter_allreduce:
            return inter_allreduce(sides);
        case Algorithm::inter_gather:
            return inter_gather(sides, root);
        case Algorithm::inter_scatter:
            return inter_scatter(sides, root);
        case Algorithm::inter_allgather:
            return inter_exchange(sides, true);
        case Algorithm::inter_alltoall:
            return inter_exchange(sides, false);
        case Algorithm::inter_reduce_scatter:
            return inter_reduce_scatter(sides);
        default:
            return barrier_dissemination({sides.rank, sides.size, false}, 1);
    }
}

Graph build(Algorithm algorithm, Place place, std::uint32_t root)
{
    const Row& row = row_of(algorithm);
    return row.build({.place = place, .root = root, .tuning = row.tuning});
}

}  // namespace headway::protocol::coll
