# SPDX-License-Identifier: Apache-2.0
"""Communication beside computation: the arithmetic of bench/mpi/nbc_ratios.c, what it means in
words, the cells of a grid, and what a run prints."""

import ctypes
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from headway import calibration, description, diagnosis, grid, heat, jobs, runner  # noqa: E402

MPI = ROOT / "bench" / "mpi"


class Times(ctypes.Structure):
    """NbcTimes."""

    _fields_ = [(name, ctypes.c_double) for name in ("called", "returned", "computed", "done")]


class Ratios(ctypes.Structure):
    """NbcRatios."""

    _fields_ = [(name, ctypes.c_double) for name in (
        "comp_slowdown", "rank_comp_slowdown", "comm", "rank_overhead_least",
        "rank_overhead_median", "rank_overhead_greatest", "share_call", "share_comp", "share_wait")]


class Fix(ctypes.Structure):
    """NbcFix."""

    _fields_ = [(name, ctypes.c_double) for name in ("at", "offset", "latency")]


class RatiosTest(unittest.TestCase):
    """The C functions, by the values of the specification."""

    library: ctypes.CDLL

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        path = Path(folder.name) / "ratios.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-std=gnu11",
                        str(MPI / "nbc_ratios.c"), "-o", str(path), "-lm"], check=True)
        cls.library = ctypes.CDLL(str(path))
        for name in ("nbc_overhead", "nbc_overlap_osu", "nbc_global_time", "nbc_between",
                     "nbc_beyond"):
            getattr(cls.library, name).restype = ctypes.c_double
        cls.library.nbc_ratios.restype = Ratios
        cls.library.nbc_next_size.restype = ctypes.c_size_t

    def overhead(self, measured: float, comp: float, comm: float) -> float:
        doubles = [ctypes.c_double(value) for value in (measured, comp, comm)]
        return float(self.library.nbc_overhead(*doubles))

    def test_overhead(self) -> None:
        self.assertEqual(self.overhead(30, 20, 10), 1.0)
        self.assertEqual(self.overhead(20, 20, 10), 0.0)
        self.assertEqual(self.overhead(45, 20, 10), 2.5)
        self.assertEqual(self.overhead(15, 10, 20), -0.5)  # never clamped

    def test_overlap_as_osu_has_it(self) -> None:
        for overall, compute, pure, percent in ((665.10, 424.78, 412.18, 41.70),
                                                (1226.44, 706.79, 681.85, 23.79)):
            values = [ctypes.c_double(value) for value in (overall, compute, pure)]
            self.assertAlmostEqual(self.library.nbc_overlap_osu(*values), percent, delta=0.01)
        values = [ctypes.c_double(value) for value in (100, 10, 20)]
        self.assertEqual(self.library.nbc_overlap_osu(*values), 0.0)

    def test_global_time_is_not_the_mean(self) -> None:
        ranks = (Times * 4)(*[Times(0, 0, 0, end) for end in (20, 20, 10, 10)])
        self.assertEqual(self.library.nbc_global_time(ranks, 4), 20.0)
        ranks[0].called = -3.0
        self.assertEqual(self.library.nbc_global_time(ranks, 4), 23.0)

    def test_ratios_of_a_cell(self) -> None:
        # Two ranks, one iteration: communication takes 10, computation 20; then rank 0 hides all,
        # rank 1 computes for 30 and waits for 8 more.
        comm = (Times * 2)(Times(0, 1, 1, 10), Times(0, 1, 1, 10))
        comp = (Times * 2)(Times(0, 0, 20, 20), Times(0, 0, 20, 20))
        both = (Times * 2)(Times(0, 1, 21, 21), Times(0, 2, 32, 40))
        found = self.library.nbc_ratios(comm, comp, both, 2, 1, False)
        self.assertEqual(found.comp_slowdown, 1.5)
        self.assertEqual(found.rank_comp_slowdown, 1.5)
        self.assertEqual(found.comm, 1.0)
        self.assertAlmostEqual(found.rank_overhead_least, 0.1)
        self.assertAlmostEqual(found.rank_overhead_greatest, 2.0)
        self.assertAlmostEqual(found.rank_overhead_median, 1.05)
        self.assertAlmostEqual(found.share_call + found.share_comp + found.share_wait, 1.0)
        self.assertAlmostEqual(found.share_wait, 0.1)

    def slowdown(self, comp: object, both: object, shares_cores: bool) -> float:
        comm = (Times * 2)(Times(0, 1, 1, 10), Times(0, 1, 1, 10))
        return float(
            self.library.nbc_ratios(comm, comp, both, 2, 1, shares_cores).comp_slowdown)

    def test_ranks_that_share_a_core_are_slowed_as_their_core_is(self) -> None:
        # Alone, rank 0 computed first and rank 1 waited for its core until 20; beside
        # communication the system let them compute in slices: 40 for both, as before.
        comp = (Times * 2)(Times(0, 0, 20, 20), Times(0, 0, 40, 40))
        both = (Times * 2)(Times(0, 1, 39, 39), Times(0, 2, 41, 41))
        self.assertEqual(self.slowdown(comp, both, True), 1.0)
        self.assertEqual(self.slowdown(comp, both, False), 38 / 20)
        # A thread took 10 from that core.
        both[1] = Times(0, 2, 51, 51)
        self.assertEqual(self.slowdown(comp, both, True), 1.25)

    def test_clock_with_offset_and_drift(self) -> None:
        # local = (global - 5000) / 1.00005 or so: two fixes recover it.
        def local_of(moment: float) -> float:
            return 5000.0 + moment * 1.00005

        def fix(moment: float) -> Fix:
            return Fix(local_of(moment), moment - local_of(moment), 0.0)

        begin, end = fix(0.0), fix(2e6)
        for moment in (0.0, 1.0, 5e5, 2e6):
            found = self.library.nbc_between(ctypes.byref(begin), ctypes.byref(end),
                                             ctypes.c_double(local_of(moment)))
            self.assertAlmostEqual(found, moment, delta=1e-3)
        ahead = self.library.nbc_beyond(ctypes.byref(begin), ctypes.byref(end),
                                        ctypes.c_double(local_of(2.1e6)))
        self.assertAlmostEqual(ahead, 2.1e6, delta=1e-2)

    def search(self, time_of: object, target: float) -> tuple[int, int]:
        """The size found and the number of tries."""
        low, high, size = ctypes.c_size_t(0), ctypes.c_size_t(0), 65536
        for attempt in range(30):
            took = time_of(size)  # type: ignore[operator]
            if abs(took - target) < 0.1 * target:
                return size, attempt
            size = self.library.nbc_next_size(
                ctypes.c_size_t(size), ctypes.c_double(took), ctypes.c_double(target),
                ctypes.byref(low), ctypes.byref(high))
            if size in (low.value, high.value):
                break
        return 0, 30

    def test_search_for_a_size(self) -> None:
        size, attempts = self.search(lambda bytes_: 5.0 + bytes_ / 1000.0, 8000.0)
        self.assertAlmostEqual(size, 8e6, delta=1e6)
        self.assertLess(attempts, 8)
        # A jump of the protocol: nothing takes 100.
        self.assertEqual(self.search(lambda n: 10.0 if n < 70000 else 1000.0, 100.0)[0], 0)
        # Less than linear, as for caches.
        self.assertGreater(self.search(lambda n: n ** 0.7, 20000.0)[0], 0)


