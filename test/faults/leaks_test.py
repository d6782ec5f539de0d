#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""HEADWAY_LEAKS=1 names what a program did not free, where it was made, and nothing else."""

import shutil
import unittest

from job import HERE, JobTest, run

LEAKS = {"communicator": (2, "MPI_Comm_dup"), "datatype": (1, "MPI_Type_contiguous"),
         "group": (1, "MPI_Comm_group"), "info": (1, "MPI_Info_create"),
         "request": (1, "MPI_Irecv"), "persistent request": (1, "MPI_Send_init"),
         "operator": (1, "MPI_Op_create"), "error handler": (1, "MPI_Comm_create_errhandler"),
         "message": (1, "MPI_Mprobe")}
HOSTS = ((), ("--ranks", "thread"), ("--ranks", "ult"))


class LeaksTest(JobTest):
    def test_each_kind_at_its_call(self):
        for hosts in HOSTS:
            with self.subTest(hosts=hosts):
                outcome = self.mpiexec(2, *hosts, self.build(HERE / "leaks.c"), HEADWAY_LEAKS="1")
                self.assert_ok(outcome)
                for rank in range(2):
                    for kind, (count, call) in LEAKS.items():
                        self.assertRegex(
                            outcome.stderr,
                            rf"(?m)^headway: rank {rank}: leak: {count} x {kind} from {call} at "
                            r".*, not freed$")
                self.assertEqual(outcome.stderr.count("leak:"), 2 * len(LEAKS))

    def test_a_session_is_named_when_the_program_exits(self):
        for hosts in HOSTS:
            with self.subTest(hosts=hosts):
                outcome = self.mpiexec(1, *hosts, self.build(HERE / "leaks.c"), "session",
                                       HEADWAY_LEAKS="1")
                self.assertEqual(outcome.code, 1, str(outcome))
                self.assertIn("or MPI_Session_finalize", outcome.stderr)
                self.assertRegex(outcome.stderr, r"(?m)^headway: rank 0: leak: 1 x session from "
                                 r"MPI_Session_init at .*, not freed$")
                self.assertEqual(outcome.stderr.count("leak:"), 1)

    def test_the_line_that_made_it(self):
        if shutil.which("addr2line") is None:
            self.skipTest("addr2line is not installed")
        target = self.build(HERE / "leaks.c").with_name("leaks_with_symbols")
        run([self.stage / "bin/mpicc", "-g", "-o", target, HERE / "leaks.c"])
        text = (HERE / "leaks.c").read_text().splitlines()
        outcome = self.mpiexec(1, target, HEADWAY_LEAKS="1")
        for _, call in LEAKS.values():
            line = 1 + next(i for i, row in enumerate(text) if call + "(" in row)
            self.assertIn(f"from {call} at leaks.c:{line}, not freed", outcome.stderr)

    def test_nothing_to_say(self):
        program = self.build(HERE / "leaks.c")
        for arguments, knob in ((["clean"], "1"), ([], "0")):
            with self.subTest(arguments=arguments, knob=knob):
                outcome = self.mpiexec(2, program, *arguments, HEADWAY_LEAKS=knob)
                self.assert_ok(outcome)
                self.assertEqual(outcome.stderr, "")


if __name__ == "__main__":
    unittest.main()
