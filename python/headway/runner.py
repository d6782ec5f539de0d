# SPDX-License-Identifier: Apache-2.0
"""Runs the jobs of a round: which binary with which arguments, and what becomes of its figures."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway import calibration, callgrind, hosts, jobs, libraries, machine, rivals, rounds
from headway import description as descriptions

# A job that is timed as a whole is repeated within its time, but not more often than this.
WALL_SAMPLES_MAX = 5
# What every host of a job must have received at least, so that it was the network that carried it.
BYTES_OVER_CABLE_MIN = 100_000
# How a delay is found with which this metric takes the wanted time.
COMMUNICATION = "comm_us"
DELAY_SEARCHES, DELAY_NEAR = 4, 0.1


@dataclass(frozen=True)
class Measured:
    """A library and what it runs. binaries: by name of the C program. program, arguments, pin: of
    a variant, in the place of the job's; None: the job's."""

    library: libraries.Library
    binaries: Mapping[str, Path]
    program: str | None = None
    arguments: tuple[str, ...] | None = None
    pin: bool | None = None


@dataclass
class Runner:
    """Runs a library's jobs. work: the calibrated work of each case, if any. delays_us: of each
    case whose job has the delay that makes its communication take a given time. fitted_to: what
    the last round measured for each machine."""

    description: descriptions.Description
    measured: Mapping[str, Measured]
    cores: Sequence[int]
    budget_ms: float
    work: dict[str, str] = field(default_factory=dict)
    delays_us: dict[str, int] = field(default_factory=dict)
    fitted_to: dict[str, list[machine.Measurement]] = field(default_factory=dict)

    def calibrate(
        self, plan: rounds.Plan, times: int, tell: Callable[[str], None]
    ) -> dict[str, Any]:
        """Lets every library measure its transfers `times` times and chooses the work of all runs
        to come; returns it for the reader, empty for a bench without calibration. Raises JobError
        where a library cannot run or is misplaced."""
        if self.description.calibrates_by_program:
            return self._calibrate_sizes(plan, tell)
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
        self.work = calibration.texts(chosen)
        tell("calibrated: the work of all cases is fixed")
        return {case: work.fields() for case, work in chosen.items()}

    def _calibrate_sizes(self, plan: rounds.Plan, tell: Callable[[str], None]) -> dict[str, Any]:
        """Delays first, as sizes and computation are chosen under them; then every library chooses
        for itself, and one choice is made for all. Variants and who has a delay take ours."""
        for job in self.description.jobs:
            if job.delay_to_us is not None:
                self._find_delay(job, job.delay_to_us)
        if self.delays_us:
            tell("calibrated: the delays that make communication take its time")
        results: dict[str, list[jobs.JobResult]] = {}
        for label in plan.libraries:
            if label == plan.ours or label not in plan.variants:
                cases = plan.cases_of(label, plan.cases)
                results[label] = [self.run(label, cases, ("--calibrate", "only"))]
                tell(f"calibrated: {label}")
        chosen = calibration.choose_sizes(results, plan.cases)
        self.work = {case: sizes.text for case, sizes in chosen.items()}
        delays = {case: {"delay_us": delay} for case, delay in self.delays_us.items()}
        return {case: sizes.fields() | delays.get(case, {}) for case, sizes in chosen.items()}

    def _find_delay(self, job: descriptions.Job, target_us: float) -> None:
        """A message of a collective takes several frames, one after another, so the delay is some
        part of the target: the first guess is a third."""
        measured = self.measured[libraries.OURS]
        delay_us = max(1, round(target_us / 3))
        for _attempt in range(DELAY_SEARCHES):
            self.delays_us.update(dict.fromkeys(job.cases, delay_us))
            result = self._start(job, measured, job.cases)
            found = result.samples.get(COMMUNICATION, {}).get(job.cases[0])
            if not found:
                raise jobs.JobError(f"nobody measured {COMMUNICATION} of {job.cases[0]}: "
                                    f"{result.skipped.get(job.cases[0], 'no line')}")
            took_us = statistics.median(found)
            if abs(took_us - target_us) < DELAY_NEAR * target_us:
                return
            delay_us = max(1, round(delay_us * target_us / took_us))

    def run(
        self, label: str, cases: Sequence[str], more: Sequence[str] = ()
    ) -> jobs.JobResult:
        """Runs one library's jobs of a round, with `more` arguments, and joins their results."""
        differences = [each for each in self.description.differences if each.case in cases]
        medians = [each for each in self.description.medians if each.case in cases]
        needed = {case for each in differences for case in (each.of, each.base)}
        needed |= {case for each in medians for case in each.of}
        joined = jobs.JobResult()
        self.fitted_to = {}
        for job in self.description.jobs:
            wanted = [case for case in job.cases if case in cases or case in needed]
            if not wanted and not self._fits(job, {*cases, *needed}):
                continue
            why_not = self._why_not(job, label)
            if why_not is not None:
                joined.skipped.update(dict.fromkeys(wanted, why_not))
                continue
            result = self._run_job(job, self.measured[label], [*wanted, *job.fit], more)
            self._take_fitted(job, result)
            for name, by_case in result.samples.items():
                joined.samples.setdefault(name, {}).update(by_case)
            joined.skipped.update(result.skipped)
            joined.times.update(result.times)
            joined.misplaced = joined.misplaced or result.misplaced
            joined.wall_s += result.wall_s
        self._predict(joined, {*cases, *needed})
        for difference in differences:
            compare(joined, difference)
        for median in medians:
            add_median(joined, median)
        return joined

    def _fits(self, job: descriptions.Job, cases: Set[str]) -> bool:
        """Whether one of these cases is predicted by what this job measures; without any, it is
        wanted for itself."""
        return bool(job.fit) and (not cases or any(
            other.machine == job.machine and not cases.isdisjoint(other.cases)
            for other in self.description.jobs))

    def _take_fitted(self, job: descriptions.Job, result: jobs.JobResult) -> None:
        """Takes what a machine is fitted to out of a job's result."""
        by_case = result.samples.get(machine.TIME, {})
        for name in job.fit:
            samples = by_case.pop(name, [])
            if not samples:
                raise jobs.JobError(f"nobody measured {name}, which {job.machine} is fitted to: "
                                    f"{result.skipped.pop(name, 'no line')}")
            found = machine.named(name, job.ranks, job.environment, statistics.median(samples))
            self.fitted_to.setdefault(str(job.machine), []).append(found)

    def _predict(self, joined: jobs.JobResult, cases: Set[str]) -> None:
        """Adds to a round's result what fitted machines say of its cases."""
        times = joined.samples.get(machine.TIME, {})
        for name, measured in self.fitted_to.items():
            asked = {case: machine.named(job.name_in_program(case), job.ranks, job.environment)
                     for job in self.description.jobs if job.machine == name
                     for case in job.cases if case in cases and times.get(case)}
            if not asked:
                continue
            fixed = {"cores": str(len(self.cores))}
            fitted = machine.fit([*asked.values(), *measured], fixed)
            for case, predicted_us in zip(asked, fitted.predicted_us, strict=False):
                error = abs(predicted_us / statistics.median(times[case]) - 1)
                joined.samples.setdefault(machine.PREDICTED, {})[case] = [predicted_us]
                joined.samples.setdefault(machine.ERROR, {})[case] = [error]

    @staticmethod
    def _why_not(job: descriptions.Job, label: str) -> str | None:
        for name, why in job.without.items():
            if rivals.RIVALS[name].label == label:
                return why
        return None

    def _run_job(
        self,
        job: descriptions.Job,
        measured: Measured,
        cases: Sequence[str],
        more: Sequence[str] = (),
    ) -> jobs.JobResult:
        metric = self.description.metrics[0]
        if job.is_counted:
            figure, result = callgrind.count(
                lambda prefix, repetitions: self._start(job, measured, cases, prefix, repetitions),
                job.collect or callgrind.COLLECTED,
            )
            result.samples = {metric.name: {cases[0]: [figure]}}
        elif job.wall:
            times_s: list[float] = []
            result = jobs.JobResult()
            while not times_s or (
                len(times_s) < WALL_SAMPLES_MAX and sum(times_s) * 1e3 < self.budget_ms
            ):
                result = self._start(job, measured, cases)
                times_s.append(result.wall_s)
            figures = [_wall_figure(time_s, metric.unit) for time_s in times_s]
            result.samples = {metric.name: {cases[0]: figures}}
            result.wall_s = sum(times_s)
        else:
            result = self._start(job, measured, cases, more=more)
        return result

    def _start(
        self,
        job: descriptions.Job,
        measured: Measured,
        cases: Sequence[str],
        prefix: Sequence[str] = (),
        repetitions: int | None = None,
        more: Sequence[str] = (),
    ) -> jobs.JobResult:
        """Runs a job once, `prefix` before the program; what is printed has the names of cases."""
        library = measured.library
        if job.launcher is not None and library.is_ours:
            library = libraries.relaunched(library, job.launcher)
        program = measured.program or job.program or self.description.program
        called = {job.name_in_program(case): case for case in cases}
        command = [*prefix, str(measured.binaries[program]), "--budget-ms", f"{self.budget_ms:g}"]
        command += ["--cases", ";".join(called)]
        pin = job.pin if measured.pin is None else measured.pin
        if pin:
            command += ["--cores", ",".join(map(str, self.cores))]
        if repetitions is not None:
            command += ["--work", ";".join(f"{name}={repetitions}" for name in called)]
        command += [*calibration.option(self.work, called), *more]
        command += job.arguments if measured.arguments is None else measured.arguments
        environment = library.job_environment(job.ranks, self.cores, pin, job.has_cma)
        environment |= job.environment
        if self.description.has_openmp:
            environment.setdefault("OMP_NUM_THREADS", "1")
        if job.delay_to_us is not None:
            environment["HEADWAY_DELAY_US"] = str(self.delays_us[job.cases[0]])
        if job.hosts:
            result = self._run_on_hosts(job, library, command, environment)
        else:
            launcher = library.command(job.ranks, self.cores, pin)
            result = jobs.run([*launcher, *command], environment)
        result.samples = {
            name: {called.get(case, case): values for case, values in by_case.items()}
            for name, by_case in result.samples.items()
        }
        result.skipped = {called.get(case, case): why for case, why in result.skipped.items()}
        result.times = {called.get(case, case): seen for case, seen in result.times.items()}
        return result

    def _run_on_hosts(
        self,
        job: descriptions.Job,
        library: libraries.Library,
        command: Sequence[str],
        environment: Mapping[str, str],
    ) -> jobs.JobResult:
        """Runs a job over hosts made for it. Raises JobError where they cannot be had, or where
        what the ranks told each other did not go over their cables."""
        why_not = hosts.why_not()
        if why_not:
            raise jobs.JobError(f"no hosts: {why_not}")
        with hosts.hosts(job.hosts) as made:
            if job.rate is not None:
                made.limit(job.rate)
            cores = self.cores[: job.hosts] if job.pin else ()
            settings = library.on_hosts_environment | made.environment(cores)
            launcher = library.command_on_hosts(made, job.ranks)
            result = jobs.run([*launcher, *command], {**environment, **settings})
            received = min(made.bytes_received(place) for place in range(1, made.count + 1))
        if not job.wall and received < BYTES_OVER_CABLE_MIN:
            raise jobs.JobError(f"a host received {received} bytes only: not over the network")
        return result


