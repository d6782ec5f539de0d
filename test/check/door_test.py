# SPDX-License-Identifier: Apache-2.0
"""The tools behind ./dev: how outcomes are judged, what runs within a budget, who is ended."""

import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from tools import coverage, diagnostics_cost, long_jobs, mpi_tests, packages, test_case, tree
from tools.terminal import StepFailed, end_session, run_logged


class Judging(unittest.TestCase):
    def counts(self, text: str, code: int | None, expect: int = 0) -> tuple[int, int, int]:
        verdict = test_case.judge(text, code, None, expect)
        return verdict.passed, verdict.failed, verdict.skipped

    def test_plain_programs(self) -> None:
        self.assertEqual(self.counts("", 0), (1, 0, 0))
        self.assertEqual(self.counts("", 1), (0, 1, 0))
        self.assertEqual(self.counts("why\n", 77), (0, 0, 1))
        self.assertEqual(self.counts("", None), (0, 1, 0))
        self.assertEqual(self.counts("3 passed, 0 failed\n", 0), (3, 0, 0))
        self.assertEqual(self.counts("3 passed, 0 failed\n", -11), (3, 1, 0))

    def test_an_expected_code_is_success_and_its_absence_failure(self) -> None:
        self.assertEqual(self.counts("", 16, expect=16), (1, 0, 0))
        self.assertEqual(self.counts("", 0, expect=16), (0, 1, 0))
        self.assertEqual(self.counts("", 1, expect=16), (0, 1, 0))

    def test_unittest_output(self) -> None:
        self.assertEqual(self.counts("Ran 5 tests in 0.1s\n\nOK (skipped=1)\n", 0), (4, 0, 1))
        text = "Ran 5 tests in 0.1s\n\nFAILED (failures=1, errors=2, skipped=1)\n"
        self.assertEqual(self.counts(text, 1), (1, 3, 1))

    def test_a_class_skipped_or_broken_as_a_whole_counts_once(self) -> None:
        self.assertEqual(self.counts("Ran 0 tests in 0.0s\n\nOK (skipped=4)\n", 0), (0, 0, 4))
        self.assertEqual(self.counts("Ran 0 tests in 0.0s\n\nFAILED (errors=1)\n", 1), (0, 1, 0))

    def test_no_test_is_a_failure(self) -> None:
        self.assertEqual(self.counts("Ran 0 tests in 0.0s\n\nOK\n", 0), (0, 1, 0))

    def test_the_watchdog_ends_a_hanging_test(self) -> None:
        test = test_case.Test("door_hang", ["sh", "-c", "sleep 600"], timeout_s=0.2)
        verdict = test_case.run(test)
        self.assertEqual((verdict.failed, verdict.why), (1, "the watchdog ended it"))


