# SPDX-License-Identifier: Apache-2.0
"""`headway bench multirate OPTION ...`: runs bench/mpi/multirate.c once, with its own options.

The rate of messages between entities that are processes or threads: pairs (-p) or all to all (-a),
-n and -m ranks that send and receive (-m 0: receivers are threads of the senders), -x and -y
threads of each, -t pairs of threads, -s bytes, -w window, -i iterations, -W iterations before the
clock runs; -c a communicator a pair, -o overtaking allowed, -T receives from any tag, -N a tag a
pair and mpi_assert_no_any_tag, -S plain MPI_Init, -j JSON, -k payload check, -b no binding, -A rate
of each entity. Options of this command:
--ranks process, thread or ult (ours), --library NAME (headway or a rival), --stage FOLDER.

Exit codes: that of the program (1: a message was wrong), 2 could not run.
"""

from __future__ import annotations

import getopt
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from headway import bench, jobs, libraries, rivals

SHORT = "pan:m:x:y:t:s:w:i:W:coTNSjkbA"
OWN = ("ranks", "library", "stage", "help")


class UsageError(Exception):
    """What was asked for cannot be run; the text says what to change."""


def _counts(options: Sequence[tuple[str, str]]) -> tuple[int, bool]:
    """Ranks of the job, and whether each of them has one thread only."""
    values = {"-n": 1, "-m": 1, "-x": 1, "-y": 1, "-t": 1}
    for name, text in options:
        if name in values:
            if not text.isdecimal():
                raise UsageError(f"{name} needs a number, not {text!r}")
            values[name] = int(text)
    has_threads = values["-m"] == 0 or max(values["-x"], values["-y"], values["-t"]) > 1
    return values["-n"] + values["-m"], not has_threads


def _library(name: str, stage: Path, ranks_are: str) -> libraries.Library:
    if name == libraries.OURS:
        return libraries.ours(stage, ["--ranks", ranks_are] if ranks_are != "process" else [])
    if ranks_are != "process":
        raise UsageError("--ranks is an option of our own mpiexec; leave it out for a rival")
    if name not in rivals.RIVALS:
        known = ", ".join([libraries.OURS, *rivals.RIVALS])
        raise UsageError(f"no library {name!r}; take one of: {known}")
    return libraries.MAKERS[name](rivals.ensure([name])[name])


def command(arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The command line of the job and its environment, the program built. Raises UsageError, and
    what builds and rivals raise."""
    try:
        options, rest = getopt.gnu_getopt(list(arguments), SHORT, [f"{name}=" for name in OWN[:-1]])
    except getopt.GetoptError as error:
        raise UsageError(f"{error}; `headway bench multirate --help` lists the options") from None
    if rest:
        raise UsageError(f"nothing is called {rest[0]!r}; options begin with -")
    own = {name: text for name, text in options if name.startswith("--")}
    ranks, is_single = _counts(options)
    ranks_are = own.get("--ranks", "process")
    if ranks_are not in ("process", "thread", "ult"):
        raise UsageError(f"--ranks is process, thread or ult, not {ranks_are!r}")
    named = own.get("--stage") or os.environ.get("HEADWAY_STAGE")
    stage = Path(named or bench.ROOT / "build" / "stage").resolve()
    library = _library(own.get("--library", libraries.OURS), stage, ranks_are)
    compiler = library.own_compiler or stage / "bin" / "mpicc"
    if not compiler.exists():
        raise UsageError(f"no staged Headway in {stage}; run './dev build' or set HEADWAY_STAGE")
    output = bench.ROOT / "build" / "bench" if bench.IS_SOURCE_TREE else jobs.cache("bench")
    program = jobs.build(compiler, "multirate", bench.ROOT / "bench" / "mpi", output)
    cores = sorted(os.sched_getaffinity(0))
    # Processes with a thread each are bound by the launcher, threads by the program.
    pin = is_single and ranks <= len(cores) and ranks_are != "ult"
    plain = [word for name, text in options if not name.startswith("--")
             for word in ([name, text] if text else [name])]
    # Settings of the shell reach the job, but for what the library cannot do without.
    settings = dict(os.environ) | library.job_environment(ranks, cores, pin)
    return [*library.command(ranks, cores, pin), str(program), *plain], settings


def main(arguments: Sequence[str]) -> int:
    """Runs the job; returns its exit code."""
    if "--help" in arguments or "-h" in arguments:
        print(__doc__)
        return 0
    try:
        words, environment = command(arguments)
    except (UsageError, jobs.JobError, rivals.RivalError) as error:
        print(f"headway bench multirate: {error}.", file=sys.stderr)
        return 2
    return subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, check=False).returncode
