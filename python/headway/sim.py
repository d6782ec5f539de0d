# SPDX-License-Identifier: Apache-2.0
"""Simulates every algorithm of a collective in virtual time, on a model of a machine, and shows the
times side by side, as a table and as a plot. The graphs are those that the library runs."""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from headway import study
from headway.presentation import aligned
from headway.svg import DASHES, PALETTE, Picture

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
STEP = 4  # from one size to the next
SIZES_MAX = 64

Times = Mapping[str, Mapping[int, float]]  # microseconds by algorithm and bytes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("collective", help="like allgather")
    parser.add_argument("--nodes", default="16", help="of the machine (default 16)")
    parser.add_argument("--ppn", default="1", help="ranks of a node (default 1)")
    parser.add_argument("--bytes", default="8..1M", metavar="FROM..TO",
                        help="of a block, or of the vector: one size, some (8,64K), or a range, "
                             "each size four times the last (default 8..1M)")
    parser.add_argument("--algorithm", help="only this one")
    parser.add_argument("--root", help="of collectives that have one (default 0)")
    parser.add_argument("--first", metavar="RANKS",
                        help="of the first group, between groups (inter_bcast; default half)")
    parser.add_argument("--width", metavar="RANKS",
                        help="of the grid, for neighbours (neighbor_alltoall; default like a "
                             "square)")
    parser.add_argument("--limit", help="leave algorithms out that send more messages "
                                        "(default 10000000)")
    parser.add_argument("--machine", metavar="FILE",
                        help="of headway tune --machine, in the place of a typical machine")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="change the machine or tune algorithms; a wrong key lists all")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg",
                        help="where to draw the times (default: the collective's name, nodes and "
                             "ranks of one)")
    parser.add_argument("--no-plot", action="store_true", help="print the times only")


def main(options: argparse.Namespace) -> int:
    if options.no_plot and options.plot is not None:
        print("headway: sim: --plot and --no-plot contradict each other; take one of them",
              file=sys.stderr)
        return 2
    try:
        sizes = parse_sizes(options.bytes)
    except ValueError as error:
        print(f"headway: sim: {error}", file=sys.stderr)
        return 2
    arguments = ["sim", options.collective, "--nodes", options.nodes, "--ppn", options.ppn,
                 "--bytes", ",".join(map(str, sizes))]
    for name in ("algorithm", "root", "first", "width", "limit", "machine"):
        value = getattr(options, name)
        if value is not None:
            arguments += [f"--{name}", value]
    for assignment in options.set:
        arguments += ["--set", assignment]
    answer = study.ask(arguments)
    if answer.code != 0:
        return answer.code
    times, skipped = read_lines(answer.text.splitlines())
    title = (f"{options.collective}, {options.nodes} nodes of {options.ppn} "
             f"{'rank' if options.ppn == '1' else 'ranks'}")
    print(table(title, sizes, times, skipped))
    if options.no_plot:
        return 0
    path = options.plot or Path(f"{options.collective}-{options.nodes}x{options.ppn}.svg")
    try:
        plot(title, times).write(path)
    except OSError as error:
        print(f"headway: sim: {path} cannot be written: {error.strerror}; name another file with "
              "--plot, or take --no-plot", file=sys.stderr)
        return 2
    print(f"plot: {path}")
    return 0


def parse_size(text: str) -> int:
    """8, 64K, 1M."""
    match = re.fullmatch(r"(\d+)([KMG]?)(?:i?B)?", text.strip())
    if not match:
        raise ValueError(f"'{text}' is no number of bytes; write it like 8, 64K or 1M")
    return int(match[1]) * UNITS[match[2]]


def parse_sizes(text: str) -> list[int]:
    """8..1M (each four times the last, and the end), 8,64K, or one size."""
    sizes: list[int] = []
    for part in text.split(","):
        first, dots, last = part.partition("..")
        begin, end = parse_size(first), parse_size(last if dots else first)
        if begin > end:
            raise ValueError(f"--bytes {part} goes down; write the smaller size first")
        size = begin
        while size < end:
            sizes.append(size)
            size = max(size * STEP, 1)
        sizes.append(end)
    sizes = sorted(set(sizes))
    if len(sizes) > SIZES_MAX:
        raise ValueError(f"--bytes names {len(sizes)} sizes; at most {SIZES_MAX} fit a table")
    return sizes


