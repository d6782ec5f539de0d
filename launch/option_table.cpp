// SPDX-License-Identifier: Apache-2.0
#include "option_table.hpp"

namespace headway::launch {
namespace {

constexpr std::string_view not_handed_over =
    "Headway's mpiexec places ranks host by host; for another order start the program with "
    "srun --mpi=pmi2 or mpiexec.hydra";
constexpr std::string_view no_output_files =
    "mpiexec does not write files of output; use --label and redirect its output in the shell";
constexpr std::string_view no_debugger =
    "mpiexec has no debugger of its own; start one like a program: mpiexec -n 4 gdb ./program";
constexpr std::string_view always_ends =
    "a rank that dies always ends the job; running on without it is not built yet";
constexpr std::string_view no_file =
    "mpiexec does not read its command line from a file; write it in a shell script";
constexpr std::string_view no_gpus =
    "mpiexec does not assign GPUs; set CUDA_VISIBLE_DEVICES from MPI_LOCALRANKID in a script";

constexpr Option table[] = {
    {"n", Action::rank_count, 1, ""},
    {"np", Action::rank_count, 1, ""},
    {"c", Action::rank_count, 1, ""},
    {"ppn", Action::per_node, 1, ""},
    {"perhost", Action::per_node, 1, ""},
    {"ranks-per-node", Action::per_node, 1, ""},
    {"npernode", Action::per_node, 1, ""},
    {"N", Action::per_node, 1, ""},
    {"env", Action::set_variable, 1, ""},
    {"x", Action::export_variable, 1, ""},
    {"genv", Action::set_variable_for_all, 1, ""},
    {"envlist", Action::keep_variables, 1, ""},
    {"genvlist", Action::keep_variables_for_all, 1, ""},
    {"envnone", Action::keep_no_variable, 0, ""},
    {"genvnone", Action::keep_no_variable_for_all, 0, ""},
    {"envall", Action::accept, 0, ""},
    {"genvall", Action::accept, 0, ""},
    {"wdir", Action::directory, 1, ""},
    {"wd", Action::directory, 1, ""},
    {"chdir", Action::directory, 1, ""},
    {"bind-to", Action::bind_to, 1, ""},
    {"binding", Action::bind_to, 1, ""},
    {"bind-to-core", Action::bind_to, 0, "core"},
    {"bind-to-none", Action::bind_to, 0, "none"},
    {"map-by", Action::map_by, 1, ""},
    {"rank-by", Action::accept, 1, ""},
    {"rankmap", Action::refuse, 1, not_handed_over},
    {"cpus-per-rank", Action::cpus_per_rank, 1, ""},
    {"cpus-per-proc", Action::cpus_per_rank, 1, ""},
    {"report-bindings", Action::report_bindings, 0, ""},
    {"report", Action::report, 0, ""},
    {"progress", Action::progress, 1, ""},
    {"label", Action::label, 0, ""},
    {"l", Action::label, 0, ""},
    {"tag-output", Action::label, 0, ""},
    {"prepend-rank", Action::label, 0, ""},
    {"prepend-pattern", Action::refuse, 1, "the form of labels is fixed; use --label"},
    {"timeout", Action::timeout, 1, ""},
    {"ranks", Action::ranks, 1, ""},
    {"shared-lib", Action::shared_library, 1, ""},
    {"processes-per-node", Action::processes_per_node, 1, ""},
    {"workers", Action::workers, 1, ""},
    {"bind-ranks", Action::bind_ranks, 0, ""},
    {"stack-size", Action::stack_size, 1, ""},
    {"sleeps", Action::sleeps, 1, ""},
    {"report-workers", Action::report_workers, 0, ""},
    {"schedule-seed", Action::schedule_seed, 1, ""},
    {"stdin", Action::standard_input, 1, ""},
    {"s", Action::standard_input, 1, ""},
    {"host", Action::hosts, 1, ""},
    {"hosts", Action::hosts, 1, ""},
    {"H", Action::hosts, 1, ""},
    {"hostfile", Action::host_file, 1, ""},
    {"machinefile", Action::host_file, 1, ""},
    {"machine", Action::host_file, 1, ""},
    {"f", Action::host_file, 1, ""},
    {"rankfile", Action::refuse, 1, not_handed_over},
    {"rf", Action::refuse, 1, not_handed_over},
    {"help", Action::help, 0, ""},
    {"h", Action::help, 0, ""},
    {"?", Action::help, 0, ""},
    {"version", Action::version, 0, ""},
    {"V", Action::version, 0, ""},
    {"info", Action::version, 0, ""},
    {"oversubscribe", Action::accept, 0, ""},
    {"nooversubscribe", Action::accept, 0, ""},
    {"use-hwthread-cpus", Action::accept, 0, ""},
    {"allow-run-as-root", Action::accept, 0, ""},
    {"quiet", Action::accept, 0, ""},
    {"q", Action::accept, 0, ""},
    {"verbose", Action::accept, 0, ""},
    {"v", Action::accept, 0, ""},
    {"display-map", Action::accept, 0, ""},
    {"display-allocation", Action::accept, 0, ""},
    {"display", Action::accept, 1, ""},
    {"mca", Action::accept, 2, ""},
    {"gmca", Action::accept, 2, ""},
    {"prtemca", Action::accept, 2, ""},
    {"pmixmca", Action::accept, 2, ""},
    {"prefix", Action::accept, 1, ""},
    {"noprefix", Action::accept, 0, ""},
    {"launcher", Action::hydra, 1, ""},
    {"bootstrap", Action::hydra, 1, ""},
    {"launcher-exec", Action::hydra, 1, ""},
    {"rmk", Action::hydra, 1, ""},
    {"iface", Action::hydra, 1, ""},
    {"topolib", Action::accept, 1, ""},
    {"membind", Action::accept, 1, ""},
    {"demux", Action::accept, 1, ""},
    {"localhost", Action::accept, 1, ""},
    {"usize", Action::accept, 1, ""},
    {"order-nodes", Action::accept, 1, ""},
    {"hybrid-hosts", Action::accept, 0, ""},
    {"enable-x", Action::accept, 0, ""},
    {"disable-x", Action::accept, 0, ""},
    {"pmi-port", Action::accept, 0, ""},
    {"disable-hostname-propagation", Action::accept, 0, ""},
    {"skip-launch-node", Action::refuse, 0, not_handed_over},
    {"nameserver", Action::refuse, 1,
     "names are published within one job only so far; leave the option out"},
    {"configfile", Action::refuse, 1, no_file},
    {"app", Action::refuse, 1, no_file},
    {"tune", Action::refuse, 1, no_file},
    {"am", Action::refuse, 1, no_file},
    {"outfile-pattern", Action::refuse, 1, no_output_files},
    {"errfile-pattern", Action::refuse, 1, no_output_files},
    {"output-filename", Action::refuse, 1, no_output_files},
    {"output", Action::refuse, 1, no_output_files},
    {"xterm", Action::refuse, 1, "start it like a program: mpiexec -n 4 xterm -e ./program"},
    {"debug", Action::refuse, 0, no_debugger},
    {"tv", Action::refuse, 0, no_debugger},
    {"gdb", Action::refuse, 0, no_debugger},
    {"disable-auto-cleanup", Action::refuse, 0, always_ends},
    {"enable-recovery", Action::refuse, 0, always_ends},
    {"continuous", Action::refuse, 0, always_ends},
    {"with-ft", Action::refuse, 1, always_ends},
    {"gpus-per-proc", Action::refuse, 1, no_gpus},
    {"print-all-exitcodes", Action::refuse, 0,
     "mpiexec prints the exit code of the rank that ended the job, and no other"},
    {"profile", Action::refuse, 0, "the launcher keeps no profile of itself"},
    {"memory-alloc-kinds", Action::memory_kinds, 1, ""},
    {"initial-errhandler", Action::initial_handler, 1, ""},
};

}  // namespace

std::span<const Option> option_table() noexcept
{
    return table;
}

}  // namespace headway::launch
