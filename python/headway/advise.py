# SPDX-License-Identifier: Apache-2.0
"""`headway advise -n RANKS PROGRAM [ARGUMENT ...]`: whether progress would make a program faster.

Runs the program once without progress while its computation uses all cores, looks at its MPI calls
(a library that is loaded before any MPI library of the standard ABI), and predicts its time with a
core dedicated to progress, with an agent, and with blocking calls rewritten as non-blocking ones.
Says so where operations have no computation between start and wait that could hide them. Exit code:
0 told, 2 not.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway import overlap_model as model
from headway.presentation import aligned, short_number

ROOT = Path(__file__).resolve().parents[2]
ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)


class AdviseError(Exception):
    """Nothing can be said; the text says why and what to do."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command line of `headway advise`."""
    parser.add_argument("-n", type=int, metavar="RANKS", help="ranks to start with our mpiexec")
    parser.add_argument("--launcher", metavar="COMMAND",
                        help="start ranks so instead, with any MPI library of the standard ABI: "
                             "'/opt/mpich/bin/mpiexec -n 4'")
    parser.add_argument("--cores", type=int, metavar="N",
                        help="cores of a node that computation uses (default: all of this machine)")
    parser.add_argument("--read", type=Path, metavar="DIR",
                        help="tell of a profile that is there (HEADWAY_ADVISE_DIR), run nothing")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the ranks' profiles there")
    parser.add_argument("--json", action="store_true", help="print the prediction as JSON")
    parser.add_argument("--stage", help="staged Headway (default: HEADWAY_STAGE or build/stage)")
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM ...",
                        help="the program and its arguments")


def main(options: argparse.Namespace) -> int:
    """Runs what the command line says; messages for the user go to standard error."""
    program = [word for word in options.program if word != "--"] if options.program else []
    try:
        if options.read is not None:
            entries = read_profiles(options.read)
        else:
            entries = _run(options, program)
        cores = options.cores or max(2, max(entry["cpus"] for entry in entries),
                                     os.cpu_count() or 2)
        if cores < 2:
            raise AdviseError("--cores takes 2 or more: one of them would be dedicated.")
        found = advice(entries, cores)
    except AdviseError as error:
        print(f"headway advise: {error}", file=sys.stderr)
        return 2
    print(json.dumps(found.fields()) if options.json else "\n".join(found.lines()))
    return 0


def _library(stage: Path) -> Path:
    for path in (stage / "lib" / "libheadway_advise.so", stage / "lib64" / "libheadway_advise.so"):
        if path.exists():
            return path
    raise AdviseError(f"{stage} has no lib/libheadway_advise.so; run './dev build' or name the "
                      "stage with --stage.")


def _run(options: argparse.Namespace, program: Sequence[str]) -> list[dict[str, Any]]:
    if not program:
        raise AdviseError("name a program: headway advise -n 2 ./program.")
    stage = Path(options.stage or os.environ.get("HEADWAY_STAGE") or ROOT / "build" / "stage")
    library = _library(stage.resolve())
    if options.launcher:
        launcher = shlex.split(options.launcher)
    else:
        launcher = [str(stage / "bin" / "mpiexec"), "-n", str(options.n or 2)]
    environment = dict(os.environ)
    # Every library without progress, as far as it can be told.
    environment["HEADWAY_PROGRESS"] = "none"
    environment["MPIR_CVAR_ASYNC_PROGRESS"] = "0"
    environment["I_MPI_ASYNC_PROGRESS"] = "0"
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("rank-*.json"):
            old.unlink()
        settings = [f"LD_PRELOAD={library}", f"HEADWAY_ADVISE_DIR={folder.resolve()}"]
        command = [*launcher, "env", *settings, *program]
        try:
            outcome = subprocess.run(command, env=environment, check=False)
        except OSError as error:
            raise AdviseError(f"{command[0]} cannot be started: {error}.") from error
        if outcome.returncode != 0:
            raise AdviseError(f"the program ended with code {outcome.returncode}; nothing is told "
                              "of a run that failed.")
        return read_profiles(folder)


def read_profiles(folder: Path) -> list[dict[str, Any]]:
    """The files of all ranks. Raises AdviseError where there are none, or not of all."""
    entries = []
    for path in sorted(folder.glob("rank-*.json")):
        try:
            entries.append(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, json.JSONDecodeError) as error:
            raise AdviseError(f"{path}: {error}; run the program again.") from error
    if not entries:
        raise AdviseError(f"no rank has left a profile in {folder}: the program makes no call of "
                          "MPI_Init and MPI_Finalize through the standard ABI (libmpi_abi.so).")
    if len(entries) != entries[0]["ranks"]:
        raise AdviseError(f"{len(entries)} of {entries[0]['ranks']} ranks have left a profile in "
                          f"{folder}; on several hosts it must be a folder that they share.")
    return entries


