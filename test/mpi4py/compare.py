#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long mpi4py's tests take with Headway and with MPICH, and how much of the processors.

    ./dev test mpi4py --compare [--ranks 4] [--only REGEX] [--rival mpich | --rival none]

Runs the modules of must_pass.txt one after the other, each with both libraries in turn, at the same
number of ranks and unbound; then each with one rank of Headway. Prints the time of all of them over
the rival's (wanted: at most 0.5), and the processor time over that of as many single-rank runs
(wanted: at most 1.15). The tests and the build of mpi4py are the same: both speak the MPI ABI.
Names outside excluded.txt that pass with the rival and not with Headway are printed, and make it
fail.
"""

import argparse
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import suite  # noqa: E402  (the path has to be there first)

from tools import rivals, tree  # noqa: E402
from tools.terminal import StepFailed, end_session, say  # noqa: E402

WANTED_TIME = 0.5
WANTED_PROCESSOR = 1.15


@dataclass
class Cost:
    wall_s: float = 0.0
    processor_s: float = 0.0
    passed: set[str] = field(default_factory=set)

    def add(self, other: "Cost") -> None:
        self.wall_s += other.wall_s
        self.processor_s += other.processor_s
        self.passed |= other.passed


@dataclass(frozen=True)
class Library:
    label: str  # as its version begins
    mpiexec: Path
    folder: Path  # of its shared objects


def processor_s() -> float:
    """Of all processes that have ended and were waited for, by whoever started them."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(library: Library, installed: suite.Installation, ranks: int, module: str) -> Cost:
    log = tree.LOGS / f"mpi4py-compare-{library.label}-{module}-{ranks}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    environment = suite.environment(library.folder) | {"MPI4PY_TESTS_LIBRARY": library.label}
    with tempfile.TemporaryDirectory(prefix="headway-mpi4py-") as folder, log.open("wb") as output:
        before_s, begin_s = processor_s(), time.monotonic()
        process = subprocess.Popen(
            [library.mpiexec, "-n", str(ranks), installed.python, HERE / "one_rank.py",
             installed.tests, folder, module], stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True, env=environment)
        try:
            process.wait(timeout=suite.MODULE_LIMIT_S)
        except subprocess.TimeoutExpired:
            say(f"  {module} with {library.label}: not over after {suite.MODULE_LIMIT_S:g} s")
        finally:
            end_session(process)
        cost = Cost(time.monotonic() - begin_s, processor_s() - before_s)
        written = {rank: path.read_text() if path.is_file() else "" for rank, path in
                   ((rank, Path(folder) / f"rank-{rank}") for rank in range(ranks))}
        cost.passed = suite.merge(written).passed
    return cost


def verdict(value: float, wanted: float) -> str:
    return f"{value:.2f} (wanted: at most {wanted:g}; {'ok' if value <= wanted else 'not yet'})"


def report(ranks: int, rival: str, ours: Cost, theirs: Cost, single: Cost) -> Iterable[str]:
    yield (f"{ranks} ranks, headway: {ours.wall_s:.1f} s, {ours.processor_s:.1f} s of processors, "
           f"{len(ours.passed)} passed")
    if theirs.wall_s:
        yield (f"{ranks} ranks, {rival}: {theirs.wall_s:.1f} s, {theirs.processor_s:.1f} s of "
               f"processors, {len(theirs.passed)} passed")
    yield f"1 rank, headway: {single.wall_s:.1f} s, {single.processor_s:.1f} s of processors"
    if theirs.wall_s:
        yield f"time over {rival}'s: {verdict(ours.wall_s / theirs.wall_s, WANTED_TIME)}"
    share = ours.processor_s / (ranks * single.processor_s)
    yield f"processor time over {ranks} single-rank runs: {verdict(share, WANTED_PROCESSOR)}"


def behind(ours: set[str], theirs: set[str], excluded: dict[str, str]) -> list[str]:
    """Names that pass with the other library only, without those that need not."""
    return sorted(name for name in theirs - ours if not suite.exclusion_of(name, excluded))


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--stage", type=Path, default=tree.STAGE)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--only", default="", metavar="REGEX", help="modules of the list")
    parser.add_argument("--rival", default="mpich")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    names = suite.parse_list(suite.LIST.read_text())
    modules = sorted({name.partition(".")[0] for name in names
                      if re.search(options.only, name.partition(".")[0])})
    installed = suite.prepare(options.stage)
    ours = Library("Headway", options.stage / "bin" / "mpiexec", options.stage / "lib")
    theirs = None
    if options.rival != "none":
        prefix = rivals.folder_of(options.rival)
        theirs = Library(options.rival.upper(), prefix / "bin" / "mpiexec", prefix / "lib")
    many, other, single = Cost(), Cost(), Cost()
    for module in modules:
        costs = [run(ours, installed, options.ranks, module),
                 run(theirs, installed, options.ranks, module) if theirs else Cost(),
                 run(ours, installed, 1, module)]
        for total, cost in zip((many, other, single), costs, strict=True):
            total.add(cost)
        say(f"  {module:<24} " + ", ".join(
            f"{cost.wall_s:.1f} s ({cost.processor_s:.1f} s)" for cost in costs))
    for line in report(options.ranks, options.rival, many, other, single):
        say(line)
    only_there = behind(many.passed, other.passed, suite.parse_excluded(suite.EXCLUDED.read_text()))
    for name in only_there:
        say(f"  {name} passes with {options.rival} and not with Headway")
    if theirs:
        say(f"names that pass with {options.rival} only: {len(only_there)} (wanted: 0)")
    return 1 if only_there else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except StepFailed as failure:
        print(f"headway: {failure}", file=sys.stderr)
        sys.exit(1)
