// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

namespace headway::launch {

std::string_view usage() noexcept
{
    return R"(Usage: mpiexec [options] PROGRAM [arguments] [: [options] PROGRAM [arguments]]...
Starts the ranks of an MPI job and ends with the exit code of the first that failed. They run on
this machine, or on the hosts of --hosts, --hostfile, or the batch job that mpiexec is in (Slurm,
PBS, LSF, Grid Engine): there srun or mpiexec.hydra starts them, whichever there is.

Options of one program
  -n, -np, -c COUNT       number of ranks (1)
  -x NAME[=VALUE]         set a variable for the ranks (a name alone: ranks have it anyway)
  --env NAME=VALUE        the same; also Hydra's form -env NAME VALUE
  --wdir, -wd DIRECTORY   directory to start in
  --shared-lib NAME       with --ranks thread and ult: ranks of a process share this library of the
                          program's, which else each has of its own; may be given again
Options of the job
  --hosts A,B:2           hosts, and how many ranks each takes before the next one does (1)
  --hostfile FILE         the same from a file: a host a line, as NAME, NAME:2 or NAME slots=2
  --ppn COUNT             ranks of each host
  -genv NAME VALUE        set a variable for the ranks of all programs
  --bind-to core|none     bind each rank to cores of its own, or not at all
                          (core when there are enough cores, else none)
  --cpus-per-rank COUNT   cores a rank is bound to (1)
  --report-bindings       say which cores each rank is bound to
  --progress WHO          who moves messages of ranks that compute: none, agent (default), thread,
                          idle, timer, or dedicated[:CPUS]: a core (the first, or those of CPUS) is
                          kept for that, and ranks and their OpenMP threads keep off it
  --report                print a page at the end: time in MPI by rank and by call, bytes, wake-ups
  --initial-errhandler WHICH
                          what an error ends at first: all ranks (mpi_errors_are_fatal, the
                          default, or mpi_errors_abort), or only its call (mpi_errors_return)
  --label, -l             begin every line with the rank that wrote it
  --timeout SECONDS       end the job after that time, with exit code 124 (on other hosts Hydra's
                          own); before it, ranks that wait in MPI say where and for what
  --stdin 0|none          who reads standard input: rank 0 (default) or nobody
  --ranks process|thread|ult
                          what a rank is: a process (default), or a thread of one process for all
                          ranks (`headway check-host PROGRAM` says whether a program can be): the
                          system's, or a user-level one that a few workers run
  --processes-per-node COUNT
                          with thread and ult: processes that share out the ranks, in blocks (1)
  --workers COUNT         with ult: kernel threads that run the ranks (one a cpu), of all processes
  --bind-ranks            with ult: a rank stays with its worker
  --sleeps suspend|block  with ult: whether a rank that sleeps lets others run (suspend)
  --stack-size SIZE       with thread and ult: of each rank, as 256K or 8M (ulimit -s)
  --report-workers        with ult: say at the end what the workers did
  --schedule-seed NUMBER  with ult: one worker, and who runs next is drawn by this seed
  --help, --version

Signals: INT, TERM, HUP, USR1, USR2 and QUIT go to all ranks; a second INT or TERM within 5 seconds
kills them. Ctrl-Z stops the job and fg continues it. A rank that dies, or leaves without
MPI_Finalize, ends the job.
Under tools: mpiexec -n 4 gdb|valgrind|perf ... PROGRAM; rank 0 has the terminal's input.
Other well-known options of Hydra and Open MPI are accepted, or answered by name.
)";
}

}  // namespace headway::launch
