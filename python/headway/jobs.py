# SPDX-License-Identifier: Apache-2.0
"""Builds a bench program for a library and runs it as one job."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

COMPILER_FLAGS = ("-O2", "-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror")
JOB_LIMIT_S = 120.0


class JobError(Exception):
    """A build or a run that failed; the text holds its last lines."""


@dataclass
class JobResult:
    """What one job printed. samples: by metric and case. skipped: reason by case. misplaced: why
    ranks were not on the stated cores, None where they were. wall_s: time from launch to end.
    times: by case, what each rank saw of each iteration, as nbc.c prints it."""

    samples: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    times: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    misplaced: str | None = None
    wall_s: float = 0.0


def cache(name: str) -> Path:
    """The folder of the user for what the command `name` builds; it need not exist."""
    given = os.environ.get("XDG_CACHE_HOME")
    return (Path(given) if given else Path.home() / ".cache") / "headway" / name


def build(
    compiler: Path,
    program: str,
    source_directory: Path,
    output_directory: Path,
    has_openmp: bool = False,
) -> Path:
    """Compiles bench/mpi/<program>.c, and <program>_*.c where there are such, with harness.c;
    instant when it is done already.

    The file name holds a digest of the sources and the compiler's path, so that a change of
    either builds anew. Raises JobError with the compiler's last lines.
    """
    parts = sorted(source_directory.glob(f"{program}_*.c"))
    sources = [source_directory / "harness.c", source_directory / f"{program}.c", *parts]
    headers = [source_directory / "harness.h", *sorted(source_directory.glob(f"{program}*.h"))]
    flags = [*COMPILER_FLAGS, *(["-fopenmp"] if has_openmp else [])]
    digest = hashlib.sha256(" ".join([str(compiler), *flags]).encode())
    for path in (*sources, *headers):
        digest.update(path.read_bytes())
    binary = output_directory / f"{program}-{digest.hexdigest()[:12]}"
    if binary.exists():
        return binary
    output_directory.mkdir(parents=True, exist_ok=True)
    partial = binary.with_name(f"{binary.name}.{os.getpid()}")
    command = [str(compiler), *flags, *map(str, sources), "-o", str(partial)]
    command += ["-lm", "-pthread"]
    outcome = subprocess.run(
        command, capture_output=True, text=True, check=False, env=_environment_for(compiler)
    )
    if outcome.returncode != 0:
        raise JobError(
            f"'{' '.join(command)}' ended with code {outcome.returncode}:\n"
            + last_lines(outcome.stdout + outcome.stderr)
        )
    partial.replace(binary)
    return binary


def _environment_for(compiler: Path) -> dict[str, str]:
    unwanted = ("OMPI_", "MPICH_", "I_MPI_", "OPAL_")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(unwanted)}
    clean["PATH"] = f"{compiler.parent}{os.pathsep}{clean.get('PATH', '')}"
    return clean


def run(
    command: Sequence[str], environment: Mapping[str, str], limit_s: float = JOB_LIMIT_S
) -> JobResult:
    """Runs one job to its end and reads its lines. Raises JobError where it fails, prints
    something else or outlives `limit_s`; nothing of it stays behind."""
    begin = time.monotonic()
    with subprocess.Popen(
        command,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, errors = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            output, errors = _end(process)
            raise JobError(
                f"'{' '.join(command)}' did not end within {limit_s:.0f} s:\n"
                + last_lines(output + errors)
            ) from None
        except BaseException:
            _end(process)
            raise
    wall_s = time.monotonic() - begin
    if process.returncode != 0:
        raise JobError(
            f"'{' '.join(command)}' ended with code {process.returncode}:\n"
            + last_lines(output + errors)
        )
    result = read_lines(output)
    result.wall_s = wall_s
    return result


def _end(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Ends a launcher: asked first, so that it can end its ranks, then killed with its group.

    Returns what it printed. A rank outside the group that still holds the pipe is not waited for.
    """
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        try:
            return process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            continue
    return "", "its output is lost"


def read_lines(output: str) -> JobResult:
    """Reads what bench/mpi/harness.c prints; raises JobError where the end is missing. Lines that
    are not JSON objects (a library's own remarks) are passed over."""
    result = JobResult()
    ended = False
    for entry in _entries(output):
        kind = entry.get("type")
        if kind == "samples":
            by_case = result.samples.setdefault(entry["metric"], {})
            by_case[entry["case"]] = [float(value) for value in entry["samples"]]
        elif kind == "times":
            seen = {key: entry[key] for key in ("rank", "comm", "comp", "both")}
            result.times.setdefault(entry["case"], []).append(seen)
        elif kind == "skipped":
            result.skipped[entry["case"]] = entry["why"]
        elif kind == "affinity" and not entry["ok"]:
            result.misplaced = entry["why"]
        elif kind == "end":
            ended = True
    if not ended:
        raise JobError("the program stopped before its last line:\n" + last_lines(output))
    return result


def _entries(output: str) -> Iterator[dict[str, Any]]:
    """The JSON objects at the beginnings of lines. What another rank prints may follow one before
    its line ends: launchers pass on what they have read."""
    decoder = json.JSONDecoder()
    for line in output.splitlines():
        rest = line
        while rest.startswith("{"):
            try:
                entry, end = decoder.raw_decode(rest)
            except json.JSONDecodeError as error:
                raise JobError(f"the program printed a broken line: {line[:200]}") from error
            yield entry
            rest = rest[end:]


def last_lines(text: str, count: int = 8) -> str:
    """The last lines of a program's output, indented, for an error message; without figures."""
    told = [line for line in text.strip().splitlines() if not line.startswith("{")]
    return "\n".join(f"    {line}" for line in told[-count:])
