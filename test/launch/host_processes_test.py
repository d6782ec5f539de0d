# SPDX-License-Identifier: Apache-2.0
"""Several processes of a node that host ranks: a block of the ranks each, one job."""

import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import fixture
import host_test

MPICC = str(fixture.stage() / "bin/mpicc")

# Each rank says who runs it: its number, and the number of the first rank of its process.
WHO = """
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(int count, char** words) {
    int rank = 0, ranks = 0;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int own = (int)getpid(), pids[64];
    MPI_Allgather(&own, 1, MPI_INT, pids, 1, MPI_INT, MPI_COMM_WORLD);
    int first = 0;
    while (pids[first] != own) ++first;
    printf("%d of %d with %d\\n", rank, ranks, first);
    MPI_Finalize();
    return 0;
}
"""

# Rank 0 waits for a message that nobody sends, the others in a barrier without it; the last one
# does as it is told, when all are there.
ASTRAY = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int count, char** words) {
    int rank = 0, ranks = 0;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == ranks - 1) {
        if (strcmp(words[1], "exit") == 0) exit(7);
        if (strcmp(words[1], "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 9);
        if (strcmp(words[1], "say") == 0) { printf("%d\\n", (int)getpid()); fflush(stdout); }
    }
    if (rank == 0) MPI_Recv(&rank, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
"""


def without_mark(errors: str) -> str:
    """The tests' own variable is no setting of Headway, as it says."""
    return "".join(line for line in errors.splitlines(keepends=True) if fixture.MARK not in line)


class Processes(host_test.HostTest):
    who: str
    astray: str

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        folder = Path(cls._programs.name)
        for name, text in (("who", WHO), ("astray", ASTRAY)):
            source = folder / f"{name}.c"
            source.write_text(text)
            setattr(cls, name, cls.compile(MPICC, source, folder / name))

    def run_parts(self, parts: int, *words: str,
                  **named: Any) -> "subprocess.CompletedProcess[str]":
        done = self.run_job("--ranks", self.host, "--processes-per-node", str(parts), *words,
                            **named)
        done.stderr = without_mark(done.stderr)
        return done

    def test_blocks_of_ranks(self) -> None:
        # The first ranks of the processes, by their number.
        for parts, firsts in ((1, {0}), (2, {0, 3}), (3, {0, 2, 4}), (7, set(range(7)))):
            with self.subTest(parts=parts):
                done = self.run_parts(parts, "-n", "7", self.who)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                lines = sorted(done.stdout.splitlines())
                expected = [f"{rank} of 7 with {max(each for each in firsts if each <= rank)}"
                            for rank in range(7)]
                self.assertEqual(lines, expected)

    def test_several_programs(self) -> None:
        # The border of processes lies within the second program.
        done = self.run_parts(2, "-n", "1", self.who, ":", "-n", "4", self.who)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(sorted(done.stdout.splitlines()),
                         ["0 of 5 with 0", "1 of 5 with 0", "2 of 5 with 2", "3 of 5 with 2",
                          "4 of 5 with 2"])

    def test_as_processes(self) -> None:
        everything = "all" if self.host == "thread" else "all-but-place"
        words = ("-n", "5", self.hosted, everything, "-a", "x", "operand", "-b", "last")
        done = {}
        for name, hosting in (("process", ()), ("parts", (
                "--ranks", self.host, "--processes-per-node", "2"))):
            folder = self.folder / name
            folder.mkdir()
            done[name] = self.run_job(*hosting, *words, cwd=folder, stdin="input for rank 0\n")
        self.assertEqual(sorted(done["parts"].stdout.splitlines()),
                         sorted(done["process"].stdout.splitlines()))
        self.assertEqual((done["parts"].returncode, done["parts"].stderr), (0, ""))

    def test_a_refusal_is_said_once(self) -> None:
        program = self.make(host_test.Refused.EMPTY, "-static")
        done = self.run_parts(2, "-n", "4", program)
        self.assertEqual((done.returncode, done.stdout), (127, ""))
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_codes_and_aborts(self) -> None:
        for how, code, sentence in (("exit", 7, "rank 3 exited with code 7"),
                                    ("abort", 9, "rank 3: the program called MPI_Abort")):
            with self.subTest(how=how):
                done = self.run_parts(2, "-n", "4", self.astray, how)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertIn(sentence, done.stderr)

    def test_a_signal_names_its_rank(self) -> None:
        done = self.run_parts(3, "-n", "3", self.hosted, "segv")
        self.assertEqual(done.returncode, 128 + 11)
        self.assertIn("headway: rank 1 was killed by signal 11 ", done.stderr)

    def test_a_process_that_is_killed(self) -> None:
        job = self.start_job("--ranks", self.host, "--processes-per-node", "2", "-n", "5",
                             self.astray, "say")
        assert job.stdout is not None
        os.kill(int(job.stdout.readline()), signal.SIGKILL)
        _, said = job.communicate(timeout=fixture.WATCHDOG_S)
        self.assertEqual(job.returncode, 128 + 9)
        self.assertRegex(said, r"the process of ranks 2 to 4 \(pid \d+\) was killed by signal 9 ")
        self.assertEqual(len(without_mark(said).splitlines()), 1, said)

    def test_all_say_where_they_are(self) -> None:
        done = self.run_parts(2, "--timeout", "1", "-n", "4", self.astray, "wait")
        self.assertEqual(done.returncode, 124)
        places = re.findall(r"(?m)^headway: rank (\d) is here:\n(?:/|\./|\[)", done.stderr)
        self.assertEqual(sorted(places), ["0", "1", "2", "3"], done.stderr)

    def test_a_rank_without_mpi_is_missed_by_another_process(self) -> None:
        done = self.run_parts(2, "-n", "1", "true", ":", "-n", "1", self.who)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, "without calling MPI_Init|has exited while other ranks wait")


class UltProcesses(Processes):
    host = "ult"

    def test_workers_are_shared_out(self) -> None:
        done = self.run_parts(2, "--workers", "3", "--report-workers", "-n", "6", self.who)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = re.findall(r"(?m)^headway: (\d+) ranks on (\d+) workers", done.stderr)
        self.assertEqual(sorted(found), [("3", "1"), ("3", "2")], done.stderr)

    def test_a_worker_for_each_process_and_cpu(self) -> None:
        done = self.run_parts(2, "--report-workers", "-n", "6", self.who)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = re.findall(r"(?m)^headway: 3 ranks on (\d+) workers", done.stderr)
        cpus = len(os.sched_getaffinity(0))
        self.assertEqual(sum(map(int, found)), max(cpus, 2), done.stderr)


if __name__ == "__main__":
    host_test.unittest.main()
