# SPDX-License-Identifier: Apache-2.0
"""Tests that are MPI programs: test/mpi/list.toml, built with the staged mpicc.

    [[run]]
    program = "point_to_point/order"     # below test/mpi, a .c file (or .cpp, written out); a list
                                         # of programs stands for a row of each
    ranks = [2, 3, 4]                    # one run each
    host = ["process", "team", "thread", "ult"]
                                         # mpiexec; a program that makes its ranks as threads;
                                         # mpiexec --ranks thread; mpiexec --ranks ult
    labels = ["quick"]                   # or ["long"]; with "tsan", too: quick where the thread
                                         # sanitizer looks
    limit_s = 60                         # the watchdog
    knobs = { EAGER_LIMIT = "0" }        # optional: HEADWAY_EAGER_LIMIT=0
    environment = { NAME = "text" }      # optional, as written
    arguments = ["all"]                  # optional
    expect_exit = 0                      # optional
    repeatable = true                    # optional: two runs print the same
    no_oracle = "why"                    # optional: it does not hold on another library
    split = true                         # optional: thread and ult hosts with two processes, too,
                                         # among the quick tests; not given: among the long ones;
                                         # false: nowhere

An oracle is another library of the same ABI, by which the tests themselves are tested: it must
pass what its own mpicc_abi built, a process a rank. Rows that turn our knobs are left out there;
CHECK_SKIP_GARBAGE and CHECK_LENIENT tell the programs (check.h) to leave out what ends such a
library by a signal and where it is known to differ from the standard.
"""

import concurrent.futures
import itertools
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools import rivals, tree
from tools.terminal import StepFailed, run_logged, say
from tools.test_case import PATIENCE, SANITIZER_OPTIONS, WATCHDOG_S, Test

FOLDER = tree.ROOT / "test" / "mpi"
FLAGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-g", "-O1"]
GRACE_S = 15.0  # a program's own watchdog says more than ours, so it gets to bark first
PRESET_FLAGS = {
    "asan": ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "tsan": ["-fsanitize=thread"],
    "coverage": ["--coverage"],
}
KNOWN_KEYS = {"program", "ranks", "host", "labels", "limit_s", "knobs", "environment",
              "arguments", "expect_exit", "repeatable", "no_oracle", "split"}


@dataclass(frozen=True)
class Library:
    """Whose compilers build the programs, and whose launcher starts them."""
    name: str  # the first word of its tests' names
    binaries: Path  # folder of the built programs
    mpicc: Path
    mpicxx: Path
    mpiexec: Path
    include: Path
    patience: float = 1.0
    flags: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    hosts: tuple[str, ...] = ("process", "team")
    is_oracle: bool = False
    sees_one_process: bool = False  # a sanitizer that knows nothing of what others do in the heap

    def refusal(self, row: dict[str, Any]) -> str:
        """Why a row is not run; "" if it is."""
        if not self.is_oracle:
            return ""
        return "turns a knob" if row.get("knobs") else str(row.get("no_oracle", ""))

    def hosts_of(self, row: dict[str, Any]) -> list[str]:
        """Those of a row's hosts that are there. Programs with threads of their own cannot be
        teams: a sanitizer that sees one process gets these as processes, of one rank each."""
        hosts = [host for host in row["host"] if host in self.hosts]
        return hosts if "team" not in hosts or not self.sees_one_process else ["team"]


def of_preset(preset: str) -> Library:
    stage = tree.stage_of(preset)
    return Library(
        name="mpi", binaries=tree.build_of(preset) / "mpi",
        mpicc=stage / "bin" / "mpicc", mpicxx=stage / "bin" / "mpicxx",
        mpiexec=stage / "bin" / "mpiexec", include=stage / "include",
        flags=PRESET_FLAGS.get(preset, []), environment=SANITIZER_OPTIONS,
        patience=PATIENCE.get(preset, 1.0),
        sees_one_process=preset == "tsan",
        # Programs with a sanitizer cannot be hosted: its run-time must be there before the host.
        hosts=("process", "team") if preset in ("asan", "tsan")
        else ("process", "team", "thread", "ult"))


