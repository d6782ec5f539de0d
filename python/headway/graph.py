# SPDX-License-Identifier: Apache-2.0
"""Draws the graphs of a collective: a column a rank, its nodes from top to bottom, messages as
arrows. Without --algorithm it is the one that the library takes for so many ranks and bytes."""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway import study
from headway.svg import Picture

BOX_WIDTH = 92.0
BOX_HEIGHT = 20.0
ROW = 34.0
COLUMN = 142.0
LEFT = 46.0
TOP = 84.0
FOOT = 58.0

FILLS = {"send": "#cfe3f7", "receive": "#d5efd2", "copy": "#eeeeee", "reduce": "#fbdcb8"}
STROKES = {"send": "#2b6cb0", "receive": "#2f855a", "copy": "#777777", "reduce": "#b7641a"}
MESSAGE = "#2b6cb0"
EDGE = "#999999"
LETTERS = {"send": "S", "receive": "R", "scratch": "T"}

Key = tuple[int, int]  # rank and node


@dataclass(frozen=True)
class Layout:
    """Where everything stands."""

    rows: dict[Key, int]
    messages: list[tuple[Key, Key]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("collective", help="like allreduce")
    parser.add_argument("--ranks", default="8", help="number of ranks (default 8)")
    parser.add_argument("--algorithm", help="its name in full; a wrong one lists all")
    parser.add_argument("--root", help="of collectives that have one (default 0)")
    parser.add_argument("--first", metavar="RANKS",
                        help="of the first group, between groups (inter_bcast; default half)")
    parser.add_argument("--width", metavar="RANKS",
                        help="of the grid, for neighbours (neighbor_alltoall; default like a "
                             "square)")
    parser.add_argument("--ppn", help="ranks of a node, for two-level algorithms (default 4)")
    parser.add_argument("--bytes", help="that the library chooses an algorithm by (default 8)")
    parser.add_argument("--in-place", action="store_true", help="with MPI_IN_PLACE")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="tune the algorithm: radix, ports, window, segments")
    parser.add_argument("--output", type=Path, metavar="FILE.svg",
                        help="where to (default: the algorithm's name)")


def main(options: argparse.Namespace) -> int:
    arguments = ["graph", options.collective, "--ranks", options.ranks]
    for name in ("algorithm", "root", "first", "width", "ppn", "bytes"):
        value = getattr(options, name)
        if value is not None:
            arguments += [f"--{name}", value]
    arguments += ["--in-place"] if options.in_place else []
    for assignment in options.set:
        arguments += ["--set", assignment]
    answer = study.ask(arguments)
    if answer.code != 0:
        return answer.code
    graphs = json.loads(answer.text)
    path = options.output or Path(f"{graphs['algorithm']}-{options.ranks}.svg")
    try:
        draw(graphs).write(path)
    except OSError as error:
        print(f"headway: graph: {path} cannot be written: {error.strerror}", file=sys.stderr)
        return 2
    print(f"{graphs['algorithm']}, {len(graphs['ranks'])} ranks: {path}")
    return 0


def messages_of(ranks: Sequence[dict[str, Any]]) -> list[tuple[Key, Key]]:
    """Sends with their receives: those of one name in the order of nodes."""
    waiting: dict[tuple[int, int, int], deque[Key]] = defaultdict(deque)
    for rank, graph in enumerate(ranks):
        for index, node in enumerate(graph["nodes"]):
            if node["kind"] == "receive":
                waiting[node["peer"], rank, node["slot"]].append((rank, index))
    pairs = []
    for rank, graph in enumerate(ranks):
        for index, node in enumerate(graph["nodes"]):
            if node["kind"] == "send":
                pairs.append(((rank, index), waiting[rank, node["peer"], node["slot"]].popleft()))
    return pairs


def lay_out(ranks: Sequence[dict[str, Any]]) -> Layout:
    """Gives every node a row of its own in its column: below what it waits for, and a receive below
    its send."""
    messages = messages_of(ranks)
    after: dict[Key, list[Key]] = defaultdict(list)
    waiting: dict[Key, int] = {(rank, index): 0 for rank, graph in enumerate(ranks)
                               for index in range(len(graph["nodes"]))}
    edges = [((rank, before), (rank, then)) for rank, graph in enumerate(ranks)
             for before, then in graph["edges"]]
    for before, then in [*edges, *messages]:
        after[before].append(then)
        waiting[then] += 1
    least = dict.fromkeys(waiting, 0)
    taken: list[set[int]] = [set() for _ in ranks]
    rows: dict[Key, int] = {}
    ready = [key for key, count in waiting.items() if count == 0]
    while ready:
        # Row by row, and in a column in the order of nodes.
        ready.sort(key=lambda key: (least[key], key), reverse=True)
        key = ready.pop()
        row = least[key]
        while row in taken[key[0]]:
            row += 1
        taken[key[0]].add(row)
        rows[key] = row
        for then in after[key]:
            least[then] = max(least[then], row + 1)
            waiting[then] -= 1
            if waiting[then] == 0:
                ready.append(then)
    return Layout(rows, messages)


def extent_words(extent: Sequence[Any]) -> str:
    """R2, R0-3, or a dash for no block at all."""
    space, first, count = extent
    if count == 0:
        return "-"
    last = first + count - 1
    return f"{LETTERS[space]}{first}" + (f"-{last}" if last != first else "")


