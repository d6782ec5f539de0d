// SPDX-License-Identifier: Apache-2.0
// What algorithms have in common whose members read each other's memory.
#pragma once

#include <cstdint>

#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

/// The slots of such an algorithm: who reads has read; the first thing to be read is there, the
/// second.
struct DirectSlots {
    static constexpr std::uint16_t read = 0;
    static constexpr std::uint16_t first = 1;
    static constexpr std::uint16_t second = 2;
};

/// Publishes to all others, the next rank first, once `ready` is over.
inline void publish_to_all(Graph& graph, Place place, std::uint16_t slot, Graph::NodeIndex ready)
{
    for (std::uint32_t step = 1; step < place.size; ++step) {
        graph.order(ready, graph.publish((place.rank + step) % place.size, slot));
    }
}

/// Tells `peer` that it has been read, once `done` is over.
inline void tell_read(Graph& graph, std::uint32_t peer, Graph::NodeIndex done)
{
    graph.order(done, graph.send(peer, DirectSlots::read, {engine::Space::receive, 0, 0}));
}

/// Waits until `peer` has read what it reads of this rank; the node.
inline Graph::NodeIndex await_read(Graph& graph, std::uint32_t peer)
{
    return graph.receive(peer, DirectSlots::read, {engine::Space::receive, 0, 0});
}

/// Waits for `peer`, then reads; the node that does.
inline Graph::NodeIndex read_when_there(Graph& graph, std::uint32_t peer, std::uint16_t slot,
                                        engine::Extent source, engine::Extent target)
{
    const auto there = graph.wait(peer, slot);
    const auto read = graph.peer_copy(peer, source, target);
    graph.order(there, read);
    return read;
}

/// Combines the blocks `source` of all ranks in their order into `result`, which must hold nothing
/// yet. `own` is where this rank has its block. Returns the last node.
Graph::NodeIndex combine_peers(Graph& graph, Place place, engine::Extent source, engine::Extent own,
                               engine::Extent result);

}  // namespace headway::protocol::coll
