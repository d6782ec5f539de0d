// SPDX-License-Identifier: Apache-2.0
//
// What the nodes of a run do, and what follows them: shared by runs in the heap (graph_engine) and
// on the stack (quick_run).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/driver.hpp"
#include "engine/graph_instance.hpp"

namespace headway::engine {

inline transport::FrameHeader message_name(const GraphInstance& run, const GraphNode& node) noexcept
{
    const Scope& scope = *run.scope;
    return {.context = scope.collective_context(),
            .source = static_cast<std::int32_t>(leaves(node.kind) ? scope.rank : node.peer),
            .tag = node.slot,
            .sequence = run.sequence};
}

/// The node is over, and what waited for it alone is ready. Returns the reduction that was done
/// with it and so is over, too, or the graph's node count.
inline std::uint32_t complete_one(GraphInstance* run, std::uint32_t index) noexcept
{
    const GraphTemplate& stored = *run->stored;
    std::uint32_t combined = stored.node_count;
    std::uint32_t* const waiting = run->waiting();
    for (std::uint32_t i = stored.first_successor[index]; i < stored.first_successor[index + 1];
         ++i) {
        const std::uint32_t successor = stored.successors[i];
        const std::uint32_t left = waiting[successor]--;
        if (left == 1) {
            run->ready()[run->ready_tail++] = successor;
        } else if (left == GraphInstance::combined_on_arrival) {
            combined = successor;
        } else {
            continue;
        }
        // Nothing waits for this node any more, so it counts for the next run from here on.
        waiting[successor] = stored.dependencies[successor];
    }
    --run->remaining;
    return combined;
}

inline void complete_node(GraphInstance* run, std::uint32_t index) noexcept
{
    while (index != run->stored->node_count) {
        index = complete_one(run, index);
    }
}

/// Out of the run's own hands until the list's turn comes.
inline void stall(GraphInstance* run, GraphInstance** list) noexcept
{
    run->is_stalled = true;
    run->next = *list;
    *list = run;
}

/// An op whose completion fires the node. Null: the heap is exhausted.
inline Op* node_op(Driver& driver, GraphInstance* run, std::uint32_t index, OpKind kind,
                   std::span<std::byte> bytes)
{
    Op* op = driver.create_op(kind);
    if (op == nullptr) {
        return nullptr;
    }
    const GraphNode& node = run->stored->nodes[index];
    op->header = message_name(*run, node);
    op->peer = run->scope->peer(node.peer);
    op->address = bytes.data();
    op->size_bytes = bytes.size();
    op->graph = run;
    op->node = index;
    ++run->in_flight;
    // A new op is pending, so its own waiter is always attached.
    (void)op->hang_trigger();
    return op;
}

/// Does what a copy node says, and says in the run what went wrong.
void copy_node(Driver& driver, GraphInstance* run, const GraphNode& node);

/// The same of a reduce node. Requires, for a user's function, a thread of the rank that is inside
/// MPI.
void reduce_node(Driver& driver, GraphInstance* run, const GraphNode& node);

}  // namespace headway::engine