def read_lines(lines: Sequence[str]) -> tuple[dict[str, dict[int, float]], dict[str, str]]:
    """Times, and why algorithms were left out."""
    times: dict[str, dict[int, float]] = {}
    skipped: dict[str, str] = {}
    for line in lines:
        entry = json.loads(line)
        if "skipped" in entry:
            skipped[entry["algorithm"]] = entry["skipped"]
        else:
            times.setdefault(entry["algorithm"], {})[entry["bytes"]] = entry["us"]
    return times, skipped


def size_words(size: int) -> str:
    for unit in ("G", "M", "K"):
        if size >= UNITS[unit] and size % UNITS[unit] == 0:
            return f"{size // UNITS[unit]}{unit}"
    return str(size)


def time_words(time_us: float) -> str:
    return f"{time_us:.2f}" if time_us < 100 else f"{time_us:.0f}"


def table(title: str, sizes: Sequence[int], times: Times, skipped: Mapping[str, str]) -> str:
    """A line an algorithm, a column a size; * marks the best of a column."""
    best = {size: min((row[size] for row in times.values()), default=math.inf) for size in sizes}
    rows = [["us", *(size_words(size) for size in sizes)]]
    for name, row in times.items():
        cells = [("*" if row[size] == best[size] else " ") + time_words(row[size])
                 for size in sizes]
        rows.append([name, *cells])
    lines = [f"{title}: simulated times, * = best", ""]
    lines += aligned(rows)
    if skipped:
        lines += ["", "left out:"]
        lines += aligned([["  " + name, reason] for name, reason in skipped.items()])
    return "\n".join(lines)


LEFT, TOP, WIDTH, HEIGHT, LEGEND = 70.0, 50.0, 640.0, 420.0, 260.0


class Axis:
    """A logarithmic axis between two lengths."""

    def __init__(self, least: float, most: float, start: float, end: float) -> None:
        self.low = math.log10(max(least, 1e-3))
        self.high = max(math.log10(max(most, 1e-3)), self.low + 0.1)
        self.start, self.end = start, end

    def place(self, value: float) -> float:
        share = (math.log10(max(value, 1e-3)) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def plot(title: str, times: Times) -> Picture:
    """Time over size, both logarithmic, a line an algorithm."""
    picture = Picture(LEFT + WIDTH + LEGEND, TOP + HEIGHT + 60, title)
    picture.text(LEFT, 28, title, size=16, weight="bold")
    values = [value for row in times.values() for value in row.values()] or [1.0]
    sizes = sorted({size for row in times.values() for size in row}) or [1]
    across = Axis(max(sizes[0], 1), max(sizes[-1], 1), LEFT, LEFT + WIDTH)
    up = Axis(min(values) / 1.3, max(values) * 1.3, TOP + HEIGHT, TOP)
    _draw_axes(picture, sizes, across, up)
    for index, (name, row) in enumerate(times.items()):
        color = PALETTE[index % len(PALETTE)]
        dash = DASHES[index // len(PALETTE) % len(DASHES)]
        points = [(across.place(max(size, 1)), up.place(row[size])) for size in sorted(row)]
        picture.line(points, stroke=color, width=1.8, dash=dash, title=name)
        for (x, y), size in zip(points, sorted(row), strict=True):
            picture.dot(x, y, 2.6, fill=color,
                        title=f"{name}, {size_words(size)}: {time_words(row[size])} us")
        y = TOP + 10 + 20 * index
        picture.line([(LEFT + WIDTH + 20, y), (LEFT + WIDTH + 50, y)], stroke=color, width=2,
                     dash=dash)
        picture.text(LEFT + WIDTH + 58, y + 4, name)
    return picture


def _draw_axes(picture: Picture, sizes: Sequence[int], across: Axis, up: Axis) -> None:
    picture.box(LEFT, TOP, WIDTH, HEIGHT, fill="none", stroke="#888888", radius=0)
    last = -math.inf
    for size in sizes:
        x = across.place(max(size, 1))
        picture.line([(x, TOP), (x, TOP + HEIGHT)], stroke="#e5e5e5")
        if x - last >= 34:
            picture.text(x, TOP + HEIGHT + 18, size_words(size), anchor="middle")
            last = x
    picture.text(LEFT + WIDTH / 2, TOP + HEIGHT + 42, "bytes", anchor="middle")
    for power in range(math.ceil(up.low), math.floor(up.high) + 1):
        y = up.place(10.0**power)
        picture.line([(LEFT, y), (LEFT + WIDTH, y)], stroke="#e5e5e5")
        picture.text(LEFT - 8, y + 4, f"{10.0**power:g}", anchor="end")
    picture.text(LEFT - 8, TOP - 8, "us", anchor="end")
