# SPDX-License-Identifier: Apache-2.0
"""Measures which algorithms of collectives are fastest on this machine and writes what beats the
built-in choice into a tuning file, which programs then take with HEADWAY_TUNING=FILE.

Every algorithm is forced in turn (HEADWAY_COLL_...), in interleaved rounds beside what is built
in, for several sizes, for as many ranks as there are cores and fewer, and for more; what wins is
measured once more. `headway info` shows what a file changes.

With --machine it fits the simulator's model of this machine instead, for headway sim --machine.

Exit code: 0 the file is written, 2 it could not be.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from headway import (
    bench,
    figures,
    fit,
    info,
    jobs,
    libraries,
    machine,
    presentation,
    rounds,
    study,
    tune_machine,
)
from headway.description import Description, Job, Metric, Variant
from headway.runner import Measured, Runner

PROGRAM = "collectives"
SOURCES = bench.ROOT / "bench/mpi"
METRIC = Metric("time_us", "us", lower_is_better=True)
# Collectives that the program measures, and its names of them.
CALLS = {
    "barrier": "Barrier", "bcast": "Bcast", "reduce": "Reduce", "allreduce": "Allreduce",
    "gather": "Gather", "scatter": "Scatter", "allgather": "Allgather", "alltoall": "Alltoall",
    "scan": "Scan", "exscan": "Exscan", "reduce_scatter": "Reduce_scatter_block",
}
# Values of what algorithms are tuned by that are tried.
PARAMETERS = {"radix": ("4", "8"), "ports": ("3",), "window": ("4",), "segments": ("8", "32")}
NEEDS_NODES = ("two_level", "many_leads")
RANKS_MAX = 1024
DELAY_MAX_US = 10_000_000


@dataclass(frozen=True)
class Effort:
    """budget_ms: of the samples of one size in one job."""

    sizes: tuple[int, ...]
    rounds: int
    budget_ms: float
    more_ranks: tuple[int, ...]  # than cores, as multiples of their number


FULL = Effort((8, 256, 1024, 4096, 1 << 14, 1 << 16, 1 << 18, 1 << 20), 9, 8.0, (2, 4))
QUICK = Effort((8, 4096, 1 << 16, 1 << 20), 5, 2.0, (2,))


class TuneError(Exception):
    """What keeps a machine from being measured; the text says what to change."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command line of `headway tune`."""
    parser.add_argument("--output", type=Path, default=Path("headway.tuning"), metavar="FILE",
                        help="the tuning file to write (default: %(default)s)")
    parser.add_argument("--quick", action="store_true",
                        help=f"{len(QUICK.sizes)} sizes, {QUICK.rounds} short rounds")
    parser.add_argument("--ranks", metavar="A,B",
                        help="numbers of ranks (default: from 2 by doubling up to the cores, and "
                             "twice and four times as many)")
    parser.add_argument("--collectives", metavar="A,B",
                        help=f"only these of: {', '.join(CALLS)}")
    parser.add_argument("--machine", type=Path, metavar="FILE",
                        help="fit the simulator's model instead and write it to FILE (ranks: those "
                             "with cores of their own, unless --ranks says others)")
    parser.add_argument("--delay-us", type=int, default=0, metavar="N",
                        help="with --machine: of a network that brings every frame so late")


def main(options: argparse.Namespace) -> int:
    """Runs what the command line says; progress and messages go to standard error."""
    try:
        return _tune_machine(options) if options.machine is not None else _tune(options)
    except (TuneError, jobs.JobError, rounds.MeasureError) as error:
        print(f"headway tune: {error}", file=sys.stderr)
        return 2


def _tune(options: argparse.Namespace) -> int:
    effort = QUICK if options.quick else FULL
    cores = sorted(os.sched_getaffinity(0))
    collectives = collectives_named(options.collectives)
    counts = (ranks_named(options.ranks) if options.ranks
              else rank_counts(len(cores), effort.more_ranks))
    stage = _stage()
    tried = candidates(_ask("choices", "--algorithms"), collectives)
    built_in = _ask("choices")
    with _new_file(options.output) as file:
        tell = bench.teller("tune", time.monotonic())
        tell(f"{', '.join(map(str, counts))} ranks on {len(cores)} cores; "
             f"{sum(map(len, tried.values()))} algorithms of {len(collectives)} collectives")
        bench_of = _benches(stage, tried, effort, cores)
        cells = [cell for count in counts
                 for cell in _measure(bench_of(count), tried, effort, built_in, tell)]
        heading = _heading(options, stage, cores)
        _write(file, fit.lines(fit.winners(cells)), heading)
        confirmed = _confirm(fit.winners(cells), file.name, bench_of, tell)
        found = fit.lines({cell: choice and choice[:2] for cell, choice in confirmed.items()})
        _write(file, found, heading)
        os.replace(file.name, options.output)
    print("\n".join(table(confirmed)))
    print(f"{options.output}: {len(found)} {'line' if len(found) == 1 else 'lines'}; "
          f"set HEADWAY_TUNING={options.output.resolve()} to use it")
    return 0


