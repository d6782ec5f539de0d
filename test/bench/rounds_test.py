# SPDX-License-Identifier: Apache-2.0
"""The protocol of a comparison, with libraries that only exist here."""

import json
import sys
import unittest
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from headway import presentation, rounds
from headway.description import Description, Job, Limit, Metric
from headway.figures import Verdict
from headway.jobs import JobError, JobResult

Figure = Callable[[int, str], float]


class FakeLibraries:
    """Runs jobs whose figures are a function of (how often this library ran before, case); for a
    metric other than "m" its name stands before the case."""

    def __init__(self, figures: dict[str, Figure], metrics: Sequence[str] = ("m",)) -> None:
        self.figures = figures
        self.metrics = metrics
        self.calls: list[tuple[str, tuple[str, ...]]] = []
        self.misplaced_calls: dict[int, str] = {}
        self.failing_calls: set[int] = set()

    def __call__(self, library: str, cases: Sequence[str]) -> JobResult:
        number = len(self.calls)
        before = sum(1 for name, _ in self.calls if name == library)
        self.calls.append((library, tuple(cases)))
        if number in self.failing_calls:
            raise JobError("ended with code 9")
        result = JobResult(misplaced=self.misplaced_calls.get(number))
        for case in cases:
            for metric in self.metrics:
                key = case if metric == "m" else f"{metric} {case}"
                figure = self.figures[library](before, key)
                result.samples.setdefault(metric, {})[case] = [figure]
        return result

    def order(self) -> list[str]:
        """Libraries in the order of their jobs."""
        return [name for name, _ in self.calls]


def constant(value: float) -> Figure:
    """A library that always takes the same time."""
    return lambda _round, _case: value


def make_metric(limits: dict[str, Limit]) -> Metric:
    """Times called "m" with one limit a case."""
    return Metric("m", "us", True, {case: (limit,) for case, limit in limits.items()})


def verdict(plan: rounds.Plan, findings: rounds.Findings, limit: Limit) -> Verdict:
    """Of the first metric's case "8 B"."""
    return rounds.verdict(plan, findings, plan.metrics[0], "8 B", limit)


def series(findings: rounds.Findings, library: str) -> dict[int, float]:
    """Figures of "m" in the case "8 B"."""
    return findings.series(library, make_metric({}), "8 B")


def make_plan(libraries: Sequence[str], **changes: object) -> rounds.Plan:
    """A plan for times with the case "8 B" and the limit 1.0."""
    values: dict[str, object] = {
        "libraries": tuple(libraries),
        "ours": "headway" if "headway" in libraries else None,
        "cases": ("8 B",),
        "metrics": (make_metric({"8 B": Limit(1.0, 1.25)}),),
        "rounds": 9,
        "rounds_max": 36,
    }
    return rounds.Plan(**(values | changes))  # type: ignore[arg-type]


