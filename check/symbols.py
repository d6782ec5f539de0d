# SPDX-License-Identifier: Apache-2.0
"""The built library shows only the names of the standard and ours, and needs no C++ library."""

import re
import subprocess
from pathlib import Path

from check.source import Source
from tools import build

ALLOWED = re.compile(r"^(P?MPIX?_[A-Za-z]\w*|Mate_\w+|headway_interface_1)$")
LIBRARIES = re.compile(r"^(libc\.so\.6|libm\.so\.6|libgcc_s\.so\.1|ld-linux-[\w-]+\.so\.\d+)$")
SONAME = "libmpi_abi.so.1"


def exported(listing: str) -> list[str]:
    """Names in the output of nm -D --defined-only."""
    return [line.split()[-1].partition("@")[0] for line in listing.splitlines() if line.strip()]


def problems_of(names: list[str], needed: list[str], soname: str | None) -> list[str]:
    problems = [f"{SONAME} exports {name}" for name in names if not ALLOWED.match(name)]
    problems += [f"{SONAME} needs {name}" for name in needed if not LIBRARIES.match(name)]
    if soname != SONAME:
        problems.append(f"the library calls itself {soname}, not {SONAME}")
    for name in names:
        if name.startswith("MPI_") and "P" + name not in names:
            problems.append(f"{SONAME} exports {name} but not P{name}")
    return problems


def _output(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def run(source: Source) -> list[str]:
    library = build.build() / "lib" / SONAME
    if not library.is_file():
        return [f"{library} is not built"]
    dynamic = _output("readelf", "-d", library)
    soname = re.search(r"Library soname: \[(.*?)\]", dynamic)
    return problems_of(
        exported(_output("nm", "-D", "--defined-only", library)),
        re.findall(r"Shared library: \[(.*?)\]", dynamic), soname[1] if soname else None)
