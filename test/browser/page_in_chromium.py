# SPDX-License-Identifier: Apache-2.0
"""The pages of `headway report` in Chromium: they draw without errors, also 64 ranks with 10^5
events, and wheel, mouse and keys do what they say. The long job `browser` runs this."""

import argparse
import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "python")]

from headway import charts, heat, report, timeline, trace  # noqa: E402

from tools import timeline_picture, tree  # noqa: E402
from tools.webdriver import Browser  # noqa: E402

VIEW = "const v = headwayTimeline.view; return {from: v.from, to: v.to, messages: v.messages}"
ARROW_DOWN = "\ue015"
DRAWN = "return document.documentElement.dataset.state === 'drawn'"


def made_trace(ranks: int, calls: int) -> dict[str, Any]:
    """Every rank computes 30 us and sends to its right neighbour, `calls` times."""
    events: list[dict[str, Any]] = []
    for rank in range(ranks):
        for step in range(calls):
            begin = 50.0 * step + rank
            events.append({"ph": "X", "pid": rank, "tid": 0, "ts": begin, "dur": 20.0,
                           "cat": "mpi", "name": "MPI_Sendrecv"})
            for phase, at, at_rank in (("s", begin + 1, rank), ("f", begin + 15, rank + 1)):
                events.append({"ph": phase, "pid": at_rank % ranks, "tid": 0, "ts": at,
                               "cat": "message", "name": "message",
                               "id": f"{(rank + 1) % ranks}.0.{rank}.{step + 1}",
                               "args": {"bytes": 1024, "tag": 0, "context": 0}
                               | ({"to": (rank + 1) % ranks} if phase == "s" else {})})
    return {"otherData": {"format": trace.FORMAT, "version": "Headway test", "end": "finalize",
                          "ranks": ranks, "duration_us": 50.0 * calls + ranks, "dropped": [],
                          "counters": [{"rank": rank} for rank in range(ranks)]},
            "traceEvents": events}


class Page(unittest.TestCase):
    browser: Browser

    @classmethod
    def setUpClass(cls) -> None:
        cls.browser = cls.enterClassContext(Browser())

    def open(self, ranks: int, calls: int, title: str = "made") -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        # Through text, as a file would be.
        document = json.loads(json.dumps(made_trace(ranks, calls)))
        page = Path(folder.name) / "page.html"
        page.write_text(report.render(timeline.page_data(trace.from_document(document), title)))
        self.browser.open(page)
        self.browser.await_that(DRAWN)

    def view(self) -> dict[str, float]:
        found: dict[str, float] = self.browser.run(VIEW)
        return found

    def tearDown(self) -> None:
        self.assertEqual(self.browser.errors(), [])

    def colours(self) -> int:
        """How many colours the timeline shows."""
        count: int = self.browser.run(
            "const c = document.getElementById('timeline');"
            "const p = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
            "const seen = new Set();"
            "for (let i = 0; i < p.length; i += 4) seen.add(p[i] << 16 | p[i + 1] << 8 | p[i + 2]);"
            "return seen.size")
        return count

    def test_it_draws_what_there_is(self) -> None:
        self.open(3, 20)
        drawn = self.browser.run("return headwayTimeline.drawn()")
        # 20 calls and the 19 gaps between them, in each rank.
        self.assertEqual((drawn["spans"], drawn["messages"]), (3 * 39, 60))
        self.assertGreater(self.colours(), 5)
        rows = self.browser.run("return document.querySelectorAll('#summary tr').length")
        self.assertEqual(rows, 1 + 3 + 1)

    def test_a_large_trace_is_drawn(self) -> None:
        self.open(64, 530)  # 101 760 events
        drawn = self.browser.run("return headwayTimeline.drawn()")
        self.assertGreater(drawn["spans"], 30_000)  # of the ranks for which there is room
        self.assertGreater(drawn["every"], 1)
        for _ in range(20):
            self.browser.press(ARROW_DOWN)
        scrolled = self.browser.run("return headwayTimeline.view.scroll")
        self.assertGreater(scrolled, 0)

    def test_wheel_drag_and_keys(self) -> None:
        self.open(2, 50)
        whole = self.view()
        self.browser.wheel(600, 150, -200)
        self.browser.await_that(f"return headwayTimeline.view.to < {whole['to']}")
        near = self.view()
        self.assertGreater(near["from"], whole["from"])
        self.browser.drag((600, 150), (500, 150))
        moved = self.view()
        self.assertGreater(moved["from"], near["from"])
        self.assertAlmostEqual(moved["to"] - moved["from"], near["to"] - near["from"], delta=1)
        self.browser.press("m")
        self.assertFalse(self.view()["messages"])
        self.browser.press("0")
        self.assertEqual(self.view()["to"], whole["to"])
        self.browser.press("+")
        self.assertLess(self.view()["to"], whole["to"])

    def test_the_mouse_is_told_what_is_there(self) -> None:
        self.open(2, 1)
        box = self.browser.run(
            "const r = document.getElementById('timeline').getBoundingClientRect();"
            "return [r.left, r.top, r.width]")
        # The only call of rank 0 begins at the left end of the timeline.
        self.browser.move_mouse(int(box[0] + 200), int(box[1] + 42))
        text = self.browser.run("const t = document.getElementById('tip');"
                                "return t.hidden ? '' : t.textContent")
        self.assertIn("MPI_Sendrecv", text)
        self.assertIn("rank 0", text)

    def test_both_themes_draw(self) -> None:
        self.open(2, 5)
        theme = "return document.documentElement.dataset.theme"
        before = self.browser.run(theme)
        self.browser.press("t")
        self.assertNotEqual(self.browser.run(theme), before)
        self.assertGreater(self.colours(), 5)

    def test_a_title_is_text(self) -> None:
        self.open(1, 2, title="<script>alert(1)</script> @data@")
        self.assertEqual(self.browser.run("return document.querySelector('h1').textContent"),
                         "<script>alert(1)</script> @data@")


