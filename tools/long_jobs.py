# SPDX-License-Identifier: Apache-2.0
"""./dev test long [--budget 35m] [JOB ...]: jobs too long for every run.

Jobs that belong to every run come first. The others stand in a ring; the commit decides where a
run starts, so that what one run leaves out another takes. A job starts only if it can plausibly end
within the budget, and the budget ends it if it was wrong about that. Jobs of other parts are rows
of test/long.toml.
"""

import re
import shlex
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools import build, coverage, fuzzing, packages, test, test_list, tidy, tree
from tools.terminal import StepFailed, end_session, say
from tools.test_case import SKIP_CODE, Verdict

HUNG_FACTOR = 4.0  # a job that takes this many times its estimate hangs


@dataclass(frozen=True)
class Job:
    name: str
    minutes: float  # estimate on two cores, builds and installations included
    about: str
    needs: tuple[str, ...] = ()  # groups of packages
    is_always: bool = False  # belongs to every run


def _preset_tests(preset: str) -> Callable[[], Verdict]:
    return lambda: test.quick(preset, [])


def _long_label() -> Verdict:
    build.build()
    return test.run_all(item for item in test_list.collect("release") if item.label == "long")


BUILT_IN: dict[str, tuple[Job, Callable[[], Verdict]]] = {
    job.name: (job, work) for job, work in (
        (Job("asan", 10, "address and undefined sanitizers, quick tests"), _preset_tests("asan")),
        (Job("tsan", 11, "thread sanitizer, quick tests"), _preset_tests("tsan")),
        (Job("clang", 7, "clang 19, quick tests"), _preset_tests("clang")),
        (Job("tidy", 4, "clang-tidy over src and launch"), tidy.run),
        (Job("long", 12, "tests marked long"), _long_label),
        (Job("fuzz", 4, "fuzzers, a minute each"), fuzzing.run),
        (Job("coverage", 6, "lines covered by the quick tests"), coverage.run),
    )
}


def read_rows(text: str) -> dict[str, tuple[Job, list[str]]]:
    """Rows of test/long.toml: name, minutes, about, command, needs, always."""
    rows = {}
    for row in tomllib.loads(text).get("job", []):
        job = Job(row["name"], float(row["minutes"]), row["about"], tuple(row.get("needs", [])),
                  row.get("always", False))
        rows[job.name] = (job, shlex.split(row["command"]))
    return rows


def _commands() -> dict[str, tuple[Job, list[str]]]:
    path = tree.ROOT / "test" / "long.toml"
    return read_rows(path.read_text()) if path.is_file() else {}


def all_jobs() -> list[Job]:
    return sorted([job for job, _ in BUILT_IN.values()] + [job for job, _ in _commands().values()],
                  key=lambda job: job.name)


def parse_budget(text: str) -> float:
    """Seconds of '90s', '35m', '1h'."""
    match = re.fullmatch(r"(\d+)([smh]?)", text)
    if not match:
        raise StepFailed(f"--budget is '{text}'; write it like 90s, 35m or 1h")
    return float(match[1]) * {"": 60, "s": 1, "m": 60, "h": 3600}[match[2]]


def rotated(jobs: list[Job], commit: str) -> list[Job]:
    """Those of every run, then the ring of the others from where this commit starts."""
    ring = [job for job in jobs if not job.is_always]
    start = int(commit[:8], 16) % len(ring) if commit and ring else 0
    return [job for job in jobs if job.is_always] + ring[start:] + ring[:start]


def _commit() -> str:
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tree.ROOT, capture_output=True,
                          text=True, check=False)
    return head.stdout.strip() if head.returncode == 0 else ""


def _failures_of(name: str) -> Path:
    """Where a job says what failed in it: the end of a run repeats it, far from the job's lines."""
    return tree.LOGS / "long" / f"{name}.failures"


def _work(name: str) -> int:
    """What the process of one job does."""
    commands = _commands()
    if name in commands:
        packages.require(*commands[name][0].needs)
        build.build()
        code = subprocess.run(commands[name][1], cwd=tree.ROOT, check=False).returncode
        return 0 if code == SKIP_CODE else code  # it said why
    total = BUILT_IN[name][1]()
    say(f"job {name}: {total}")
    if total.failures:
        _failures_of(name).write_text("\n".join(total.failures) + "\n")
    return 1 if total.failed else 0


def _run_job(job: Job, remaining_s: float) -> str:
    """Runs a job in a process of its own: 'ok', 'failed' or 'cut' (the budget ended it)."""
    limit_s = min(remaining_s, job.minutes * 60 * HUNG_FACTOR)
    _failures_of(job.name).parent.mkdir(parents=True, exist_ok=True)
    _failures_of(job.name).unlink(missing_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-m", "tools.long_jobs", "--work", job.name], cwd=tree.ROOT,
        stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        return "ok" if process.wait(timeout=limit_s) == 0 else "failed"
    except subprocess.TimeoutExpired:
        return "cut" if limit_s == remaining_s else "failed"
    finally:
        end_session(process)


def run_within(jobs: list[Job], budget_s: float, run: Callable[[Job, float], str],
               clock: Callable[[], float] = time.monotonic) -> dict[str, list[str]]:
    """Runs the jobs that fit, in order; returns the names by outcome."""
    outcome: dict[str, list[str]] = {"ok": [], "failed": [], "cut": [], "left out": []}
    end = clock() + budget_s
    for job in jobs:
        remaining = end - clock()
        if remaining < job.minutes * 60:
            outcome["left out"].append(job.name)
            continue
        say(f"job {job.name}: {job.about} (about {job.minutes:g} min of {remaining / 60:.0f} left)")
        started = clock()
        state = run(job, remaining)
        outcome[state].append(job.name)
        say(f"job {job.name}: {state} ({(clock() - started) / 60:.1f} min)")
    return outcome


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--work"]:
        try:
            return _work(arguments[1])
        except StepFailed as failure:
            print(f"headway: {failure}", file=sys.stderr)
            return 1
    budget_s = float("inf")
    if "--budget" in arguments:
        at = arguments.index("--budget")
        budget_s = parse_budget((arguments[at + 1:] or [""])[0])
        arguments = arguments[:at] + arguments[at + 2:]
    known = {job.name: job for job in all_jobs()}
    for name in arguments:
        if name not in known:
            raise StepFailed(f"there is no long job '{name}'; there are: " + " ".join(known))
    jobs = [known[name] for name in arguments]
    if not jobs:
        jobs = rotated(all_jobs(), _commit())
    outcome = run_within(jobs, budget_s, _run_job)
    for name in outcome["failed"]:
        if _failures_of(name).is_file():
            say(f"job {name} failed:\n{_failures_of(name).read_text().rstrip()}")
    for state, names in outcome.items():
        if names:
            say(f"test long: {state}: {' '.join(names)}")
    say(f"{len(outcome['ok'])} passed, {len(outcome['failed'])} failed, "
        f"{len(outcome['cut']) + len(outcome['left out'])} skipped")
    return 1 if outcome["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
