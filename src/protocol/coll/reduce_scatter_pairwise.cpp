// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

// Scratch holds the blocks of all ranks for this one. They are combined from rank 0 on, each into
// the next. In place the result overwrites the input, so it comes after everything else.
Graph reduce_scatter_pairwise(Place place)
{
    Graph graph;
    const std::uint32_t size = place.size;
    const std::uint32_t rank = place.rank;
    const Extent result{.space = Space::receive};
    if (size == 1) {
        if (!place.in_place) {
            graph.copy({.space = Space::send}, result);
        }
        return graph;
    }
    graph.scratch_blocks = size;
    std::vector<Graph::NodeIndex> here(size);
    for (std::uint32_t step = 1; step < size; ++step) {
        const std::uint32_t from = (rank + size - step) % size;
        here[from] = graph.receive(from, 0, {Space::scratch, from, 1});
    }
    here[rank] = graph.copy({Space::send, rank, 1}, {Space::scratch, rank, 1});
    for (std::uint32_t step = 1; step < size; ++step) {
        const std::uint32_t to = (rank + step) % size;
        graph.send(to, 0, {Space::send, to, 1});
    }
    Graph::NodeIndex combined = here[0];
    for (std::uint32_t next = 1; next < size; ++next) {
        const auto reduced = graph.reduce({Space::scratch, next - 1, 1}, {Space::scratch, next, 1});
        graph.order(combined, reduced);
        graph.order(here[next], reduced);
        combined = reduced;
    }
    const auto last = graph.copy({Space::scratch, size - 1, 1}, result);
    graph.order(combined, last);
    for (Graph::NodeIndex node = 0; place.in_place && node < last; ++node) {
        graph.order(node, last);
    }
    return graph;
}

}  // namespace headway::protocol::coll
