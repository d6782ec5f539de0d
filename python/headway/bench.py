# SPDX-License-Identifier: Apache-2.0
"""`headway bench NAME`: measures Headway beside the rivals, interleaved and pinned.

The protocol stands in rounds.py, what is measured in bench/<name>.toml. Rivals that are absent are
installed first (rivals.py). Exit code: 0 measured, 1 measured, but a required limit does not hold
(only with --require), 2 could not measure.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from headway import calibration, figures, jobs, libraries, presentation, rivals, rounds
from headway import description as descriptions

ROOT = Path(__file__).resolve().parents[2]
ROUNDS, ROUNDS_MAX, ROUNDS_QUICK = 9, 36, 5
CALIBRATIONS = 3

# Sampling time of one library in one round, shared by its cases; start-up comes on top.
SAMPLING_S, SAMPLING_QUICK_S = 1.2, 0.35
CASE_BUDGET_LEAST_MS = 5.0


@dataclass(frozen=True)
class Measured:
    """A library together with the binary it runs."""

    library: libraries.Library
    binary: Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command line of `headway bench`."""
    parser.add_argument("name", nargs="?", help="which bench; without it they are listed")
    parser.add_argument(
        "--rivals",
        default=",".join(rivals.RIVALS),
        metavar="A,B",
        help="rivals to measure beside Headway (default: %(default)s; 'none' for none)",
    )
    parser.add_argument(
        "--libraries", metavar="A,B", help="exactly these libraries, of: headway and the rivals"
    )
    parser.add_argument("--quick", action="store_true", help="5 short rounds, below 40 s")
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds at least (default 9)")
    parser.add_argument("--json", metavar="FILE", help="write JSON lines to FILE ('-': stdout)")
    parser.add_argument("--require", action="store_true", help="exit 1 unless all limits hold")
    parser.add_argument("--stage", help="staged Headway (default: HEADWAY_STAGE or build/stage)")
    parser.add_argument(
        "--rival-dir",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="environment that holds a rival already",
    )


def main(options: argparse.Namespace) -> int:
    """Runs what the command line says; messages for the user go to standard error."""
    if not (ROOT / "bench").is_dir():
        print("headway bench: the benches are part of the source tree; run './dev bench' there.",
              file=sys.stderr)
        return 2
    if not options.name:
        print("benches:", ", ".join(descriptions.available(ROOT / "bench")))
        return 0
    try:
        return _bench(options)
    except (
        descriptions.DescriptionError,
        rivals.RivalError,
        jobs.JobError,
        rounds.MeasureError,
    ) as error:
        print(f"headway bench: {error}", file=sys.stderr)
        return 2


def _bench(options: argparse.Namespace) -> int:
    description = descriptions.load(ROOT / "bench", options.name)
    output = _open_json(options.json)
    names = _library_names(options, description)
    cores = _choose_cores(description)
    measured = _prepare(options, names, description)
    plan = _make_plan(options, description, measured)
    settings = {label: entry.library.settings for label, entry in measured.items()}
    about = {"machine": presentation.machine(), "cores": cores, "quick": options.quick}
    sampling_s = SAMPLING_QUICK_S if options.quick else SAMPLING_S
    budget_ms = max(CASE_BUDGET_LEAST_MS, sampling_s * 1e3 / len(plan.cases))
    tell = _teller(time.monotonic())
    runner = Runner(description, measured, cores, budget_ms)
    work = runner.calibrate(plan, 1 if options.quick else CALIBRATIONS, tell)
    if work:
        about["work"] = work
    findings = rounds.measure(plan, runner.run, tell)
    shown = (description, plan, findings, settings, about)
    if output is not sys.stdout:
        print(presentation.table(*shown))
    if output is not None:
        print("\n".join(presentation.json_lines(*shown)), file=output, flush=True)
    holds = all(
        rounds.verdict(plan, findings, metric, case, limit) is figures.Verdict.HOLDS
        for metric, case, limit in plan.claims()
    )
    return 1 if options.require and not holds else 0


