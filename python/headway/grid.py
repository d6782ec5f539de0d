# SPDX-License-Identifier: Apache-2.0
"""Cells of communication by computation time, for benches of bench/mpi/nbc.c.

A `[grid]` table of a description stands for the jobs of its diagonal, where both times are equal:

operations = names as in nbc_calls.c; targets_ms = [1, 2, ...]; ranks = [2, 4]
size     = "64 KiB": the message; without it the program finds the size that takes the time
delayed  = true: HEADWAY_DELAY_US is found with which the communication takes the time

The cells of one operation and number of ranks have a case "OPERATION, median" (with ", N ranks"
where N is not the first of `ranks`), the median over the diagonal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_CELL = re.compile(
    r"(?P<operation>\w+) (?:(?P<size>\d+ [KM]?i?B), )?(?P<comm>[\d.]+)(?: x (?P<comp>[\d.]+))? ms"
    r"(?:, (?P<ranks>\d+) ranks)?"
)


@dataclass(frozen=True)
class Cell:
    """A case of nbc.c. ranks: 0 where the name does not say."""

    operation: str
    size: str
    comm_ms: float
    comp_ms: float
    ranks: int

    @property
    def called(self) -> str:
        """The name that the program knows: without the ranks."""
        size = f"{self.size}, " if self.size else ""
        comp = f" x {self.comp_ms:g}" if self.comp_ms != self.comm_ms else ""
        return f"{self.operation} {size}{self.comm_ms:g}{comp} ms"


@dataclass(frozen=True)
class Grid:
    """The table; see the head of this file."""

    operations: tuple[str, ...]
    targets_ms: tuple[float, ...]
    ranks: tuple[int, ...]
    size: str = ""
    delayed: bool = False

    def name(self, cell: Cell) -> str:
        """The name of a cell as a case of the bench."""
        many = f", {cell.ranks} ranks" if cell.ranks != self.ranks[0] else ""
        return cell.called + many

    def diagonals(self) -> list[tuple[str, list[Cell]]]:
        """For each operation and number of ranks: the name of its median, and its cells."""
        return [
            (
                f"{operation}, median" + (f", {ranks} ranks" if ranks != self.ranks[0] else ""),
                [Cell(operation, self.size, target, target, ranks) for target in self.targets_ms],
            )
            for ranks in self.ranks
            for operation in self.operations
        ]

    def cell(self, name: str) -> Cell | None:
        """The cell of this name, which need not be on the diagonal; None: no cell's name."""
        found = parse(name)
        if found is None:
            return None
        return Cell(found.operation, found.size or self.size, found.comm_ms, found.comp_ms,
                    found.ranks or self.ranks[0])


def parse(name: str) -> Cell | None:
    """Reads the name of a case; None where it names no cell."""
    match = _CELL.fullmatch(name)
    if match is None:
        return None
    comm_ms = float(match["comm"])
    return Cell(match["operation"], match["size"] or "", comm_ms,
                float(match["comp"] or comm_ms), int(match["ranks"] or 0))


def read(entry: dict[str, Any]) -> Grid:
    """Makes a grid from its table; raises KeyError, TypeError, ValueError."""
    return Grid(
        operations=tuple(map(str, entry["operations"])),
        targets_ms=tuple(map(float, entry["targets_ms"])),
        ranks=tuple(map(int, entry["ranks"])),
        size=str(entry.get("size", "")),
        delayed=bool(entry.get("delayed", False)),
    )


def by_job(grid: Grid, cells: Sequence[Cell]) -> list[list[Cell]]:
    """Cells that one job can run: of the same ranks and operation, with one delay."""
    jobs: dict[tuple[object, ...], list[Cell]] = {}
    for cell in cells:
        key: tuple[object, ...] = (cell.ranks, cell.operation)
        if grid.delayed:
            key += (cell.comm_ms, cell.comp_ms)
        jobs.setdefault(key, []).append(cell)
    return list(jobs.values())
