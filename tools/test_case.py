# SPDX-License-Identifier: Apache-2.0
"""One test: a command with a watchdog. Runs it and reads from its output how much passed."""

import json
import os
import re
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from tools import tree
from tools.terminal import end_session

WATCHDOG_S = 60.0
SKIP_CODE = 77  # a plain program ends with this when it cannot run here; it prints why
# gcc's and clang's sanitizers: stop at the first finding, and say where it came from.
SANITIZER_OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=1:halt_on_error=1:abort_on_error=0",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    # A process that ends with a sentence joins nobody.
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1:report_thread_leaks=0",
}
# Watchdogs wait this much longer for presets whose programs run slower.
PATIENCE = {"asan": 2.0, "tsan": 4.0, "coverage": 2.0}
_UNITTEST_RAN = re.compile(r"^Ran (\d+) tests? in ", re.MULTILINE)
_UNITTEST_BAD = re.compile(r"\b(failures|errors|unexpected successes)=(\d+)")
_UNITTEST_SKIPPED = re.compile(r"\bskipped=(\d+)")
_PLAIN = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.MULTILINE)


@dataclass
class Test:
    name: str
    command: list[str]
    label: str = "quick"
    timeout_s: float = WATCHDOG_S
    environment: dict[str, str] = field(default_factory=dict)
    folder: Path = tree.ROOT
    alone: bool = False  # starts several processes: not beside another test that computes
    waits: bool = False  # for time-outs, most of its time: beside all others
    expect_exit: int = 0
    repeatable: bool = False  # a second run must print the same
    needs: list[str] = field(default_factory=list)  # groups of packages
    counts: bool = False  # a GoogleTest program: its JSON report says how many cases it has


@dataclass
class Verdict:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    why: str = ""
    log: Path = tree.LOGS
    failures: list[str] = field(default_factory=list)  # of a sum: what its failed tests printed

    def __str__(self) -> str:
        text = f"{self.passed} passed, {self.failed} failed"
        return text + (f", {self.skipped} skipped" if self.skipped else "")


def _from_gtest(report: Path) -> Verdict | None:
    try:
        data = json.loads(report.read_text())
    except (OSError, ValueError):
        return None
    skipped = sum(
        case.get("result") == "SKIPPED"
        for suite in data["testsuites"] for case in suite["testsuite"])
    failed = data["failures"] + data.get("errors", 0)
    return Verdict(data["tests"] - failed - skipped - data.get("disabled", 0), failed, skipped)


def _from_output(text: str, code: int | None) -> Verdict:
    plain = _PLAIN.findall(text)
    if plain:
        passed, failed, skipped = plain[-1]
        return Verdict(int(passed), int(failed), int(skipped or 0))
    ran = _UNITTEST_RAN.findall(text)
    if ran:
        closing = text[text.rindex("Ran "):]
        failed = sum(int(number) for _, number in _UNITTEST_BAD.findall(closing))
        skipped = sum(int(number) for number in _UNITTEST_SKIPPED.findall(closing))
        # A class that is skipped or fails as a whole counts once there, and none of its tests ran.
        return Verdict(max(int(ran[-1]) - failed - skipped, 0), failed, skipped)
    if code == SKIP_CODE:
        return Verdict(skipped=1)
    return Verdict(passed=1) if code == 0 else Verdict(failed=1)


def judge(text: str, code: int | None, report: Path | None, expect_exit: int = 0) -> Verdict:
    """Counts from the program's own report; an ending that contradicts it counts as a failure.

    `code` is None when the watchdog ended the test.
    """
    if code == expect_exit:
        code = 0
    elif code == 0:
        return Verdict(failed=1, why=f"exit code 0, not {expect_exit}")
    verdict = (_from_gtest(report) if report else None) or _from_output(text, code)
    if code is None:
        verdict.why = "the watchdog ended it"
    elif code < 0:
        verdict.why = f"killed by signal {-code}"
    elif code not in (0, SKIP_CODE):
        verdict.why = f"exit code {code}"
    if verdict.why and verdict.failed == 0:
        verdict.failed = 1
    if verdict.passed + verdict.failed + verdict.skipped == 0:
        verdict.failed, verdict.why = 1, "it ran no test"
    return verdict


def run(test: Test) -> Verdict:
    """Runs the test, twice if its output must repeat."""
    verdict = _run_once(test)
    if not test.repeatable or verdict.failed:
        return verdict
    first = verdict.log.read_bytes()
    again = _run_once(test)
    again.seconds += verdict.seconds
    if not again.failed and again.log.read_bytes() != first:
        again.failed, again.passed, again.why = 1, 0, "two runs print different things"
    return again


def _run_once(test: Test) -> Verdict:
    """Runs the test with its watchdog; what it started is gone afterwards."""
    logs = tree.LOGS / "test"
    logs.mkdir(parents=True, exist_ok=True)
    log = logs / (re.sub(r"[^A-Za-z0-9_.-]+", "-", test.name) + ".log")
    report = log.with_suffix(".json") if test.counts else None
    environment = {**os.environ, **test.environment}
    if report:
        report.unlink(missing_ok=True)
        environment["GTEST_OUTPUT"] = f"json:{report}"
    started = time.monotonic()
    with log.open("wb") as output:
        try:
            process = subprocess.Popen(
                test.command, cwd=test.folder, env=environment, stdin=subprocess.DEVNULL,
                stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        except OSError as error:
            output.write(str(error).encode())
            return Verdict(failed=1, why=f"it cannot be started: {error}", log=log)
        code: int | None = None
        try:
            code = process.wait(timeout=test.timeout_s)
        except subprocess.TimeoutExpired:
            pass
        finally:
            end_session(process)
    verdict = judge(log.read_text(errors="replace"), code, report, test.expect_exit)
    verdict.seconds, verdict.log = time.monotonic() - started, log
    return verdict