class DiagnosisTest(unittest.TestCase):
    """Each row of the table, by a cell of its kind."""

    def words(self, overhead: float, slowdown: float, comm: float, comp_us: float = 1000,
              comm_us: float = 1000) -> str:
        return str(diagnosis.diagnose({
            "r_overhead": overhead, "r_comp_slowdown": slowdown, "r_comm": comm,
            "comp_us": comp_us, "comm_us": comm_us}))

    def test_causes(self) -> None:
        for given, cause in (
            ((0.02, 1.0, 0.05), "good overlap"),
            ((0.05, 1.0, 0.8, 100, 1000), "not enough computation"),
            ((1.0, 1.0, 1.0), "no progress"),
            ((0.6, 1.01, 0.6), "part of the steps"),
            ((1.2, 1.4, 0.1), "takes the computation's cores"),
            ((11.0, 1.5, 9.0), "contention without overlap"),
            ((1.0, 1.0, 1.8), "communication itself is slowed"),
            ((-0.3, 1.0, 0.1), "noise"),
            ((5.0, 1.0, 0.0, 1e6, 500), "no statement"),
            ((0.5, 1.3, 0.1), "partial overlap"),
        ):
            self.assertIn(cause, self.words(*given), given)

    def test_only_what_is_wrong_has_a_cure(self) -> None:
        self.assertNotIn(";", self.words(0.0, 1.0, 0.0))
        self.assertIn("core of its own", self.words(1.2, 1.4, 0.1))


