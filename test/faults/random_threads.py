# SPDX-License-Identifier: Apache-2.0
"""Random traffic of several threads in each rank, by seed, with faults: frames late and overtaking
each other, no room for messages before their receive, a slow thread, tiny pieces.

    python3 test/faults/random_threads.py [--minutes 1] [--seed 1]
    python3 test/faults/random_threads.py --replay SEED

A seed decides everything that is asked for: ranks, what they are, threads, settings and the traffic
of point_to_point/random_traffic.c, which checks each message against a model (seeds.py).
"""

import os
import random
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test"))

import seeds  # noqa: E402

STAGE = Path(os.environ.get("HEADWAY_STAGE", ROOT / "build" / "stage")).resolve()
PROGRAM = ROOT / "test" / "mpi" / "point_to_point" / "random_traffic.c"
WATCHDOG_S = 120


@dataclass(frozen=True)
class Draw:
    """What a seed asks for."""

    hosting: list[str]  # words of mpiexec
    settings: dict[str, str]


def draw(seed: int) -> Draw:
    chance = random.Random(seed)
    ranks, threads = chance.randint(2, 4), chance.randint(2, 4)
    hosting = ["-n", str(ranks)]
    kind = chance.choice(("process", "process", "thread", "ult"))
    if kind != "process":
        hosting = ["--ranks", kind, *hosting]
        if chance.random() < 0.3:
            hosting = ["--processes-per-node", "2", *hosting]
    settings = {
        "CHECK_SEED": str(seed), "CHECK_SEEDS": "1", "CHECK_AT_ONCE": str(threads),
        "CHECK_MESSAGES": str(chance.choice((8, 16, 24))), "CHECK_WATCHDOG": str(WATCHDOG_S // 2)}
    if chance.random() < 0.5:
        settings["CHECK_ONE_COMM"] = "1"
    if chance.random() < 0.4:
        settings["CHECK_SLOW_US"] = str(chance.choice((50, 500, 3000)))
    # Faults, each in a part of the jobs: a fault that is always there hides what it prevents.
    faults = {
        "delay_jitter_us": (0.4, ("20", "300", "2000")),
        "delay_us": (0.1, ("10", "200")),
        "unexpected_limit": (0.4, ("0", "1K", "64K")),
        "eager_limit": (0.3, ("0", "100", "4K")),
        "copy_piece": (0.3, ("4K",)),
        "copy_at_once": (0.2, ("0",)),
        "cma": (0.3, ("off",)),
        "progress": (0.3, ("none", "thread", "idle")),
        "yields": (0.3, ("0", "1")),
        "matching": (0.1, ("list",)),
        "thread_posts": (0.1, ("inside",)),
        "instances": (0.7, ("2", "3", "8")),
    }
    for name, (share, values) in faults.items():
        if chance.random() < share:
            settings[f"HEADWAY_{name.upper()}"] = chance.choice(values)
    # The threads' messages are spread over the instances by their tags.
    if "CHECK_ONE_COMM" in settings and chance.random() < 0.6:
        settings["CHECK_NO_ANY_TAG"] = "1"
    return Draw(hosting, settings)


def build(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / PROGRAM.stem
    subprocess.run([STAGE / "bin/mpicc", "-std=gnu99", "-O1", "-g", PROGRAM, "-o", program,
                    "-lpthread"], check=True)
    return program


def run(program: Path, drawn: Draw) -> str:
    """What went wrong; "" if nothing did."""
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith(("HEADWAY_", "CHECK_", "PMI_", "PMIX_"))}
    command = [str(STAGE / "bin/mpiexec"), *drawn.hosting, str(program)]
    return seeds.outcome(command, clean, drawn.settings, WATCHDOG_S)


def main() -> int:
    options = seeds.options_of(__doc__)
    program = build(ROOT / "build" / "random_threads")
    return seeds.run("random traffic of threads", "test/faults/random_threads.py", options,
                     lambda seed: run(program, draw(seed)))


if __name__ == "__main__":
    sys.exit(main())
