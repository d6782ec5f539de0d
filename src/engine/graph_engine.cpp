// SPDX-License-Identifier: Apache-2.0
#include "engine/graph_engine.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

#include "data/reduce.hpp"
#include "engine/famine.hpp"
#include "engine/graph_instance.hpp"
#include "engine/peer_reading.hpp"
#include "engine/post.hpp"
#include "platform/cpu.hpp"

namespace headway::engine {

namespace {

transport::FrameHeader message_name(const GraphInstance& run, const GraphNode& node)
{
    const Scope& scope = *run.scope;
    return {.context = scope.collective_context(),
            .source = static_cast<std::int32_t>(leaves(node.kind) ? scope.rank : node.peer),
            .tag = node.slot,
            .sequence = run.sequence};
}

/// The node is over, and what waited for it alone is ready. Returns the reduction that was done
/// with it and so is over, too, or the graph's node count.
std::uint32_t complete_one(GraphInstance* run, std::uint32_t index)
{
    const GraphTemplate& stored = *run->stored;
    std::uint32_t combined = stored.node_count;
    for (std::uint32_t i = stored.first_successor[index]; i < stored.first_successor[index + 1];
         ++i) {
        const std::uint32_t successor = stored.successors[i];
        const std::uint32_t waiting = run->waiting()[successor]--;
        if (waiting == 1) {
            run->ready()[run->ready_tail++] = successor;
        } else if (waiting == GraphInstance::combined_on_arrival) {
            combined = successor;
        }
    }
    --run->remaining;
    return combined;
}

void complete_node(GraphInstance* run, std::uint32_t index)
{
    while (index != run->stored->node_count) {
        index = complete_one(run, index);
    }
}

/// Where both sides list their blocks, a rank may tell itself two lengths for one block.
void copy(Driver& driver, GraphInstance* run, const GraphNode& node)
{
    const std::uint64_t room = run->size_bytes(node.target);
    std::uint64_t bytes = run->size_bytes(node.source);
    if (bytes > room) {
        bytes = room;
        run->error = OpError::truncated;
    }
    if (bytes == 0) {
        return;
    }
    if (driver.is_local()) [[likely]] {
        std::memmove(run->address(node.target), run->address(node.source), bytes);
        return;
    }
    const auto outcome =
        driver.node().peer_memory.copy(driver.place_of(run->address(node.target)),
                                       driver.place_of(run->address(node.source)), bytes);
    if (outcome != transport::CopyOutcome::done) {
        run->error = OpError::bad_address;
    }
}

/// For a rank of another process: operands come here and the result goes back, a part at a time.
/// The same kernel on the same elements, so the result is the same to the bit.
void reduce_far(Driver& driver, GraphInstance* run, const GraphNode& node)
{
    constexpr std::uint64_t part_bytes = 8 * 1024;
    alignas(platform::cache_line_bytes) std::byte in[part_bytes];
    alignas(platform::cache_line_bytes) std::byte inout[part_bytes];
    const BlockLayout& layout = run->layout(node.target);
    const std::uint64_t elements = layout.elements(node.target);
    const std::uint64_t part = part_bytes / layout.element_bytes;
    for (std::uint64_t first = 0; first < elements; first += part) {
        const std::uint64_t count = std::min(part, elements - first);
        const std::uint64_t bytes = count * layout.element_bytes;
        std::byte* const target = run->address(node.target) + first * layout.element_bytes;
        const std::byte* source = run->address(node.source) + first * layout.element_bytes;
        if (!driver.read_memory(in, source, bytes) || !driver.read_memory(inout, target, bytes)) {
            run->error = OpError::bad_address;
            return;
        }
        (void)run_reduction(driver, run->reduction, in, inout, count);
        if (!driver.write_memory(target, inout, bytes)) {
            run->error = OpError::bad_address;
            return;
        }
    }
}

void reduce(Driver& driver, GraphInstance* run, const GraphNode& node)
{
    if (!driver.is_local()) [[unlikely]] {
        reduce_far(driver, run, node);
        return;
    }
    const std::uint64_t elements = run->layout(node.target).elements(node.target);
    if (!run_reduction(driver, run->reduction, run->address(node.source), run->address(node.target),
                       elements)) {
        run->error = OpError::user_function;
    }
}

/// User code runs only on a thread of its rank that is inside MPI: such a node waits for it.
bool is_for_owner(const Driver& driver, const GraphInstance& run, std::uint32_t index)
{
    return run.reduction.user_op != 0 && !driver.is_owner() &&
           run.stored->nodes[index].kind == NodeKind::reduce;
}

/// Out of the run's own hands until the list's turn comes.
void stall(GraphInstance* run, GraphInstance** list)
{
    run->is_stalled = true;
    run->next_stalled = *list;
    *list = run;
}

/// What a message of the run carries, or brings.
std::span<std::byte> bytes_of_message(GraphInstance* run, std::uint32_t index)
{
    const GraphNode& node = run->stored->nodes[index];
    if (node.kind == NodeKind::publish || node.kind == NodeKind::wait) {
        const std::uint32_t whose = node.kind == NodeKind::publish
                                        ? run->stored->peer_count
                                        : run->stored->peer_numbers[index];
        return {reinterpret_cast<std::byte*>(run->peer_spaces + whose), sizeof(PublishedSpaces)};
    }
    const Extent extent = node.kind == NodeKind::send ? node.source : node.target;
    return {run->address(extent), run->size_bytes(extent)};
}

/// An op whose completion fires the node. Null: the heap is exhausted.
Op* node_op(Driver& driver, GraphInstance* run, std::uint32_t index, OpKind kind,
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
    // A new op is pending, so its own waiter is always attached.
    (void)op->hang_trigger();
    return op;
}

/// False: the heap is exhausted, try again later.
bool start_message(Driver& driver, GraphInstance* run, std::uint32_t index)
{
    const GraphNode& node = run->stored->nodes[index];
    const std::span<std::byte> bytes = bytes_of_message(run, index);
    const bool is_send = leaves(node.kind);
    // Short messages leave without an op.
    if (is_send && driver.try_post_eager(run->scope->peer(node.peer), message_name(*run, node),
                                         bytes.data(), bytes.size())) {
        complete_node(run, index);
        return true;
    }
    Op* op = node_op(driver, run, index, is_send ? OpKind::send : OpKind::receive, bytes);
    if (op == nullptr) {
        return false;
    }
    if (is_send) {
        driver.node().messages.start_send(driver, op);
    } else {
        driver.node().messages.start_receive(driver, op);
    }
    return true;
}

/// A copy out of a peer's memory is a job like that of a message whose receive has matched, so all
/// who help with those help here. False: the heap is exhausted, try again later.
bool start_reading(Driver& driver, GraphInstance* run, std::uint32_t index)
{
    const GraphNode& node = run->stored->nodes[index];
    if (!run->is_of_equal_length(index)) {
        // The peer's blocks lie elsewhere than here, and may end before these.
        run->error = OpError::truncated;
        complete_node(run, index);
        return true;
    }
    const std::span<std::byte> bytes(run->address(node.target), run->size_bytes(node.target));
    const transport::Place source = run->peer_place(index, *driver.node().heap);
    if (bytes.empty() || read_at_once(driver, *run, node, bytes, source)) {
        complete_node(run, index);
        return true;
    }
    Op* const op = node_op(driver, run, index, OpKind::receive, bytes);
    if (op == nullptr) {
        return false;
    }
    if (!start_peer_copy(driver, op, driver.node().rank_state(op->peer), source,
                         combination_of(*run, node))) {
        driver.destroy_op(op);
        return false;
    }
    return true;
}

bool start_node(Driver& driver, GraphInstance* run, std::uint32_t index)
{
    const GraphNode& node = run->stored->nodes[index];
    switch (node.kind) {
        case NodeKind::send:
        case NodeKind::receive:
        case NodeKind::publish:
        case NodeKind::wait:
            return start_message(driver, run, index);
        case NodeKind::peer_copy:
        case NodeKind::peer_reduce:
            return start_reading(driver, run, index);
        case NodeKind::copy:
            copy(driver, run, node);
            break;
        case NodeKind::reduce:
            reduce(driver, run, node);
            break;
    }
    complete_node(run, index);
    return true;
}

void finish(Driver& driver, GraphInstance* run)
{
    Op* completion = run->completion;
    completion->error = run->error;
    driver.allocator().free(run->spaces[static_cast<std::size_t>(Space::scratch)]);
    driver.allocator().free(run);
    driver.complete(completion);
}

/// Starts all that is ready. The run may be gone when this returns.
void run_ready(Driver& driver, GraphInstance* run)
{
    if (run->is_stalled) {
        return;
    }
    while (run->ready_head < run->ready_tail) {
        const std::uint32_t index = run->ready()[run->ready_head];
        if (is_for_owner(driver, *run, index)) [[unlikely]] {
            stall(run, &driver.rank().owner_graphs);
            return;
        }
        if (!start_node(driver, run, index)) {
            stall(run, &driver.rank().stalled_graphs);
            return;
        }
        ++run->ready_head;
    }
    if (run->remaining == 0) {
        finish(driver, run);
    }
}

/// Sets a run in the heap going; the op that completes with it.
Op* launch(Driver& driver, GraphInstance* run)
{
    Op* completion = run->completion;
    driver.mark_open(completion);
    run_ready(driver, run);
    // Steps that ended while they were started have made others ready, and the caller's next look
    // at this rank may be far away: another thread of the rank may sleep for both.
    if (!driver.rank().fired.is_empty()) {
        run_fired_nodes(driver);
    }
    return completion;
}

/// A run on its caller's stack.
class QuickRun {
  public:
    /// Whether such a run may do: short messages, nothing that can fail or has to be written down.
    static bool suits(Driver& driver, const GraphTemplate& stored, const GraphArguments& arguments)
    {
        const std::uint64_t block_bytes = arguments.count * arguments.element_bytes;
        const std::uint32_t blocks = stored.blocks == Blocks::split ? 1 : stored.block_count;
        return stored.node_count <= nodes_max && stored.peer_count == 0 && !stored.publishes &&
               driver.tracer() == nullptr && arguments.reduction.user_op == 0 &&
               arguments.listed[0].empty() && arguments.listed[1].empty() &&
               arguments.listed[2].empty() && block_bytes * blocks <= message_bytes_max(driver);
    }

