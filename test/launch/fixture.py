# SPDX-License-Identifier: Apache-2.0
"""What the tests of the launcher share: the stage, programs to start, and what a job leaves."""

import os
import signal
import subprocess
import tempfile
import time
import unittest
import uuid
from collections.abc import Callable
from pathlib import Path

WATCHDOG_S = 60
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MARK = "HEADWAY_TEST_MARK"

# A job started behind nohup or `&` ignores these, and so would all it starts.
for _number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, signal.SIG_DFL)


def stage() -> Path:
    """Where Headway is installed; HEADWAY_STAGE names it."""
    return Path(os.environ.get("HEADWAY_STAGE", ROOT / "build/stage")).resolve()


def mpiexec() -> str:
    return str(stage() / "bin/mpiexec")


def clean_environment() -> dict[str, str]:
    """The environment without marks of a launcher these tests may run under."""
    return {name: value for name, value in os.environ.items()
            if not name.startswith(("PMI_", "PMIX_", "SLURM_")) and name != "HEADWAY_JOB"}


def await_that(condition: Callable[[], bool], what: str) -> None:
    """Polls until `condition` holds; the watchdog is an error, not a measurement."""
    deadline = time.monotonic() + WATCHDOG_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {WATCHDOG_S} s in vain: {what}")
        time.sleep(0.005)


class InFolder(unittest.TestCase):
    """Tests that make programs, in a folder of their own."""

    folder: Path

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)


def state_of(pid: int) -> str:
    """R, S, T, Z, ... as in /proc; empty once the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def marked_processes(mark: str) -> list[int]:
    """Living processes whose first environment carries the mark."""
    found = []
    wanted = f"{MARK}={mark}".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            is_marked = wanted in (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if is_marked and state_of(int(entry.name)) not in ("", "Z", "X"):
            found.append(int(entry.name))
    return found


def shared_memory() -> set[str]:
    return {name for name in os.listdir("/dev/shm") if name.startswith("headway")}


def sockets() -> set[str]:
    """Unix sockets with a name of ours."""
    lines = Path("/proc/net/unix").read_text().splitlines()
    return {line.split()[-1] for line in lines if "headway" in line.split()[-1]}


class LaunchTest(unittest.TestCase):
    """Starts jobs and checks after each test that nothing of them is left."""

    talker: str
    _programs: tempfile.TemporaryDirectory[str]

    @classmethod
    def setUpClass(cls) -> None:
        cls._programs = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls._programs.cleanup)
        cls.talker = str(Path(cls._programs.name) / "talker")
        subprocess.run(["cc", "-std=c17", "-O1", "-Wall", "-Werror", "-o", cls.talker,
                        HERE / "programs/talker.c"], check=True)

    def setUp(self) -> None:
        self.mark = uuid.uuid4().hex
        self.environment = clean_environment() | {MARK: self.mark}
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.shared_memory_before = shared_memory()
        self.sockets_before = sockets()
        self.addCleanup(self.check_nothing_left)

    def check_nothing_left(self) -> None:
        left = marked_processes(self.mark)
        names = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in left
                 if Path(f"/proc/{pid}").exists()]
        for pid in left:
            os.kill(pid, 9)
        self.assertEqual(left, [], f"processes left behind: {names}")
        self.assertEqual(shared_memory() - self.shared_memory_before, set())
        self.assertEqual(sockets() - self.sockets_before, set())

    def run_job(self, *words: str, command: str | None = None, stdin: str = "",
                **options: object) -> subprocess.CompletedProcess[str]:
        """Runs `mpiexec words...` to its end."""
        return subprocess.run(  # type: ignore[call-overload, no-any-return]
            [command or mpiexec(), *words], env=self.environment, input=stdin, timeout=WATCHDOG_S,
            **({"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options))

    def start_job(self, *words: str, **options: object) -> "subprocess.Popen[str]":
        """Starts `mpiexec words...`; it is killed when the test ends."""
        job = subprocess.Popen(  # type: ignore[call-overload]
            [mpiexec(), *words], env=self.environment,
            **({"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                "stderr": subprocess.PIPE, "text": True} | options))
        self.addCleanup(self.end, job)
        return job  # type: ignore[no-any-return]

    @staticmethod
    def end(job: "subprocess.Popen[str]") -> None:
        if job.poll() is None:
            job.kill()
        job.communicate()

    def await_ranks(self, count: int, prefix: str) -> None:
        """Waits until `count` ranks have done the step touch=<folder>/<prefix>."""
        await_that(lambda: len(list(self.folder.glob(f"{prefix}*"))) == count,
                   f"{count} ranks to get to '{prefix}'")

    def touch(self, name: str) -> str:
        """The step that tells await_ranks."""
        return f"touch={self.folder}/{name}"

    def ranks_of(self, job: "subprocess.Popen[str]") -> list[int]:
        """Pids of the ranks, in no order."""
        talker = os.path.realpath(self.talker)
        return [pid for pid in marked_processes(self.mark)
                if pid != job.pid and os.path.realpath(f"/proc/{pid}/exe") == talker]

    def finish(self, job: "subprocess.Popen[str]") -> tuple[int, str, str]:
        out, err = job.communicate(timeout=WATCHDOG_S)
        return job.returncode, out, err
