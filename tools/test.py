# SPDX-License-Identifier: Apache-2.0
"""./dev test [NAME ...] [--preset PRESET | --oracle PREFIX], ./dev test mpi4py [OPTION ...] and
./dev test long [--budget 35m].

`mpi4py` runs the suite of mpi4py at 1, 2 and 3 ranks (options: test/mpi4py/suite.py), with --all
at 1 to 8; with --compare it says what it costs beside MPICH (test/mpi4py/compare.py).
With --oracle the MPI tests run on another library, for what they ask must be the standard's:
PREFIX is its folder or the name of a rival (mpich).
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from tools import build, mpi_tests, packages, test_case, test_list, tree
from tools.terminal import StepFailed, say
from tools.test_case import Test, Verdict

WIDTH = 2
SHOWN_LINES = 60
REPEATED_LINES = 15


def _report(test: Test, verdict: Verdict) -> str:
    """Prints how a test ended; returns the end of what is there to say of one that failed."""
    bad = verdict.failed > 0
    state = "FAILED" if bad else ("ok" if verdict.passed else "skipped")
    line = f"  {state:<7} {test.name:<44} {verdict.seconds:6.1f} s  {verdict}"
    if bad and verdict.why:
        line += f" ({verdict.why})"
    say(line)
    if not bad and not verdict.skipped:
        return ""
    text = verdict.log.read_text(errors="replace").splitlines() if verdict.log.is_file() else []
    if bad:
        say("\n".join(f"    {row}" for row in text[-SHOWN_LINES:]))
        say(f"    log: {verdict.log}")
        return "\n".join([line, *(f"    {row}" for row in text[-REPEATED_LINES:])])
    if not verdict.passed and text:
        say(f"    {text[-1]}")
    return ""


def run_all(tests: Iterable[Test]) -> Verdict:
    """Runs tests and adds them up: two at a time, then those that start several processes one
    after the other; beside all of these, one at a time, those that wait for time-outs."""
    total = Verdict()
    tests = list(tests)
    packages.require(*{group for test in tests for group in test.needs})
    waiting = [test for test in tests if test.waits]
    alone = [test for test in tests if test.alone]
    together = [test for test in tests if not test.alone and not test.waits]

    def add(test: Test, verdict: Verdict) -> None:
        failure = _report(test, verdict)
        if failure:
            total.failures.append(failure)
        total.passed += verdict.passed
        total.failed += verdict.failed
        total.skipped += verdict.skipped

    beside, pool = ThreadPoolExecutor(1), ThreadPoolExecutor(WIDTH)
    try:
        waited = beside.map(test_case.run, waiting)
        for test, verdict in zip(together, pool.map(test_case.run, together), strict=True):
            add(test, verdict)
        for test in alone:
            add(test, test_case.run(test))
        for test, verdict in zip(waiting, waited, strict=True):
            add(test, verdict)
    finally:  # an interrupt does not wait for watchdogs
        beside.shutdown(wait=False, cancel_futures=True)
        pool.shutdown(wait=False, cancel_futures=True)
    return total


def chosen(tests: list[Test], names: list[str]) -> list[Test]:
    """The quick tests, or every test whose name contains one of names."""
    if not names:
        return [test for test in tests if test.label == "quick"]
    tests = [test for test in tests if any(name in test.name for name in names)]
    if not tests:
        raise StepFailed(f"no test's name contains {' or '.join(names)}")
    return tests


def quick(preset: str, names: list[str]) -> Verdict:
    """Builds a preset and runs its quick tests, or every test whose name contains one of names."""
    build.build(preset)
    return run_all(chosen(test_list.collect(preset), names))


def _take_option(name: str, arguments: list[str]) -> tuple[str, list[str]]:
    """The value of an option ("" where it is absent) and the other arguments."""
    if name not in arguments:
        return "", arguments
    at = arguments.index(name)
    if at + 1 == len(arguments):
        raise StepFailed(f"{name} needs a value")
    return arguments[at + 1], arguments[:at] + arguments[at + 2:]


def _mpi4py(arguments: list[str]) -> int:
    """The test suite of a client nobody here wrote; later options win."""
    build.build()
    command = ["suite.py", "--ranks", "1,2,3", *arguments]
    if "--compare" in arguments:
        command = ["compare.py", *(word for word in arguments if word != "--compare")]
    return subprocess.run(
        [sys.executable, tree.ROOT / "test/mpi4py" / command[0], *command[1:]],
        cwd=tree.ROOT, env={**os.environ, "PYTHONPATH": str(tree.ROOT)}, check=False).returncode


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["long"]:
        from tools import long_jobs
        return long_jobs.main(arguments[1:])
    if arguments[:1] == ["mpi4py"]:
        return _mpi4py(arguments[1:])
    preset, arguments = _take_option("--preset", arguments)
    oracle, arguments = _take_option("--oracle", arguments)
    if preset and oracle:
        raise StepFailed("--preset is a build of Headway, --oracle is another library: give one")
    started = time.monotonic()
    if oracle:
        total = run_all(chosen(mpi_tests.from_oracle(oracle), arguments))
    else:
        total = quick(preset or "release", arguments)
    say(f"test: {time.monotonic() - started:.0f} s")
    say(str(total))
    return 1 if total.failed or not total.passed else 0
