# SPDX-License-Identifier: Apache-2.0
"""What `./dev demo` makes of what its runs print."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tools import demo

STATISTICS = """\
headway: rank     calls   in MPI ms   messages out/in     helped  wake-ups
headway:    0       202     431.051        73/72               3        41
headway:    1       202     398.250        72/73               5         9
headway: warning: something else
"""


class DemoTest(unittest.TestCase):
    """Reading and judging."""

    def test_wake_ups_of_all_ranks_are_added(self) -> None:
        self.assertEqual(demo.wake_ups_in(STATISTICS), 50)
        self.assertEqual(demo.wake_ups_in(""), 0)

    def test_overhead_of_hidden_and_unhidden_parts(self) -> None:
        self.assertEqual(demo.overhead(10.0, 4.0, 10.0), "0.00")
        self.assertEqual(demo.overhead(14.0, 4.0, 10.0), "1.00")
        self.assertEqual(demo.overhead(12.0, 10.0, 4.0), "0.50")
        self.assertEqual(demo.overhead(10.5, 0.9, 10.0), "in noise")


if __name__ == "__main__":
    unittest.main()
