# SPDX-License-Identifier: Apache-2.0
"""Turns measured times of algorithms into lines of a tuning file (docs/design/021).

A *cell* is one collective, number of ranks and size. An algorithm wins a cell only if it beats what
is built in by MARGIN in the median of the rounds, and by half of that in three rounds of four. The
best of many is partly the luckiest, so that winners are measured again, beside what is built in
alone, and must hold once more: so noise does not move a choice. Where nothing wins there is no
line. What was measured stands for its
neighbourhood: a size as far as halfway, as powers of two, to the next ones, the smallest and
largest for all beyond; a number of ranks for those above its half, never for more ranks.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from headway import figures

MARGIN = 0.10
SUFFIXES = ("", "K", "M", "G", "T")


@dataclass(frozen=True)
class Span:
    """From `first` to `last`, both included; None: without an end."""

    first: int
    last: int | None

    def word(self) -> str:
        """As tuning files have it."""
        if self.last is None:
            return f"{number_word(self.first)}.." if self.first else "any"
        if self.first == self.last:
            return number_word(self.first)
        return f"{number_word(self.first) if self.first else ''}..{number_word(self.last)}"

    def holds(self, number: int) -> bool:
        return self.first <= number and (self.last is None or number <= self.last)


@dataclass(frozen=True, eq=False)
class Cell:
    """cores: own or shared. built_in: algorithm that serves without a file. speedups: over what is
    built in, one a round, of every algorithm that was tried."""

    collective: str
    ranks: int
    cores: str
    size: int
    built_in: str
    speedups: Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Line:
    """One line of a tuning file. gains: median speed-ups of its cells."""

    collective: str
    ranks: Span
    sizes: Span
    cores: str
    algorithm: str
    gains: tuple[float, ...]

    def text(self) -> str:
        """A fit knows one node only, so its lines are for that."""
        least, most = min(self.gains), max(self.gains)
        gain = f"{least:.2f}" if f"{least:.2f}" == f"{most:.2f}" else f"{least:.2f} to {most:.2f}"
        return (f"{self.collective:<16}{self.ranks.word():<10}{self.sizes.word():<16}"
                f"{self.cores:<8}{'one':<9}{self.algorithm:<24}# {gain} times as fast")


def number_word(number: int) -> str:
    """8, 64K, 1M; exact."""
    power = 0
    while number and number % 1024 == 0 and power + 1 < len(SUFFIXES):
        number //= 1024
        power += 1
    return f"{number}{SUFFIXES[power]}"


def span_of(word: str) -> Span:
    """Reads what Span.word() writes. Raises ValueError for anything else."""
    if word == "any":
        return Span(0, None)
    first, dots, last = word.partition("..")
    if not dots:
        return Span(_number_of(word), _number_of(word))
    return Span(_number_of(first) if first else 0, _number_of(last) if last else None)


def _number_of(word: str) -> int:
    suffix = word[-1:] if word[-1:] in SUFFIXES[1:] else ""
    return int(word.removesuffix(suffix)) << 10 * SUFFIXES.index(suffix)


def size_spans(sizes: Sequence[int]) -> list[Span]:
    """What sizes, ascending and different, stand for. Only the first may be 0, if it is alone."""
    ends = [1 << round(math.log2(small * large) / 2)
            for small, large in itertools.pairwise(sizes)]
    firsts = [0, *ends]
    lasts = [*(end - 1 for end in ends), None]
    return [Span(first, last) for first, last in zip(firsts, lasts, strict=True)]


def rank_spans(counts: Sequence[int]) -> list[Span]:
    """What numbers of ranks, ascending and different, stand for."""
    below = [1, *counts[:-1]]
    return [Span(max(before + 1, count // 2 + 1), count)
            for before, count in zip(below, counts, strict=True)]


def gain_of(speedups: Sequence[float]) -> float | None:
    """The median speed-up of some rounds, if it is clear enough to go by."""
    if not speedups or figures.spread(speedups).lower < 1 + MARGIN / 2:
        return None
    median = statistics.median(speedups)
    return median if median >= 1 + MARGIN else None


def winner(cell: Cell, preferred: str | None = None) -> tuple[str, float] | None:
    """The algorithm that is to serve a cell, with its speed-up; None: what is built in stays.
    `preferred`, the choice of the neighbour, wins where nothing is clearly faster."""
    beats: dict[str, float] = {}
    for algorithm, values in cell.speedups.items():
        gain = gain_of(values)
        if algorithm != cell.built_in and gain is not None:
            beats[algorithm] = gain
    if not beats:
        return None
    best = max(beats, key=lambda name: beats[name])
    if preferred in beats and beats[preferred] >= beats[best] * (1 - figures.TOLERANCE):
        best = preferred
    return best, beats[best]


def winners(cells: Iterable[Cell]) -> dict[Cell, tuple[str, float] | None]:
    """The choice of every cell; neighbours in size that can share one do."""
    chosen: dict[Cell, tuple[str, float] | None] = {}
    before: Cell | None = None
    for cell in sorted(cells, key=lambda each: (each.collective, each.ranks, each.size)):
        is_neighbor = before is not None and (before.collective, before.ranks) == (
            cell.collective, cell.ranks)
        last = chosen[before] if is_neighbor and before is not None else None
        chosen[cell] = winner(cell, last[0] if last else None)
        before = cell
    return chosen


def lines(chosen: Mapping[Cell, tuple[str, float] | None]) -> list[Line]:
    """The lines that say what was chosen, neighbours merged."""
    result: list[Line] = []
    spans = _spans(chosen)
    for key, ranks in spans.ranks.items():
        of_ranks = []
        collective, cores, count = key
        cells = sorted((cell for cell in chosen
                        if (cell.collective, cell.cores, cell.ranks) == key),
                       key=lambda cell: cell.size)
        for cell in cells:
            found = chosen[cell]
            if found is not None:
                sizes = spans.sizes[(collective, count, cell.size)]
                of_ranks.append(Line(collective, ranks, sizes, cores, found[0], (found[1],)))
        result += _merged(of_ranks, "sizes")
    by_sizes = sorted(result, key=lambda line: (line.collective, line.cores, line.algorithm,
                                                line.sizes.word(), line.ranks.first))
    result = _merged(by_sizes, "ranks")
    return sorted(result, key=lambda line: (line.collective, line.cores, line.ranks.first,
                                            line.sizes.first))


@dataclass(frozen=True)
class _Spans:
    ranks: dict[tuple[str, str, int], Span]
    sizes: dict[tuple[str, int, int], Span]


def _spans(cells: Iterable[Cell]) -> _Spans:
    """What each number of ranks (by collective and cores) and each size (by collective and ranks)
    of the cells stands for."""
    known = list(cells)
    found = _Spans({}, {})
    for collective, cores in sorted({(cell.collective, cell.cores) for cell in known}):
        counts = sorted({cell.ranks for cell in known
                         if (cell.collective, cell.cores) == (collective, cores)})
        for count, span in zip(counts, rank_spans(counts), strict=True):
            found.ranks[(collective, cores, count)] = span
            sizes = sorted({cell.size for cell in known
                            if (cell.collective, cell.ranks) == (collective, count)})
            for size, part in zip(sizes, size_spans(sizes), strict=True):
                found.sizes[(collective, count, size)] = part
    return found


def _merged(those: Sequence[Line], name: str) -> list[Line]:
    """Joins lines that follow each other in `name` and are alike in all else."""
    result: list[Line] = []
    for line in those:
        span: Span = getattr(line, name)
        if result:
            before: Span = getattr(result[-1], name)
            alike = replace(line, gains=(), **{name: before})
            if alike == replace(result[-1], gains=()) and before.last == span.first - 1:
                result[-1] = replace(result[-1], gains=result[-1].gains + line.gains,
                                     **{name: Span(before.first, span.last)})
                continue
        result.append(line)
    return result
