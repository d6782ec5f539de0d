#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An error under the default handler ends the whole job at once, with one sentence that names
the rank, the function and the error class."""

import re
import unittest

from job import HERE, JobTest, clean_environment, run

CASES = {
    "rank": ("MPI_Send", "MPI_ERR_RANK"),
    "comm": ("MPI_Barrier", "MPI_ERR_COMM"),
    "count": ("MPI_Bcast", "MPI_ERR_COUNT"),
    "type": ("MPI_Isend", "MPI_ERR_TYPE"),
    "tag": ("MPI_Recv", "MPI_ERR_TAG"),
    "root": ("MPI_Reduce", "MPI_ERR_ROOT"),
    "op": ("MPI_Allreduce", "MPI_ERR_OP"),
    "free": ("MPI_Comm_free", "MPI_ERR_COMM"),
    "truncate": ("MPI_Recv", "MPI_ERR_TRUNCATE"),
    "abort": ("MPI_Ssend", "MPI_ERR_RANK"),
    "session": ("MPI_Group_from_session_pset", "MPI_ERR_ARG"),
    "closed": ("MPI_Session_get_num_psets", "MPI_ERR_SESSION"),
    "keyval": ("MPI_Comm_set_attr", "MPI_ERR_KEYVAL"),
    "unbuilt": ("MPI_Win_create", "MPI_ERR_UNSUPPORTED_OPERATION"),
}


class FatalTest(JobTest):
    def check_message(self, outcome, rank, function, error_class):
        lines = self.assert_refused(outcome, function, error_class)
        shape = re.compile(rf"^headway: rank {rank}: {function}: .+ \[{error_class}\]")
        self.assertTrue(any(shape.match(line) for line in lines), str(outcome))
        self.assertEqual(len(lines), 1, f"said more than once\n{outcome}")
        self.assertNotIn("went on", outcome.stdout)

    def test_ends_the_whole_job(self):
        program = self.build(HERE / "fatal.c")
        for name, (function, error_class) in CASES.items():
            with self.subTest(name):
                self.check_message(self.mpiexec(3, program, name), 1, function, error_class)

    def test_ends_a_lone_rank(self):
        program = self.build(HERE / "fatal.c")
        for name in ("rank", "unbuilt"):
            with self.subTest(name):
                outcome = run([program, name])
                self.check_message(outcome, 0, *CASES[name])

    def test_before_init_and_after_finalize(self):
        program = self.build(HERE / "fatal.c")
        for name, function in (("before", "MPI_Comm_rank"), ("after", "MPI_Send")):
            with self.subTest(name):
                outcome = self.mpiexec(2, program, name)
                self.assert_refused(outcome, function)
                self.assertNotIn("went on", outcome.stdout)


class StartTest(JobTest):
    def test_starts_alone_without_a_launcher(self):
        outcome = run([self.build(HERE / "fatal.c"), "none"])
        self.assert_ok(outcome)
        self.assertEqual(outcome.stdout.strip(), "rank 0 of 1")

    def test_refuses_pmix_variables_alone(self):
        environment = clean_environment(PMIX_NAMESPACE="job-1", PMIX_RANK="0",
                                        PMIX_SERVER_URI41="job-1.0;tcp4://127.0.0.1:1")
        outcome = run([self.build(HERE / "fatal.c"), "none"], environment)
        self.assert_refused(outcome, "PMIx")
        self.assertNotIn("rank 0 of 1", outcome.stdout)


if __name__ == "__main__":
    unittest.main()
