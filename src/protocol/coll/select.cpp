// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/select.hpp"

namespace headway::protocol::coll {

namespace {

/// What is only moved is the same by whatever algorithm, so ranks may meet in the place of each.
/// Reductions differ by the order in which they combine: their builders say.
void let_meet(Graph& graph, const Row& row, const Call& call)
{
    using engine::Extent;
    using engine::Meets;
    using engine::Space;
    const Place place = call.place;
    if (row.reads.peers || row.reads.topology) {
        return;
    }
    switch (row.collective) {
        case Collective::bcast:
            graph.meet(Meets::spreading, {.space = Space::receive}, call.root);
            break;
        case Collective::allgather:
            graph.meet(Meets::gathering,
                       place.in_place ? Extent{Space::receive, place.rank, 1} : Extent{});
            break;
        case Collective::alltoall:
            graph.meet(Meets::exchanging,
                       {place.in_place ? Space::receive : Space::send, 0, place.size});
            break;
        default:
            break;
    }
}

}  // namespace

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

Graph build(Algorithm algorithm, const Tuning& tuning, Place place, std::uint32_t root,
            const Topology* topology)
{
    const Row& row = row_of(algorithm);
    const Call call{.place = place, .root = root, .tuning = tuning, .topology = topology};
    Graph graph = row.build(call);
    let_meet(graph, row, call);
    return graph;
}

Graph build(Algorithm algorithm, Place place, std::uint32_t root)
{
    return build(algorithm, row_of(algorithm).tuning, place, root);
}

}  // namespace headway::protocol::coll
