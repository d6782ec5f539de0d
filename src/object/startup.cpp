// SPDX-License-Identifier: Apache-2.0
#include "object/startup.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "boot/boot.hpp"
#include "boot/single.hpp"
#include "engine/wait.hpp"
#include "object/buffer.hpp"
#include "object/collective.hpp"
#include "object/dedicated.hpp"
#include "object/leaks.hpp"
#include "object/memory_kinds.hpp"
#include "object/observation.hpp"
#include "object/process.hpp"
#include "object/simulation.hpp"
#include "platform/current_rank.hpp"
#include "platform/fatal.hpp"
#include "platform/fork.hpp"
#include "platform/process.hpp"
#include "platform/process_barrier.hpp"
#include "platform/thread.hpp"
#include "protocol/point_to_point.hpp"

namespace headway::object {

namespace {

/// The process that MPI_Init made: it stays after MPI_Finalize, so that late calls can be told
/// what is wrong. One a program run; everything else hangs off it.
std::atomic<Process*> own_process{nullptr};

/// Of a process that hosts ranks; null: there is none. Written before ranks start, and stays:
/// threads that ranks have left behind have it in hand.
Simulation* hosted_simulation = nullptr;

// Set in the child of a fork, before it has a second thread; relaxed for that reason.
std::atomic<bool> is_forked_child{false};

/// A child that a rank makes by fork() is no rank: whatever it does, and however it ends, concerns
/// the parent's job in nothing.
void leave_job_to_parent()
{
    platform::set_current_rank(nullptr);
    platform::own_scheduler = nullptr;
    platform::set_only_rank(nullptr);
    own_process.store(nullptr, std::memory_order_relaxed);
    is_forked_child.store(true, std::memory_order_relaxed);
}

[[noreturn]] void refuse_start(const char* function, const std::string& sentence, int rank)
{
    platform::fatal(rank, std::string(function) + ": " + sentence);
}

[[noreturn]] void refuse_start(const std::string& sentence, int rank)
{
    refuse_start("MPI_Init", sentence, rank);
}

void guard_against_forks()
{
    if (!platform::tell_forked_children(&leave_job_to_parent)) {
        refuse_start("the system has no memory left", -1);
    }
}

/// A setting that cannot be read is reported once the launcher is there.
boot::Way way_to_job()
{
    using config::BootChoice;
    const auto knobs = config::load_knobs(platform::Environment::of_process());
    const BootChoice choice = knobs ? knobs.value().boot : BootChoice::automatic;
    return choice == BootChoice::pmi1     ? boot::Way::pmi1
           : choice == BootChoice::pmix   ? boot::Way::pmix
           : choice == BootChoice::single ? boot::Way::single
                                          : boot::Way::automatic;
}

/// Where nobody else runs meanwhile: a rank that has given the baton away would say what others do.
void report_failed_simulation()
{
    if (hosted_simulation != nullptr && platform::own_scheduler != nullptr) {
        hosted_simulation->report(true);
    }
}

/// Of a process that cannot start: mpiexec.hydra drops its sentence, now and then, where the
/// connection ends before the job does. Written and read by the thread that starts it.
boot::Boot* boot_of_failed = nullptr;

/// The sentence has been printed by this rank: the launcher need not repeat it.
void end_job(int code, std::string_view /*sentence*/)
{
    report_failed_simulation();
    // (2) acquire, pairs with (1).
    if (Process* process = own_process.load(std::memory_order_acquire); process != nullptr) {
        process->abort_job(code, "");
    } else if (boot_of_failed != nullptr) {
        boot_of_failed->abort(code, "");
    }
}

Process& open_process(const RankBlock& ranks, bool is_host)
{
    auto boot = boot::open_boot(way_to_job());
    if (!boot) {
        refuse_start(boot.sentence(), -1);
    }
    const int index = boot.value()->process_index();
    auto process = Process::open(boot.value(), ranks);
    if (!process) {
        boot_of_failed = boot.value().get();
        platform::set_job_ender(&end_job);
        refuse_start(process.sentence(), index);
    }
    const std::uint64_t seed = process.value()->knobs().sim;
    if (seed != 0 && (!is_host || process.value()->ranks_here() != process.value()->rank_count())) {
        refuse_start(
            "HEADWAY_SIM simulates ranks that are threads of one process; start them with mpiexec "
            "--ranks thread, on one host and without --processes-per-node, or unset it",
            index);
    }
    Process* made = process.value().release();
    // (1) release, pairs with (2) to (8).
    own_process.store(made, std::memory_order_release);
    platform::set_job_ender(&end_job);
    if (!is_host) {
        made->warn_about_settings();
    }
    if (seed != 0) {
        hosted_simulation = new Simulation(seed, made->ranks_here());
    }
    if (const auto joined = made->join_node(); !joined) {
        refuse_start(joined.sentence(), index);
    }
    guard_against_forks();
    return *made;
}

/// Sessions open and close ranks at any time, from any thread (MPI-5.0 section 11.6.1). Nobody
/// waits for messages while he has it. Where a process has several ranks, they are there from the
/// start, and each has its own: one that is held up holds up no other.
std::mutex& opening()
{
    static std::mutex first_one;
    auto* const rank = static_cast<Rank*>(static_cast<RankAccess*>(platform::current_rank()));
    return rank != nullptr && rank->process().ranks_here() > 1 ? rank->opening() : first_one;
}

/// A session that is left open keeps its rank from ending: what the program leaks is named when it
/// exits. One that has not called MPI_Finalize hears of that instead.
void report_leaks_at_exit()
{
    // (8) acquire, pairs with (1).
    Rank& rank = own_process.load(std::memory_order_acquire)->rank(0);
    if (rank.is_running() && rank.world == nullptr) {
        report_leaks(rank);
    }
}

/// The calling thread's rank, which communicates from now on. Requires: opening().
Rank& start_rank(const char* function, int thread_level)
{
    auto* rank = static_cast<Rank*>(static_cast<RankAccess*>(platform::current_rank()));
    const bool is_first = rank == nullptr;
    if (is_first) {
        rank =
            &open_process({.may_have_threads = thread_level == MPI_THREAD_MULTIPLE}, false).rank(0);
    }
    if (rank->is_running()) {
        return *rank;
    }
    Process& process = rank->process();
    process.warn_about_settings();
    const bool is_new = !rank->was_started();
    if (!is_new) {
        process.note_return();
    } else if (!process.note_start()) {
        refuse_start(
            function,
            "another rank has ended without calling MPI_Init or MPI_Session_init, which all ranks "
            "must call",
            rank->world_rank);
    }
    if (const auto started = rank->start(thread_level); !started) {
        refuse_start(function, started.sentence(), rank->world_rank);
    }
    if (is_new) {
        // By a rank and not with the process: so the thread sleeps and wakes as ranks do, who may
        // lie where the system does not find them (schedule_ranks).
        if (const auto served = start_on_dedicated_cpus(process.node()); !served) {
            refuse_start(function, served.sentence(), rank->world_rank);
        }
    }
    if (is_first) {
        platform::set_only_rank(static_cast<RankAccess*>(rank));
        if (process.knobs().leaks != 0) {
            (void)std::atexit(&report_leaks_at_exit);
        }
    }
    return *rank;
}

void leave_job(Process& process, int rank, const char* function)
{
    if (const auto left = process.leave_job(); !left) {
        platform::fatal(rank, std::string(function) + ": " + left.sentence());
    }
}

void leave_at_exit()
{
    // (7) acquire, pairs with (1).
    Process* const process = own_process.load(std::memory_order_acquire);
    if (process != nullptr && process->has_ended()) {
        leave_job(*process, process->first_rank(), "exit");
    }
}

/// Where communication ends.
enum class End : std::uint8_t { world, session };

/// The rank communicates no more; with the last one the process leaves the job. Between nodes that
/// takes all processes, so there the end of a session, after which others may come, leaves it to
/// the end of the program. Requires: opening().
void end_rank(Rank& rank, End end)
{
    report_leaks(rank);
    rank.close();
    // A team goes with the function that made it, not with a launcher.
    // (5) acquire, pairs with (1).
    const bool is_launched = own_process.load(std::memory_order_acquire) == &rank.process();
    if (is_launched && rank.process().note_finalized()) {
        if (end == End::world || rank.process().placement().node_count == 1) {
            leave_job(rank.process(), rank.world_rank, "MPI_Finalize");
        } else if (std::atexit(&leave_at_exit) != 0) {
            platform::fatal(rank.world_rank, "MPI_Session_finalize: the system has no memory left");
        }
    }
}

/// MPI_Finalize detaches buffers (MPI-5.0 section 3.6): their messages leave first.
void flush_buffers(Rank& rank)
{
    for (SendBuffer* buffer : {rank.send_buffer().get(), rank.world->send_buffer().get(),
                               rank.self->send_buffer().get()}) {
        if (buffer != nullptr && !buffer->flush(rank)) {
            platform::fatal(rank.world_rank,
                            "MPI_Finalize: the node heap is exhausted; raise "
                            "HEADWAY_HEAP_SIZE");
        }
    }
}

/// Sends whose requests were freed may still wait for room.
void wait_until_quiet(Rank& rank)
{
    for (std::uint32_t number = 0; number < rank.instance_count(); ++number) {
        const Inside inside(rank.instance(number));
        engine::Driver& driver = *rank.instance(number).driver;
        engine::wait_until(
            driver, [&] { return protocol::is_quiet(driver.rank()) && !driver.has_unsent(); });
    }
}

void wait_for_everyone(Rank& rank)
{
    flush_buffers(rank);
    engine::Op* barrier = start_barrier(rank, *rank.world);
    if (barrier == nullptr) {
        platform::fatal(rank.world_rank,
                        "MPI_Finalize: the node heap is exhausted; raise "
                        "HEADWAY_HEAP_SIZE");
    }
    engine::wait_for(rank.driver(), barrier);
    rank.driver().destroy_op(barrier);
    wait_until_quiet(rank);
}

/// Each rank's thread; the number of bodies that did not return 0.
int run_ranks(Process& process, int (*body)(void*), void* argument)
{
    const auto ranks = static_cast<std::size_t>(process.ranks_here());
    std::atomic<int> failed{0};
    std::vector<platform::Thread> threads(ranks);
    for (std::size_t i = 0; i < ranks; ++i) {
        const bool has_started = threads[i].start([&, i] {
            if (platform::own_scheduler != nullptr) {
                platform::own_scheduler->name_seat(("rank " + std::to_string(i)).c_str());
            }
            platform::set_current_rank(
                static_cast<RankAccess*>(&process.rank(static_cast<int>(i))));
            if (body(argument) != 0) {
                // Relaxed: read after the threads have been joined.
                failed.fetch_add(1, std::memory_order_relaxed);
            }
            platform::set_current_rank(nullptr);
        });
        if (!has_started) {
            refuse_start("the system gives no thread; raise the limit (ulimit -u)",
                         static_cast<int>(i));
        }
    }
    for (platform::Thread& thread : threads) {
        thread.join();
    }
    return failed.load(std::memory_order_relaxed);
}

}  // namespace

void initialize(int thread_level)
{
    const std::lock_guard guard(opening());
    Rank& rank = start_rank("MPI_Init", thread_level);
    if (const auto opened = rank.open(thread_level); !opened) {
        refuse_start("MPI_Init", opened.sentence(), rank.world_rank);
    }
}

std::optional<int> rank_count_before_init(RankAccess* rank)
{
    return rank != nullptr ? as_rank(*rank).process().rank_count() : boot::told_process_count();
}

void finalize(Rank& rank)
{
    wait_for_everyone(rank);
    finish_observation(rank);
    const std::lock_guard guard(opening());
    rank.close_world();
    if (rank.sessions().empty()) {
        end_rank(rank, End::world);
    }
}

Session& open_session(int thread_level, Info hints, ErrorHandler* error_handler)
{
    const std::lock_guard guard(opening());
    // Libraries with sessions of their own know nothing of each other's threads.
    Rank& rank = start_rank("MPI_Session_init", MPI_THREAD_MULTIPLE);
    if (rank.ground() == nullptr) {
        refuse_start("MPI_Session_init",
                     "the node heap has no room for a rank; raise HEADWAY_HEAP_SIZE, or the size "
                     "of /dev/shm",
                     rank.world_rank);
    }
    // What the launcher was told, where the program asks for nothing (MPI-5.0 section 11.4.3).
    if (hints.find(memory_kinds_key) == nullptr) {
        hints.set(memory_kinds_key,
                  supported_memory_kinds(rank.process().knobs().memory_alloc_kinds));
    }
    rank.sessions().push_back(std::make_unique<Session>(
        rank.number_session(), std::min(thread_level, rank.thread_level_max()), std::move(hints),
        error_handler));
    return *rank.sessions().back();
}

namespace {

/// Whether the rank ends with the session that it has, as it looks: another thread may open one.
bool is_last_session(Rank& rank)
{
    const std::lock_guard guard(opening());
    return rank.world == nullptr && rank.sessions().size() == 1;
}

}  // namespace

bool close_session(Rank& rank, Session& session)
{
    if (session.send_buffer() != nullptr && !session.send_buffer()->flush(rank)) {
        return false;
    }
    if (is_last_session(rank)) {
        if (rank.send_buffer() != nullptr && !rank.send_buffer()->flush(rank)) {
            return false;
        }
        wait_until_quiet(rank);
        finish_observation(rank);
    }
    const std::lock_guard guard(opening());
    std::erase_if(rank.sessions(), [&](const auto& each) { return each.get() == &session; });
    if (rank.world == nullptr && rank.sessions().empty()) {
        end_rank(rank, End::session);
    }
    return true;
}

int run_team(int ranks, int (*body)(void*), void* argument)
{
    std::unique_ptr<Simulation> simulation;  // outlives the process, whose agent takes part
    auto boot = boot::open_single();
    auto opened = Process::open(boot, {.count = ranks});
    if (!opened) {
        refuse_start(opened.sentence(), -1);
    }
    Process& process = *opened.value();
    process.warn_about_settings();
    if (const std::uint64_t seed = process.knobs().sim; seed != 0) {
        simulation = std::make_unique<Simulation>(seed, ranks);
    }
    if (const auto joined = process.join_node(); !joined) {
        refuse_start(joined.sentence(), -1);
    }
    guard_against_forks();
    const bool stats = process.knobs().stats != 0;
    const int failed = run_ranks(process, body, argument);
    opened.value().reset();
    if (simulation != nullptr && (stats || failed != 0)) {
        simulation->report(failed != 0);
    }
    return failed;
}

int host_ranks(int first, int ranks, int all)
{
    // Ranks join again, and count who cannot. The first time takes some ten milliseconds in a
    // process that has several threads.
    (void)platform::join_process_barriers();
    (void)platform::join_thread_barriers();
    const int own_first =
        open_process({.first = first, .count = ranks, .all = all}, true).first_rank();
    if (hosted_simulation != nullptr) {
        hosted_simulation->hand_over();
    }
    return own_first;
}

const headway_outside* schedule_ranks(const headway_scheduling* scheduling)
{
    // (6) acquire, pairs with (1).
    Process* const process = own_process.load(std::memory_order_acquire);
    if (hosted_simulation != nullptr) {
        refuse_start(
            "HEADWAY_SIM has an order of its own for ranks; start them with mpiexec --ranks "
            "thread, "
            "or use --schedule-seed instead",
            -1);
    }
    process->schedule_by(*scheduling);
    return process->scheduler()->outside();
}

void enter_rank(int index)
{
    // (3) acquire, pairs with (1).
    Process* const process = own_process.load(std::memory_order_acquire);
    if (hosted_simulation != nullptr) {
        hosted_simulation->enter(index);
    } else {
        platform::own_scheduler = process->scheduler();
    }
    platform::set_current_rank(static_cast<RankAccess*>(&process->rank(index)));
}

void name_program(int count, const char* const* words)
{
    as_rank(*current_rank()).name_program({words, words + count});
}

RankEnd leave_rank()
{
    Rank& rank = as_rank(*current_rank());
    const auto where_it_stood = [&rank] {
        if (!rank.was_started()) {
            return rank.process().note_absence() ? RankEnd::missed : RankEnd::outside;
        }
        return rank.is_running() ? RankEnd::inside : RankEnd::finalized;
    };
    const RankEnd end = where_it_stood();
    if (end == RankEnd::inside && rank.world == nullptr) {
        report_leaks(rank);
    }
    // Else the job is over, and nobody else is to run before that.
    if (hosted_simulation != nullptr && (end == RankEnd::finalized || end == RankEnd::outside)) {
        hosted_simulation->leave();
    }
    return end;
}

void end_hosted_job(int code)
{
    end_job(code, "");
    platform::exit_now(code);
}

void close_ranks()
{
    // (4) acquire, pairs with (1).
    Process* const process = own_process.load(std::memory_order_acquire);
    if (hosted_simulation != nullptr && process->knobs().stats != 0) {
        hosted_simulation->report(false);
    }
    if (process->has_started()) {
        return;  // the last MPI_Finalize did it
    }
    if (const auto left = process->boot().finalize(); !left) {
        platform::fatal(-1, left.sentence());
    }
}

ErrorHandler* initial_error_handler(RankAccess* rank)
{
    using config::InitialErrhandlerChoice;
    auto choice = InitialErrhandlerChoice::mpi_errors_are_fatal;
    if (rank != nullptr) {
        choice = as_rank(*rank).process().knobs().initial_errhandler;
    } else if (const auto knobs = config::load_knobs(platform::Environment::of_process())) {
        choice = knobs.value().initial_errhandler;
    }
    return predefined_error_handler(
        choice == InitialErrhandlerChoice::mpi_errors_return  ? bits_of(MPI_ERRORS_RETURN)
        : choice == InitialErrhandlerChoice::mpi_errors_abort ? bits_of(MPI_ERRORS_ABORT)
                                                              : bits_of(MPI_ERRORS_ARE_FATAL));
}

std::string_view name_of_handler(config::InitialErrhandlerChoice choice) noexcept
{
    static constexpr std::array<std::string_view, 3> names = {
        "mpi_errors_are_fatal", "mpi_errors_abort", "mpi_errors_return"};
    return names[static_cast<std::size_t>(choice)];
}

Phase current_phase() noexcept
{
    if (is_forked_child.load(std::memory_order_relaxed)) {
        return Phase::forked;
    }
    const RankAccess* rank = current_rank();
    return rank != nullptr ? rank->phase : Phase::before_init;
}

HandleTable* current_handles() noexcept
{
    return process_handles();
}

AnyTimePart& any_time_part(RankAccess* rank)
{
    return rank != nullptr ? as_rank(*rank).any_time() : process_any_time();
}

void abort_job(RankAccess* rank, int code) noexcept
{
    if (rank != nullptr) {
        report_failed_simulation();
        as_rank(*rank).process().abort_job(code, "");
    }
    end_job(code, "");
    platform::exit_now(code);
}

}  // namespace headway::object