@dataclass(frozen=True)
class Advice:
    """What can be said of a program. Times are those of the slowest rank, in seconds."""

    ranks: int
    cores: int
    measured_s: float
    dedicated_s: float
    dedicated_windowed_s: float
    agent_s: float
    agent_windowed_s: float
    converted_s: dict[float, float]  # by alpha, with a dedicated core
    has_window: bool
    pays: bool
    imbalance_s: float
    profile: model.Profile  # of the slowest rank
    least_by_percentile_s: float

    def fields(self) -> dict[str, Any]:
        """For --json."""
        return {
            "ranks": self.ranks, "cores": self.cores, "measured_s": self.measured_s,
            "dedicated_s": self.dedicated_s, "dedicated_windowed_s": self.dedicated_windowed_s,
            "agent_s": self.agent_s, "agent_windowed_s": self.agent_windowed_s,
            "converted_s": {f"{alpha:g}": time for alpha, time in self.converted_s.items()},
            "has_window": self.has_window, "pays": self.pays, "imbalance_s": self.imbalance_s,
            "dedicated_by_percentile_s": self.least_by_percentile_s,
        }

    def lines(self) -> list[str]:
        """For a reader."""
        profile = self.profile
        rows = [["calls", "number", "s in all", "us at least"]]
        for name, calls in (("blocking", profile.blocking), ("start", profile.nonblocking),
                            ("test", profile.test), ("wait", profile.wait)):
            rows.append([name, str(calls.count), short_number(calls.total_s),
                         short_number(calls.least_s * 1e6)])
        rows.append(["other", "", short_number(profile.other_s), ""])
        rows.append(["computation", "", short_number(profile.compute_s), ""])
        predicted = [["predicted", "s", "speed-up", "as far as windows reach", "speed-up"]]
        predicted += [
            self._row("a dedicated core", self.dedicated_s, self.dedicated_windowed_s),
            self._row("the agent, at best", self.agent_s, self.agent_windowed_s),
        ]
        predicted += [
            self._row(f"dedicated, {alpha:.0%} of blocking calls converted", time, None)
            for alpha, time in self.converted_s.items() if alpha > 0
        ]
        return [
            f"{self.ranks} ranks, {self.cores} cores a node; the slowest rank took "
            f"{short_number(self.measured_s)} s without progress", "",
            *aligned(rows), "", *aligned(predicted), "", *self._verdict(),
        ]

    def _row(self, name: str, time_s: float, windowed_s: float | None) -> list[str]:
        windowed = ["", ""]
        if windowed_s is not None:
            windowed = [short_number(windowed_s), f"{self.measured_s / windowed_s:.2f}"]
        return [name, short_number(time_s), f"{self.measured_s / time_s:.2f}", *windowed]

    def _verdict(self) -> list[str]:
        lines = []
        if not self.has_window:
            lines.append(
                "no window to overlap: operations are waited for without computation between start "
                "and wait, so no progress engine helps; move computation between them first.")
        elif self.measured_s / self.dedicated_windowed_s > model.SIGNIFICANT:
            lines.append("a dedicated core pays: mpiexec --progress dedicated.")
        elif self.measured_s / self.agent_windowed_s > model.SIGNIFICANT:
            lines.append("progress pays, a core of its own for it does not: keep the agent.")
        else:
            lines.append("progress changes little here.")
        if self.imbalance_s > 0.1 * self.measured_s:
            lines.append(f"imbalance: the busiest rank computes {short_number(self.imbalance_s)} s "
                         "longer than the mean, which waits show and no progress removes.")
        lines.append("taken for granted: computation scales with cores; the least call of each "
                     f"kind is one without progress (by the first percentile: "
                     f"{short_number(self.least_by_percentile_s)} s with a dedicated core).")
        return lines


def advice(entries: Sequence[dict[str, Any]], cores: int) -> Advice:
    """What the profiles of all ranks say. Raises AdviseError."""
    try:
        profiles = [model.read(entry, cores) for entry in entries]
        by_percentile = [model.read(entry, cores, "percentile_s") for entry in entries]
    except KeyError as error:
        raise AdviseError(f"{error} is missing in a profile; it is of another version.") from error

    def slowest(time_of: Callable[[model.Profile], float]) -> float:
        return max(time_of(profile) for profile in profiles)

    def windowed(time_of: Callable[[model.Profile], float]) -> float:
        return slowest(lambda profile: model.windowed_s(profile, time_of(profile)))

    return Advice(
        ranks=len(profiles),
        cores=cores,
        measured_s=slowest(lambda profile: profile.wall_s),
        dedicated_s=slowest(model.dedicated_s),
        dedicated_windowed_s=windowed(model.dedicated_s),
        agent_s=slowest(model.agent_s),
        agent_windowed_s=windowed(model.agent_s),
        converted_s={alpha: max(model.dedicated_s(profile, alpha) for profile in profiles)
                     for alpha in ALPHAS},
        has_window=all(model.has_window(profile) for profile in profiles),
        pays=all(model.pays(profile) for profile in profiles),
        imbalance_s=model.imbalance_s(profiles),
        profile=max(profiles, key=lambda profile: profile.wall_s),
        least_by_percentile_s=max(model.dedicated_s(profile) for profile in by_percentile),
    )
