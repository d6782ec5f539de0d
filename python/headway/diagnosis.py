# SPDX-License-Identifier: Apache-2.0
"""What the ratios of communication beside computation mean, in words.

r_overhead: 0 the shorter of the two is hidden, 1 as if one came after the other. r_comp_slowdown:
time of the computation beside communication by its time alone. r_comm: time in MPI calls beside
computation by the communication's time alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

RATIOS = ("r_overhead", "r_comp_slowdown", "r_comm")
TIMES = ("comm_us", "comp_us")

# What counts as near a whole number: spreads of these ratios on a quiet machine are smaller.
NEAR = 0.15
SLOWED = 1.05
# Sides so different in length that the noise of the longer exceeds the shorter.
CORNER = 64.0


@dataclass(frozen=True)
class Diagnosis:
    """What is the matter, and what would help (empty: nothing has to)."""

    cause: str
    cure: str = ""

    def __str__(self) -> str:
        return f"{self.cause}; {self.cure}" if self.cure else self.cause


def diagnose(figures: Mapping[str, float]) -> Diagnosis:
    """Names the cause of a cell's ratios. figures: RATIOS and TIMES."""
    overhead, slowdown, comm = (figures[name] for name in RATIOS)
    comm_us, comp_us = (figures[name] for name in TIMES)
    if max(comm_us, comp_us) > CORNER * min(comm_us, comp_us):
        return Diagnosis("no statement: the noise of the longer side exceeds the shorter one")
    is_slowed = slowdown > SLOWED
    if overhead < -NEAR:
        return Diagnosis("the parts alone were measured slower than both together: noise",
                         "more iterations")
    if overhead <= NEAR:
        if comm > NEAR and comp_us < comm_us:
            return Diagnosis("good overlap, not enough computation: the rest is waited for rightly")
        return Diagnosis("good overlap")
    if is_slowed and comm > 1 + NEAR:
        return Diagnosis("contention without overlap: somebody polls beside the computation, and "
                         "the communication happens in the wait", "gentler polling, a core of its "
                         "own for it, or less imbalance")
    if is_slowed and overhead >= 1 - NEAR:
        return Diagnosis("progress takes the computation's cores", "a core of its own for it")
    if is_slowed:
        return Diagnosis("partial overlap, paid by a slower computation", "a core of its own for "
                         "progress")
    if comm > 1 + NEAR:
        return Diagnosis("the communication itself is slowed beside computation",
                         "have its arithmetic or copies done elsewhere")
    if overhead >= 1 - NEAR:
        return Diagnosis("no progress while the ranks compute", "a progress engine")
    return Diagnosis("part of the steps is overlapped, the rest happens in the wait",
                     "a progress engine that reacts to each step")
