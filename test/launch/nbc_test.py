# SPDX-License-Identifier: Apache-2.0
"""What bench/mpi/nbc.c prints under our mpiexec: raw times of every rank, ratios that follow from
them, a clock that finds an invented skew, and clear words for what it does not understand."""

import json
import statistics
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

import fixture

sys.path.insert(0, str(fixture.ROOT / "python"))

from headway import jobs

SKEW_US = 5000.0
RESIDUAL_US = 2.0
LATE_US = 200_000.0


class Nbc(fixture.InFolder):
    """One program, built as the benches build it."""

    program: Path

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.program = jobs.build(fixture.stage() / "bin" / "mpicc", "nbc",
                                 fixture.ROOT / "bench" / "mpi", cls.folder, has_openmp=True)

    def start(
        self, ranks: int, *words: str, **variables: str
    ) -> "subprocess.CompletedProcess[str]":
        environment = fixture.clean_environment() | {"OMP_NUM_THREADS": "1"} | variables
        return subprocess.run([fixture.mpiexec(), "-n", str(ranks), str(self.program), *words],
                              env=environment, capture_output=True, text=True, check=False,
                              timeout=fixture.WATCHDOG_S)

    def run_cell(self, ranks: int, case: str, work: str, **variables: str) -> jobs.JobResult:
        done = self.start(ranks, "--budget-ms", "20", "--cases", case, "--work", f"{case}={work}",
                          **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        return jobs.read_lines(done.stdout)

    def totals(self, result: jobs.JobResult, case: str, part: str) -> list[float]:
        """From the first start of a rank to the last end, by iteration."""
        ranks: list[dict[str, Any]] = result.times[case]
        return [max(rank[part][index][3] for rank in ranks)
                - min(rank[part][index][0] for rank in ranks)
                for index in range(len(ranks[0][part]))]

    def test_ratios_follow_from_the_times(self) -> None:
        case = "iallreduce 1 ms"
        result = self.run_cell(3, case, "65536:90")
        self.assertEqual([rank["rank"] for rank in result.times[case]], [0, 1, 2])
        both = self.totals(result, case, "both")
        comm = statistics.median(self.totals(result, case, "comm"))
        comp = statistics.median(self.totals(result, case, "comp"))
        for printed, total in zip(result.samples["total_us"][case], both, strict=True):
            self.assertAlmostEqual(printed, total, delta=0.1 + 1e-3 * total)
        for printed, total in zip(result.samples["r_overhead"][case], both, strict=True):
            expected = (total - max(comm, comp)) / min(comm, comp)
            self.assertAlmostEqual(printed, expected, delta=0.01 + 0.01 * abs(expected))
        for rank in result.times[case]:
            for times in rank["both"]:
                self.assertEqual(times, sorted(times))

    def test_every_operation_delivers(self) -> None:
        names = ("ibcast", "ireduce", "iallgather", "ialltoall", "iallreduce", "igather",
                 "iscatter", "iallgatherv", "ialltoallv", "exchange")
        cases = [f"{name} 1 ms" for name in names]
        done = self.start(3, "--budget-ms", "1", "--cases", ";".join(cases), "--work",
                          ";".join(f"{case}=4099:20" for case in cases))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(jobs.read_lines(done.stdout).samples["total_us"]), sorted(cases))

    def test_invented_skew_is_found(self) -> None:
        case = "ibcast 1 ms"
        result = self.run_cell(2, case, "65536:60", NBC_SKEW=f"1={SKEW_US:g},5000")
        (residual_us,) = result.samples["clock_residual_us"][case]
        (doubt_us,) = result.samples["clock_doubt_us"][case]
        # Where even the quickest round trip took longer, ranks shared a core.
        self.assertLessEqual(residual_us, max(RESIDUAL_US, doubt_us))
        self.assertLess(max(self.totals(result, case, "comm")), SKEW_US * 100)

    def test_late_starts_are_repeated_and_counted(self) -> None:
        case = "ibcast 1 ms"
        result = self.run_cell(2, case, "65536:60", NBC_LATE=f"1={LATE_US:g},4")
        (late_starts,) = result.samples["late_starts"][case]
        ranks: list[dict[str, Any]] = result.times[case]
        count = 3 * len(ranks[0]["both"])  # of runs, beside which there are those that warm up
        self.assertGreaterEqual(late_starts, count // 4)
        for part in ("comm", "comp", "both"):
            for first, second in zip(ranks[0][part], ranks[1][part], strict=True):
                self.assertLess(abs(first[0] - second[0]), LATE_US)

    def test_calibration_chooses_size_and_order(self) -> None:
        case = "ialltoall 1 x 2 ms"
        done = self.start(2, "--cases", case, "--calibrate", "only")
        self.assertEqual(done.returncode, 0, done.stderr)
        result = jobs.read_lines(done.stdout)
        if case not in result.skipped:
            self.assertEqual(sorted(result.samples), ["order", "size_bytes"])
            self.assertGreater(result.samples["size_bytes"][case][0], 0)

    def test_what_is_no_case(self) -> None:
        for case in ("bcast 8 ms", "ibcast", "ibcast 8", "ibcast -1 ms", "ibcast 8 x ms"):
            done = self.start(1, "--cases", case)
            self.assertNotEqual(done.returncode, 0, case)
            self.assertIn("a case is 'OPERATION [SIZE,] COMM [x COMP] ms'", done.stderr, case)

    def test_lines_are_json(self) -> None:
        done = self.start(1, "--budget-ms", "1", "--cases", "ibcast 64 KiB, 1 ms", "--work",
                          "ibcast 64 KiB, 1 ms=0:20")
        kinds = {json.loads(line)["type"] for line in done.stdout.splitlines()}
        self.assertEqual(kinds, {"samples", "times", "end"})


class Installed(fixture.InFolder):
    """`headway bench` where Headway is installed, without a source tree."""

    def bench(self, *words: str) -> "subprocess.CompletedProcess[str]":
        environment = fixture.clean_environment() | {"XDG_CACHE_HOME": str(self.folder)}
        environment.pop("PYTHONPATH", None)
        return subprocess.run([fixture.stage() / "bin" / "headway", "bench", *words],
                              env=environment, capture_output=True, text=True, check=False,
                              timeout=fixture.WATCHDOG_S, cwd=self.folder)

    def test_benches_are_there(self) -> None:
        self.assertRegex(self.bench().stdout, r"^benches: .*\bnbc_delay, nbc_size\b")

    def test_a_cell_is_measured(self) -> None:
        case, file = "ibcast 64 KiB, 1 ms", self.folder / "cell.json"
        done = self.bench("nbc_delay", "--quick", "--rounds", "1", "--libraries", "headway",
                          "--cases", case, "--json", str(file))
        self.assertEqual(done.returncode, 0, done.stderr)
        head, *lines = [json.loads(line) for line in file.read_text().splitlines()]
        self.assertTrue(head["command"].startswith("headway bench nbc_delay "), head["command"])
        self.assertIn((case, "headway", "r_overhead"),
                      [(line["case"], line["library"], line["metric"]) for line in lines])
        self.assertEqual(len(list((self.folder / "headway" / "bench").glob("nbc-*"))), 1)


if __name__ == "__main__":
    unittest.main()
