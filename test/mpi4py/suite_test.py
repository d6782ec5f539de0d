# SPDX-License-Identifier: Apache-2.0
"""The runner of mpi4py's tests: what counts as passed, what is missed, how the list grows."""

import importlib.util
import io
import sys
import types
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent


def load(name: str) -> types.ModuleType:
    spec = importlib.util.spec_from_file_location(f"mpi4py_{name}", HERE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


suite = load("suite")
one_rank = load("one_rank")
ALL = frozenset(suite.RANKS)


class Lists(unittest.TestCase):
    def test_a_list_is_read_as_it_was_written(self) -> None:
        names = {"b.C.two": frozenset({2, 4}), "a.C.all": ALL}
        text = suite.format_list(names)
        self.assertEqual(suite.parse_list(text), names)
        self.assertIn("\na.C.all\nb.C.two 2 4\n", text)

    def test_growing_adds_and_never_takes_away(self) -> None:
        names = {"a.C.x": frozenset({1, 2}), "a.C.gone": ALL}
        grown = suite.grow(names, {2: {"a.C.x", "a.C.new"}, 3: {"a.C.x"}})
        self.assertEqual(grown, {"a.C.x": frozenset({1, 2, 3}), "a.C.gone": ALL,
                                 "a.C.new": frozenset({2})})

    def test_the_list_of_the_tree_is_in_order_and_in_one_form(self) -> None:
        text = (HERE / "must_pass.txt").read_text()
        self.assertEqual(suite.format_list(suite.parse_list(text)), text)


class MoreRanks(unittest.TestCase):
    def test_names_of_the_list_may_be_skipped_but_not_fail(self) -> None:
        names = {"a.C.x": ALL, "a.C.y": ALL, "a.C.small": frozenset({1, 2})}
        outcome = suite.Outcome({"a.C.z"}, {
            "a.C.x": "skipped on rank 0", "a.C.y": "failed on rank 5",
            "a.C.small": "failed on rank 0"})
        self.assertEqual(suite.missed(names, 6, outcome, ["a"]),
                         ["a.C.y with 6 ranks: failed on rank 5"])

    def test_all_is_1_to_8(self) -> None:
        self.assertEqual(suite.parse(["--ranks", "1,2,3", "--all"]).ranks, "1,2,3,4,5,6,7,8")


class Runs(unittest.TestCase):
    def merged(self, *ranks: str) -> "suite.Outcome":
        return suite.merge(dict(enumerate(ranks)))

    def test_a_test_passed_if_it_did_on_every_rank(self) -> None:
        good = "began a.C.x\npassed a.C.x\nended\n"
        self.assertEqual(self.merged(good, good).passed, {"a.C.x"})
        bad = "began a.C.x\nfailed a.C.x 1 != 2\nended\n"
        outcome = self.merged(good, bad)
        self.assertEqual(outcome.passed, set())
        self.assertEqual(outcome.others, {"a.C.x": "failed on rank 1: 1 != 2"})

    def test_skipping_is_not_passing(self) -> None:
        skipped = "began a.C.x\nskipped a.C.x mpi-win\nended\n"
        outcome = self.merged(skipped)
        self.assertEqual(outcome.passed, set())
        self.assertEqual(outcome.others, {"a.C.x": "skipped on rank 0: mpi-win"})

    def test_a_failed_subtest_fails_its_test_even_if_success_is_said(self) -> None:
        outcome = self.merged("began a.C.x\nfailed a.C.x\npassed a.C.x\nended\n")
        self.assertEqual(outcome.passed, set())

    def test_a_rank_that_ends_early_is_named_with_its_test(self) -> None:
        good = "began a.C.x\npassed a.C.x\nbegan a.C.y\npassed a.C.y\nended\n"
        outcome = self.merged(good, "began a.C.x\npassed a.C.x\nbegan a.C.y\n")
        self.assertEqual(outcome.passed, {"a.C.x"})
        self.assertEqual(outcome.others, {"a.C.y": "rank 1 ended or hung in it"})

    def test_a_rank_that_wrote_nothing_leaves_nothing_passed(self) -> None:
        outcome = self.merged("began a.C.x\npassed a.C.x\nended\n", "")
        self.assertEqual(outcome.passed, set())
        self.assertEqual(outcome.others, {"a.C.x": "did not run on every rank"})

    def test_a_listed_name_that_did_not_pass_is_missed_with_its_reason(self) -> None:
        names = {"a.C.x": ALL, "a.C.y": ALL, "a.C.alone": frozenset({1}), "b.C.z": ALL}
        outcome = self.merged("began a.C.x\nskipped a.C.x why\nended\n")
        self.assertEqual(suite.missed(names, 2, outcome, ["a"]), [
            "a.C.x with 2 ranks: skipped on rank 0: why",
            "a.C.y with 2 ranks: is missing in the run"])
        self.assertEqual(suite.missed(names, 2, self.merged(
            "began a.C.x\npassed a.C.x\nbegan a.C.y\npassed a.C.y\nended\n"), ["a"]), [])


class Sample(unittest.TestCase):
    def test_good(self) -> None:
        pass

    def test_wrong(self) -> None:
        self.assertEqual(1, 2)

    def test_broken(self) -> None:
        raise KeyError("gone")

    def test_left_out(self) -> None:
        self.skipTest("not here")

    def test_parts(self) -> None:
        for part in range(2):
            with self.subTest(part=part):
                self.assertEqual(part, 0)


class OneRank(unittest.TestCase):
    def test_it_writes_what_became_of_each_test(self) -> None:
        one_rank.Outcomes.lines = io.StringIO()
        tests = unittest.defaultTestLoader.loadTestsFromTestCase(Sample)
        unittest.TextTestRunner(stream=io.StringIO(), resultclass=one_rank.Outcomes).run(tests)
        text = one_rank.Outcomes.lines.getvalue()
        outcome = suite.merge({0: text + "ended\n"})
        name = f"{Sample.__module__}.Sample.test_"
        self.assertEqual(outcome.passed, {name + "good"})
        self.assertEqual(set(outcome.others), {
            name + end for end in ("wrong", "broken", "left_out", "parts")})
        self.assertIn("KeyError", outcome.others[name + "broken"])


def load_tests(loader: unittest.TestLoader, _tests: unittest.TestSuite,
               _pattern: str | None) -> unittest.TestSuite:
    """Sample is material, no test of its own."""
    cases = (Lists, Runs, OneRank)
    return unittest.TestSuite(loader.loadTestsFromTestCase(case) for case in cases)


if __name__ == "__main__":
    unittest.main()
