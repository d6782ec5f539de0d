# SPDX-License-Identifier: Apache-2.0
"""HEADWAY_TRACE, HEADWAY_TRACE_RING, HEADWAY_STATS and `headway report`, from the outside: the
data of the page says what a program did whose messages are known."""

import itertools
import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
STAGE = Path(os.environ.get("HEADWAY_STAGE", HERE.parents[1] / "build" / "stage")).resolve()
WATCHDOG_S = 60
RANKS, ROUNDS = 3, 12
SHORT, LONG = 64, 256 * 1024
DATA = re.compile(r'<script type="application/json" id="headway-data">(.*?)</script>', re.DOTALL)


def programs_of(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of the program's own threads; agents and helpers have rows beside them."""
    return [row for row in data["rows"] if row["kind"] in ("main", "thread")]


def spans_of(flat: list[int]) -> list[tuple[int, int, int]]:
    """(begin, end, name)"""
    return [(flat[i], flat[i] + flat[i + 1], flat[i + 2]) for i in range(0, len(flat), 3)]


class TraceTest(unittest.TestCase):
    program: Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.program = cls.folder / "exchange"
        subprocess.run([STAGE / "bin/mpicc", "-std=gnu99", "-O1", "-Wall", "-Werror", "-o",
                        cls.program, HERE / "exchange.c"], check=True)

    def setUp(self) -> None:
        self.trace = self.folder / f"{self.id().rpartition('.')[2]}.json"

    def run_job(self, *arguments: str, ranks: int = RANKS,
                **settings: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "HEADWAY_TRACE": str(self.trace),
                       **{f"HEADWAY_{name.upper()}": value for name, value in settings.items()}}
        return subprocess.run(
            [str(STAGE / "bin/mpiexec"), "-n", str(ranks), str(self.program), *arguments],
            env=environment, timeout=WATCHDOG_S, text=True, capture_output=True, check=False)

    def report(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(STAGE / "bin/headway"), "report", str(self.trace), *arguments],
            timeout=WATCHDOG_S, text=True, capture_output=True, check=False)

    def page(self) -> dict[str, Any]:
        """The data of the page, made by the installed command."""
        answer = self.report()
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        text = self.trace.with_suffix(".html").read_text()
        self.assertNotRegex(text, r"""(src|href)\s*=\s*["']""", "the page needs nothing else")
        found = DATA.search(text)
        assert found is not None
        data: dict[str, Any] = json.loads(found[1])
        return data

    def check_rows(self, data: dict[str, Any]) -> None:
        """What holds for every page."""
        for row in data["rows"]:
            spans = spans_of(row["spans"])
            for before, after in itertools.pairwise(spans):
                self.assertLessEqual(before[1], after[0], f"spans overlap in {row['label']}")
            for begin, end, _ in spans:
                self.assertLessEqual(begin, end)
            for begin, end, name in spans_of(row["inner"]):
                around = [span for span in spans if span[0] <= begin and end <= span[1]]
                self.assertTrue(around, f"{data['names'][name]} of {row['label']} is in no span")
        messages = data["messages"]
        for posted, received, delivered in zip(messages["posted"], messages["received"],
                                               messages["delivered"], strict=True):
            self.assertLessEqual(posted, delivered, "a message arrives before it leaves")
            if received >= 0:
                self.assertTrue(posted <= received <= delivered)

    def check_times(self, data: dict[str, Any]) -> None:
        """The spans add up to what the library counted."""
        for row in data["summary"]:
            counters = row["counters"]
            self.assertGreater(counters["call_ns"], 0)
            self.assertAlmostEqual(row["mpi"] / counters["call_ns"], 1, delta=0.01)
            self.assertEqual(row["calls"], counters["calls"])
            self.assertAlmostEqual(row["asleep"], counters["sleep_ns"],
                                   delta=0.01 * counters["sleep_ns"] + 1)

    def check_messages(self, data: dict[str, Any], ranks: int, rounds: int) -> None:
        """Every message of `exchange` is there once, from the right neighbour, with its size."""
        messages = data["messages"]
        found = sorted(
            (tag, source, target, size)
            for source, target, size, tag, context in zip(
                *(messages[name] for name in ("from", "to", "bytes", "tag", "context")),
                strict=True) if context == 0)
        wanted = sorted((tag, rank, (rank + 1) % ranks, SHORT if tag % 2 == 0 else LONG)
                        for tag in range(rounds) for rank in range(ranks))
        self.assertEqual(found, wanted)

    def test_a_trace_tells_what_happened(self) -> None:
        job = self.run_job(str(ROUNDS))
        self.assertEqual((job.returncode, job.stderr, job.stdout), (0, "", "done\n" * RANKS))
        data = self.page()
        self.assertEqual((data["ranks"], data["end"], data["notes"]), (RANKS, "finalize", []))
        self.check_rows(data)
        self.check_times(data)
        self.check_messages(data, RANKS, ROUNDS)
        for row in programs_of(data):
            names = [data["names"][name] for _, _, name in spans_of(row["spans"])]
            self.assertEqual((names[0], names[-1]), ("MPI_Init", "MPI_Finalize"))
            self.assertEqual(names.count("MPI_Waitall"), ROUNDS)
            self.assertEqual(names.count("MPI_Allreduce"), 1)
            inner = [data["names"][name] for _, _, name in spans_of(row["inner"])]
            self.assertEqual(inner.count("MPI_Comm_size"), 1, "the call of a callback")
        for row in data["summary"]:
            self.assertGreaterEqual(row["compute"], ROUNDS * 100_000)

    def test_both_ends_name_the_same_message(self) -> None:
        self.assertEqual(self.run_job(str(ROUNDS), ranks=2).returncode, 0)
        ends: dict[str, list[tuple[str, int, int]]] = {}
        for event in json.loads(self.trace.read_text())["traceEvents"]:
            if event["ph"] in "stf" and event["args"]["context"] == 0:
                what = (event["ph"], event["args"]["tag"], event["args"]["bytes"])
                ends.setdefault(event["id"], []).append(what)
        self.assertEqual(len(ends), 2 * ROUNDS)
        for name, three in ends.items():
            self.assertEqual(sorted(what[0] for what in three), ["f", "s", "t"], name)
            self.assertEqual(len({what[1:] for what in three}), 1, three)

    def test_other_ways_of_long_and_short_messages(self) -> None:
        for settings in ({"cma": "off"}, {"eager_limit": "0"}, {"unexpected_limit": "0"}):
            with self.subTest(**settings):
                job = self.run_job(str(ROUNDS), **settings)
                self.assertEqual((job.returncode, job.stderr), (0, ""))
                data = self.page()
                self.check_rows(data)
                self.check_times(data)
                self.check_messages(data, RANKS, ROUNDS)

    def test_one_rank_sends_to_itself(self) -> None:
        self.assertEqual(self.run_job(str(ROUNDS), ranks=1).returncode, 0)
        data = self.page()
        self.check_rows(data)
        self.check_messages(data, 1, ROUNDS)

    def test_full_rings_keep_the_newest(self) -> None:
        self.assertEqual(self.run_job("200", trace_ring="8K").returncode, 0)
        data = self.page()
        self.check_rows(data)
        self.assertRegex(data["notes"][0], r"^\d+ early events of ranks 0, 1, 2 are missing")
        names = [data["names"][row["spans"][-1]] for row in programs_of(data)]
        self.assertEqual(names, ["MPI_Finalize"] * RANKS)

    def test_an_abort_leaves_the_trace_of_all(self) -> None:
        job = self.run_job(str(ROUNDS), "abort")
        self.assertEqual(job.returncode, 7)
        data = self.page()
        self.assertEqual((data["ranks"], data["end"]), (RANKS, "abort"))
        self.check_rows(data)
        self.check_messages(data, RANKS, ROUNDS)
        last = {row["rank"]: data["names"][row["spans"][-1]] for row in programs_of(data)}
        self.assertEqual(last[1], "MPI_Abort")

    def test_an_absent_folder_is_named_and_does_no_harm(self) -> None:
        self.trace = self.folder / "absent" / "trace.json"
        job = self.run_job("2")
        self.assertEqual((job.returncode, job.stdout), (0, "done\n" * RANKS))
        self.assertEqual(
            job.stderr,
            f"headway: rank 0: HEADWAY_TRACE: cannot write '{self.trace}' (No such file or "
            "directory), so there will be no trace: make the folder, or name another file; the "
            "program itself is not affected\n")
        answer = self.report()
        self.assertEqual(answer.returncode, 2)
        self.assertIn("cannot be read", answer.stderr)

    def test_a_full_disk_is_named_and_does_no_harm(self) -> None:
        self.trace = Path("/dev/full")
        job = self.run_job("2")
        self.assertEqual((job.returncode, job.stdout), (0, "done\n" * RANKS))
        self.assertIn("cannot write '/dev/full' (No space left on device), so the trace is not "
                      "whole", job.stderr)

    def test_a_killed_rank_leaves_an_empty_file_that_is_explained(self) -> None:
        self.trace.touch()
        answer = self.report()
        self.assertEqual(answer.returncode, 2)
        self.assertIn("is empty: its job ended without MPI_Finalize", answer.stderr)

    def test_stats_without_a_trace(self) -> None:
        job = self.run_job(str(ROUNDS), stats="1", trace="")
        self.assertEqual(job.returncode, 0)
        self.assertFalse(self.trace.exists())
        rows = [line.split() for line in job.stderr.splitlines()]
        self.assertEqual(rows[0][:3], ["headway:", "rank", "calls"])
        for rank, row in enumerate(rows[1:]):
            self.assertEqual(row[1], str(rank))
            self.assertGreater(int(row[2]), 3 * ROUNDS)
            sent, received = row[5].split("/")
            self.assertGreaterEqual(min(int(sent), int(received)), ROUNDS)
        self.assertEqual(len(rows), 1 + RANKS)

    def test_nothing_is_said_without_the_knobs(self) -> None:
        job = self.run_job("2", trace="")
        self.assertEqual((job.returncode, job.stderr), (0, ""))
        self.assertFalse(self.trace.exists())

    def test_the_page_does_not_replace_the_trace(self) -> None:
        self.trace.write_text("{}")
        answer = self.report("-o", str(self.trace))
        self.assertEqual(answer.returncode, 2)
        self.assertEqual(self.trace.read_text(), "{}")
        answer = self.report("-o", str(self.folder / "absent" / "page.html"))
        self.assertEqual(answer.returncode, 2)
        self.assertIn("no whole trace of Headway", answer.stderr)


if __name__ == "__main__":
    unittest.main()
