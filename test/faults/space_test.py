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

    def job(self, size, program, fill=":", **environment):
        binary = self.build(MPI_TESTS / f"{program}.c")
        script = f"{fill}; " + 'exec "$@"'
        before = ["unshare", "-m", "sh", "-c",
                  'mount -t tmpfs -o size="$0" tmpfs /dev/shm || exit 99; ' + script, size]
        return self.mpiexec(2, binary, before=before, **environment)

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

    def test_full_but_not_used(self):
        fill = "head -c 1048576 /dev/zero > /dev/shm/full 2> /dev/null"
        self.assert_ok(self.job("1m", "point_to_point/modes", fill))


if __name__ == "__main__":
    unittest.main()
