# SPDX-License-Identifier: Apache-2.0
"""From the JSON lines of benches to the summary and to the page that shows them."""

import argparse
import contextlib
import io
import json
import re
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from headway import charts, markdown, report, summary, trace

SPREAD = {"samples": [1.0, 2.0, 3.0], "min": 1.0, "median": 2.0, "lower": 1.5, "upper": 2.5}
NO_LIMIT = {"required": None, "sign": None, "aim": None, "verdict": None}
MISSED = {"required": 1.0, "sign": ">=", "aim": 1.25, "verdict": "missed"}


def head(**changes: Any) -> dict[str, Any]:
    """The first line of a bench."""
    made: dict[str, Any] = {
        "bench": "latency",
        "title": "a ping-pong </script>",
        "machine": {"processor": "P", "cores": 2, "kernel": "K", "load": 0.5},
        "cores": [0, 1],
        "quick": False,
        "date": "2026-11-29",
        "command": "./dev bench latency",
        "rounds": 3,
        "voids": [],
        "settings": {"headway": "defaults", "headway-x": "x", "a": "settings of a"},
        "variants": ["headway-x"],
        "metrics": [
            {"name": "t_us", "unit": "us", "better": "lower", "judged": "speedup", "note": ""}
        ],
    }
    return made | changes


def figures(library: str, **changes: Any) -> dict[str, Any]:
    """The line of a library in the case "8 B"."""
    line = {"bench": "latency", "case": "8 B", "library": library, "metric": "t_us", "unit": "us"}
    return line | SPREAD | {"raw": [[1.0, 1.0], [2.0, 2.0], [3.0]]} | changes


def speedup(**changes: Any) -> dict[str, Any]:
    """Ours over "a"."""
    line = {"bench": "latency", "case": "8 B", "library": "headway", "metric": "speedup",
            "of": "t_us", "unit": "ratio", "rival": "a"}
    return line | SPREAD | MISSED | changes


class SummaryTest(unittest.TestCase):
    """What is required, over all benches."""

    def test_claims_are_lines_with_a_verdict(self) -> None:
        value = figures("headway", metric="r", required=0.3, sign="<=", aim=None, verdict="holds")
        found = summary.claims([head(), figures("headway"), speedup(), value,
                                speedup(**NO_LIMIT)])
        self.assertEqual(
            [(claim.about, claim.against, claim.sign, claim.verdict) for claim in found],
            [("speed-up of t_us", "a", ">=", "missed"), ("r", "", "<=", "holds")],
        )

    def test_lines_count_what_holds(self) -> None:
        found = summary.claims([speedup(), speedup(verdict="open"), speedup(verdict="open")])
        lines = summary.lines(found)
        self.assertRegex(lines[1], r"latency +8 B +speed-up of t_us +2 \(1\.5 \.\. 2\.5\) +a +>= 1")
        self.assertEqual(lines[-1], "of 3 limits: 0 holds, 1 missed, 2 open")

    def test_nothing_was_required(self) -> None:
        self.assertEqual(summary.lines([]), ["summary: no limit was measured"])


