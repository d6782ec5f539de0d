# SPDX-License-Identifier: Apache-2.0
"""Ranks that are user-level threads: as the system's threads, and they share a few workers."""

import re
import unittest

import fixture
import host_test

MPICC = str(fixture.stage() / "bin/mpicc")


class SameAsProcess(host_test.SameAsProcess):
    host = "ult"
    everything = "all-but-place"  # ranks have one working directory and one umask

    def test_several_programs(self) -> None:
        done = self.run_job("--ranks", "ult", "-n", "1", "-x", "A=1", self.hosted_cpp, ":",
                            "-n", "2", self.hosted, "exit")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("0: gone global", done.stdout)
        self.assertIn("2: on_exit 0 text", done.stdout)


class Ends(host_test.Ends):
    host = "ult"


class Refused(host_test.Refused):
    host = "ult"

    def test_directories(self) -> None:
        done = self.run_job("--ranks", "ult", self.hosted, "exit", ":", "--wdir", "/",
                            self.hosted, "exit")
        self.assertEqual(done.returncode, 2)
        self.assertIn("one working directory", done.stderr)


class SharedLibraries(host_test.SharedLibraries):
    host = "ult"


class Workers(host_test.HostTest):
    host = "ult"

    def report_of(self, *words: str) -> dict[str, int]:
        """The figures of --report-workers, by name; the job ends well."""
        done = self.run_job("--ranks", "ult", "--report-workers", *words, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = re.search(
            r"(?m)^headway: (\d+) ranks on (\d+) workers: (\d+) switches, (\d+) of them to ranks "
            r"of other workers; workers slept (\d+) times and lost their ranks to a spare worker "
            r"(\d+) times \((\d+) spare\); the deepest stack took (\d+) KiB$", done.stderr)
        assert found is not None, done.stderr
        names = ("ranks", "workers", "switches", "steals", "sleeps", "evictions", "spares",
                 "stack_kib")
        return dict(zip(names, map(int, found.groups()), strict=True))

    def test_ranks_that_sleep_and_yield_share_a_worker(self) -> None:
        # Each waits for the one before it to write a file, by sleeping: one after the other none
        # but the first would come to an end.
        program = self.make(
            "#define _GNU_SOURCE\n#include <fcntl.h>\n#include <sched.h>\n#include <stdio.h>\n"
            "#include <stdlib.h>\n#include <threads.h>\n#include <time.h>\n#include <unistd.h>\n"
            "int main(void) {\n"
            "    const int rank = atoi(getenv(\"MPI_LOCALRANKID\"));\n"
            "    char name[20];\n"
            "    snprintf(name, sizeof name, \"ready-%d\", rank + 1);\n"
            "    for (int turn = 0; access(name, F_OK) != 0 && rank < 7; turn++) {\n"
            "        const struct timespec short_time = {0, 1000};\n"
            "        if (turn % 5 == 0) usleep(1);\n"
            "        else if (turn % 5 == 1) nanosleep(&short_time, NULL);\n"
            "        else if (turn % 5 == 2) clock_nanosleep(CLOCK_MONOTONIC, 0, &short_time, 0);\n"
            "        else if (turn % 5 == 3) thrd_yield();\n"
            "        else sched_yield();\n"
            "    }\n"
            "    snprintf(name, sizeof name, \"ready-%d\", rank);\n"
            "    close(open(name, O_CREAT | O_WRONLY, 0600));\n"
            "    return sched_getcpu() < 0;\n}\n")
        seen = self.report_of("--workers", "1", "-n", "8", program)
        self.assertEqual((seen["ranks"], seen["workers"]), (8, 1))

    def test_a_rank_that_does_not_switch_stops_nobody(self) -> None:
        # Rank 0 spins on a file that rank 3 writes.
        program = self.make(
            "#include <fcntl.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
            "int main(void) {\n"
            "    const int rank = atoi(getenv(\"MPI_LOCALRANKID\"));\n"
            "    if (rank == 3) close(open(\"ready\", O_CREAT | O_WRONLY, 0600));\n"
            "    while (rank == 0 && access(\"ready\", F_OK) != 0) { }\n"
            "    return 0;\n}\n")
        seen = self.report_of("--workers", "1", "-n", "4", program)
        self.assertGreaterEqual(seen["evictions"], 1)

    def test_stacks(self) -> None:
        program = self.make(
            "#include <string.h>\n"
            "static volatile char sink;\n"
            "int main(void) { volatile char deep[700000]; memset((char*)deep, 1, sizeof deep);\n"
            "    sink = deep[5]; return 0; }\n")
        seen = self.report_of("--stack-size", "1M", "-n", "3", program)
        self.assertGreater(seen["stack_kib"], 700000 // 1024)
        self.assertLess(seen["stack_kib"], 1200)
        done = self.run_job("--ranks", "ult", "--stack-size", "256K", "-n", "1", program)
        self.assertEqual(done.returncode, 128 + 11)
        self.assertIn("headway: rank 0 was killed by signal 11 ", done.stderr)

    def test_seeds_repeat(self) -> None:
        ring = self.compile(MPICC, fixture.ROOT / "test/programs/ring.c", self.folder / "ring")
        self.environment["HEADWAY_PROGRESS"] = "none"
        runs = [self.report_of("--schedule-seed", seed, "-n", "6", ring)
                for seed in ("3", "3", "4")]
        self.assertEqual({each["workers"] for each in runs}, {1})
        self.assertEqual(runs[0]["switches"], runs[1]["switches"])

    def test_quit_says_where_ranks_are(self) -> None:
        # Rank 0 waits for a message that nobody sends, rank 1 computes, rank 2 sleeps.
        program = self.folder / "astray"
        source = self.folder / "astray.c"
        source.write_text(
            "#include <mpi.h>\n#include <unistd.h>\n"
            "static volatile long turns;\n"
            "int main(int count, char** words) {\n"
            "    int rank = 0;\n"
            "    MPI_Init(&count, &words);\n"
            "    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n"
            "    while (rank == 1) ++turns;\n"
            "    while (rank == 2) usleep(100);\n"
            "    MPI_Recv(&rank, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n"
            "    return 0;\n}\n")
        self.compile(MPICC, source, program)
        for host in ("ult", "thread"):
            with self.subTest(host=host):
                done = self.run_job("--ranks", host, "--timeout", "1", "-n", "3", str(program))
                self.assertEqual(done.returncode, 124)
                self.assertIn("ran longer than --timeout 1 s", done.stderr)
                places = re.split(r"headway: rank \d is here:\n", done.stderr)[1:]
                self.assertEqual(len(places), 3, done.stderr)
                self.assertIn("Recv", places[0])
                for place in places:
                    self.assertIn(f"{program}(", place)

    def test_threads_of_a_rank_may_use_all_cores(self) -> None:
        program = self.make(
            "#define _GNU_SOURCE\n#include <pthread.h>\n#include <sched.h>\n#include <stdio.h>\n"
            "static void* count(void* into) {\n"
            "    cpu_set_t set; sched_getaffinity(0, sizeof set, &set);\n"
            "    *(int*)into = CPU_COUNT(&set); return NULL; }\n"
            "int main(void) { pthread_t thread; int cpus = 0;\n"
            "    pthread_create(&thread, NULL, count, &cpus); pthread_join(thread, NULL);\n"
            "    printf(\"%d\\n\", cpus); return 0; }\n", "-pthread")
        alone = self.run_job("-n", "1", "--bind-to", "none", program).stdout
        self.assertEqual(self.run_job("--ranks", "ult", "-n", "1", program).stdout, alone)


if __name__ == "__main__":
    unittest.main()
