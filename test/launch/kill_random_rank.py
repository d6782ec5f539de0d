# SPDX-License-Identifier: Apache-2.0
"""Starts a program under mpiexec again and again and kills a random rank at a random moment.

    kill_random_rank.py [--count N] [--seed S] [--ranks R] [--latest SECONDS] PROGRAM [ARGUMENT...]

Each time the job must end with code 137 and exactly one sentence that names the rank and its pid,
and leave no process, shared memory or socket. The program must run for longer than --latest, or
for ever; a job that was over before the blow is started again with an earlier one. Exit code 0: all
was well. The seed makes a run repeatable as far as the ranks and moments go.
"""

import argparse
import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

import fixture

RANK_VARIABLE = b"PMI_RANK="


@dataclass
class Blow:
    rank: int
    after_s: float


def pids_by_rank(mark: str, mpiexec_pid: int) -> dict[int, int]:
    """Ranks of the job: children of mpiexec that carry a rank in their first environment."""
    found = {}
    for pid in fixture.marked_processes(mark):
        try:
            variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue
        ranks = [entry for entry in variables if entry.startswith(RANK_VARIABLE)]
        if parent == mpiexec_pid and ranks:
            found[int(ranks[0].removeprefix(RANK_VARIABLE))] = pid
    return found


def problems_after(mark: str, memory: set[str], sockets: set[str]) -> list[str]:
    left = fixture.marked_processes(mark)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    problems = [f"process {pid} was left behind" for pid in left]
    problems += [f"/dev/shm/{name} was left behind" for name in fixture.shared_memory() - memory]
    return problems + [f"socket {name} was left behind" for name in fixture.sockets() - sockets]


def judge(code: int, err: str, rank: int, pid: int) -> list[str]:
    problems = []
    if code != 128 + signal.SIGKILL:
        problems.append(f"exit code {code} where {128 + signal.SIGKILL} was due")
    own = [line for line in err.splitlines() if line.startswith("headway mpiexec: ")]
    pattern = (rf"headway mpiexec: rank {rank} \(pid {pid}\) was killed by signal 9 \(Killed\)"
               r"(; the other ranks were ended)?")
    if len(own) != 1 or not re.fullmatch(pattern, own[0]):
        problems.append(f"the sentence is {own}")
    return problems


def strike(command: list[str], blow: Blow) -> list[str] | None:
    """What was wrong about one job; None when it was over before the blow."""
    mark = uuid.uuid4().hex
    memory, sockets = fixture.shared_memory(), fixture.sockets()
    environment = fixture.clean_environment() | {fixture.MARK: mark}
    with tempfile.TemporaryFile("w+") as err:
        job = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=err)
        try:
            # The moment is what is random here; nothing is waited for.
            time.sleep(blow.after_s)
            victims: dict[int, int] = {}
            while blow.rank not in victims and job.poll() is None:
                victims = pids_by_rank(mark, job.pid)
            if blow.rank in victims:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(victims[blow.rank], signal.SIGKILL)
            code = job.wait(timeout=fixture.WATCHDOG_S)
        except subprocess.TimeoutExpired:
            job.kill()
            job.wait()
            return [f"it hung for {fixture.WATCHDOG_S} s after the blow"]
        err.seek(0)
        text = err.read()
    problems = problems_after(mark, memory, sockets)
    if code == 0 and not problems:
        return None
    return judge(code, text, blow.rank, victims.get(blow.rank, 0)) + problems


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20, help="jobs (20)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--latest", type=float, default=0.3, help="latest moment in seconds (0.3)")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if not options.program:
        parser.error("no program given")
    return options


def main() -> int:
    options = parse()
    command = [fixture.mpiexec(), "-n", str(options.ranks), *options.program]
    source = random.Random(options.seed)
    failures = too_late = 0
    for index in range(options.count):
        blow = Blow(source.randrange(options.ranks), source.uniform(0, options.latest))
        outcome = strike(command, blow)
        while outcome is None and blow.after_s > 1e-4:
            too_late += 1
            blow.after_s /= 2
            outcome = strike(command, blow)
        for problem in ["the program always ends too soon"] if outcome is None else outcome:
            print(f"job {index}, rank {blow.rank} after {blow.after_s:.4f} s: {problem}")
            failures += 1
    print(f"{options.count} jobs, seed {options.seed}: {failures} problems, {too_late} blows that "
          "came too late and were repeated")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
