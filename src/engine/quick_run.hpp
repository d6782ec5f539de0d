// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "engine/driver.hpp"
#include "engine/graph_steps.hpp"
#include "engine/post.hpp"
#include "platform/cpu.hpp"

namespace headway::engine {

/// A run on its caller's stack.
class QuickRun {
  public:
    /// Whether such a run may do: short messages, nothing that can fail or has to be written down.
    static bool suits(Driver& driver, const GraphTemplate& stored, const Scope& scope,
                      const GraphArguments& arguments)
    {
        const std::uint64_t block_bytes = arguments.count * arguments.element_bytes;
        const std::uint32_t blocks = stored.blocks == Blocks::split ? 1 : stored.block_count;
        return stored.node_count <= nodes_max && stored.peer_count == 0 && !stored.publishes &&
               driver.tracer() == nullptr && arguments.reduction.user_op == 0 &&
               arguments.listed[0].empty() && arguments.listed[1].empty() &&
               arguments.listed[2].empty() &&
               block_bytes * blocks <= driver.node().whole_bytes_max &&
               !leaves_for_reading(driver, stored, scope, arguments);
    }

    QuickRun(Driver& driver, GraphTemplate& stored, const GraphArguments& arguments)
        : allocator_(driver.allocator())
    {
        run_.counters = counters_;
        set_up(&run_, stored, arguments);
        std::byte* scratch = scratch_;
        if (const std::uint64_t bytes = scratch_bytes_of(run_); bytes > sizeof scratch_) {
            scratch_in_heap_ = allocator_.allocate(bytes);
            scratch = static_cast<std::byte*>(scratch_in_heap_);
        }
        run_.spaces[static_cast<std::size_t>(Space::scratch)] = scratch;
        count_dependencies(&run_);
    }
    ~QuickRun()
    {
        if (scratch_in_heap_ != nullptr) [[unlikely]] {
            allocator_.free(scratch_in_heap_);
        }
    }
    QuickRun(const QuickRun&) = delete;
    QuickRun& operator=(const QuickRun&) = delete;

    /// False: the heap is exhausted, and nothing happened.
    bool can_begin() const noexcept
    {
        return run_.spaces[static_cast<std::size_t>(Space::scratch)] != nullptr;
    }

    /// Takes its place among the collectives of the scope.
    void begin(Scope& scope, const GraphArguments& arguments)
    {
        run_.scope = &scope;
        run_.sequence = arguments.sequence ? *arguments.sequence : scope.next_sequence++;
    }

    /// True: the run is over. False: it takes longer, or a message does not leave at once.
    bool go(Driver& driver)
    {
        while (run_.remaining != 0) {
            if (!start_all(driver) || !receive_first(driver)) {
                return false;
            }
        }
        return true;
    }

    /// Goes on in an instance in the heap.
    void move_to(GraphInstance* run)
    {
        const GraphTemplate& stored = *run_.stored;
        run->scope = run_.scope;
        run->sequence = run_.sequence;
        run->remaining = run_.remaining;
        run->is_moved = true;
        std::copy_n(run_.waiting(), stored.node_count, run->waiting());
        // What is over stands first. The receives that were left are in turn among it.
        std::uint32_t* const ready = run->ready();
        std::uint32_t* end = ready;
        std::uint32_t left = 0;
        for (std::uint32_t i = 0; i < run_.ready_head; ++i) {
            const std::uint32_t index = run_.ready()[i];
            if (left < receive_count_ && receives_[left] == index) {
                ++left;
            } else {
                *end++ = index;
            }
        }
        run->ready_head = static_cast<std::uint32_t>(end - ready);
        end = std::copy_n(receives_, receive_count_, end);
        end = std::copy(run_.ready() + run_.ready_head, run_.ready() + run_.ready_tail, end);
        run->ready_tail = static_cast<std::uint32_t>(end - ready);
        if (const std::uint64_t bytes = scratch_bytes_of(*run); bytes != 0) {
            std::memcpy(run->spaces[static_cast<std::size_t>(Space::scratch)],
                        run_.spaces[static_cast<std::size_t>(Space::scratch)], bytes);
        }
    }

