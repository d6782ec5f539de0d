// SPDX-License-Identifier: Apache-2.0
#include "job.hpp"

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "crew_options.hpp"
#include "host/file_bytes.hpp"

namespace headway::launch {
namespace {

constexpr std::array forwarded_signals = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
                                          SIGUSR2, SIGTSTP, SIGCONT, SIGCHLD};

base::Failure system_failure(const std::string& what)
{
    return {what + ": " + std::strerror(errno)};
}

}  // namespace

Job::Rank::Rank(Destination& out_to, Destination& err_to, const std::string& label,
                std::size_t index)
    : streams{Stream{-1, LineStream(out_to, label, 2 * index)},
              Stream{-1, LineStream(err_to, label, 2 * index + 1)}}
{
}

Job::Job(Options options) : options_(std::move(options)), out_(STDOUT_FILENO), err_(STDERR_FILENO)
{
}

Job::~Job()
{
    for (const auto& rank : ranks_) {
        for (Stream& stream : rank->streams) {
            close_stream(stream);
        }
        close_pmi(*rank);
    }
    for (const int descriptor : {signals_, poll_, shared_descriptor_}) {
        if (descriptor >= 0) {
            ::close(descriptor);
        }
    }
}

base::Outcome Job::prepare()
{
    identity_ = {new_job_name(), options_.rank_count(), own_library_directory()};
    inherited_ = without_outer_job(own_environment());
    watcher_ = std::make_unique<Watcher>(identity_.job);
    // Every orphan of the job becomes a child of mpiexec, so that none gets lost.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGCHLD, SIG_DFL);
    sigset_t wanted;
    sigemptyset(&wanted);
    for (const int signal : forwarded_signals) {
        // What mpiexec was told to ignore (nohup, a shell's background job) it must not take.
        struct sigaction action{};
        if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) {
            sigaddset(&wanted, signal);
        }
    }
    ::sigprocmask(SIG_BLOCK, &wanted, &signals_before_);
    if (::getrlimit(RLIMIT_NOFILE, &descriptors_before_) == 0) {
        rlimit all = descriptors_before_;
        all.rlim_cur = all.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &all);
    }
    poll_ = ::epoll_create1(EPOLL_CLOEXEC);
    signals_ = ::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    if (poll_ < 0 || signals_ < 0) {
        return system_failure("cannot set up the launcher");
    }
    watch(signals_, EPOLLIN, Source::signals, 0);
    return base::Done{};
}

bool Job::can_give_stdin() const
{
    // In the background the terminal's input belongs to somebody else.
    const bool is_foreign_terminal =
        ::isatty(STDIN_FILENO) == 1 && ::tcgetpgrp(STDIN_FILENO) != ::getpgrp();
    return options_.gives_stdin && !is_foreign_terminal;
}

base::Outcome Job::start_ranks()
{
    // User-level ranks have no cores; their workers do.
    const Binding binding = options_.rank_host == RankHost::ult ? Binding::none : options_.binding;
    if (auto reserved = reserve(); !reserved) {
        set_exit_code(1);
        return reserved;
    }
    const bool fills_cores = reservation_ && !is_hosted() && options_.cpus_per_rank == 1 &&
                             binding == Binding::automatic;
    const auto places = fills_cores
                            ? share_cores(identity_.rank_count)
                            : place_ranks(binding, identity_.rank_count, options_.cpus_per_rank);
    if (!places) {
        set_exit_code(1);
        return base::Failure{places.sentence()};
    }
    std::vector<int> program_indices;
    for (std::size_t index = 0; index < options_.programs.size(); ++index) {
        const auto count = static_cast<std::size_t>(options_.programs[index].rank_count);
        program_indices.insert(program_indices.end(), count, static_cast<int>(index));
    }
    server_ = std::make_unique<PmiServer>(
        identity_.job, is_hosted()
                           ? std::vector<int>(static_cast<std::size_t>(options_.processes_per_node))
                           : program_indices);
    if (options_.reports_bindings) {
        for (std::size_t index = 0; index < places.value().size(); ++index) {
            say("rank " + std::to_string(index) + " is " + places.value()[index].description);
        }
    }
    show_map(places.value());
    if (is_hosted()) {
        return start_hosts(places.value());
    }
    for (std::size_t index = 0; index < program_indices.size(); ++index) {
        const auto program = static_cast<std::size_t>(program_indices[index]);
        if (auto started = start_rank(index, options_.programs[program], places.value()[index]);
            !started) {
            return base::Failure{"rank " + std::to_string(index) + ": " + started.sentence()};
        }
    }
    return base::Done{};
}

