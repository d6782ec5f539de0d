# SPDX-License-Identifier: Apache-2.0
"""The protocol of a comparison: rounds, their order, when one is void, when there are enough.

A round runs every library once, as separate jobs, in an order that rotates from round to round. A
round in which a library did not run on the stated cores, or in which its job failed, is void: none
of its figures count, and another round takes its place. After the planned number of rounds, cases
whose limit lies inside the quartiles get more rounds, up to a maximum.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headway import figures
from headway.description import GEOMETRIC_MEAN, Limit, Metric
from headway.jobs import JobError, JobResult

# A measurement that loses so many rounds in a row will not get better by itself.
VOIDS_IN_A_ROW_MAX = 3
ROUNDS_LEAST = 2

RunLibrary = Callable[[str, Sequence[str]], JobResult]


class MeasureError(Exception):
    """A comparison that cannot be finished; the text says which library and why."""


@dataclass(frozen=True)
class Plan:
    """Which libraries, cases and metrics, and how many rounds. variants: which of the libraries
    are ours with other settings, and the cases that they run. own_cases: no rival runs them.
    limit_s: fewer rounds, but ROUNDS_LEAST, where all would take longer. rival_variants: those of
    the variants that are rivals with other settings."""

    libraries: tuple[str, ...]
    ours: str | None
    cases: tuple[str, ...]
    metrics: tuple[Metric, ...]
    rounds: int
    rounds_max: int
    variants: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    own_cases: tuple[str, ...] = ()
    limit_s: float | None = None
    rival_variants: frozenset[str] = frozenset()

    def cases_of(self, library: str, cases: Sequence[str]) -> list[str]:
        """Those of `cases` that this library runs."""
        if library == self.ours:
            return list(cases)
        own = self.variants.get(library)
        if own is None:
            return [case for case in cases if case not in self.own_cases]
        return [case for case in cases if case in own]

    def claims(self) -> Iterator[tuple[Metric, str, Limit]]:
        """Every limit with its metric and case."""
        for metric in self.metrics:
            for case, limits in metric.limits.items():
                for limit in limits:
                    yield metric, case, limit


@dataclass
class Findings:
    """All figures. samples[library][metric][case][round]: every sample of that job.
    times[library][case][round]: what its ranks saw, where the program says so."""

    samples: dict[str, dict[str, dict[str, dict[int, list[float]]]]]
    skipped: dict[str, dict[str, str]]
    voids: list[str] = field(default_factory=list)
    rounds: int = 0
    times: dict[str, dict[str, dict[int, list[dict[str, Any]]]]] = field(default_factory=dict)

    def raw(self, library: str, metric: Metric, case: str) -> dict[int, list[float]]:
        """The job's samples by round number."""
        return self.samples[library].get(metric.name, {}).get(case, {})

    def series(self, library: str, metric: Metric, case: str) -> dict[int, float]:
        """Median of the job's samples by round number."""
        by_round = self.raw(library, metric, case)
        return {number: statistics.median(values) for number, values in by_round.items() if values}


def rotated(libraries: Sequence[str], round_number: int) -> list[str]:
    """The order of a round: each library is first, second, ... equally often."""
    start = round_number % len(libraries)
    return [*libraries[start:], *libraries[:start]]


def strongest_rival(plan: Plan, findings: Findings, metric: Metric, case: str) -> str | None:
    """The rival with the best median in this case."""
    others = {
        name: findings.series(name, metric, case)
        for name in plan.libraries
        if name != plan.ours and (name not in plan.variants or name in plan.rival_variants)
    }
    return figures.best_library(others, metric.lower_is_better)


def case_speedups(
    plan: Plan, findings: Findings, metric: Metric, case: str, against: str | None = None
) -> list[float]:
    """Speed-ups of ours, one a round, over `against` (None: the strongest rival); empty without
    either. The case GEOMETRIC_MEAN is that of all cases over the strongest rival of each."""
    if case == GEOMETRIC_MEAN:
        return _mean_speedups(plan, findings, metric)
    return list(_speedups(plan, findings, metric, case, against).values())


def _speedups(
    plan: Plan, findings: Findings, metric: Metric, case: str, against: str | None
) -> dict[int, float]:
    rival = against or strongest_rival(plan, findings, metric, case)
    if plan.ours is None or rival not in plan.libraries:
        return {}
    ours = findings.series(plan.ours, metric, case)
    theirs = findings.series(rival, metric, case)
    return figures.speedups(ours, theirs, metric.lower_is_better)


def _mean_speedups(plan: Plan, findings: Findings, metric: Metric) -> list[float]:
    """Of the rounds that have all cases; a case without a rival does not count."""
    by_case = [_speedups(plan, findings, metric, case, None) for case in plan.cases]
    by_case = [speedups for speedups in by_case if speedups]
    if not by_case:
        return []
    common = set.intersection(*(set(speedups) for speedups in by_case))
    return [
        math.exp(statistics.fmean(math.log(speedups[number]) for speedups in by_case))
        for number in sorted(common)
    ]


