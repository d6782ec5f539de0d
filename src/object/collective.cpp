// SPDX-License-Identifier: Apache-2.0
#include "object/collective.hpp"

#include <optional>
#include <utility>

#include "engine/meeting.hpp"
#include "engine/shelf.hpp"
#include "engine/wait.hpp"
#include "object/persistent.hpp"
#include "object/process.hpp"

namespace headway::object {

namespace {

using protocol::coll::Algorithm;
using protocol::coll::Collective;

/// What a graph is made by, besides its rank and root.
struct Chosen {
    Algorithm algorithm = Algorithm::barrier_dissemination;
    protocol::coll::Tuning tuning;
    std::uint32_t number = 0;  ///< of both
    /// Ranks may do the same by meeting: nobody asked for this algorithm.
    bool may_meet = false;
};

/// Those that no table chooses are numbered behind the lines of the table.
Chosen without_choice(Algorithm algorithm)
{
    return {.algorithm = algorithm,
            .tuning = {},
            .number = static_cast<std::uint32_t>(protocol::coll::Choices::lines_max) +
                      static_cast<std::uint32_t>(algorithm)};
}

/// A graph depends on these; everything else is patched in when it starts.
std::uint64_t graph_key(const Chosen& chosen, std::uint32_t root, bool in_place)
{
    return std::uint64_t{root} << 16 | std::uint64_t{chosen.number} << 1 | (in_place ? 1U : 0U);
}

engine::Graph build_graph(Communicator& communicator, const Chosen& chosen,
                          const CollectiveCall& call)
{
    if (is_of_neighbors(call.collective)) {
        const Neighborhood& neighborhood = communicator.neighborhood();
        const bool is_grid = kind_of(*communicator.topology()) == MPI_CART;
        return protocol::coll::neighbor_exchange(
            {neighborhood.sources, neighborhood.destinations, is_grid},
            call.collective == Collective::neighbor_allgather);
    }
    const engine::Scope& scope = communicator.joint_scope();
    if (call.is_between_groups) {
        const std::uint32_t first_size = communicator.is_first_group()
                                             ? static_cast<std::uint32_t>(communicator.size())
                                             : communicator.scope().size;
        const protocol::coll::TwoSides sides{scope.rank, scope.size, first_size};
        return protocol::coll::build_between_groups(chosen.algorithm, sides, call.root);
    }
    return protocol::coll::build(chosen.algorithm, chosen.tuning,
                                 {scope.rank, scope.size, call.in_place}, call.root,
                                 communicator.nodes());
}

/// What the library tells by a collective of its own goes by the first instance, where it need not
/// be the communicator's. Such a call meets nobody but in messages.
bool is_guest(const Instance& at, const Communicator& communicator)
{
    return &at != &communicator.instance();
}

engine::GraphTemplate* find_or_build(Instance& at, Communicator& communicator, const Chosen& chosen,
                                     const CollectiveCall& call)
{
    // Runs of a graph share what it keeps between them, so it belongs to one instance.
    constexpr std::uint64_t guest_key = std::uint64_t{1} << 63U;
    const std::uint64_t key =
        graph_key(chosen, call.root, call.in_place) | (is_guest(at, communicator) ? guest_key : 0);
    if (engine::GraphTemplate* known = communicator.find_graph(key); known != nullptr) {
        return known;
    }
    const engine::Graph graph = build_graph(communicator, chosen, call);
    engine::GraphTemplate* stored = engine::store_graph(at.driver->allocator(), graph);
    if (stored != nullptr) {
        communicator.remember_graph(key, stored);
    }
    return stored;
}

std::uint64_t mean_elements(const std::vector<engine::BlockRange>& blocks)
{
    std::uint64_t total = 0;
    for (const engine::BlockRange& block : blocks) {
        total += block.count;
    }
    return total / blocks.size();
}

/// What the choice of an algorithm knows of the size; equal on all ranks.
std::uint64_t shape_bytes(const CollectiveCall& call)
{
    if (call.collective == Collective::alltoallv || call.is_listed) {
        return 0;
    }
    if (call.collective == Collective::allgatherv) {
        return mean_elements(call.receive_blocks) * call.element_bytes;
    }
    const bool lists_result =
        call.collective == Collective::reduce_scatter && !call.send_blocks.empty();
    return (lists_result ? mean_elements(call.send_blocks) : call.count) * call.element_bytes;
}

bool lists_blocks(const CollectiveCall& call)
{
    return call.is_listed || call.collective == Collective::allgatherv ||
           call.collective == Collective::alltoallv ||
           (call.collective == Collective::reduce_scatter && !call.send_blocks.empty());
}

/// Whether what it combines, if it does, may be combined a piece at a time and by anybody.
bool combines_pieces(const CollectiveCall& call)
{
    const bool has_user_op = call.keep != nullptr && call.keep->user != nullptr;
    return !has_user_op && (call.reduction.kind == data::ElementKind::none ||
                            object::combines_pieces(call.element_bytes));
}

Chosen choose(Rank& rank, Communicator& communicator, const CollectiveCall& call)
{
    if (call.is_between_groups) {
        return without_choice(protocol::coll::choose_between_groups(call.collective));
    }
    if (is_of_neighbors(call.collective)) {
        return without_choice(call.collective == Collective::neighbor_allgather
                                  ? Algorithm::neighbor_allgather
                                  : Algorithm::neighbor_alltoall);
    }
    const engine::Node& node = rank.process().node();
    const protocol::coll::Topology* const nodes = communicator.nodes();
    const protocol::coll::Choice& choice = rank.process().choices().find(
        call.collective,
        {.size = communicator.joint_scope().size,
         .bytes = shape_bytes(call),
         .is_commutative = call.is_commutative,
         .is_listed = lists_blocks(call),
         .shares_cores = node.is_oversubscribed && node.rank_count == node.job_rank_count,
         .spans_nodes = nodes != nullptr,
         .has_levels = nodes != nullptr && nodes->has_levels(),
         .are_nodes_contiguous = nodes != nullptr && nodes->is_contiguous(),
         .reads_peers = nodes == nullptr && node.directory.lets_read && combines_pieces(call),
         .is_one_process = nodes == nullptr && node.directory.process_count == 1});
    return {choice.algorithm, choice.tuning, choice.graph_number, choice.is_built_in};
}

/// The listed blocks of scratch, as the algorithm's builder wants them.
std::vector<engine::BlockRange> scratch_blocks(Algorithm algorithm, Communicator& communicator,
                                               const CollectiveCall& call)
{
    using protocol::coll::Listing;
    const bool lists_result =
        !call.send_blocks.empty() && call.collective == Collective::reduce_scatter;
    if (call.is_between_groups || is_of_neighbors(call.collective) || !lists_blocks(call)) {
        return lists_result ? call.send_blocks : std::vector<engine::BlockRange>();
    }
    const Listing listing = protocol::coll::row_of(algorithm).listing;
    if (listing == Listing::as_send) {
        return call.send_blocks;
    }
    if (listing == Listing::no_scratch || (listing == Listing::as_receive && !call.in_place)) {
        return {};
    }
    const engine::Scope& scope = communicator.joint_scope();
    const std::vector<engine::BlockRange>& known =
        lists_result ? call.send_blocks : call.receive_blocks;
    std::vector<engine::BlockRange> blocks;
    std::int64_t offset = 0;
    for (const std::uint32_t owner : protocol::coll::scratch_owners(
             listing, {scope.rank, scope.size, call.in_place}, communicator.nodes())) {
        blocks.push_back({offset, known[owner].count});
        offset += static_cast<std::int64_t>(blocks.back().count);
    }
    return blocks;
}

engine::Reduction reduction_of(const CollectiveCall& call)
{
    engine::Reduction reduction = call.reduction;
    if (call.keep != nullptr) {
        reduction.user_op = reinterpret_cast<std::uintptr_t>(call.keep->user.get());
    }
    return reduction;
}

bool run_and_wait(Instance& at, Communicator& communicator, CollectiveCall call)
{
    const engine::StartedGraph started = run_collective(at, communicator, std::move(call));
    if (started.completion == nullptr) {
        return started.is_over;
    }
    engine::wait_for(*at.driver, started.completion);
    const bool is_done = started.completion->error == engine::OpError::none;
    at.driver->destroy_op(started.completion);
    return is_done;
}

}  // namespace

CollectiveKeep& CollectiveCall::make_keep()
{
    if (keep == nullptr) {
        keep = std::make_unique<CollectiveKeep>();
    }
    return *keep;
}

namespace {

/// The graph of what a call describes, and what of it outlives the calls that start it.
struct Prepared {
    KnownGraph graph;
    engine::GraphArguments arguments;
    std::vector<engine::BlockRange> scratch;  ///< named by the arguments
};

/// Whether the call's shape names its graph.
bool has_shape(const CollectiveCall& call)
{
    return !call.is_between_groups && !call.is_listed && call.send_blocks.empty() &&
           call.receive_blocks.empty() && !is_of_neighbors(call.collective);
}

CollectiveShape shape_of(const CollectiveCall& call)
{
    return {.collective = call.collective,
            .in_place = call.in_place,
            .is_commutative = call.is_commutative,
            .combines_pieces = combines_pieces(call),
            .root = call.root,
            .bytes = call.count * call.element_bytes};
}

/// Finds the graph in the long way; `scratch` gets the blocks of its scratch that are listed.
KnownGraph choose_graph(Instance& at, Communicator& communicator, const CollectiveCall& call,
                        std::vector<engine::BlockRange>& scratch)
{
    const Chosen chosen = choose(at.rank, communicator, call);
    scratch = scratch_blocks(chosen.algorithm, communicator, call);
    return {find_or_build(at, communicator, chosen, call),
            chosen.may_meet && !is_guest(at, communicator)};
}

/// `call` must outlive what is made of it.
Prepared prepare(Instance& at, Communicator& communicator, const CollectiveCall& call)
{
    Prepared made;
    if (has_shape(call) && !is_guest(at, communicator)) [[likely]] {
        const CollectiveShape shape = shape_of(call);
        made.graph = communicator.recent_graphs().find(shape);
        if (made.graph.stored == nullptr) [[unlikely]] {
            made.graph = choose_graph(at, communicator, call, made.scratch);
            communicator.recent_graphs().remember(shape, made.graph);
        }
    } else {
        made.graph = choose_graph(at, communicator, call, made.scratch);
    }
    made.arguments = {.send = call.send,
                      .receive = call.receive,
                      .count = call.count,
                      .element_bytes = call.element_bytes,
                      .reduction = reduction_of(call),
                      .listed = {call.send_blocks, call.receive_blocks, made.scratch}};
    return made;
}

/// Starts what `call` describes, which must outlive the run as far as it is kept.
engine::Op* begin(Instance& at, Communicator& communicator, const CollectiveCall& call)
{
    const Prepared made = prepare(at, communicator, call);
    return made.graph.stored != nullptr
               ? engine::start_graph(*at.driver, *made.graph.stored, communicator.joint_scope(),
                                     made.arguments)
               : nullptr;
}

/// What outlives the call goes with its op, if it could be started.
void keep_with(engine::Op* op, CollectiveCall& call)
{
    if (op != nullptr && call.keep != nullptr) {
        set_keep(*op, call.keep.release());
    }
}

/// Of a call that only moves bytes, or none, if it may be done on a shelf.
std::optional<engine::ShelfCall::Kind> moving_kind(const CollectiveCall& call)
{
    if (call.is_between_groups || call.is_listed) {
        return std::nullopt;
    }
    switch (call.collective) {
        case Collective::bcast:
            return engine::ShelfCall::Kind::bcast;
        case Collective::scatter:
            return engine::ShelfCall::Kind::scatter;
        case Collective::gather:
            return engine::ShelfCall::Kind::gather;
        case Collective::barrier:
            return engine::ShelfCall::Kind::barrier;
        case Collective::allgather:
            return engine::ShelfCall::Kind::allgather;
        case Collective::alltoall:
            return engine::ShelfCall::Kind::alltoall;
        default:
            return std::nullopt;
    }
}

/// Does a call on the communicator's shelf, if there is one. None: nothing was done.
std::optional<engine::OpError> use_shelf(Instance& at, Communicator& communicator,
                                         const engine::ShelfCall& call)
{
    const engine::Scope& scope = communicator.joint_scope();
    const auto size = engine::shelf_for(call.kind, call.bytes, scope.size,
                                        engine::MemberCores::of(at.driver->node()));
    engine::ShelfSeat* const seat = size ? communicator.seat_at_shelf(*size, call.kind) : nullptr;
    if (seat == nullptr) {
        return std::nullopt;
    }
    const engine::OpError error = engine::use_shelf(*at.driver, *seat, scope, call);
    if (error != engine::OpError::none) {
        engine::skip_on_shelf(*at.driver, *seat, scope, call);
    }
    return error;
}

/// One that only moves bytes, so by whatever algorithm.
std::optional<engine::OpError> move_on_shelf(Instance& at, Communicator& communicator,
                                             const CollectiveCall& call)
{
    const auto kind = moving_kind(call);
    if (!kind || is_guest(at, communicator)) {
        return std::nullopt;
    }
    const auto* send = static_cast<const std::byte*>(call.send);
    if (call.in_place && *kind == engine::ShelfCall::Kind::alltoall) {
        send = static_cast<const std::byte*>(call.receive);
    } else if (call.in_place && *kind == engine::ShelfCall::Kind::allgather) {
        send = static_cast<const std::byte*>(call.receive) +
               communicator.joint_scope().rank * call.count * call.element_bytes;
    }
    return use_shelf(at, communicator,
                     {.kind = *kind,
                      .keeps_own = call.in_place,
                      .root = call.root,
                      .send = send,
                      .receive = static_cast<std::byte*>(call.receive),
                      .bytes = call.count * call.element_bytes});
}

/// A reduction whose graph says that its vectors may be collected, at the root or by all.
std::optional<engine::OpError> combine_on_shelf(Instance& at, Communicator& communicator,
                                                const Prepared& made)
{
    const engine::GraphMeeting& meeting = made.graph.stored->meeting;
    const engine::GraphArguments& arguments = made.arguments;
    const bool is_for_all = made.graph.lets_combine(engine::Meets::halving);
    if ((!is_for_all && !made.graph.lets_combine(engine::Meets::collecting)) ||
        arguments.reduction.user_op != 0) {
        return std::nullopt;
    }
    const bool is_in_place = meeting.part.space == engine::Space::receive;
    return use_shelf(
        at, communicator,
        {.kind = is_for_all ? engine::ShelfCall::Kind::allreduce : engine::ShelfCall::Kind::reduce,
         .root = meeting.root,
         .send = static_cast<const std::byte*>(is_in_place ? arguments.receive : arguments.send),
         .receive = static_cast<std::byte*>(arguments.receive),
         .bytes = arguments.count * arguments.element_bytes,
         .element_bytes = arguments.element_bytes,
         .reduction = &arguments.reduction});
}

/// Does what `made` describes where the members meet. False: nothing was done.
bool meet(Instance& at, Communicator& communicator, const Prepared& made)
{
    const engine::Scope& scope = communicator.joint_scope();
    if (!made.graph.may_meet ||
        !engine::can_meet(at.driver->node(), *made.graph.stored, scope, made.arguments)) {
        return false;
    }
    engine::Seat* const seat = communicator.seat();
    return seat != nullptr &&
           engine::meet(*at.driver, *seat, *made.graph.stored, scope, made.arguments);
}

/// What has come in elements with gaps is unpacked.
void give_back(CollectiveCall& call)
{
    if (call.keep != nullptr) {
        call.keep->give_back();
    }
}

/// Of a call that has ended without an op.
engine::StartedGraph ended(Instance& at, engine::OpError error)
{
    if (error == engine::OpError::none) [[likely]] {
        return {.is_over = true};
    }
    engine::Op* const op = at.driver->create_op(engine::OpKind::graph);
    if (op != nullptr) {
        op->error = error;
        at.driver->complete(op);
    }
    return {.completion = op};
}

engine::StartedGraph ended_on_shelf(Instance& at, CollectiveCall& call, engine::OpError error)
{
    if (error == engine::OpError::none) {
        give_back(call);
    }
    return ended(at, error);
}

/// Kept with each run of a persistent collective, whose buffers are the request's, as this is.
class BorrowedKeep final : public OpKeep {
  public:
    explicit BorrowedKeep(CollectiveKeep& lender) : lender_(lender) {}