base::Outcome Job::start_rank(std::size_t index, const Program& program, const Place& place)
{
    ChildPlan plan;
    plan.arguments = program.arguments;
    plan.directory = program.directory;
    plan.cpus = place.cpus;
    EnvironmentChoice environment = combine(options_.environment, program.environment);
    if (reservation_) {
        const std::string clash =
            clash_of_places(*reservation_, value_in(inherited_, environment, "OMP_PLACES"));
        if (!clash.empty()) {
            return base::Failure{clash};
        }
        for (const auto& setting : openmp_of(place)) {
            if (value_in(inherited_, environment, setting.first).empty()) {
                environment.set.push_back(setting);
            }
        }
    }
    return start_process(index, std::move(plan), inherited_, environment, identity_);
}

/// Keeps cores for the threads that move messages, if the job's executor has such.
base::Outcome Job::reserve()
{
    std::string list;
    if (!find_dedicated(inherited_, options_.environment.set, list)) {
        return base::Done{};
    }
    auto chosen = choose_cores(list);
    if (!chosen) {
        return base::Failure{chosen.sentence()};
    }
    if (auto left = leave_cores(chosen.value()); !left) {
        return left;
    }
    reservation_ = std::move(chosen.value());
    std::string cpus;
    for (const int cpu : reservation_->cpus) {
        cpus += (cpus.empty() ? "" : ",") + std::to_string(cpu);
    }
    options_.environment.set.emplace_back("HEADWAY_PROGRESS", "dedicated:" + cpus);
    return base::Done{};
}

/// Of a rank that is a process.
std::vector<std::pair<std::string, std::string>> Job::openmp_of(const Place& place) const
{
    return openmp_settings(place, static_cast<int>(usable_cores().size()) / identity_.rank_count);
}

/// Which core moves messages, and where the ranks and their OpenMP threads are.
void Job::show_map(const std::vector<Place>& places)
{
    if (!reservation_) {
        return;
    }
    say(reservation_->description + " is dedicated to progress");
    for (std::size_t index = 0; index < places.size(); ++index) {
        std::string line = "rank " + std::to_string(index) + " is " + places[index].description;
        if (is_hosted()) {
            say(line);
            continue;
        }
        for (const auto& [name, value] : openmp_of(places[index])) {
            const std::string set = value_in(inherited_, options_.environment, name);
            line += ", " + name + "=" + (set.empty() ? value : set);
        }
        say(line);
    }
}

