# SPDX-License-Identifier: Apache-2.0
"""`headway bench NAME ...`: measures Headway beside the rivals, interleaved and pinned.

The protocol stands in rounds.py, what is measured in bench/<name>.toml. Rivals that are absent are
installed first (rivals.py). `all` is every bench in turn, and `network` every one whose name begins
with `network_`. `multirate` is a program with options of its own: `headway bench multirate --help`.
Exit code: 0 measured, 1 measured, but a required limit does not hold (only with --require), 2 could
not measure.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from headway import (
    callgrind,
    figures,
    jobs,
    libraries,
    presentation,
    rivals,
    rounds,
    summary,
)
from headway import description as descriptions
from headway.runner import Measured, Runner

# The source tree, or share/headway where this is installed: the benches are there as well.
ROOT = Path(__file__).resolve().parents[2]
IS_SOURCE_TREE = (ROOT / "dev").exists()
ROUNDS, ROUNDS_MAX, ROUNDS_QUICK = 9, 36, 5
LIMIT_QUICK_S = 38.0
CALIBRATIONS = 3

# Sampling time of one library in one round, shared by its cases; start-up comes on top.
SAMPLING_S, SAMPLING_QUICK_S = 1.2, 0.35
CASE_BUDGET_LEAST_MS = 5.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command line of `headway bench`."""
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="which bench; several, or all; without it they are listed")
    parser.add_argument(
        "--rivals",
        default=",".join(rivals.RIVALS),
        metavar="A,B",
        help="rivals to measure beside Headway (default: %(default)s; 'none' for none)",
    )
    parser.add_argument(
        "--libraries", metavar="A,B", help="exactly these libraries, of: headway and the rivals"
    )
    parser.add_argument("--quick", action="store_true",
                        help="5 short rounds, or as many as 40 s allow, but 2; of 'instructions' "
                        "the cases that have limits")
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds at least (default 9)")
    parser.add_argument("--cases", metavar="A;B",
                        help="these cases only; of a grid any cell: 'ibcast 1 x 64 ms'")
    parser.add_argument("--whole-grid", action="store_true",
                        help="of a bench with a grid all cells, not those of the diagonal")
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
        print(f"headway bench: {ROOT / 'bench'} is missing; install Headway again.",
              file=sys.stderr)
        return 2
    benches = descriptions.available(ROOT / "bench")
    if not options.names:
        print("benches:", ", ".join(benches))
        return 0
    names = benches if options.names == ["all"] else _named(options.names, benches)
    try:
        output = _open_json(options.json)
    except rounds.MeasureError as error:
        print(f"headway bench: {error}", file=sys.stderr)
        return 2
    return _benches(options, names, output)


def _named(names: Sequence[str], benches: Sequence[str]) -> list[str]:
    """The benches that `names` stand for: one, or all that begin with the name and `_`."""
    named: dict[str, None] = {}
    for name in names:
        parts = [bench for bench in benches if bench.startswith(f"{name}_")]
        named |= dict.fromkeys(parts if name not in benches and parts else [name])
    return list(named)


def _benches(options: argparse.Namespace, names: Sequence[str], output: TextIO | None) -> int:
    """Runs benches one after another; one that cannot be measured does not keep the others."""
    entries: list[dict[str, Any]] = []
    failed = False
    holds = True
    for name in names:
        try:
            found, holds_here = _bench(options, name)
        except (
            descriptions.DescriptionError,
            rivals.RivalError,
            jobs.JobError,
            rounds.MeasureError,
        ) as error:
            print(f"headway bench: {name}: {error}", file=sys.stderr)
            failed = True
            continue
        entries += found
        holds = holds and holds_here
        if output is not None:
            print("\n".join(json.dumps(entry) for entry in found), file=output, flush=True)
    if len(names) > 1 and output is not sys.stdout:
        print("\n".join(summary.lines(summary.claims(entries))))
    if failed:
        return 2
    return 1 if options.require and not holds else 0


