#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""HEADWAY_CHECK=messages finds messages that are received as other types than they were sent as,
and says what both sides called them; programs that are right run as without it."""

import unittest

from job import HERE, MPI_TESTS, JobTest

# Per case: the call that finds it, and what the two sides are said to have named.
CASES = {
    "kind": ("MPI_Recv", "3 MPI_FLOAT", "3 MPI_INT"),
    "size": ("MPI_Recv", "1 MPI_DOUBLE", "2 MPI_INT"),
    "half": ("MPI_Recv", "3 MPI_INT", "8 MPI_DOUBLE"),
    "sign": ("MPI_Recv", "1 MPI_UNSIGNED", "1 MPI_INT"),
    "order": ("MPI_Recv", "1 (2 MPI_DOUBLE, MPI_INT)", "1 (MPI_INT, 2 MPI_DOUBLE)"),
    "long": ("MPI_Recv", "262144 MPI_FLOAT", "262144 MPI_INT"),
    "persistent": ("MPI_Wait", "1 MPI_FLOAT", "1 MPI_INT"),
    "waited": ("MPI_Wait", "1 MPI_FLOAT", "1 MPI_INT"),
    "buffered": ("MPI_Recv", "1 MPI_FLOAT", "1 MPI_INT"),
    "probed": ("MPI_Mrecv", "1 MPI_FLOAT", "1 MPI_INT"),
    "exchanged": ("MPI_Sendrecv_replace", "1 MPI_FLOAT", "1 MPI_INT"),
    "listed": ("MPI_Waitall", "1 MPI_FLOAT", "1 MPI_INT"),
}
# Programs whose messages are right; their knobs are those of the list.
RIGHT = ("point_to_point/order", "point_to_point/datatypes", "point_to_point/random_traffic",
         "point_to_point/matched", "point_to_point/persistent", "point_to_point/buffered",
         "point_to_point/exchange", "point_to_point/completion", "point_to_point/request_free",
         "point_to_point/truncation", "point_to_point/partitioned", "communicator/inter",
         "errors/point_to_point", "extension/sync")


class TypesTest(JobTest):
    def types(self, name, ranks=2, check="messages", **environment):
        program = self.build(HERE / "types.c")
        return self.mpiexec(ranks, program, name, HEADWAY_CHECK=check, **environment)

    def test_each_difference(self):
        for name, (call, sent, received) in CASES.items():
            with self.subTest(name):
                outcome = self.types(name)
                line = self.assert_refused(outcome, "was sent as")[0]
                tag = 6 if name == "listed" else 5
                self.assertEqual(
                    line, f"headway: rank 1: {call}: the message of rank 0 (tag {tag}, "
                    f"communicator 'MPI_COMM_WORLD') was sent as {sent}, but is received as "
                    f"{received}; give both sides the same types [MPI_ERR_"
                    f"{'IN_STATUS' if name == 'listed' else 'TYPE'}]")
                self.assertNotIn("rank 1 went on", outcome.stdout)

    def test_a_partitioned_message(self):
        outcome = self.types("partitioned")
        line = self.assert_refused(outcome, "the partitioned message")[0]
        self.assertRegex(
            line, r"^headway: rank (0: MPI_Psend_init: the partitioned message to rank 1 of "
            r"MPI_COMM_WORLD \(tag 5, communicator 'MPI_COMM_WORLD'\) is sent here as 8 MPI_FLOAT, "
            r"but received there as 8 MPI_INT|1: MPI_Precv_init: the partitioned message from rank "
            r"0 of MPI_COMM_WORLD \(tag 5, communicator 'MPI_COMM_WORLD'\) is received here as 8 "
            r"MPI_INT, but sent there as 8 MPI_FLOAT); give both sides the same types, and the "
            r"same number in all partitions \[MPI_ERR_TYPE\]$")

    def test_each_host(self):
        for kind in ("thread", "ult"):
            with self.subTest(kind):
                program = self.build(HERE / "types.c")
                outcome = self.mpiexec(2, "--ranks", kind, program, "kind",
                                       HEADWAY_CHECK="messages")
                self.assert_refused(outcome, "was sent as 3 MPI_FLOAT")

    def test_errors_may_be_returned(self):
        outcome = self.types("returned")
        self.assert_ok(outcome)
        self.assertIn("class type, value 1\n", outcome.stdout)

    def test_unasked_nothing_is_said(self):
        outcome = self.types("kind", check="none")
        self.assert_ok(outcome)
        self.assertEqual(outcome.stdout.count("went on"), 2)

    def test_truncation_names_both_sides(self):
        for check in ("none", "messages"):
            with self.subTest(check):
                self.assert_refused(
                    self.types("truncated", check=check),
                    "headway: rank 1: MPI_Recv: the message of rank 0 (tag 5) has 40 bytes, but "
                    "there was room for 16, which were received", "MPI_ERR_TRUNCATE")
                self.assert_refused(self.types("long_truncated", check=check),
                                    "has 1048576 bytes, but there was room for 524288")

    def test_right_programs_are_left_alone(self):
        for ranks in (2, 3, 5):
            with self.subTest(ranks=ranks):
                outcome = self.types("good", ranks, "all")
                self.assert_ok(outcome)
                self.assertEqual(outcome.stdout.count("went on"), ranks)
        for program in RIGHT:
            with self.subTest(program):
                binary = self.build(MPI_TESTS / f"{program}.c")
                self.assert_ok(self.mpiexec(3, binary, HEADWAY_CHECK="messages"))

    def test_an_observed_job_compares_too(self):
        self.assert_ok(self.types("good", 3, HEADWAY_STATS="1"))
        self.assert_refused(self.types("kind", HEADWAY_STATS="1"), "was sent as 3 MPI_FLOAT")


if __name__ == "__main__":
    unittest.main()
