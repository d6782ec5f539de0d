# SPDX-License-Identifier: Apache-2.0
"""Statistics of a bench: what the rounds say about one case.

A *figure* is what one job of one library says about one case: the median of the job's samples.
A *series* is a library's figures by round number. The speed-up of a round is rival / ours for
times and ours / rival for rates, so that more than 1 means ours is faster; the speed-up of a case
is the median over the rounds that both have.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

Series = Mapping[int, float]

# After the last round, a median that misses the limit by less than this part still holds: the
# machine cannot tell the two apart.
TOLERANCE = 0.05


@dataclass(frozen=True)
class Spread:
    """Least, quartiles and greatest of some numbers."""

    least: float
    lower: float
    median: float
    upper: float
    greatest: float

    @property
    def relative(self) -> float:
        """Distance of the quartiles as a part of the median (0 where the median is 0)."""
        return (self.upper - self.lower) / self.median if self.median else 0.0


def spread(values: Sequence[float]) -> Spread:
    """Spread of at least one value; quartiles by linear interpolation."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("spread of no values")
    return Spread(
        ordered[0],
        _quantile(ordered, 0.25),
        statistics.median(ordered),
        _quantile(ordered, 0.75),
        ordered[-1],
    )


def _quantile(ordered: Sequence[float], part: float) -> float:
    place = part * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def best_library(series: Mapping[str, Series], lower_is_better: bool) -> str | None:
    """The library with the best median; None where no library has a figure."""
    medians = {name: statistics.median(line.values()) for name, line in series.items() if line}
    if not medians:
        return None
    choose = min if lower_is_better else max
    return choose(medians, key=lambda name: medians[name])


def speedups(ours: Series, rival: Series, lower_is_better: bool) -> dict[int, float]:
    """Speed-up of each round that both have; a round with a figure of 0 tells nothing."""
    result = {}
    for number in sorted(set(ours) & set(rival)):
        top, bottom = rival[number], ours[number]
        if not lower_is_better:
            top, bottom = bottom, top
        if top > 0 and bottom > 0:
            result[number] = top / bottom
    return result


class Verdict(Enum):
    """Whether a limit holds."""

    HOLDS = "holds"
    MISSED = "missed"
    OPEN = "open"


def judge(
    values: Sequence[float], required: float, is_last_round: bool, at_most: bool = False
) -> Verdict:
    """Judges the values of the rounds so far against the limit: they must be at least `required`,
    or at most.

    Decided as soon as the limit lies outside the quartiles or there is no spread. Inside, more
    rounds are asked for (OPEN); after the last one a median within TOLERANCE of the limit holds.
    """
    if not values:
        return Verdict.OPEN
    found = spread(values)
    slack = 0.0
    if found.lower <= required <= found.upper and found.lower < found.upper:
        if not is_last_round:
            return Verdict.OPEN
        slack = abs(required) * TOLERANCE
    margin = required - found.median if at_most else found.median - required
    return Verdict.HOLDS if margin + slack >= 0 else Verdict.MISSED