    QuickRun(Driver& driver, const GraphTemplate& stored, const GraphArguments& arguments)
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
        std::copy_n(run_.waiting(), stored.node_count, run->waiting());
        std::uint32_t* const ready = run->ready();
        std::uint32_t* end = std::copy_n(receives_, receive_count_, ready);
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

    /// Where both ranks of a message are in the same call, with a core each, it is cheaper not to
    /// offer it first, up to the size from which on staged pieces catch up.
    static std::uint64_t message_bytes_max(Driver& driver)
    {
        constexpr std::uint64_t eager_in_calls = 64 * 1024;
        const Node& node = driver.node();
        return node.is_plain && !node.is_oversubscribed && node.knobs.eager_limit != 0
                   ? std::max(node.knobs.eager_limit, eager_in_calls)
                   : node.knobs.eager_limit;
    }

    /// The call blocks, so its receiver is in the same call, awake or parked, or has not come yet
    /// and receives nothing before: nobody need work for it.
    bool send_at_once(Driver& driver, const GraphNode& node)
    {
        const std::uint64_t bytes = run_.size_bytes(node.source);
        return bytes <= message_bytes_max(driver) &&
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
                    copy(driver, &run_, node);
                } else if (node.kind == NodeKind::reduce) {
                    reduce(driver, &run_, node);
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

}  // namespace

namespace {

Op* start_run(Driver& driver, const GraphTemplate& stored, Scope& scope,
              const GraphArguments& arguments, bool is_awaited)
{
    GraphInstance* run = create_run(driver, stored, arguments);
    if (run == nullptr) {
        return nullptr;
    }
    run->scope = &scope;
    run->sequence = arguments.sequence ? *arguments.sequence : scope.next_sequence++;
    run->is_awaited = is_awaited;
    count_dependencies(run);
    return launch(driver, run);
}

}  // namespace

Op* start_graph(Driver& driver, const GraphTemplate& stored, Scope& scope,
                const GraphArguments& arguments)
{
    return start_run(driver, stored, scope, arguments, false);
}

StartedGraph run_graph(Driver& driver, const GraphTemplate& stored, Scope& scope,
                       const GraphArguments& arguments)
{
    if (!QuickRun::suits(driver, stored, arguments)) {
        return {.completion = start_run(driver, stored, scope, arguments, true)};
    }
    QuickRun quick(driver, stored, arguments);
    if (!quick.can_begin()) {
        return {};
    }
    quick.begin(scope, arguments);
    if (quick.go(driver)) {
        return {.is_over = true};
    }
    GraphInstance* run = create_run(driver, stored, arguments);
    for (Famine famine; run == nullptr; run = create_run(driver, stored, arguments)) {
        // Peers have its messages, so it cannot be given up.
        famine.endure(driver.rank().job_rank);
        driver.progress();
        if (quick.go(driver)) {
            return {.is_over = true};
        }
    }
    quick.move_to(run);
    return {.completion = launch(driver, run)};
}

bool run_reduction(Driver& driver, const Reduction& reduction, const void* in, void* inout,
                   std::uint64_t count)
{
    if (reduction.user_op != 0) {
        return driver.node().user_reduction(driver, reduction.user_op, in, inout, count);
    }
    data::reduce_kernel(reduction.op, reduction.kind)(in, inout, inout, count);
    return true;
}

namespace {

void resume(Driver& driver, GraphInstance** list)
{
    GraphInstance* stalled = std::exchange(*list, nullptr);
    while (stalled != nullptr) {
        GraphInstance* const next = stalled->next_stalled;
        stalled->is_stalled = false;
        run_ready(driver, stalled);
        stalled = next;
    }
}

}  // namespace

int run_fired_nodes(Driver& driver)
{
    int nodes = 0;
    resume(driver, &driver.rank().stalled_graphs);
    if (driver.is_owner()) {
        resume(driver, &driver.rank().owner_graphs);
    }
    sync::ListLink* link = driver.rank().fired.take_all();
    while (link != nullptr) {
        sync::ListLink* const next = link->next;
        auto* op = reinterpret_cast<Op*>(reinterpret_cast<std::byte*>(link) - offsetof(Op, fired));
        GraphInstance* run = op->graph;
        ++nodes;
        if (op->kind == OpKind::control) [[unlikely]] {
            driver.node().messages.post_answer(driver, op);
            link = next;
            continue;
        }
        if (op->error != OpError::none && run->error == OpError::none) {
            run->error = op->error;
        }
        const std::uint32_t node = op->node;
        driver.destroy_op(op);
        complete_node(run, node);
        run_ready(driver, run);
        link = next;
    }
    return nodes;
}

}  // namespace headway::engine