class Sessions(unittest.TestCase):
    def test_children_that_left_the_session_are_ended_too(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            pids = Path(folder) / "pids"
            process = subprocess.Popen(
                ["sh", "-c", f"setsid sleep 600 & echo $! >{pids}.new; mv {pids}.new {pids}; wait"],
                start_new_session=True)
            while not pids.exists():
                time.sleep(0.01)
            end_session(process)
            child = Path("/proc") / pids.read_text().strip() / "stat"
            self.assertTrue(not child.exists() or " Z " in child.read_text())

    def test_a_second_signal_leaves_nothing_behind(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            pids = Path(folder) / "pids"
            stubborn = f"trap '' TERM; echo $$ >{pids}.new; mv {pids}.new {pids}; exec sleep 600"
            program = (
                "import subprocess, sys\n"
                "from tools import door\n"
                "door.COMMANDS['wait'] = lambda _: subprocess.run("
                f"['setsid', 'sh', '-c', {stubborn!r}]).returncode\n"
                "sys.exit(door.main(['wait']))\n"
            )
            with subprocess.Popen([sys.executable, "-c", program], cwd=tree.ROOT,
                                  stderr=subprocess.PIPE, text=True) as process:
                while not pids.exists():
                    time.sleep(0.01)
                process.terminate()
                assert process.stderr is not None
                while "interrupted" not in process.stderr.readline():
                    pass
                process.terminate()
                self.assertEqual(process.wait(), 130)
            child = Path("/proc") / pids.read_text().strip() / "stat"
            self.assertTrue(not child.exists() or child.read_text().rpartition(")")[2].split()[0]
                            in "ZX")

    def test_a_failing_step_names_its_log(self) -> None:
        with self.assertRaisesRegex(StepFailed, r"exit code 3.*door-step\.log"):
            run_logged("door step", ["sh", "-c", "exit 3"], quiet=True)


class LongJobs(unittest.TestCase):
    JOBS = tuple(long_jobs.Job(name, minutes, "") for name, minutes in
            (("a", 1), ("b", 5), ("c", 2), ("d", 1)))

    def outcome(self, budget_s: float, takes_s: float, state: str = "ok") -> dict[str, list[str]]:
        now = [0.0]

        def run(job: long_jobs.Job, remaining: float) -> str:
            now[0] += min(takes_s, remaining)
            return state if takes_s <= remaining else "cut"
        return long_jobs.run_within(list(self.JOBS), budget_s, run, lambda: now[0])

    def test_jobs_that_do_not_fit_are_left_out_and_shorter_ones_run(self) -> None:
        outcome = self.outcome(budget_s=240, takes_s=60)
        self.assertEqual(outcome["ok"], ["a", "c", "d"])
        self.assertEqual(outcome["left out"], ["b"])

    def test_the_budget_cuts_a_job_that_was_estimated_too_short(self) -> None:
        outcome = self.outcome(budget_s=100, takes_s=1000)
        self.assertEqual(outcome["cut"], ["a"])
        self.assertEqual(outcome["left out"], ["b", "c", "d"])
        self.assertEqual(outcome["failed"], [])

    def test_every_job_is_first_for_some_commit(self) -> None:
        first = {long_jobs.rotated(list(self.JOBS), f"{number:08x}")[0].name for number in range(8)}
        self.assertEqual(first, {"a", "b", "c", "d"})
        self.assertEqual(sorted(job.name for job in long_jobs.rotated(list(self.JOBS), "00000003")),
                         ["a", "b", "c", "d"])

    def test_jobs_of_every_run_come_first(self) -> None:
        jobs = [*self.JOBS, long_jobs.Job("e", 1, "", is_always=True)]
        for number in range(8):
            names = [job.name for job in long_jobs.rotated(jobs, f"{number:08x}")]
            self.assertEqual((names[0], sorted(names)), ("e", ["a", "b", "c", "d", "e"]))
        first = {long_jobs.rotated(jobs, f"{number:08x}")[1].name for number in range(8)}
        self.assertEqual(first, {"a", "b", "c", "d"})

    def test_budgets(self) -> None:
        self.assertEqual([long_jobs.parse_budget(text) for text in ("90s", "35m", "1h", "2")],
                         [90, 2100, 3600, 120])
        with self.assertRaises(StepFailed):
            long_jobs.parse_budget("soon")

    def test_rows_of_other_parts(self) -> None:
        rows = long_jobs.read_rows('[[job]]\nname = "kill"\nminutes = 5\nabout = "x"\n'
                                   'command = "python3 a.py --times 200"\n')
        self.assertEqual(rows["kill"][1], ["python3", "a.py", "--times", "200"])
        self.assertFalse(rows["kill"][0].is_always)
        rows = long_jobs.read_rows('[[job]]\nname = "client"\nminutes = 5\nabout = "x"\n'
                                   'command = "a"\nalways = true\n')
        self.assertTrue(rows["client"][0].is_always)


class DiagnosticsCost(unittest.TestCase):
    def test_counts_are_read_from_what_the_bench_writes(self) -> None:
        self.assertEqual(diagnostics_cost.read_counts(
            '{"bench": "instructions", "title": "x"}\n'
            '{"metric": "instructions", "library": "headway", "case": "8 B", "median": 486}\n'
            '{"metric": "instructions", "library": "mpich", "case": "8 B", "median": 900}\n'),
            {"8 B": 486.0})

    def test_one_count_that_is_off_means_nothing(self) -> None:
        self.assertEqual(diagnostics_cost.median_of([{"a": 1.0}, {"a": 9.0}, {"a": 2.0}]),
                         {"a": 2.0})

    def test_only_messages_must_be_free(self) -> None:
        bare = {"8 B to itself": 480.0, "start of Ibcast": 100.0}
        self.assertTrue(diagnostics_cost.is_free(bare, bare))
        self.assertTrue(diagnostics_cost.is_free({**bare, "start of Ibcast": 103.0}, bare))
        self.assertFalse(diagnostics_cost.is_free({**bare, "8 B to itself": 481.0}, bare))
        self.assertFalse(diagnostics_cost.is_free({"start of Ibcast": 1.0}, bare))


class MpiTests(unittest.TestCase):
    def test_a_row_becomes_one_test_for_each_host_and_count(self) -> None:
        row = {"program": "p2p/order", "ranks": [2, 3], "host": ["process", "team"],
               "knobs": {"CMA": "off"}, "environment": {"A": "b"}, "labels": ["long"],
               "limit_s": 20}
        tests = list(mpi_tests.expand(row, mpi_tests.of_preset("release")))
        self.assertEqual(len({test.name for test in tests}), 4)
        launched, team = tests[0], tests[3]
        binary = str(tree.BUILD / "release" / "mpi" / "p2p" / "order")
        self.assertEqual(launched.command,
                         [str(tree.STAGE / "bin" / "mpiexec"), "-n", "2", binary])
        wanted = {"HEADWAY_CMA": "off", "A": "b", "CHECK_WATCHDOG": "20"}
        self.assertEqual(launched.environment, launched.environment | wanted)
        self.assertIn("TSAN_OPTIONS", launched.environment)
        self.assertEqual((launched.label, launched.timeout_s), ("long", 35))
        self.assertEqual(team.command, [binary])
        self.assertEqual(team.environment["HEADWAY_TEAM"], "3")

    def test_an_oracle_runs_rows_without_knobs_as_processes(self) -> None:
        oracle = mpi_tests.of_oracle(Path("/opt/other"))
        row = {"program": "p2p/order", "ranks": [2], "host": ["process", "team"]}
        for reason in ({"knobs": {"CMA": "off"}}, {"no_oracle": "why"}):
            self.assertTrue(oracle.refusal(row | reason))
            self.assertEqual(mpi_tests.of_preset("release").refusal(row | reason), "")
        self.assertEqual(oracle.refusal(row), "")
        test, = mpi_tests.expand(row, oracle)
        binary = str(tree.BUILD / "oracle" / "other" / "p2p" / "order")
        self.assertEqual(test.command, ["/opt/other/bin/mpiexec", "-n", "2", binary])
        wanted = {"CHECK_SKIP_GARBAGE": "1", "CHECK_LENIENT": "1", "CHECK_WATCHDOG": "240",
                  "LD_LIBRARY_PATH": "/opt/other/lib"}
        self.assertEqual(test.environment, wanted)

    def test_rows_nobody_understands_are_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "list.toml"
            for row in ('ranks = [1]\nhost = ["process"]\nrank = 2', 'ranks = [1]',
                        'ranks = [1]\nhost = ["fiber"]'):
                path.write_text(f'[[run]]\nprogram = "a"\n{row}\n')
                with self.assertRaises(StepFailed):
                    mpi_tests.read_rows(path)

    def test_a_list_of_programs_is_a_row_of_each(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "list.toml"
            path.write_text('[[run]]\nprogram = ["a", "b"]\nranks = [1]\nhost = ["team"]\n'
                            'labels = ["long", "tsan"]\n')
            rows = mpi_tests.read_rows(path)
        self.assertEqual([row["program"] for row in rows], ["a", "b"])
        for preset, label in (("release", "long"), ("asan", "long"), ("tsan", "quick")):
            test, = mpi_tests.expand(rows[0], mpi_tests.of_preset(preset))
            self.assertEqual(test.label, label)

    def test_output_that_must_repeat(self) -> None:
        same = test_case.Test("door_same", ["echo", "a"], repeatable=True)
        self.assertEqual(test_case.run(same).failed, 0)
        changing = test_case.Test("door_changing", ["sh", "-c", "echo $$"], repeatable=True)
        self.assertEqual(test_case.run(changing).why, "two runs print different things")


class Rest(unittest.TestCase):
    def test_missing_packages(self) -> None:
        self.assertEqual(packages.missing_debian(["dpkg", "no-such-package-1"]),
                         ["no-such-package-1"])

    def test_coverage_joins_objects(self) -> None:
        lines: coverage.Lines = {}
        for counts in ((0, 1), (0, 0)):
            rows = ",".join(f'{{"line_number": {number}, "count": {count}}}'
                            for number, count in enumerate(counts))
            coverage.add_report(
                lines, f'{{"files": [{{"file": "src/base/a.cpp", "lines": [{rows}]}}]}}')
        self.assertEqual(coverage.by_layer(lines), {"base": (1, 2)})


if __name__ == "__main__":
    unittest.main()
