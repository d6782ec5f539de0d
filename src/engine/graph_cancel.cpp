// SPDX-License-Identifier: Apache-2.0
#include "engine/graph_cancel.hpp"

#include <utility>

#include "engine/driver.hpp"
#include "engine/graph_steps.hpp"

namespace headway::engine {

namespace {

/// What GraphInstance::waiting() says of nodes that had started when their run was cancelled.
constexpr std::uint32_t started = UINT32_MAX - 1;

/// Takes in what a peer sends, and drops it. False: the heap is exhausted.
bool drop_message(Driver& driver, GraphInstance* run, std::uint32_t index)
{
    Op* const op = node_op(driver, run, index, OpKind::receive, {});
    if (op == nullptr) {
        return false;
    }
    op->is_cancelled = true;
    driver.node().messages.start_receive(driver, op);
    return true;
}

/// Tells the peer that nothing comes. False: the heap is exhausted.
bool give_up_message(Driver& driver, const GraphInstance& run, const GraphNode& node)
{
    const transport::FrameHeader name = message_name(run, node);
    const std::uint32_t peer = run.scope->peer(node.peer);
    if (driver.try_post(peer, transport::FrameKind::given_up, name, nullptr, 0) ==
        base::Status::done) {
        return true;
    }
    Op* const op = driver.create_op(OpKind::control);
    if (op == nullptr) {
        return false;
    }
    op->header = name;
    op->peer = peer;
    op->frame_kind = transport::FrameKind::given_up;
    driver.post(op);
    return true;
}

/// A node that had not started, of the pass that it belongs to. False: the heap is exhausted.
bool give_up_node(Driver& driver, GraphInstance* run, std::uint32_t index, bool is_second_pass)
{
    const GraphNode& node = run->stored->nodes[index];
    if (run->waiting()[index] == started || !is_message(node.kind) ||
        leaves(node.kind) != is_second_pass) {
        return true;
    }
    return is_second_pass ? give_up_message(driver, *run, node) : drop_message(driver, run, index);
}

/// Whether the caller may have his buffers back.
bool is_done_with_buffers(const GraphInstance& run)
{
    return run.looks_left == 0 && run.holding == 0 &&
           (!run.stored->publishes || run.in_flight == 0);
}

/// No message of the run is under way any more.
void end_run(Driver& driver, GraphInstance* run)
{
    if (!run->is_program) {
        destroy_instance(driver.allocator(), run);
    }
}

/// The caller hears of the error; what is left of the run needs nobody but the rank's executor.
void let_caller_go(Driver& driver, GraphInstance* run)
{
    Op* const completion = std::exchange(run->completion, nullptr);
    completion->error = run->error;
    if (run->in_flight != 0) {
        // Senders may need this rank's CPU for what is dropped.
        driver.rank().open_ops.add();
    } else {
        end_run(driver, run);
    }
    driver.complete(completion);
}

}  // namespace

void cancel_run(Driver& driver, GraphInstance* run)
{
    run->is_cancelled = true;
    for (std::uint32_t i = 0; i < run->ready_head; ++i) {
        run->waiting()[run->ready()[i]] = started;
    }
    run->holding = run->in_flight - driver.node().messages.withdraw_receives(
                                        driver, run->scope->collective_context(), run);
    run->looks_left = 2 * run->stored->node_count;
    if (!run->is_stalled) {
        go_on_cancelling(driver, run);
    }
}

void go_on_cancelling(Driver& driver, GraphInstance* run)
{
    while (run->looks_left != 0) {
        const std::uint32_t nodes = run->stored->node_count;
        const bool is_second_pass = run->looks_left <= nodes;
        // A peer may take a message for a sign that its memory is not read any more.
        if (is_second_pass && run->reads != 0) {
            return;
        }
        const std::uint32_t index = (2 * nodes - run->looks_left) % nodes;
        if (!give_up_node(driver, run, index, is_second_pass)) {
            stall(run, &driver.rank().stalled_graphs);
            return;
        }
        --run->looks_left;
    }
    if (run->completion != nullptr) {
        if (is_done_with_buffers(*run)) {
            let_caller_go(driver, run);
        }
    } else if (run->in_flight == 0) {
        driver.rank().open_ops.remove();
        end_run(driver, run);
    }
}

}  // namespace headway::engine