def made_entries() -> list[dict[str, Any]]:
    """JSON lines of two benches: a time with a slow rival, a variant and limits, and a ratio that
    is judged by itself and may be negative."""
    def spread(median: float) -> dict[str, Any]:
        return {"samples": [0.9 * median, median, 1.1 * median], "min": 0.8 * median,
                "median": median, "lower": 0.9 * median, "upper": 1.1 * median}

    def head(bench: str, metric: dict[str, Any]) -> dict[str, Any]:
        machine = {"processor": "P", "cores": 2, "kernel": "K", "load": 0.1}
        names = ["headway", "headway-x", "mpich-1", "intel-2"]
        return {"bench": bench, "title": f"title of {bench}", "machine": machine, "cores": [0, 1],
                "quick": False, "date": "2026-11-29", "command": f"./dev bench {bench}",
                "rounds": 3, "voids": [],
                "settings": {name: f"settings of {name}" for name in names},
                "variants": ["headway-x"], "metrics": [metric]}

    time = {"name": "t_us", "unit": "us", "better": "lower", "judged": "speedup", "note": "a note"}
    ratio = {"name": "r", "unit": "ratio", "better": "lower", "judged": "value", "note": ""}
    times = {"headway": 2.0, "headway-x": 2.2, "mpich-1": 2000.0, "intel-2": 1.5}
    lines = [head("latency", time)]
    lines += [{"bench": "latency", "case": "8 B", "library": name, "metric": "t_us", "unit": "us",
               "raw": [[1.0], [1.0], [1.0]], **spread(value)} for name, value in times.items()]
    limits = {"required": 1.0, "sign": ">=", "aim": 1.25, "verdict": "missed"}
    lines += [{"bench": "latency", "case": "8 B", "library": "headway", "metric": "speedup",
               "of": "t_us", "unit": "ratio", "rival": rival, **spread(value), **limits}
              for rival, value in (("intel-2", 0.75), ("headway-x", 1.1))]
    lines += [{"bench": "latency", "case": "1 MiB", "library": "mpich-1", "metric": "t_us",
               "unit": "us", "skipped": "cannot do it"}]
    lines.append(head("overlap", ratio))
    holds = {"required": 0.3, "sign": "<=", "aim": None, "verdict": "holds"}
    lines += [{"bench": "overlap", "case": "recv", "library": name, "metric": "r", "unit": "ratio",
               "raw": [[value]] * 3, **spread(value), **(holds if name == "headway" else {})}
              for name, value in (("headway", -0.1), ("mpich-1", 1.0))]
    return lines


