#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# headway-test: long
"""Our header and library against those of other libraries with the MPI-5.0 standard ABI.

  check_abi.py [--stage STAGE] [--rivals DIR]

STAGE holds include/mpi.h and lib/libmpi_abi.so.1 (default: HEADWAY_STAGE); DIR the rivals, one
Python environment each (default: where headway.rivals keeps them, fetched if absent). Without a
stage only the header in the tree is compared.

Compared: every constant, handle, predefined function, size and offset, by the output of one
program compiled with either header; every prototype, by the compiler; every name that either
header declares; every dynamic symbol of the library with its binding.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "gen"), str(ROOT / "python")]

import mpi_spec  # noqa: E402

# Added to the standard's header by an erratum that these rivals do not have yet.
NEWER_THAN_RIVALS = {"Psend_init_c", "Precv_init_c"}
# Where the header of a rival is older than the corrections that brought values and prototypes in
# line with the text of MPI-5.0 (late in 2025). A name that no longer differs is reported.
OLDER = {"intel": {
    "MPI_ERRORS_ABORT", "MPI_ERRORS_RETURN", "MPI_SEEK_CUR", "MPI_SEEK_END", "MPI_SEEK_SET",
    "MPI_APPNUM", "MPI_LASTUSEDCODE", "MPI_UNIVERSE_SIZE",
    "MPI_Request_get_status_all", "MPI_Request_get_status_any", "MPI_Request_get_status_some",
    "MPI_Status_get_error", "MPI_Status_get_source", "MPI_Status_get_tag",
}}
# Names of rivals' headers that are theirs, or only steps of their own definitions.
NOT_STANDARD = re.compile(
    r"^(MPIX_\w+|MPI_ABI_\w+|MPI_H_ABI|MPI_internal|MPI_F_\w*STATUS\w*IGNORE|MPI_Fint"
    r"|MPI_Status|MPI_\w+_[cf]2[cf]\w*)$")
STANDARDS = [("gcc", "c", ["c99", "c11", "c17"]),
             ("g++", "c++", ["c++11", "c++14", "c++17", "c++20"])]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


@dataclass(frozen=True)
class Header:
    """A header under a name that a message can use."""

    label: str
    path: Path

    def include(self) -> str:
        return f'#include "{self.path}"\n'


class Findings:
    """Collects differences; a run that finds one exits 1."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.compared = 0

    def differs(self, label: str, names: set[str]) -> None:
        """Differences of `names` alone are known; those that are gone must leave the list."""
        known = OLDER.get(label.partition("-")[0], set())
        for name in sorted(known - names):
            self.problems.append(f"{label}: {name} is no longer different; take it off OLDER")
        for name in sorted(names - known):
            self.problems.append(f"{label}: {name} differs from ours")

    def same(self, what: str, ours: object, theirs: object) -> None:
        self.compared += 1
        if ours != theirs:
            self.problems.append(f"{what}: ours {ours}, theirs {theirs}")

    def expect(self, holds: bool, problem: str) -> None:
        self.compared += 1
        if not holds:
            self.problems.append(problem)


def run(command: list[str | Path]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          check=False, timeout=120)


def compile_source(text: str, folder: Path, flags: list[str], language: str = "c",
                   program: bool = False) -> subprocess.CompletedProcess[str]:
    compiler = "gcc" if language == "c" else "g++"
    source = folder / f"source.{'c' if language == 'c' else 'cpp'}"
    source.write_text(text)
    goal = ["-o", folder / "program"] if program else ["-fsyntax-only"]
    return run([compiler, *flags, source, *goal])


def value_lines(spec: mpi_spec.Spec) -> list[str]:
    """printf lines for everything with a value."""
    names = [value["name"] for group in [*spec.handles, *spec.constants,
                                         *spec.types["predefined_functions"]]
             for value in group["values"]]
    lines = [f'printf("{name} %lld\\n", (long long)(intptr_t){name});' for name in names]
    types = [entry["name"] for entry in [*spec.types["integer"], *spec.types["struct"]]]
    types += [entry["type"] for entry in spec.handles]
    types += ["MPI_T_cb_safety", "MPI_T_source_order"]
    lines += [f'printf("sizeof {name} %zu %d\\n", sizeof({name}), (int)_Alignof({name}));'
              for name in types]
    lines += [f'printf("signed {entry["name"]} %d\\n", ({entry["name"]})-1 < 0);'
              for entry in spec.types["integer"]]
    for entry in spec.types["struct"]:
        for part in entry["fields"]:
            where = f"{entry['name']}, {part['name']}"
            size = f"sizeof((({entry['name']}*)0)->{part['name']})"
            lines.append(f'printf("offset {where} %zu %zu\\n", offsetof({where}), {size});')
    return lines


