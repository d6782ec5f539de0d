# SPDX-License-Identifier: Apache-2.0
"""Random traffic of several threads in each rank, by seed, with faults: frames late and overtaking
each other, no room for messages before their receive, a slow thread, tiny pieces.

    python3 test/faults/random_threads.py [--minutes 1] [--seed 1]
    python3 test/faults/random_threads.py --replay SEED

A seed decides everything that is asked for: ranks, what they are, threads, settings and the traffic
of point_to_point/random_traffic.c, which checks each message against a model. A job that fails or
hangs ends the run with the command that repeats its seed. The order in which threads of the system
run is not in a seed's power; so --replay tries it many times.
"""

import argparse
import os
import random
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STAGE = Path(os.environ.get("HEADWAY_STAGE", ROOT / "build" / "stage")).resolve()
PROGRAM = ROOT / "test" / "mpi" / "point_to_point" / "random_traffic.c"
WATCHDOG_S = 120
REPLAYS = 50
SHOWN_LINES = 40


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
    process = subprocess.Popen(
        command, env=clean | drawn.settings, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
    try:
        output, _ = process.communicate(timeout=WATCHDOG_S)
        why = f"exit code {process.returncode}" if process.returncode else ""
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        output, _ = process.communicate()
        why = f"it hung for {WATCHDOG_S} s"
    if not why:
        return ""
    words = [*(f"{name}={value}" for name, value in drawn.settings.items()), *command]
    tail = "\n".join(output.splitlines()[-SHOWN_LINES:])
    return f"{why}\n{tail}\nThe job was: env {shlex.join(words)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=0.75, help="time to spend")
    parser.add_argument("--seed", type=int, help="the first seed; else the clock chooses it")
    parser.add_argument("--replay", type=int, metavar="SEED", help="one seed, many times")
    options = parser.parse_args()
    program = build(ROOT / "build" / "random_threads")
    begin = time.monotonic()
    first = options.seed if options.seed is not None else int(time.time())
    seeds = [options.replay] * REPLAYS if options.replay is not None else []
    done = 0
    while seeds[done:] or (not seeds and time.monotonic() - begin < options.minutes * 60):
        seed = seeds[done] if seeds else first + done
        why = run(program, draw(seed))
        if why:
            print(f"seed {seed} failed after {done} others: {why}\n"
                  f"Repeat it: python3 test/faults/random_threads.py --replay {seed}", flush=True)
            print(f"{done} passed, 1 failed")
            return 1
        done += 1
    took_s = time.monotonic() - begin
    print(f"random traffic of threads: {done} jobs from seed {first} on, {took_s:.0f} s")
    print(f"{done} passed, 0 failed")
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main())
