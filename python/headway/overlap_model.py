# SPDX-License-Identifier: Apache-2.0
"""What progress would change in a program's time, from a profile of a run without it.

The model: with a core of n dedicated to progress, computation takes n / (n - 1) as long; calls that
start or complete operations take the least that such a call took; a share alpha of the blocking
calls, rewritten as a start and a wait, does so too. What it takes for granted, and when it fails
(no computation between start and wait), stands beside the figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# A speed-up that is worth a change.
SIGNIFICANT = 1.1
# Of the time in waits, what must lie beside computation for an operation to have a window at all.
WINDOW_LEAST = 0.25


@dataclass(frozen=True)
class Calls:
    """The calls of one class: how many, their time, the least one."""

    count: int = 0
    total_s: float = 0.0
    least_s: float = 0.0


@dataclass(frozen=True)
class Profile:
    """One rank of a run on all cores, without progress. compute_s: outside MPI. hidden_s: of the
    time in waits, what lay beside computation since the start: progress could take it off."""

    cores: int
    compute_s: float
    blocking: Calls
    nonblocking: Calls
    test: Calls
    wait: Calls
    other_s: float = 0.0
    waited_s: float = 0.0
    hidden_s: float = 0.0
    wall_s: float = 0.0

    @property
    def total_s(self) -> float:
        """Time of the run as the sum of its parts."""
        calls = (self.blocking, self.nonblocking, self.test, self.wait)
        return self.compute_s + sum(each.total_s for each in calls) + self.other_s


def nonblocking_s(profile: Profile) -> float:
    """Calls around non-blocking operations that somebody else moves."""
    return sum(each.count * each.least_s
               for each in (profile.nonblocking, profile.test, profile.wait))


def blocking_s(profile: Profile, alpha: float) -> float:
    """Blocking calls of which a share is rewritten as a start and a wait."""
    converted = profile.blocking.count * (profile.nonblocking.least_s + profile.wait.least_s)
    return alpha * converted + (1 - alpha) * profile.blocking.total_s


def dedicated_s(profile: Profile, alpha: float = 0.0, dedicated: int = 1) -> float:
    """Time with so many of the cores dedicated to progress."""
    compute_s = profile.compute_s * profile.cores / (profile.cores - dedicated)
    return compute_s + nonblocking_s(profile) + blocking_s(profile, alpha) + profile.other_s


def agent_s(profile: Profile, alpha: float = 0.0) -> float:
    """Time with progress that takes no core away: at best, as its work is taken for nothing."""
    return (profile.compute_s + nonblocking_s(profile) + blocking_s(profile, alpha)
            + profile.other_s)


def windowed_s(profile: Profile, predicted_s: float) -> float:
    """A prediction for waits of which only `hidden_s` can be hidden: the rest of them stays."""
    if profile.waited_s <= 0:
        return predicted_s
    stays = 1 - min(1.0, profile.hidden_s / profile.waited_s)
    least_s = profile.wait.count * profile.wait.least_s
    return predicted_s + stays * max(0.0, profile.wait.total_s - least_s)


def pays(profile: Profile) -> bool:
    """Whether a dedicated core takes more off MPI than computation loses."""
    return dedicated_s(profile) < profile.total_s


def has_window(profile: Profile) -> bool:
    """Whether operations have computation between start and wait that could hide them. True too
    where there is next to nothing to wait for."""
    if profile.wait.total_s < 0.02 * profile.total_s:
        return True
    return profile.hidden_s >= WINDOW_LEAST * profile.waited_s


def imbalance_s(profiles: Sequence[Profile]) -> float:
    """How much longer the busiest rank computes than the mean: waits that no progress removes."""
    times = [profile.compute_s for profile in profiles]
    return max(times) - sum(times) / len(times)


def read(entry: dict[str, Any], cores: int, least: str = "min_s") -> Profile:
    """A rank's file of the profiler. least: min_s, or percentile_s where the minimum is luck.
    Raises KeyError."""
    classes = entry["classes"]

    def calls(name: str) -> Calls:
        found = classes[name]
        return Calls(found["calls"], found["total_s"], found[least] if found["calls"] else 0.0)

    in_mpi = sum(each["total_s"] for each in classes.values())
    requests = entry["requests"]
    return Profile(
        cores=cores,
        compute_s=entry["wall_s"] - in_mpi,
        blocking=calls("blocking"),
        nonblocking=calls("nonblocking"),
        test=calls("test"),
        wait=calls("wait"),
        other_s=classes["other"]["total_s"],
        waited_s=requests["wait_s"],
        hidden_s=requests["hidden_s"],
        wall_s=entry["wall_s"],
    )
