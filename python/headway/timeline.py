# SPDX-License-Identifier: Apache-2.0
"""What a page shows of a trace: rows of spans, messages between them, a summary.

The data of a page, JSON in its script element `headway-data`; times are nanoseconds:
  format, title, version, end, duration, ranks
  names     names of spans; kinds: their kinds, by the same index
  rows      {rank, label, kind, spans, inner}; kind is main, thread, agent or help. spans and inner
            are flat lists [begin, length, name, begin, length, name, ...] in order of begin; those
            of `spans` do not overlap. inner lies within spans: sleep, copies, calls made by
            callbacks
  messages  lists of equal length by column: from, to, posted, received, delivered, bytes, tag,
            context; received is -1 where it was not recorded
  summary   a row a rank: see summary_of
  notes     sentences on what is missing
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from headway.trace import AGENT_THREAD, Rank, Span, Thread, Trace, kind_of_call

FORMAT = "headway-page-1"
COMPUTE = "compute"
_SPAN_KINDS = {COMPUTE: "compute", "asleep": "asleep", "agent": "agent", "help": "help",
               "copy": "copy", "combine": "combine"}


def page_data(trace: Trace, title: str) -> dict[str, Any]:
    """The data of the page for a trace."""
    names = _Names()
    rows = [row for rank in trace.ranks for row in _rows_of(rank, names)]
    return {
        "format": FORMAT, "title": title, "version": trace.version, "end": trace.end,
        "duration": trace.duration, "ranks": len(trace.ranks),
        "names": names.names, "kinds": [_kind(name) for name in names.names],
        "rows": rows, "messages": _columns(trace),
        "summary": [summary_of(trace, rank) for rank in trace.ranks],
        "notes": _notes(trace),
    }


class _Names:
    def __init__(self) -> None:
        self.names: list[str] = []
        self._index: dict[str, int] = {}

    def flat(self, spans: Iterable[Span]) -> list[int]:
        numbers: list[int] = []
        for span in spans:
            name = span.name if span.by < 0 else f"{span.name} (rank {span.by})"
            index = self._index.setdefault(name, len(self._index))
            if index == len(self.names):
                self.names.append(name)
            numbers += (span.begin, span.length, index)
        return numbers


def _kind(name: str) -> str:
    word = name.partition(" (")[0]
    return _SPAN_KINDS.get(word) or kind_of_call(word)


def compute_spans(thread: Thread) -> list[Span]:
    """Where the thread was between two of its calls."""
    return [Span(before.end, after.begin, COMPUTE)
            for before, after in itertools.pairwise(thread.calls)
            if after.begin > before.end]


def _rows_of(rank: Rank, names: _Names) -> list[dict[str, Any]]:
    rows = []
    for number in sorted(rank.threads):
        thread = rank.threads[number]
        kind = "main" if number == 0 else "thread"
        if number >= AGENT_THREAD:
            kind = "agent" if number == AGENT_THREAD else "help"
        label = f"rank {rank.number}" if kind == "main" else thread.name
        if kind in ("main", "thread"):
            spans = sorted([*thread.calls, *compute_spans(thread)], key=lambda span: span.begin)
            inner = sorted([*thread.inner, *thread.spans], key=lambda span: span.begin)
            rows.append(_row(rank.number, label, kind, spans, inner, names))
            continue
        # Work for a rank is done under its ownership word, but bytes are copied outside of it.
        rows += [_row(rank.number, label, kind, lane, [], names)
                 for lane in split_into_lanes(thread.spans)]
    return rows


def _row(rank: int, label: str, kind: str, spans: list[Span], inner: list[Span],
         names: _Names) -> dict[str, Any]:
    return {"rank": rank, "label": label, "kind": kind, "spans": names.flat(spans),
            "inner": names.flat(inner)}


def split_into_lanes(spans: list[Span]) -> list[list[Span]]:
    """As few lists as it takes for spans, sorted by begin, not to overlap within one."""
    lanes: list[list[Span]] = []
    for span in spans:
        for lane in lanes:
            if lane[-1].end <= span.begin:
                lane.append(span)
                break
        else:
            lanes.append([span])
    return lanes


def _columns(trace: Trace) -> dict[str, list[int]]:
    messages = trace.messages
    return {
        "from": [message.sender for message in messages],
        "to": [message.receiver for message in messages],
        "posted": [message.posted for message in messages],
        "received": [message.received for message in messages],
        "delivered": [message.delivered for message in messages],
        "bytes": [message.bytes for message in messages],
        "tag": [message.tag for message in messages],
        "context": [message.context for message in messages],
    }


Interval = tuple[int, int]


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """The same points in time as disjoint intervals, in order."""
    joined: list[Interval] = []
    for begin, end in sorted(intervals):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((begin, end))
    return joined


def common_length(left: list[Interval], right: list[Interval]) -> int:
    """Length of what two lists of disjoint intervals, in order, have in common."""
    total = i = j = 0
    while i < len(left) and j < len(right):
        begin, end = max(left[i][0], right[j][0]), min(left[i][1], right[j][1])
        total += max(0, end - begin)
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return total


def summary_of(trace: Trace, rank: Rank) -> dict[str, Any]:
    """What a rank did. mpi, compute and asleep are sums over the spans shown; overlap is the part
    of the time with messages of this rank under way (posted, not delivered) in which its main
    thread computed, null where no message was; counters are the library's own."""
    threads = [thread for number, thread in rank.threads.items() if number < AGENT_THREAD]
    under_way = union((message.posted, message.delivered) for message in trace.messages
                      if rank.number in (message.sender, message.receiver))
    computing = [(span.begin, span.end) for span in compute_spans(rank.threads[0])] \
        if 0 in rank.threads else []
    length = sum(end - begin for begin, end in under_way)
    return {
        "rank": rank.number,
        "calls": sum(len(thread.calls) for thread in threads),
        "mpi": sum(span.length for thread in threads for span in thread.calls),
        "compute": sum(end - begin for begin, end in computing),
        "asleep": sum(span.length for thread in threads for span in thread.inner
                      if span.name == "asleep"),
        "sent": sum(message.sender == rank.number for message in trace.messages),
        "received": sum(message.receiver == rank.number for message in trace.messages),
        "bytes_sent": sum(message.bytes for message in trace.messages
                          if message.sender == rank.number),
        "overlap": common_length(under_way, computing) / length if length else None,
        "counters": rank.counters,
    }


def _notes(trace: Trace) -> list[str]:
    notes = []
    if trace.end == "abort":
        notes.append("The job was ended by MPI_Abort or an error: calls under way end there.")
    lost = sum(entry["events"] for entry in trace.dropped)
    if lost:
        ranks = sorted({entry["rank"] for entry in trace.dropped})
        shown = ", ".join(map(str, ranks[:8])) + (", ..." if len(ranks) > 8 else "")
        notes.append(f"{lost} early events of {'rank' if len(ranks) == 1 else 'ranks'} {shown} are "
                     "missing: the rings were full; raise HEADWAY_TRACE_RING to keep them.")
    if trace.half_messages:
        notes.append(f"{trace.half_messages} messages are not shown: only one end of each was "
                     "recorded.")
    unseen = sum(rank.counters.get("threads_unobserved", 0) for rank in trace.ranks)
    if unseen:
        notes.append(f"{unseen} threads are missing: there was no memory, or there were more than "
                     "64 in a rank.")
    return notes