def _open_json(path: str | None) -> TextIO | None:
    """The stream for JSON lines, opened before minutes are spent; None where none is wanted."""
    if path is None:
        return None
    if path == "-":
        return sys.stdout
    try:
        return open(path, "w", encoding="utf-8")
    except OSError as error:
        raise rounds.MeasureError(f"--json: {error}; give a file that can be written.") from error


def _library_names(
    options: argparse.Namespace, description: descriptions.Description
) -> list[str]:
    if options.libraries:
        names = str(options.libraries).split(",")
    else:
        names = [libraries.OURS]
        if options.rivals != "none" and description.has_rivals:
            names += options.rivals.split(",")
    for name in names:
        if name != libraries.OURS and name not in rivals.RIVALS:
            known = ", ".join([libraries.OURS, *rivals.RIVALS])
            raise rounds.MeasureError(f"no library {name!r}; take some of: {known}.")
    if len(set(names)) != len(names):
        raise rounds.MeasureError("a library is named twice; name each once.")
    return names


def _choose_cores(description: descriptions.Description) -> list[int]:
    """The stated cores: the first ones this process may use. Confines itself, and so all jobs, to
    them, so that unpinned jobs compete for the same cores too."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < description.cores:
        raise rounds.MeasureError(
            f"bench {description.name} needs {description.cores} cores, but this process may use "
            f"{len(allowed)}; give it more (taskset, container settings)."
        )
    cores = allowed[: description.cores]
    os.sched_setaffinity(0, cores)
    return cores


def _rival_paths(options: argparse.Namespace, names: Sequence[str]) -> dict[str, Path]:
    given = {}
    for entry in options.rival_dir:
        name, separator, path = entry.partition("=")
        if not separator or name not in rivals.RIVALS:
            raise rivals.RivalError(
                f"--rival-dir needs NAME=PATH with a rival's name, not {entry!r}."
            )
        given[name] = Path(path).resolve()
        if not (given[name] / rivals.RIVALS[name].witness).exists():
            raise rivals.RivalError(
                f"--rival-dir: {path} holds no {rivals.RIVALS[name].label} "
                f"({rivals.RIVALS[name].witness} is missing); give its Python environment."
            )
    wanted = [name for name in names if name != libraries.OURS]
    absent = [name for name in wanted if name not in given]
    return {**given, **rivals.ensure(absent)}


def _prepare(
    options: argparse.Namespace, names: Sequence[str], description: descriptions.Description
) -> dict[str, Measured]:
    """Finds or installs every library and builds the program for each; by label."""
    stage = Path(options.stage or os.environ.get("HEADWAY_STAGE") or ROOT / "build" / "stage")
    stage = stage.resolve()
    paths = _rival_paths(options, names)
    is_staged = (stage / "bin" / "mpiexec").exists()
    if libraries.OURS in names and not is_staged:
        raise rounds.MeasureError(
            f"no staged Headway in {stage}; run './dev build' or set HEADWAY_STAGE."
        )
    abi_compiler = stage / "bin" / "mpicc"
    result = {}
    for name in names:
        if name == libraries.OURS:
            library = libraries.ours(stage, description.launcher)
        else:
            library = libraries.MAKERS[name](paths[name])
        compiler = library.own_compiler
        if compiler is None:
            if not is_staged:
                mpich = paths.get("mpich") or rivals.ensure(["mpich"])["mpich"]
                abi_compiler = mpich / "bin" / "mpicc_abi"
            compiler = abi_compiler
        binary = jobs.build(
            compiler, description.program, ROOT / "bench" / "mpi", ROOT / "build" / "bench"
        )
        result[library.label] = Measured(library, binary)
        for variant in description.variants if name == libraries.OURS else ():
            own = libraries.ours(stage, variant.launcher)
            other = libraries.variant(own, variant.label, variant.environment)
            result[other.label] = Measured(other, binary)
    return result


def _make_plan(
    options: argparse.Namespace,
    description: descriptions.Description,
    measured: Mapping[str, Measured],
) -> rounds.Plan:
    least = ROUNDS_QUICK if options.quick else ROUNDS
    wanted = max(1, options.rounds) if options.rounds else least
    return rounds.Plan(
        libraries=tuple(measured),
        ours=libraries.OURS if libraries.OURS in measured else None,
        cases=description.cases,
        metrics=description.metrics,
        rounds=wanted,
        rounds_max=wanted if options.quick else max(ROUNDS_MAX, wanted),
        variants={
            variant.label: variant.cases
            for variant in description.variants
            if variant.label in measured
        },
        own_cases=description.own_cases,
    )


@dataclass
class Runner:
    """Runs a library's jobs. work: arguments that hand over the calibrated work, if any."""

    description: descriptions.Description
    measured: Mapping[str, Measured]
    cores: Sequence[int]
    budget_ms: float
    work: list[str] = field(default_factory=list)

    def calibrate(
        self, plan: rounds.Plan, times: int, tell: Callable[[str], None]
    ) -> dict[str, Any]:
        """Lets every library measure its transfers `times` times and chooses the work of all runs
        to come; returns it for the reader, empty for a bench without calibration. Raises JobError
        where a library cannot run or is misplaced."""
        work_of_fastest = self.description.work_of_fastest
        if work_of_fastest is None:
            return {}
        results: dict[str, list[jobs.JobResult]] = {label: [] for label in plan.libraries}
        for number in range(times):
            for label in rounds.rotated(plan.libraries, number):
                result = self.run(label, plan.cases_of(label, plan.cases))
                if result.misplaced is not None:
                    raise jobs.JobError(f"{label} is not on the stated cores: {result.misplaced}")
                results[label].append(result)
        chosen = calibration.choose(results, plan.cases, work_of_fastest)
        self.work = calibration.option(chosen)
        tell("calibrated: the work of all cases is fixed")
        return {case: work.fields() for case, work in chosen.items()}

    def run(self, label: str, cases: Sequence[str]) -> jobs.JobResult:
        """Runs one library's jobs of a round and joins their results."""
        joined = jobs.JobResult()
        for job in self.description.jobs:
            wanted = [case for case in job.cases if case in cases]
            if not wanted:
                continue
            result = self._run_job(job, self.measured[label], wanted)
            if job.wall:
                metric = self.description.metrics[0]
                figure = _wall_figure(result.wall_s, metric.unit)
                result.samples = {metric.name: {wanted[0]: [figure]}}
            for name, by_case in result.samples.items():
                joined.samples.setdefault(name, {}).update(by_case)
            joined.skipped.update(result.skipped)
            joined.misplaced = joined.misplaced or result.misplaced
            joined.wall_s += result.wall_s
        return joined

    def _run_job(
        self, job: descriptions.Job, measured: Measured, cases: Sequence[str]
    ) -> jobs.JobResult:
        library = measured.library
        command = library.command(job.ranks, self.cores, job.pin)
        command += [str(measured.binary), "--budget-ms", f"{self.budget_ms:g}"]
        command += ["--cases", ";".join(cases)]
        if job.pin:
            command += ["--cores", ",".join(map(str, self.cores))]
        command += [*self.work, *job.arguments]
        environment = library.job_environment(job.ranks, self.cores, job.pin)
        return jobs.run(command, {**environment, **job.environment})


def _wall_figure(wall_s: float, unit: str) -> float:
    factors = {"s": 1.0, "ms": 1e3, "us": 1e6}
    if unit not in factors:
        raise rounds.MeasureError(f"wall = true needs a unit of time (s, ms, us), not {unit!r}.")
    return wall_s * factors[unit]


def _teller(begin: float) -> Callable[[str], None]:
    """Prints progress lines with the time since `begin` on standard error."""

    def tell(line: str) -> None:
        elapsed_s = time.monotonic() - begin
        print(f"headway bench: {elapsed_s:4.0f} s  {line}", file=sys.stderr, flush=True)

    return tell
