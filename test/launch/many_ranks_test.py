# SPDX-License-Identifier: Apache-2.0
# headway-test: long
"""A thousand user-level ranks on two workers: all kinds of traffic, and a turn for everybody."""

import re
import unittest

import fixture
import host_test

MPICC = str(fixture.stage() / "bin/mpicc")


class ManyRanks(host_test.HostTest):
    host = "ult"

    def test_a_thousand_on_two_workers(self) -> None:
        crowd = self.compile(MPICC, host_test.PROGRAMS / "crowd.c", self.folder / "crowd")
        done = self.run_job("--ranks", "ult", "--workers", "2", "--report-workers", "-n", "1000",
                            crowd)
        self.assertEqual((done.returncode, done.stdout), (0, "all is well\n"), done.stderr)
        found = re.search(r"headway: 1000 ranks on 2 workers: (\d+) switches", done.stderr)
        assert found is not None, done.stderr
        # A turn each, 50 times, is that many switches at the least.
        self.assertGreater(int(found[1]), 50 * 1000)


if __name__ == "__main__":
    unittest.main()
