// SPDX-License-Identifier: Apache-2.0
#include "hand_over.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "crew_options.hpp"
#include "environment.hpp"
#include "host/host_words.hpp"

namespace headway::launch {
namespace {

constexpr std::size_t hosts_shown = 4;

/// Empty: PATH has no such program.
std::string find_program(const std::string& name)
{
    const char* const value = std::getenv("PATH");
    std::string_view path(value == nullptr ? "" : value);
    while (!path.empty()) {
        const std::size_t end = path.find(':');
        const std::string file = std::string(path.substr(0, end)) + "/" + name;
        if (::access(file.c_str(), X_OK) == 0) {
            return file;
        }
        path.remove_prefix(end == std::string_view::npos ? path.size() : end + 1);
    }
    return {};
}

std::string joined(const std::vector<std::string>& words)
{
    std::string text;
    for (const std::string& word : words) {
        text += text.empty() ? "" : ",";
        text += word;
    }
    return text;
}

/// Ranks of a program: as many as its count says, else as many as --ppn makes on all hosts.
int count_of(const Program& program, const Options& options, const Allocation& allocation)
{
    const bool is_by_host = !program.has_count && options.per_host > 0;
    return is_by_host ? options.per_host * static_cast<int>(allocation.hosts.size())
                      : program.rank_count;
}

std::string hosts_of(const Allocation& allocation)
{
    Allocation shown = allocation;
    const std::size_t more =
        shown.hosts.size() > hosts_shown ? shown.hosts.size() - hosts_shown : 0;
    shown.hosts.resize(shown.hosts.size() - more);
    return shown.list(", ", false) + (more == 0 ? "" : " and " + std::to_string(more) + " more") +
           " (" + allocation.source + ")";
}

/// What only this mpiexec does. Empty: nothing of it is asked for.
std::string own_option(const Options& options)
{
    const bool binds_threads = options.rank_host != RankHost::process &&
                               (options.binding == Binding::core || options.cpus_per_rank > 1);
    return binds_threads              ? "binding ranks that are threads"
           : options.reports_bindings ? "--report-bindings"
                                      : "";
}

/// Ranks of each host that is used; 0: hosts take different numbers of them.
int ranks_a_host(const Options& options, const Allocation& allocation)
{
    if (options.per_host > 0) {
        return options.per_host;
    }
    const int slots = allocation.hosts.front().slots;
    int ranks = 0;
    for (const Program& program : options.programs) {
        ranks += program.rank_count;
    }
    const auto has_as_many = [&](const Host& host) { return host.slots == slots; };
    const int hosts = static_cast<int>(allocation.hosts.size());
    if (!std::ranges::all_of(allocation.hosts, has_as_many)) {
        return 0;
    }
    return ranks <= slots * hosts ? std::min(slots, ranks) : ranks % hosts == 0 ? ranks / hosts : 0;
}

/// The job as the other launcher sees it: one of host programs, each with as many ranks.
base::Result<Options> as_processes(const Options& options, const Allocation& allocation)
{
    const int per_host = ranks_a_host(options, allocation);
    const int ranks = per_host / options.processes_per_node;
    const std::string cure =
        "; choose -n and --ppn so that they come out even, or take --ranks process";
    if (ranks == 0 || per_host % options.processes_per_node != 0) {
        return base::Failure{
            "ranks that are threads are as many in every process of a job on several hosts, which "
            "they cannot be here" +
            cure};
    }
    Options made = options;
    made.rank_host = RankHost::process;
    made.per_host = options.processes_per_node;
    for (Program& program : made.programs) {
        const int count = program.has_count || options.per_host == 0
                              ? program.rank_count
                              : per_host * static_cast<int>(allocation.hosts.size());
        if (count % ranks != 0) {
            return base::Failure{"every process of the job hosts " + std::to_string(ranks) +
                                 " ranks, and " + std::to_string(count) + " of '" +
                                 program.arguments.front() + "' leave some over" + cure};
        }
        HostPlan plan;
        plan.stack_kib = options.stack_kib;
        plan.crew = crew_of(options);
        plan.programs.push_back({ranks, {}, program.arguments, {}, program.shared_libraries});
        program.arguments = to_words(plan);
        program.arguments.insert(program.arguments.begin(),
                                 own_program_directory() + "/headway-host");
        program.rank_count = count / ranks;
        program.has_count = true;
    }
    return made;
}

base::Result<Command> command_of_srun(const Options& options, const Allocation& allocation,
                                      const std::string& path)
{
    if (options.timeout_s > 0) {
        return base::Failure{
            "srun ends jobs by whole minutes only; leave --timeout out and set SLURM_TIMELIMIT"};
    }
    if (options.programs.size() != 1) {
        return base::Failure{
            "srun starts one program a job; give one, or have it choose by MPI_Comm_rank what it "
            "does"};
    }
    const Program& program = options.programs.front();
    const EnvironmentChoice environment = combine(options.environment, program.environment);
    Command command;
    std::vector<std::string>& words = command.words;
    words = {path, "--mpi=pmi2",
             "--ntasks=" + std::to_string(count_of(program, options, allocation))};
    const auto add = [&words](bool is_wanted, const std::string& word) {
        if (is_wanted) {
            words.push_back(word);
        }
    };
    add(options.per_host > 0, "--ntasks-per-node=" + std::to_string(options.per_host));
    add(!allocation.is_slurm, "--nodes=" + std::to_string(allocation.hosts.size()));
    add(!allocation.is_slurm, "--nodelist=" + allocation.list(",", false));
    add(options.binding == Binding::core, "--cpu-bind=cores");
    add(options.binding == Binding::none, "--cpu-bind=none");
    add(options.cpus_per_rank > 1, "--cpus-per-task=" + std::to_string(options.cpus_per_rank));
    add(options.has_label, "--label");
    add(!options.gives_stdin, "--input=none");
    add(!program.directory.empty(), "--chdir=" + program.directory);
    if (environment.kept) {
        std::vector<std::string> names = *environment.kept;
        for (const auto& [name, value] : environment.set) {
            names.push_back(name);
        }
        words.push_back("--export=" + (names.empty() ? "NONE" : joined(names)));
    }
    command.set = environment.set;
    words.insert(words.end(), program.arguments.begin(), program.arguments.end());
    return command;
}

/// Variables as options of Hydra: -env for one program, -genv for all.
void add_environment(const EnvironmentChoice& choice, const std::string& prefix,
                     std::vector<std::string>& words)
{
    if (choice.kept) {
        if (choice.kept->empty()) {
            words.push_back(prefix + "envnone");
        } else {
            words.insert(words.end(), {prefix + "envlist", joined(*choice.kept)});
        }
    }
    for (const auto& [name, value] : choice.set) {
        words.insert(words.end(), {prefix + "env", name, value});
    }
}

Command command_of_hydra(const Options& options, const Allocation& allocation,
                         const std::string& path)
{
    Command command;
    std::vector<std::string>& words = command.words;
    words = {path};
    words.insert(words.end(), options.for_hydra.begin(), options.for_hydra.end());
    // With slots it fills a host after the other and takes no notice of -ppn.
    words.insert(words.end(), {"-hosts", allocation.list(",", options.per_host == 0)});
    if (options.per_host > 0) {
        words.insert(words.end(), {"-ppn", std::to_string(options.per_host)});
    }
    if (options.binding != Binding::automatic) {
        const std::string width =
            options.cpus_per_rank > 1 ? ":" + std::to_string(options.cpus_per_rank) : "";
        words.insert(words.end(),
                     {"-bind-to", options.binding == Binding::core ? "core" + width : "none"});
    }
    if (options.has_label) {
        words.emplace_back("-prepend-rank");
    }
    if (!options.gives_stdin) {
        words.insert(words.end(), {"-s", "none"});
    }
    if (options.timeout_s > 0) {
        command.set.emplace_back(
            "MPIEXEC_TIMEOUT",
            std::to_string(std::lround(std::ceil(std::min(options.timeout_s, 1e9)))));
    }
    add_environment(options.environment, "-g", words);
    bool is_first = true;
    for (const Program& program : options.programs) {
        if (!std::exchange(is_first, false)) {
            words.emplace_back(":");
        }
        words.insert(words.end(), {"-n", std::to_string(count_of(program, options, allocation))});
        if (!program.directory.empty()) {
            words.insert(words.end(), {"-wdir", program.directory});
        }
        add_environment(program.environment, "-", words);
        words.insert(words.end(), program.arguments.begin(), program.arguments.end());
    }
    return command;
}

}  // namespace

Launchers find_launchers()
{
    return {find_program("srun"), find_program("mpiexec.hydra"), find_program("prterun")};
}

base::Result<Command> command_on_hosts(const Options& options, const Allocation& allocation,
                                       const Launchers& launchers)
{
    const std::string job = "the job is for " + hosts_of(allocation) + ", and ";
    if (const std::string name = own_option(options); !name.empty()) {
        return base::Failure{job + name +
                             " is for jobs on this machine only; leave it out, or "
                             "give --hosts localhost"};
    }
    if (options.rank_host != RankHost::process) {
        const auto processes = as_processes(options, allocation);
        return processes ? command_on_hosts(processes.value(), allocation, launchers)
                         : base::Result<Command>(base::Failure{job + processes.sentence()});
    }
    // Outside of a job of its own, srun would ask for one and wait.
    const bool has_slurm_job = allocation.is_slurm || std::getenv("SLURM_JOB_ID") != nullptr;
    if (has_slurm_job && !launchers.srun.empty()) {
        return command_of_srun(options, allocation, launchers.srun);
    }
    if (!launchers.hydra.empty()) {
        return command_of_hydra(options, allocation, launchers.hydra);
    }
    const std::string wanted =
        has_slurm_job ? "neither srun nor mpiexec.hydra" : "no mpiexec.hydra";
    const std::string prterun =
        launchers.prterun.empty() ? "" : " (prterun is; start the job by it instead of mpiexec)";
    return base::Failure{job + wanted + " is on PATH" + prterun +
                         "; load a module that has one, such as MPICH, or give --hosts localhost"};
}

base::Failure hand_over(const Options& options, const Allocation& allocation)
{
    const auto command = command_on_hosts(options, allocation, find_launchers());
    if (!command) {
        return base::Failure{command.sentence()};
    }
    EnvironmentChoice settings;
    settings.set = command.value().set;
    const std::vector<std::string> environment = environment_of_launcher(
        without_outer_job(own_environment()), settings, own_library_directory());
    const std::vector<char*> words = pointers_to(command.value().words);
    const std::vector<char*> variables = pointers_to(environment);
    std::fprintf(stderr, "headway mpiexec: on %s, started by %s\n", hosts_of(allocation).c_str(),
                 words[0]);
    ::execve(words[0], words.data(), variables.data());
    return base::Failure{std::string("cannot start ") + words[0] + " (" + std::strerror(errno) +
                         "); is it a program of this machine?"};
}

}  // namespace headway::launch
