# SPDX-License-Identifier: Apache-2.0
"""Tests that are MPI programs: test/mpi/list.toml, built with the staged mpicc.

    [[run]]
    program = "point_to_point/order"     # below test/mpi, a .c file (or .cpp, written out)
    ranks = [2, 3, 4]                    # one run each
    host = ["process", "team"]           # under mpiexec; one process whose ranks are threads
    labels = ["quick"]                   # or ["long"]
    limit_s = 60                         # the watchdog
    knobs = { EAGER_LIMIT = "0" }        # optional: HEADWAY_EAGER_LIMIT=0
    environment = { NAME = "text" }      # optional, as written
    arguments = ["all"]                  # optional
    expect_exit = 0                      # optional
    repeatable = true                    # optional: two runs print the same
"""

import concurrent.futures
import itertools
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools import tree
from tools.terminal import StepFailed, run_logged, say
from tools.test_case import PATIENCE, SANITIZER_OPTIONS, WATCHDOG_S, Test

FOLDER = tree.ROOT / "test" / "mpi"
FLAGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror", "-g", "-O1"]
GRACE_S = 15.0  # a program's own watchdog says more than ours, so it gets to bark first
PRESET_FLAGS = {
    "asan": ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "tsan": ["-fsanitize=thread"],
    "coverage": ["--coverage"],
}
KNOWN_KEYS = {"program", "ranks", "host", "labels", "limit_s", "knobs", "environment",
              "arguments", "expect_exit", "repeatable"}


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a list, refused when they hold a key or a host nobody knows."""
    if not path.is_file():
        return []
    rows: list[dict[str, Any]] = tomllib.loads(path.read_text()).get("run", [])
    for row in rows:
        program = row.get("program", "?")
        unknown = set(row) - KNOWN_KEYS
        if unknown:
            raise StepFailed(f"{path}: {program}: nobody knows {', '.join(sorted(unknown))}")
        if not {"program", "ranks", "host"} <= set(row):
            raise StepFailed(f"{path}: {program}: a run needs program, ranks and host")
        if not set(row["host"]) <= {"process", "team"}:
            raise StepFailed(f"{path}: {program}: host is a list of process and team")
    return rows


def source_of(program: str) -> Path:
    return FOLDER / (program if Path(program).suffix else program + ".c")


def binary_of(program: str, preset: str) -> Path:
    return tree.build_of(preset) / "mpi" / Path(program).with_suffix("")


def _outdated(source: Path, binary: Path, stage: Path) -> bool:
    if not binary.is_file():
        return True
    inputs = [source, *FOLDER.glob("*.h"), *source.parent.glob("*.h"),
              *(stage / "include").rglob("*.h"), stage / "bin" / "mpicc"]
    return any(path.stat().st_mtime > binary.stat().st_mtime for path in inputs)


def compile_program(program: str, preset: str) -> bool:
    """Compiles a program if its binary is older than what it is made from; says if it did."""
    source, binary = source_of(program), binary_of(program, preset)
    stage = tree.stage_of(preset)
    if not _outdated(source, binary, stage):
        return False
    binary.parent.mkdir(parents=True, exist_ok=True)
    compiler = stage / "bin" / ("mpicc" if source.suffix == ".c" else "mpicxx")
    standard = "-std=gnu99" if source.suffix == ".c" else "-std=c++20"
    run_logged(f"mpi test {preset} {program}", [
        compiler, standard, *FLAGS, *PRESET_FLAGS.get(preset, []), source, "-o", binary,
        "-lm", "-lpthread"], quiet=True)
    return True


def _name(row: dict[str, Any], host: str, ranks: int) -> str:
    words = ["mpi", *Path(row["program"]).with_suffix("").parts, *row.get("arguments", [])]
    settings = {**row.get("knobs", {}), **row.get("environment", {})}
    words += [f"{name.lower()}={value}" for name, value in settings.items()]
    return f"{'_'.join(words)}_{host}{ranks}"


def expand(row: dict[str, Any], preset: str) -> Iterator[Test]:
    """One Test for each host and rank count of a row."""
    limit_s = float(row.get("limit_s", WATCHDOG_S)) * PATIENCE.get(preset, 1.0)
    common = dict(SANITIZER_OPTIONS)
    common |= {f"HEADWAY_{name.upper()}": str(value)
               for name, value in row.get("knobs", {}).items()}
    common |= {name: str(value) for name, value in row.get("environment", {}).items()}
    common["CHECK_WATCHDOG"] = f"{limit_s:g}"
    hosts = row["host"]
    if preset == "tsan" and "team" in hosts:
        hosts = ["team"]  # it sees the threads of one process; ranks as processes are one each
    for host, ranks in itertools.product(hosts, row["ranks"]):
        environment = dict(common)
        command = [str(binary_of(row["program"], preset)), *row.get("arguments", [])]
        if host == "team":
            environment["HEADWAY_TEAM"] = str(ranks)
        else:
            command = [str(tree.stage_of(preset) / "bin" / "mpiexec"), "-n", str(ranks), *command]
        yield Test(
            name=_name(row, host, ranks), command=command, environment=environment, alone=True,
            label="long" if "long" in row.get("labels", []) else "quick",
            timeout_s=limit_s + GRACE_S, expect_exit=int(row.get("expect_exit", 0)),
            repeatable=bool(row.get("repeatable", False)))


def from_list(preset: str) -> list[Test]:
    """Every MPI test of a preset, its program compiled."""
    rows = read_rows(FOLDER / "list.toml")
    if not rows:
        return []
    stage = tree.stage_of(preset)
    if not (stage / "bin" / "mpicc").is_file() or not (stage / "bin" / "mpiexec").is_file():
        raise StepFailed(f"MPI tests need mpicc and mpiexec in {stage / 'bin'}")
    programs = sorted({row["program"] for row in rows})
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        compiled = sum(pool.map(lambda program: compile_program(program, preset), programs))
    say(f"  mpi test programs: {compiled} compiled, {len(programs) - compiled} up to date")
    return [test for row in rows for test in expand(row, preset)]


def main(arguments: list[str]) -> int:
    """`python3 -m tools.mpi_tests [PRESET]`: prints every test's name and command."""
    for row in read_rows(FOLDER / "list.toml"):
        for test in expand(row, (arguments or ["release"])[0]):
            say(f"{test.name:<50} {' '.join(test.command)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