class PageDataTest(unittest.TestCase):
    """What the page is given."""

    def test_figures_and_ratios_by_case(self) -> None:
        skipped = {"bench": "latency", "case": "8 B", "library": "headway-x", "metric": "t_us",
                   "unit": "us", "skipped": "why"}
        data = charts.page_data([head(), figures("headway"), skipped, figures("a"), speedup()], "T")
        (bench,) = data["benches"]
        self.assertEqual((bench["libraries"], bench["variants"]),
                         (["headway", "headway-x", "a"], ["headway-x"]))
        (case,) = bench["metrics"][0]["cases"]
        self.assertEqual([figure["library"] for figure in case["figures"]],
                         ["headway", "headway-x", "a"])
        self.assertEqual(case["figures"][1], {"library": "headway-x", "skipped": "why"})
        self.assertEqual(case["figures"][0], {"library": "headway", "raw": 2} | SPREAD)
        self.assertEqual(case["ratios"], [{"rival": "a"} | SPREAD | MISSED])
        self.assertEqual(case["limits"], [])
        self.assertEqual([claim["verdict"] for claim in data["claims"]], ["missed"])

    def test_a_limit_of_the_value_itself(self) -> None:
        limit = {"required": 0.3, "sign": "<=", "aim": None, "verdict": "holds"}
        data = charts.page_data([head(), figures("headway", **limit)], "T")
        self.assertEqual(data["benches"][0]["metrics"][0]["cases"][0]["limits"], [limit])

    def test_several_benches(self) -> None:
        other = head(bench="rate")
        data = charts.page_data([head(), figures("a"), other, figures("a", bench="rate")], "T")
        self.assertEqual([bench["name"] for bench in data["benches"]], ["latency", "rate"])
        self.assertEqual([len(bench["metrics"][0]["cases"]) for bench in data["benches"]], [1, 1])

    def test_what_a_reader_must_know_is_said(self) -> None:
        busy = {"processor": "P", "cores": 2, "kernel": "K", "load": 1.5}
        data = charts.page_data([head(machine=busy, quick=True, voids=["a: failed\nmore"])], "T")
        notes = " ".join(data["benches"][0]["notes"])
        for words in ("load 1.5", "--quick", "Void round: a: failed"):
            self.assertIn(words, notes)
        self.assertNotIn("more", notes)

    def test_calibrated_work(self) -> None:
        work = {"x": {"iterations": 5, "work_us": 15.04, "fastest": "a", "transfer_us": 10.0}}
        data = charts.page_data([head(work=work)], "T")
        self.assertEqual(data["benches"][0]["work"], [
            ["x", "15 us; the fastest transfer took 10 us (a); the same for all"]])

    def test_lines_without_their_head(self) -> None:
        with self.assertRaisesRegex(charts.ChartsError, "first line of a bench is missing"):
            charts.page_data([figures("a")], "T")

    def test_lines_of_another_version(self) -> None:
        old = head()
        del old["metrics"]
        with self.assertRaisesRegex(charts.ChartsError, "'metrics' is missing .* measure again"):
            charts.page_data([old, figures("a")], "T")


class MarkdownTest(unittest.TestCase):
    """The same as tables."""

    def page(self, *entries: dict[str, Any]) -> str:
        return markdown.render(charts.page_data(entries, "T"))

    def test_a_row_has_figures_the_best_one_and_the_verdict(self) -> None:
        page = self.page(head(), figures("headway"), figures("a", median=1.5), speedup())
        self.assertIn("| case | headway | a | speed-up | against | required |", page)
        self.assertIn("| 8 B | 2 (1) | **1.5** (1) | 2 (1.5 .. 2.5) | a | >= 1 **missed** |", page)
        self.assertIn("`./dev bench latency`: on cores 0,1, 2026-11-29, 3 rounds, 0 void.", page)
        self.assertIn("P, 2 cores, kernel K. ", page)

    def test_limits_that_do_not_hold_come_first(self) -> None:
        page = self.page(head(), figures("headway"), speedup(), speedup(verdict="holds", case="x"))
        self.assertIn("Of 2 limits 1 hold, 1 are missed, 0 are open.", page)
        claims = page.split("## latency")[0]
        self.assertIn("| latency | 8 B | speed-up of t_us | 2 (1.5 .. 2.5) | a | >= 1 | **missed**",
                      claims)
        self.assertNotIn("| latency | x |", claims)

    def test_a_library_without_a_figure_says_why(self) -> None:
        lacking = {"bench": "latency", "case": "8 B", "library": "headway-x", "metric": "t_us",
                   "unit": "us", "skipped": "why"}
        other = figures("headway-x", case="y")
        page = self.page(head(), figures("headway"), lacking, figures("headway", case="y"), other)
        self.assertIn("| 8 B | 2 (1) | - |", page)
        self.assertIn("No figure: headway-x: why.", page)

    def test_a_value_is_judged_by_itself(self) -> None:
        judged = head(metrics=[{"name": "r", "unit": "ratio", "better": "lower", "judged": "value",
                                "note": "words"}])
        limit = {"required": 0.3, "sign": "<=", "aim": None, "verdict": "open"}
        page = self.page(judged, figures("headway", metric="r", **limit))
        self.assertIn("`r` in ratio, lower is better. words", page)
        self.assertIn("| 8 B | 2 (1.5 .. 2.5) | <= 0.3 open |", page)

    def test_each_row_has_as_many_cells_as_its_heading(self) -> None:
        mean = speedup(case="geometric mean", rival="best of each case")
        page = self.page(head(), figures("headway"), figures("a"), speedup(),
                         speedup(rival="headway-x"), mean)
        table = page.split("`t_us`")[1].split("##")[0]
        rows = [line for line in table.splitlines() if line.startswith("|")]
        self.assertEqual(len(rows), 5)
        self.assertEqual({row.count("|") for row in rows}, {7})


