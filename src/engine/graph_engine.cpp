// SPDX-License-Identifier: Apache-2.0
#include "engine/graph_engine.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "data/reduce.hpp"
#include "engine/famine.hpp"
#include "engine/graph_cancel.hpp"
#include "engine/graph_steps.hpp"
#include "engine/peer_reading.hpp"
#include "engine/post.hpp"
#include "engine/quick_run.hpp"
#include "engine/siblings.hpp"

namespace headway::engine {

namespace {

bool calls_user(const GraphInstance& run, std::uint32_t index)
{
    return run.reduction.user_op != 0 && run.stored->nodes[index].kind == NodeKind::reduce;
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
    return run->bytes(node.kind == NodeKind::send ? node.source : node.target);
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
        --run->in_flight;
        driver.destroy_op(op);
        return false;
    }
    ++run->reads;
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
            copy_node(driver, run, node);
            break;
        case NodeKind::reduce:
            reduce_node(driver, run, node);
            break;
    }
    complete_node(run, index);
    return true;
}

void finish(Driver& driver, GraphInstance* run)
{
    Op* const completion = run->completion;
    if (!run->is_program) {
        leave_instance(driver, run);
    }
    driver.complete(completion);
}

/// A step that calls a user's function. User code runs only on a thread of its rank that is inside
/// MPI, and inside the first instance too if this is another one, since what it calls goes in
/// there. False: not now, but in a later sweep. Who lies down while another thread is inside the
/// first instance naps, or is woken by who comes there (docs/design/034).
bool run_users_node(Driver& driver, GraphInstance* run, std::uint32_t index)
{
    Siblings* const siblings = driver.rank().instance != 0 ? driver.siblings() : nullptr;
    if (!driver.is_owner() || (siblings != nullptr && !siblings->try_enter_first())) {
        stall(run, &driver.rank().owner_graphs);
        return false;
    }
    (void)start_node(driver, run, index);
    if (siblings != nullptr) {
        siblings->leave_first();
    }
    return true;
}

/// Starts all that is ready. The run may be gone when this returns.
void run_ready(Driver& driver, GraphInstance* run)
{
    if (run->is_stalled) {
        return;
    }
    if (run->is_cancelled) [[unlikely]] {
        go_on_cancelling(driver, run);
        return;
    }
    while (run->ready_head < run->ready_tail) {
        const std::uint32_t index = run->ready()[run->ready_head];
        if (calls_user(*run, index)) [[unlikely]] {
            if (!run_users_node(driver, run, index)) {
                return;
            }
        } else if (!start_node(driver, run, index)) {
            stall(run, &driver.rank().stalled_graphs);
            return;
        }
        ++run->ready_head;
        if (run->error != OpError::none) [[unlikely]] {
            cancel_run(driver, run);
            return;
        }
    }
    if (run->remaining == 0) {
        finish(driver, run);
    }
}

/// Sets a run in the heap going; `completion` completes with it.
Op* launch(Driver& driver, GraphInstance* run, Op* completion)
{
    run->completion = completion;
    driver.mark_open(completion);
    run_ready(driver, run);
    // Steps that ended while they were started have made others ready, and the caller's next look
    // at this rank may be far away: another thread of the rank may sleep for both.
    if (!driver.rank().fired.is_empty()) {
        run_fired_nodes(driver);
    }
    return completion;
}

/// What a run in the heap needs. Without an instance: the heap is exhausted.
struct Equipment {
    GraphInstance* run = nullptr;
    Op* completion = nullptr;
};

Equipment equip(Driver& driver, GraphTemplate& stored, const GraphArguments& arguments)
{
    Op* const completion = driver.create_op(OpKind::graph);
    if (completion == nullptr) {
        return {};
    }
    GraphInstance* const run = find_instance(driver, stored, arguments);
    if (run == nullptr) {
        driver.destroy_op(completion);
    }
    return {run, completion};
}

Op* start_run(Driver& driver, GraphTemplate& stored, Scope& scope, const GraphArguments& arguments,
              bool is_awaited)
{
    const auto [run, completion] = equip(driver, stored, arguments);
    if (run == nullptr) {
        return nullptr;
    }
    run->scope = &scope;
    run->sequence = arguments.sequence ? *arguments.sequence : scope.next_sequence++;
    run->is_awaited = is_awaited;
    return launch(driver, run, completion);
}

}  // namespace

Op* start_graph(Driver& driver, GraphTemplate& stored, Scope& scope,
                const GraphArguments& arguments)
{
    return start_run(driver, stored, scope, arguments, false);
}

GraphInstance* create_program(Driver& driver, GraphTemplate& stored, Scope& scope,
                              const GraphArguments& arguments)
{
    GraphInstance* const run = find_instance(driver, stored, arguments);
    if (run != nullptr) {
        run->scope = &scope;
        run->sequence = arguments.sequence.value_or(0);
        run->is_awaited = false;
        run->is_program = true;
    }
    return run;
}

bool can_start(const GraphInstance& program) noexcept
{
    return !program.is_cancelled;
}

Op* start_program(Driver& driver, GraphInstance* program)
{
    Op* const completion = driver.create_op(OpKind::graph);
    if (completion == nullptr) {
        return nullptr;
    }
    arm(program);
    return launch(driver, program, completion);
}

void destroy_program(Driver& driver, GraphInstance* program)
{
    if (program == nullptr) {
        return;
    }
    program->is_program = false;
    if (!program->is_cancelled) {
        leave_instance(driver, program);
    } else if (program->in_flight == 0) {
        destroy_instance(driver.allocator(), program);
    }
}

StartedGraph run_graph(Driver& driver, GraphTemplate& stored, Scope& scope,
                       const GraphArguments& arguments)
{
    if (!QuickRun::suits(driver, stored, scope, arguments)) {
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
    Equipment found = equip(driver, stored, arguments);
    for (Famine famine; found.run == nullptr; found = equip(driver, stored, arguments)) {
        // Peers have its messages, so it cannot be given up.
        famine.endure(driver.rank().job_rank);
        driver.progress();
        if (quick.go(driver)) {
            return {.is_over = true};
        }
    }
    quick.move_to(found.run);
    return {.completion = launch(driver, found.run, found.completion)};
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
        GraphInstance* const next = stalled->next;
        stalled->is_stalled = false;
        run_ready(driver, stalled);
        stalled = next;
    }
}

/// An op of the run is over, and is freed.
void end_op(Driver& driver, GraphInstance* run, Op* op)
{
    const std::uint32_t node = op->node;
    const OpError error = op->error;
    const bool is_dropped = op->is_cancelled;
    driver.destroy_op(op);
    --run->in_flight;
    if (run->reads != 0 && reads_peer(run->stored->nodes[node].kind)) [[unlikely]] {
        --run->reads;
    }
    if (run->is_cancelled) [[unlikely]] {
        run->holding -= is_dropped ? 0 : 1;
    } else if (error != OpError::none) [[unlikely]] {
        run->error = error;
        cancel_run(driver, run);
        return;
    } else {
        complete_node(run, node);
    }
    run_ready(driver, run);
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
        end_op(driver, run, op);
        link = next;
    }
    return nodes;
}

}  // namespace headway::engine
