// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/team.hpp"

namespace headway::protocol::coll {

Graph bcast_knomial(const Call& call)
{
    Graph graph;
    const engine::Extent buffer{.space = engine::Space::receive};
    add_tree_spread(graph, Team::all(call.place, call.root), {.radix = call.tuning.radix}, buffer,
                    Graph::none);
    return graph;
}

}  // namespace headway::protocol::coll
