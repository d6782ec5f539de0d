// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/core_ranks.hpp"

namespace headway::protocol::coll {

using engine::Extent;

void add_spared(Graph& graph, std::uint32_t rank, Extent contribution, Extent result)
{
    const auto sent = graph.send(rank + 1, fold_slot, contribution);
    graph.order(sent, graph.receive(rank + 1, unfold_slot, result));
}

Graph::NodeIndex add_halving(Graph& graph, const HalvingRound& round, const HalvingExtents& extents,
                             Graph::NodeIndex ready)
{
    graph.order(ready, graph.send(round.partner, round.slot, extents.outgoing));
    const auto received = graph.receive(round.partner, round.slot, extents.incoming);
    // It may have the place of the last round's message, which must have been combined.
    graph.order(ready, received);
    const auto reduced = graph.reduce(extents.source, extents.target);
    graph.order(received, reduced);
    graph.order(ready, reduced);
    return reduced;
}

}  // namespace headway::protocol::coll
