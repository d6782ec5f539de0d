# SPDX-License-Identifier: Apache-2.0
"""What a bench measures, read from `bench/<name>.toml`.

title    = one line for the table
program  = C program bench/mpi/<program>.c, built with harness.c for every library
cores    = how many cores the jobs share (default 2)
rivals   = false: only ours can do it, no rival is measured (default true)
launcher = further arguments of our mpiexec (default none)
rounds   = so many rounds suffice, for figures that hardly vary (default: those of the protocol)
openmp   = true: the programs use OpenMP; a rank has a thread unless a job says OMP_NUM_THREADS
sampling_s = time for the samples of one library in a round (default: that of the protocol)
quick_cases = those that --quick measures (default: all)
may_lack_cores = true: where there are fewer than `cores`, the cases are told as not measured; else
           that is an error (default false)
not_measured = { "case" = "why" }: what belongs to the question and is not measured here

[[metric]]         one or more figures, each printed by the program for every case
name     = as the program calls it, unit last (`oneway_us`); unit = how it is printed
better   = "lower" (times) or "higher" (rates)
judged   = "speedup" over the best rival (default), or "value": ours by itself, for figures whose
           ratio says nothing
note     = one line that explains the figure (default none)
[metric.limits]    "case" = { required = R, aim = A, against = LIBRARY }, or a list of them. R and A
           are speed-ups (against the best rival unless `against` names a library), or values;
           at_most = true: the speed-up may be R at most (what a variant may cost); rounds = N:
           judged after so many rounds at least; of = VARIANT: a value of that variant of ours.
           The case "geometric mean" is the mean of the speed-ups of all cases over the best rival
           of each; "each case" and "each median" stand for all of them

[[job]]            one or more; a round runs all of them with every library
ranks    = number of ranks
pin      = true: each rank on a core of its own, checked by the program; false: not bound
hosts    = so many hosts made of network namespaces (hosts.py) share the ranks; with pin = true each
           has a core of its own (default 0: this machine)
rate     = what each host may send, as tc calls it ("1gbit"; default: as fast as it goes)
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
collect  = names of the functions within which they are counted (default: sending and receiving)
without  = { LIBRARY = "why it cannot run this job" } (default none)
machine  = a name: the cases of all jobs of that name are predicted by the simulator's model of a
           machine, which is fitted anew in each round to what these jobs measure beside them
           (machine.py). Metrics are then time_us, the program's, predicted_us and error
fit      = names of what the program measures beside for that; not shown. Algorithms are those that
           the job's environment forces, cores those of the bench

[[difference]]     a case that nobody runs, of two that are run, in every metric
case     = its name; of, minus = the two cases: what one is more than the other, or
of, by   = how many times the other it is
parts    = a difference is divided by so many (default 1)

[[median]]         a case that nobody runs: the median of others, in every metric
case     = its name; of = those cases

[grid]             jobs and medians of cells of bench/mpi/nbc.c (grid.py)

[[variant]]        ours with settings other than the defaults, measured beside it, never a rival
label    = its name in tables and limits
of       = RIVAL: that rival with other settings, a rival too
pin      = false: its jobs are not pinned (default: as the job says)
environment = { HEADWAY_NAME = "value" } (default none)
launcher = arguments of mpiexec in the place of the bench's (default: the bench's)
program, arguments = in the place of the job's (default: the job's)
cases    = the cases it runs, or "all"

[calibration]      fixed work, chosen once before the rounds and the same for all (calibration.py)
work_of_fastest = the work takes so many times the fastest library's transfer
by_program = true: a program with `--calibrate only` prints `size_bytes` and `order` of each case;
           the largest size of all libraries, the fastest one's, and the median order are for all
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from headway import grid as grids

EACH_CASE, EACH_MEDIAN = "each case", "each median"
GEOMETRIC_MEAN = "geometric mean"


class DescriptionError(Exception):
    """A description that cannot be used; the text names the file and what to change."""


@dataclass(frozen=True)
class Limit:
    """What is required of a figure, and what we aim for (None: no aim): a speed-up over `against`
    (None: the best rival), or a value of ours, or of a variant of ours (`of`); the metric says
    which. rounds: how many it takes at least to judge it."""

    required: float
    aim: float | None = None
    against: str | None = None
    at_most: bool = False
    rounds: int = 0
    of: str | None = None


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
    collect: tuple[str, ...] = ()
    without: Mapping[str, str] = field(default_factory=dict)
    hosts: int = 0
    rate: str | None = None
    delay_to_us: float | None = None  # HEADWAY_DELAY_US is found for this time of communication
    launcher: tuple[str, ...] | None = None
    machine: str | None = None
    fit: tuple[str, ...] = ()

    def name_in_program(self, case: str) -> str:
        """What the program calls one of the cases, or of what is measured beside them."""
        is_called = self.called and case in self.cases
        return self.called[self.cases.index(case)] if is_called else case


@dataclass(frozen=True)
class Difference:
    """What the case `of` is more than the case `base`, by so many parts, or how many times it."""

    case: str
    of: str
    base: str
    parts: int = 1
    is_quotient: bool = False


@dataclass(frozen=True)
class Median:
    """The median of the cases `of`."""

    case: str
    of: tuple[str, ...]


@dataclass(frozen=True)
class Variant:
    """Ours with settings other than the defaults, or another program beside it; or a rival (`of`)
    with other settings."""

    label: str
    environment: Mapping[str, str]
    cases: tuple[str, ...]
    launcher: tuple[str, ...] = ()
    program: str | None = None
    arguments: tuple[str, ...] | None = None
    of: str | None = None
    pin: bool | None = None


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
    medians: tuple[Median, ...] = ()
    grid: grids.Grid | None = None
    has_openmp: bool = False
    sampling_s: float | None = None
    calibrates_by_program: bool = False
    quick_cases: tuple[str, ...] = ()
    may_lack_cores: bool = False
    not_measured: Mapping[str, str] = field(default_factory=dict)

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
        differences = (difference.case for difference in self.differences)
        return (*run, *differences, *(median.case for median in self.medians))

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
        grid = grids.read(table["grid"]) if "grid" in table else None
        listed = table.get("job", ()) if grid else table["job"]
        jobs = tuple(_parse_job(entry) for entry in listed)
        cores = int(table.get("cores", 2))
        medians = tuple(
            Median(entry["case"], tuple(entry["of"])) for entry in table.get("median", ())
        )
        if grid:
            cells = [cell for _name, diagonal in grid.diagonals() for cell in diagonal]
            jobs += _grid_jobs(grid, cells, cores)
            medians += _grid_medians(grid)
        description = Description(
            name=name,
            title=table["title"],
            program=table["program"],
            cores=cores,
            metrics=tuple(_parse_metric(entry) for entry in table["metric"]),
            jobs=jobs,
            variants=tuple(
                _parse_variant(entry, launcher, jobs) for entry in table.get("variant", ())
            ),
            launcher=launcher,
            has_rivals=bool(table.get("rivals", True)),
            differences=tuple(
                _parse_difference(entry)
                for entry in table.get("difference", ())
            ),
            rounds=None if "rounds" not in table else int(table["rounds"]),
            work_of_fastest=_work_of_fastest(calibration),
            calibrates_by_program=bool((calibration or {}).get("by_program", False)),
            medians=medians,
            grid=grid,
            has_openmp=bool(table.get("openmp", False)),
            sampling_s=_optional_float(table.get("sampling_s")),
            quick_cases=tuple(table.get("quick_cases", ())),
            may_lack_cores=bool(table.get("may_lack_cores", False)),
            not_measured=dict(table.get("not_measured", {})),
        )
        description = _with_limits_for_each(description)
    except tomllib.TOMLDecodeError as error:
        raise DescriptionError(f"{where}: {error}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise DescriptionError(
            f"{where}: {error} is missing or not understood; the keys stand at the head of "
            "python/headway/description.py."
        ) from error
    _check(where, description)
    return description


def _work_of_fastest(calibration: dict[str, Any] | None) -> float | None:
    if calibration is None or calibration.get("by_program", False):
        return None
    return float(calibration["work_of_fastest"])


def _grid_jobs(grid: grids.Grid, cells: Sequence[grids.Cell], cores: int) -> tuple[Job, ...]:
    return tuple(
        Job(
            ranks=group[0].ranks,
            pin=group[0].ranks <= cores,
            cases=tuple(grid.name(cell) for cell in group),
            called=tuple(cell.called for cell in group),
            delay_to_us=group[0].comm_ms * 1e3 if grid.delayed else None,
        )
        for group in grids.by_job(grid, cells)
    )


def _grid_medians(grid: grids.Grid) -> tuple[Median, ...]:
    return tuple(
        Median(name, tuple(grid.name(cell) for cell in diagonal))
        for name, diagonal in grid.diagonals()
    )


def _with_limits_for_each(description: Description) -> Description:
    """EACH_CASE and EACH_MEDIAN in the limits replaced by the cases they stand for."""
    medians = [median.case for median in description.medians]
    plain = [case for case in description.cases if case not in medians]
    metrics = []
    for metric in description.metrics:
        limits = dict(metric.limits)
        for word, cases in ((EACH_CASE, plain), (EACH_MEDIAN, medians)):
            for_each = limits.pop(word, ())
            limits |= {case: (*limits.get(case, ()), *for_each) for case in cases if for_each}
        metrics.append(replace(metric, limits=limits))
    return replace(description, metrics=tuple(metrics))


def restrict(description: Description, names: Sequence[str]) -> Description:
    """The same with these cases only. A bench with a grid has every cell, not only those of the
    diagonal. Raises DescriptionError for a case that there is not."""
    grid = description.grid
    known = [case for job in description.jobs for case in job.cases]
    cells = [] if grid is None else [grid.cell(name) for name in names if name not in known]
    new = [cell for cell in cells if cell is not None and grid is not None
           and cell.operation in grid.operations]
    there = [*known, *(grid.name(cell) for cell in new if grid is not None)]
    unknown = [name for name in names if name not in there]
    if unknown:
        cells_too = "; or any cell, as 'ibcast 1 x 64 ms'" if grid else ""
        raise DescriptionError(f"bench {description.name} has no case {unknown[0]!r}; there are: "
                               f"{', '.join(known)}{cells_too}.")
    jobs = [_restricted(job, names) for job in description.jobs]
    made = _grid_jobs(grid, new, description.cores) if grid is not None else ()
    jobs_left = (*(job for job in jobs if job.cases or job.fit), *made)
    cases = [case for job in jobs_left for case in job.cases]
    everywhere = set(known)
    variants = tuple(
        replace(variant, cases=tuple(cases) if set(variant.cases) == everywhere
                else tuple(case for case in variant.cases if case in cases))
        for variant in description.variants
    )
    metrics = tuple(
        replace(metric, limits={c: limit for c, limit in metric.limits.items() if c in cases})
        for metric in description.metrics
    )
    return replace(description, jobs=jobs_left, variants=variants, metrics=metrics,
                   differences=(), medians=())


def whole_grid(description: Description) -> list[str]:
    """Names of all cells of a bench's grid, for its first number of ranks. Raises
    DescriptionError where it has none."""
    grid = description.grid
    if grid is None:
        raise DescriptionError(f"bench {description.name} has no grid; leave --whole-grid out.")
    return [
        grid.name(grids.Cell(operation, grid.size, comm, comp, grid.ranks[0]))
        for operation in grid.operations
        for comm in grid.targets_ms
        for comp in grid.targets_ms
    ]


def _restricted(job: Job, names: Sequence[str]) -> Job:
    kept = [case for case in job.cases if case in names]
    called = tuple(job.name_in_program(case) for case in kept) if job.called else ()
    return replace(job, cases=tuple(kept), called=called)


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
              bool(entry.get("at_most", False)), int(entry.get("rounds", 0)), entry.get("of"))
        for entry in entries
    )


def _parse_variant(
    entry: dict[str, Any], launcher: tuple[str, ...], jobs: Sequence[Job]
) -> Variant:
    arguments = entry.get("arguments")
    every = [case for job in jobs for case in job.cases]
    return Variant(
        label=entry["label"],
        environment=_parse_environment(entry),
        cases=tuple(every if entry["cases"] == "all" else entry["cases"]),
        launcher=tuple(entry.get("launcher", launcher)),
        program=entry.get("program"),
        arguments=None if arguments is None else tuple(arguments),
        of=entry.get("of"),
        pin=entry.get("pin"),
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
        collect=tuple(entry.get("collect", ())),
        without=dict(entry.get("without", {})),
        hosts=int(entry.get("hosts", 0)),
        rate=entry.get("rate"),
        launcher=tuple(entry["launcher"]) if "launcher" in entry else None,
        machine=entry.get("machine"),
        fit=tuple(entry.get("fit", ())),
    )


def _optional_float(value: Any) -> float | None:
    return None if value is None else float(value)


def _check(where: str, description: Description) -> None:
    cases = (*description.cases, *description.not_measured)
    if len(set(cases)) != len(cases):
        raise DescriptionError(f"{where}: a case stands there twice; give each its own name.")
    if not description.metrics:
        raise DescriptionError(f"{where}: no [[metric]]; a bench needs one at least.")
    for case in description.quick_cases:
        if case not in cases:
            raise DescriptionError(f"{where}: quick_cases names {case!r}, which no job has.")
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
    for median in description.medians:
        if any(case not in cases for case in median.of):
            raise DescriptionError(f"{where}: the median {median.case!r} is of cases of jobs.")
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
    if job.rate is not None and not job.hosts:
        raise DescriptionError(f"{where}: a rate is that of hosts; say hosts = N too.")
    if (job.wall or job.is_counted) and len(job.cases) != 1:
        raise DescriptionError(
            f"{where}: a job with wall = true or count = true needs exactly one case."
        )
    if job.fit and job.machine is None:
        raise DescriptionError(f"{where}: a job with 'fit' needs 'machine', what it is fitted to.")
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
            if limit.of is not None and (not metric.is_value or limit.of not in labels):
                raise DescriptionError(
                    f"{where}: limit for {case!r} of {limit.of!r}; that needs a variant of this "
                    "name and a metric that is judged by its value."
                )
            if limit.against is not None and (metric.is_value or limit.against not in labels):
                raise DescriptionError(
                    f"{where}: limit for {case!r} against {limit.against!r}; that needs a variant "
                    "of this name and a metric that is judged by its speed-up."
                )
