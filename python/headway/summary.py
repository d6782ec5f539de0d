# SPDX-License-Identifier: Apache-2.0
"""What is required of ours and whether it holds, over all benches: read from their JSON lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.presentation import short_number


@dataclass(frozen=True)
class Claim:
    """One limit. about: the metric, or `speed-up of METRIC`; against: of which library."""

    bench: str
    case: str
    about: str
    against: str
    median: float
    lower: float
    upper: float
    sign: str
    required: float
    aim: float | None
    verdict: str


def claims(entries: Iterable[Mapping[str, Any]]) -> list[Claim]:
    """Every limit among the entries of JSON lines, in their order."""
    return [_claim(entry) for entry in entries if entry.get("verdict") is not None]


def _claim(entry: Mapping[str, Any]) -> Claim:
    is_speedup = entry["metric"] == "speedup"
    return Claim(
        bench=entry["bench"],
        case=entry["case"],
        about=f"speed-up of {entry['of']}" if is_speedup else entry["metric"],
        against=entry.get("rival", ""),
        median=entry["median"],
        lower=entry["lower"],
        upper=entry["upper"],
        sign=entry["sign"],
        required=entry["required"],
        aim=entry["aim"],
        verdict=entry["verdict"],
    )


def lines(found: Sequence[Claim]) -> list[str]:
    """The limits as a table, and how many hold."""
    if not found:
        return ["summary: no limit was measured"]
    rows = [["summary", "case", "figure", "median (quartiles)", "against", "required", "verdict"]]
    rows += [
        [
            claim.bench,
            claim.case,
            claim.about,
            f"{short_number(claim.median)} ({short_number(claim.lower)} .. "
            f"{short_number(claim.upper)})",
            claim.against or "-",
            f"{claim.sign} {claim.required:g}",
            claim.verdict,
        ]
        for claim in found
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    counts = Counter(claim.verdict for claim in found)
    told = ", ".join(f"{counts[word]} {word}" for word in ("holds", "missed", "open"))
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ] + [f"of {len(found)} limits: {told}"]
