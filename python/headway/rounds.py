# SPDX-License-Identifier: Apache-2.0
"""The protocol of a comparison: rounds, their order, when one is void, when there are enough.

A round runs every library once, as separate jobs, in an order that rotates from round to round. A
round in which a library did not run on the stated cores, or in which its job failed, is void: none
of its figures count, and another round takes its place. After the planned number of rounds, cases
whose limit lies inside the quartiles get more rounds, up to a maximum.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from headway import figures
from headway.description import Limit
from headway.jobs import JobError, JobResult

# A measurement that loses so many rounds in a row will not get better by itself.
VOIDS_IN_A_ROW_MAX = 3

RunLibrary = Callable[[str, Sequence[str]], JobResult]


class MeasureError(Exception):
    """A comparison that cannot be finished; the text says which library and why."""


@dataclass(frozen=True)
class Plan:
    """Which libraries and cases, and how many rounds."""

    libraries: tuple[str, ...]
    ours: str | None
    cases: tuple[str, ...]
    limits: dict[str, Limit]
    lower_is_better: bool
    rounds: int
    rounds_max: int


@dataclass
class Findings:
    """All figures. samples[library][case][round]: every sample of that job."""

    samples: dict[str, dict[str, dict[int, list[float]]]]
    skipped: dict[str, dict[str, str]]
    voids: list[str] = field(default_factory=list)
    rounds: int = 0

    def series(self, library: str, case: str) -> dict[int, float]:
        """Median of the job's samples by round number."""
        by_round = self.samples[library].get(case, {})
        return {number: statistics.median(values) for number, values in by_round.items() if values}


def rotated(libraries: Sequence[str], round_number: int) -> list[str]:
    """The order of a round: each library is first, second, ... equally often."""
    start = round_number % len(libraries)
    return [*libraries[start:], *libraries[:start]]


def strongest_rival(plan: Plan, findings: Findings, case: str) -> str | None:
    """The rival with the best median in this case."""
    others = {name: findings.series(name, case) for name in plan.libraries if name != plan.ours}
    return figures.best_library(others, plan.lower_is_better)


def case_speedups(plan: Plan, findings: Findings, case: str) -> list[float]:
    """Speed-ups of ours over the strongest rival, one a round; empty without either."""
    rival = strongest_rival(plan, findings, case)
    if plan.ours is None or rival is None:
        return []
    ours = findings.series(plan.ours, case)
    found = figures.speedups(ours, findings.series(rival, case), plan.lower_is_better)
    return list(found.values())


def undecided(plan: Plan, findings: Findings) -> list[str]:
    """Cases with a limit that lies inside the quartiles."""
    result = []
    for case in plan.cases:
        limit = plan.limits.get(case)
        values = case_speedups(plan, findings, case)
        if limit is None or not values:
            continue
        if figures.judge(values, limit.required, False) is figures.Verdict.OPEN:
            result.append(case)
    return result


def measure(plan: Plan, run_library: RunLibrary, tell: Callable[[str], None]) -> Findings:
    """Runs the rounds. `run_library(library, cases)` runs one library's jobs of a round; `tell`
    gets a line of progress. Raises MeasureError after VOIDS_IN_A_ROW_MAX void rounds in a row."""
    findings = Findings(
        samples={name: {} for name in plan.libraries},
        skipped={name: {} for name in plan.libraries},
    )
    attempt = 0
    voids_in_a_row = 0
    cases = list(plan.cases)
    while cases:
        results: dict[str, JobResult] = {}
        void = _run_round(rotated(plan.libraries, attempt), cases, run_library, results)
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
        if findings.rounds >= plan.rounds:
            cases = undecided(plan, findings) if findings.rounds < plan.rounds_max else []
        tell(_progress(plan, findings, cases))
    return findings


def _run_round(
    order: Sequence[str],
    cases: Sequence[str],
    run_library: RunLibrary,
    results: dict[str, JobResult],
) -> str | None:
    """Runs one round; returns why it is void, or None. Ends at the first library that voids it."""
    for name in order:
        try:
            result = run_library(name, cases)
        except JobError as error:
            return f"{name}: {error}"
        if result.misplaced is not None:
            return f"{name} is not on the stated cores: {result.misplaced}"
        missing = [c for c in cases if c not in result.samples and c not in result.skipped]
        if missing:
            return f"{name} printed nothing for: {', '.join(missing)}"
        results[name] = result
    return None


def _take(findings: Findings, results: dict[str, JobResult]) -> None:
    for name, result in results.items():
        for case, values in result.samples.items():
            findings.samples[name].setdefault(case, {})[findings.rounds] = values
        findings.skipped[name].update(result.skipped)
    findings.rounds += 1


def _progress(plan: Plan, findings: Findings, cases: Sequence[str]) -> str:
    if findings.rounds < plan.rounds:
        return f"round {findings.rounds} of {plan.rounds}"
    if cases:
        return f"round {findings.rounds} of at most {plan.rounds_max}: undecided {', '.join(cases)}"
    return f"round {findings.rounds}, done"