def values(header: Header, spec: mpi_spec.Spec, folder: Path) -> dict[str, str]:
    body = "\n    ".join(value_lines(spec))
    text = (header.include() + "#include <stddef.h>\n#include <stdio.h>\n"
            f"int main(void)\n{{\n    {body}\n    return 0;\n}}\n")
    built = compile_source(text, folder, ["-std=c11", "-w"], program=True)
    if built.returncode != 0:
        raise SystemExit(f"{header.label}: the program of values does not compile:\n"
                         f"{built.stderr[:3000]}")
    pairs = (line.rpartition(" ") if not line.startswith(("sizeof", "offset")) else
             tuple(line.split(" ", 1)[1].partition(" ")) for line in
             run([folder / "program"]).stdout.splitlines())
    return {f"{name}": value for name, _, value in pairs}


def compare_values(ours: Header, theirs: Header, spec: mpi_spec.Spec, folder: Path,
                   findings: Findings) -> set[str]:
    """Names whose value, size or place differs."""
    mine, other = (values(header, spec, folder) for header in (ours, theirs))
    findings.compared += len(mine)
    different = {name for name, value in mine.items() if other.get(name) != value}
    for entry in spec.types["struct"]:
        findings.expect(mine[entry["name"]].startswith(f"{entry['size_bytes']} "),
                        f"{entry['name']} has {mine[entry['name']]} (size, alignment)")
    return different


def prototype_lines(spec: mpi_spec.Spec, newer: set[str]) -> list[str]:
    """Assertions that every function and callback has the type that the spec says."""
    lines = []
    for function in spec.functions:
        for large in function.variants():
            if function.c_name(large, "") in newer:
                continue
            for prefix in ("MPI_", "PMPI_"):
                name = function.c_name(large, prefix)
                kind = f"{function.returns} (*)({function.parameters(large)})"
                lines.append(f"_Static_assert(__builtin_types_compatible_p(__typeof__(&{name}), "
                             f'{kind}), "{name}");')
    for entry in spec.types["callback"]:
        kind = f"{entry['returns']} ({entry['args']})"
        lines.append(f"_Static_assert(__builtin_types_compatible_p({entry['name']}, {kind}), "
                     f'"{entry["name"]}");')
    for entry in spec.types["alias"]:
        lines.append(f"_Static_assert(__builtin_types_compatible_p({entry['name']}, "
                     f'{entry["of"]}), "{entry["name"]}");')
    return lines


def compare_prototypes(header: Header, spec: mpi_spec.Spec, newer: set[str], folder: Path,
                       findings: Findings) -> set[str]:
    """Functions and callbacks whose type is not the spec's."""
    lines = prototype_lines(spec, newer)
    built = compile_source(header.include() + "\n".join(lines), folder, ["-std=c11", "-w"])
    findings.compared += len(lines)
    failed = re.findall(r'error: static assertion failed: "P?(\w+)"', built.stderr)
    if built.returncode != 0 and not failed:
        raise SystemExit(f"{header.label}: the prototypes do not compile:\n{built.stderr[:3000]}")
    return set(failed)


def declared(header: Header) -> set[str]:
    """Names of the standard that a header gives a program, comments left out."""
    text = header.path.read_text(errors="replace")
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    return {name for name in re.findall(r"\bP?MPI_\w+", text)
            if not NOT_STANDARD.match(name.removeprefix("P"))}


def compare_names(ours: Header, theirs: Header, findings: Findings) -> None:
    mine, other = declared(ours), declared(theirs)
    newer = {prefix + name for name in NEWER_THAN_RIVALS for prefix in ("MPI_", "PMPI_")}
    tags = re.compile(r"^MPI_T_\w+_t$")
    for name in sorted(other - mine):
        findings.expect(False, f"{theirs.label} declares {name}, we do not")
    for name in sorted(mine - other - newer):
        findings.expect(tags.match(name) is not None, f"we declare {name}, {theirs.label} not")
    findings.compared += len(mine)


def check_standards(ours: Header, folder: Path, findings: Findings) -> None:
    for _, language, standards in STANDARDS:
        for standard in standards:
            text = ours.include() + ours.include() + (
                "int main(void)\n{\n    MPI_Comm comm = MPI_COMM_WORLD;\n"
                "    return comm == MPI_COMM_NULL ? MPI_ERR_COMM : MPI_SUCCESS;\n}\n")
            built = compile_source(text, folder, [f"-std={standard}", *WARNINGS], language)
            findings.expect(built.returncode == 0,
                            f"mpi.h as {standard}:\n{built.stderr[:2000]}")


