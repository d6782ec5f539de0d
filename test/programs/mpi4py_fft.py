#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mpi4py-fft, parallel transforms of NumPy arrays that are redistributed by MPI_Alltoallw on
subarray types, over mpi4py and the staged library: its own tests at 2 and 4 ranks.

    env PYTHONPATH=. python3 test/programs/mpi4py_fft.py [--only REGEX]
"""

import argparse
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "test" / "mpi4py"))

import suite  # noqa: E402  (the path has to be there first)

from tools import tree  # noqa: E402
from tools.terminal import StepFailed, end_session, run_logged, say  # noqa: E402

VERSION = "2.0.6"
SOURCE = (f"mpi4py-fft=={VERSION} --hash="
          "sha256:2d43aba64d1d6098896cb89942c686a7e8832f1ea6f1593e617d70f365407087")
TOOLS = ("setuptools==74.1.3", "wheel==0.45.1", "cython==3.2.4")
# Files of tests, at how many ranks. Others need SciPy or HDF5, or are of one rank.
MODULES = {"test_pencil": (2, 4), "test_darray": (2, 4), "test_libfft": (2,), "test_mpifft": (2,)}
LIMIT_S = 400.0


def install(installed: suite.Installation) -> Path:
    """Beside mpi4py; made once. Returns the folder of its tests."""
    folder = installed.python.parent.parent
    tests = folder / f"mpi4py_fft-{VERSION}" / "tests"
    if (folder / f"mpi4py-fft-{VERSION}").is_file():
        return tests
    pip = [installed.python, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    (folder / "fft.txt").write_text(SOURCE + "\n")
    run_logged("mpi4py-fft tools", [*pip, "install", "--quiet", *TOOLS])
    run_logged("mpi4py-fft source", [
        *pip, "download", "--no-deps", "--no-build-isolation", "--no-binary", "mpi4py-fft",
        "--require-hashes", "-d", folder, "-r", folder / "fft.txt"])
    archive = folder / f"mpi4py_fft-{VERSION}.tar.gz"
    run_logged("mpi4py-fft build", [
        *pip, "install", "--no-deps", "--no-build-isolation", archive])
    with tarfile.open(archive) as source:
        source.extractall(folder, filter="data")
    (folder / f"mpi4py-fft-{VERSION}").write_text(SOURCE + "\n")
    return tests


def run(installed: suite.Installation, tests: Path, module: str, ranks: int) -> str:
    """What is wrong, or nothing."""
    log = tree.LOGS / f"mpi4py-fft-{module}-{ranks}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tree.STAGE / "lib")}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [tree.STAGE / "bin" / "mpiexec", "-n", str(ranks), installed.python, f"{module}.py"],
            cwd=tests, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            start_new_session=True, env=environment)
        try:
            code = process.wait(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            return f"not over after {LIMIT_S:g} s; log: {log}"
        finally:
            end_session(process)
    return f"ended with code {code}; log: {log}" if code else ""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="files of tests")
    options = parser.parse_args(arguments)
    installed = suite.prepare(tree.STAGE)
    tests = install(installed)
    passed = failed = 0
    for module, numbers in MODULES.items():
        if not re.search(options.only, module):
            continue
        for ranks in numbers:
            wrong = run(installed, tests, module, ranks)
            say(f"  {module} with {ranks} ranks: {wrong or 'ok'}")
            passed += not wrong
            failed += bool(wrong)
    say(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except StepFailed as failure:
        print(f"headway: {failure}", file=sys.stderr)
        sys.exit(1)
