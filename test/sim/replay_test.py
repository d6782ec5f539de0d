# SPDX-License-Identifier: Apache-2.0
"""HEADWAY_SIM from the outside: a seed repeats its schedule, with a trace too, other seeds have
others; what stands still or fails names the seed; jobs of processes are refused. All of it with
teams, and with programs that nobody has prepared (mpiexec --ranks thread)."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
STAGE = Path(os.environ.get("HEADWAY_STAGE", HERE.parents[1] / "build" / "stage")).resolve()
WATCHDOG_S = 60
RANKS = 4
LINE = re.compile(r"^headway: simulation HEADWAY_SIM=(\d+) of (\d+) ranks: (\d+) steps, (\d+) ns, "
                  r"schedule ([0-9a-f]{16})(; it failed, .*)?$", re.MULTILINE)


class Replay(unittest.TestCase):
    """What holds whatever makes threads of ranks. Its heirs say how a job is started."""

    folder: Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        for source in ("mpi/point_to_point/random_traffic.c", "sim/standstill.c"):
            path = HERE.parent / source
            subprocess.run([STAGE / "bin/mpicc", "-std=gnu99", "-O1", "-Wall", "-Werror", "-o",
                            cls.folder / path.stem, path], check=True)

    def run_ranks(self, program: str, ranks: int = RANKS,
                  **settings: str) -> subprocess.CompletedProcess[str]:
        raise NotImplementedError

    def schedule(self, seed: int, **settings: str) -> tuple[str, ...]:
        """What the simulation says of itself: ranks, steps, time, digest."""
        ran = self.run_ranks("random_traffic", HEADWAY_SIM=str(seed), HEADWAY_STATS="1",
                            CHECK_SEEDS="2", CHECK_MESSAGES="10", **settings)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        found = LINE.findall(ran.stderr)
        self.assertEqual(len(found), 1, ran.stderr)
        self.assertEqual(found[0][0], str(seed))
        self.assertEqual(found[0][1], str(RANKS))
        self.assertGreater(int(found[0][2]), 1000)
        return tuple(found[0])

    def test_a_seed_repeats_its_schedule_and_others_differ(self) -> None:
        digests = set()
        for seed in range(1, 9):
            first = self.schedule(seed)
            self.assertEqual(first, self.schedule(seed))
            digests.add(first[4])
        self.assertEqual(len(digests), 8)

    def test_without_delays_too(self) -> None:
        first = self.schedule(3, HEADWAY_SIM_DELAY_US="0")
        self.assertEqual(first, self.schedule(3, HEADWAY_SIM_DELAY_US="0"))
        self.assertNotEqual(first, self.schedule(3))

    def test_a_trace_leaves_the_schedule_as_it_is(self) -> None:
        trace = self.folder / "trace.json"
        self.assertEqual(self.schedule(5), self.schedule(5, HEADWAY_TRACE=str(trace)))
        self.assertGreater(trace.stat().st_size, 1000)

    def test_a_standstill_says_who_waits_for_what(self) -> None:
        ran = self.run_ranks("standstill", ranks=3, HEADWAY_SIM="12")
        self.assertEqual(ran.returncode, 1)
        self.assertRegex(
            ran.stderr,
            r"headway: the simulated job has come to a standstill after \d+ steps: "
            r"rank 0 waits for a message from rank 1 with tag 7, rank 1 waits for a collective, "
            r"rank 2 waits for a collective.*; HEADWAY_SIM=12 repeats it\n")


class TeamTest(Replay):
    def run_ranks(self, program: str, ranks: int = RANKS,
                 **settings: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "HEADWAY_TEAM": str(ranks), **settings}
        return subprocess.run([str(self.folder / program)], env=environment, timeout=WATCHDOG_S,
                              text=True, capture_output=True, check=False)

    def test_a_failure_names_its_seed(self) -> None:
        ran = self.run_ranks("standstill", HEADWAY_SIM="12", CHECK_FAILS="1", CHECK_SIM_SEEDS="3")
        self.assertEqual(ran.returncode, 1)
        self.assertRegex(ran.stderr, "HEADWAY_SIM=12 of 4 ranks: .*; it failed")
        self.assertRegex(ran.stderr, "FAIL: repeat it with .*HEADWAY_SIM=12 .*standstill\n")
        self.assertNotIn("HEADWAY_SIM=13", ran.stderr)

    def test_the_seeds_of_a_run_differ(self) -> None:
        ran = self.run_ranks("random_traffic", HEADWAY_SIM="20", CHECK_SIM_SEEDS="3",
                            HEADWAY_STATS="1", CHECK_SEEDS="1", CHECK_MESSAGES="5")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        found = LINE.findall(ran.stderr)
        self.assertEqual([line[0] for line in found], ["20", "21", "22"])
        self.assertEqual(len({line[4] for line in found}), 3)

    def test_processes_are_refused(self) -> None:
        environment = {**os.environ, "HEADWAY_SIM": "1"}
        ran = subprocess.run(
            [str(STAGE / "bin/mpiexec"), "-n", "2", str(self.folder / "random_traffic")],
            env=environment, timeout=WATCHDOG_S, text=True, capture_output=True, check=False)
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn("HEADWAY_SIM simulates ranks that are threads of one process; start them "
                      "with mpiexec --ranks thread", ran.stderr)


# Ends with code 5 where the message of the highest rank comes first, which is up to the schedule.
FIRST = """
#include <mpi.h>
int main(int count, char** words)
{
    int rank, ranks, wrong = 0;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0) {
        for (int i = 1; i < ranks; i++) {
            MPI_Status status;
            MPI_Recv(0, 0, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
            wrong |= i == 1 && status.MPI_SOURCE == ranks - 1;
        }
    } else {
        MPI_Send(0, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    if (wrong) MPI_Abort(MPI_COMM_WORLD, 5);
    MPI_Finalize();
    return 0;
}
"""
STARTS_A_THREAD = """
#include <mpi.h>
#include <pthread.h>
static void* nothing(void* unused) { return unused; }
int main(int count, char** words)
{
    pthread_t thread;
    MPI_Init(&count, &words);
    pthread_create(&thread, 0, nothing, 0);
    pthread_join(thread, 0);
    MPI_Finalize();
    return 0;
}
"""


@unittest.skipUnless((STAGE / "bin/headway-host").is_file(), "sanitizers have no host program")
class HostedTest(Replay):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        for name, source in (("first", FIRST), ("starts_a_thread", STARTS_A_THREAD)):
            (cls.folder / f"{name}.c").write_text(source)
            subprocess.run([STAGE / "bin/mpicc", "-O1", "-Wall", "-Werror", "-o",
                            cls.folder / name, cls.folder / f"{name}.c", "-lpthread"], check=True)

    def run_ranks(self, program: str, ranks: int = RANKS,
                  **settings: str) -> subprocess.CompletedProcess[str]:
        return self.run_job(program, "--ranks", "thread", "-n", str(ranks), **settings)

    def run_job(self, program: str, *words: str,
                **settings: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([str(STAGE / "bin/mpiexec"), *words, str(self.folder / program)],
                              env={**os.environ, **settings}, timeout=WATCHDOG_S, text=True,
                              capture_output=True, check=False)

    def test_a_failing_seed_fails_again(self) -> None:
        lines: dict[int, set[str]] = {}
        for seed in range(1, 21):
            runs = [self.run_ranks("first", HEADWAY_SIM=str(seed), HEADWAY_STATS="1")
                    for _ in range(2)]
            self.assertEqual(runs[0].returncode, runs[1].returncode, runs[1].stderr)
            found = [LINE.findall(run.stderr) for run in runs]
            self.assertEqual(len(found[0]), 1, runs[0].stderr)
            self.assertEqual(found[0], found[1])
            code = runs[0].returncode
            self.assertEqual(found[0][0][5], "; it failed, and the same seed repeats it" if code
                             else "")
            lines.setdefault(code, set()).add(found[0][0][4])
        self.assertEqual(set(lines), {0, 5}, "both orders are met")

    def test_what_is_refused(self) -> None:
        cases = ((("--ranks", "thread", "--processes-per-node", "2", "-n", "2"),
                  "without --processes-per-node"),
                 (("--ranks", "ult", "-n", "2"), "HEADWAY_SIM has an order of its own for ranks"))
        for words, sentence in cases:
            with self.subTest(words=words):
                ran = self.run_job("first", *words, HEADWAY_SIM="1")
                self.assertNotEqual(ran.returncode, 0)
                self.assertIn(sentence, ran.stderr)

    def test_threads_of_a_rank_are_refused(self) -> None:
        ran = self.run_ranks("starts_a_thread", HEADWAY_SIM="1")
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn("runs the main threads of ranks only, and this program starts others",
                      ran.stderr)


def load_tests(loader: unittest.TestLoader, _tests: unittest.TestSuite,
               _pattern: str | None) -> unittest.TestSuite:
    """Not those of Replay itself."""
    return unittest.TestSuite(loader.loadTestsFromTestCase(each)
                              for each in (TeamTest, HostedTest))


if __name__ == "__main__":
    unittest.main()