class HeatTest(unittest.TestCase):
    """Maps and their colours."""

    def test_colours(self) -> None:
        for value, expected in ((0.0, heat.GREEN), (1.0, heat.YELLOW), (7.0, heat.RED),
                                (2.0, heat.RED), (-3.0, heat.BLUE)):
            self.assertEqual(heat.colour("r_overhead", value),
                             "#" + "".join(f"{part:02x}" for part in expected), value)
        self.assertEqual(heat.colour("r_comm", 0.0), heat.colour("r_comp_slowdown", 1.0))
        self.assertEqual(heat.colour("r_comm", 9.0), heat.colour("r_comp_slowdown", 9.0))
        green, between, yellow = (heat.colour("r_overhead", each) for each in (0.0, 0.5, 1.0))
        self.assertTrue(int(green[1:3], 16) < int(between[1:3], 16) < int(yellow[1:3], 16))

    def line(self, case: str, metric: str, value: float) -> dict[str, object]:
        return {"case": case, "library": "headway", "metric": metric, "median": value,
                "lower": value, "upper": value, "samples": [value]}

    def test_map_has_the_cells_at_their_places(self) -> None:
        lines = [self.line("ibcast 1 ms", "r_overhead", 0.0),
                 self.line("ibcast 1 x 8 ms", "r_overhead", 1.0),
                 self.line("ibcast 8 ms", "r_overhead", 2.0),
                 self.line("ibcast, median", "r_overhead", 1.0),
                 {"case": "ibcast 8 ms", "library": "headway", "metric": "diagnosis",
                  "words": "why"}]
        (found,) = heat.maps(lines)
        self.assertEqual((found["comm_ms"], found["comp_ms"]), ([1.0, 8.0], [8.0, 1.0]))
        values = [[cell and cell["value"] for cell in row] for row in found["cells"]]
        self.assertEqual(values, [[1.0, 2.0], [0.0, None]])
        self.assertEqual(found["cells"][0][1]["words"], "why")

    def test_all_ranks_are_those_of_the_diagonal(self) -> None:
        lines = [self.line(case, metric, 0.5)
                 for case in ("ibcast 8 ms", "ibcast 1 ms", "ibcast 1 x 8 ms")
                 for metric in heat.RANKS.values()]
        (found,) = heat.all_ranks(lines)
        self.assertEqual([bar["case"] for bar in found["bars"]], ["ibcast 1 ms", "ibcast 8 ms"])


