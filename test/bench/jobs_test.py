# SPDX-License-Identifier: Apache-2.0
"""Jobs that end well, badly or not at all, and the reader of their lines."""

import os
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from headway import description, jobs, libraries, rivals  # noqa: E402

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
        self.assertEqual(result.samples, {"8 B": [1.0, 2.0]})
        self.assertEqual(result.skipped, {"1 MiB": "no memory"})
        self.assertIsNone(result.misplaced)

    def test_misplaced_at_any_time(self) -> None:
        good = '{"type": "affinity", "ok": true, "why": ""}\n'
        bad = '{"type": "affinity", "ok": false, "why": "rank 0 moved"}\n'
        self.assertEqual(jobs.read_lines(good + bad + END).misplaced, "rank 0 moved")
        self.assertEqual(jobs.read_lines(bad + good + END).misplaced, "rank 0 moved")

    def test_missing_end(self) -> None:
        with self.assertRaisesRegex(jobs.JobError, "before its last line"):
            jobs.read_lines("hello\n")

    def test_broken_line(self) -> None:
        with self.assertRaisesRegex(jobs.JobError, "broken line"):
            jobs.read_lines('{"type": "sam\n' + END)


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
            with self.assertRaisesRegex(jobs.JobError, "did not end within"):
                jobs.run(["/bin/sh", "-c", program], os.environ, limit_s=1.0)
            pid = int(pid_file.read_text())
            deadline = time.monotonic() + 60
            while _is_running(pid) and time.monotonic() < deadline:
                os.sched_yield()
            self.assertFalse(_is_running(pid))


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


class DescriptionTest(unittest.TestCase):
    """bench/*.toml."""

    GOOD = (
        'title = "t"\nprogram = "p"\nmetric = "x_us"\nunit = "us"\nbetter = "lower"\n'
        '[[job]]\nranks = 2\npin = true\ncases = ["a", "b"]\n'
    )

    def test_all_in_the_tree_can_be_read_and_have_a_program(self) -> None:
        names = description.available(ROOT / "bench")
        self.assertIn("latency", names)
        for name in names:
            found = description.load(ROOT / "bench", name)
            self.assertTrue((ROOT / "bench" / "mpi" / f"{found.program}.c").is_file(), name)

    def test_mistakes_are_named(self) -> None:
        cases = {
            self.GOOD.replace('"b"', '"a"'): "stands there twice",
            self.GOOD + '[limits]\n"c" = { required = 1.0 }\n': "limit for 'c'",
            self.GOOD.replace("ranks = 2", "ranks = 3"): "cannot be pinned on 2 cores",
            self.GOOD.replace('"lower"', '"smaller"'): "smaller",
            self.GOOD.replace("title", "titel"): "title",
            self.GOOD + "wall = true\n": "exactly one case",
            "= 3": "bench/x.toml",
        }
        for text, message in cases.items():
            with self.assertRaisesRegex(description.DescriptionError, message):
                description.parse("x", text)

    def test_unknown_name_lists_those_there_are(self) -> None:
        with self.assertRaisesRegex(description.DescriptionError, "latency"):
            description.load(ROOT / "bench", "nothing")


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
        compiler = path / "bin" / "mpicc_abi"
        self.binary = jobs.build(compiler, "latency", ROOT / "bench" / "mpi", Path(folder.name))

    def run_latency(self, pin: bool, listed: str) -> jobs.JobResult:
        """Two ranks, one short case, stated cores `listed`."""
        command = self.mpich.command(2, self.cores, pin)
        command += [str(self.binary), "--budget-ms", "2", "--cases", "8 B", "--cores", listed]
        return jobs.run(command, self.mpich.job_environment(2, self.cores, pin))

    def test_on_the_stated_cores(self) -> None:
        result = self.run_latency(True, ",".join(map(str, self.cores)))
        self.assertIsNone(result.misplaced)
        self.assertGreaterEqual(len(result.samples["8 B"]), 11)

    def test_unbound_ranks_are_noticed(self) -> None:
        result = self.run_latency(False, ",".join(map(str, self.cores)))
        self.assertRegex(result.misplaced or "", "rank 0 may run on [0-9]+ cores")
        self.assertEqual(result.samples, {})

    def test_other_cores_are_noticed(self) -> None:
        result = self.run_latency(True, str(self.cores[0]))
        self.assertEqual(result.misplaced, f"rank 1 runs on core {self.cores[1]}")


if __name__ == "__main__":
    unittest.main()
