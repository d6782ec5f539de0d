// SPDX-License-Identifier: Apache-2.0
#include "object/rank.hpp"

#include <limits>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>

#include "engine/observation.hpp"
#include "engine/standstill.hpp"
#include "object/buffer.hpp"
#include "object/leaks.hpp"
#include "object/memory_kinds.hpp"
#include "object/process.hpp"
#include "object/profile.hpp"
#include "object/session.hpp"
#include "protocol/point_to_point.hpp"

namespace headway::object {

namespace {

/// For those who ask whether all of the rank's threads wait.
void note_threads(engine::Driver& driver)
{
    // Relaxed: see engine::ThreadsOfRank.
    driver.rank().threads.are_several.store(1, std::memory_order_relaxed);
}

}  // namespace

Rank::Rank(Process& process, int rank)
    : process_(process),
      contexts_(static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(process.rank_count())),
      first_(*this, 0)
{
    handles = &process.handles();
    predefined_datatypes = object::predefined_datatypes();
    world_rank = rank;
    first_instance = &first_;
    door = &first_.door;
    if (process.ranks_here() > 1) {
        own_any_time_ = std::make_unique<AnyTimePart>(*handles);
        any_time_ = own_any_time_.get();
    } else {
        any_time_ = &process_any_time();
    }
}

Rank::~Rank() = default;

/// False: the node heap is exhausted.
bool Rank::make_instance(Instance& made)
{
    engine::Node& node = process_.node(made.number);
    engine::RankState& state =
        node.rank_state(node.peer_of(static_cast<std::uint32_t>(world_rank)));
    made.worker = std::make_unique<engine::Worker>(node, &state);
    made.driver = std::make_unique<engine::Driver>(*made.worker, state, made.door.lock());
    made.pool = std::make_unique<HandlePool>(
        *handles, static_cast<std::uint32_t>(process_.knobs().handle_quarantine), false);
    if (process_.instance_count() > 1) {
        siblings_.add(made.number, made.door);
        made.driver->join_siblings(siblings_);
    }
    return protocol::create_rank_part(*made.driver);
}

base::Outcome Rank::make_parts()
{
    bool is_made = make_instance(first_);
    for (std::uint32_t number = 1; number < process_.instance_count(); ++number) {
        is_made = is_made &&
                  make_instance(*more_.emplace_back(std::make_unique<Instance>(*this, number)));
    }
    if (is_made && first_.door.lock().is_enabled()) {
        share_among_threads();
    }
    tracer = first_.driver->tracer();
    if (!is_made) {
        return base::Failure{
            "the node heap has no room for a rank; raise HEADWAY_HEAP_SIZE, or "
            "the size of /dev/shm"};
    }
    device_memory_ = &process_.device_memory();
    compares_types = process_.sent_types() != nullptr;
    if (device_memory_->is_needed() || compares_types) {
        plain_address_min = std::numeric_limits<std::uintptr_t>::max();
    }
    if (device_memory_->is_needed() && !compares_types) {
        devices = device_memory_;
    }
    empty_group_ = std::make_unique<Group>(std::vector<int>{}, world_rank);
    empty_group = empty_group_.get();
    watch_for_leaks(*this);
    begin_profile(*this);
    return base::Done{};
}

void Rank::share_among_threads()
{
    for (std::uint32_t number = 0; number < instance_count(); ++number) {
        Instance& shared = instance(number);
        if (!shared.door.lock().is_enabled()) {
            shared.door.enable_threads();
        }
        if (shared.pool != nullptr) {
            shared.pool->share();
            note_threads(*shared.driver);
        }
    }
}

/// False: the node heap is exhausted.
bool Rank::start_instance(Instance& started)
{
    started.done_op = started.driver->create_op(engine::OpKind::send);
    if (started.done_op == nullptr) {
        return false;
    }
    started.driver->complete(started.done_op);
    engine::note_return(*started.driver);
    started.door.open(*started.driver);
    return true;
}

base::Outcome Rank::start(int thread_level)
{
    if (is_running()) {
        return base::Done{};
    }
    if (thread_level == MPI_THREAD_MULTIPLE) {
        share_among_threads();
    }
    thread_level_ = thread_level;
    if (first_.driver == nullptr) {
        if (auto made = make_parts(); !made) {
            return made;
        }
    }
    for (std::uint32_t number = 0; number < instance_count(); ++number) {
        if (!start_instance(instance(number))) {
            return base::Failure{
                "the node heap has no room for a rank; raise HEADWAY_HEAP_SIZE, or the size of "
                "/dev/shm"};
        }
    }
    phase = Phase::running;
    describe_environment();
    const std::lock_guard guard(any_time_->mutex);
    if (any_time_->tools.wants_observation) {
        observe_for_tools();
    }
    count_what_is_wanted(this, any_time_->tools);
    return base::Done{};
}

base::Outcome Rank::open(int thread_level)
{
    const bool has_sessions = is_running();
    if (auto started = start(thread_level); !started) {
        return started;
    }
    if (thread_level == MPI_THREAD_MULTIPLE) {
        share_among_threads();
    }
    main_thread_ = platform::thread_id();
    if (has_sessions) {
        thread_level_ = thread_level;
        describe_environment();
    }
    world_phase_ = Phase::running;
    return make_predefined();
}

void Rank::observe_for_tools()
{
    if (!is_running() || tool_tracer_ != nullptr) {
        return;
    }
    // In an observed job its threads keep the rings they have.
    tool_tracer_ =
        tracer != nullptr
            ? std::make_unique<observe::Tracer>(tracer->owner(), tracer->records_a_ring())
            : std::make_unique<observe::Tracer>(platform::random_token(), 0);
    tool_tracer_->set_listener(&listener_);
    engine::start_observing(*first_.driver, *tool_tracer_);
    tracer = tool_tracer_.get();
}

observe::Listener Rank::take_tool_events()
{
    return std::exchange(listener_, {});
}

Communicator* Rank::ground()
{
    if (ground_ == nullptr) {
        std::vector<int> everyone(static_cast<std::size_t>(process_.rank_count()));
        std::iota(everyone.begin(), everyone.end(), 0);
        // No handle of the application leads to it.
        ground_ = Communicator::create(*this, ContextIds::ground, everyone,
                                       predefined_error_handler(bits_of(MPI_ERRORS_ARE_FATAL)),
                                       MPI_COMM_NULL);
    }
    return ground_;
}

Session* Rank::find_session(std::uint32_t number) noexcept
{
    for (const auto& session : sessions_) {
        if (session->number() == number) {
            return session.get();
        }
    }
    return nullptr;
}

Info Rank::describe_own_program() const
{
    return program_words_.empty() ? describe_program() : describe_program(program_words_);
}

void Rank::describe_environment()
{
    universe_size_ = process_.rank_count();
    environment_info_ = describe_own_program();
    environment_info_.set("maxprocs", std::to_string(universe_size_));
    environment_info_.set("mpi_initial_errhandler",
                          name_of_handler(process_.knobs().initial_errhandler));
    environment_info_.set(memory_kinds_key,
                          supported_memory_kinds(process_.knobs().memory_alloc_kinds));
}

const int* Rank::predefined_attribute(int keyval) const noexcept
{
    static constexpr int no_host = MPI_PROC_NULL;
    static constexpr int every_rank = MPI_ANY_SOURCE;
    static constexpr int yes = 1;
    static constexpr int no = 0;
    switch (keyval) {
        case MPI_TAG_UB:
            return &tag_upper_bound;
        case MPI_HOST:
            return &no_host;
        case MPI_IO:
            return &every_rank;
        case MPI_WTIME_IS_GLOBAL:
            // The ranks of a node read the clock of one machine.
            return process_.placement().node_count == 1 ? &yes : &no;
        case MPI_UNIVERSE_SIZE:
            return &universe_size_;
        case MPI_LASTUSEDCODE:
            return &any_time_->error_codes.last_used();
        default:
            // MPI_APPNUM: launchers of one program do not number it.
            return nullptr;
    }
}

base::Outcome Rank::make_predefined()
{
    std::vector<int> everyone(static_cast<std::size_t>(process_.rank_count()));
    std::iota(everyone.begin(), everyone.end(), 0);
    ErrorHandler* const initial = initial_error_handler(this);
    world = Communicator::create(*this, ContextIds::world, everyone, initial, MPI_COMM_WORLD);
    self = Communicator::create(*this, ContextIds::self, {world_rank}, initial, MPI_COMM_SELF);
    if (world == nullptr || self == nullptr) {
        return base::Failure{
            "the node heap has no room for MPI_COMM_WORLD; raise "
            "HEADWAY_HEAP_SIZE, or the size of /dev/shm"};
    }
    world->set_name("MPI_COMM_WORLD");
    self->set_name("MPI_COMM_SELF");
    return base::Done{};
}

void Rank::close_world()
{
    world_phase_ = Phase::finalized;
    self->drop_first_reference();
    world->drop_first_reference();
    self = nullptr;
    world = nullptr;
}

void Rank::close()
{
    phase = world_phase_;
    engine::note_end(*first_.driver);
    first_.door.close();
    for (const std::unique_ptr<Instance>& each : more_) {
        const Inside inside(*each);
        engine::note_end(*each->driver);
        each->door.close();
    }
    for (const auto& [key, datatype] : fortran_types_) {
        drop_datatype(*this, datatype);
    }
    fortran_types_.clear();
    if (ground_ != nullptr) {
        ground_->drop_reference();
        ground_ = nullptr;
    }
    reap();
    for (std::uint32_t number = 0; number < instance_count(); ++number) {
        instance(number).driver->destroy_op(instance(number).done_op);
    }
}

Instance& Rank::instance_of_context(std::uint32_t context) noexcept
{
    if (more_.empty() || !ContextIds::is_spread(context)) [[likely]] {
        return first_;
    }
    // The first communicator of a leader shares nothing with MPI_COMM_WORLD.
    return instance((contexts_.number(context) + 1) % instance_count());
}

void Rank::bury(Communicator& comm)
{
    const std::lock_guard guard(burying_);
    buried_.push_back(&comm);
}

void Rank::reap()
{
    std::vector<Communicator*> gone;
    {
        const std::lock_guard guard(burying_);
        gone.swap(buried_);
    }
    for (Communicator* const comm : gone) {
        comm->destroy_buried();
    }
}

void Rank::forget_context(std::uint32_t context)
{
    const auto forget_in = [](Instance& at, std::uint32_t gone) {
        for (const std::uint32_t each : Communicator::contexts_of(gone)) {
            protocol::forget_context(*at.driver, each);
        }
    };
    forget_in(first_, context);
    const engine::InstanceSet others = siblings_.others_of(0);
    for (std::uint32_t number = 1; number < instance_count(); ++number) {
        if ((others & engine::set_of(number)) != 0) {
            contexts_to_forget_.push_back({number, context});
        }
    }
    std::erase_if(contexts_to_forget_, [&](const ContextAt& left) {
        Instance& at = instance(left.instance);
        if (!at.door.try_enter()) {
            return false;
        }
        forget_in(at, left.context);
        at.door.leave();
        return true;
    });
}

bool Rank::spreads_communicators() const noexcept
{
    return !more_.empty() && first_.door.lock().is_enabled() && process_.scheduler() == nullptr;
}

void advance_all(Rank& rank)
{
    for (std::uint32_t number = 0; number < rank.instance_count(); ++number) {
        const Inside inside(rank.instance(number));
        rank.instance(number).driver->advance();
    }
}

std::uint32_t Rank::pick_context()
{
    reap();
    return contexts_.pick(spreads_communicators());
}

}  // namespace headway::object
