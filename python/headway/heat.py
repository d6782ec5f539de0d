# SPDX-License-Identifier: Apache-2.0
"""Maps of communication by computation time, and what all ranks saw, for the page of figures.

A map: {metric, library, title, comm_ms, comp_ms, cells}: cells are rows from the longest
computation to the shortest, each a list of null or {value, lower, upper, samples, colour, words,
case}: a median, its quartiles and how many rounds they are of. A view of all ranks: {library,
title, bars}: bars are {case, least, median, greatest, call, comp, wait}.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from headway import grid

Entry = dict[str, Any]

MAPPED = ("r_overhead", "r_comp_slowdown", "r_comm")
RANKS = {"least": "rank_overhead_least", "median": "rank_overhead_median",
         "greatest": "rank_overhead_greatest", "call": "share_call", "comp": "share_comp",
         "wait": "share_wait"}

_Colour = tuple[int, int, int]
BLUE, GREEN, YELLOW, RED = (58, 110, 196), (52, 160, 84), (240, 214, 70), (204, 52, 44)
# By metric, values and their colours; between two of them colours are mixed, beyond they stay.
SCALES: Mapping[str, Sequence[tuple[float, _Colour]]] = {
    "r_overhead": ((-0.5, BLUE), (0.0, GREEN), (1.0, YELLOW), (2.0, RED)),
    "r_comm": ((0.0, BLUE), (0.5, GREEN), (1.0, YELLOW), (2.0, RED)),
    "r_comp_slowdown": ((1.0, BLUE), (1.05, GREEN), (1.25, YELLOW), (2.0, RED)),
}


def colour(metric: str, value: float) -> str:
    """The colour of a value as `#rrggbb`."""
    scale = SCALES[metric]
    if value <= scale[0][0]:
        return _hex(scale[0][1])
    for (low, below), (high, above) in itertools.pairwise(scale):
        if value <= high:
            part = (value - low) / (high - low)
            mixed = [round(b + (a - b) * part) for b, a in zip(below, above, strict=True)]
            return _hex((mixed[0], mixed[1], mixed[2]))
    return _hex(scale[-1][1])


def _hex(parts: _Colour) -> str:
    return "#" + "".join(f"{part:02x}" for part in parts)


def maps(lines: Sequence[Entry]) -> list[Entry]:
    """The maps of a bench's JSON lines: one a metric, library, operation and number of ranks that
    has cells."""
    words = {(line["library"], line["case"]): line["words"] for line in lines
             if line["metric"] == "diagnosis"}
    found: dict[tuple[str, ...], dict[tuple[float, float], Entry]] = {}
    for line in lines:
        cell = grid.parse(line["case"]) if line["metric"] in MAPPED else None
        if cell is None or "median" not in line:
            continue
        title = _title(cell)
        entry = {"value": line["median"], "lower": line["lower"], "upper": line["upper"],
                 "samples": len(line["samples"]), "colour": colour(line["metric"], line["median"]),
                 "words": words.get((line["library"], line["case"]), ""), "case": line["case"]}
        key = (title, line["library"], line["metric"])
        found.setdefault(key, {})[(cell.comm_ms, cell.comp_ms)] = entry
    return [_map(title, library, metric, cells)
            for (title, library, metric), cells in sorted(found.items())]


def _title(cell: grid.Cell) -> str:
    size = f" of {cell.size}" if cell.size else ""
    return f"{cell.operation}{size}" + (f", {cell.ranks} ranks" if cell.ranks else "")


def _map(
    title: str, library: str, metric: str, cells: Mapping[tuple[float, float], Entry]
) -> Entry:
    comm_ms = sorted({comm for comm, _comp in cells})
    comp_ms = sorted({comp for _comm, comp in cells}, reverse=True)
    rows = [[cells.get((comm, comp)) for comm in comm_ms] for comp in comp_ms]
    return {"metric": metric, "library": library, "title": title, "comm_ms": comm_ms,
            "comp_ms": comp_ms, "cells": rows}


def all_ranks(lines: Sequence[Entry]) -> list[Entry]:
    """The views of all ranks: of the cells whose two times are equal."""
    found: dict[tuple[str, str], dict[str, Entry]] = {}
    for line in lines:
        names = [name for name, metric in RANKS.items() if metric == line["metric"]]
        cell = grid.parse(line["case"]) if names else None
        if cell is None or cell.comm_ms != cell.comp_ms or "median" not in line:
            continue
        bars = found.setdefault((_title(cell), line["library"]), {})
        bar = bars.setdefault(line["case"], {"case": line["case"], "comm_ms": cell.comm_ms})
        bar[names[0]] = line["median"]
    views = []
    for (title, library), bars in sorted(found.items()):
        whole = [bar for bar in bars.values() if all(name in bar for name in RANKS)]
        if whole:
            whole.sort(key=lambda bar: float(bar["comm_ms"]))
            views.append({"title": title, "library": library, "bars": whole})
    return views
