#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Without process_vm_readv and process_vm_writev (as in many containers) all traffic works."""

import unittest

from job import HERE, MPI_TESTS, JobTest, run

TRAFFIC = ["point_to_point/modes", "point_to_point/outstanding", "point_to_point/truncation",
           "point_to_point/order", "point_to_point/random_traffic", "collective/bcast",
           "collective/reduce", "collective/outstanding", "communicator/free"]


class NoCmaTest(JobTest):
    def setUp(self):
        self.wrapper = self.build(HERE / "without.c", compiler="cc")
        probe = self.build(HERE / "probe_cma.c", compiler="cc")
        outcome = run([self.wrapper, "cma", probe])
        if outcome.code == 77:
            self.skipTest("no right to install a seccomp filter")
        self.assertEqual(outcome.code, 0, f"the filter does not hold\n{outcome}")

    def test_all_ranks_without(self):
        for program in TRAFFIC:
            for ranks in (2, 3):
                with self.subTest(program, ranks=ranks):
                    binary = self.build(MPI_TESTS / f"{program}.c")
                    self.assert_ok(self.mpiexec(ranks, self.wrapper, "cma", binary))

    def test_one_rank_without(self):
        for program in ("point_to_point/modes", "point_to_point/random_traffic"):
            with self.subTest(program):
                binary = self.build(MPI_TESTS / f"{program}.c")
                self.assert_ok(self.mpiexec(1, self.wrapper, "cma", binary, ":", "-n", 1, binary))


if __name__ == "__main__":
    unittest.main()