def compare(result: jobs.JobResult, difference: descriptions.Difference) -> None:
    """Adds a case made of two others, or why one of them is missing, to a round's result."""
    for case in (difference.of, difference.base):
        if case in result.skipped:
            result.skipped[difference.case] = result.skipped[case]
            return
    for by_case in result.samples.values():
        base = by_case.get(difference.base)
        values = by_case.get(difference.of)
        if not base or not values:
            continue
        middle = statistics.median(base)
        if difference.is_quotient:
            by_case[difference.case] = [value / middle for value in values]
        else:
            by_case[difference.case] = [(value - middle) / difference.parts for value in values]


def add_median(result: jobs.JobResult, median: descriptions.Median) -> None:
    """Adds the median of some cases to a round's result; of those that have figures, or why none
    has."""
    for by_case in result.samples.values():
        figures = [statistics.median(by_case[case]) for case in median.of if by_case.get(case)]
        if figures:
            by_case[median.case] = [statistics.median(figures)]
    if not any(median.case in by_case for by_case in result.samples.values()):
        reasons = [result.skipped[case] for case in median.of if case in result.skipped]
        result.skipped[median.case] = reasons[0] if reasons else "none of its cases was measured"


def _wall_figure(wall_s: float, unit: str) -> float:
    factors = {"s": 1.0, "ms": 1e3, "us": 1e6}
    if unit not in factors:
        raise rounds.MeasureError(f"wall = true needs a unit of time (s, ms, us), not {unit!r}.")
    return wall_s * factors[unit]
