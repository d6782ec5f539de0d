#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes that a rank starts after MPI_Init: they do not disturb it, are no part of its job, and
may be MPI programs of their own."""

import sys
import unittest

from heap_test import WAYS
from job import HERE, JobTest, clean_environment, run

RANKS = 3


class ChildrenTest(JobTest):
    def go(self, name, word="", ranks=RANKS, **environment):
        program = self.build(HERE / "children.c")
        return self.mpiexec(ranks, program, name, word, **environment)

    def check(self, outcome, code):
        """The job went on after children that ended with this code."""
        self.assert_ok(outcome)
        self.assertIn(f"children ended with {code * RANKS}, wrong 0", outcome.stdout)
        self.assertNotIn("went on", outcome.stdout)


class ForkTest(ChildrenTest):
    def test_ends(self):
        for name, code in (("_exit", 7), ("exit", 7), ("killed", 128 + 6), ("stays", 7)):
            for way in WAYS:
                with self.subTest(name, way=way):
                    self.check(self.go(name, HEADWAY_NODE_HEAP=way), code)

    def test_child_may_ask(self):
        """What mpi4py asks when Python ends: nothing is left to finalize in a child."""
        outcome = self.go("asks")
        self.check(outcome, 7)
        self.assertEqual(outcome.stdout.count("initialized 0, finalized 0\n"), RANKS)

    def test_other_calls_end_the_child_alone(self):
        for name, function in (("sends", "MPI_Send"), ("starts", "MPI_Init"),
                               ("ends", "MPI_Finalize"), ("aborts", "MPI_Abort")):
            with self.subTest(name):
                outcome = self.go(name)
                self.assert_ok(outcome)
                self.assertRegex(outcome.stdout, r"children ended with \d*[1-9]\d*, wrong 0")
                self.assertNotIn("went on", outcome.stdout)
                self.assertEqual(len(outcome.sentences()), RANKS, str(outcome))
                for line in outcome.sentences():
                    self.assertRegex(line, rf"^headway: .*{function}: called in a child process "
                                     r"that a rank made by fork\(\); .*exec")

    def test_lone_rank(self):
        outcome = run([self.build(HERE / "children.c"), "sends"])
        self.assert_ok(outcome)
        self.assertEqual(len(outcome.sentences()), 1, str(outcome))


class ProgramTest(ChildrenTest):
    def test_commands(self):
        for name in ("system", "popen", "runs"):
            with self.subTest(name):
                outcome = self.go(name, "env; ls -l /proc/self/fd; exit 4")
                self.check(outcome, 4)
                self.assertNotRegex(outcome.stdout, r"(?m)^PMI_|socket:|memfd:|/dev/shm/")

    def test_nested_program_alone(self):
        nested = self.build(HERE / "fatal.c")
        for name in ("system", "popen", "runs"):
            with self.subTest(name):
                outcome = self.go(name, f"{nested} none")
                self.check(outcome, 0)
                self.assertEqual(outcome.stdout.count("rank 0 of 1\n"), RANKS, str(outcome))

    def test_nested_job(self):
        nested = self.build(HERE / "fatal.c")
        command = f"{self.stage}/bin/mpiexec -n 2 {nested} none"
        for name in ("system", "popen", "runs"):
            with self.subTest(name):
                outcome = self.go(name, command)
                self.check(outcome, 0)
                for rank in range(2):
                    self.assertEqual(outcome.stdout.count(f"rank {rank} of 2\n"), RANKS,
                                     str(outcome))

    def test_nested_job_that_fails(self):
        nested = self.build(HERE / "fatal.c")
        outcome = self.go("system", f"{self.stage}/bin/mpiexec -n 2 {nested} rank; exit 6")
        self.check(outcome, 6)
        self.assertEqual(outcome.stderr.count("MPI_ERR_RANK"), RANKS, str(outcome))


class PythonTest(ChildrenTest):
    def test_python_starts_processes(self):
        library = self.stage / "lib/libmpi_abi.so.1"
        outcome = self.mpiexec(2, sys.executable, HERE / "children.py", library,
                               self.build(HERE / "fatal.c"))
        self.assert_ok(outcome)
        self.assertEqual(outcome.stdout.count("rank done\n"), 2, str(outcome))
        stale = [line for line in outcome.stdout.splitlines() if line.startswith("stale:")]
        for line in stale:
            self.assertRegex(line, r"^stale: 1 headway: MPI_Init: PMI_FD names descriptor \d+, "
                             r"which is not open: .*started by a rank.*unset PMI_FD")
        self.assertEqual(len(stale), 2)

    def test_a_lone_rank_too(self):
        library = self.stage / "lib/libmpi_abi.so.1"
        outcome = run([sys.executable, HERE / "children.py", library,
                       self.build(HERE / "fatal.c")], clean_environment())
        self.assert_ok(outcome)
        self.assertIn("stale: 0", outcome.stdout)


if __name__ == "__main__":
    unittest.main()
