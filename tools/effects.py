# SPDX-License-Identifier: Apache-2.0
"""Which functions no test program calls: `python3 -m tools.effects [--write | --list]`.

test/mpi/without_test.txt is the floor: the functions, `_c` twins included, that are built and that
no program of test/mpi calls by name; comments and strings are no calls. --write takes away names
that are called by now; it never adds one, so that the list only shrinks. --list prints every
function of the standard with the programs that call it, or that it is not built.
"""

import re
import sys
from pathlib import Path

from gen import mpi_spec
from tools import tree
from tools.terminal import say

PROGRAMS = tree.ROOT / "test" / "mpi"
FLOOR = PROGRAMS / "without_test.txt"
HEAD = """\
# SPDX-License-Identifier: Apache-2.0
# Functions that are built and that no program of test/mpi calls. Names are only taken away.
"""
# A string or a character first: what looks like a comment in one is none, nor the other way round.
NO_CODE = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
CALL = re.compile(r"\bMPI_(\w+)\b")
# Programs may put a name together from parts: EACH_FORM(p, Scan, scan, ...) of large/collectives.
PASTED = re.compile(r"\bEACH_FORM\(\w+, (\w+), (\w+)")
# BOTH_WAYS(t, Comm, ...) of environment/handles.
CONVERTED = re.compile(r"\bBOTH_WAYS\(\w+, (\w+),")


def names_in(text: str) -> set[str]:
    """Names without `MPI_` that appear in a program's code."""
    text = NO_CODE.sub(" ", text)
    names = set(CALL.findall(text))
    for name, lower in PASTED.findall(text):
        names |= {f"{name}_c", f"I{lower}_c", f"{name}_init_c"}
    for name in CONVERTED.findall(text):
        names |= {f"{name}_toint", f"{name}_fromint"}
    return names


def programs_of(folder: Path) -> dict[str, set[str]]:
    return {path.relative_to(folder).as_posix(): names_in(path.read_text())
            for path in [*folder.rglob("*.c"), *folder.rglob("*.h"), *folder.rglob("*.cpp")]}


def called_names(folder: Path) -> set[str]:
    """Names without `MPI_` that appear in programs."""
    return set().union(*programs_of(folder).values())


def print_list() -> None:
    programs = programs_of(PROGRAMS)
    built = called = 0
    functions = mpi_spec.load().functions
    names = [(function, function.c_name(large, "")) for function in functions
             for large in function.variants()]
    for function, name in names:
        users = sorted(program for program, found in programs.items() if name in found)
        built += function.built
        called += function.built and bool(users)
        state = " ".join(users) or "no program" if function.built else "not built"
        say(f"MPI_{name:<36} {function.chapter:<16} {state}")
    say(f"effects: {len(names)} functions, {built} built, {called} of them called by a test")


def built_names() -> list[str]:
    return [function.c_name(large, "") for function in mpi_spec.load().functions
            if function.built for large in function.variants()]


def read_floor() -> list[str]:
    return [line for line in FLOOR.read_text().splitlines() if line and not line.startswith("#")]


def without_test() -> list[str]:
    called = called_names(PROGRAMS)
    return sorted(name for name in built_names() if name not in called)


def main(arguments: list[str]) -> int:
    """Prints what has changed; 1 where a function is untested that is not in the list."""
    if "--list" in arguments:
        print_list()
        return 0
    missing = without_test()
    floor = read_floor() if FLOOR.exists() else missing
    if "--write" in arguments:
        kept = [name for name in missing if name in floor]
        FLOOR.write_text(HEAD + "".join(f"{name}\n" for name in kept))
        floor = kept
    new = [name for name in missing if name not in floor]
    stale = [name for name in floor if name not in missing]
    for name in new:
        say(f"  MPI_{name} is built, but no program of test/mpi calls it")
    for name in stale:
        say(f"  MPI_{name} is called by now: python3 -m tools.effects --write")
    say(f"effects: {len(missing)} of {len(built_names())} built functions are called by no test")
    return 1 if new or stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
