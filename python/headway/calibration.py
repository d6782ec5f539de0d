# SPDX-License-Identifier: Apache-2.0
"""Fixed work: how much each case computes, chosen once before the rounds, the same for all.

A program that is started without --work measures, for every case, `transfer_us` (the communication
of the case with nothing beside it) and `kernel_ns` (one iteration of its computation). The fastest
library's transfer decides how long the work is to take; the iterations that take so long are handed
to every library. They stay what they are however fast or slow a library lets them run: work that
stops when time is over would hide cycles that the library takes away.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.jobs import JobError, JobResult

TRANSFER, KERNEL = "transfer_us", "kernel_ns"
SIZE, ORDER = "size_bytes", "order"


@dataclass(frozen=True)
class Work:
    """What one case computes, and why: the fastest library and the time of its transfer."""

    iterations: int
    work_us: float
    fastest: str
    transfer_us: float

    def fields(self) -> dict[str, Any]:
        """For the JSON line."""
        return {
            "iterations": self.iterations,
            "work_us": float(f"{self.work_us:.5g}"),
            "fastest": self.fastest,
            "transfer_us": float(f"{self.transfer_us:.5g}"),
        }


def choose(
    results: Mapping[str, Sequence[JobResult]], cases: Sequence[str], work_of_fastest: float
) -> dict[str, Work]:
    """The work of each case from what the jobs of every library measured; raises JobError where
    nobody measured one. Cases that every library skips have none."""
    kernel_ns = _kernel_ns(results)
    chosen = {}
    for case in cases:
        transfers = {
            name: statistics.median(medians)
            for name, library_jobs in results.items()
            if (medians := _medians(library_jobs, TRANSFER, case))
        }
        if not transfers:
            if all(case in job.skipped for jobs in results.values() for job in jobs):
                continue
            raise JobError(f"no library measured the transfer of {case}; the program must print "
                           f"{TRANSFER} for it when it is started without --work.")
        fastest = min(transfers, key=lambda name: transfers[name])
        work_us = work_of_fastest * transfers[fastest]
        iterations = max(1, round(work_us * 1e3 / kernel_ns))
        chosen[case] = Work(iterations, work_us, fastest, transfers[fastest])
    return chosen


def _medians(library_jobs: Sequence[JobResult], metric: str, case: str) -> list[float]:
    """The figure of each job that has one."""
    found = [job.samples.get(metric, {}).get(case, []) for job in library_jobs]
    return [statistics.median(values) for values in found if values]


def _kernel_ns(results: Mapping[str, Sequence[JobResult]]) -> float:
    """The least median: it is the same code for all, whatever is above was disturbed."""
    medians = [
        median
        for library_jobs in results.values()
        for case in {case for job in library_jobs for case in job.samples.get(KERNEL, {})}
        for median in _medians(library_jobs, KERNEL, case)
    ]
    if not medians or min(medians) <= 0:
        raise JobError(f"no library measured the computation; the program must print {KERNEL} "
                       "when it is started without --work.")
    return min(medians)


def texts(chosen: Mapping[str, Work]) -> dict[str, str]:
    """The work of each case as the program's option --work has it."""
    return {case: str(work.iterations) for case, work in chosen.items()}


def option(work: Mapping[str, str], called: Mapping[str, str]) -> list[str]:
    """The arguments of a program that hand its work over; `called` are its cases by its names."""
    entries = [f"{name}={work[case]}" for name, case in called.items() if case in work]
    return ["--work", ";".join(entries)] if entries else []


@dataclass(frozen=True)
class Sizes:
    """What a program chose by itself (--calibrate only), made one for all libraries."""

    size_bytes: int
    order: int
    fastest: str

    @property
    def text(self) -> str:
        """As the option --work has it."""
        return f"{self.size_bytes}:{self.order}"

    def fields(self) -> dict[str, Any]:
        """For the JSON line."""
        return {"size_bytes": self.size_bytes, "order": self.order, "fastest": self.fastest}


def choose_sizes(
    results: Mapping[str, Sequence[JobResult]], cases: Sequence[str]
) -> dict[str, Sizes]:
    """The largest size of all libraries, which is the fastest one's, and the median order. Cases
    without a size have none."""
    chosen = {}
    for case in cases:
        sizes = {
            name: statistics.median(medians)
            for name, library_jobs in results.items()
            if (medians := _medians(library_jobs, SIZE, case))
        }
        orders = [
            value for library_jobs in results.values()
            for value in _medians(library_jobs, ORDER, case)
        ]
        if sizes and orders:
            fastest = max(sizes, key=lambda name: sizes[name])
            chosen[case] = Sizes(round(sizes[fastest]), round(statistics.median(orders)), fastest)
    return chosen