def of_oracle(prefix: Path) -> Library:
    return Library(
        name=prefix.name, binaries=tree.BUILD / "oracle" / prefix.name,
        mpicc=prefix / "bin" / "mpicc_abi", mpicxx=prefix / "bin" / "mpicxx_abi",
        mpiexec=prefix / "bin" / "mpiexec", include=prefix / "include",
        # For headway/interface.h, whose table programs look up at run time and do not find there.
        flags=["-idirafter", str(tree.ROOT / "include")],
        hosts=("process",), is_oracle=True,
        patience=4.0,  # it may spin where ranks outnumber cores
        environment={"CHECK_SKIP_GARBAGE": "1", "CHECK_LENIENT": "1",
                     "LD_LIBRARY_PATH": str(prefix / "lib")})


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a list, refused when they hold a key or a host nobody knows."""
    if not path.is_file():
        return []
    rows: list[dict[str, Any]] = []
    for row in tomllib.loads(path.read_text()).get("run", []):
        programs = row.get("program", "?")
        rows += [row] if isinstance(programs, str) else [
            row | {"program": program} for program in programs]
    for row in rows:
        program = row.get("program", "?")
        unknown = set(row) - KNOWN_KEYS
        if unknown:
            raise StepFailed(f"{path}: {program}: nobody knows {', '.join(sorted(unknown))}")
        if not {"program", "ranks", "host"} <= set(row):
            raise StepFailed(f"{path}: {program}: a run needs program, ranks and host")
        if not set(row["host"]) <= {"process", "team", "thread", "ult"}:
            raise StepFailed(f"{path}: {program}: host lists process, team, thread and ult")
    return rows


def source_of(program: str) -> Path:
    return FOLDER / (program if Path(program).suffix else program + ".c")


def binary_of(program: str, library: Library) -> Path:
    return library.binaries / Path(program).with_suffix("")


def _outdated(source: Path, binary: Path, library: Library) -> bool:
    if not binary.is_file():
        return True
    inputs = [source, *FOLDER.glob("*.h"), *source.parent.glob("*.h"),
              *library.include.rglob("*.h"), library.mpicc]
    return any(path.stat().st_mtime > binary.stat().st_mtime for path in inputs)


def compile_program(program: str, library: Library) -> bool:
    """Compiles a program if its binary is older than what it is made from; says if it did."""
    source, binary = source_of(program), binary_of(program, library)
    if not _outdated(source, binary, library):
        return False
    binary.parent.mkdir(parents=True, exist_ok=True)
    compiler = library.mpicc if source.suffix == ".c" else library.mpicxx
    standard = "-std=gnu99" if source.suffix == ".c" else "-std=c++20"
    # Instrumented code makes gcc guess wrong: the plain build is the one that judges warnings.
    strict = [] if library.flags else ["-Werror"]
    run_logged(f"mpi test {library.binaries.parent.name} {library.name} {program}", [
        compiler, standard, *FLAGS, *strict, *library.flags, source, "-o", binary,
        "-lm", "-lpthread"], quiet=True)
    return True


def _name(library: Library, row: dict[str, Any], host: str, ranks: int) -> str:
    words = [library.name, *Path(row["program"]).with_suffix("").parts, *row.get("arguments", [])]
    settings = {**row.get("knobs", {}), **row.get("environment", {})}
    words += [f"{name.lower()}={value}" for name, value in settings.items()]
    return f"{'_'.join(words)}_{host}{ranks}"


def expand(row: dict[str, Any], library: Library) -> Iterator[Test]:
    """One Test for each host and rank count of a row."""
    limit_s = float(row.get("limit_s", WATCHDOG_S)) * library.patience
    common = dict(library.environment)
    common |= {f"HEADWAY_{name.upper()}": str(value)
               for name, value in row.get("knobs", {}).items()}
    common |= {name: str(value) for name, value in row.get("environment", {}).items()}
    common["CHECK_WATCHDOG"] = f"{limit_s:g}"
    labels = row.get("labels", [])
    is_long = "long" in labels and not ("tsan" in labels and library.sees_one_process)
    hosts = library.hosts_of(row)
    if row.get("split") is not False:
        hosts += [f"{host}-split" for host in hosts if host in {"thread", "ult"}]
    for host, ranks in itertools.product(hosts, row["ranks"]):
        kind, _, split = host.partition("-")
        if split and ranks == 1:
            continue
        if library.sees_one_process and host == "process" and ranks != 1:
            continue
        environment = dict(common)
        command = [str(binary_of(row["program"], library)), *row.get("arguments", [])]
        if host == "team":
            environment["HEADWAY_TEAM"] = str(ranks)
        else:
            hosting = ["--ranks", kind] if kind in {"thread", "ult"} else []
            hosting += ["--processes-per-node", "2"] if split else []
            command = [str(library.mpiexec), *hosting, "-n", str(ranks), *command]
        # A simulation is one process, one of whose ranks computes at a time.
        is_simulated = host == "team" and environment.get("HEADWAY_SIM", "0") != "0"
        yield Test(
            name=_name(library, row, host, ranks), command=command, environment=environment,
            alone=not is_simulated,
            label="long" if is_long or (split and not row.get("split")) else "quick",
            timeout_s=limit_s + GRACE_S, expect_exit=int(row.get("expect_exit", 0)),
            repeatable=bool(row.get("repeatable", False)))


def from_list(library: Library) -> list[Test]:
    """Every MPI test of a library, its program compiled."""
    rows = []
    for row in read_rows(FOLDER / "list.toml"):
        refusal = library.refusal(row)
        if refusal:
            say(f"  left out: {row['program']}: {refusal}")
        else:
            rows.append(row)
    if not rows:
        return []
    for tool in (library.mpicc, library.mpiexec):
        if not tool.is_file():
            raise StepFailed(f"MPI tests need {tool}")
    programs = sorted({row["program"] for row in rows})
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        compiled = sum(pool.map(lambda program: compile_program(program, library), programs))
    say(f"  mpi test programs: {compiled} compiled, {len(programs) - compiled} up to date")
    return [test for row in rows for test in expand(row, library)]


def from_oracle(prefix: str) -> list[Test]:
    """The MPI tests of another library: the folder it is in, or the name of a rival."""
    folder = Path(prefix)
    return from_list(of_oracle(folder if folder.is_dir() else rivals.folder_of(prefix)))


def main(arguments: list[str]) -> int:
    """`python3 -m tools.mpi_tests [PRESET]`: prints every test's name and command."""
    for row in read_rows(FOLDER / "list.toml"):
        for test in expand(row, of_preset((arguments or ["release"])[0])):
            say(f"{test.name:<50} {' '.join(test.command)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