def node_words(node: dict[str, Any]) -> str:
    kind = node["kind"]
    if kind == "send":
        return f"{extent_words(node['source'])} → rank {node['peer']}"
    if kind == "receive":
        return f"{extent_words(node['target'])} ← rank {node['peer']}"
    source, target = extent_words(node["source"]), extent_words(node["target"])
    if source == target == "-":
        return "join"
    return f"{target} = {source}" + (f" ∘ {target}" if kind == "reduce" else "")


def draw(graphs: dict[str, Any]) -> Picture:
    """The whole picture."""
    ranks = graphs["ranks"]
    layout = lay_out(ranks)
    depth = 1 + max(layout.rows.values(), default=0)
    name = graphs["algorithm"]
    width = max(LEFT + COLUMN * len(ranks), 660.0)
    picture = Picture(width, TOP + depth * ROW + FOOT, f"{name}, {len(ranks)} ranks")
    picture.text(16, 26, f"{name}, {len(ranks)} ranks", size=16, weight="bold")
    total = sum(node["source"][2] for graph in ranks for node in graph["nodes"]
                if node["kind"] == "send")
    picture.text(16, 44, f"{len(layout.messages)} messages of {total} blocks in all",
                 fill="#555555")
    for rank, graph in enumerate(ranks):
        _draw_column(picture, rank, graph, depth, len({entry["node"] for entry in ranks}) > 1)
    for rank, graph in enumerate(ranks):
        for before, then in graph["edges"]:
            _draw_edge(picture, rank, layout.rows[rank, before], layout.rows[rank, then])
    for sender, receiver in layout.messages:
        _draw_message(picture, ranks, layout, sender, receiver)
    for rank, graph in enumerate(ranks):
        for index, node in enumerate(graph["nodes"]):
            _draw_node(picture, rank, index, layout.rows[rank, index], node)
    _draw_legend(picture)
    return picture


def _corner(rank: int, row: int) -> tuple[float, float]:
    return LEFT + rank * COLUMN, TOP + row * ROW


def _draw_column(picture: Picture, rank: int, graph: dict[str, Any], depth: int,
                 has_nodes: bool) -> None:
    x, y = _corner(rank, 0)
    if rank % 2 == 0:
        picture.box(x - 24, y - 30, COLUMN, depth * ROW + 28, fill="#f7f7f9")
    label = f"rank {rank}" + (f" (node {graph['node']})" if has_nodes else "")
    picture.text(x + BOX_WIDTH / 2, y - 12, label, anchor="middle", weight="bold")


def _draw_edge(picture: Picture, rank: int, before: int, then: int) -> None:
    """Neighbours by a short line, others around what is between them, on the left."""
    x, y = _corner(rank, before)
    _, end = _corner(rank, then)
    if then == before + 1:
        middle = x + BOX_WIDTH / 2
        picture.curve((middle, y + BOX_HEIGHT), (middle, y + BOX_HEIGHT), (middle, end),
                      (middle, end), stroke=EDGE, kind="edge")
        return
    bulge = x - min(22, 7 + 2.5 * (then - before))
    picture.curve((x, y + BOX_HEIGHT - 4), (bulge, y + BOX_HEIGHT + 2), (bulge, end - 2),
                  (x, end + 5), stroke=EDGE, opacity=0.8, kind="edge")


def _draw_message(picture: Picture, ranks: Sequence[dict[str, Any]], layout: Layout, sender: Key,
                  receiver: Key) -> None:
    x, y = _corner(sender[0], layout.rows[sender])
    to_x, to_y = _corner(receiver[0], layout.rows[receiver])
    is_right = receiver[0] > sender[0]
    start = (x + (BOX_WIDTH if is_right else 0), y + BOX_HEIGHT / 2)
    end = (to_x + (0 if is_right else BOX_WIDTH), to_y + BOX_HEIGHT / 2)
    away = 26 if is_right else -26
    source = ranks[sender[0]]["nodes"][sender[1]]["source"]
    picture.curve(start, (start[0] + away, start[1]), (end[0] - away, end[1]), end, stroke=MESSAGE,
                  width=1.2, opacity=0.75, kind="message",
                  title=f"rank {sender[0]} to rank {receiver[0]}: {extent_words(source)}")


def _draw_node(picture: Picture, rank: int, index: int, row: int, node: dict[str, Any]) -> None:
    x, y = _corner(rank, row)
    kind = node["kind"]
    slot = f", slot {node['slot']}" if "slot" in node else ""
    picture.box(x, y, BOX_WIDTH, BOX_HEIGHT, fill=FILLS[kind], stroke=STROKES[kind],
                title=f"node {index} of rank {rank}: {kind}, {node_words(node)}{slot}")
    words = node_words(node)
    picture.text(x + BOX_WIDTH / 2, y + 14, words, anchor="middle",
                 size=10 if len(words) < 15 else 9 if len(words) < 17 else 8)


def _draw_legend(picture: Picture) -> None:
    y = picture.height - 40
    x = 16.0
    for kind, fill in FILLS.items():
        picture.box(x, y, 18, 13, fill=fill, stroke=STROKES[kind])
        picture.text(x + 24, y + 11, kind)
        x += 86
    for words, stroke in (("message", MESSAGE), ("after", EDGE)):
        picture.curve((x, y + 7), (x + 8, y + 7), (x + 16, y + 7), (x + 26, y + 7), stroke=stroke,
                      width=1.2)
        picture.text(x + 32, y + 11, words)
        x += 96
    picture.text(16, y + 30, "S send buffer, R receive buffer, T scratch, with block numbers; "
                             "R0 = T1 ∘ R0 combines, T1's ranks before R0's", fill="#555555")
