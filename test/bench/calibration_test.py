# SPDX-License-Identifier: Apache-2.0
"""The choice of the work that all libraries do."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from headway import calibration, jobs, rounds, runner
from headway.description import Description, Job, Metric
from headway.jobs import JobError, JobResult


def measured(transfers: dict[str, list[float]], kernel_ns: float) -> JobResult:
    """What a program prints that was started without --work."""
    kernels = {case: [kernel_ns] for case in transfers}
    return JobResult(samples={"transfer_us": transfers, "kernel_ns": kernels})


class ChooseTest(unittest.TestCase):
    """The fastest library decides, case by case."""

    def test_fastest_median_decides(self) -> None:
        results = {
            "a": [measured({"x": [100.0, 1.0, 101.0], "y": [8.0]}, 2.0)],
            "b": [measured({"x": [90.0, 50.0, 91.0], "y": [9.0]}, 1.5)],
        }
        chosen = calibration.choose(results, ["x", "y"], 1.5)
        self.assertEqual((chosen["x"].fastest, chosen["x"].transfer_us), ("b", 90.0))
        self.assertEqual((chosen["x"].work_us, chosen["x"].iterations), (135.0, 90000))
        self.assertEqual((chosen["y"].fastest, chosen["y"].iterations), ("a", 8000))

    def test_several_jobs_of_a_library(self) -> None:
        a = [measured({"x": [value]}, 2.0) for value in (1.0, 30.0, 31.0)]
        b = [measured({"x": [value]}, 1.0) for value in (20.0, 21.0, 90.0)]
        chosen = calibration.choose({"a": a, "b": b}, ["x"], 1.0)["x"]
        self.assertEqual((chosen.fastest, chosen.iterations), ("b", 21000))

    def test_never_without_work(self) -> None:
        chosen = calibration.choose({"a": [measured({"x": [0.0001]}, 2.0)]}, ["x"], 1.5)
        self.assertEqual(chosen["x"].iterations, 1)

    def test_case_that_one_library_lacks(self) -> None:
        results = {"a": [measured({"x": [4.0]}, 2.0)], "b": [JobResult(skipped={"x": "no"})]}
        self.assertEqual(calibration.choose(results, ["x"], 1.0)["x"].fastest, "a")

    def test_case_that_nobody_has(self) -> None:
        results = {"a": [measured({"x": [4.0]}, 2.0)]}
        with self.assertRaisesRegex(JobError, "transfer of y"):
            calibration.choose(results, ["x", "y"], 1.0)
        results["a"][0].skipped["y"] = "no"
        self.assertNotIn("y", calibration.choose(results, ["x", "y"], 1.0))

    def test_no_kernel(self) -> None:
        result = JobResult(samples={"transfer_us": {"x": [1.0]}})
        with self.assertRaisesRegex(JobError, "kernel_ns"):
            calibration.choose({"a": [result]}, ["x"], 1.0)

    def test_option(self) -> None:
        results = {"a": [measured({"x 1": [2.0], "y": [4.0]}, 1.0)]}
        chosen = calibration.choose(results, ["x 1", "y"], 1.0)
        self.assertEqual(calibration.texts(chosen), {"x 1": "2000", "y": "4000"})


class RecordingRunner(runner.Runner):
    """Answers with what a table says instead of running jobs."""

    answers: dict[str, JobResult]
    calls: list[tuple[str, tuple[str, ...], tuple[str, ...]]]

    def run(self, label: str, cases: object, more: object = ()) -> JobResult:
        """Notes with which work each library ran."""
        self.calls.append((label, tuple(cases), tuple(self.work)))  # type: ignore[call-overload]
        return self.answers[label]


class RunnerTest(unittest.TestCase):
    """Calibration before the rounds."""

    def setUp(self) -> None:
        metric = Metric("t", "us", True)
        job = Job(2, True, ("x", "y"))
        description = Description("o", "t", "p", 2, (metric,), (job,), work_of_fastest=2.0)
        self.plan = rounds.Plan(
            ("headway", "v", "a"), "headway", ("x", "y"), (metric,), 1, 1, {"v": ("y",)}
        )
        self.runner = RecordingRunner(description, {}, [0, 1], 5.0)
        self.runner.calls = []
        self.runner.answers = {
            "headway": measured({"x": [4.0], "y": [4.0]}, 2.0),
            "v": measured({"y": [2.0]}, 2.0),
            "a": measured({"x": [3.0], "y": [3.0]}, 2.0),
        }

    def test_all_measure_without_work_then_all_get_the_same(self) -> None:
        told: list[str] = []
        work = self.runner.calibrate(self.plan, 1, told.append)
        self.assertEqual(
            self.runner.calls,
            [("headway", ("x", "y"), ()), ("v", ("y",), ()), ("a", ("x", "y"), ())],
        )
        self.assertEqual(self.runner.work, {"x": "3000", "y": "2000"})
        self.assertEqual((work["x"]["fastest"], work["y"]["fastest"]), ("a", "v"))
        self.assertEqual(len(told), 1)

    def test_several_times_in_rotated_order_before_any_work(self) -> None:
        self.runner.calibrate(self.plan, 2, lambda _line: None)
        order = [name for name, _cases, _work in self.runner.calls]
        self.assertEqual(order, ["headway", "v", "a", "v", "a", "headway"])
        self.assertEqual({work for _name, _cases, work in self.runner.calls}, {()})

    def test_a_misplaced_library_stops_it(self) -> None:
        self.runner.answers["a"].misplaced = "rank 0 runs on core 5"
        with self.assertRaisesRegex(jobs.JobError, "a is not on the stated cores: .* core 5"):
            self.runner.calibrate(self.plan, 1, lambda _line: None)


if __name__ == "__main__":
    unittest.main()
