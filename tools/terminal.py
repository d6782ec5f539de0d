# SPDX-License-Identifier: Apache-2.0
"""Runs long steps: output goes to a log, the terminal shows name, progress and elapsed time."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tools import tree

HEARTBEAT_S = 30.0
TAIL_LINES = 40
_NINJA = re.compile(r"^\[(\d+)/(\d+)\]")


class StepFailed(Exception):
    """A step ended badly; the text is one sentence for the user."""


def say(text: str) -> None:
    print(text, flush=True)


def _last_line(log: Path) -> str:
    """The newest line of a log, shortened: ninja's counter or whatever the step said last."""
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, log.stat().st_size - 4096))
            lines = stream.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    for line in reversed(lines):
        counter = _NINJA.match(line)
        if counter:
            return f"{counter[1]} of {counter[2]}"
        if line.strip():
            return line.strip()[:50]
    return ""


def _show_progress(name: str, log: Path, started: float, ended: threading.Event) -> None:
    tty = sys.stdout.isatty()
    while not ended.wait(0.5 if tty else HEARTBEAT_S):
        elapsed = time.monotonic() - started
        if tty:
            print(f"\r\033[K  {name} ... {elapsed:.0f} s  {_last_line(log)}", end="", flush=True)
        else:
            say(f"  {name} ... {elapsed:.0f} s  {_last_line(log)}")
    if tty:
        print("\r\033[K", end="", flush=True)


def _processes() -> list[tuple[int, int, int]]:
    """(pid, parent, session) of every process that has not ended."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] not in "ZX":
            found.append((int(entry.name), int(fields[1]), int(fields[3])))
    return found


def _members(sessions: set[int], parents: set[int]) -> set[int]:
    """Processes of the sessions and descendants of the parents; both sets grow to hold them.

    A program may leave its process group, and a test may start sessions of its own: what is
    still linked to us by parent or by session is found.
    """
    processes = _processes()
    members: set[int] = set()
    grown = True
    while grown:
        grown = False
        for pid, parent, session in processes:
            if pid in members or not (session in sessions or parent in parents):
                continue
            members.add(pid)
            parents.add(pid)
            if session != os.getsid(0):
                sessions.add(session)
            grown = True
    return members


def _end(sessions: set[int], parents: set[int], reap: Callable[[], object],
         grace_s: float) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        members = _members(sessions, parents)
        for member in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(member, number)
        deadline = time.monotonic() + grace_s
        while members and time.monotonic() < deadline:
            reap()
            time.sleep(0.02)
            members = _members(sessions, parents)


def end_session(process: "subprocess.Popen[bytes]", grace_s: float = 5.0) -> None:
    """Ends a process started with start_new_session, and everything it started."""
    _end({process.pid}, {process.pid}, process.poll, grace_s)
    process.wait()


def end_children() -> None:
    """Ends everything this process started; for the way out after an interrupt."""
    _end(set(), {os.getpid()}, lambda: None, 1.0)


def run_logged(
    name: str,
    command: Sequence[str | Path],
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path = tree.ROOT,
    timeout_s: float | None = None,
    quiet: bool = False,
) -> Path:
    """Runs `command`, raises StepFailed with the end of its output if it fails. Returns the log.

    A quiet step shows nothing unless it fails: for many short steps side by side.
    """
    tree.LOGS.mkdir(parents=True, exist_ok=True)
    log = tree.LOGS / (re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") + ".log")
    started = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(word) for word in command], cwd=folder, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True,
            env={**os.environ, **(environment or {})},
        )
        ended = threading.Event()
        progress = threading.Thread(target=_show_progress, args=(name, log, started, ended))
        if not quiet:
            progress.start()
        try:
            code = process.wait(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            end_session(process)
            ended.set()
            if not quiet:
                progress.join()
    elapsed = time.monotonic() - started
    if code == 0:
        if not quiet:
            say(f"  {name}: done ({elapsed:.1f} s)")
        return log
    tail = log.read_text(errors="replace").splitlines()[-TAIL_LINES:]
    say("\n".join("    " + line for line in tail))
    why = f"did not end within {timeout_s:.0f} s" if code is None else f"failed (exit code {code})"
    raise StepFailed(f"{name} {why}; the whole output is in {log}")
