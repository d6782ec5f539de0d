# SPDX-License-Identifier: Apache-2.0
"""Statistics of a bench against values worked out by hand."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from headway import figures
from headway.figures import Verdict


class SpreadTest(unittest.TestCase):
    """Quartiles by linear interpolation."""

    def test_odd_count(self) -> None:
        found = figures.spread([5.0, 1.0, 4.0, 2.0, 3.0])
        self.assertEqual(
            (found.least, found.lower, found.median, found.upper, found.greatest),
            (1.0, 2.0, 3.0, 4.0, 5.0),
        )
        self.assertAlmostEqual(found.relative, 2.0 / 3.0)

    def test_even_count_interpolates(self) -> None:
        found = figures.spread([1.0, 2.0, 3.0, 10.0])
        self.assertEqual((found.lower, found.median, found.upper), (1.75, 2.5, 4.75))

    def test_single_value(self) -> None:
        found = figures.spread([7.0])
        self.assertEqual((found.lower, found.median, found.upper), (7.0, 7.0, 7.0))

    def test_no_value_is_refused(self) -> None:
        with self.assertRaises(ValueError):
            figures.spread([])


class SpeedupTest(unittest.TestCase):
    """More than 1 means ours is faster, for times and for rates."""

    def test_times(self) -> None:
        self.assertEqual(
            figures.speedups({0: 2.0, 1: 4.0}, {0: 4.0, 1: 2.0}, True), {0: 2.0, 1: 0.5}
        )

    def test_rates(self) -> None:
        self.assertEqual(figures.speedups({0: 6.0}, {0: 2.0}, False), {0: 3.0})

    def test_only_rounds_that_both_have(self) -> None:
        self.assertEqual(figures.speedups({0: 1.0, 2: 1.0}, {1: 9.0, 2: 3.0}, True), {2: 3.0})

    def test_zero_tells_nothing(self) -> None:
        self.assertEqual(figures.speedups({0: 0.0, 1: 1.0}, {0: 1.0, 1: 0.0}, True), {})


class BestTest(unittest.TestCase):
    """The best median, not the best single round."""

    def test_lower(self) -> None:
        series = {"a": {0: 0.1, 1: 5.0, 2: 5.0}, "b": {0: 4.0, 1: 4.0, 2: 4.0}, "c": {}}
        self.assertEqual(figures.best_library(series, True), "b")
        self.assertEqual(figures.best_library(series, False), "a")

    def test_nobody(self) -> None:
        self.assertIsNone(figures.best_library({"a": {}}, True))


class JudgeTest(unittest.TestCase):
    """Limit against quartiles."""

    def test_outside_the_quartiles_decides_at_once(self) -> None:
        self.assertIs(figures.judge([1.1, 1.2, 1.3], 1.0, False), Verdict.HOLDS)
        self.assertIs(figures.judge([0.7, 0.8, 0.9], 1.0, False), Verdict.MISSED)
        self.assertIs(figures.judge([0.7, 0.8, 0.9], 1.0, True), Verdict.MISSED)

    def test_inside_asks_for_more(self) -> None:
        self.assertIs(figures.judge([0.9, 1.1, 1.3], 1.0, False), Verdict.OPEN)
        self.assertIs(figures.judge([], 1.0, False), Verdict.OPEN)

    def test_inside_after_the_last_round(self) -> None:
        self.assertIs(figures.judge([0.8, 0.96, 1.1, 1.2, 0.9], 1.0, True), Verdict.HOLDS)
        self.assertIs(figures.judge([0.8, 0.94, 1.1, 1.2, 0.8], 1.0, True), Verdict.MISSED)

    def test_at_most(self) -> None:
        self.assertIs(figures.judge([-0.1, 0.0, 0.2], 0.3, False, at_most=True), Verdict.HOLDS)
        self.assertIs(figures.judge([1.0, 1.1, 1.2], 0.3, True, at_most=True), Verdict.MISSED)
        self.assertIs(figures.judge([0.0, 0.0, 0.0], 0.0, False, at_most=True), Verdict.HOLDS)
        close = [0.2, 0.25, 0.31, 0.35, 0.4]
        self.assertIs(figures.judge(close, 0.3, False, at_most=True), Verdict.OPEN)
        self.assertIs(figures.judge(close, 0.3, True, at_most=True), Verdict.HOLDS)
        worse = [0.2, 0.25, 0.32, 0.35, 0.4]
        self.assertIs(figures.judge(worse, 0.3, True, at_most=True), Verdict.MISSED)


if __name__ == "__main__":
    unittest.main()