def judged(
    plan: Plan, findings: Findings, metric: Metric, case: str, limit: Limit
) -> list[float]:
    """The numbers that a limit is about, one a round: speed-ups, or values of ours."""
    if not metric.is_value:
        return case_speedups(plan, findings, metric, case, limit.against)
    whose = limit.of or plan.ours
    if whose not in plan.libraries:
        return []
    return list(findings.series(whose, metric, case).values())


def is_at_most(metric: Metric, limit: Limit) -> bool:
    """Whether what is judged may be `required` at most, or must be that at least."""
    return limit.at_most or (metric.is_value and metric.lower_is_better)


def verdict(
    plan: Plan, findings: Findings, metric: Metric, case: str, limit: Limit
) -> figures.Verdict:
    """Whether a limit holds; a plan without extra rounds (--quick) may leave it open."""
    is_last = plan.rounds_max > plan.rounds and findings.rounds >= plan.rounds_max
    values = judged(plan, findings, metric, case, limit)
    if findings.rounds < min(limit.rounds, plan.rounds_max):
        return figures.Verdict.OPEN
    at_most = is_at_most(metric, limit)
    return figures.judge(values, limit.required, is_last, at_most)


def undecided(plan: Plan, findings: Findings) -> list[str]:
    """Cases with a limit that lies inside the quartiles."""
    unclear = {
        case
        for metric, case, limit in plan.claims()
        if judged(plan, findings, metric, case, limit)
        and verdict(plan, findings, metric, case, limit) is figures.Verdict.OPEN
    }
    if GEOMETRIC_MEAN in unclear:
        return list(plan.cases)
    return [case for case in plan.cases if case in unclear]


def measure(
    plan: Plan,
    run_library: RunLibrary,
    tell: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
) -> Findings:
    """Runs the rounds. `run_library(library, cases)` runs one library's jobs of a round; `tell`
    gets a line of progress; `clock` tells seconds. Raises MeasureError after VOIDS_IN_A_ROW_MAX
    void rounds in a row."""
    findings = Findings(
        samples={name: {} for name in plan.libraries},
        skipped={name: {} for name in plan.libraries},
    )
    attempt = 0
    voids_in_a_row = 0
    lengths_s: list[float] = []
    cases = list(plan.cases)
    while cases:
        results: dict[str, JobResult] = {}
        begin_s = clock()
        void = _run_round(plan, attempt, cases, run_library, results)
        attempt += 1
        if void is not None:
            voids_in_a_row += 1
            findings.voids.append(void)
            tell(f"round void: {void}")
            if voids_in_a_row == VOIDS_IN_A_ROW_MAX:
                raise MeasureError(f"{voids_in_a_row} rounds in a row are void; the last: {void}")
            continue
        voids_in_a_row = 0
        _take(findings, results)
        lengths_s.append(clock() - begin_s)
        if findings.rounds >= plan.rounds:
            cases = undecided(plan, findings) if findings.rounds < plan.rounds_max else []
        tell(_progress(plan, findings, cases))
        if cases and _is_time_up(plan, lengths_s):
            tell(f"ended after {findings.rounds} rounds: more take longer than {plan.limit_s:g} s")
            break
    return findings


def _is_time_up(plan: Plan, lengths_s: Sequence[float]) -> bool:
    """Whether one more round of usual length would be too much. A round in which the machine did
    something else does not count with its whole length."""
    if plan.limit_s is None or len(lengths_s) < ROUNDS_LEAST:
        return False
    return (len(lengths_s) + 1) * statistics.median(lengths_s) > plan.limit_s


def _run_round(
    plan: Plan,
    attempt: int,
    cases: Sequence[str],
    run_library: RunLibrary,
    results: dict[str, JobResult],
) -> str | None:
    """Runs one round; returns why it is void, or None. Ends at the first library that voids it."""
    for name in rotated(plan.libraries, attempt):
        wanted = plan.cases_of(name, cases)
        if not wanted:
            continue
        try:
            result = run_library(name, wanted)
        except JobError as error:
            return f"{name}: {error}"
        if result.misplaced is not None:
            return f"{name} is not on the stated cores: {result.misplaced}"
        missing = _missing(plan, result, wanted)
        if missing:
            return f"{name} printed nothing for: {', '.join(missing)}"
        results[name] = result
    return None


def _missing(plan: Plan, result: JobResult, cases: Sequence[str]) -> list[str]:
    return [
        case
        for case in cases
        if case not in result.skipped
        and any(case not in result.samples.get(metric.name, {}) for metric in plan.metrics)
    ]


def _take(findings: Findings, results: dict[str, JobResult]) -> None:
    for name, result in results.items():
        for metric, by_case in result.samples.items():
            for case, values in by_case.items():
                kept = findings.samples[name].setdefault(metric, {}).setdefault(case, {})
                kept[findings.rounds] = values
        for case, seen in result.times.items():
            findings.times.setdefault(name, {}).setdefault(case, {})[findings.rounds] = seen
        findings.skipped[name].update(result.skipped)
    findings.rounds += 1


def _progress(plan: Plan, findings: Findings, cases: Sequence[str]) -> str:
    if findings.rounds < plan.rounds:
        return f"round {findings.rounds} of {plan.rounds}"
    if cases:
        return f"round {findings.rounds} of at most {plan.rounds_max}: undecided {', '.join(cases)}"
    return f"round {findings.rounds}, done"
