// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/team.hpp"

namespace headway::protocol::coll {

Graph barrier_dissemination(Place place, std::uint32_t ports)
{
    Graph graph;
    add_dissemination(graph, Team::all(place, 0), ports, 0, {});
    return graph;
}

}  // namespace headway::protocol::coll
