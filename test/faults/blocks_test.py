#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""HEADWAY_CHECK=collectives finds blocks of collective calls of which giver and taker say different
things: of v-forms, between neighbours, and between the groups of an inter-communicator."""

import re
import unittest

from job import HERE, MPI_TESTS, JobTest

# Per case: what the last rank says of a block, what another one says, and the communicator.
CASES = {
    "gatherv": ("2 MPI_INT", "1 MPI_INT", "MPI_COMM_WORLD"),
    "scatterv": ("2 MPI_INT", "1 MPI_INT", "MPI_COMM_WORLD"),
    "igatherv": ("1 MPI_FLOAT", "1 MPI_INT", "MPI_COMM_WORLD"),
    "allgatherv": ("2 MPI_INT", "1 MPI_INT", "MPI_COMM_WORLD"),
    "alltoallv": ("2 MPI_INT", "1 MPI_INT", "MPI_COMM_WORLD"),
    "alltoallw": ("1 MPI_FLOAT", "1 MPI_INT", "MPI_COMM_WORLD"),
    "neighbor": ("2 MPI_INT", "1 MPI_INT", "ring"),
    "neighborv": ("2 MPI_INT", "1 MPI_INT", "ring"),
    "inter_bcast": ("2 MPI_INT", "1 MPI_INT", "between"),
    "inter_gather": ("2 MPI_INT", "1 MPI_INT", "between"),
    "inter_alltoall": ("2 MPI_INT", "1 MPI_INT", "between"),
}
# Per case: what both sides say of the whole call.
CALLS = {
    "inter_root": {"MPI_Bcast with root 0", "MPI_Bcast with root 1"},
    "inter_reduce": {"MPI_Reduce with root 0 and 4 bytes (1 MPI_INT, MPI_SUM)",
                     "MPI_Reduce with root 0 and 8 bytes (2 MPI_INT, MPI_SUM)"},
    "inter_allreduce": {"MPI_Allreduce with 4 bytes (1 MPI_INT, MPI_SUM)",
                        "MPI_Allreduce with 4 bytes (1 MPI_INT, MPI_MAX)"},
    "inter_scattered": {"MPI_Reduce_scatter_block with 8 bytes (2 MPI_INT, MPI_SUM)",
                        "MPI_Reduce_scatter_block with 16 bytes (4 MPI_INT, MPI_SUM)"},
    "inter_call": {"MPI_Barrier", "MPI_Allreduce with 4 bytes (1 MPI_INT, MPI_SUM)"},
}


class BlocksTest(JobTest):
    def blocks(self, name, ranks=3, **environment):
        program = self.build(HERE / "blocks.c")
        return self.mpiexec(ranks, program, name,
                            **{"HEADWAY_CHECK": "collectives", **environment})

    def test_each_difference(self):
        for name, (last, other, comm) in CASES.items():
            with self.subTest(name):
                outcome = self.blocks(name)
                line = self.assert_refused(outcome, "this rank")[0]
                found = re.match(
                    r"headway: rank (\d): MPI_\w+: collective call \d+ on communicator "
                    rf"'{comm}': this rank (gives|takes) (.+) (to|from) rank (\d), but that one "
                    r"(gives|takes) (.+); give both sides the same count and types "
                    r"\[MPI_ERR_OTHER\]$", line)
                assert found is not None, line
                here, verb, own, _, there, their_verb, others = found.groups()
                self.assertNotEqual(verb, their_verb)
                # The last rank of three is the one that differs; in what it gives, where it finds
                # that itself of its block to itself.
                self.assertIn("2", (here, there))
                is_of_last = verb == "gives" if here == there else here == "2"
                self.assertEqual((own, others), (last, other) if is_of_last else (other, last))
                self.assertNotIn("rank 2 went on", outcome.stdout)

    def test_each_call_between_groups(self):
        for name, calls in CALLS.items():
            with self.subTest(name):
                line = self.assert_refused(self.blocks(name), "collective call 1 on")[0]
                self.assertIn("communicator 'between'", line)
                for call in calls:
                    self.assertIn(call, line)

    def test_each_host(self):
        for kind in ("thread", "ult"):
            with self.subTest(kind):
                program = self.build(HERE / "blocks.c")
                outcome = self.mpiexec(3, "--ranks", kind, program, "alltoallv",
                                       HEADWAY_CHECK="collectives")
                self.assert_refused(outcome, "this rank", "2 MPI_INT")

    def test_unasked_nothing_is_compared(self):
        outcome = self.blocks("igatherv", HEADWAY_CHECK="none")
        self.assert_ok(outcome)

    def test_right_programs_are_left_alone(self):
        for ranks in (1, 2, 3, 5):
            with self.subTest(ranks=ranks):
                outcome = self.blocks("good", ranks, HEADWAY_CHECK="all")
                self.assert_ok(outcome)
                self.assertEqual(outcome.stdout.count("went on"), ranks)
        for program in ("collective/vectors", "collective/neighbors", "collective/persistent",
                        "communicator/inter_collectives", "communicator/topology",
                        "datatype/collective"):
            with self.subTest(program):
                binary = self.build(MPI_TESTS / f"{program}.c")
                self.assert_ok(self.mpiexec(3, binary, HEADWAY_CHECK="all"))


if __name__ == "__main__":
    unittest.main()
