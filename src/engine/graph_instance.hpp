// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/graph_engine.hpp"
#include "memory/node_heap.hpp"
#include "transport/frame.hpp"
#include "transport/peer_memory.hpp"

namespace headway::engine {

/// What a publish node tells: where the spaces of a run are. An address of the heap is everybody's,
/// another one that of the process.
struct PublishedSpaces {
    std::byte* spaces[3] = {};  ///< by Space
    std::uint64_t bytes = 0;    ///< of a block (uniform), or of the vector (split)
    std::uint32_t process = 0;
    std::uint32_t unused = 0;  ///< bytes travel, so all have a value
};
static_assert(sizeof(PublishedSpaces) <= transport::inline_bytes_max);

/// One run, and the next ones. In the node heap, but for the beginning of short ones; belongs to
/// the rank's executor. There its counters, the tables of listed blocks and the spaces of peers
/// follow it.
struct GraphInstance {
    GraphTemplate* stored = nullptr;
    std::uint32_t* counters = nullptr;  ///< two for each node
    Op* completion = nullptr;           ///< of the run that goes on
    Scope* scope = nullptr;
    GraphInstance* next = nullptr;  ///< in a list of stalled or of idle ones
    std::byte* spaces[3] = {};      ///< by Space
    BlockLayout layouts[3];         ///< by Space
    Reduction reduction;
    /// By GraphTemplate::peer_numbers, once waited for; behind them the run's own, if it publishes.
    PublishedSpaces* peer_spaces = nullptr;
    std::uint64_t scratch_room = 0;  ///< bytes of the block that scratch lies in
    std::uint64_t kept_bytes = 0;    ///< with its own
    std::uint32_t sequence = 0;
    std::uint32_t remaining = 0;   ///< nodes not complete
    std::uint32_t ready_head = 0;  ///< next node to start
    std::uint32_t ready_tail = 0;
    OpError error = OpError::none;
    bool is_awaited = false;    ///< by the call that started it, which does nothing else
    bool is_stalled = false;    ///< in a list of the rank, which alone moves it on
    bool is_program = false;    ///< stays when a run is over
    bool is_moved = false;      ///< its run began elsewhere, and the queue is not as arm() wants it
    bool is_cancelled = false;  ///< see graph_cancel.hpp
    std::uint32_t in_flight = 0;  ///< ops that fire nodes
    std::uint32_t reads = 0;      ///< of these, those that read a peer's memory
    // Of a cancelled run: ops that use the caller's buffers, and looks at nodes that are to come.
    // It may outlive template and scope when there are none.
    std::uint32_t holding = 0;
    std::uint32_t looks_left = 0;

    /// Of a reduce node that its receive does, too (engine/combination): over with it.
    static constexpr std::uint32_t combined_on_arrival = UINT32_MAX;

    /// Edges into each node that have not fired; of one that is ready, those of the next run.
    std::uint32_t* waiting() noexcept { return counters; }
    /// Queue of nodes that may start; each node enters it once, those without edges first.
    std::uint32_t* ready() noexcept { return counters + stored->node_count; }

    /// The tables; the counters before them are 32-bit words, two a node, so they are aligned.
    BlockRange* tables() noexcept
    {
        return reinterpret_cast<BlockRange*>(counters + std::size_t{2} * stored->node_count);
    }

    std::uint64_t own_bytes() const noexcept
    {
        const BlockLayout& own = layouts[static_cast<std::size_t>(Space::receive)];
        return own.count * own.element_bytes;
    }
    /// Whether the peer's call is about as many bytes as this one. Requires: as peer_place().
    bool is_of_equal_length(std::uint32_t node) const noexcept
    {
        return peer_spaces[stored->peer_numbers[node]].bytes == own_bytes();
    }

    /// Where a peer's extent begins. Requires: a node that reads the peer, whose wait is over.
    transport::Place peer_place(std::uint32_t node, const memory::NodeHeap& heap) const noexcept
    {
        const Extent& extent = stored->nodes[node].source;
        const PublishedSpaces& there = peer_spaces[stored->peer_numbers[node]];
        std::byte* const address = there.spaces[static_cast<std::size_t>(extent.space)] +
                                   layout(extent).offset_bytes(extent.first_block);
        return {address, heap.contains(address) ? transport::Place::everywhere : there.process};
    }

    const BlockLayout& layout(Extent extent) const noexcept
    {
        return layouts[static_cast<std::size_t>(extent.space)];
    }

    /// Computed as a number: a listed block without elements may lie anywhere, also behind null.
    std::byte* address(Extent extent) noexcept
    {
        const std::byte* const space = spaces[static_cast<std::size_t>(extent.space)];
        const std::uint64_t offset = layout(extent).offset_bytes(extent.first_block);
        return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(space) + offset);
    }

    std::uint64_t size_bytes(Extent extent) const noexcept
    {
        return layout(extent).size_bytes(extent);
    }

    /// Both of an extent.
    std::span<std::byte> bytes(Extent extent) noexcept
    {
        const BlockLayout& blocks = layout(extent);
        if (blocks.blocks != Blocks::uniform) {
            return {address(extent), size_bytes(extent)};
        }
        const std::uint64_t block_bytes = blocks.count * blocks.element_bytes;
        const auto space =
            reinterpret_cast<std::uintptr_t>(spaces[static_cast<std::size_t>(extent.space)]);
        return {reinterpret_cast<std::byte*>(space + block_bytes * extent.first_block),
                block_bytes * extent.block_count};
    }
};
static_assert(sizeof(GraphInstance) % alignof(BlockRange) == 0);

/// Of the run's scratch space.
std::uint64_t scratch_bytes_of(const GraphInstance& run);

/// Everything but memory for scratch, and the run's name. Requires: its counters.
void set_up(GraphInstance* run, GraphTemplate& stored, const GraphArguments& arguments);

/// Counts what each node of a new run waits for; what waits for nothing is ready.
void count_dependencies(GraphInstance* run);

/// Begins the next run of an instance whose counters count_dependencies() has set once: each was
/// set again when its node was ready.
inline void arm(GraphInstance* run) noexcept
{
    run->remaining = run->stored->node_count;
    run->ready_head = 0;
    run->ready_tail = run->stored->root_count;
}

/// An instance for one run, armed, without a name and a completion: an idle one of the template, or
/// a new one. Null: the heap is exhausted.
GraphInstance* find_instance(Driver& driver, GraphTemplate& stored,
                             const GraphArguments& arguments);

/// The run of the instance is over: it waits for the next one, or goes.
void leave_instance(Driver& driver, GraphInstance* run);

/// Requires: no run of it goes on.
void destroy_instance(memory::Allocator& allocator, GraphInstance* run);

}  // namespace headway::engine