def _tune_machine(options: argparse.Namespace) -> int:
    """Fits the simulator's model."""
    if options.collectives:
        raise TuneError("--collectives says what a tuning file is for; leave it out with "
                        "--machine.")
    if not 0 <= options.delay_us <= DELAY_MAX_US:
        raise TuneError(f"--delay-us {options.delay_us}: write a number from 0 to {DELAY_MAX_US}.")
    cores = sorted(os.sched_getaffinity(0))
    own = [count for count in rank_counts(len(cores), ()) if count <= len(cores)]
    counts = ranks_named(options.ranks) if options.ranks else own or [2]
    stage = _stage()
    with _new_file(options.machine, "--machine") as file:
        tell = bench.teller("tune", time.monotonic())
        tell(f"{', '.join(map(str, counts))} ranks on {len(cores)} cores")
        measured = tune_machine.measure(
            stage, counts, cores, options.delay_us,
            tune_machine.ROUNDS_QUICK if options.quick else tune_machine.ROUNDS, tell)
        fitted = tune_machine.fit(measured, len(cores))
        file.write(machine.file_text(fitted, _heading(options, stage, cores)))
        file.flush()
        os.replace(file.name, options.machine)
    print("\n".join(tune_machine.report(fitted)))
    print(f"{options.machine}: take it with headway sim COLLECTIVE --nodes 1 --ppn "
          f"{counts[-1]} --machine {options.machine}")
    return 0


def collectives_named(text: str | None) -> list[str]:
    """Those that --collectives names; without it, all. Raises TuneError."""
    names = text.split(",") if text else list(CALLS)
    for name in names:
        if name not in CALLS:
            raise TuneError(f"--collectives: there is no {name!r} to measure; take some of: "
                            f"{', '.join(CALLS)}.")
    return list(dict.fromkeys(names))


def ranks_named(text: str) -> list[int]:
    """Those that --ranks names, ascending. Raises TuneError."""
    words = text.split(",")
    if not all(word.isdecimal() and 2 <= int(word) <= RANKS_MAX for word in words):
        raise TuneError(f"--ranks {text}: write numbers from 2 to {RANKS_MAX}, like 2,4,8.")
    return sorted({int(word) for word in words})


def rank_counts(cores: int, more: Iterable[int]) -> list[int]:
    """From 2 by doubling up to `cores`, these themselves, and multiples of them."""
    own = [1 << power for power in range(1, cores.bit_length()) if 1 << power <= cores]
    wanted = {*own, cores, *(cores * factor for factor in more)}
    return sorted(count for count in wanted if 2 <= count <= RANKS_MAX)


def candidates(listing: str, collectives: Sequence[str]) -> dict[str, list[str]]:
    """Words that force each algorithm of these collectives which one node can use. `listing`:
    "bcast: flat, knomial[:radix]" and its like."""
    found: dict[str, list[str]] = {}
    for line in listing.splitlines():
        collective, _, names = line.partition(": ")
        if collective in collectives:
            found[collective] = [word for name in names.split(", ") for word in _words(name)
                                 if word.partition(":")[0] not in NEEDS_NODES]
    return found


def _words(name: str) -> list[str]:
    """An algorithm with the values of its parameters that are tried."""
    word, *parameters = name.replace("]", "").split("[:")
    words = [word]
    for place, parameter in enumerate(parameters):
        values = PARAMETERS[parameter]
        # One value of the first of several is enough.
        is_last = place + 1 == len(parameters)
        words = [f"{each}:{value}" for each in words for value in (values if is_last
                                                                   else values[:1])]
    return words


def built_in_at(choices: str, collective: str, ranks: int, size: int, cores: str) -> str:
    """The algorithm of the first line that serves such a call on one node. `choices`: what
    `headway-study choices` prints."""
    for line in choices.splitlines():
        if line.startswith("#"):
            continue
        name, counts, sizes, where, nodes, algorithm = line.split()
        if (name == collective and fit.span_of(counts).holds(ranks)
                and fit.span_of(sizes).holds(size) and where in ("any", cores)
                and nodes in ("any", "one")):
            return algorithm
    raise TuneError(f"nothing serves {collective}; is the installation whole?")


def size_name(size: int) -> str:
    """As the program calls it: 8 B, 4 KiB."""
    for unit, power in (("MiB", 20), ("KiB", 10)):
        if size >= 1 << power:
            return f"{size >> power} {unit}"
    return f"{size} B"


