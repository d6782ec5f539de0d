# SPDX-License-Identifier: Apache-2.0
"""What a bench measures, read from `bench/<name>.toml`.

title    = one line for the table
program  = C program bench/mpi/<program>.c, built with harness.c for every library
metric   = name of the figure, unit last (`oneway_us`); unit = how it is printed
better   = "lower" (times) or "higher" (rates)
cores    = how many cores the jobs share (default 2)

[[job]]            one or more; a round runs all of them with every library
ranks    = number of ranks
pin      = true: each rank on a core of its own, checked by the program; false: not bound
cases    = names of cases, as the program calls them
arguments = further arguments of the program (default none)
wall     = true: the driver itself times the whole job and takes that, in the metric's unit,
           as the only sample of the only case (for start-up times; default false)

[limits]           "case" = { required = R, aim = A }: speed-up over the best rival
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class DescriptionError(Exception):
    """A description that cannot be used; the text names the file and what to change."""


@dataclass(frozen=True)
class Limit:
    """Speed-up over the best rival: what is required, and what we aim for (None: no aim)."""

    required: float
    aim: float | None


@dataclass(frozen=True)
class Job:
    """One mpiexec of the program."""

    ranks: int
    pin: bool
    cases: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    wall: bool = False


@dataclass(frozen=True)
class Description:
    """One bench; see the head of this file."""

    name: str
    title: str
    program: str
    metric: str
    unit: str
    lower_is_better: bool
    cores: int
    jobs: tuple[Job, ...]
    limits: dict[str, Limit]

    @property
    def cases(self) -> tuple[str, ...]:
        """All cases in the order of the table."""
        return tuple(case for job in self.jobs for case in job.cases)


def parse(name: str, text: str) -> Description:
    """Makes a description from the text of `bench/<name>.toml`; raises DescriptionError."""
    where = f"bench/{name}.toml"
    try:
        table = tomllib.loads(text)
        jobs = tuple(_parse_job(entry) for entry in table["job"])
        limits = {
            case: Limit(float(limit["required"]), _optional_float(limit.get("aim")))
            for case, limit in table.get("limits", {}).items()
        }
        description = Description(
            name=name,
            title=table["title"],
            program=table["program"],
            metric=table["metric"],
            unit=table["unit"],
            lower_is_better={"lower": True, "higher": False}[table["better"]],
            cores=int(table.get("cores", 2)),
            jobs=jobs,
            limits=limits,
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


def _parse_job(entry: dict[str, Any]) -> Job:
    return Job(
        ranks=int(entry["ranks"]),
        pin=bool(entry["pin"]),
        cases=tuple(entry["cases"]),
        arguments=tuple(entry.get("arguments", ())),
        wall=bool(entry.get("wall", False)),
    )


def _optional_float(value: Any) -> float | None:
    return None if value is None else float(value)


def _check(where: str, description: Description) -> None:
    cases = description.cases
    if len(set(cases)) != len(cases):
        raise DescriptionError(f"{where}: a case stands there twice; give each its own name.")
    for case in description.limits:
        if case not in cases:
            raise DescriptionError(f"{where}: limit for {case!r}, which no job has as a case.")
    for job in description.jobs:
        if job.pin and job.ranks > description.cores:
            raise DescriptionError(
                f"{where}: {job.ranks} ranks cannot be pinned on {description.cores} cores; "
                "set pin = false or raise cores."
            )
        if job.wall and len(job.cases) != 1:
            raise DescriptionError(f"{where}: a job with wall = true needs exactly one case.")
