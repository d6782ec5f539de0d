# SPDX-License-Identifier: Apache-2.0
# headway-test: long
# headway-needs: hosts
"""What HEADWAY_CHECK finds where those who differ are on several hosts."""

import subprocess
import unittest

from hosts_test import ROOT, HostsTest, stage


class Checks(HostsTest):
    """HEADWAY_CHECK, where who is compared with whom is on another host."""

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        for name in ("order", "blocks", "types"):
            subprocess.run([stage() / "bin/mpicc", "-std=gnu99", "-O1", "-o",
                            f"{cls.folder}/{name}", ROOT / f"test/faults/{name}.c"], check=True)

    def said(self, program: str, case: str, ranks: int = 2, **settings: str) -> str:
        """What a job says whose ranks differ."""
        done = self.start(ranks, 1, f"{self.folder}/{program}", case,
                          **{"check": "all", **settings})
        self.assertNotEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_calls_that_differ(self) -> None:
        for case, first, second in (
                ("call", "MPI_Bcast with root 0 and 4 bytes", "MPI_Allreduce with 4 bytes"),
                ("missing", "MPI_Barrier", "MPI_Finalize"),
                ("op", "(1 MPI_INT, MPI_SUM)", "(1 MPI_INT, MPI_MAX)")):
            with self.subTest(case):
                said = self.said("order", case)
                self.assertRegex(said, "collective call 2 on communicator 'MPI_COMM_WORLD' is .* "
                                       "on (this rank|rank [01]) but .* on rank [01]")
                self.assertIn(first, said)
                self.assertIn(second, said)

    def test_blocks_that_differ(self) -> None:
        for case in ("alltoallv", "gatherv", "neighborv"):
            with self.subTest(case):
                said = self.said("blocks", case, 3)
                self.assertRegex(said, "collective call .*(gives|takes) [12] MPI_INT")
                self.assertIn("2 MPI_INT", said)
                self.assertIn("1 MPI_INT", said)

    def test_messages_that_differ(self) -> None:
        for case in ("kind", "long", "order"):
            with self.subTest(case):
                self.assertRegex(self.said("types", case),
                                 "rank 1: MPI_Recv: the message of rank 0 .* was sent as .*, but "
                                 "is received as .*; give both sides the same types")
        self.assertRegex(self.said("types", "partitioned"),
                         "the partitioned message .* 8 MPI_(INT|FLOAT), but .* 8 MPI_(INT|FLOAT);")

    def test_right_programs_are_left_alone(self) -> None:
        for program in ("order", "blocks", "types"):
            for ranks, per_host in ((2, 1), (4, 2)):
                with self.subTest(program, ranks=ranks):
                    done = self.start(ranks, per_host, f"{self.folder}/{program}", "good",
                                      check="all")
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                    self.assertEqual(done.stdout.count("went on"), ranks)


if __name__ == "__main__":
    unittest.main()