base::Outcome Job::start_hosts(const std::vector<Place>& places)
{
    HostPlan whole;
    for (const Program& each : options_.programs) {
        whole.programs.push_back(
            {each.rank_count, each.directory, each.arguments,
             environment_of_hosted(inherited_, combine(options_.environment, each.environment),
                                   identity_),
             each.shared_libraries});
    }
    for (const Place& each : places) {
        whole.cpus.push_back(each.cpus);
    }
    const Scheduling& scheduling = options_.scheduling;
    whole.job_rank_count = identity_.rank_count;
    whole.stack_kib = options_.stack_kib;
    whole.crew = crew_of(options_);
    const int count = options_.processes_per_node;
    // Workers are bound; one process has them on all cores.
    const bool shares_cores = whole.crew.is_wanted && count > 1;
    const auto homes = place_processes(shares_cores ? options_.binding : Binding::none, count);
    if (!homes) {
        set_exit_code(1);
        return base::Failure{homes.sentence()};
    }
    for (int index = 0; index < count; ++index) {
        const Place& home = homes.value()[static_cast<std::size_t>(index)];
        const int workers = scheduling.workers != 0 ? scheduling.workers : usable_cpu_count();
        if (shares_cores && (scheduling.workers != 0 || home.cpus.empty())) {
            whole.crew.workers = std::max(share_of(workers, count, index).count, 1);
        }
        // Processes that are not bound would all have their first workers on the first cpus.
        whole.crew.pins_workers = whole.crew.pins_workers && (!shares_cores || !home.cpus.empty());
        if (auto started = start_host(static_cast<std::size_t>(index), whole, home); !started) {
            return started;
        }
    }
    return base::Done{};
}

/// `whole` is a plan for one process with all ranks.
base::Outcome Job::start_host(std::size_t index, const HostPlan& whole, const Place& home)
{
    const HostPlan host = part_of(whole, ranks_of(index).first, ranks_of(index).count);
    const std::string bytes = to_bytes(host);
    const int file = make_memory_file(
        "headway-plan", std::as_bytes(std::span<const char>(bytes.data(), bytes.size())));
    if (file < 0) {
        return base::Failure{host.programs.front().arguments.front() + " " +
                             why_no_memory_file(errno)};
    }
    ChildPlan plan;
    plan.arguments = {own_program_directory() + "/headway-host", "--plan", std::to_string(file)};
    plan.plan_descriptor = file;
    plan.cpus = home.cpus;
    JobIdentity identity = identity_;
    identity.rank_count = options_.processes_per_node;
    auto started =
        start_process(index, std::move(plan), host.programs.front().environment, {}, identity);
    ::close(file);
    return started;
}

base::Outcome Job::start_process(std::size_t index, ChildPlan plan,
                                 const std::vector<std::string>& inherited,
                                 const EnvironmentChoice& environment, const JobIdentity& identity)
{
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        return system_failure("cannot make its PMI connection (raise ulimit -n?)");
    }
    plan.environment =
        environment_of_rank(inherited, environment, identity, static_cast<int>(index), ends[1]);
    plan.has_stdin = index == 0 && can_give_stdin();
    plan.pmi_descriptor = ends[1];
    plan.signals = signals_before_;
    plan.descriptors = descriptors_before_;
    is_prompt_possible_ = is_prompt_possible_ || (plan.has_stdin && ::isatty(STDIN_FILENO) == 1);
    const auto child = start_child(plan);
    ::close(ends[1]);
    if (!child) {
        ::close(ends[0]);
        return base::Failure{child.sentence()};
    }
    const std::string label = options_.has_label ? "[" + std::to_string(index) + "] " : "";
    Destination& err_to = err_.is_same_file(out_) ? out_ : err_;
    auto rank = std::make_unique<Rank>(out_, err_to, label, index);
    rank->pid = child.value().pid;
    rank->is_running = true;
    rank->pmi = ends[0];
    watch(rank->pmi, EPOLLIN, Source::pmi, index);
    rank->streams[0].descriptor = child.value().out;
    rank->streams[1].descriptor = child.value().err;
    ranks_.push_back(std::move(rank));
    ++running_count_;
    return base::Done{};
}

int Job::run()
{
    if (auto prepared = prepare(); !prepared) {
        say(prepared.sentence());
        update_destinations();
        return 1;
    }
    if (options_.timeout_s > 0) {
        timeout_ =
            Clock::now() + std::chrono::duration_cast<Clock::duration>(
                               std::chrono::duration<double>(std::min(options_.timeout_s, 1e9)));
    }
    if (auto started = start_ranks(); !started) {
        end_job(127, started.sentence());
        signal_ranks(SIGKILL);
    }
    go_on_if_all_ended();
    update_destinations();
    while (state_ != State::done) {
        poll_once();
    }
    watcher_.reset();
    remove_shared_memory(identity_.job);
    return exit_code_.value_or(0);
}