def case_name(collective: str, size: int) -> str:
    """What the program calls a collective of a size."""
    return CALLS[collective] if not size else f"{CALLS[collective]} {size_name(size)}"


def sizes_of(collective: str, effort: Effort) -> Sequence[int]:
    """A barrier has none."""
    return (0,) if collective == "barrier" else effort.sizes


def turns(tried: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """The jobs of a round: in each, every collective that has one left takes its next algorithm."""
    return [{collective: words[turn] for collective, words in tried.items() if turn < len(words)}
            for turn in range(max(map(len, tried.values())))]


def label_of(turn: int) -> str:
    """Of the job of a round that takes everyone's algorithm number `turn`."""
    return f"algorithms {turn + 1}"


@dataclass(frozen=True)
class _Bench:
    """Jobs of a number of ranks on these cores. ours: the library and the program for it. ways:
    the environment of each job of a round."""

    ranks: int
    cores: Sequence[int]
    ours: Measured
    effort: Effort
    ways: Mapping[str, Variant]

    @property
    def has_cores(self) -> bool:
        """Each rank has one."""
        return self.ranks <= len(self.cores)

    def measure(self, cases: Sequence[str], ways: Mapping[str, Variant],
                tell: Callable[[str], None]) -> rounds.Findings:
        """Rounds of what is built in beside `ways`."""
        measured = {self.ours.library.label: self.ours}
        for way in ways.values():
            library = libraries.variant(self.ours.library, way)
            measured[way.label] = Measured(library, self.ours.binaries)
        job = Job(ranks=self.ranks, pin=self.has_cores, cases=tuple(cases))
        description = Description("tune", "", PROGRAM, len(self.cores), (METRIC,), (job,))
        runner = Runner(description, measured, self.cores, self.effort.budget_ms)
        plan = rounds.Plan(
            libraries=tuple(measured), ours=libraries.OURS, cases=tuple(cases), metrics=(METRIC,),
            rounds=self.effort.rounds, rounds_max=self.effort.rounds,
            variants={label: way.cases for label, way in ways.items()})
        return rounds.measure(plan, runner.run, lambda line: tell(f"{self.ranks} ranks: {line}"))


def _benches(stage: Path, tried: Mapping[str, Sequence[str]], effort: Effort,
             cores: Sequence[int]) -> Callable[[int], _Bench]:
    """Builds the program; who runs it with so many ranks."""
    if not SOURCES.is_dir():
        raise TuneError(f"{SOURCES} is missing; install Headway again.")
    binary = jobs.build(stage / "bin/mpicc", PROGRAM, SOURCES, jobs.cache("tune"))
    ours = Measured(libraries.ours(stage), {PROGRAM: binary})
    ways = {}
    for turn, forced in enumerate(turns(tried)):
        environment = {f"HEADWAY_COLL_{name.upper()}": word for name, word in forced.items()}
        ways[label_of(turn)] = Variant(label_of(turn), environment, tuple(_cases(forced, effort)))
    return lambda count: _Bench(count, cores, ours, effort, ways)


def _cases(collectives: Iterable[str], effort: Effort) -> list[str]:
    return [case_name(collective, size) for collective in collectives
            for size in sizes_of(collective, effort)]


def _measure(where: _Bench, tried: Mapping[str, Sequence[str]], effort: Effort, built_in: str,
             tell: Callable[[str], None]) -> list[fit.Cell]:
    """Measures everything that is tried with one number of ranks."""
    found = where.measure(_cases(tried, effort), where.ways, tell)
    cores = "own" if where.has_cores else "shared"
    cells = []
    for collective in tried:
        for size in sizes_of(collective, effort):
            case = case_name(collective, size)
            base = found.series(libraries.OURS, METRIC, case)
            speedups = {
                forced[collective]: list(figures.speedups(
                    found.series(label_of(turn), METRIC, case), base, True).values())
                for turn, forced in enumerate(turns(tried)) if collective in forced}
            name = built_in_at(built_in, collective, where.ranks, size, cores)
            cells.append(fit.Cell(collective, where.ranks, cores, size, name, speedups))
    return cells


# Of a cell: the algorithm, its speed-up, microseconds of what is built in and of the algorithm.
Confirmed = tuple[str, float, float, float]


def _confirm(chosen: Mapping[fit.Cell, tuple[str, float] | None], file: str,
             bench_of: Callable[[int], _Bench], tell: Callable[[str], None],
             ) -> dict[fit.Cell, Confirmed | None]:
    """Measures what was chosen once more, as the file says it, and keeps what holds."""
    label = "the file"
    kept: dict[fit.Cell, Confirmed | None] = dict.fromkeys(chosen)
    for ranks in sorted({cell.ranks for cell, choice in chosen.items() if choice}):
        cells = {case_name(cell.collective, cell.size): cell
                 for cell, choice in chosen.items() if choice and cell.ranks == ranks}
        way = Variant(label, {"HEADWAY_TUNING": file}, tuple(cells))
        found = bench_of(ranks).measure(tuple(cells), {label: way},
                                        lambda line: tell(f"once more, {line}"))
        for case, cell in cells.items():
            base = found.series(libraries.OURS, METRIC, case)
            tuned = found.series(label, METRIC, case)
            gain = fit.gain_of(list(figures.speedups(tuned, base, True).values()))
            choice = chosen[cell]
            if gain is not None and choice is not None:
                kept[cell] = (choice[0], gain, statistics.median(base.values()),
                              statistics.median(tuned.values()))
    return kept


def _write(file: IO[str], found: Sequence[fit.Line], heading: Sequence[str]) -> None:
    """Makes it the file's only content, and lets the library read it."""
    file.seek(0)
    file.truncate()
    file.write(file_text(found, heading))
    file.flush()
    _ask("choices", HEADWAY_TUNING=file.name)


def file_text(found: Sequence[fit.Line], heading: Sequence[str]) -> str:
    """The tuning file."""
    columns = (f"# {'collective':<14}{'ranks':<10}{'bytes':<16}{'cores':<8}{'nodes':<9}algorithm")
    rows = [line.text() for line in found] or ["# Nothing beats what is built in."]
    return "\n".join([*(f"# {line}" for line in heading), columns, *rows, ""])


def table(confirmed: Mapping[fit.Cell, Confirmed | None]) -> list[str]:
    """What is built in against what was chosen; calls that stay as they are are left out."""
    rows = [("collective", "ranks", "bytes", "built in", "us", "tuned", "us", "speed-up")]
    for cell, choice in confirmed.items():
        if choice is not None:
            word, gain, before_us, after_us = choice
            rows.append((cell.collective, str(cell.ranks),
                         size_name(cell.size) if cell.size else "-", cell.built_in,
                         f"{before_us:.2f}", word, f"{after_us:.2f}", f"{gain:.2f}"))
    same = sum(choice is None for choice in confirmed.values())
    return [*presentation.aligned(rows),
            f"{same} of {len(confirmed)} measured calls keep what is built in."]


def _heading(options: argparse.Namespace, stage: Path, cores: Sequence[int]) -> list[str]:
    try:
        version = info.Tools(stage / "lib/libmpi_abi.so.1").version()[0].splitlines()[0]
    except (OSError, info.InfoError):
        version = "unknown version"
    words = ["headway", "tune"]
    words += ["--quick"] if options.quick else []
    words += ["--ranks", options.ranks] if options.ranks else []
    words += ["--collectives", options.collectives] if options.collectives else []
    words += ["--machine", str(options.machine)] if options.machine else []
    words += ["--delay-us", str(options.delay_us)] if options.delay_us else []
    processor = presentation.machine()["processor"]
    return [f"{' '.join(words)}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {version}",
            f"{platform.node()}: {processor}, {len(cores)} cores, Linux {platform.release()}"]


def _stage() -> Path:
    stage = Path(os.environ.get("HEADWAY_STAGE", ""))
    if not (stage / "bin/mpicc").exists():
        raise TuneError("HEADWAY_STAGE names no installation; use the command `headway` of one.")
    return stage.resolve()


def _ask(*arguments: str, **settings: str) -> str:
    """What headway-study prints where nothing but these is set."""
    plain = {name: value for name, value in os.environ.items()
             if name == "HEADWAY_STAGE" or not name.startswith("HEADWAY_")}
    answer = study.ask(arguments, plain | settings)
    if answer.code != 0:
        raise TuneError(f"headway-study {' '.join(arguments)} failed.")
    return answer.text


@contextlib.contextmanager
def _new_file(target: Path, option: str = "--output") -> Iterator[IO[str]]:
    """A file that the caller gives its name when all is written; else nothing of it stays."""
    with contextlib.ExitStack() as opened:
        try:
            if target.is_dir():
                raise IsADirectoryError(errno.EISDIR, "it is a folder")
            file = opened.enter_context(tempfile.NamedTemporaryFile(
                "w", dir=target.parent, prefix=f".{target.name}.", delete=False))
        except OSError as error:
            raise TuneError(f"{option}: {target} cannot be written: {error.strerror}; name "
                            "another file.") from error
        opened.callback(Path(file.name).unlink, missing_ok=True)
        os.fchmod(file.fileno(), 0o644)
        yield file
