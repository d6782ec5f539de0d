# SPDX-License-Identifier: Apache-2.0
"""Jobs that end well, badly or not at all, and the reader of their lines."""

import os
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from headway import (  # noqa: E402
    bench,
    callgrind,
    description,
    jobs,
    libraries,
    presentation,
    rivals,
    rounds,
    runner,
)

END = '{"type": "end"}\n'


class ReadLinesTest(unittest.TestCase):
    """What a program may print."""

    def test_samples_skips_and_remarks(self) -> None:
        result = jobs.read_lines(
            "a library's remark\n"
            '{"type": "affinity", "ok": true, "why": "", "cores": [0, 1]}\n'
            '{"type": "samples", "case": "8 B", "metric": "m", "unit": "us", "samples": [1, 2]}\n'
            '{"type": "skipped", "case": "1 MiB", "why": "no memory"}\n' + END
        )
        self.assertEqual(result.samples, {"m": {"8 B": [1.0, 2.0]}})
        self.assertEqual(result.skipped, {"1 MiB": "no memory"})
        self.assertIsNone(result.misplaced)

    def test_misplaced_at_any_time(self) -> None:
        good = '{"type": "affinity", "ok": true, "why": ""}\n'
        bad = '{"type": "affinity", "ok": false, "why": "rank 0 moved"}\n'
        self.assertEqual(jobs.read_lines(good + bad + END).misplaced, "rank 0 moved")
        self.assertEqual(jobs.read_lines(bad + good + END).misplaced, "rank 0 moved")

    def test_several_metrics_of_a_case(self) -> None:
        line = '{{"type": "samples", "case": "a", "metric": "{}", "unit": "us", "samples": [{}]}}\n'
        result = jobs.read_lines(line.format("m", 1) + line.format("n", -0.5) + END)
        self.assertEqual(result.samples, {"m": {"a": [1.0]}, "n": {"a": [-0.5]}})

    def test_figures_do_not_hide_an_error(self) -> None:
        self.assertEqual(jobs.last_lines('boom\n{"type": "samples"}\n'), "    boom")

    def test_missing_end(self) -> None:
        with self.assertRaisesRegex(jobs.JobError, "before its last line"):
            jobs.read_lines("hello\n")

    def test_broken_line(self) -> None:
        with self.assertRaisesRegex(jobs.JobError, "broken line"):
            jobs.read_lines('{"type": "sam\n' + END)

    def test_ranks_share_a_line(self) -> None:
        samples = '{"type": "samples", "case": "a", "metric": "m", "unit": "us", "samples": [1]}'
        result = jobs.read_lines(samples + END.strip() + "hello from rank 1\n\n")
        self.assertEqual(result.samples, {"m": {"a": [1.0]}})


