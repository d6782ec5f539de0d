# SPDX-License-Identifier: Apache-2.0
"""./dev bench diagnostics [--cases A;B]: what diagnostics cost a program that asks for none.

Counts the instructions of `./dev bench instructions` three times each, in turn: with this build, in
which comparing calls (HEADWAY_CHECK) and the deadlock report are there but not asked for, and with
one of the same sources without them (preset `bare`, whose library takes the place of the other in a
copy of the stage). Exit code 1 where a message of 8 bytes takes an instruction more.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tools import build, packages, tree
from tools.terminal import StepFailed, say

LIBRARY = "libmpi_abi.so.1"
MESSAGES = "8 B"  # cases that begin with it are messages; the others are starts of collectives
ROUNDS = 3  # one count in ten is some instructions off: a rank found its message a look later
NOISE = 0.5  # of a count that is a difference of two over 1000 repetitions


def bare_stage(stage: Path) -> Path:
    """A copy of the stage with the library that has no diagnostics."""
    build.build("bare", ("mpi_abi",))
    target = tree.stage_of("bare")
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(stage, target, symlinks=True)
    built = next(tree.build_of("bare").rglob(LIBRARY))
    place = target / "lib" / LIBRARY
    shutil.copy2(built.resolve(), place.resolve() if place.is_symlink() else place)
    return target


def read_counts(lines: str) -> dict[str, float]:
    """Instructions by case, from what `headway bench --json -` writes."""
    counts = {}
    for line in lines.splitlines():
        entry = json.loads(line)
        if (entry.get("metric"), entry.get("library")) == ("instructions", "headway"):
            counts[entry["case"]] = float(entry["median"])
    return counts


def count(stage: Path, options: list[str]) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "headway", "bench", "instructions", "--libraries", "headway",
         "--json", "-", "--stage", stage, *options], cwd=tree.ROOT, stdout=subprocess.PIPE,
        text=True, check=False, env={**os.environ, "PYTHONPATH": str(tree.ROOT / "python")})
    counts = read_counts(done.stdout) if done.returncode == 0 else {}
    if not counts:
        raise StepFailed("the instructions could not be counted; see above")
    return counts


def median_of(rounds: Sequence[dict[str, float]]) -> dict[str, float]:
    return {case: statistics.median(counts[case] for counts in rounds) for case in rounds[0]}


def lines_of(with_them: dict[str, float], without: dict[str, float]) -> list[str]:
    return [f"  {case:<28} {with_them[case]:8.1f} with, {without[case]:8.1f} without diagnostics: "
            f"{with_them[case] - without[case]:+.1f}" for case in with_them if case in without]


def is_free(with_them: dict[str, float], without: dict[str, float]) -> bool:
    """Whether no message costs more with them; false where none was counted both times."""
    messages = [case for case in with_them if case.startswith(MESSAGES) and case in without]
    return bool(messages) and all(
        with_them[case] - without[case] < NOISE for case in messages)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev bench diagnostics", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", metavar="A;B", help="only these of ./dev bench instructions")
    cases = parser.parse_args(arguments).cases
    options = [] if cases is None else ["--cases", cases]
    packages.require("debuggers")
    stage = build.build()
    bare = bare_stage(stage)
    rounds = [(count(stage, options), count(bare, options)) for _ in range(ROUNDS)]
    with_them, without = (median_of(counts) for counts in zip(*rounds, strict=True))
    say("instructions of diagnostics that nobody asked for:")
    for line in lines_of(with_them, without):
        say(line)
    return 0 if is_free(with_them, without) else 1
