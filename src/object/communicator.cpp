// SPDX-License-Identifier: Apache-2.0
#include "object/communicator.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <new>
#include <utility>

#include "engine/meeting.hpp"
#include "engine/shelf.hpp"
#include "object/buffer.hpp"
#include "object/collective.hpp"
#include "object/process.hpp"
#include "object/rank.hpp"
#include "object/tag_spread.hpp"
#include "platform/fatal.hpp"

namespace headway::object {

namespace {

constexpr std::string_view no_any_tag_key = "mpi_assert_no_any_tag";

/// Promises of the application (MPI-5.0 section 7.4.4). The first one may spread messages; the
/// others are kept for those who ask.
constexpr std::array<std::string_view, 4> asserted_keys = {
    no_any_tag_key, "mpi_assert_no_any_source", "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking"};

/// Null: there is none, or it makes no sense.
const std::string* find_truth(const Info& given, std::string_view key)
{
    const std::string* const value = given.find(key);
    return value != nullptr && (*value == "true" || *value == "false") ? value : nullptr;
}

}  // namespace

Communicator::Communicator(Rank& owner, engine::Scope* scope, ErrorHandler* error_handler)
    : owner_(owner),
      scope_(scope),
      size_(static_cast<int>(scope->size)),
      error_handler_(error_handler)
{
    error_handler_->add_reference();
    owner_.contexts().hold(scope_->context);
    choose_instance();
}

void Communicator::choose_instance()
{
    instance_ = &owner_.instance_of_context(scope_->context);
    driver_ = instance_->driver.get();
    if (instance_->number != 0) {
        share_count();
    }
    owner_.open_instance(*instance_);
}

/// Calls in several instances have references from now on, as long as it lives.
void Communicator::share_count()
{
    if (shares_ == nullptr) {
        shares_ = std::make_unique<Share[]>(owner_.instance_count());
    }
}

Instance& Communicator::instance_of_tag(int tag) const noexcept
{
    if (tag < 0) {
        return *instance_;
    }
    const std::uint32_t count = owner_.instance_count();
    return owner_.instance(
        (instance_->number + spread_tag(static_cast<std::uint32_t>(tag), count)) % count);
}

engine::Driver& Communicator::driver_of_tag(int tag) const noexcept
{
    return *instance_of_tag(tag).driver;
}

void Communicator::set_spreads_tags(bool spreads)
{
    if (spreads) {
        share_count();
        for (std::uint32_t number = 0; number < owner_.instance_count(); ++number) {
            owner_.open_instance(owner_.instance(number));
        }
    }
    spreads_tags_.store(spreads, std::memory_order_relaxed);  // relaxed: see there
}

void Communicator::set_context(std::uint32_t context)
{
    scope_->context = context;
    joint_scope().context = context;
    owner_.contexts().hold(context);
    choose_instance();
}

namespace {

/// Null: the node heap is exhausted. The rank's own place is set where it is one of the members.
engine::Scope* make_scope(Rank& rank, std::uint32_t context, const std::vector<int>& members)
{
    const auto size = static_cast<std::uint32_t>(members.size());
    void* place = rank.driver().allocator().allocate(engine::Scope::bytes_needed(size));
    if (place == nullptr) {
        return nullptr;
    }
    auto* scope = new (place) engine::Scope;
    scope->context = context;
    scope->size = size;
    const engine::Node& node = rank.driver().node();
    scope->job_rank_count = node.job_rank_count;
    scope->origin = node.origin;
    for (std::uint32_t member = 0; member < size; ++member) {
        scope->peers()[member] = node.peer_of(static_cast<std::uint32_t>(members[member]));
        if (members[member] == rank.world_rank) {
            scope->rank = member;
        }
    }
    return scope;
}

/// Numbers in the job of `count` members from `first` on.
std::vector<int> members_of(const engine::Scope& scope, std::uint32_t first, std::uint32_t count)
{
    std::vector<int> members(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        members[i] = static_cast<int>(scope.job_rank(first + i));
    }
    return members;
}

}  // namespace

Communicator* Communicator::create(Rank& rank, std::uint32_t context,
                                   const std::vector<int>& members, ErrorHandler* error_handler,
                                   MPI_Comm predefined)
{
    engine::Scope* scope = make_scope(rank, context, members);
    if (scope == nullptr) {
        return nullptr;
    }
    auto* made = new Communicator(rank, scope, error_handler);
    made->handle_ = predefined != nullptr ? predefined : rank.pool().acquire<MPI_Comm>(made);
    return made;
}

Communicator* Communicator::create_inter(Rank& rank, std::uint32_t context, const TwoGroups& groups,
                                         ErrorHandler* error_handler)
{
    std::vector<int> all = groups.is_first ? groups.local : groups.remote;
    const std::vector<int>& second = groups.is_first ? groups.remote : groups.local;
    all.insert(all.end(), second.begin(), second.end());
    engine::Scope* joint = make_scope(rank, context, all);
    engine::Scope* scope = make_scope(rank, context, groups.remote);
    if (joint == nullptr || scope == nullptr) {
        rank.driver().allocator().free(joint);
        rank.driver().allocator().free(scope);
        return nullptr;
    }
    const auto size = static_cast<std::uint32_t>(groups.local.size());
    scope->rank = joint->rank - (groups.is_first ? 0 : joint->size - size);
    auto* made = new Communicator(rank, scope, error_handler);
    made->joint_ = joint;
    made->is_first_ = groups.is_first;
    made->size_ = static_cast<int>(size);
    made->handle_ = rank.pool().acquire<MPI_Comm>(made);
    return made;
}

Communicator::~Communicator()
{
    memory::Allocator& allocator = owner_.driver().allocator();
    for (const auto& [key, stored] : graphs_) {
        engine::destroy_template(allocator, stored);
    }
    if (seat_.meeting != nullptr) {
        engine::leave_meeting(allocator, seat_);
    }
    for (const engine::ShelfSeat& seat : seat_.shelves) {
        if (seat.shelf != nullptr) {
            engine::leave_shelf(allocator, *seat.shelf);
        }
    }
    owner_.contexts().drop(scope_->context);
    if (scope_->context != 0) {
        owner_.forget_context(scope_->context);
    }
    allocator.free(joint_);
    allocator.free(scope_);
    if (error_handler_->drop_reference()) {
        delete error_handler_;
    }
}

std::vector<int> Communicator::members() const
{
    if (joint_ == nullptr) {
        return members_of(*scope_, 0, scope_->size);
    }
    return members_of(*joint_, is_first_ ? 0 : scope_->size, static_cast<std::uint32_t>(size_));
}

std::vector<int> Communicator::peers() const
{
    return members_of(*scope_, 0, scope_->size);
}

void Communicator::count_to_meeting()
{
    if (--calls_to_meeting_ != 0) {
        return;
    }
    const engine::Scope& scope = joint_scope();
    std::uintptr_t made = 0;
    if (scope.rank == 0) {
        // A group for each core: ranks of one worker, or of several that share a cpu, take turns,
        // so none of them should look for another one.
        Process& process = owner_.process();
        const HostedScheduler* const scheduler = process.scheduler();
        const std::size_t cores = scheduler == nullptr ? 1
                                                       : std::min(process.node().cpus().size(),
                                                                  scheduler->worker_count());
        made = reinterpret_cast<std::uintptr_t>(
            engine::create_meeting(driver_->allocator(), scope.size, cores));
    }
    seat_.meeting = reinterpret_cast<engine::Meeting*>(tell_all(made));
}

/// Calls whose algorithm the user names run as named.
bool Communicator::lets_use_shelf(engine::ShelfCall::Kind kind) const
{
    using protocol::coll::Collective;
    constexpr Collective collectives[engine::ShelfCall::kinds] = {
        Collective::bcast,   Collective::scatter,   Collective::gather,    Collective::reduce,
        Collective::barrier, Collective::allgather, Collective::allreduce, Collective::alltoall};
    return std::ranges::all_of(
        owner_.process().choices().of(collectives[static_cast<std::size_t>(kind)]),
        &protocol::coll::Choice::is_built_in);
}

/// Whether calls of that kind go to a shelf of that size at all: the short way asks no more.
bool Communicator::is_used_on_shelf(engine::ShelfSize size, engine::ShelfCall::Kind kind) const
{
    const engine::MemberCores cores = engine::MemberCores::of(owner_.process().node());
    return lets_use_shelf(kind) &&
           (size != engine::ShelfSize::lines ||
            engine::shelf_for(kind, 0, scope_->size, cores) == engine::ShelfSize::lines);
}

engine::ShelfSeat* Communicator::count_to_shelf(engine::ShelfSize size,
                                                engine::ShelfCall::Kind kind)
{
    const engine::Scope& scope = joint_scope();
    ShelfUse& use = shelf_uses_[static_cast<std::size_t>(size)];
    if (is_inter() || !engine::can_have_shelf(owner_.process().node(), size, scope)) {
        use.calls_left = 0;
        return nullptr;
    }
    if (!lets_use_shelf(kind) || --use.calls_left != 0) {
        return nullptr;
    }
    std::uintptr_t made = 0;
    if (scope.rank == 0) {
        made = reinterpret_cast<std::uintptr_t>(
            engine::create_shelf(driver_->allocator(), size, scope.size));
    }
    engine::ShelfSeat& seat = seat_.at(size);
    seat.shelf = reinterpret_cast<engine::Shelf*>(tell_all(made));
    for (std::size_t each = 0; each < use.is_used.size(); ++each) {
        use.is_used[each] = seat.shelf != nullptr &&
                            is_used_on_shelf(size, static_cast<engine::ShelfCall::Kind>(each));
    }
    return known_seat_at_shelf(size, kind);
}

/// What member 0 says, an address in the node heap, which lies at one address in all processes.
std::uintptr_t Communicator::tell_all(std::uintptr_t place)
{
    if (!bcast_bytes(*instance_, *this, &place, sizeof place, 0)) {
        // The others know the place, and would wait there.
        platform::fatal(static_cast<std::uint32_t>(owner_.world_rank),
                        "the node heap is full; raise HEADWAY_HEAP_SIZE");
    }
    return place;
}

void Communicator::find_nodes()
{
    knows_nodes_ = true;
    const Process& process = owner_.process();
    if (process.placement().node_count == 1) {
        return;
    }
    const engine::Scope& scope = joint_scope();
    std::vector<std::uint32_t> node_of_member(scope.size);
    for (std::uint32_t member = 0; member < scope.size; ++member) {
        node_of_member[member] = process.node_of(scope.job_rank(member));
    }
    if (std::ranges::adjacent_find(node_of_member, std::ranges::not_equal_to()) !=
        node_of_member.end()) {
        nodes_ = std::make_unique<protocol::coll::Topology>(node_of_member);
    }
}

void Communicator::set_topology(std::shared_ptr<const Topology> topology)
{
    topology_ = std::move(topology);
    neighborhood_ = topology_ != nullptr ? neighborhood_of(*topology_, rank()) : Neighborhood{};
}

void Communicator::set_error_handler(ErrorHandler* handler) noexcept
{
    // Calls that fail look for it.
    const Inside inside(*instance_);
    handler->add_reference();
    if (error_handler_->drop_reference()) {
        delete error_handler_;
    }
    error_handler_ = handler;
    is_handler_chosen_ = true;
}

void Communicator::take_hints(const Info& given)
{
    for (const std::string_view key : asserted_keys) {
        const std::string* const value = find_truth(given, key);
        const bool is_relied_on = spreads_tags() && key == no_any_tag_key;
        if (value != nullptr && (!is_relied_on || *value == "true")) {
            hints_.set(key, *value);
        }
    }
}

bool Communicator::would_promise_tags(const Info& given) const
{
    const std::string* const now = hints_.find(no_any_tag_key);
    const std::string* const value = find_truth(given, no_any_tag_key);
    return value != nullptr ? *value == "true" : now != nullptr && *now == "true";
}

Info Communicator::hints() const
{
    Info all = hints_;
    for (const std::string_view key : asserted_keys) {
        if (all.find(key) == nullptr) {
            all.set(key, "false");
        }
    }
    return all;
}

void Communicator::drop_shared_reference()
{
    // (1) acq_rel, pairs with itself: who drops the last one is behind all that others did.
    if (std::atomic_ref(references_).fetch_sub(1, std::memory_order_acq_rel) == 1) {
        owner_.bury(*this);
    }
}

void Communicator::destroy()
{
    delete this;
}

void Communicator::free_handle()
{
    // Freeing it detaches its buffer (MPI-5.0 section 7.4.3); without memory to wait with, the
    // messages stay where they are and so does the buffer's record.
    if (send_buffer_ != nullptr && !send_buffer_->flush(owner_)) {
        (void)send_buffer_.release();
    }
    owner_.pool().release(handle_);
    handle_ = MPI_COMM_NULL;
    Rank& owner = owner_;
    drop_first_reference();
    owner.reap();
}

void Communicator::drop_first_reference()
{
    for (std::uint32_t number = 0; shares_ != nullptr && number < owner_.instance_count();
         ++number) {
        const Inside inside(owner_.instance(number));
        Share& share = shares_[number];
        // Relaxed: this caller has a reference still.
        std::atomic_ref(references_).fetch_add(share.references, std::memory_order_relaxed);
        share = {.references = 0, .is_closed = true};
    }
    drop_reference();
}

engine::GraphTemplate* Communicator::find_graph(std::uint64_t key)
{
    const auto found = graphs_.find(key);
    return found != graphs_.end() ? found->second : nullptr;
}

void Communicator::remember_graph(std::uint64_t key, engine::GraphTemplate* stored)
{
    graphs_.emplace(key, stored);
}

}  // namespace headway::object