  private:
    static constexpr std::uint32_t nodes_max = 32;
    static constexpr std::size_t stack_scratch_bytes = 4 * 1024;

    /// Whether a message of it had better be read by its receiver: it needs an op then.
    static bool leaves_for_reading(Driver& driver, const GraphTemplate& stored, const Scope& scope,
                                   const GraphArguments& arguments)
    {
        const std::uint64_t block_bytes = arguments.count * arguments.element_bytes;
        if (block_bytes < transport::shm::ReadingChoice::bytes_min ||
            arguments.reduction.kind != data::ElementKind::none) [[likely]] {
            return false;
        }
        const std::span<const GraphNode> nodes(stored.nodes, stored.node_count);
        const bool receives = std::ranges::any_of(
            nodes, [](const GraphNode& node) { return node.kind == NodeKind::receive; });
        const Sender sender = receives ? Sender::exchanges : Sender::is_kept;
        return std::ranges::any_of(nodes, [&](const GraphNode& node) {
            return node.kind == NodeKind::send &&
                   driver.leaves_for_reading(scope.peer(node.peer),
                                             block_bytes * node.source.block_count, sender);
        });
    }

    /// The call blocks, so its receiver is in the same call, awake or parked, or has not come yet
    /// and receives nothing before: nobody need work for it.
    bool send_at_once(Driver& driver, const GraphNode& node)
    {
        const std::uint64_t bytes = run_.size_bytes(node.source);
        return bytes <= driver.node().whole_bytes_max &&
               driver.try_post_whole(run_.scope->peer(node.peer), message_name(run_, node),
                                     run_.address(node.source), bytes, Urgency::at_its_call);
    }

    /// Does what is ready and needs nobody; the receives among it are left for later.
    bool start_all(Driver& driver)
    {
        while (run_.ready_head < run_.ready_tail) {
            const std::uint32_t index = run_.ready()[run_.ready_head];
            const GraphNode& node = run_.stored->nodes[index];
            if (node.kind == NodeKind::receive) {
                receives_[receive_count_++] = index;
            } else if (node.kind == NodeKind::send && !send_at_once(driver, node)) {
                return false;
            } else {
                if (node.kind == NodeKind::copy) {
                    copy_node(driver, &run_, node);
                } else if (node.kind == NodeKind::reduce) {
                    reduce_node(driver, &run_, node);
                }
                complete_node(&run_, index);
            }
            ++run_.ready_head;
        }
        return true;
    }

    /// The oldest receive that is ready. False: its message is long in coming.
    bool receive_first(Driver& driver)
    {
        if (receive_count_ == 0) {
            return true;
        }
        const std::uint32_t index = receives_[0];
        const GraphNode& node = run_.stored->nodes[index];
        QuickReceive receive{.wanted = message_name(run_, node),
                             .address = run_.address(node.target),
                             .size_bytes = run_.size_bytes(node.target)};
        const std::uint32_t sender = run_.scope->peer(node.peer);
        if (!driver.node().messages.receive_at_once(driver, receive, sender)) {
            return false;
        }
        std::copy(receives_ + 1, receives_ + receive_count_, receives_);
        --receive_count_;
        complete_node(&run_, index);
        return true;
    }

    memory::Allocator& allocator_;
    void* scratch_in_heap_ = nullptr;
    GraphInstance run_;
    std::uint32_t counters_[std::size_t{2} * nodes_max];
    std::uint32_t receives_[nodes_max];
    std::uint32_t receive_count_ = 0;
    alignas(platform::cache_line_bytes) std::byte scratch_[stack_scratch_bytes];
};

}  // namespace headway::engine
