#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Little or no room in /dev/shm: the job works, or ends with one clear sentence; no hang, no
SIGBUS without a word."""

import os
import subprocess
import unittest

from job import MPI_TESTS, JobTest


def can_mount():
    probe = ["unshare", "-m", "sh", "-c", "mount -t tmpfs -o size=1m tmpfs /dev/shm"]
    return os.path.exists("/usr/bin/unshare") and subprocess.run(
        probe, check=False, capture_output=True).returncode == 0


@unittest.skipUnless(can_mount(), "no right to mount a /dev/shm of our own")
class SpaceTest(JobTest):
    programs = ("point_to_point/modes", "point_to_point/outstanding", "collective/bcast")

    def job_after(self, script, program, **environment):
        """Runs it in a mount namespace of its own, after a script that makes changes there."""
        binary = self.build(MPI_TESTS / f"{program}.c")
        before = ["unshare", "-m", "sh", "-c", f"{{ {script}; }} || exit 99; " + 'exec "$@"', "sh"]
        return self.mpiexec(2, binary, before=before, **environment)

    def job(self, size, program, fill=":", **environment):
        script = f"mount -t tmpfs -o size={size} tmpfs /dev/shm && {{ {fill}; true; }}"
        return self.job_after(script, program, **environment)

    def check(self, outcome):
        self.assertNotEqual(outcome.code, 99, str(outcome))
        if outcome.code == 0:
            self.assert_ok(outcome)
        else:
            self.assert_refused(outcome, "/dev/shm")

    def test_64_mb(self):
        for program in self.programs:
            with self.subTest(program):
                self.check(self.job("64m", program, HEADWAY_NODE_HEAP="shm"))

    def test_1_mb(self):
        for program in self.programs:
            with self.subTest(program):
                self.check(self.job("1m", program, HEADWAY_NODE_HEAP="shm"))

    def test_full(self):
        fill = "head -c 1048576 /dev/zero > /dev/shm/full 2> /dev/null"
        self.check(self.job("1m", "point_to_point/modes", fill, HEADWAY_NODE_HEAP="shm"))

    def check_without(self, script):
        """Without a folder to write to: a sentence where it was asked for, else no difference."""
        program = "point_to_point/modes"
        self.assert_refused(self.job_after(script, program, HEADWAY_NODE_HEAP="shm"), "rank 0",
                            "MPI_Init", "make /dev/shm writable", "HEADWAY_NODE_HEAP")
        for way in ("auto", "socket", "memfd"):
            with self.subTest(way):
                self.assert_ok(self.job_after(script, program, HEADWAY_NODE_HEAP=way))

    def test_missing(self):
        """A /dev with a few devices and nothing else."""
        self.check_without(
            "there=$(mktemp -d) && mount -t tmpfs tmpfs $there && "
            "for each in null zero full urandom; do "
            "touch $there/$each && mount --bind /dev/$each $there/$each; done && "
            "mount --rbind $there /dev && ! test -e /dev/shm")

    def test_read_only(self):
        # Root would not care about permissions.
        self.check_without("mount -t tmpfs -o ro tmpfs /dev/shm")

    def test_full_but_not_used(self):
        fill = "head -c 1048576 /dev/zero > /dev/shm/full 2> /dev/null"
        self.assert_ok(self.job("1m", "point_to_point/modes", fill))


if __name__ == "__main__":
    unittest.main()