# Programs by what they make of the names beside the ABI's (mpi-beyond-abi.h), with their flags.
BESIDE = [
    ("mpi.h has them", [],
     "MPI_Fint number(MPI_Comm comm) { return MPI_Comm_c2f(comm); }\n"
     "int extent(MPI_Aint *bytes) { return MPI_Type_extent(MPI_INT, bytes); }\n"),
    ("a program brings its own by flags", ["-DMPI_Fint=int", "-DMPI_Comm_f2c=MPI_Comm_fromint"],
     "MPI_Comm back(MPI_Fint number) { return MPI_Comm_f2c(number); }\n"),
    ("a program names its own integer", ["-DMPI_ABI_Fint=long long"],
     "_Static_assert(sizeof(MPI_Fint) == 8, \"as named\");\n"),
    ("a program leaves them out", ["-DHEADWAY_ABI_NAMES_ONLY"],
     "typedef short MPI_Fint;\n"
     "int MPI_Comm_f2c(double value);\n"
     "int MPI_Type_struct(void) { return 0; }\n"),
]


def check_names_beside(ours: Header, folder: Path, findings: Findings) -> None:
    for what, flags, text in BESIDE:
        built = compile_source(ours.include() + text, folder, ["-std=c11", *WARNINGS, *flags])
        findings.expect(built.returncode == 0, f"{what}:\n{built.stderr[:2000]}")


def symbols(library: Path) -> dict[str, str]:
    """Dynamic functions with a name of the standard, and their binding (T strong, W weak)."""
    listing = run(["nm", "-D", "--defined-only", library]).stdout
    found = {}
    for line in listing.splitlines():
        words = line.split()
        name = words[-1].partition("@")[0]
        if re.match(r"^P?MPI_", name) and words[-2] in "TtWwVvi":
            found[name] = words[-2]
    return found


def check_library(library: Path, spec: mpi_spec.Spec, findings: Findings) -> dict[str, str]:
    mine = symbols(library)
    wanted = {name: binding for function in spec.functions for large in function.variants()
              for name, binding in ((function.c_name(large), "W"),
                                    (function.c_name(large, "PMPI_"), "T"))}
    for name, binding in wanted.items():
        findings.same(f"{library.name}: {name}", mine.get(name), binding)
    for name in sorted(set(mine) - set(wanted)):
        findings.expect(False, f"{library.name} exports {name}, which the spec does not have")
    dynamic = run(["readelf", "-d", library]).stdout
    findings.expect("[libmpi_abi.so.1]" in dynamic, f"{library.name} has another soname")
    return mine


def compare_symbols(ours: dict[str, str], label: str, library: Path,
                    findings: Findings) -> None:
    """What a program linked with a rival may need must be here. Names that rivals export
    without declaring them in mpi_abi.h (old Fortran conversions) are no part of the ABI."""
    for name in symbols(library):
        if NOT_STANDARD.match(name.removeprefix("P")) or name.removeprefix("P") in REMOVED:
            continue
        findings.expect(name in ours, f"{label} exports {name}, we do not")


# Removed from the standard by MPI-3.0; some libraries still export them.
REMOVED = {f"MPI_{name}" for name in (
    "Address", "Errhandler_create", "Errhandler_get", "Errhandler_set", "Type_extent",
    "Type_hindexed", "Type_hvector", "Type_lb", "Type_struct", "Type_ub")}


def rival_folders(explicit: Path | None) -> dict[str, Path]:
    if explicit is not None:
        return {path.name: path for path in sorted(explicit.iterdir())
                if (path / "include" / "mpi_abi.h").is_file()}
    from headway import rivals  # only now: it may fetch them
    return {path.name: path for path in rivals.ensure(["mpich", "intel"]).values()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    stage = os.environ.get("HEADWAY_STAGE")
    parser.add_argument("--stage", type=Path, default=Path(stage) if stage else None)
    parser.add_argument("--rivals", type=Path)
    arguments = parser.parse_args()
    include = arguments.stage if arguments.stage is not None else ROOT
    ours = Header("headway", (include / "include" / "mpi.h").resolve())
    spec = mpi_spec.load()
    findings = Findings()
    found = rival_folders(arguments.rivals)
    findings.expect(bool(found), "no rival with include/mpi_abi.h was found to compare with")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        check_names_beside(ours, folder, findings)
        check_standards(ours, folder, findings)
        findings.expect(not compare_prototypes(ours, spec, set(), folder, findings),
                        "our own header and the spec differ")
        mine = {}
        if arguments.stage is not None:
            mine = check_library(arguments.stage / "lib" / "libmpi_abi.so.1", spec, findings)
        for label, path in found.items():
            theirs = Header(label, (path / "include" / "mpi_abi.h").resolve())
            different = compare_values(ours, theirs, spec, folder, findings)
            different |= compare_prototypes(theirs, spec, NEWER_THAN_RIVALS, folder, findings)
            findings.differs(label, different)
            compare_names(ours, theirs, findings)
            if mine:
                compare_symbols(mine, label, path / "lib" / "libmpi_abi.so.1", findings)
    for problem in findings.problems:
        print(problem)
    against = ", ".join(found) or "nothing"
    library = "header and library" if arguments.stage is not None else "header only (no stage)"
    print(f"{library} against {against}: {findings.compared} comparisons, "
          f"{len(findings.problems)} differences")
    return 1 if findings.problems else 0


if __name__ == "__main__":
    sys.exit(main())
