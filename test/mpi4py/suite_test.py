# SPDX-License-Identifier: Apache-2.0
"""The runner of mpi4py's tests: what counts as passed, what is missed, how the list grows."""

import importlib.util
import io
import sys
import tempfile
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
sys.modules["suite"] = suite  # as compare.py names it
compare = load("compare")
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


SOME_EXCLUDED = {"test_win": "one-sided", "a.Win": "one-sided", "a.C.yaml": "package yaml"}


class Excluded(unittest.TestCase):
    def test_a_line_is_a_name_and_a_reason(self) -> None:
        self.assertEqual(suite.parse_excluded("# head\na.Win one-sided and files\n"),
                         {"a.Win": "one-sided and files"})

    def test_a_file_a_class_or_a_test_is_excluded(self) -> None:
        for name, entry in {"test_win": "test_win", "test_win.C.x": "test_win", "a.Win.x": "a.Win",
                            "a.C.yaml": "a.C.yaml", "a.C.x": "", "a.Window.x": ""}.items():
            self.assertEqual(suite.exclusion_of(name, SOME_EXCLUDED), entry, name)

    def test_every_test_is_in_one_list(self) -> None:
        outcome = suite.Outcome({"a.C.x", "a.C.new", "a.C.yaml"},
                                {"a.Win.x": "skipped", "a.C.other": "skipped"})
        self.assertEqual(suite.unaccounted({"a.C.x": ALL}, SOME_EXCLUDED, outcome), [
            "a.C.new is neither in must_pass.txt nor in excluded.txt",
            "a.C.other is neither in must_pass.txt nor in excluded.txt",
            "a.C.yaml passed, but stands in excluded.txt"])

    def test_every_file_of_the_suite_is_known(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name in ("test_win", "test_run", "test_new", "helper"):
                (Path(folder) / f"{name}.py").touch()
            self.assertEqual(
                suite.unknown_files({"test_run.C.x": ALL}, SOME_EXCLUDED, Path(folder)),
                ["test_new has no test in must_pass.txt and is not in excluded.txt"])

    def test_the_list_of_the_tree_gives_reasons_and_holds_nothing_that_must_pass(self) -> None:
        text = (HERE / "excluded.txt").read_text()
        excluded = suite.parse_excluded(text)
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        self.assertEqual(lines, sorted(f"{name} {why}" for name, why in excluded.items()))
        for name, why in excluded.items():
            self.assertTrue(why.startswith(suite.REASONS), f"{name}: {why}")
        names = suite.parse_list((HERE / "must_pass.txt").read_text())
        self.assertEqual([name for name in names if suite.exclusion_of(name, excluded)], [])

    def test_only_what_needs_more_ranks_may_fail_with_few(self) -> None:
        names = suite.parse_list((HERE / "must_pass.txt").read_text())
        self.assertEqual({name for name, ranks in names.items()
                          if ranks not in (ALL, frozenset(suite.RANKS) - {1})}, set())


class MoreRanks(unittest.TestCase):
    def test_names_of_the_list_may_be_skipped_but_not_fail(self) -> None:
        names = {"a.C.x": ALL, "a.C.y": ALL, "a.C.small": frozenset({1, 2})}
        outcome = suite.Outcome({"a.C.z"}, {
            "a.C.x": "skipped on rank 0", "a.C.y": "failed on rank 5",
            "a.C.small": "failed on rank 0"})
        self.assertEqual(suite.missed(names, 6, outcome, ["a"]),
                         ["a.C.y with 6 ranks: failed on rank 5"])

    def test_who_loses_a_race_of_its_own_may_try_again_and_nobody_else(self) -> None:
        racing, other = next(iter(suite.RACES)), "a.C.x"
        lost = "failed on rank 0" + suite.RACES[racing][0]

        def run_with(*runs: set[str], what: str = lost) -> tuple[set[str], int]:
            made: list[set[str]] = []

            def run() -> "suite.Outcome":
                made.append(runs[len(made)])
                return suite.Outcome(set(made[-1]),
                                     dict.fromkeys({racing, other} - made[-1], what))
            return set(suite.retried(run).passed), len(made)

        self.assertEqual(run_with({racing}), ({racing}, 1))
        self.assertEqual(run_with({other}, {racing}), ({racing, other}, 2))
        self.assertEqual(run_with(set(), {racing, other}), ({racing}, 2))
        self.assertEqual(run_with({other}, {other}, {other}), ({other}, suite.TRIES))
        for what in ("rank 0 ended or hung in it", "failed on rank 0: 1 != 2"):
            self.assertEqual(run_with({other}, {racing}, what=what), ({other}, 1))

    def test_the_tests_that_race_must_pass(self) -> None:
        names = suite.parse_list((HERE / "must_pass.txt").read_text())
        self.assertLessEqual(suite.RACES.keys(), names.keys())

    def test_all_is_1_to_8(self) -> None:
        self.assertEqual(suite.parse(["--ranks", "1,2,3", "--all"]).ranks, "1,2,3,4,5,6,7,8")


class Compared(unittest.TestCase):
    def test_names_that_pass_with_the_rival_only_are_found(self) -> None:
        self.assertEqual(compare.behind({"a.C.x"}, {"a.C.x", "a.C.y", "a.Win.z"},
                                        {"a.Win": "one-sided"}), ["a.C.y"])

    def test_what_passed_is_added_up_by_name(self) -> None:
        total = compare.Cost(passed={"a.C.x"})
        total.add(compare.Cost(1.0, 2.0, {"b.C.y"}))
        self.assertEqual(total.passed, {"a.C.x", "b.C.y"})


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


REFUSING = """
class MPI:
    class Exception(RuntimeError):
        pass

def refuse():
    raise MPI.Exception

try:
    refuse()
except NotImplementedError:
    found = False

def inner():
    try:
        refuse()
    except NotImplementedError:
        return "caught"
"""


class OneRank(unittest.TestCase):
    def test_what_is_refused_while_a_file_is_loaded_is_absent(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "asks_first.py").write_text(REFUSING)
            module = one_rank.load(folder, "asks_first")
        self.addCleanup(sys.modules.pop, "asks_first")
        self.assertFalse(module.found)
        self.assertRaises(module.MPI.Exception, module.inner)  # a test itself is judged as written

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
    cases = [value for value in globals().values() if isinstance(value, type)
             and issubclass(value, unittest.TestCase) and value is not Sample]
    return unittest.TestSuite(loader.loadTestsFromTestCase(case) for case in cases)


if __name__ == "__main__":
    unittest.main()
