#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# headway-test: waits
"""A job whose ranks all wait for each other ends with a sentence for each rank and one for all;
jobs that only look so for a while go on."""

import shutil
import unittest

from job import HERE, JobTest, run

# Per case: what a rank is said to wait in and for, and the function that its line is in.
CASES = {
    "ring": (r"MPI_Recv", r"a message from rank \d with tag 7", "ring"),
    "sends": (r"MPI_Send", r"the receiver of its message to rank \d with tag 3", "sends"),
    "missing": (r"MPI_(Barrier|Finalize)", r"a collective", "missing"),
    "waits": (r"MPI_Waitall", r"a message from any rank with tag 1 and a message from rank 0 "
              r"with any tag", "waits"),
}
SHORT = {"HEADWAY_DEADLOCK_MS": "200"}


class DeadlockTest(JobTest):
    def program(self, *flags):
        source = HERE / "deadlock.c"
        if not flags:
            return self.build(source)
        target = self.build(source).with_name("deadlock_" + "".join(flags).strip("-"))
        run([self.stage / "bin/mpicc", *flags, "-O1", "-o", target, source, "-lpthread"])
        return target

    def check_report(self, outcome, ranks, name):
        call, what, _ = CASES[name]
        # The one that has forgotten the barrier ends: MPI_Finalize is the others' barrier.
        waiting = range(1 if name == "missing" else 0, ranks)
        self.assert_refused(outcome, "deadlock", f"all {len(waiting)} ranks")
        for rank in waiting:
            self.assertRegex(outcome.stderr,
                             rf"(?m)^headway: rank {rank}: waits in {call} at .* for {what}$")
        self.assertEqual(outcome.stdout.count("went on"), ranks - len(waiting))

    def test_each_deadlock_between_processes(self):
        for name in CASES:
            for ranks in (1, 2, 3, 5):
                if ranks == 1 and name in ("missing", "sends"):
                    continue
                with self.subTest(name, ranks=ranks):
                    outcome = self.mpiexec(ranks, self.program(), name, **SHORT)
                    self.check_report(outcome, ranks, name)

    def test_lengths_that_go_different_ways(self):
        for ranks in (2, 3):
            with self.subTest(ranks=ranks):
                outcome = self.mpiexec(ranks, self.program(), "lengths", **SHORT)
                self.assert_refused(outcome, "deadlock", "HEADWAY_CHECK=collectives")
                self.assert_refused(outcome, "rank 1: waits in MPI_Bcast", "for a collective")
                outcome = self.mpiexec(ranks, self.program(), "lengths", **SHORT,
                                       HEADWAY_CHECK="collectives")
                self.assert_refused(outcome, ": MPI_Bcast", "8 bytes", "2000 bytes")

    def test_ranks_in_one_process(self):
        for name in CASES:
            for kind in ("thread", "ult"):
                with self.subTest(name, kind=kind):
                    outcome = self.mpiexec(3, "--ranks", kind, self.program(), name, **SHORT)
                    self.check_report(outcome, 3, name)

    def test_user_level_ranks_in_two_processes(self):
        for name in CASES:
            with self.subTest(name):
                outcome = self.mpiexec(4, "--ranks", "ult", "--processes-per-node", 2,
                                       self.program(), name, **SHORT)
                self.check_report(outcome, 4, name)

    def test_the_line_of_the_call(self):
        if shutil.which("addr2line") is None:
            self.skipTest("addr2line is not installed")
        text = (HERE / "deadlock.c").read_text().splitlines()
        line = 1 + next(i for i, row in enumerate(text) if "MPI_Recv(" in row)
        for hosts in ((), ("--ranks", "thread")):
            for kind in ("-pie", "-no-pie"):
                if hosts and kind == "-no-pie":
                    continue  # cannot be hosted
                with self.subTest(hosts=hosts, kind=kind):
                    outcome = self.mpiexec(2, *hosts, self.program("-g", kind), "ring", **SHORT)
                    self.assertIn(f"MPI_Recv at deadlock.c:{line} for", outcome.stderr)

    def test_it_is_on_by_default(self):
        self.check_report(self.mpiexec(2, self.program(), "ring"), 2, "ring")

    def test_a_rank_that_could_have_threads(self):
        for name in ("ring", "missing"):
            with self.subTest(name):
                outcome = self.mpiexec(2, self.program(), name, "multiple", **SHORT)
                self.check_report(outcome, 2, name)

    def test_every_thread_says_what_it_waits_for(self):
        for ranks in (1, 3):
            with self.subTest(ranks=ranks):
                outcome = self.mpiexec(ranks, self.program(), "pairs", "multiple", **SHORT)
                self.assert_refused(outcome, f"deadlock: all {ranks} ranks wait in MPI")
                for rank in range(ranks):
                    for tag in (7, 8):
                        self.assertRegex(
                            outcome.stderr, rf"(?m)^headway: rank {rank}: waits in MPI_Recv at .* "
                            rf"for a message from rank {(rank + 1) % ranks} with tag {tag}$")

    def test_no_false_alarm(self):
        for name in ("slow", "traffic"):
            for ranks in (1, 2, 3):
                for hosts in ((), ("--ranks", "thread"), ("--ranks", "ult")):
                    with self.subTest(name, ranks=ranks, hosts=hosts):
                        self.check_silence(ranks, *hosts, self.program(), name)

    def test_no_false_alarm_among_threads(self):
        for name in ("traffic", "threads", "late", "exchanges"):
            with self.subTest(name):
                self.check_silence(2, self.program(), name, "multiple")
        self.check_silence(2, "--ranks", "ult", self.program(), "exchanges", "multiple")

    def check_silence(self, ranks, *command):
        outcome = self.mpiexec(ranks, *command, HEADWAY_DEADLOCK_MS="2")
        self.assert_ok(outcome)
        self.assertEqual(outcome.stdout.count("went on"), ranks)

    def test_switched_off(self):
        outcome = run([self.stage / "bin/mpiexec", "-n", 2, "--timeout", 1, self.program(), "ring"],
                      self.with_knob("0"))
        self.assertEqual(outcome.code, 124, str(outcome))
        self.assertNotIn("deadlock:", outcome.stderr)

    @staticmethod
    def with_knob(value):
        from job import clean_environment
        return clean_environment(HEADWAY_DEADLOCK_MS=value)


if __name__ == "__main__":
    unittest.main()
