#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Few descriptors, a launcher that dies, a reader that goes away, several builds in one job."""

import re
import signal
import subprocess
import sys
import unittest

from heap_test import WAYS, await_that, heaps_in_shm
from job import HERE, WATCHDOG_S, JobTest, clean_environment, run


class DescriptorTest(JobTest):
    def test_few_descriptors_of_ranks(self):
        """From the first number that suffices on, all do; below, a sentence names the limit."""
        program = self.build(HERE / "where.c")
        for way in WAYS:
            works = []
            for limit in range(3, 14):
                with self.subTest(way, limit=limit):
                    script = f"ulimit -n {limit}; exec {program}"
                    outcome = self.mpiexec(2, "sh", "-c", script, HEADWAY_NODE_HEAP=way)
                    works.append(outcome.code == 0)
                    if outcome.code == 0:
                        self.assert_ok(outcome)
                    elif "headway: " in outcome.stderr:
                        self.assert_refused(outcome, "MPI_Init", "ulimit -n")
                    else:
                        # The system's loader needs a descriptor for each library.
                        self.assertIn("error while loading shared libraries", outcome.stderr)
            self.assertEqual(works, sorted(works), way)
            self.assertTrue(works[-1], way)

    def test_few_descriptors_of_the_launcher(self):
        program = self.build(HERE / "where.c")
        for limit in (12, 40, 80):
            with self.subTest(limit=limit):
                script = f"ulimit -n {limit}; exec {self.stage}/bin/mpiexec -n 32 {program}"
                outcome = run(["sh", "-c", script])
                self.assertFalse(outcome.hung, str(outcome))
                self.assertEqual(outcome.code, 127, str(outcome))
                self.assertRegex(outcome.stderr, r"(?m)^headway mpiexec: .*raise ulimit -n")


class LauncherTest(JobTest):
    def setUp(self):
        self.before = heaps_in_shm()

    def start(self, ranks, *command, **environment):
        launch = [str(word) for word in (self.stage / "bin/mpiexec", "-n", ranks, *command)]
        job = subprocess.Popen(launch, env=clean_environment(**environment), text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True)
        self.addCleanup(job.communicate)
        self.addCleanup(job.kill)
        return job

    def test_launcher_killed_in_the_middle_of_traffic(self):
        program = self.build(HERE / "busy.c")
        for way in WAYS:
            with self.subTest(way):
                job = self.start(3, program, HEADWAY_NODE_HEAP=way)
                ranks = [int(re.fullmatch(r"busy (\d+)\n", job.stdout.readline())[1])
                         for _ in range(3)]
                job.kill()
                _, stderr = job.communicate(timeout=WATCHDOG_S)
                self.assertEqual(stderr, "headway mpiexec: mpiexec was killed; its ranks were "
                                 "ended and their shared memory was removed\n")
                for pid in ranks:
                    await_that(lambda pid=pid: not self.is_alive(pid))
                self.assertEqual(heaps_in_shm(), self.before)

    @staticmethod
    def is_alive(pid):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
                return stat.read().rpartition(")")[2].split()[0] not in "ZX"
        except OSError:
            return False

    def test_output_to_a_closed_pipe(self):
        """As `mpiexec ... | head -1`: the job ends silently, with the code of SIGPIPE."""
        program = self.build(HERE / "busy.c")
        job = self.start(3, program, "talk")
        self.assertRegex(job.stdout.readline(), "^busy ")
        job.stdout.close()
        self.assertEqual(job.stderr.read(), "")
        self.assertEqual(job.wait(timeout=WATCHDOG_S), 128 + signal.SIGPIPE)

    def test_output_through_head(self):
        program = self.build(HERE / "busy.c")
        outcome = run(["sh", "-c", f"{self.stage}/bin/mpiexec -n 2 {program} talk | head -n 1"])
        self.assert_ok(outcome)
        self.assertRegex(outcome.stdout, r"\Abusy \d+\n\Z")
        self.assertEqual(outcome.stderr, "")


class VersionTest(JobTest):
    """Rank 1 runs a library that says it is another version."""

    def other_library(self):
        library = (self.stage / "lib/libmpi_abi.so.1").resolve().read_bytes()
        version = re.search(rb"Headway (\d+)\.(\d+)\.(\d+), MPI", library)
        self.assertIsNotNone(version)
        other = version[0].replace(b"Headway " + version[1], b"Headway " + b"9" * len(version[1]))
        target = self.built.setdefault("folder", self.folder.name) + "/libmpi_abi.so.1"
        with open(target, "wb") as file:
            file.write(library.replace(version[0], other))
        return target, other.decode().partition(",")[0]

    def test_two_versions_in_a_job(self):
        library, other = self.other_library()
        program = self.build(HERE / "where.c")
        script = f"LD_PRELOAD={library} exec {program}"
        self.assert_ok(self.mpiexec(2, "sh", "-c", script))
        outcome = self.mpiexec(1, program, ":", "-n", 1, "sh", "-c", script)
        line, = self.assert_refused(outcome, "rank 1", "MPI_Init", other, "LD_LIBRARY_PATH")
        self.assertEqual(len(re.findall(r"Headway \d+\.\d+\.\d+", line)), 2, line)


class SettingTest(JobTest):
    def test_unknown_names(self):
        """Said once, by rank 0, with the nearest name; the program runs."""
        outcome = self.mpiexec(3, self.build(HERE / "where.c"), HEADWAY_EAGER_LIMT="4K",
                               HEADWAY_NODEHEAP="shm")
        self.assert_ok(outcome)
        lines = outcome.sentences()
        self.assertEqual(len(lines), 2, str(outcome))
        for wrong, right in (("HEADWAY_EAGER_LIMT", "HEADWAY_EAGER_LIMIT"),
                             ("HEADWAY_NODEHEAP", "HEADWAY_NODE_HEAP")):
            self.assertTrue(any(wrong in line and right in line for line in lines), str(outcome))

    def test_wrong_values(self):
        for name, value in (("NODE_HEAP", "disk"), ("CHECK", "some"), ("DEVICE_MEMORY", "yes")):
            with self.subTest(name):
                outcome = self.mpiexec(2, self.build(HERE / "where.c"),
                                       **{f"HEADWAY_{name}": value})
                self.assert_refused(outcome, "MPI_Init", f"HEADWAY_{name}", value)


class GarbageTest(JobTest):
    def test_descriptors_nobody_asked_for(self):
        """Ranks that send descriptors with and without a command do not shake the launcher."""
        rank = [sys.executable, HERE / "pmi_descriptors.py"]
        self.assert_ok(self.mpiexec(2, *rank, "polite"))
        outcome = self.mpiexec(2, *rank, "flood")
        self.assertFalse(outcome.hung, str(outcome))
        self.assertEqual(outcome.code, 1, str(outcome))
        self.assertIn("is not PMI-1", outcome.stderr)


if __name__ == "__main__":
    unittest.main()
