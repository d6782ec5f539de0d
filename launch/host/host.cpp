// SPDX-License-Identifier: Apache-2.0
#include "host.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "libc_functions.hpp"
#include "program_report.hpp"

namespace headway::launch {
namespace {

// Written by the constructor, before there is a second thread.
std::atomic<Host*> host_of_process{nullptr};

constexpr rlim_t stack_bytes_unlimited = rlim_t{64} << 20;
constexpr rlim_t stack_bytes_max = rlim_t{1} << 30;

/// User-level ranks that are on their way into the world at once, while the next one is loaded.
constexpr std::size_t births_at_once = 8;

/// What a process has open beside the input of each rank: files of the job and the node, copies of
/// ranks that are being loaded.
constexpr std::size_t descriptors_beside = 64;

/// The table of descriptors grows by doubling, and where a process has several threads the system
/// then waits until none of them can be reading the old one, ten milliseconds and more.
void make_room_for_descriptors(std::size_t count)
{
    if (const int any = ::open("/dev/null", O_RDONLY | O_CLOEXEC); any >= 0) {
        const int last = ::fcntl(any, F_DUPFD_CLOEXEC, static_cast<int>(count));
        if (last >= 0) {
            ::close(last);  // else there are not so many to be had: who opens one too many says so
        }
        ::close(any);
    }
}

/// What a process would get as its first stack. It is address space until it is used.
std::size_t stack_bytes(int kib_wanted)
{
    rlimit limit{};
    if (kib_wanted != 0) {
        return static_cast<std::size_t>(kib_wanted) << 10;
    }
    if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return stack_bytes_unlimited;
    }
    return std::clamp(limit.rlim_cur, rlim_t{256} << 10, stack_bytes_max);
}

constexpr int not_started_exit_code = 127;

constexpr std::string_view no_thread =
    "cannot be started: the system gives no thread; raise ulimit -u";

void* become_rank(void* rank)
{
    static_cast<HostedRank*>(rank)->run();
}

}  // namespace

void print(std::string_view text)
{
    while (!text.empty()) {
        const ssize_t count = ::write(STDERR_FILENO, text.data(), text.size());
        if (count < 0 && errno != EINTR) {
            return;
        }
        text.remove_prefix(count > 0 ? static_cast<std::size_t>(count) : 0);
    }
}

namespace {

base::Result<HostedProgram> read_program(const HostPlan::Program& plan)
{
    auto program = read_hosted_program(plan.arguments.front(), plan.directory, plan.environment,
                                       plan.shared_libraries);
    if (!program) {
        return program;
    }
    if (const std::string refusal = refused_function(program.value()); !refusal.empty()) {
        return base::Failure{program.value().path + " " + refusal};
    }
    forget_originals(program.value());
    return program;
}

/// Another process of the job most probably says the same, whereupon mpiexec ends this one.
void leave_the_word_to_others()
{
    constexpr int patience_ms = 10'000;
    (void)::poll(nullptr, 0, patience_ms);
}

}  // namespace

base::Result<std::vector<HostedProgram>> read_programs(const HostPlan& plan)
{
    std::vector<HostedProgram> programs;
    for (const HostPlan::Program& each : plan.programs) {
        auto program = read_program(each);
        if (!program) {
            if (programs.empty() && plan.continues_program) {
                leave_the_word_to_others();
            }
            return base::Failure{program.sentence()};
        }
        programs.push_back(std::move(program.value()));
    }
    return programs;
}

std::uint64_t static_tls_bytes(const HostPlan& plan, const std::vector<HostedProgram>& programs)
{
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < programs.size(); ++i) {
        bytes += programs[i].static_tls_bytes() *
                 static_cast<std::uint64_t>(plan.programs[i].rank_count);
    }
    return bytes;
}

Host::Host(HostPlan plan, std::vector<HostedProgram> programs, const MpiLibrary& library)
    : plan_(std::move(plan)),
      library_(library),
      process_id_(::getpid()),
      programs_(std::move(programs))
{
    // Relaxed: the threads of ranks are started later.
    host_of_process.store(this, std::memory_order_relaxed);
}

Host* Host::of_process() noexcept
{
    return host_of_process.load(std::memory_order_relaxed);
}

bool Host::is_host_process() const noexcept
{
    return ::getpid() == process_id_;
}

/// Messages of libc (perror, err) name the program, which is one for all ranks in most jobs.
void Host::set_names() const
{
    const std::string& path = plan_.programs.front().arguments.front();
    const std::size_t slash = path.rfind('/');
    program_invocation_name = const_cast<char*>(path.c_str());
    program_invocation_short_name =
        program_invocation_name + (slash == std::string::npos ? 0 : slash + 1);
}

std::string Host::name_of(const HostedRank& rank) const
{
    return "headway: rank " + std::to_string(rank.number());
}

