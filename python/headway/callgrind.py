# SPDX-License-Identifier: Apache-2.0
"""Instructions that some functions of a library execute, counted by valgrind's callgrind.

Every rank runs under callgrind, which collects only within these functions (MPI_Send and MPI_Recv,
unless a job names others), whatever they call included. A job runs twice, with REPETITIONS and with
twice as many; the difference is free of start-up and warm-up. Counts hardly vary, whatever else the
machine does.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from headway.jobs import JobError, JobResult

REPETITIONS = 1000
COLLECTED = ("PMPI_Send", "PMPI_Recv")


def require() -> str:
    """Path of valgrind; raises JobError with the cure where there is none."""
    path = shutil.which("valgrind")
    if path is None:
        raise JobError("instructions are counted by valgrind, which is not installed; install it "
                       "as root: apt-get install valgrind")
    return path


def command(folder: Path, functions: Sequence[str]) -> list[str]:
    """What stands before a rank's program; a process leaves its counts in `folder`."""
    toggles = [f"--toggle-collect={name}" for name in functions]
    return [require(), "--quiet", "--tool=callgrind", f"--callgrind-out-file={folder}/%p", *toggles]


def collected(folder: Path, functions: Sequence[str]) -> int:
    """Instructions collected by all processes together; raises JobError where none were."""
    total = 0
    for path in folder.iterdir():
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("totals:"):
                total += int(line.split()[1])
    if total == 0:
        raise JobError(f"callgrind has seen no call of {' or '.join(functions)}; a library that "
                       "exports them under other names cannot be counted.")
    return total


def count(
    run: Callable[[Sequence[str], int], JobResult], functions: Sequence[str] = COLLECTED
) -> tuple[float, JobResult]:
    """Instructions a repetition within the functions. `run(prefix, repetitions)` runs the job with
    `prefix` before the program. Returns the last job's result too."""
    totals = []
    for repetitions in (REPETITIONS, 2 * REPETITIONS):
        with tempfile.TemporaryDirectory(prefix="headway-callgrind-") as name:
            result = run(command(Path(name), functions), repetitions)
            totals.append(collected(Path(name), functions))
    return (totals[1] - totals[0]) / REPETITIONS, result
