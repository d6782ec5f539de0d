# SPDX-License-Identifier: Apache-2.0
"""Jobs by seed: one after the other for some minutes, or one seed many times. A seed decides all
that is asked for; in which order threads of the system run is not in its power, so --replay tries
it many times. The first job that fails ends the run with the command that repeats its seed."""

import argparse
import os
import shlex
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence

REPLAYS = 50
SHOWN_LINES = 40


def outcome(command: Sequence[str], environment: Mapping[str, str], settings: Mapping[str, str],
            limit_s: float) -> str:
    """Runs a job with `settings` added to its environment. What went wrong; "" if nothing did."""
    process = subprocess.Popen(
        command, env={**environment, **settings}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
    try:
        output, _ = process.communicate(timeout=limit_s)
        why = f"exit code {process.returncode}" if process.returncode else ""
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        output, _ = process.communicate()
        why = f"it hung for {limit_s:g} s"
    if not why:
        return ""
    words = [*(f"{name}={value}" for name, value in settings.items()), *command]
    tail = "\n".join(output.splitlines()[-SHOWN_LINES:])
    return f"{why}\n{tail}\nThe job was: env {shlex.join(words)}"


def options_of(about: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=about,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=0.75, help="time to spend")
    parser.add_argument("--seed", type=int, help="the first seed; else the clock chooses it")
    parser.add_argument("--replay", type=int, metavar="SEED", help="one seed, many times")
    return parser.parse_args()


def run(what: str, script: str, options: argparse.Namespace, job: Callable[[int], str]) -> int:
    """`job` takes a seed and says what went wrong, "" if nothing did. Returns the exit code."""
    begin = time.monotonic()
    seeds = [options.replay] * REPLAYS if options.replay is not None else []
    first = next(value for value in (options.replay, options.seed, int(time.time()))
                 if value is not None)
    done = 0
    while seeds[done:] or (not seeds and time.monotonic() - begin < options.minutes * 60):
        seed = seeds[done] if seeds else first + done
        why = job(seed)
        if why:
            print(f"seed {seed} failed after {done} others: {why}\n"
                  f"Repeat it: python3 {script} --replay {seed}", flush=True)
            print(f"{done} passed, 1 failed")
            return 1
        done += 1
    which = "of" if seeds else "from"
    print(f"{what}: {done} jobs {which} seed {first}, {time.monotonic() - begin:.0f} s")
    print(f"{done} passed, 0 failed")
    return 0 if done else 1