bool Host::start(HostedRank& rank)
{
    pthread_attr_t attributes;
    ::pthread_attr_init(&attributes);
    ::pthread_attr_setstacksize(&attributes, stack_bytes(plan_.stack_kib) + tls_reserve_bytes);
    ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread{};
    const int error = libc_functions().pthread_create(&thread, &attributes, &become_rank, &rank);
    ::pthread_attr_destroy(&attributes);
    return error == 0;
}

int Host::run()
{
    for (const HostedProgram& each : programs_) {
        if (const auto loaded = load_shared_libraries(each); !loaded) {
            print("headway: " + loaded.sentence() + "\n");
            return not_started_exit_code;
        }
    }
    set_names();
    name_ranks_in_fatal_signals();
    // Both before there is a second thread, which would make them wait.
    make_room_for_descriptors(static_cast<std::size_t>(plan_.rank_count()) + descriptors_beside);
    first_rank_ =
        library_.table().host_ranks(plan_.first_rank, plan_.rank_count(), plan_.job_rank_count);
    watch_for_quit();
    int index = 0;
    for (std::size_t i = 0; i < programs_.size(); ++i) {
        for (int left = plan_.programs[i].rank_count; left > 0; --left, ++index) {
            const auto place = static_cast<std::size_t>(index);
            ranks_.push_back(std::make_unique<HostedRank>(
                *this, first_rank_ + index, plan_.programs[i], programs_[i],
                plan_.cpus.empty() ? std::vector<int>{} : plan_.cpus[place]));
        }
    }
    if (plan_.crew.is_wanted) {
        crew_ = std::make_unique<RankCrew>(plan_.crew, plan_.rank_count());
        crew_->listen_to(library_.table().schedule_ranks(&crew_->scheduling()));
    }
    // With a seed all ranks are there before the first one runs: when they come is up to the
    // system.
    const bool starts_late = plan_.crew.seed != 0;
    if (crew_ != nullptr && !starts_late) {
        start_crew();
    }
    start_ranks();
    if (crew_ != nullptr && starts_late) {
        start_crew();
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_count_ == ranks_.size(); });
    library_.table().close_ranks();
    if (plan_.crew.reports) {
        report_crew();
    }
    return exit_code_;
}

void Host::start_crew()
{
    if (!crew_->crew().start()) {
        end_job(*ranks_.front(), 1, no_thread);
    }
}

void Host::start_ranks()
{
    const auto admit = [this](std::size_t index) {
        ult::Task& task = ranks_[index]->task();
        ult::wait_for_birth(task.birth);
        crew_->admit(task, static_cast<int>(index));
    };
    const std::size_t count = ranks_.size();
    const std::size_t ahead = crew_ == nullptr ? count : births_at_once;
    for (std::size_t index = 0; index < count; ++index) {
        ranks_[index]->load_copy();
        if (!start(*ranks_[index])) {
            end_job(*ranks_[index], 1, no_thread);
        }
        if (index >= ahead) {
            admit(index - ahead);
        }
    }
    if (crew_ != nullptr) {
        for (std::size_t index = count - std::min(ahead, count); index < count; ++index) {
            admit(index);
        }
    }
}

void Host::report_crew() const
{
    std::size_t stack_bytes = 0;
    for (const auto& rank : ranks_) {
        stack_bytes = std::max(stack_bytes, rank->stack_bytes_used());
    }
    print(crew_->report(stack_bytes));
}

void Host::rank_ended(const HostedRank& rank, int code)
{
    const std::string others = std::max(plan_.rank_count(), plan_.job_rank_count) > 1
                                   ? "; the other ranks were ended"
                                   : "";
    const int low = code & 0xFF;  // as a process has it
    const std::string exited = "exited with code " + std::to_string(low);
    switch (library_.table().leave_rank()) {
        case HEADWAY_RANK_INSIDE:
            end_job(rank, low == 0 ? 1 : low,
                    (low == 0 ? "exited without calling MPI_Finalize or MPI_Session_finalize"
                              : exited) +
                        others);
        case HEADWAY_RANK_MISSED:
            end_job(
                rank, low == 0 ? 1 : low,
                "has exited while other ranks wait for it in MPI_Init or MPI_Finalize" + others);
        case HEADWAY_RANK_OUTSIDE:
            if (low != 0) {
                end_job(rank, low, exited + others);
            }
            break;
        default:
            // It has left MPI in good order, so the others can go on.
            if (low != 0) {
                print(name_of(rank) + " " + exited + "\n");
            }
    }
    const std::lock_guard lock(mutex_);
    exit_code_ = exit_code_ == 0 ? low : exit_code_;
    ++ended_count_;
    changed_.notify_all();
}

void Host::drop_output_of_others(const HostedRank& rank) const noexcept
{
    for (const auto& each : ranks_) {
        if (each.get() != &rank) {
            each->drop_output();
        }
    }
}

void Host::end_job(const HostedRank& rank, int code, std::string_view sentence)
{
    print(name_of(rank) + " " + std::string(sentence) + "\n");
    library_.table().end_job(code);
    libc_functions().immediate_exit(code);
    __builtin_unreachable();
}

}  // namespace headway::launch
