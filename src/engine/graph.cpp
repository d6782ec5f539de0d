// SPDX-License-Identifier: Apache-2.0
#include "engine/graph.hpp"

namespace headway::engine {

Graph::NodeIndex Graph::add(GraphNode node)
{
    nodes_.push_back(node);
    return static_cast<NodeIndex>(nodes_.size() - 1);
}

Graph::NodeIndex Graph::send(std::uint32_t peer, std::uint16_t slot, Extent source)
{
    return add(
        {.kind = NodeKind::send, .slot = slot, .peer = peer, .source = source, .target = {}});
}

Graph::NodeIndex Graph::receive(std::uint32_t peer, std::uint16_t slot, Extent target)
{
    return add(
        {.kind = NodeKind::receive, .slot = slot, .peer = peer, .source = {}, .target = target});
}

Graph::NodeIndex Graph::copy(Extent source, Extent target)
{
    return add({.kind = NodeKind::copy, .slot = 0, .peer = 0, .source = source, .target = target});
}

Graph::NodeIndex Graph::reduce(Extent source, Extent target)
{
    return add(
        {.kind = NodeKind::reduce, .slot = 0, .peer = 0, .source = source, .target = target});
}

Graph::NodeIndex Graph::publish(std::uint32_t peer, std::uint16_t slot)
{
    return add({.kind = NodeKind::publish, .slot = slot, .peer = peer, .source = {}, .target = {}});
}

Graph::NodeIndex Graph::wait(std::uint32_t peer, std::uint16_t slot)
{
    return add({.kind = NodeKind::wait, .slot = slot, .peer = peer, .source = {}, .target = {}});
}

Graph::NodeIndex Graph::peer_copy(std::uint32_t peer, Extent source, Extent target)
{
    return add(
        {.kind = NodeKind::peer_copy, .slot = 0, .peer = peer, .source = source, .target = target});
}

Graph::NodeIndex Graph::peer_reduce(std::uint32_t peer, Extent source, Extent target)
{
    return add({.kind = NodeKind::peer_reduce,
                .slot = 0,
                .peer = peer,
                .source = source,
                .target = target});
}

void Graph::order(NodeIndex before, NodeIndex after)
{
    if (before != none && after != none) {
        edges_.push_back({before, after});
    }
}

}  // namespace headway::engine
