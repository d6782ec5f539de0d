# SPDX-License-Identifier: Apache-2.0
"""Tests that are MPI programs: test/mpi/list.toml, built with the staged mpicc.

    [[test]]
    program = "point_to_point/order.c"   # below test/mpi; .c or .cpp
    ranks = [2, 3, 4]                    # one run each
    host = "process"                     # under mpiexec; "team": one process, ranks are threads
    knobs = { eager_limit = "0" }        # optional: HEADWAY_EAGER_LIMIT=0
    variants = [{}, { cma = "off" }]     # optional: one run for each, on top of knobs
    arguments = ["quick"]                # optional
    expect_exit = 0                      # optional
    labels = ["quick"]                   # or ["long"]
    timeout_s = 60                       # optional
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
from tools.test_case import WATCHDOG_S, Test

FOLDER = tree.ROOT / "test" / "mpi"
FLAGS = ["-Wall", "-Wextra", "-Werror", "-g", "-O1"]
PRESET_FLAGS = {
    "asan": ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "tsan": ["-fsanitize=thread"],
    "coverage": ["--coverage"],
}
KNOWN_KEYS = {"program", "ranks", "host", "knobs", "variants", "arguments", "expect_exit",
              "labels", "timeout_s"}


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a list, refused when they hold a key or a host nobody knows."""
    if not path.is_file():
        return []
    rows: list[dict[str, Any]] = tomllib.loads(path.read_text()).get("test", [])
    for row in rows:
        unknown = set(row) - KNOWN_KEYS
        if unknown or "program" not in row or "ranks" not in row:
            raise StepFailed(f"{path}: a test needs program and ranks, and may not have "
                             + (", ".join(sorted(unknown)) or "less"))
        if row.get("host", "process") not in ("process", "team"):
            raise StepFailed(f"{path}: {row['program']}: host is process or team")
    return rows


def binary_of(program: str, preset: str) -> Path:
    return tree.build_of(preset) / "mpi" / Path(program).with_suffix("")


def _outdated(source: Path, binary: Path, stage: Path) -> bool:
    if not binary.is_file():
        return True
    inputs = [source, *FOLDER.glob("*.h"), *source.parent.glob("*.h"),
              *(stage / "include").glob("*.h"), stage / "bin" / "mpicc"]
    return any(path.stat().st_mtime > binary.stat().st_mtime for path in inputs)


def compile_program(program: str, preset: str) -> bool:
    """Compiles a program if its binary is older than what it is made from; says if it did."""
    source, binary = FOLDER / program, binary_of(program, preset)
    stage = tree.stage_of(preset)
    if not _outdated(source, binary, stage):
        return False
    binary.parent.mkdir(parents=True, exist_ok=True)
    compiler = stage / "bin" / ("mpicc" if source.suffix == ".c" else "mpicxx")
    run_logged(f"mpi test {program}", [
        compiler, *FLAGS, *PRESET_FLAGS.get(preset, []), source, "-o", binary, "-lm"],
        quiet=True)
    return True


def _name(row: dict[str, Any], ranks: int, knobs: dict[str, str]) -> str:
    words = ["mpi", *Path(row["program"]).with_suffix("").parts, *row.get("arguments", [])]
    words += [f"{knob}={value}" for knob, value in knobs.items()]
    return "_".join(words) + (f"_team{ranks}" if row.get("host") == "team" else f"_n{ranks}")


def expand(row: dict[str, Any], preset: str) -> Iterator[Test]:
    """One Test for each rank count and variant of a row."""
    counts = row["ranks"] if isinstance(row["ranks"], list) else [row["ranks"]]
    for ranks, variant in itertools.product(counts, row.get("variants", [{}])):
        knobs = {name: str(value) for name, value in {**row.get("knobs", {}), **variant}.items()}
        environment = {f"HEADWAY_{name.upper()}": value for name, value in knobs.items()}
        command = [str(binary_of(row["program"], preset)), *row.get("arguments", [])]
        if row.get("host") == "team":
            environment["HEADWAY_TEAM"] = str(ranks)
        else:
            command = [str(tree.stage_of(preset) / "bin" / "mpiexec"), "-n", str(ranks), *command]
        yield Test(
            name=_name(row, ranks, knobs), command=command, environment=environment, alone=True,
            label="long" if "long" in row.get("labels", []) else "quick",
            timeout_s=float(row.get("timeout_s", WATCHDOG_S)),
            expect_exit=int(row.get("expect_exit", 0)))


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