class RunTest(unittest.TestCase):
    """Processes."""

    def test_exit_code_and_last_lines(self) -> None:
        program = "import sys; print('boom', file=sys.stderr); sys.exit(3)"
        with self.assertRaisesRegex(jobs.JobError, "code 3:\n    boom"):
            jobs.run([sys.executable, "-c", program], os.environ)

    def test_good_job(self) -> None:
        result = jobs.run([sys.executable, "-c", f"print({END!r})"], os.environ)
        self.assertGreater(result.wall_s, 0.0)

    def test_job_that_hangs_is_ended_with_its_children(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            pid_file = Path(folder) / "pid"
            program = f"sleep 600 & echo $! > {pid_file}; wait"
            limit_s = 1.0
            while not _is_filled(pid_file) and limit_s < 100:  # a busy machine may not get that far
                with self.assertRaisesRegex(jobs.JobError, "did not end within"):
                    jobs.run(["/bin/sh", "-c", program], os.environ, limit_s=limit_s)
                limit_s *= 4
            pid = int(pid_file.read_text())
            deadline = time.monotonic() + 60
            while _is_running(pid) and time.monotonic() < deadline:
                os.sched_yield()
            self.assertFalse(_is_running(pid))


def _is_filled(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


class LibraryTest(unittest.TestCase):
    """Command lines and environments."""

    def test_settings_of_the_shell_do_not_reach_a_job(self) -> None:
        os.environ["HEADWAY_PROGRESS"] = "none"
        os.environ["OMPI_MCA_pml"] = "ucx"
        try:
            ours = libraries.ours(Path("/stage")).job_environment(2, [0, 1], True)
        finally:
            del os.environ["HEADWAY_PROGRESS"], os.environ["OMPI_MCA_pml"]
        self.assertNotIn("HEADWAY_PROGRESS", ours)
        self.assertNotIn("OMPI_MCA_pml", ours)
        self.assertIn("PATH", ours)

    def test_stated_cores_are_handed_over(self) -> None:
        mpich = libraries.mpich(Path("/m"))
        self.assertEqual(
            mpich.command(2, [4, 6], True),
            ["/m/bin/mpiexec", "-n", "2", "-bind-to", "user:4,6"],
        )
        intel = libraries.intel(Path("/i"))
        pinned = intel.job_environment(2, [4, 6], True)
        self.assertEqual((pinned["I_MPI_PIN"], pinned["I_MPI_PIN_PROCESSOR_LIST"]), ("1", "4,6"))
        self.assertEqual(intel.job_environment(2, [4, 6], False)["I_MPI_PIN"], "0")

    def test_refused_cma_is_a_setting_of_each_library(self) -> None:
        made = [libraries.ours(Path("/stage")),
                *(maker(Path("/r")) for maker in libraries.MAKERS.values())]
        for library in made:
            plain = library.job_environment(2, [0, 1], True)
            refused = library.job_environment(2, [0, 1], True, has_cma=False)
            self.assertEqual(refused, plain | dict(library.without_cma))
            self.assertNotEqual(refused, plain, library.label)
            (name, value), = library.without_cma.items()
            self.assertIn(f"{name}={value}", libraries.settings_line(library, True))
            self.assertNotIn(name, libraries.settings_line(library, False))

    def test_variant_may_be_another_program(self) -> None:
        ours = libraries.ours(Path("/stage"))
        other = libraries.variant(ours, description.Variant("p", {}, ("a",), program="readv"))
        self.assertEqual(other.settings, "bench/mpi/readv.c, else as headway")

    def test_variant_has_its_settings_and_says_so(self) -> None:
        ours = libraries.ours(Path("/stage"))
        other = libraries.variant(
            ours, description.Variant("headway-none", {"HEADWAY_PROGRESS": "none"}, ("a",))
        )
        self.assertEqual(other.job_environment(2, [0, 1], True)["HEADWAY_PROGRESS"], "none")
        self.assertNotIn("HEADWAY_PROGRESS", ours.job_environment(2, [0, 1], True))
        self.assertEqual(other.command(2, [0, 1], True), ours.command(2, [0, 1], True))
        self.assertEqual(
            (other.label, other.settings),
            ("headway-none", "HEADWAY_PROGRESS=none, else as headway"),
        )


class DescriptionTest(unittest.TestCase):
    """bench/*.toml."""

    METRIC = '[[metric]]\nname = "x_us"\nunit = "us"\nbetter = "lower"\n'
    JOB = '[[job]]\nranks = 2\npin = true\ncases = ["a", "b"]\n'
    HEAD = 'title = "t"\nprogram = "p"\n'
    GOOD = HEAD + JOB + METRIC
    VARIANT = '[[variant]]\nlabel = "v"\nenvironment = { HEADWAY_X = "1" }\ncases = ["a"]\n'

    def test_all_in_the_tree_can_be_read_and_have_a_program(self) -> None:
        names = description.available(ROOT / "bench")
        self.assertIn("latency", names)
        for name in names:
            found = description.load(ROOT / "bench", name)
            for program in found.programs:
                self.assertTrue((ROOT / "bench" / "mpi" / f"{program}.c").is_file(), name)
            for job in found.jobs:
                self.assertLessEqual(set(job.without), set(rivals.RIVALS), name)

    def test_what_quick_runs_leave_out_has_no_limit(self) -> None:
        for name in description.available(ROOT / "bench"):
            found = description.load(ROOT / "bench", name)
            judged = {case for metric in found.metrics for case in metric.limits}
            if found.quick_cases:
                self.assertLessEqual(judged, set(found.quick_cases), name)

    def test_what_is_not_measured_is_told(self) -> None:
        told = self.HEAD + 'not_measured = { "c" = "too dear" }\n' + self.JOB + self.METRIC
        self.assertEqual(description.parse("x", told).not_measured, {"c": "too dear"})
        self.assertEqual(presentation.not_measured({"c": "too dear"}),
                         ["", "not measured:", "  c  too dear"])
        self.assertEqual(presentation.not_measured({}), [])
        with self.assertRaisesRegex(description.DescriptionError, "stands there twice"):
            description.parse("x", told.replace('"c"', '"a"'))

    def test_too_few_cores_are_an_error_or_told(self) -> None:
        wide = "cores = 4096\n" + self.GOOD
        bound = description.parse("x", wide)
        told = description.parse("x", "may_lack_cores = true\n" + wide)
        self.assertEqual(bench.lacking(bound), {})
        with self.assertRaisesRegex(rounds.MeasureError, "needs 4096 cores"):
            bench.choose_cores(bound)
        self.assertEqual(set(bench.lacking(told)), {"a", "b"})
        self.assertRegex(bench.lacking(told)["a"], "^needs 4096 cores, here are [0-9]+$")
        self.assertEqual(bench.lacking(replace(told, cores=1)), {})

    def test_mistakes_are_named(self) -> None:
        against_v = 'judged = "value"\n[metric.limits]\n"a" = { required = 1.0, against = "v" }\n'
        cases = {
            self.GOOD.replace('"b"', '"a"'): "stands there twice",
            self.GOOD + '[metric.limits]\n"c" = { required = 1.0 }\n': "limit for 'c'",
            self.GOOD + '[metric.limits]\n"a" = { required = 1.0, against = "w" }\n': "variant",
            self.GOOD + against_v + self.VARIANT: "judged by its speed-up",
            self.GOOD + self.VARIANT.replace('"a"', '"c"'): "variant 'v' wants 'c'",
            self.GOOD + "[calibration]\nwork = 2.0\n": "work_of_fastest",
            "metric = []\n" + self.HEAD + self.JOB: "needs one at least",
            self.GOOD.replace("ranks = 2", "ranks = 3"): "cannot be pinned on 2 cores",
            self.GOOD.replace('"lower"', '"smaller"'): "smaller",
            self.GOOD.replace("title", "titel"): "title",
            self.HEAD + self.JOB + "wall = true\n" + self.METRIC: "exactly one case",
            "= 3": "bench/x.toml",
            'quick_cases = ["c"]\n' + self.GOOD: "quick_cases names 'c'",
            self.HEAD + self.JOB + "count = true\n" + self.METRIC: "exactly one case",
            self.HEAD + self.JOB + 'called = ["c"]\n' + self.METRIC: "as many names",
            self.GOOD + '[[difference]]\ncase = "d"\nof = "a"\nminus = "c"\n': "'c' is none",
            self.GOOD + 'judged = "value"\n[metric.limits]\n"geometric mean" = { required = 1 }\n':
                "judged by its speed-up",
        }
        for text, message in cases.items():
            with self.assertRaisesRegex(description.DescriptionError, message):
                description.parse("x", text)

    def test_limits_metrics_variants_and_work(self) -> None:
        found = description.parse(
            "x",
            self.GOOD + '[metric.limits]\n"a" = { required = 2.0, aim = 3.0 }\n'
            '"b" = [{ required = 1.0 }, { required = 0.9, against = "v" }]\n'
            + self.METRIC.replace("x_us", "y") + 'judged = "value"\nnote = "n"\n'
            + self.VARIANT + "[calibration]\nwork_of_fastest = 1.5\n",
        )
        first, second = found.metrics
        self.assertEqual(first.limits["a"], (description.Limit(2.0, 3.0),))
        self.assertEqual(
            first.limits["b"],
            (description.Limit(1.0), description.Limit(0.9, None, "v")),
        )
        self.assertEqual((first.is_value, second.is_value, second.note), (False, True, "n"))
        self.assertEqual(found.variants, (description.Variant("v", {"HEADWAY_X": "1"}, ("a",)),))
        self.assertEqual(found.work_of_fastest, 1.5)

    def test_launcher_and_cases_of_our_own(self) -> None:
        text = 'launcher = ["--ranks", "ult"]\n' + self.GOOD + self.VARIANT
        text += self.VARIANT.replace('"v"', '"w"') + 'launcher = []\n'
        own = self.JOB.replace('["a", "b"]', '["c"]') + "rivals = false\n"
        found = description.parse("x", text + own)
        self.assertEqual(found.launcher, ("--ranks", "ult"))
        self.assertEqual([each.launcher for each in found.variants], [found.launcher, ()])
        self.assertEqual((found.cases, found.own_cases), (("a", "b", "c"), ("c",)))
        ours = libraries.ours(Path("/stage"), found.launcher)
        self.assertEqual(ours.command(4, [0, 1], False),
                         ["/stage/bin/mpiexec", "--ranks", "ult", "-n", "4"])

    def test_jobs_with_settings_of_their_own(self) -> None:
        keys = 'called = ["p", "q"]\nprogram = "r"\ncma = false\nwithout = { mpich = "no" }\n'
        variant = self.VARIANT + 'program = "s"\narguments = ["--t"]\n'
        text = "rounds = 2\n" + self.HEAD + self.JOB + keys + self.METRIC + variant
        found = description.parse("x", text + '[[difference]]\ncase = "d"\nof = "a"\nminus = "b"\n')
        (job,) = found.jobs
        self.assertEqual((job.name_in_program("b"), job.has_cma, job.without),
                         ("q", False, {"mpich": "no"}))
        self.assertEqual((found.rounds, found.programs), (2, {"r", "s"}))
        self.assertEqual(found.variants[0].arguments, ("--t",))
        self.assertEqual(found.cases, ("a", "b", "d"))

    def test_what_is_required_of_one_node_is_in_the_descriptions(self) -> None:
        limits = {
            (name, case): [(limit.required, limit.against) for limit in found]
            for name in description.available(ROOT / "bench")
            for metric in description.load(ROOT / "bench", name).metrics
            for case, found in metric.limits.items()
        }
        best = [(1.0, None)]
        for size in ("64 KiB", "1 MiB", "16 MiB"):
            self.assertEqual(limits["bandwidth", size], best + [(0.9, "process_vm_readv")])
            self.assertEqual(limits["bandwidth", f"{size}, no CMA"], best)
        for ranks in (4, 8):
            for what in ("8 B one way", "Barrier", "Allreduce 8 B", "Allgather 4 KiB"):
                self.assertEqual(limits["oversubscribed", f"{what}, {ranks} ranks"], best)
        self.assertEqual(limits["collectives", "geometric mean"], best)
        self.assertEqual(limits["latency", "8 B, one thread"], [(1.1, "headway-multiple")])
        for case in ("8 B to itself", "8 B to the other rank"):
            self.assertEqual(limits["instructions", case], [(500.0, None)])
        for key in (("startup", "hello, 2 ranks"), ("startup", "hello, 16 ranks"),
                    ("memory", "16 ranks")):
            self.assertEqual(limits[key], best)

    def test_overlap_has_every_required_limit(self) -> None:
        found = description.load(ROOT / "bench", "overlap")
        ratio, total, _transfer = found.metrics
        for case in found.cases:
            pattern, size = case.split(" ", 1)
            if pattern.endswith("-rows"):
                continue  # nothing is required of it
            if pattern == "both":
                self.assertEqual(
                    [(limit.required, limit.against) for limit in total.limits[case]],
                    [(1.0, None), (0.971, "headway-none")],
                )
                continue
            self.assertEqual(ratio.limits[case][0].required, 0.3 if size == "64 KiB" else 0.15)
            self.assertEqual(total.limits[case], (description.Limit(0.952),))

    def test_delay_compares_ours_with_itself(self) -> None:
        found = description.load(ROOT / "bench", "delay")
        self.assertFalse(found.has_rivals)
        self.assertEqual(set(found.metrics[0].limits), set(found.cases))
        self.assertEqual(set(found.variants[0].cases), set(found.cases))
        for job in found.jobs:
            delay_ms = int(job.environment["HEADWAY_DELAY_US"]) // 1000
            self.assertTrue(all(case.endswith(f", {delay_ms} ms") for case in job.cases))

    def test_unknown_name_lists_those_there_are(self) -> None:
        with self.assertRaisesRegex(description.DescriptionError, "latency"):
            description.load(ROOT / "bench", "nothing")


class FakeRunner(runner.Runner):
    """Notes what would be started; every case takes as long as a table says."""

    times: dict[str, float]
    started: list[tuple[str, ...]]

    def _start(
        self,
        job: description.Job,
        measured: runner.Measured,
        cases: Sequence[str],
        prefix: Sequence[str] = (),
        repetitions: int | None = None,
        more: Sequence[str] = (),
    ) -> jobs.JobResult:
        self.started.append(tuple(cases))
        return jobs.JobResult(
            samples={"t_s": {case: [self.times[case]] for case in cases}},
            wall_s=sum(self.times[case] for case in cases),
        )


class RunnerTest(unittest.TestCase):
    """From jobs to the figures of a round."""

    def run_jobs(self, table: list[description.Job], cases: Sequence[str], times: dict[str, float],
                 *differences: description.Difference) -> tuple[jobs.JobResult, FakeRunner]:
        """One library's round, budget a second."""
        made = description.Description("b", "t", "p", 2, (description.Metric("t_s", "s", True),),
                                       tuple(table), differences=differences)
        measured = runner.Measured(libraries.ours(Path("/stage")), {"p": Path("/p")})
        fake = FakeRunner(made, {"mpich-5.0.2": measured, "headway": measured}, [0, 1], 1000.0)
        fake.times, fake.started = times, []
        return fake.run("mpich-5.0.2", cases), fake

    def test_difference_runs_both_of_its_cases(self) -> None:
        table = [description.Job(1, False, (name,)) for name in ("a", "b", "c")]
        found, fake = self.run_jobs(table, ["d"], {"a": 5.0, "b": 3.0, "c": 1.0},
                                    description.Difference("d", "b", "a"))
        self.assertEqual(found.samples["t_s"]["d"], [-2.0])
        self.assertEqual(fake.started, [("a",), ("b",)])

    def test_difference_may_be_of_parts_or_a_quotient(self) -> None:
        table = [description.Job(1, False, (name,)) for name in ("a", "b")]
        found, _ = self.run_jobs(table, ["d", "q"], {"a": 2.0, "b": 8.0},
                                 description.Difference("d", "b", "a", parts=3),
                                 description.Difference("q", "b", "a", is_quotient=True))
        self.assertEqual(found.samples["t_s"]["d"], [2.0])
        self.assertEqual(found.samples["t_s"]["q"], [4.0])

    def test_difference_of_a_skipped_case_is_skipped(self) -> None:
        table = [description.Job(1, False, ("a",), without={"mpich": "it waits"}),
                 description.Job(1, False, ("b",))]
        found, fake = self.run_jobs(table, ["a", "b", "d"], {"b": 1.0},
                                    description.Difference("d", "b", "a"))
        self.assertEqual(found.skipped, {"a": "it waits", "d": "it waits"})
        self.assertEqual(fake.started, [("b",)])

    def test_short_jobs_are_timed_several_times(self) -> None:
        table = [description.Job(1, False, (name,), wall=True) for name in ("fast", "some", "slow")]
        found, _ = self.run_jobs(table, ["fast", "some", "slow"],
                                 {"fast": 0.01, "some": 0.4, "slow": 2.0})
        self.assertEqual({case: len(values) for case, values in found.samples["t_s"].items()},
                         {"fast": runner.WALL_SAMPLES_MAX, "some": 3, "slow": 1})


class CallgrindTest(unittest.TestCase):
    """Counts of instructions."""

    def test_counts_of_all_processes_are_added(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            for pid, count in (("1", 300), ("2", 40)):
                (Path(name) / pid).write_text(f"version: 1\nsummary: 7\ntotals: {count}\n")
            self.assertEqual(callgrind.collected(Path(name), ()), 340)

    def test_nothing_collected_is_an_error(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            (Path(name) / "1").write_text("totals: 0\n")
            with self.assertRaisesRegex(jobs.JobError, "no call of PMPI_Send or PMPI_Recv"):
                callgrind.collected(Path(name), callgrind.COLLECTED)

    def test_start_up_is_taken_off(self) -> None:
        def run(prefix: Sequence[str], messages: int) -> jobs.JobResult:
            self.assertEqual([part for part in prefix if "toggle" in part],
                             ["--toggle-collect=PMPI_Ibcast"])
            option = next(part for part in prefix if part.startswith("--callgrind-out-file="))
            folder = Path(option.partition("=")[2]).parent
            (folder / "1").write_text(f"totals: {12345 + 7 * messages}\n")
            return jobs.JobResult(skipped={"messages": str(messages)})

        with unittest.mock.patch.object(callgrind, "require", return_value="valgrind"):
            figure, last = callgrind.count(run, ["PMPI_Ibcast"])
        self.assertEqual((figure, last.skipped), (7.0, {"messages": "2000"}))

    def test_the_cure_is_named_where_there_is_no_valgrind(self) -> None:
        with (
            unittest.mock.patch.dict(os.environ, {"PATH": "/nowhere"}),
            self.assertRaisesRegex(jobs.JobError, "apt-get install valgrind"),
        ):
            callgrind.require()


class HarnessTest(unittest.TestCase):
    """bench/mpi/harness.c under a real MPI: the affinity check must be able to fail."""

    def setUp(self) -> None:
        path = rivals.find("mpich")
        if path is None:
            self.skipTest("MPICH is not installed: python3 -m headway.rivals --ensure mpich")
        self.mpich = libraries.mpich(path)
        self.cores = sorted(os.sched_getaffinity(0))[:2]
        if len(self.cores) < 2:
            self.skipTest("needs two cores")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.compiler = path / "bin" / "mpicc_abi"
        self.folder = Path(folder.name)

    def build(self, program: str) -> Path:
        """A bench program, built into a folder that goes with the test."""
        return jobs.build(self.compiler, program, ROOT / "bench" / "mpi", self.folder)

    def run_latency(self, pin: bool, listed: str) -> jobs.JobResult:
        """Two ranks, one short case, stated cores `listed`."""
        command = self.mpich.command(2, self.cores, pin)
        command += [str(self.build("latency")), "--budget-ms", "2"]
        command += ["--cases", "8 B", "--cores", listed]
        return jobs.run(command, self.mpich.job_environment(2, self.cores, pin))

    def test_on_the_stated_cores(self) -> None:
        result = self.run_latency(True, ",".join(map(str, self.cores)))
        self.assertIsNone(result.misplaced)
        self.assertGreaterEqual(len(result.samples["oneway_us"]["8 B"]), 3)

    def test_unbound_ranks_are_noticed(self) -> None:
        result = self.run_latency(False, ",".join(map(str, self.cores)))
        self.assertRegex(result.misplaced or "", "rank 0 may run on [0-9]+ cores")
        self.assertEqual(result.samples, {})

    def test_other_cores_are_noticed(self) -> None:
        result = self.run_latency(True, str(self.cores[0]))
        self.assertEqual(result.misplaced, f"rank 1 runs on core {self.cores[1]}")

    def run_program(self, program: str, ranks: int, *arguments: str) -> jobs.JobResult:
        """Some ranks, not bound, for short."""
        command = self.mpich.command(ranks, self.cores, False)
        command += [str(self.build(program)), "--budget-ms", "2", *arguments]
        return jobs.run(command, self.mpich.job_environment(ranks, self.cores, False))

    def test_one_core_reads_the_other_process(self) -> None:
        result = self.run_program("readv", 2, "--cases", "64 KiB")
        if "64 KiB" in result.skipped:
            self.skipTest(result.skipped["64 KiB"])
        self.assertGreater(min(result.samples["bandwidth_mbs"]["64 KiB"]), 0.0)

    def test_memory_of_two_ranks(self) -> None:
        result = self.run_program("memory", 2)
        (pss_kib,) = result.samples["pss_kib"]["after exchanges"]
        (own_kib,) = result.samples["own_kib"]["after exchanges"]
        # Two buffers of 1 MiB have been written in each.
        self.assertGreater(own_kib, 2048.0)
        self.assertGreater(pss_kib, own_kib)

    def test_as_many_messages_as_asked_for(self) -> None:
        for messages in ("1", "20"):
            result = self.run_program("instructions", 2, "--work", f"8 B={messages}")
            self.assertEqual(result.samples, {})

    def test_a_program_that_misses_its_work_says_so(self) -> None:
        # By itself: mpiexec of MPICH may lose the last words of a rank that fails.
        command = [str(self.build("instructions")), "--budget-ms", "2"]
        environment = self.mpich.job_environment(1, self.cores, False)
        with self.assertRaisesRegex(jobs.JobError, "instructions needs"):
            jobs.run(command, environment)

    def test_hello_with_threads(self) -> None:
        self.assertIsNone(self.run_program("startup", 2, "--threads", "multiple").misplaced)

    def run_overlap(
        self, *arguments: str, preload: Path | None = None
    ) -> dict[str, dict[str, list[float]]]:
        """Samples of two ranks of `overlap` on the stated cores."""
        command = self.mpich.command(2, self.cores, True)
        command += [str(self.build("overlap")), "--budget-ms", "2", *arguments]
        environment = self.mpich.job_environment(2, self.cores, True)
        if preload is not None:
            environment = {**environment, "LD_PRELOAD": str(preload)}
        return jobs.run(command, environment).samples

    def test_overlap_calibrates_without_work(self) -> None:
        samples = self.run_overlap("--cases", "recv 64 KiB;both 1 MiB")
        self.assertEqual(set(samples), {"transfer_us", "kernel_ns"})
        self.assertEqual(set(samples["transfer_us"]), {"recv 64 KiB", "both 1 MiB"})

    def test_overlap_does_the_work_of_each_case(self) -> None:
        cases = ["send 64 KiB", "recv 64 KiB", "recv-late 64 KiB", "both 64 KiB"]
        little = ";".join(f"{case}=1" for case in cases)
        much = little.replace("recv 64 KiB=1;", "recv 64 KiB=20000000;")
        few = self.run_overlap("--cases", ";".join(cases), "--work", little)
        many = self.run_overlap("--cases", ";".join(cases), "--work", much)
        self.assertEqual(set(few), {"r_overhead", "total_us", "transfer_us"})
        for samples in (few, many):
            for by_case in samples.values():
                self.assertEqual(set(by_case), set(cases))
        # 20 million dependent multiplications take more than 10 ms on any processor of today.
        self.assertGreater(min(many["total_us"]["recv 64 KiB"]), 10e3)

    def test_overlap_gives_a_slow_receiver_the_time_to_post(self) -> None:
        library = self.folder / "slow_irecv.so"
        source = ROOT / "test" / "bench" / "slow_irecv.c"
        command = [str(self.compiler), "-shared", "-fPIC", str(source), "-o", str(library)]
        subprocess.run(command, check=True)
        samples = self.run_overlap("--cases", "recv 64 KiB", preload=library)
        self.assertGreater(min(samples["transfer_us"]["recv 64 KiB"]), 40.0)


if __name__ == "__main__":
    unittest.main()
