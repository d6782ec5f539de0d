#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""HEADWAY_REORDER_REPORT=1 says what reordering the ranks of a topology saves."""

import unittest

from job import HERE, JobTest


class ReorderTest(JobTest):
    def report(self, **knobs: str) -> str:
        outcome = self.mpiexec(8, self.build(HERE / "reorder.c"), **knobs)
        self.assert_ok(outcome)
        return outcome.stderr

    def test_squares_instead_of_rows(self) -> None:
        line = self.report(HEADWAY_REORDER_GROUP="4", HEADWAY_REORDER_REPORT="1")
        self.assertRegex(line, r"^headway: rank 0: MPI_Cart_create: 4 of 8 ranks change their "
                         "number; weight of edges before: 4 between nodes, 0 between caches; "
                         "after: 2 between nodes, 0 between caches\n$")

    def test_silent_unless_asked(self) -> None:
        self.assertEqual(self.report(HEADWAY_REORDER_GROUP="4"), "")

    def test_nothing_to_gain(self) -> None:
        self.assertEqual(
            self.report(HEADWAY_REORDER_GROUP="8", HEADWAY_REORDER_REPORT="1"), "")


if __name__ == "__main__":
    unittest.main()
