#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Garbage on the PMI descriptor: one sentence, a failure, no hang and no signal."""

import sys
import unittest

from job import HERE, JobTest, clean_environment, run
from pmi_garbage import KINDS

SEEDS = range(1, 6)


class PmiTest(JobTest):
    def check(self, outcome):
        self.assert_refused(outcome, "PMI")
        self.assertLess(outcome.code, 128, f"ended by a signal\n{outcome}")
        self.assertEqual(len(outcome.sentences()), 1, str(outcome))
        self.assertNotIn("rank 0 of", outcome.stdout)

    def test_garbage_answers(self):
        program = self.build(HERE / "fatal.c")
        for kind in KINDS:
            for seed in SEEDS:
                with self.subTest(kind, seed=seed):
                    self.check(run([sys.executable, HERE / "pmi_garbage.py", kind, seed, program,
                                    "none"]))

    def test_wrong_variables(self):
        program = self.build(HERE / "fatal.c")
        for fields in ({"PMI_FD": "9999"}, {"PMI_FD": "x"}, {"PMI_FD": "-1"}):
            for rank, size in (("0", "2"), ("2", "2"), ("-1", "2"), ("0", "0"), ("a", "b")):
                with self.subTest(**fields, rank=rank, size=size):
                    environment = clean_environment(PMI_RANK=rank, PMI_SIZE=size, **fields)
                    self.check(run([program, "none"], environment))


if __name__ == "__main__":
    unittest.main()
