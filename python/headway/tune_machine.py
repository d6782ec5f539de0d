# SPDX-License-Identifier: Apache-2.0
"""`headway tune --machine FILE`: measures what the simulator's model of a machine needs, fits the
model (machine.py) and writes it for `headway sim --machine FILE`.

Ranks that share cores send long messages another way than those with cores of their own, so they
are measured only where --ranks asks for them, best into a file of their own.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from headway import bench, jobs, libraries, machine
from headway.description import Description, Job, Metric
from headway.machine import FORCING, Measurement
from headway.runner import Measured, Runner

PROGRAM = "collectives"
METRIC = Metric(machine.TIME, "us", lower_is_better=True)
# Algorithms that are measured, by turn, and the sizes of each collective: one message; a message
# and a sum; messages both ways; one way without a pause.
TURNS: Sequence[tuple[Mapping[str, str], Sequence[str]]] = (
    ({"Bcast": "binomial", "Reduce": "binomial", "Allgather": "ring", "Alltoall": "pairwise"},
     ("16 B", "64 B", "1 KiB", "4 KiB", "16 KiB", "32 KiB", "128 KiB", "512 KiB")),
    ({"Bcast": "pipelined_chain:32"}, ("64 B", "256 B", "1 KiB")),
)
ROUNDS, ROUNDS_QUICK = 5, 2
BUDGET_MS = 10.0


def measure(stage: Path, counts: Sequence[int], cores: Sequence[int], delay_us: int, rounds: int,
            tell: Callable[[str], None]) -> list[Measurement]:
    """Medians of so many rounds. Raises JobError."""
    binary = jobs.build(stage / "bin/mpicc", PROGRAM, bench.ROOT / "bench/mpi", jobs.cache("tune"))
    ours = Measured(libraries.ours(stage), {PROGRAM: binary})
    listed = tuple(_job(count, forced, sizes, len(cores), delay_us)
                   for count in counts for forced, sizes in TURNS)
    description = Description("machine", "", PROGRAM, len(cores), (METRIC,), listed)
    runner = Runner(description, {libraries.OURS: ours}, cores, BUDGET_MS)
    times: dict[tuple[str, str, int, int], list[float]] = {}
    for number in range(rounds):
        result = runner.run(libraries.OURS, ())
        if result.misplaced is not None:
            raise jobs.JobError(f"ranks are not on the stated cores: {result.misplaced}")
        for each in (each for found in runner.fitted_to.values() for each in found):
            key = (each.collective, each.algorithm, each.ranks, each.size)
            times.setdefault(key, []).append(each.time_us or 0.0)
        tell(f"round {number + 1} of {rounds}")
    return [Measurement(*key, statistics.median(values)) for key, values in times.items()]


def _job(ranks: int, forced: Mapping[str, str], sizes: Sequence[str], cores: int,
         delay_us: int) -> Job:
    environment = {FORCING + name.upper(): word for name, word in forced.items()}
    if delay_us:
        environment["HEADWAY_DELAY_US"] = str(delay_us)
    return Job(ranks=ranks, pin=ranks <= cores, cases=(), arguments=("--start", "together"),
               environment=environment, machine="this machine",
               fit=tuple(f"{name} {size}" for name in forced for size in sizes))


def fit(measured: Sequence[Measurement], cores: int) -> machine.Fitted:
    """Raises JobError."""
    return machine.fit(measured, {"cores": str(cores)})


def report(fitted: machine.Fitted) -> list[str]:
    """The numbers and how well they say what was measured."""
    known = [f"{name} {number.value:.4g}" + ("" if number.is_known else " (a guess)")
             for name, number in fitted.numbers.items()]
    return [*machine.quality(fitted), "", ", ".join(known)]