def through_text(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As a reader of JSON lines gets them."""
    return [json.loads(json.dumps(entry)) for entry in entries]


def measure(plan: rounds.Plan, fake: FakeLibraries) -> rounds.Findings:
    """Runs the protocol silently."""
    return rounds.measure(plan, fake, lambda _line: None)


class RotationTest(unittest.TestCase):
    """Who runs when."""

    def test_each_library_has_each_place_equally_often(self) -> None:
        names = ["headway", "a", "b"]
        fake = FakeLibraries({name: constant(1.0 + i) for i, name in enumerate(names)})
        measure(make_plan(names), fake)
        order = fake.order()
        self.assertEqual(len(order), 9 * 3)
        for place in range(3):
            for name in names:
                self.assertEqual(order[place::3].count(name), 3)

    def test_first_rounds(self) -> None:
        self.assertEqual(rounds.rotated(["a", "b", "c"], 0), ["a", "b", "c"])
        self.assertEqual(rounds.rotated(["a", "b", "c"], 1), ["b", "c", "a"])
        self.assertEqual(rounds.rotated(["a", "b", "c"], 5), ["c", "a", "b"])


class VoidTest(unittest.TestCase):
    """Rounds that do not count."""

    def test_misplaced_library_voids_its_round_only(self) -> None:
        fake = FakeLibraries(
            {"headway": lambda n, _c: 100.0 if n == 1 else 1.0, "a": constant(2.0)}
        )
        fake.misplaced_calls[2] = "rank 1 may run on 2 cores"
        findings = measure(make_plan(["headway", "a"]), fake)
        self.assertEqual(findings.rounds, 9)
        self.assertEqual(len(findings.voids), 1)
        self.assertIn("rank 1 may run on 2 cores", findings.voids[0])
        self.assertEqual(len(series(findings, "a")), 9)
        self.assertEqual(set(series(findings, "headway")), set(range(9)))

    def test_figures_of_a_void_round_do_not_count(self) -> None:
        fake = FakeLibraries(
            {"headway": lambda n, _c: 100.0 if n == 0 else 1.0, "a": constant(2.0)}
        )
        fake.misplaced_calls[1] = "ranks 0 and 1 share core 0"
        findings = measure(make_plan(["headway", "a"]), fake)
        self.assertNotIn(100.0, series(findings, "headway").values())

    def test_failing_job_voids_its_round(self) -> None:
        fake = FakeLibraries({"headway": constant(1.0), "a": constant(2.0)})
        fake.failing_calls = {5}
        findings = measure(make_plan(["headway", "a"]), fake)
        self.assertEqual((findings.rounds, len(findings.voids)), (9, 1))
        self.assertIn("ended with code 9", findings.voids[0])

    def test_case_without_figure_voids_the_round(self) -> None:
        silent = FakeLibraries({"headway": constant(1.0), "a": constant(2.0)})

        def run(library: str, cases: Sequence[str]) -> JobResult:
            result = silent(library, cases)
            return JobResult() if len(silent.calls) == 1 else result

        findings = rounds.measure(make_plan(["headway", "a"]), run, lambda _line: None)
        self.assertIn("printed nothing for: 8 B", findings.voids[0])

    def test_gives_up_after_three_in_a_row(self) -> None:
        fake = FakeLibraries({"headway": constant(1.0), "a": constant(2.0)})
        fake.misplaced_calls = dict.fromkeys(range(100), "rank 0 runs on core 5")
        with self.assertRaisesRegex(rounds.MeasureError, "3 rounds in a row .* core 5"):
            measure(make_plan(["headway", "a"]), fake)
        self.assertEqual(len(fake.calls), 3)


class ExtraRoundsTest(unittest.TestCase):
    """More rounds for cases whose limit lies inside the quartiles."""

    def test_clear_case_gets_none(self) -> None:
        fake = FakeLibraries({"headway": constant(1.0), "a": constant(2.0)})
        self.assertEqual(measure(make_plan(["headway", "a"]), fake).rounds, 9)

    def test_unclear_case_gets_up_to_the_maximum(self) -> None:
        wobble = FakeLibraries(
            {"headway": constant(1.0), "a": lambda n, _c: 0.8 if n % 2 else 1.25}
        )
        plan = make_plan(["headway", "a"])
        findings = measure(plan, wobble)
        self.assertEqual(findings.rounds, 36)
        self.assertIs(verdict(plan, findings, Limit(1.0)), Verdict.HOLDS)

    def test_stops_when_decided(self) -> None:
        settling = FakeLibraries(
            {"headway": constant(1.0), "a": lambda n, _c: 2.0 if n >= 9 or n % 2 else 0.8}
        )
        findings = measure(make_plan(["headway", "a"]), settling)
        self.assertGreater(findings.rounds, 9)
        self.assertLess(findings.rounds, 36)

    def test_only_the_unclear_case_runs_again(self) -> None:
        fake = FakeLibraries(
            {
                "headway": constant(1.0),
                "a": lambda n, case: 2.0 if case == "clear" else (0.5 if n % 2 else 2.0),
            }
        )
        metrics = (make_metric({"clear": Limit(1.0), "close": Limit(1.0)}),)
        measure(make_plan(["headway", "a"], cases=("clear", "close"), metrics=metrics), fake)
        self.assertEqual(fake.calls[17][1], ("clear", "close"))
        self.assertEqual({cases for _, cases in fake.calls[18:]}, {("close",)})

    def test_quick_leaves_it_open(self) -> None:
        fake = FakeLibraries({"headway": constant(1.0), "a": lambda n, _c: 0.8 if n % 2 else 1.25})
        plan = make_plan(["headway", "a"], rounds=5, rounds_max=5)
        findings = measure(plan, fake)
        self.assertEqual(findings.rounds, 5)
        self.assertIs(verdict(plan, findings, Limit(1.0)), Verdict.OPEN)

    def test_without_ours_there_is_nothing_to_decide(self) -> None:
        fake = FakeLibraries({"a": constant(1.0), "b": lambda n, _c: 0.8 if n % 2 else 1.25})
        self.assertEqual(measure(make_plan(["a", "b"]), fake).rounds, 9)


class TimeLimitTest(unittest.TestCase):
    """A quick run ends after fewer rounds where all would take too long."""

    def rounds_of(self, lengths_s: Sequence[float], **changes: object) -> int:
        """How many rounds there are if they take so long, one after another."""
        now = 0.0
        lengths = iter(lengths_s)

        def run(_library: str, cases: Sequence[str]) -> JobResult:
            nonlocal now
            now += next(lengths)
            return JobResult(samples={"m": {case: [1.0] for case in cases}})

        plan = make_plan(["headway"], rounds=5, rounds_max=5, **changes)
        return rounds.measure(plan, run, lambda _line: None, lambda: now).rounds

    def test_rounds_that_fit_are_all_run(self) -> None:
        self.assertEqual(self.rounds_of([8.0] * 5, limit_s=40.0), 5)

    def test_long_rounds_are_fewer(self) -> None:
        self.assertEqual(self.rounds_of([12.0] * 5, limit_s=40.0), 3)
        self.assertEqual(self.rounds_of([90.0] * 5, limit_s=40.0), 2)

    def test_a_disturbed_round_counts_as_a_usual_one(self) -> None:
        self.assertEqual(self.rounds_of([7.0, 7.0, 90.0, 7.0, 7.0], limit_s=40.0), 5)

    def test_without_a_limit(self) -> None:
        self.assertEqual(self.rounds_of([1000.0] * 5), 5)


class RivalTest(unittest.TestCase):
    """Against whom, and how it is shown."""

    def setUp(self) -> None:
        self.plan = make_plan(["headway", "a", "b"], rounds=5, rounds_max=5)
        fake = FakeLibraries(
            {
                "headway": constant(2.0),
                "a": lambda n, _c: 0.5 if n == 0 else 6.0,
                "b": constant(5.0),
            }
        )
        self.findings = measure(self.plan, fake)
        self.description = Description(
            name="latency",
            title="a ping-pong",
            program="latency",
            cores=2,
            metrics=self.plan.metrics,
            jobs=(Job(2, True, ("8 B",)),),
        )
        self.about = {
            "machine": {"processor": "P", "cores": 2, "kernel": "K", "load": 0.0},
            "cores": [0, 1],
        }
        self.settings = {name: f"settings of {name}" for name in self.plan.libraries}

    def test_best_median_is_the_rival(self) -> None:
        shown = (self.plan, self.findings, self.plan.metrics[0], "8 B")
        self.assertEqual(rounds.strongest_rival(*shown), "b")
        self.assertEqual(rounds.case_speedups(*shown), [2.5] * 5)

    def test_table(self) -> None:
        text = presentation.table(
            self.description, self.plan, self.findings, self.settings, self.about
        )
        line = next(line for line in text.splitlines() if line.startswith("8 B"))
        self.assertRegex(line, r"\*2 \(2, 0%\) .* 2\.50 \(2\.50 \.\. 2\.50\) +b +>= 1 holds")
        self.assertIn("best: headway in 1", text)
        self.assertIn("settings of a", text)
        self.assertNotIn("warning", text)

    def test_busy_machine_is_named(self) -> None:
        self.about["machine"] = {"processor": "P", "cores": 2, "kernel": "K", "load": 1.5}
        text = presentation.table(
            self.description, self.plan, self.findings, self.settings, self.about
        )
        self.assertIn("warning: other programs kept the machine busy (load 1.5)", text)

    def test_json_lines(self) -> None:
        entries = through_text(presentation.entries(
            self.description, self.plan, self.findings, self.settings, self.about
        ))
        self.assertEqual(entries[0]["settings"], self.settings)
        ours = entries[1]
        wanted = {"bench", "case", "library", "metric", "unit", "samples", "min", "median"}
        self.assertLessEqual(wanted, set(ours))
        self.assertEqual(
            (ours["library"], ours["median"], len(ours["samples"])), ("headway", 2.0, 5)
        )
        speedup = entries[-1]
        self.assertEqual(
            (speedup["metric"], speedup["of"], speedup["rival"]), ("speedup", "m", "b")
        )
        self.assertEqual((speedup["median"], speedup["verdict"]), (2.5, "holds"))


class SeveralMetricsTest(unittest.TestCase):
    """A ratio judged by its value, a time judged against rivals and against a variant of ours."""

    def setUp(self) -> None:
        ratio = Metric("r", "ratio", True, {"8 B": (Limit(0.3, 0.05),)}, True, "a note")
        limits = {"8 B": (Limit(1.0), Limit(0.97, None, "headway-none"))}
        self.plan = make_plan(
            ["headway", "headway-none", "a"],
            cases=("8 B", "1 MiB"),
            metrics=(ratio, Metric("t", "us", True, limits)),
            variants={"headway-none": ("8 B",)},
            rounds=5,
            rounds_max=5,
        )
        figures = {
            "headway": {"r 8 B": -0.1, "r 1 MiB": 1.7, "t 8 B": 10.0, "t 1 MiB": 9.0},
            "headway-none": {"r 8 B": 0.0, "t 8 B": 5.0},
            "a": {"r 8 B": 1.0, "r 1 MiB": 1.0, "t 8 B": 20.0, "t 1 MiB": 9.0},
        }
        self.fake = FakeLibraries(
            {name: lambda _n, key, own=own: own[key] for name, own in figures.items()},
            metrics=("r", "t"),
        )
        self.findings = measure(self.plan, self.fake)
        self.description = Description(
            "overlap", "o", "overlap", 2, self.plan.metrics, (Job(2, True, self.plan.cases),)
        )
        work = {"iterations": 10, "work_us": 15.0, "fastest": "a", "transfer_us": 10.0}
        about = {
            "machine": {"processor": "P", "cores": 2, "kernel": "K", "load": 0.0},
            "cores": [0, 1],
            "work": {"8 B": work},
        }
        self.shown = (
            self.description,
            self.plan,
            self.findings,
            dict.fromkeys(self.plan.libraries, "s"),
            about,
        )

    def test_variant_runs_its_cases_only(self) -> None:
        for name, cases in self.fake.calls:
            wanted = ("8 B",) if name == "headway-none" else ("8 B", "1 MiB")
            self.assertEqual(cases, wanted)

    def test_rivals_leave_out_our_own_cases(self) -> None:
        plan = replace(self.plan, own_cases=("1 MiB",))
        found = {name: plan.cases_of(name, plan.cases) for name in plan.libraries}
        self.assertEqual(
            found, {"headway": ["8 B", "1 MiB"], "headway-none": ["8 B"], "a": ["8 B"]}
        )

    def test_variant_is_no_rival(self) -> None:
        time = self.plan.metrics[1]
        self.assertEqual(rounds.strongest_rival(self.plan, self.findings, time, "8 B"), "a")

    def test_verdicts(self) -> None:
        found = [
            rounds.verdict(self.plan, self.findings, metric, case, limit)
            for metric, case, limit in self.plan.claims()
        ]
        self.assertEqual(found, [Verdict.HOLDS, Verdict.HOLDS, Verdict.MISSED])

    def test_a_metric_that_is_missing_voids_the_round(self) -> None:
        fake = FakeLibraries(self.fake.figures, metrics=("r",))
        with self.assertRaisesRegex(rounds.MeasureError, "printed nothing for: 8 B, 1 MiB"):
            measure(self.plan, fake)

    def test_an_undecided_value_asks_for_more_rounds(self) -> None:
        ratio = Metric("m", "ratio", True, {"8 B": (Limit(0.3),)}, True)
        fake = FakeLibraries({"headway": lambda n, _c: 0.2 if n % 2 else 0.4})
        plan = make_plan(["headway"], metrics=(ratio,), rounds_max=12)
        self.assertEqual(measure(plan, fake).rounds, 12)

    def test_table_shows_worse_than_serial_and_better_than_ideal(self) -> None:
        text = presentation.table(*self.shown)
        self.assertIn("a note", text)
        self.assertRegex(text, r"8 B +\*-0\.1 \(-0\.1 \.\. -0\.1\) .* <= 0\.3 holds")
        self.assertRegex(text, r"1 MiB +1\.7 \(1\.7 \.\. 1\.7\)")
        self.assertRegex(text, r"2\.00 \(2\.00 \.\. 2\.00\) +a +>= 1 holds")
        self.assertRegex(text, r"\n +0\.50 \(0\.50 \.\. 0\.50\) +headway-none +>= 0\.97 missed")
        self.assertIn("8 B              15 us; the fastest transfer took 10 us (a)", text)

    def test_json_lines(self) -> None:
        entries = through_text(presentation.entries(*self.shown))
        self.assertEqual(entries[0]["work"]["8 B"]["iterations"], 10)
        ours = {
            (entry["metric"], entry["case"]): entry
            for entry in entries[1:]
            if entry["library"] == "headway" and entry["metric"] != "speedup"
        }
        self.assertEqual(ours["r", "8 B"]["verdict"], "holds")
        self.assertEqual((ours["r", "8 B"]["median"], ours["r", "1 MiB"]["median"]), (-0.1, 1.7))
        self.assertNotIn("verdict", ours["t", "8 B"])
        speedups = [entry for entry in entries if entry.get("metric") == "speedup"]
        self.assertEqual(
            [(entry["of"], entry["case"], entry["rival"]) for entry in speedups],
            [("t", "8 B", "a"), ("t", "8 B", "headway-none"), ("t", "1 MiB", "a")],
        )


class GeometricMeanTest(unittest.TestCase):
    """One limit for all cases together."""

    LIMITS: ClassVar = {"geometric mean": (Limit(1.0, 2.0),)}

    def plan_of(self, **changes: object) -> rounds.Plan:
        """Two cases, of which the second has a rival as good as twice ours."""
        metric = Metric("m", "us", True, self.LIMITS)
        return make_plan(["headway", "a", "b"], cases=("x", "y"), metrics=(metric,), **changes)

    def shown(self, plan: rounds.Plan, findings: rounds.Findings) -> tuple[Any, ...]:
        """What the tables and lines are made of."""
        about = {"machine": {"processor": "P", "cores": 2, "kernel": "K", "load": 0.0},
                 "cores": [0, 1]}
        job = Job(2, True, plan.cases)
        made = Description("c", "t", "p", 2, plan.metrics, (job,))
        return made, plan, findings, dict.fromkeys(plan.libraries, "s"), about

    def test_it_is_taken_over_the_best_rival_of_each_case(self) -> None:
        times = {"headway": {"x": 1.0, "y": 4.0}, "a": {"x": 8.0, "y": 90.0},
                 "b": {"x": 16.0, "y": 2.0}}
        fake = FakeLibraries(
            {name: lambda _n, case, own=own: own[case] for name, own in times.items()}
        )
        plan = self.plan_of(rounds=3, rounds_max=3)
        findings = measure(plan, fake)
        values = rounds.case_speedups(plan, findings, plan.metrics[0], "geometric mean")
        self.assertEqual(len(values), 3)
        for value in values:
            self.assertAlmostEqual(value, 2.0)  # of 8 and 0.5
        shown = self.shown(plan, findings)
        self.assertRegex(
            presentation.table(*shown),
            r"geometric mean +2\.00 \(2\.00 \.\. 2\.00\) +best of each case +>= 1 holds",
        )
        line = through_text(presentation.entries(*shown))[-1]
        self.assertEqual(
            (line["case"], line["rival"], line["median"], line["verdict"]),
            ("geometric mean", "best of each case", 2.0, "holds"),
        )

    def test_undecided_it_asks_for_all_cases(self) -> None:
        wobble: Figure = lambda n, _case: 0.8 if n % 2 else 1.25  # noqa: E731
        fake = FakeLibraries({"headway": constant(1.0), "a": wobble, "b": constant(9.0)})
        findings = measure(self.plan_of(rounds_max=11), fake)
        self.assertEqual(findings.rounds, 11)
        self.assertEqual({cases for _, cases in fake.calls}, {("x", "y")})

    def test_a_case_without_a_rival_does_not_count(self) -> None:
        fake = FakeLibraries({name: constant(2.0) for name in ("headway", "a", "b")})
        plan = self.plan_of(rounds=2, rounds_max=2, own_cases=("y",))
        findings = measure(plan, fake)
        found = rounds.case_speedups(plan, findings, plan.metrics[0], "geometric mean")
        self.assertEqual(found, [1.0, 1.0])


class VariantCostTest(unittest.TestCase):
    """How many times as long a variant may take, judged after so many pairs at least."""

    def plan_of(self, **changes: object) -> rounds.Plan:
        """Ours beside a variant; it may take 1.1 times as long."""
        limit = Limit(1.1, 1.03, "v", at_most=True, rounds=20)
        return make_plan(["headway", "v"], variants={"v": ("8 B",)},
                         metrics=(make_metric({"8 B": limit}),), **changes)

    def verdict_of(self, cost: float, **changes: object) -> tuple[int, Verdict]:
        """Rounds and verdict of a variant that takes `cost` times as long."""
        plan = self.plan_of(**changes)
        fake = FakeLibraries({"headway": constant(2.0), "v": constant(2.0 * cost)})
        findings = measure(plan, fake)
        (_, _, limit), = plan.claims()
        return findings.rounds, verdict(plan, findings, limit)

    def test_judged_after_twenty_pairs(self) -> None:
        self.assertEqual(self.verdict_of(1.05), (20, Verdict.HOLDS))
        self.assertEqual(self.verdict_of(1.2), (20, Verdict.MISSED))

    def test_a_quick_run_judges_what_it_has(self) -> None:
        self.assertEqual(self.verdict_of(1.05, rounds=5, rounds_max=5), (5, Verdict.HOLDS))


class FewSamplesTest(unittest.TestCase):
    """A library that is too slow for all its samples is named."""

    def test_only_where_others_have_more(self) -> None:
        metric = make_metric({})
        plan = make_plan(["headway", "a"], cases=("x", "y"), metrics=(metric,), rounds=2,
                         rounds_max=2)
        counts = {("headway", "x"): 50, ("a", "x"): 3, ("headway", "y"): 1, ("a", "y"): 1}

        def run(library: str, cases: Sequence[str]) -> JobResult:
            return JobResult(
                samples={"m": {case: [1.0] * counts[library, case] for case in cases}}
            )

        findings = rounds.measure(plan, run, lambda _line: None)
        about = {"machine": {"processor": "P", "cores": 2, "kernel": "K", "load": 0.0},
                 "cores": [0, 1]}
        made = Description("c", "t", "p", 2, plan.metrics, (Job(2, True, plan.cases),))
        text = presentation.table(made, plan, findings, {"headway": "s", "a": "s"}, about)
        told = [line for line in text.splitlines() if line.startswith("samples a round")]
        self.assertEqual(told, ["samples a round, x: a 3; else 50 at most"])


if __name__ == "__main__":
    unittest.main()
