# SPDX-License-Identifier: Apache-2.0
"""headway.trace and headway.timeline on documents made here: work by others, lost events, text
that is no trace."""

import itertools
import json
import random
import tempfile
import unittest
from pathlib import Path
from typing import Any

from headway import report, timeline, trace


def document(events: list[dict[str, Any]], ranks: int = 2, **head: Any) -> dict[str, Any]:
    return {"otherData": {"format": trace.FORMAT, "version": "v", "end": "finalize", "ranks": ranks,
                          "duration_us": 1000.0, "dropped": [],
                          "counters": [{"rank": rank, "calls": 0} for rank in range(ranks)]} | head,
            "traceEvents": events}


def span(rank: int, begin: float, length: float, name: str, thread: int = 0, category: str = "mpi",
         **arguments: int) -> dict[str, Any]:
    return {"ph": "X", "pid": rank, "tid": thread, "ts": begin, "dur": length, "cat": category,
            "name": name, "args": arguments}


def end(phase: str, rank: int, at: float, name: str = "1.0.0.1", to: int = 1) -> dict[str, Any]:
    return {"ph": phase, "pid": rank, "tid": 0, "ts": at, "cat": "message", "name": "message",
            "id": name, "args": {"bytes": 8, "tag": 5, "context": 0}
            | ({"to": to} if phase == "s" else {})}


def rows_by_label(data: dict[str, Any]) -> dict[str, list[int]]:
    return {row["label"]: row["spans"] for row in data["rows"]}


class Reading(unittest.TestCase):
    def test_compute_is_what_lies_between_calls(self) -> None:
        found = trace.from_document(document([
            span(0, 10.5, 2, "MPI_Send"), span(0, 0, 1, "MPI_Init"), span(0, 12.5, 1, "MPI_Wait")]))
        data = timeline.page_data(found, "t")
        self.assertEqual(data["names"], ["MPI_Init", "compute", "MPI_Send", "MPI_Wait"])
        self.assertEqual(data["kinds"], ["other", "compute", "message", "completion"])
        self.assertEqual(rows_by_label(data)["rank 0"],
                         [0, 1000, 0, 1000, 9500, 1, 10500, 2000, 2, 12500, 1000, 3])

    def test_nested_calls_and_sleep_are_inner(self) -> None:
        found = trace.from_document(document([
            span(0, 0, 10, "MPI_Wait"), span(0, 2, 3, "MPI_Comm_rank", depth=1),
            span(0, 6, 2, "asleep", category="span")]))
        thread = found.ranks[0].threads[0]
        self.assertEqual([call.name for call in thread.calls], ["MPI_Wait"])
        self.assertEqual([inner.name for inner in thread.inner], ["MPI_Comm_rank", "asleep"])

    def test_work_of_others_has_rows_without_overlap(self) -> None:
        naming = {"ph": "M", "pid": 1, "tid": trace.AGENT_THREAD, "name": "thread_name",
                  "args": {"name": "agent"}}
        found = trace.from_document(document([
            naming,
            span(1, 0, 10, "copy", trace.AGENT_THREAD, "span", by=0),
            span(1, 5, 10, "copy", trace.AGENT_THREAD, "span", by=0),
            span(1, 10, 2, "agent", trace.AGENT_THREAD, "span")]))
        rows = [row for row in timeline.page_data(found, "t")["rows"] if row["kind"] == "agent"]
        self.assertEqual([row["label"] for row in rows], ["agent", "agent"])
        self.assertEqual(sum(len(row["spans"]) for row in rows), 9)
        self.assertEqual(timeline.page_data(found, "t")["names"], ["copy (rank 0)", "agent"])

    def test_ends_meet_by_name(self) -> None:
        found = trace.from_document(document([
            end("s", 0, 1), end("t", 1, 2), end("f", 1, 3),
            end("f", 1, 9, "1.0.0.2"), end("s", 0, 4, "1.0.0.2"), end("s", 0, 5, "1.0.0.3")]))
        times = [(message.posted, message.received, message.delivered)
                 for message in found.messages]
        self.assertEqual(times, [(1000, 2000, 3000), (4000, -1, 9000)])
        self.assertEqual(found.half_messages, 1)
        self.assertIn("only one end", timeline.page_data(found, "t")["notes"][0])

    def test_messages_of_one_name_meet_in_order(self) -> None:
        found = trace.from_document(document([
            end("f", 1, 9), end("s", 0, 2), end("s", 0, 1), end("f", 1, 8)]))
        self.assertEqual([(m.posted, m.delivered) for m in found.messages],
                         [(1000, 8000), (2000, 9000)])

    def test_what_lost_an_end_is_not_joined_by_guess(self) -> None:
        found = trace.from_document(document([end("s", 0, 4), end("f", 1, 3), end("f", 1, 5)]))
        self.assertEqual(found.messages, [])

    def test_overlap_is_message_time_spent_computing(self) -> None:
        found = trace.from_document(document([
            span(0, 0, 10, "MPI_Isend"), span(0, 40, 10, "MPI_Wait"),
            end("s", 0, 5), end("f", 1, 45)]))
        summary = timeline.page_data(found, "t")["summary"]
        self.assertAlmostEqual(summary[0]["overlap"], 30 / 40)
        self.assertEqual(summary[1]["overlap"], 0)
        self.assertEqual((summary[0]["sent"], summary[1]["received"]), (1, 1))

    def test_lost_events_and_aborts_are_told(self) -> None:
        found = trace.from_document(document(
            [], end="abort", dropped=[{"rank": 1, "thread": 0, "events": 12}]))
        notes = timeline.page_data(found, "t")["notes"]
        self.assertIn("ended by MPI_Abort", notes[0])
        self.assertIn("12 early events of rank 1 are missing", notes[1])

    def test_text_that_is_no_trace_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.json"
            for text in ("", "{", "[]", "{}", '{"otherData": {"format": "other"}}',
                         '{"otherData": 3}',
                         json.dumps(document([span(7, 0, 1, "MPI_Send")]))):
                path.write_text(text)
                with self.assertRaises(trace.TraceError, msg=text) as caught:
                    trace.read(path)
                self.assertIn(str(path), str(caught.exception))
            path.write_bytes(b"\xff\xfe\x00")
            with self.assertRaises(trace.TraceError):
                trace.read(path)


