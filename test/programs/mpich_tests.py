#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mpich_tests.py [--ranks process|thread|ult] [--only REGEX]: MPICH's own tests of what MPI has to
do, built with the staged wrappers and started by the staged mpiexec.

The source is that of Debian's MPICH 4.0.2 (outside.py fetches it). Each line of its lists is a
test: a program, a number of ranks, arguments. It passes if it says so and ends with 0, or ends with
another code where that is what it is for. Lines about settings of MPICH run once, without them.
mpich_tests.toml names those that need not pass, with the reason; such a one that passes is told, so
that the list shrinks.
"""

import argparse
import collections
import os
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import outside

SOURCE = outside.Source(
    "mpich", "4.0.2-3", "mpich_4.0.2.orig.tar.xz",
    "b27039f964afeb6b8a3e009c56b441cbe368c26d6d6476ad3bb7190996875860", "mpich-4.0.2")
FOLDERS = ("attr", "coll", "comm", "datatype", "errhan", "group", "info", "init", "mpi_t", "pt2pt",
           "part", "topo", "errors", "threads", "impls")
# Functions that became MPI-4.1's.
OTHER_NAMES = ("-DMPIX_Delete_error_class=MPI_Remove_error_class "
               "-DMPIX_Delete_error_code=MPI_Remove_error_code "
               "-DMPIX_Delete_error_string=MPI_Remove_error_string")
LIMIT_S = 300
SAYS_GOOD = re.compile(r"No Errors|Test passed|Passed", re.I)
EXCEPTIONS = Path(__file__).with_suffix(".toml")


@dataclass
class Test:
    folder: str  # in test/mpi
    program: str
    ranks: int = 2
    arguments: list[str] = field(default_factory=list)
    limit_s: int = 0  # of the list; 0: none
    result: str = ""  # of MPICH's runner: what has to come of it
    is_strict: bool = True  # about what the standard says

    @property
    def name(self) -> str:
        return " ".join([f"{self.folder}/{self.program}", str(self.ranks), *self.arguments])


@dataclass
class Finding:
    is_good: bool
    seconds: float
    said: str


def tests(root: Path, folder: str) -> Iterator[Test]:
    """Of a list and the lists that it names; none twice."""
    for line in (root / folder / "testlist").read_text(encoding="utf-8").splitlines():
        words = line.split("#")[0].split()
        if not words:
            continue
        if len(words) == 1 and (root / folder / words[0] / "testlist").is_file():
            yield from tests(root, f"{folder}/{words[0]}")
            continue
        test = Test(folder, words[0])
        for word in words[1:]:
            key, _, value = word.partition("=")
            if word.isdigit():
                test.ranks = int(word)
            elif key == "arg":
                test.arguments.append(value)
            elif key == "timeLimit":
                test.limit_s = int(value)
            elif key == "resultTest":
                test.result = value
            elif key == "strict":
                test.is_strict = value.lower() != "false"
        yield test


def exceptions() -> dict[str, str]:
    """Reasons by patterns of names."""
    groups = tomllib.loads(EXCEPTIONS.read_text(encoding="utf-8"))["need_not_pass"]
    return {pattern: group["reason"] for group in groups for pattern in group["names"]}


def build(root: Path) -> None:
    """All that can be built; made anew where the headers are others."""
    headers = "".join(path.read_text(encoding="utf-8")
                      for path in sorted((outside.stage() / "include").glob("*.h")))
    made_of = f"{outside.stage()} {OTHER_NAMES}\n{headers}"
    mark = root / "built-with"
    if mark.is_file() and mark.read_text(encoding="utf-8") == made_of:
        return
    outside.run("./configure", f"--with-mpi={outside.stage()}", "--disable-fortran",
                "--disable-cxx", "--disable-romio", "--disable-spawn", "--disable-rma",
                "--enable-threads=multiple", "--disable-perftest", "--enable-strictmpi",
                "--disable-dependency-tracking", f"CFLAGS=-O1 -w {OTHER_NAMES}", cwd=root)
    print("mpich_tests: builds about 800 programs, two minutes", flush=True)
    for folder in ("util", "dtpools", *FOLDERS):
        outside.run("make", "-C", folder, "clean", cwd=root)
        # Some are of functions that MPI has not any more, or of extensions: exceptions name them.
        outside.run("sh", "-c", f"make -k -j2 -C {folder} > {folder}/build.log 2>&1 || true",
                    cwd=root)
    mark.write_text(made_of, encoding="utf-8")


def run(root: Path, test: Test, ranks: str) -> Finding:
    folder = root / test.folder
    if not os.access(folder / test.program, os.X_OK):
        return Finding(False, 0.0, "was not built")
    how = [] if ranks == "process" else ["--ranks", ranks]
    is_for_timeout = test.result == "TestErrFatal" and test.limit_s != 0
    limit_s = test.limit_s if is_for_timeout else LIMIT_S
    words = [outside.stage() / "bin" / "mpiexec", "-n", test.ranks, *how, "--timeout", limit_s,
             f"./{test.program}", *test.arguments]
    # The library of this stage, wherever the program was built.
    environment = {**os.environ, "LD_LIBRARY_PATH": str(outside.stage() / "lib")}
    begin = time.monotonic()
    done = subprocess.run([str(word) for word in words], cwd=folder, env=environment, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, errors="replace", timeout=LIMIT_S + 60,
                          check=False)
    if test.result.startswith(("TestStatus", "TestErrFatal")):
        is_good = done.returncode not in ((0,) if is_for_timeout else (0, 124))
    else:
        is_good = done.returncode == 0 and SAYS_GOOD.search(done.stdout) is not None
    return Finding(is_good, time.monotonic() - begin, f"exit {done.returncode}\n{done.stdout}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", choices=outside.HOSTS, default="process")
    parser.add_argument("--only", default="", metavar="REGEX", help="of the names of tests")
    options = parser.parse_args()
    try:
        root = outside.unpack(SOURCE) / "test" / "mpi"
        build(root)
    except outside.OutsideError as error:
        print(f"mpich_tests: {error}", file=sys.stderr)
        return 1
    found = {test.name: test for folder in FOLDERS for test in tests(root, folder)}
    chosen = [test for name, test in found.items() if re.search(options.only, name)]
    excused = exceptions()
    counts: collections.Counter[str] = collections.Counter()
    for number, test in enumerate(chosen, 1):
        finding = run(root, test, options.ranks)
        reason = next((reason for pattern, reason in excused.items()
                       if re.fullmatch(pattern, test.name)), None)
        verdict = ("passed" if finding.is_good else
                   "failed" if reason is None and test.is_strict else "need not pass")
        counts[verdict] += 1
        if verdict == "failed":
            print(f"FAILED {test.name} ({finding.seconds:.1f} s): {finding.said[-3000:]}",
                  flush=True)
        elif verdict == "passed" and reason is not None:
            print(f"passes although it need not ({reason}): {test.name}", flush=True)
        if number % 100 == 0:
            print(f"mpich_tests: {number} of {len(chosen)}", flush=True)
    print(f"mpich_tests, ranks as {options.ranks}: {counts['passed']} passed, "
          f"{counts['failed']} failed, {counts['need not pass']} need not pass")
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