def _bench(options: argparse.Namespace, name: str) -> tuple[list[dict[str, Any]], bool]:
    """Measures one bench, prints its table unless standard output is for JSON; returns what the
    JSON lines say, and whether all limits hold (one without a figure does not)."""
    description = descriptions.load(ROOT / "bench", name)
    if options.whole_grid:
        description = descriptions.restrict(description, descriptions.whole_grid(description))
    elif options.cases:
        description = descriptions.restrict(description, options.cases.split(";"))
    elif options.quick and description.quick_cases:
        description = descriptions.restrict(description, description.quick_cases)
    if any(job.is_counted for job in description.jobs):
        callgrind.require()
    too_wide = lacking(description)
    if too_wide:
        print(f"{name}: {description.title}", *presentation.not_measured(too_wide), sep="\n",
              file=sys.stderr if options.json == "-" else sys.stdout)
        return [], True
    libraries_named = _library_names(options, description)
    cores = choose_cores(description)
    measured = _prepare(options, libraries_named, description)
    plan = _make_plan(options, description, measured)
    shows_cma = not all(job.has_cma for job in description.jobs)
    is_on_hosts = all(job.hosts for job in description.jobs)
    settings = {label: libraries.settings_line(entry.library, shows_cma, is_on_hosts)
                for label, entry in measured.items()}
    about = {"machine": presentation.machine(), "cores": cores, "quick": options.quick,
             "date": time.strftime("%Y-%m-%d"), "command": _command_line(options, name)}
    sampling_s = SAMPLING_QUICK_S if options.quick else description.sampling_s or SAMPLING_S
    budget_ms = max(CASE_BUDGET_LEAST_MS, sampling_s * 1e3 / len(plan.cases))
    tell = teller("bench", time.monotonic())
    runner = Runner(description, measured, cores, budget_ms)
    work = runner.calibrate(plan, 1 if options.quick else CALIBRATIONS, tell)
    if work:
        about["work"] = work
    findings = rounds.measure(plan, runner.run, tell)
    shown = (description, plan, findings, settings, about)
    if options.json != "-":
        print(presentation.table(*shown), flush=True)
    holds = all(
        rounds.verdict(plan, findings, metric, case, limit) is figures.Verdict.HOLDS
        for metric, case, limit in plan.claims()
    )
    return presentation.entries(*shown), holds


def _command_line(options: argparse.Namespace, name: str) -> str:
    """What a reader types to measure the same."""
    parts = ["./dev" if IS_SOURCE_TREE else "headway", "bench", name]
    if options.quick:
        parts.append("--quick")
    if options.rounds:
        parts += ["--rounds", str(options.rounds)]
    if options.libraries:
        parts += ["--libraries", options.libraries]
    elif options.rivals != ",".join(rivals.RIVALS):
        parts += ["--rivals", options.rivals]
    if options.whole_grid:
        parts.append("--whole-grid")
    elif options.cases:
        parts += ["--cases", f"'{options.cases}'"]
    return " ".join(parts)


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


def lacking(description: descriptions.Description) -> dict[str, str]:
    """All cases of a bench that this machine has too few cores for, with that as the reason."""
    allowed = len(os.sched_getaffinity(0))
    if not description.may_lack_cores or allowed >= description.cores:
        return {}
    return dict.fromkeys((*description.cases, *description.not_measured),
                         f"needs {description.cores} cores, here are {allowed}")


def choose_cores(description: descriptions.Description) -> list[int]:
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
    output = ROOT / "build" / "bench" if IS_SOURCE_TREE else jobs.cache("bench")
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
        binaries = {
            program: jobs.build(compiler, program, ROOT / "bench" / "mpi", output,
                                description.has_openmp)
            for program in sorted(description.programs)
        }
        result[library.label] = Measured(library, binaries)
        for variant in description.variants:
            if (variant.of or libraries.OURS) != name:
                continue
            own = library if variant.of else libraries.ours(stage, variant.launcher)
            other = libraries.variant(own, variant)
            result[other.label] = Measured(
                other, binaries, variant.program, variant.arguments, variant.pin
            )
    return result


def _make_plan(
    options: argparse.Namespace,
    description: descriptions.Description,
    measured: Mapping[str, Measured],
) -> rounds.Plan:
    least = description.rounds or ROUNDS
    if options.quick:
        least = min(least, ROUNDS_QUICK)
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
        rival_variants=frozenset(each.label for each in description.variants if each.of),
        limit_s=LIMIT_QUICK_S if options.quick and not options.rounds else None,
    )


def teller(command: str, begin: float) -> Callable[[str], None]:
    """Prints progress lines of a command with the time since `begin` on standard error."""

    def tell(line: str) -> None:
        elapsed_s = time.monotonic() - begin
        print(f"headway {command}: {elapsed_s:4.0f} s  {line}", file=sys.stderr, flush=True)

    return tell