class Kinds(unittest.TestCase):
    def test_every_call_has_its_colour(self) -> None:
        for name, kind in (("MPI_Isend", "message"), ("MPI_Recv", "message"),
                           ("MPI_Ssend_init", "message"), ("MPI_Sendrecv", "message"),
                           ("MPI_Mrecv", "message"), ("MPI_Waitall", "completion"),
                           ("MPI_Iprobe", "completion"), ("MPI_Ialltoallw", "collective"),
                           ("MPI_Reduce_scatter_block", "collective"),
                           ("MPI_Barrier", "collective"), ("MPI_Comm_split", "collective"),
                           ("MPI_Comm_rank", "other"), ("MPI_Finalize", "other"),
                           ("MPI_Reduce_local", "other")):
            self.assertEqual(trace.kind_of_call(name), kind, name)


class Intervals(unittest.TestCase):
    def test_union_and_common_length_agree_with_counting(self) -> None:
        chance = random.Random(7)
        for _ in range(300):
            lists = []
            for _ in range(2):
                begins = [chance.randrange(40) for _ in range(chance.randrange(8))]
                lists.append([(begin, begin + chance.randrange(9)) for begin in begins])
            points = [{at for begin, stop in spans for at in range(begin, stop)} for spans in lists]
            joined = [timeline.union(spans) for spans in lists]
            for spans, wanted in zip(joined, points, strict=True):
                self.assertEqual(sum(stop - begin for begin, stop in spans), len(wanted))
            self.assertEqual(timeline.common_length(*joined), len(points[0] & points[1]))

    def test_lanes_hold_all_spans_without_overlap(self) -> None:
        chance = random.Random(8)
        for _ in range(200):
            spans = sorted((trace.Span(begin, begin + chance.randrange(12), "copy")
                            for begin in (chance.randrange(50) for _ in range(20))),
                           key=lambda span: span.begin)
            lanes = timeline.split_into_lanes(spans)
            self.assertEqual(sorted(itertools.chain(*lanes), key=str), sorted(spans, key=str))
            for lane in lanes:
                for before, after in itertools.pairwise(lane):
                    self.assertLessEqual(before.end, after.begin)


class Page(unittest.TestCase):
    def test_text_of_others_cannot_leave_its_place(self) -> None:
        data = timeline.page_data(trace.from_document(document([
            span(0, 0, 1, "</script><script>alert(1)</script>")])), "<b>@data@")
        page = report.render(data)
        self.assertNotIn("alert(1)</script>", page)
        self.assertIn("<h1>&lt;b&gt;@data@</h1>", page)
        self.assertEqual(page.count("</script>"), 2)


if __name__ == "__main__":
    unittest.main()