class Charts(unittest.TestCase):
    """The page of figures."""

    browser: Browser

    @classmethod
    def setUpClass(cls) -> None:
        cls.browser = cls.enterClassContext(Browser())

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        page = Path(folder.name) / "page.html"
        entries = json.loads(json.dumps(made_entries()))
        page.write_text(report.render(charts.page_data(entries, "<b>figures</b>")))
        self.browser.open(page)
        self.browser.await_that(DRAWN)

    def tearDown(self) -> None:
        self.assertEqual(self.browser.errors(), [])

    def texts(self, selector: str) -> list[str]:
        """Texts of the elements that a selector finds."""
        found: list[str] = self.browser.run(
            "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)",
            selector)
        return found

    def test_every_case_and_library_is_there(self) -> None:
        self.assertEqual(self.texts(".case:not(.head) > .name"), ["8 B", "1 MiB", "recv"])
        self.assertEqual(self.texts(".bar .who"),
                         ["headway", "headway-x", "mpich-1", "intel-2", "mpich-1", "headway",
                          "mpich-1"])
        self.assertEqual(self.texts(".bar.best .who"), ["intel-2", "headway"])
        self.assertEqual(self.texts(".none"), ["cannot do it"])
        self.assertEqual(self.texts("h1"), ["<b>figures</b>"])

    def test_bars_are_as_long_as_they_say_unless_cut(self) -> None:
        widths = self.browser.run(
            "return [...document.getElementById('latency/t_us/8 B').querySelectorAll('.fill')]"
            ".map(e => e.getBoundingClientRect().width)")
        self.assertAlmostEqual(widths[0] / widths[3], 2.0 / 1.5, delta=0.02)
        self.assertAlmostEqual(widths[2] / widths[3], 5.0, delta=0.05)
        self.assertEqual(len(self.texts(".cut")), 1)

    def test_a_negative_value_lies_left_of_zero(self) -> None:
        left, right = self.browser.run(
            "const f = [...document.getElementById('overlap/r/recv').querySelectorAll('.fill')]"
            ".map(e => e.getBoundingClientRect()); return [f[0].right, f[1].left]")
        self.assertAlmostEqual(left, right, delta=1)
        self.assertEqual(len(self.texts(".zero")), 2)

    def test_limits_are_summed_up(self) -> None:
        self.assertEqual(self.texts("#summary tr td:last-child"), ["missed", "missed", "holds"])
        target = self.browser.run(
            "const a = document.querySelector('#summary a');"
            "return document.getElementById(decodeURIComponent(a.hash.slice(1))).id")
        self.assertEqual(target, "latency/t_us/8 B")

    def test_keys_open_all_numbers_and_flip_the_theme(self) -> None:
        opened = "return [...document.querySelectorAll('details.numbers')].map(d => d.open)"
        self.assertEqual(self.browser.run(opened), [False, False])
        self.browser.press("n")
        self.assertEqual(self.browser.run(opened), [True, True])
        theme = "return getComputedStyle(document.body).backgroundColor"
        before = self.browser.run(theme)
        self.browser.press("t")
        self.assertNotEqual(self.browser.run(theme), before)

    def test_the_mouse_is_told_a_figure(self) -> None:
        x, y = self.browser.run(
            "const b = document.querySelector('.bar.ours'); b.scrollIntoView({block: 'center'});"
            "const r = b.getBoundingClientRect(); return [r.left + r.width / 2, r.top + 8]")
        self.browser.move_mouse(int(x), int(y))
        self.assertIn("headway: median 2 us", self.texts("#tip")[0])

    def test_nothing_is_wider_than_a_narrow_window(self) -> None:
        with Browser(700, 800) as narrow:
            narrow.open(Path(self.browser.run("return location.pathname")))
            narrow.await_that(DRAWN)
            wide = narrow.run("return [document.documentElement.scrollWidth, innerWidth]")
            self.assertLessEqual(wide[0], wide[1])


# Of a grid with ranks: communication and computation in ms, and the values of a library's cell.
GRID = (1, 2, 64)
MISSING = (64, 1)  # communication x computation of a cell that was not measured
RANKS_SHARES = {"share_call": 0.1, "share_comp": 0.6, "share_wait": 0.3}


def value_of(library: str, comm_ms: int, comp_ms: int) -> float:
    """A value of its own for each cell, from below to above the scale of colours."""
    step = GRID.index(comm_ms) * len(GRID) + GRID.index(comp_ms)
    return (0.3 if library == "headway" else 0.35) * step - 0.5