void Job::watch(int descriptor, std::uint32_t events, Source source, std::size_t index)
{
    epoll_event event{};
    event.events = events;
    event.data.u64 = (static_cast<std::uint64_t>(source) << 32U) | index;
    if (::epoll_ctl(poll_, EPOLL_CTL_ADD, descriptor, &event) != 0 && errno == EEXIST) {
        ::epoll_ctl(poll_, EPOLL_CTL_MOD, descriptor, &event);
    }
}

void Job::unwatch(int descriptor) const
{
    ::epoll_ctl(poll_, EPOLL_CTL_DEL, descriptor, nullptr);
}

int Job::timeout_ms() const
{
    Clock::time_point first = Clock::time_point::max();
    const auto consider = [&first](const Deadline& deadline) {
        first = std::min(first, deadline.value_or(Clock::time_point::max()));
    };
    for (const Deadline& deadline : {timeout_, kill_at_, sweep_at_, prompt_at_}) {
        consider(deadline);
    }
    for (const auto& rank : ranks_) {
        consider(rank->pmi_closed_until);
    }
    if (first == Clock::time_point::max()) {
        return -1;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - Clock::now()).count();
    return static_cast<int>(std::clamp<decltype(left)>(left, 0, 1'000'000));
}

void Job::poll_once()
{
    std::array<epoll_event, 64> events;
    const int count =
        ::epoll_wait(poll_, events.data(), static_cast<int>(events.size()), timeout_ms());
    for (int index = 0; index < count; ++index) {
        dispatch(events[static_cast<std::size_t>(index)].data.u64);
    }
    check_deadlines();
    go_on_if_all_ended();
    write_pmi();
    update_destinations();
}

void Job::dispatch(std::uint64_t tag)
{
    const auto index = static_cast<std::size_t>(tag & 0xffffffffU);
    switch (static_cast<Source>(tag >> 32U)) {
        case Source::signals:
            take_signals();
            break;
        case Source::pmi:
            read_pmi(index);
            break;
        case Source::out:
            read_stream(index, ranks_[index]->streams[0], 1);
            break;
        case Source::err:
            read_stream(index, ranks_[index]->streams[1], 1);
            break;
        case Source::destination:
            break;  // update_destinations() writes after every round
    }
}

void Job::check_deadlines()
{
    const auto now = Clock::now();
    const auto is_due = [now](Deadline& deadline) {
        const bool due = deadline && *deadline <= now;
        if (due) {
            deadline.reset();
        }
        return due;
    };
    if (is_due(timeout_) && state_ == State::running) {
        std::string seconds = std::to_string(options_.timeout_s);
        seconds.erase(seconds.find_last_not_of('0') + 1);
        seconds.erase(seconds.find_last_not_of('.') + 1);
        end_job(124, "the job ran longer than --timeout " + seconds + " s; the ranks were ended",
                // A host says where each of its ranks is, and ends.
                is_hosted() ? SIGQUIT : SIGTERM);
    }
    if (is_due(kill_at_)) {
        signal_ranks(SIGKILL);
    }
    if (is_due(prompt_at_) && !ranks_.empty()) {
        for (Stream& stream : ranks_[0]->streams) {
            stream.lines.show_unfinished();
        }
    }
    for (std::size_t index = 0; index < ranks_.size(); ++index) {
        Rank& rank = *ranks_[index];
        if (is_due(rank.pmi_closed_until) && rank.is_running) {
            end_job(1, name_of(index) + " closed its PMI connection without MPI_Finalize" +
                           std::string(and_others()));
        }
    }
    if (is_due(sweep_at_) && state_ == State::sweeping) {
        sweep();
    }
}

}  // namespace headway::launch