    void finish(Rank& rank, engine::Op& op) override { lender_.finish(rank, op); }
    void let_go() noexcept override {}

  private:
    CollectiveKeep& lender_;
};

/// All its runs have the number that the call took in the order of collectives, so that requests
/// can be started in any order.
class RepeatedCollective final : public Persistent {
  public:
    RepeatedCollective(Rank& rank, Communicator& communicator, CollectiveCall call)
        : Persistent(rank, communicator, {.kind = engine::OpKind::graph}),
          call_(std::move(call)),
          sequence_(communicator.joint_scope().next_sequence++)
    {
        if (call_.keep != nullptr) {
            lent_.emplace(*call_.keep);
        }
    }
    ~RepeatedCollective() override { engine::destroy_program(rank().driver(), program_); }
    RepeatedCollective(const RepeatedCollective&) = delete;
    RepeatedCollective& operator=(const RepeatedCollective&) = delete;

  protected:
    engine::Op* start() override
    {
        if (!has_program()) [[unlikely]] {
            return nullptr;
        }
        CollectiveKeep* const keep = call_.keep.get();
        if (keep != nullptr && keep->sent) {
            keep->sent->take();
        }
        if (keep != nullptr && keep->received) {
            keep->received->take();
        }
        engine::Op* const op = engine::start_program(rank().driver(), program_);
        if (op != nullptr && lent_.has_value()) {
            set_keep(*op, &*lent_);
        }
        return op;
    }