def grid_entries() -> list[dict[str, Any]]:
    """JSON lines of a grid: two libraries, one metric, all cells but one, all ranks' views."""
    head = {"bench": "nbc", "title": "title of nbc", "cores": [0, 1], "quick": False,
            "date": "2026-11-29",
            "machine": {"processor": "P", "cores": 2, "kernel": "K", "load": 0.1},
            "command": "./dev bench nbc", "rounds": 3, "voids": [], "variants": [],
            "settings": {"headway": "defaults", "mpich-1": "defaults"},
            "metrics": [{"name": "r_overhead", "unit": "ratio", "better": "lower",
                         "judged": "value", "note": ""}]}
    lines = [head]

    def add(case: str, library: str, metric: str, value: float) -> None:
        lines.append({"bench": "nbc", "case": case, "library": library, "metric": metric,
                      "unit": "ratio", "raw": [[value]], "samples": [value], "min": value,
                      "lower": value, "median": value, "upper": value})

    for library in ("headway", "mpich-1"):
        for comm_ms in GRID:
            for comp_ms in GRID:
                both = f"{comm_ms}" + (f" x {comp_ms}" if comp_ms != comm_ms else "")
                case = f"ibcast 64 KiB, {both} ms"
                if (comm_ms, comp_ms) != MISSING:
                    add(case, library, "r_overhead", value_of(library, comm_ms, comp_ms))
                    lines.append({"bench": "nbc", "case": case, "library": library,
                                  "metric": "diagnosis", "unit": "", "words": f"why <{both}>"})
                if comm_ms == comp_ms:
                    for metric, share in RANKS_SHARES.items():
                        add(case, library, metric, share)
                    for name, metric in heat.RANKS.items():
                        if metric not in RANKS_SHARES:
                            add(case, library, metric, {"least": 0.25}.get(name, 1.5))
    return lines


