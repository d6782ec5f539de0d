// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

using engine::Space;

// With digits of ranks to the base ports + 1: before round j a rank has the blocks of all ranks
// that differ from it in the lower j digits only, which are neighbours.
Graph allgather_exchange(const Call& call)
{
    Graph graph;
    const std::uint32_t rank = call.place.rank;
    const std::uint32_t base = call.tuning.ports + 1;
    std::vector<Graph::NodeIndex> here;
    if (!call.place.in_place) {
        here.push_back(graph.copy({.space = Space::send}, {Space::receive, rank, 1}));
    }
    std::uint16_t slot = 0;
    for (std::uint64_t step = 1; step < call.place.size; step *= base, ++slot) {
        const auto width = static_cast<std::uint32_t>(step);
        const std::size_t before = here.size();
        const std::uint32_t digit = rank / width % base;
        for (std::uint32_t away = 1; away < base; ++away) {
            const std::uint32_t other = rank + ((digit + away) % base) * width - digit * width;
            const auto sent =
                graph.send(other, slot, {Space::receive, rank / width * width, width});
            for (std::size_t i = 0; i < before; ++i) {
                graph.order(here[i], sent);
            }
            here.push_back(
                graph.receive(other, slot, {Space::receive, other / width * width, width}));
        }
    }
    return graph;
}

}  // namespace headway::protocol::coll