class ReportTest(unittest.TestCase):
    """The command."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name: str, *entries: dict[str, Any]) -> Path:
        path = self.folder / name
        path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
        return path

    def report(self, *arguments: str | Path) -> tuple[int, str]:
        """Exit code and what was told."""
        parser = argparse.ArgumentParser()
        report.add_arguments(parser)
        told = io.StringIO()
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
            code = report.main(parser.parse_args([str(argument) for argument in arguments]))
        return code, told.getvalue()

    def test_page_carries_the_data(self) -> None:
        first = self.write("latency.json", head(), figures("headway"), figures("a"), speedup())
        second = self.write("rate.json", head(bench="rate"), figures("a", bench="rate"))
        code, told = self.report(first, second)
        self.assertEqual(code, 0, told)
        self.assertIn("2 benches; limits: 0 holds, 1 missed, 0 open; 0 timelines", told)
        page = (self.folder / "latency.html").read_text()
        self.assertNotRegex(page, "@(title|style|script|data)@")
        found = re.search('id="headway-data">(.*?)</script>', page)
        assert found is not None
        data = json.loads(found[1])
        self.assertEqual(data["format"], charts.FORMAT)
        self.assertEqual(data["benches"][0]["title"], "a ping-pong </script>")
        self.assertEqual(len(data["benches"]), 2)

    def test_a_folder_has_timelines_beside_its_figures(self) -> None:
        self.write("latency.json", head(), figures("a"))
        self.write("other.json", {"traceEvents": []})
        rank = {"ph": "X", "pid": 0, "tid": 0, "ts": 1.0, "dur": 2.0, "cat": "mpi",
                "name": "MPI_Barrier"}
        self.write("run.json", {"otherData": {
            "format": trace.FORMAT, "version": "Headway test", "end": "finalize", "ranks": 1,
            "duration_us": 5.0, "dropped": [], "counters": [{"rank": 0}]}, "traceEvents": [rank]})
        code, told = self.report(self.folder)
        self.assertEqual(code, 0, told)
        self.assertIn("1 benches; limits: 0 holds, 0 missed, 0 open; 1 timelines", told)
        self.assertRegex(told, "left out: .*other.json is no whole trace")
        page = (self.folder / "report.html").read_text()
        found = re.search('id="headway-data">(.*?)</script>', page)
        assert found is not None
        (shown,) = json.loads(found[1])["timelines"]
        self.assertEqual((shown["title"], shown["facts"]),
                         ("run.json", "1 ranks, 1 calls, 0 messages, 0.005 ms"))
        self.assertIn("MPI_Barrier", shown["page"])

    def test_a_cell_of_a_map_has_its_spread(self) -> None:
        cell = figures("a", case="ibcast 64 KiB, 2 ms", metric="r_overhead")
        (made,) = charts.page_data([head(), cell], "T")["benches"][0]["maps"]
        found = made["cells"][0][0]
        self.assertEqual([found[key] for key in ("lower", "value", "upper", "samples")],
                         [SPREAD["lower"], SPREAD["median"], SPREAD["upper"], 3])

    def test_a_trace_stands_alone(self) -> None:
        results = self.write("latency.json", head())
        recorded = self.folder / "trace.json"
        recorded.write_text('{"traceEvents": []}')
        code, told = self.report(results, recorded)
        self.assertEqual(code, 2)
        self.assertIn("give a trace alone", told)

    def test_a_broken_line_is_named(self) -> None:
        path = self.write("latency.json", head())
        path.write_text(path.read_text() + '{"bench": "lat')
        code, told = self.report(path)
        self.assertEqual(code, 2)
        self.assertRegex(told, "latency.json, line 2: .*measure again")

    def test_a_page_of_markdown(self) -> None:
        path = self.write("latency.json", head(), figures("headway"), figures("a"), speedup())
        page = self.folder / "page.md"
        code, told = self.report(path, "-o", page, "--title", "Mine")
        self.assertEqual(code, 0, told)
        self.assertIn("# Mine\n", page.read_text())

    def test_no_markdown_of_a_trace(self) -> None:
        recorded = self.write("run.json", {"otherData": {
            "format": trace.FORMAT, "version": "Headway test", "end": "finalize", "ranks": 1,
            "duration_us": 5.0, "dropped": [], "counters": [{"rank": 0}]}, "traceEvents": []})
        code, told = self.report(recorded, "-o", self.folder / "page.md")
        self.assertEqual(code, 2)
        self.assertRegex(told, "page in HTML; end .*page.md in .html")

    def test_no_file_is_replaced(self) -> None:
        path = self.write("latency.json", head())
        code, told = self.report(path, "-o", path)
        self.assertEqual((code, path.read_text().startswith('{"bench"')), (2, True))
        self.assertIn("would replace", told)


if __name__ == "__main__":
    unittest.main()