class Maps(unittest.TestCase):
    """The maps of `headway report DIR`: a cell is where it belongs, and has its colour."""

    browser: Browser

    @classmethod
    def setUpClass(cls) -> None:
        cls.browser = cls.enterClassContext(Browser(1400, 900))
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        (folder / "nbc.json").write_text("".join(
            json.dumps(entry) + "\n" for entry in grid_entries()))
        (folder / "run.json").write_text(json.dumps(made_trace(3, 20)))
        arguments = argparse.ArgumentParser()
        report.add_arguments(arguments)
        with contextlib.redirect_stdout(io.StringIO()):
            assert report.main(arguments.parse_args([str(folder)])) == 0
        cls.browser.open(folder / "report.html")
        cls.browser.await_that(DRAWN)

    def tearDown(self) -> None:
        self.assertEqual(self.browser.errors(), [])

    def cells(self, library: int) -> list[list[dict[str, Any]]]:
        """The rows of a library's map, as they are shown from top to bottom."""
        found: list[list[dict[str, Any]]] = self.browser.run(
            "const map = document.querySelectorAll('.maps figure.map')[arguments[0]];"
            "return [...map.querySelectorAll('tr')].slice(1).map(row =>"
            "  [...row.querySelectorAll('td')].map(cell => {"
            "    const place = cell.getBoundingClientRect();"
            "    return {text: cell.textContent, left: place.left, top: place.top,"
            "            colour: getComputedStyle(cell).backgroundColor,"
            "            tip: cell.dataset.tip ?? ''}; }))", library)
        return found

    def test_each_cell_has_its_value_and_colour(self) -> None:
        for number, library in enumerate(("headway", "mpich-1")):
            rows = self.cells(number)
            for row, comp_ms in zip(rows, reversed(GRID), strict=True):
                for cell, comm_ms in zip(row, GRID, strict=True):
                    if (comm_ms, comp_ms) == MISSING:
                        self.assertEqual((cell["text"], cell["tip"]), ("", ""))
                        self.assertEqual(cell["colour"], "rgba(0, 0, 0, 0)")
                        continue
                    value = value_of(library, comm_ms, comp_ms)
                    self.assertEqual(cell["text"], f"{value:.2f}".replace("-0.00", "0.00"))
                    parts = bytes.fromhex(heat.colour("r_overhead", value)[1:])
                    self.assertEqual(cell["colour"], f"rgb({parts[0]}, {parts[1]}, {parts[2]})")

    def test_computation_grows_upwards_and_communication_to_the_right(self) -> None:
        rows = self.cells(0)
        lefts = [cell["left"] for cell in rows[0]]
        self.assertEqual(lefts, sorted(set(lefts)))
        tops = [row[0]["top"] for row in rows]
        self.assertEqual(tops, sorted(set(tops)))
        heads = self.browser.run(
            "const map = document.querySelector('.maps figure.map');"
            "return [...map.querySelectorAll('th')].map(e => e.textContent)")
        across, upwards = heads[1:1 + len(GRID)], heads[1 + len(GRID):]
        self.assertEqual(across, [str(ms) for ms in GRID])
        self.assertEqual(upwards, [str(ms) for ms in reversed(GRID)])

    def test_libraries_stand_side_by_side(self) -> None:
        captions = self.browser.run(
            "return [...document.querySelectorAll('.maps')][0].innerText.split('\\n')"
            ".filter(line => line.includes('r_overhead'))")
        self.assertEqual(captions, ["headway: r_overhead", "mpich-1: r_overhead"])
        ours, theirs = self.cells(0)[0][0], self.cells(1)[0][0]
        self.assertEqual(ours["top"], theirs["top"])
        self.assertLess(ours["left"], theirs["left"])

    def test_the_mouse_is_told_the_cell_and_its_diagnosis(self) -> None:
        x, y = self.browser.run(
            "const cell = document.querySelector('.maps td.cell');"
            "cell.scrollIntoView({block: 'center'}); const r = cell.getBoundingClientRect();"
            "return [r.left + r.width / 2, r.top + r.height / 2]")
        self.browser.move_mouse(int(x), int(y))
        self.browser.await_that("return !document.getElementById('tip').hidden")
        told = self.browser.run("return document.getElementById('tip').textContent")
        self.assertIn("headway, ibcast 64 KiB, 1 x 64 ms", told)
        self.assertIn("quartiles 0.1 to 0.1 of 1 rounds", told)
        self.assertIn("why <1 x 64>", told)

    def test_a_trace_is_drawn_below_the_figures(self) -> None:
        self.browser.await_that(
            "const frame = document.querySelector('#timelines iframe');"
            "return frame.contentDocument.documentElement.dataset.state === 'drawn'")
        drawn = self.browser.run("return document.querySelector('#timelines iframe')"
                                 ".contentWindow.headwayTimeline.drawn()")
        self.assertEqual((drawn["spans"], drawn["messages"]), (3 * 39, 60))
        self.assertIn("run.json", self.browser.run(
            "return document.querySelector('#timelines h3').textContent"))

    def test_all_ranks_are_bars_of_their_shares(self) -> None:
        widths = self.browser.run(
            "for (const part of document.querySelectorAll('details.numbers')) part.open = true;"
            "const share = document.querySelector('.shares .share');"
            "return [...share.children].map(e => e.getBoundingClientRect().width"
            "  / share.getBoundingClientRect().width)")
        for found, wanted in zip(widths, RANKS_SHARES.values(), strict=True):
            self.assertAlmostEqual(found, wanted, delta=0.02)
        row = self.browser.run("return [...document.querySelector('.shares').parentNode.children]"
                               ".map(e => e.textContent)")
        self.assertEqual(row[0], "ibcast 64 KiB, 1 ms")
        self.assertEqual(row[2:], ["0.25", "1.50", "1.50"])

    def test_the_maps_can_be_looked_at(self) -> None:
        self.browser.run("document.querySelector('.maps').scrollIntoView()")
        picture = tree.LOGS / "maps.png"
        picture.parent.mkdir(parents=True, exist_ok=True)
        picture.write_bytes(self.browser.picture())
        self.assertTrue(picture.read_bytes().startswith(b"\x89PNG"))


class DocsPicture(unittest.TestCase):
    def test_it_can_be_made(self) -> None:
        self.assertEqual(timeline_picture.main(["--try"]), 0)
        picture = tree.LOGS / "timeline.png"
        self.assertTrue(picture.read_bytes().startswith(b"\x89PNG"))
        self.assertGreater(picture.stat().st_size, 10_000)


if __name__ == "__main__":
    unittest.main()
