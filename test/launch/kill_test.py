# SPDX-License-Identifier: Apache-2.0
"""Kills a random rank of an MPI job 20 times; the long jobs do it 200 times.

KILL_COUNT and KILL_SEED change how often and which.
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import fixture

HERE = Path(__file__).resolve().parent


class KillTest(unittest.TestCase):
    def test_death_of_a_random_rank_ends_the_job_cleanly(self) -> None:
        count = os.environ.get("KILL_COUNT", "20")
        seed = os.environ.get("KILL_SEED", "1")
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "endless_traffic"
            subprocess.run([fixture.stage() / "bin" / "mpicc", "-O1", "-o", program,
                            HERE / "programs" / "endless_traffic.c"], check=True)
            ran = subprocess.run(
                [sys.executable, HERE / "kill_random_rank.py", "--count", count, "--seed", seed,
                 "--ranks", "4", program], capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, 0, ran.stdout[-4000:] + ran.stderr[-4000:])


if __name__ == "__main__":
    unittest.main()