  private:
    /// Makes it where there is none, or its last run has failed. False: the node heap is exhausted.
    bool has_program()
    {
        if (program_ != nullptr && engine::can_start(*program_)) [[likely]] {
            return true;
        }
        engine::destroy_program(rank().driver(), std::exchange(program_, nullptr));
        Prepared made = prepare(rank().first(), *communicator(), call_);
        made.arguments.sequence = sequence_;
        if (made.graph.stored != nullptr) {
            program_ = engine::create_program(rank().driver(), *made.graph.stored,
                                              communicator()->joint_scope(), made.arguments);
        }
        return program_ != nullptr;
    }

    CollectiveCall call_;
    std::optional<BorrowedKeep> lent_;
    std::uint32_t sequence_;
    engine::GraphInstance* program_ = nullptr;
};

}  // namespace

engine::Op* start_collective(Instance& at, Communicator& communicator, CollectiveCall&& call)
{
    engine::Op* const op = begin(at, communicator, call);
    keep_with(op, call);
    return op;
}

engine::StartedGraph run_collective(Instance& at, Communicator& communicator, CollectiveCall&& call)
{
    // Elements with gaps are packed before and unpacked afterwards, whatever moves them: members
    // need not have the same datatype, so that must not decide the way.
    if (const auto error = move_on_shelf(at, communicator, call)) {
        return ended_on_shelf(at, call, *error);
    }
    const Prepared made = prepare(at, communicator, call);
    if (made.graph.stored == nullptr) {
        return {};
    }
    if (const auto error = combine_on_shelf(at, communicator, made)) {
        return ended_on_shelf(at, call, *error);
    }
    if (meet(at, communicator, made)) {
        give_back(call);
        return ended(at, engine::OpError::none);
    }
    engine::Scope& scope = communicator.joint_scope();
    if (call.keep == nullptr) {
        return engine::run_graph(*at.driver, *made.graph.stored, scope, made.arguments);
    }
    engine::Op* const op =
        engine::start_graph(*at.driver, *made.graph.stored, scope, made.arguments);
    keep_with(op, call);
    return {.completion = op};
}

MPI_Request make_repeated_collective(Rank& rank, Communicator& communicator, CollectiveCall call)
{
    return make_persistent(rank, new RepeatedCollective(rank, communicator, std::move(call)));
}

void reduce_local(Rank& rank, CollectiveCall call)
{
    engine::run_reduction(rank.driver(), reduction_of(call), call.send, call.receive, call.count);
    give_back(call);
}

engine::Op* start_barrier(Rank& rank, Communicator& communicator)
{
    return start_collective(rank.first(), communicator, {});
}

bool bcast_bytes(Instance& at, Communicator& communicator, void* bytes, std::uint64_t size,
                 std::uint32_t root)
{
    CollectiveCall call;
    call.collective = Collective::bcast;
    call.receive = bytes;
    call.count = size;
    call.root = root;
    return run_and_wait(at, communicator, std::move(call));
}

bool allgather_bytes(Rank& rank, Communicator& communicator, const void* own, void* all,
                     std::uint64_t size)
{
    CollectiveCall call;
    call.collective = Collective::allgather;
    call.send = own;
    call.receive = all;
    call.count = size;
    return run_and_wait(rank.first(), communicator, std::move(call));
}

bool allgather_lists(Rank& rank, Communicator& communicator, const void* own, void* all,
                     const std::vector<std::uint64_t>& sizes)
{
    CollectiveCall call;
    call.collective = Collective::allgatherv;
    call.send = own;
    call.receive = all;
    call.count = sizes[communicator.joint_scope().rank];
    std::int64_t offset = 0;
    for (const std::uint64_t size : sizes) {
        call.receive_blocks.push_back({offset, size});
        offset += static_cast<std::int64_t>(size);
    }
    return run_and_wait(rank.first(), communicator, std::move(call));
}

bool run_user_reduction(engine::Driver& /*driver*/, std::uint64_t user_op, const void* in,
                        void* inout, std::uint64_t count)
{
    reinterpret_cast<const UserReduction*>(user_op)->apply(in, inout, count);
    return true;
}

}  // namespace headway::object
