# SPDX-License-Identifier: Apache-2.0
"""Reads a trace that HEADWAY_TRACE made (docs/tracing.md says what is in it).

All times are whole nanoseconds since the first event of the trace.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FORMAT = "headway-trace-1"
AGENT_THREAD = 1000  # as the library numbers threads; helping ranks come after it


class TraceError(Exception):
    """A trace that cannot be used; the text says why and what to do."""


@dataclass(frozen=True)
class Span:
    begin: int
    end: int
    name: str
    by: int = -1  # the rank that did the work, where it is another one
    depth: int = 0  # calls around it

    @property
    def length(self) -> int:
        return self.end - self.begin


@dataclass
class Thread:
    """What one thread did for a rank. Calls do not overlap unless a callback made them."""

    number: int
    name: str
    calls: list[Span] = field(default_factory=list)  # of the application, in order
    inner: list[Span] = field(default_factory=list)  # made by callbacks, and sleep
    spans: list[Span] = field(default_factory=list)  # work of agents and helpers


@dataclass
class Message:
    sender: int = -1
    receiver: int = -1
    bytes: int = 0
    tag: int = 0
    context: int = 0
    posted: int = -1
    received: int = -1  # the frame left the lane; -1: not recorded
    delivered: int = -1  # the receive was complete

    @property
    def is_whole(self) -> bool:
        return self.posted >= 0 and self.delivered >= 0


@dataclass
class Rank:
    number: int
    threads: dict[int, Thread] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)


@dataclass
class Trace:
    version: str
    end: str  # "finalize", or "abort" where the job was ended
    duration: int
    ranks: list[Rank]
    messages: list[Message]  # whose both ends were recorded, in order of posting
    half_messages: int  # of which only the posting or only the delivery was recorded
    dropped: list[dict[str, int]]  # {rank, thread, events}


def read(path: Path) -> Trace:
    """Raises TraceError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TraceError(f"{path} cannot be read ({error}); give the file that HEADWAY_TRACE "
                         "names.") from error
    if not text:
        raise TraceError(f"{path} is empty: its job ended without MPI_Finalize or MPI_Abort, or is "
                         "still running; see its standard error.")
    try:
        return from_document(json.loads(text))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise TraceError(f"{path} is no whole trace of Headway ({error!r}); run the program again "
                         "with HEADWAY_TRACE.") from error


def from_document(document: dict[str, Any]) -> Trace:
    """Raises ValueError, LookupError, TypeError or AttributeError where it is no trace."""
    head = document["otherData"]
    if head["format"] != FORMAT:
        raise ValueError(f"its format is {head['format']!r}, not {FORMAT!r}")
    reader = _Reader(int(head["ranks"]))
    for row in head["counters"]:
        counters = reader.ranks[row["rank"]].counters
        counters.update({name: int(value) for name, value in row.items() if name != "rank"})
    for event in document["traceEvents"]:
        reader.take(event)
    messages = reader.messages()
    whole = [message for message in messages if message.is_whole]
    whole.sort(key=lambda message: message.posted)
    for rank in reader.ranks:
        for thread in rank.threads.values():
            for spans in (thread.calls, thread.inner, thread.spans):
                spans.sort(key=lambda span: (span.begin, -span.end))
    return Trace(
        version=head["version"], end=head["end"], duration=_ns(head["duration_us"]),
        ranks=reader.ranks, messages=whole,
        half_messages=sum((message.posted >= 0) != (message.delivered >= 0)
                          for message in messages),
        dropped=head["dropped"])


def _ns(microseconds: float) -> int:
    return round(microseconds * 1000)


class _Reader:
    """Sorts events into ranks, threads and messages."""

    def __init__(self, ranks: int) -> None:
        self.ranks = [Rank(number) for number in range(ranks)]
        # A name may come again: a collective may send twice in one slot. Ends meet in order.
        self._by_name: dict[str, dict[str, list[Message]]] = defaultdict(
            lambda: {"s": [], "t": [], "f": []})

    def _thread(self, event: dict[str, Any]) -> Thread:
        number = int(event["tid"])
        threads = self.ranks[event["pid"]].threads
        return threads.setdefault(number, Thread(number, f"thread {number}"))

    def take(self, event: dict[str, Any]) -> None:
        phase = event["ph"]
        if phase == "X":
            self._take_span(event)
        elif phase in "stf":
            self._take_message(phase, event)
        elif phase == "M" and event["name"] == "thread_name":
            self._thread(event).name = event["args"]["name"]

    def _take_span(self, event: dict[str, Any]) -> None:
        begin = _ns(event["ts"])
        arguments = event.get("args", {})
        span = Span(begin, begin + _ns(event["dur"]), event["name"], arguments.get("by", -1),
                    arguments.get("depth", 0))
        thread = self._thread(event)
        if event["cat"] == "mpi":
            (thread.inner if span.depth else thread.calls).append(span)
        elif span.name == "asleep":
            thread.inner.append(span)
        else:
            thread.spans.append(span)

    def _take_message(self, phase: str, event: dict[str, Any]) -> None:
        arguments = event["args"]
        at = _ns(event["ts"])
        end = Message(bytes=arguments["bytes"], tag=arguments["tag"], context=arguments["context"])
        if phase == "s":
            end.sender, end.receiver, end.posted = event["pid"], arguments["to"], at
        else:
            end.receiver = event["pid"]
            if phase == "t":
                end.received = at
            else:
                end.delivered = at
        self._by_name[event["id"]][phase].append(end)

    def messages(self) -> list[Message]:
        found = []
        for ends in self._by_name.values():
            for phase in ends.values():
                phase.sort(key=lambda end: max(end.posted, end.received, end.delivered))
            count = max(len(phase) for phase in ends.values())
            # Where a ring has lost events, only what is equally often there can be joined.
            is_clear = len(ends["s"]) == len(ends["f"])
            for index in range(count):
                message = Message()
                for phase, members in ends.items():
                    if index < len(members) and (is_clear or count == 1 or phase == "s"):
                        _merge(message, members[index])
                found.append(message)
        return found


def _merge(message: Message, end: Message) -> None:
    message.receiver, message.tag, message.context = end.receiver, end.tag, end.context
    message.bytes = max(message.bytes, end.bytes)
    if end.posted >= 0:
        message.sender, message.posted = end.sender, end.posted
    message.received = max(message.received, end.received)
    message.delivered = max(message.delivered, end.delivered)


_COLLECTIVE = re.compile(
    r"MPI_I?(barrier|bcast|reduce(?!_local)|allreduce|gather|scatter|allgather|alltoall|scan|exscan"
    r"|neighbor_|reduce_scatter|comm_(dup|split|create))", re.IGNORECASE)
_COMPLETION = re.compile(r"MPI_(Wait|Test|I?M?[Pp]robe|Request_get)")
_MESSAGE = re.compile(r"MPI_(I?[bsr]?send|I?m?recv|Start|Pready|Parrived)", re.IGNORECASE)


def kind_of_call(name: str) -> str:
    """message, completion, collective or other."""
    for kind, pattern in (("completion", _COMPLETION), ("collective", _COLLECTIVE),
                          ("message", _MESSAGE)):
        if pattern.match(name):
            return kind
    return "other"
