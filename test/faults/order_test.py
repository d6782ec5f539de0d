#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""HEADWAY_CHECK=collectives finds members of a communicator whose collective calls differ (order,
root, count, types, operator), and says which ranks and which calls; programs that are right run as
without it."""

import unittest

from job import HERE, MPI_TESTS, JobTest

# Per case: what the two ranks are said to do, and on which turn of the communicator.
CASES = {
    "call": ({"MPI_Bcast with root 0 and 4 bytes", "MPI_Allreduce with 4 bytes"}, 2),
    "root": ({"MPI_Bcast with root 0 and 4 bytes", "MPI_Bcast with root 1 and 4 bytes"}, 2),
    "count": ({"MPI_Bcast with root 0 and 4 bytes", "MPI_Bcast with root 0 and 8 bytes"}, 2),
    "op": ({"MPI_Allreduce with 4 bytes (1 MPI_INT, MPI_SUM)",
            "MPI_Allreduce with 4 bytes (1 MPI_INT, MPI_MAX)"}, 2),
    "type": ({"MPI_Allreduce with 4 bytes (1 MPI_INT, MPI_SUM)",
              "MPI_Allreduce with 4 bytes (1 MPI_FLOAT, MPI_SUM)"}, 2),
    "elements": ({"MPI_Bcast with root 0 and 8 bytes (2 MPI_INT)",
                  "MPI_Bcast with root 0 and 8 bytes (1 MPI_DOUBLE)"}, 2),
    "block": ({"MPI_Gather with root 0 and 8 bytes (2 MPI_INT)",
               "MPI_Gather with root 0 and 8 bytes (1 MPI_DOUBLE)"}, 2),
    "missing": ({"MPI_Barrier", "MPI_Finalize"}, 2),
    "started": ({"MPI_Barrier", "MPI_Ibarrier"}, 2),
    "dup": ({"MPI_Comm_dup", "MPI_Comm_split"}, 2),
    "hints": ({"MPI_Comm_set_info", "MPI_Barrier"}, 2),
    "named": ({"MPI_Barrier", "MPI_Bcast with root 0 and 4 bytes"}, 1),
}


class OrderTest(JobTest):
    def order(self, name, ranks=3, **environment):
        program = self.build(HERE / "order.c")
        return self.mpiexec(ranks, program, name, **environment)

    def test_each_difference(self):
        for name, (calls, number) in CASES.items():
            for ranks in (2, 3):
                with self.subTest(name, ranks=ranks):
                    outcome = self.order(name, ranks, HEADWAY_CHECK="collectives")
                    line = self.assert_refused(outcome, "collective call")[0]
                    comm = "my pair" if name == "named" else "MPI_COMM_WORLD"
                    self.assertRegex(
                        line, rf"^headway: rank \d: MPI_\w+: collective call {number} on "
                        rf"communicator '({comm}|)' is .* on this rank but .* on rank \d.*; let "
                        "all members make the same calls in the same order")
                    for call in calls:
                        self.assertIn(call, line)
                    self.assertNotIn("went on", outcome.stdout)

    def test_right_programs_are_left_alone(self):
        for ranks in (1, 2, 3, 5):
            with self.subTest(ranks=ranks):
                outcome = self.order("good", ranks, HEADWAY_CHECK="collectives")
                self.assert_ok(outcome)
                self.assertEqual(outcome.stdout.count("went on"), ranks)
        for program in ("collective/vectors", "collective/outstanding", "collective/gaps",
                        "communicator/idup", "communicator/create", "errors/collective"):
            with self.subTest(program):
                binary = self.build(MPI_TESTS / f"{program}.c")
                self.assert_ok(self.mpiexec(3, binary, HEADWAY_CHECK="collectives"))

    def test_rank_0_decides(self):
        program = self.build(HERE / "order.c")
        outcome = self.mpiexec(1, program, "good", ":", "-n", 1, "env",
                               "HEADWAY_CHECK=collectives", program, "good")
        self.assert_refused(outcome, "rank 1", "MPI_Init", "HEADWAY_CHECK=collectives",
                            "all ranks")


if __name__ == "__main__":
    unittest.main()
