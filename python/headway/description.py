# SPDX-License-Identifier: Apache-2.0
"""What a bench measures, read from `bench/<name>.toml`.

title    = one line for the table
program  = C program bench/mpi/<program>.c, built with harness.c for every library
cores    = how many cores the jobs share (default 2)
rivals   = false: only ours can do it, no rival is measured (default true)
launcher = further arguments of our mpiexec (default none)
rounds   = so many rounds suffice, for figures that hardly vary (default: those of the protocol)

[[metric]]         one or more figures, each printed by the program for every case
name     = as the program calls it, unit last (`oneway_us`); unit = how it is printed
better   = "lower" (times) or "higher" (rates)
judged   = "speedup" over the best rival (default), or "value": ours by itself, for figures whose
           ratio says nothing
note     = one line that explains the figure (default none)
[metric.limits]    "case" = { required = R, aim = A, against = LIBRARY }, or a list of them. R and A
           are speed-ups (against the best rival unless `against` names a library), or values;
           at_most = true: the speed-up may be R at most (what a variant may cost); rounds = N:
           judged after so many rounds at least. The case "geometric mean" is the mean of the
           speed-ups of all cases over the best rival of each

[[job]]            one or more; a round runs all of them with every library
ranks    = number of ranks
pin      = true: each rank on a core of its own, checked by the program; false: not bound
hosts    = so many hosts made of network namespaces (hosts.py) share the ranks; with pin = true each
           has a core of its own (default 0: this machine)
cases    = names of cases, as the program calls them
called   = what the program calls these cases, one by one (default: the same)
program  = C program of this job (default: the bench's)
arguments = further arguments of the program (default none)
launcher = arguments of our mpiexec in the place of the bench's, or of a variant's
environment = { NAME = "value" } for the program (default none)
cma      = false: every library runs with its setting that refuses process_vm_readv (default true)
rivals   = false: no rival runs this job (default true)
wall     = true: the driver itself times the whole job and takes that, in the first metric's unit,
           as a sample of the only case (for start-up times; default false); repeated while the
           time for samples lasts
count    = true: instructions a repetition, counted by callgrind (callgrind.py; default false)
without  = { LIBRARY = "why it cannot run this job" } (default none)

[[difference]]     a case that nobody runs, of two that are run, in every metric
case     = its name; of, minus = the two cases: what one is more than the other, or
of, by   = how many times the other it is
parts    = a difference is divided by so many (default 1)

[[variant]]        ours with settings other than the defaults, measured beside it, never a rival
label    = its name in tables and limits
environment = { HEADWAY_NAME = "value" } (default none)
launcher = arguments of mpiexec in the place of the bench's (default: the bench's)
program, arguments = in the place of the job's (default: the job's)
cases    = the cases it runs

[calibration]      fixed work, chosen once before the rounds and the same for all (calibration.py)
work_of_fastest = the work takes so many times the fastest library's transfer
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

GEOMETRIC_MEAN = "geometric mean"


class DescriptionError(Exception):
    """A description that cannot be used; the text names the file and what to change."""


@dataclass(frozen=True)
class Limit:
    """What is required of a figure, and what we aim for (None: no aim): a speed-up over `against`
    (None: the best rival), or a value of ours; the metric says which. rounds: how many it takes
    at least to judge it."""

    required: float
    aim: float | None = None
    against: str | None = None
    at_most: bool = False
    rounds: int = 0


@dataclass(frozen=True)
class Metric:
    """One figure of every case. is_value: ours is judged by its value, not by a speed-up."""

    name: str
    unit: str
    lower_is_better: bool
    limits: Mapping[str, tuple[Limit, ...]] = field(default_factory=dict)
    is_value: bool = False
    note: str = ""


@dataclass(frozen=True)
class Job:
    """One mpiexec of the program."""

    ranks: int
    pin: bool
    cases: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    wall: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    has_rivals: bool = True
    called: tuple[str, ...] = ()
    program: str | None = None
    has_cma: bool = True
    is_counted: bool = False
    without: Mapping[str, str] = field(default_factory=dict)
    hosts: int = 0
    launcher: tuple[str, ...] | None = None

    def name_in_program(self, case: str) -> str:
        """What the program calls one of the cases."""
        return self.called[self.cases.index(case)] if self.called else case


@dataclass(frozen=True)
class Difference:
    """What the case `of` is more than the case `base`, by so many parts, or how many times it."""

    case: str
    of: str
    base: str
    parts: int = 1
    is_quotient: bool = False


@dataclass(frozen=True)
class Variant:
    """Ours with settings other than the defaults, or another program beside it."""

    label: str
    environment: Mapping[str, str]
    cases: tuple[str, ...]
    launcher: tuple[str, ...] = ()
    program: str | None = None
    arguments: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Description:
    """One bench; see the head of this file. work_of_fastest: None where nothing is calibrated."""

    name: str
    title: str
    program: str
    cores: int
    metrics: tuple[Metric, ...]
    jobs: tuple[Job, ...]
    variants: tuple[Variant, ...] = ()
    work_of_fastest: float | None = None
    has_rivals: bool = True
    launcher: tuple[str, ...] = ()
    rounds: int | None = None
    differences: tuple[Difference, ...] = ()

    @property
    def programs(self) -> set[str]:
        """All C programs of the bench."""
        named = [job.program for job in self.jobs]
        named += [variant.program for variant in self.variants]
        return {name or self.program for name in named}

    @property
    def cases(self) -> tuple[str, ...]:
        """All cases in the order of the table."""
        run = (case for job in self.jobs for case in job.cases)
        return (*run, *(difference.case for difference in self.differences))

    @property
    def own_cases(self) -> tuple[str, ...]:
        """Those that no rival runs."""
        return tuple(case for job in self.jobs if not job.has_rivals for case in job.cases)


def parse(name: str, text: str) -> Description:
    """Makes a description from the text of `bench/<name>.toml`; raises DescriptionError."""
    where = f"bench/{name}.toml"
    try:
        table = tomllib.loads(text)
        calibration = table.get("calibration")
        launcher = tuple(table.get("launcher", ()))
        description = Description(
            name=name,
            title=table["title"],
            program=table["program"],
            cores=int(table.get("cores", 2)),
            metrics=tuple(_parse_metric(entry) for entry in table["metric"]),
            jobs=tuple(_parse_job(entry) for entry in table["job"]),
            variants=tuple(
                _parse_variant(entry, launcher) for entry in table.get("variant", ())
            ),
            launcher=launcher,
            has_rivals=bool(table.get("rivals", True)),
            differences=tuple(
                _parse_difference(entry)
                for entry in table.get("difference", ())
            ),
            rounds=None if "rounds" not in table else int(table["rounds"]),
            work_of_fastest=None if calibration is None else float(calibration["work_of_fastest"]),
        )
    except tomllib.TOMLDecodeError as error:
        raise DescriptionError(f"{where}: {error}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise DescriptionError(
            f"{where}: {error} is missing or not understood; the keys stand at the head of "
            "python/headway/description.py."
        ) from error
    _check(where, description)
    return description


def load(bench_directory: Path, name: str) -> Description:
    """Reads the description of bench `name`; raises DescriptionError naming the ones there are."""
    path = bench_directory / f"{name}.toml"
    if not path.is_file():
        names = ", ".join(available(bench_directory)) or "none"
        raise DescriptionError(f"Headway has no bench {name!r}; there are: {names}.")
    return parse(name, path.read_text(encoding="utf-8"))


def available(bench_directory: Path) -> list[str]:
    """Names of the benches that have a description."""
    return sorted(path.stem for path in bench_directory.glob("*.toml"))


def _parse_metric(entry: dict[str, Any]) -> Metric:
    return Metric(
        name=entry["name"],
        unit=entry["unit"],
        lower_is_better={"lower": True, "higher": False}[entry["better"]],
        limits={case: _parse_limits(value) for case, value in entry.get("limits", {}).items()},
        is_value={"speedup": False, "value": True}[entry.get("judged", "speedup")],
        note=str(entry.get("note", "")),
    )


def _parse_limits(value: dict[str, Any] | list[dict[str, Any]]) -> tuple[Limit, ...]:
    entries = value if isinstance(value, list) else [value]
    return tuple(
        Limit(float(entry["required"]), _optional_float(entry.get("aim")), entry.get("against"),
              bool(entry.get("at_most", False)), int(entry.get("rounds", 0)))
        for entry in entries
    )


def _parse_variant(entry: dict[str, Any], launcher: tuple[str, ...]) -> Variant:
    arguments = entry.get("arguments")
    return Variant(
        label=entry["label"],
        environment=_parse_environment(entry),
        cases=tuple(entry["cases"]),
        launcher=tuple(entry.get("launcher", launcher)),
        program=entry.get("program"),
        arguments=None if arguments is None else tuple(arguments),
    )


def _parse_difference(entry: dict[str, Any]) -> Difference:
    is_quotient = "by" in entry
    base = entry["by" if is_quotient else "minus"]
    return Difference(entry["case"], entry["of"], base, int(entry.get("parts", 1)), is_quotient)


def _parse_environment(entry: dict[str, Any]) -> dict[str, str]:
    return {str(name): str(value) for name, value in entry.get("environment", {}).items()}


def _parse_job(entry: dict[str, Any]) -> Job:
    return Job(
        ranks=int(entry["ranks"]),
        pin=bool(entry["pin"]),
        cases=tuple(entry["cases"]),
        arguments=tuple(entry.get("arguments", ())),
        wall=bool(entry.get("wall", False)),
        environment=_parse_environment(entry),
        has_rivals=bool(entry.get("rivals", True)),
        called=tuple(entry.get("called", ())),
        program=entry.get("program"),
        has_cma=bool(entry.get("cma", True)),
        is_counted=bool(entry.get("count", False)),
        without=dict(entry.get("without", {})),
        hosts=int(entry.get("hosts", 0)),
        launcher=tuple(entry["launcher"]) if "launcher" in entry else None,
    )


def _optional_float(value: Any) -> float | None:
    return None if value is None else float(value)


def _check(where: str, description: Description) -> None:
    cases = description.cases
    if len(set(cases)) != len(cases):
        raise DescriptionError(f"{where}: a case stands there twice; give each its own name.")
    if not description.metrics:
        raise DescriptionError(f"{where}: no [[metric]]; a bench needs one at least.")
    for metric in description.metrics:
        _check_limits(where, description, metric)
    for variant in description.variants:
        unknown = [case for case in variant.cases if case not in cases]
        if unknown:
            raise DescriptionError(
                f"{where}: variant {variant.label!r} wants {unknown[0]!r}, which no job has as a "
                "case."
            )
    for difference in description.differences:
        for case in (difference.of, difference.base):
            if not any(case in job.cases for job in description.jobs):
                raise DescriptionError(
                    f"{where}: the difference {difference.case!r} is between cases of jobs, and "
                    f"{case!r} is none."
                )
    for job in description.jobs:
        _check_job(where, description, job)


def _check_job(where: str, description: Description, job: Job) -> None:
    if job.pin and job.ranks > description.cores:
        raise DescriptionError(
            f"{where}: {job.ranks} ranks cannot be pinned on {description.cores} cores; "
            "set pin = false or raise cores."
        )
    if job.hosts and (job.ranks % job.hosts or (job.pin and job.ranks != job.hosts)):
        raise DescriptionError(
            f"{where}: {job.ranks} ranks cannot be dealt to {job.hosts} hosts; a pinned job has a "
            "rank a host, others as many on each."
        )
    if (job.wall or job.is_counted) and len(job.cases) != 1:
        raise DescriptionError(
            f"{where}: a job with wall = true or count = true needs exactly one case."
        )
    if job.called and len(job.called) != len(job.cases):
        raise DescriptionError(f"{where}: 'called' needs as many names as 'cases'.")


def _check_limits(where: str, description: Description, metric: Metric) -> None:
    labels = [variant.label for variant in description.variants]
    for case, limits in metric.limits.items():
        if case not in (*description.cases, GEOMETRIC_MEAN):
            raise DescriptionError(f"{where}: limit for {case!r}, which no job has as a case.")
        if case == GEOMETRIC_MEAN and metric.is_value:
            raise DescriptionError(f"{where}: a {case} needs a metric judged by its speed-up.")
        for limit in limits:
            if limit.against is not None and (metric.is_value or limit.against not in labels):
                raise DescriptionError(
                    f"{where}: limit for {case!r} against {limit.against!r}; that needs a variant "
                    "of this name and a metric that is judged by its speed-up."
                )
