// SPDX-License-Identifier: Apache-2.0
#include "engine/node.hpp"

#include <new>
#include <utility>

namespace headway::engine {

Node::Node(std::unique_ptr<memory::NodeHeap> node_heap, Directory& node_directory,
           std::uint32_t process, const config::Knobs& settings)
    : heap(std::move(node_heap)),
      directory(node_directory),
      own_process(process),
      knobs(settings),
      peer_memory(node_directory.process_count, process, settings.cma != config::CmaChoice::off)
{
}

RankState* create_rank_state(Node& node, std::uint32_t rank)
{
    memory::Allocator& allocator = node.allocator(rank);
    const std::uint32_t ranks = node.directory.rank_count;
    void* place = allocator.allocate(sizeof(RankState));
    auto* peers = static_cast<PeerSlot*>(allocator.allocate(ranks * sizeof(PeerSlot)));
    if (place == nullptr || peers == nullptr) {
        return nullptr;
    }
    auto* state = new (place) RankState;
    for (std::uint32_t peer = 0; peer < ranks; ++peer) {
        new (&peers[peer]) PeerSlot;
    }
    state->peers = peers;
    state->rank = rank;
    state->process = node.own_process;
    node.directory.ranks[rank] = state;
    return state;
}

}  // namespace headway::engine
