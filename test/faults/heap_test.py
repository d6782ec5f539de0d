#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each way to the node heap works where it can, says what to do where it cannot, and leaves
nothing in /dev/shm, whoever is killed."""

import os
import signal
import subprocess
import sys
import time
import unittest

from job import HERE, MPI_TESTS, WATCHDOG_S, JobTest, clean_environment, run

WAYS = ("socket", "memfd", "shm")
OWN_PID_NAMESPACE = ["unshare", "-p", "-f", "--mount-proc"]


def heaps_in_shm():
    return {name for name in os.listdir("/dev/shm") if name.startswith("headway-")}


def can_have(*words):
    return subprocess.run([*words, "true"], check=False, capture_output=True).returncode == 0


def await_that(condition):
    """Polls until it holds; the watchdog is an error, not a measurement."""
    deadline = time.monotonic() + WATCHDOG_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("waited in vain")
        time.sleep(0.005)


class HeapTest(JobTest):
    def setUp(self):
        self.before = heaps_in_shm()
        self.addCleanup(lambda: self.assertEqual(heaps_in_shm() - self.before, set()))

    def plain(self, ranks, *command, **environment):
        return run([sys.executable, HERE / "plain_launcher.py", ranks, *command],
                   clean_environment(**environment))

    def assert_mapped(self, outcome, ranks, *places):
        """All ranks talked, and their heap is mapped from one of the places."""
        self.assert_ok(outcome)
        lines = outcome.stdout.splitlines()
        self.assertEqual(sorted(line.partition(":")[0] for line in lines),
                         [f"rank {rank} heard {(rank - 1) % ranks}" for rank in range(ranks)])
        for line in lines:
            self.assertTrue(any(f": {place}" in line for place in places), line)


class WayTest(HeapTest):
    def test_under_our_launcher(self):
        program = self.build(HERE / "where.c")
        for way in ("auto", *WAYS):
            for ranks in (1, 2, 5):
                with self.subTest(way, ranks=ranks):
                    outcome = self.mpiexec(ranks, program, HEADWAY_NODE_HEAP=way)
                    place = "/dev/shm/headway-" if way == "shm" else "/memfd:headway-"
                    self.assert_mapped(outcome, ranks, place)

    def test_under_another_launcher(self):
        program = self.build(HERE / "where.c")
        for way, place in (("auto", "/memfd:"), ("memfd", "/memfd:"), ("shm", "/dev/shm/")):
            with self.subTest(way):
                self.assert_mapped(self.plain(3, program, HEADWAY_NODE_HEAP=way), 3, place)
        self.assert_refused(self.plain(2, program, HEADWAY_NODE_HEAP="socket"),
                            "MPI_Init", "HEADWAY_NODE_HEAP", "Headway's own mpiexec")

    def test_guarded_processes_do_without_proc(self):
        """Others cannot look into /proc of a process that cannot be dumped (root can, but the rank
        does not count on it)."""
        program = self.build(HERE / "where.c")
        self.assert_mapped(self.plain(2, program, "guarded"), 2, "/dev/shm/")
        self.assert_mapped(self.mpiexec(2, program, "guarded"), 2, "/memfd:")

    def test_ranks_alone_take_any_way(self):
        program = self.build(HERE / "where.c")
        for way in WAYS:
            with self.subTest(way):
                environment = clean_environment(HEADWAY_NODE_HEAP=way)
                self.assert_mapped(run([program], environment), 1, "/memfd:", "/dev/shm/")

    def test_real_traffic(self):
        for way in WAYS:
            with self.subTest(way):
                binary = self.build(MPI_TESTS / "point_to_point/random_traffic.c")
                self.assert_ok(self.mpiexec(3, binary, HEADWAY_NODE_HEAP=way))

    @unittest.skipUnless(can_have(*OWN_PID_NAMESPACE), "no right to make pid namespaces")
    def test_ranks_that_do_not_see_each_other_in_proc(self):
        program = self.build(HERE / "where.c")
        for way in ("auto", "socket", "shm"):
            with self.subTest(way):
                outcome = self.mpiexec(3, *OWN_PID_NAMESPACE, program, HEADWAY_NODE_HEAP=way)
                self.assert_mapped(outcome, 3, "/memfd:", "/dev/shm/")
        binary = self.build(MPI_TESTS / "point_to_point/modes.c")
        self.assert_ok(self.mpiexec(2, *OWN_PID_NAMESPACE, binary))
        self.assert_refused(self.mpiexec(3, *OWN_PID_NAMESPACE, program, HEADWAY_NODE_HEAP="memfd"),
                            "MPI_Init", "/proc", "HEADWAY_NODE_HEAP=shm")

    def test_without_memfd_create(self):
        program = self.build(HERE / "where.c")
        without = self.build(HERE / "without.c", compiler="cc")
        if run([without, "memfd", "true"]).code == 77:
            self.skipTest("no right to install a seccomp filter")
        for way in ("auto", "shm"):
            with self.subTest(way):
                outcome = self.mpiexec(2, without, "memfd", program, HEADWAY_NODE_HEAP=way)
                self.assert_mapped(outcome, 2, "/dev/shm/")
        for way in ("memfd", "socket"):
            with self.subTest(way):
                self.assert_refused(
                    self.mpiexec(2, without, "memfd", program, HEADWAY_NODE_HEAP=way),
                    "MPI_Init", "memfd_create", "HEADWAY_NODE_HEAP=shm")


class KilledTest(HeapTest):
    """Rank 1 never comes, so rank 0 waits in MPI_Init while its heap has a name."""

    def start(self, *command):
        environment = clean_environment(HEADWAY_NODE_HEAP="shm")
        job = subprocess.Popen([str(word) for word in command], env=environment,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(self.end, job)
        await_that(lambda: heaps_in_shm() - self.before)
        return job

    @staticmethod
    def end(job):
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
        job.communicate()

    def start_half(self):
        program = self.build(HERE / "where.c")
        return self.start(self.stage / "bin/mpiexec", "-n", 1, program, ":", "-n", 1,
                          "sleep", "1000")

    def test_rank_killed(self):
        job = self.start_half()
        pid, = (int(name) for name in os.listdir("/proc")
                if name.isdigit() and self.is_rank(name, job.pid))
        os.kill(pid, signal.SIGKILL)
        _, stderr = job.communicate(timeout=WATCHDOG_S)
        self.assertEqual(job.returncode, 137)
        self.assertRegex(stderr, r"^headway mpiexec: rank 0 \(pid \d+\) was killed by signal 9")
        self.assertEqual(heaps_in_shm(), self.before)

    def is_rank(self, name, launcher):
        try:
            program = os.readlink(f"/proc/{name}/exe")
            with open(f"/proc/{name}/stat", encoding="utf-8") as stat:
                parent = int(stat.read().rpartition(")")[2].split()[1])
        except OSError:
            return False
        return program == str(self.build(HERE / "where.c").resolve()) and parent == launcher

    def test_launcher_killed(self):
        job = self.start_half()
        job.kill()
        _, stderr = job.communicate(timeout=WATCHDOG_S)
        await_that(lambda: heaps_in_shm() == self.before)
        self.assertRegex(stderr, "^headway mpiexec: mpiexec was killed; ")

    def test_all_killed_under_a_launcher_that_cleans_up_nothing(self):
        program = self.build(HERE / "where.c")
        script = f'if [ "$PMI_RANK" = 0 ]; then exec {program}; else exec sleep 1000; fi'
        first = self.start(sys.executable, HERE / "plain_launcher.py", 2, "sh", "-c", script)
        left = heaps_in_shm() - self.before
        # A living job's heap is not touched by the start of another.
        self.assert_ok(self.mpiexec(2, program, HEADWAY_NODE_HEAP="shm"))
        self.assertEqual(heaps_in_shm() - self.before, left)
        os.killpg(first.pid, signal.SIGKILL)
        first.communicate()
        self.assertEqual(heaps_in_shm() - self.before, left)
        self.assert_ok(self.mpiexec(2, program, HEADWAY_NODE_HEAP="shm"))


if __name__ == "__main__":
    unittest.main()