class GridTest(unittest.TestCase):
    """Cells and what a description makes of them."""

    TABLE = '''
title = "t"
program = "nbc"
[calibration]
by_program = true
[grid]
operations = ["ibcast", "ireduce"]
targets_ms = [1, 8]
ranks = [2, 4]
size = "64 KiB"
delayed = true
[[metric]]
name = "r_overhead"
unit = "ratio"
better = "lower"
judged = "value"
[metric.limits]
"each median" = [{ required = 0.15 }, { required = 0.2, of = "v" }]
[[variant]]
label = "v"
pin = false
cases = "all"
'''

    def test_names(self) -> None:
        cell = grid.parse("ireduce 64 KiB, 0.5 x 64 ms, 4 ranks")
        self.assertEqual(cell, grid.Cell("ireduce", "64 KiB", 0.5, 64.0, 4))
        assert cell is not None
        self.assertEqual(cell.called, "ireduce 64 KiB, 0.5 x 64 ms")
        self.assertIsNone(grid.parse("ibcast, median"))
        self.assertIsNone(grid.parse("send 64 KiB"))

    def test_description_has_the_diagonals(self) -> None:
        found = description.parse("g", self.TABLE)
        self.assertEqual(len(found.jobs), 8)  # one a delay
        four = [job for job in found.jobs if job.ranks == 4]
        self.assertEqual((four[0].cases, four[0].called, four[0].pin, four[0].delay_to_us),
                         (("ibcast 64 KiB, 1 ms, 4 ranks",), ("ibcast 64 KiB, 1 ms",), False, 1e3))
        medians = [median.case for median in found.medians]
        self.assertEqual(medians, ["ibcast, median", "ireduce, median",
                                   "ibcast, median, 4 ranks", "ireduce, median, 4 ranks"])
        self.assertEqual(sorted(found.metrics[0].limits), sorted(medians))
        self.assertEqual(len(found.variants[0].cases), 8)

    def test_single_cells(self) -> None:
        found = description.parse("g", self.TABLE)
        some = description.restrict(found, ["ibcast 64 KiB, 8 ms", "ireduce 64 KiB, 1 x 8 ms"])
        self.assertEqual([job.cases for job in some.jobs],
                         [("ibcast 64 KiB, 8 ms",), ("ireduce 64 KiB, 1 x 8 ms",)])
        self.assertEqual(some.variants[0].cases, some.cases)
        with self.assertRaisesRegex(description.DescriptionError, "no case 'x'; there are: ibcast"):
            description.restrict(found, ["x"])

    def test_limit_of_a_variant_that_there_is_not(self) -> None:
        with self.assertRaisesRegex(description.DescriptionError, "of 'w'; that needs a variant"):
            description.parse("g", self.TABLE.replace('of = "v"', 'of = "w"'))

    def test_descriptions_of_the_tree(self) -> None:
        for name in ("nbc_size", "nbc_delay"):
            found = description.load(ROOT / "bench", name)
            self.assertTrue(found.has_openmp and found.calibrates_by_program)

    def test_median_of_what_there_is(self) -> None:
        result = jobs.JobResult({"m": {"a": [1.0, 2.0, 9.0], "b": [4.0]}}, skipped={"c": "no"})
        runner.add_median(result, description.Median("all", ("a", "b", "c")))
        self.assertEqual(result.samples["m"]["all"], [3.0])
        runner.add_median(result, description.Median("none", ("c",)))
        self.assertEqual(result.skipped["none"], "no")

    def test_sizes_are_those_of_the_fastest(self) -> None:
        def chose(size: float, order: float) -> jobs.JobResult:
            return jobs.JobResult({"size_bytes": {"x": [size]}, "order": {"x": [order]}})

        chosen = calibration.choose_sizes(
            {"a": [chose(1000, 50)], "b": [chose(3000, 52)], "c": [chose(10, 54)]}, ["x", "y"])
        self.assertEqual(list(chosen), ["x"])
        self.assertEqual((chosen["x"].text, chosen["x"].fastest), ("3000:52", "b"))
        self.assertEqual(calibration.option({"x": "3000:52"}, {"p": "x", "q": "y"}),
                         ["--work", "p=3000:52"])


if __name__ == "__main__":
    unittest.main()
