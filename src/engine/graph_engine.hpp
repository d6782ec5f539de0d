// SPDX-License-Identifier: Apache-2.0
//
// Executes graphs. A template is a graph laid down in the node heap, built once for a communicator
// and kept; an instance is one run of it: counters, ready queue, buffers. A completed message
// fires its node at once, on whatever executor saw it, through the rank's list of fired nodes: a
// trampoline, so nothing recurses however long the chain is.
//
// An instance serves run after run: its counters are back at their beginning when a run ends. A
// program has one of its own; of those of other runs a template keeps some for the next ones.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "data/element.hpp"
#include "engine/driver.hpp"
#include "engine/graph.hpp"
#include "engine/scope.hpp"

namespace headway::engine {

struct GraphInstance;

/// A graph as plain data in the node heap. Read-only after store_graph(), but for `idle`.
struct GraphTemplate {
    std::uint32_t node_count = 0;
    std::uint32_t edge_count = 0;
    std::uint32_t block_count = 1;
    std::uint32_t scratch_blocks = 0;
    Blocks blocks = Blocks::uniform;
    GraphMeeting meeting;
    GraphNode* nodes = nullptr;
    std::uint32_t* first_successor = nullptr;  ///< node_count + 1 places in `successors`
    std::uint32_t* successors = nullptr;
    std::uint32_t* dependencies = nullptr;  ///< edges into each node
    std::uint32_t root_count = 0;           ///< nodes without any
    /// Of a receive, the reduction that follows it alone and may be done as its bytes come, since
    /// nobody else reads them (engine/combination); of other nodes node_count.
    std::uint32_t* combined_with = nullptr;
    /// Peers whose spaces the rank reads, and which of them each node names; null: none.
    std::uint32_t peer_count = 0;
    std::uint32_t* peer_numbers = nullptr;
    bool publishes = false;  ///< peers read the rank's own spaces

    // The rank's executor's: instances that wait for their next run, and the bytes they keep.
    GraphInstance* idle = nullptr;
    std::uint64_t idle_bytes = 0;
};

/// What a reduce node computes.
struct Reduction {
    data::ReduceOperator op = data::ReduceOperator::sum;
    data::ElementKind kind = data::ElementKind::none;
    /// Non-zero: a user-defined operation, meaningful to the rank's own process.
    std::uint64_t user_op = 0;
};

/// The caller's part of a run. Both buffers stay the caller's; they must live until completion.
struct GraphArguments {
    const void* send = nullptr;
    void* receive = nullptr;
    std::uint64_t count = 0;  ///< elements of a block (uniform) or of the vector (split)
    std::uint64_t element_bytes = 1;
    Reduction reduction = {};
    /// Tables of the spaces, by Space, whose blocks have places and sizes of their own; empty: as
    /// the graph says. Copied. Those of scratch follow each other without gaps from 0 on.
    std::span<const BlockRange> listed[3] = {};
    /// Number that names the messages of the run; none: the scope's next. Runs of one graph that
    /// follow each other on all members may share a number: their messages keep their order.
    std::optional<std::uint32_t> sequence = std::nullopt;
};

/// Lays a graph down in the rank's part of the heap. Null: the heap is exhausted.
GraphTemplate* store_graph(memory::Allocator& allocator, const Graph& graph);
/// Requires: no run of it goes on, and no program is left. Null is allowed.
void destroy_template(memory::Allocator& allocator, GraphTemplate* stored);

/// Starts one run on the scope of the driver's rank: the next collective there, in the order in
/// which all members call, unless the arguments number it. Returns the op that completes with it,
/// or null: the heap is exhausted, and nothing was started. The template must outlive the run.
Op* start_graph(Driver& driver, GraphTemplate& stored, Scope& scope,
                const GraphArguments& arguments);

/// A program: a graph with its arguments, to be started again and again. It keeps its instance from
/// one run to the next, so that a start takes nothing from the heap but an op. `arguments` are
/// copied, and number its runs. Null: the heap is exhausted. Template and scope must outlive it.
GraphInstance* create_program(Driver& driver, GraphTemplate& stored, Scope& scope,
                              const GraphArguments& arguments);
/// Whether it can be started: a run that failed was its last one.
bool can_start(const GraphInstance& program) noexcept;
/// Starts a run, whose messages follow those of the run before. The op that completes with it, or
/// null: the heap is exhausted, and nothing was started. Requires: the op of the run before is
/// complete, and can_start().
Op* start_program(Driver& driver, GraphInstance* program);
/// Requires: the op of its last run is complete. Null is allowed.
void destroy_program(Driver& driver, GraphInstance* program);

/// How a run began. Neither an op nor over: the heap is exhausted, and nothing was started.
struct StartedGraph {
    Op* completion = nullptr;
    bool is_over = false;  ///< it has ended without an error, and there is no op
};

/// As start_graph(), for a caller who waits for the run: one of short messages is gone through
/// without an instance in the heap as long as messages are there, or come, when they are wanted.
StartedGraph run_graph(Driver& driver, GraphTemplate& stored, Scope& scope,
                       const GraphArguments& arguments);

/// inout = in (op) inout on `count` elements; false: a user-defined operation cannot run. Requires,
/// for a user-defined one, a thread of the rank that is inside MPI.
bool run_reduction(Driver& driver, const Reduction& reduction, const void* in, void* inout,
                   std::uint64_t count);

/// Takes the driver's rank's fired nodes and starts what became ready; the number of nodes.
int run_fired_nodes(Driver& driver);

}  // namespace headway::engine
