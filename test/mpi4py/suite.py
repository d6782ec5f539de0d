#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The test suite of mpi4py, built with the staged mpicc, at several numbers of ranks.

    env PYTHONPATH=. python3 test/mpi4py/suite.py [--ranks 1,2,3,4 | --all] [--only REGEX] [--write]

must_pass.txt holds the names of the tests that must pass; a name that did not, whatever the
reason, is a failure, also one that skipped itself because a call answered "unsupported". With more
ranks than the list knows, names that must pass with the most it knows may not fail. --write
adds names that pass and are not in the list yet; it never takes one away. --module NAME runs
another file of the suite, to see what of it could be added. excluded.txt holds what need not pass,
with reasons; a test that stands in neither list is a failure, and so is one excluded that passes.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tools import packages, tree
from tools.terminal import StepFailed, end_session, run_logged, say

HERE = Path(__file__).resolve().parent
LIST = HERE / "must_pass.txt"
EXCLUDED = HERE / "excluded.txt"
REASONS = ("one-sided", "files", "dynamic processes", "package ", "not in MPI-5.0",
           "skips itself")
# Tests that lose a race of their own now and then, whatever MPI library it is: what they say then,
# and why. They try again; who fails with other words, hangs or ends early does not.
RACES = {
    "test_util_pool.TestThreadPool.test_terminate":
        (": True is not false",
         "a worker that starts late takes the last task of all, which is not cancelled then"),
}
TRIES = 3
RANKS = (1, 2, 3, 4)
ALL_RANKS = range(1, 9)
VERSION = "4.1.2"
SOURCE = (f"mpi4py=={VERSION} --hash="
          "sha256:56860286dc45f20e8821e93cb06669e30462348bf866f685553fa4b712d58d02")
NUMPY = "numpy==2.4.6"
MODULE_LIMIT_S = 400.0
HEAD = """\
# SPDX-License-Identifier: Apache-2.0
# Tests of mpi4py that must pass. A name alone: with 1, 2, 3 and 4 ranks; else the numbers follow.
# Written by suite.py --write, which only adds.
"""

Names = dict[str, frozenset[int]]


def parse_list(text: str) -> Names:
    """Names with the numbers of ranks at which they must pass."""
    names: Names = {}
    for line in text.splitlines():
        words = line.split()
        if words and not words[0].startswith("#"):
            names[words[0]] = frozenset(map(int, words[1:])) or frozenset(RANKS)
    return names


def format_list(names: Names) -> str:
    lines = []
    for name, ranks in sorted(names.items()):
        numbers = "" if ranks == frozenset(RANKS) else " " + " ".join(map(str, sorted(ranks)))
        lines.append(f"{name}{numbers}\n")
    return HEAD + "".join(lines)


def parse_excluded(text: str) -> dict[str, str]:
    """Files, classes and tests that need not pass, with the reasons."""
    rows = (line.partition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: reason for name, _, reason in rows if name}


def exclusion_of(name: str, excluded: dict[str, str]) -> str:
    """The entry that a test, or a file, falls under; "" if it has to pass."""
    words = name.split(".")
    entries = (".".join(words[:length]) for length in range(1, len(words) + 1))
    return next((entry for entry in entries if entry in excluded), "")


@dataclass
class Outcome:
    """What became of the tests of one run, over all its ranks."""

    passed: set[str] = field(default_factory=set)
    others: dict[str, str] = field(default_factory=dict)  # name -> what happened, and where


def merge(ranks: dict[int, str]) -> Outcome:
    """A test passed if it did on every rank. `ranks` holds what each rank wrote."""
    outcome = Outcome()
    seen: set[str] = set()
    passed_by: list[set[str]] = []
    for rank, text in ranks.items():
        began: list[str] = []
        passed: set[str] = set()
        for line in text.splitlines():
            word, _, rest = line.partition(" ")
            name, _, reason = rest.partition(" ")
            if word == "began":
                began.append(name)
            elif word == "passed":
                passed.add(name)
            elif word in ("failed", "skipped"):
                what = f"{word} on rank {rank}" + (f": {reason}" if reason else "")
                outcome.others.setdefault(name, what)
        if began and not text.endswith("ended\n"):
            passed.discard(began[-1])
            outcome.others.setdefault(began[-1], f"rank {rank} ended or hung in it")
        seen.update(began)
        passed_by.append(passed)
    if passed_by:
        outcome.passed = set.intersection(*passed_by) - set(outcome.others)
    for name in seen - outcome.passed:
        outcome.others.setdefault(name, "did not run on every rank")
    return outcome


def missed(names: Names, ranks: int, outcome: Outcome, modules: Iterable[str]) -> list[str]:
    """A sentence for each name of these modules that had to pass with so many ranks and did not."""
    chosen = set(modules)
    if ranks > max(RANKS):
        return [f"{name} with {ranks} ranks: {what}"
                for name, what in sorted(outcome.others.items())
                if max(RANKS) in names.get(name, ()) and not what.startswith("skipped")]
    return [f"{name} with {ranks} ranks: {outcome.others.get(name, 'is missing in the run')}"
            for name, numbers in sorted(names.items())
            if ranks in numbers and name.partition(".")[0] in chosen
            and name not in outcome.passed]


def unaccounted(names: Names, excluded: dict[str, str], outcome: Outcome) -> list[str]:
    """A sentence for each test that no list holds, and for each excluded one that passed."""
    seen = outcome.passed | set(outcome.others)
    return ([f"{name} is neither in {LIST.name} nor in {EXCLUDED.name}" for name in sorted(seen)
             if name not in names and not exclusion_of(name, excluded)]
            + [f"{name} passed, but stands in {EXCLUDED.name}" for name in sorted(outcome.passed)
               if exclusion_of(name, excluded)])


def unknown_files(names: Names, excluded: dict[str, str], tests: Path) -> list[str]:
    """A sentence for each file of the suite that is neither run nor excluded as a whole."""
    known = {name.partition(".")[0] for name in names}
    return [f"{path.stem} has no test in {LIST.name} and is not in {EXCLUDED.name}"
            for path in sorted(tests.glob("test_*.py"))
            if path.stem not in known and path.stem not in excluded]


def grow(names: Names, passed: dict[int, set[str]]) -> Names:
    """The list with everything added that passed."""
    grown = dict(names)
    for ranks, tests in passed.items():
        for name in tests:
            grown[name] = grown.get(name, frozenset()) | {ranks}
    return grown


@dataclass(frozen=True)
class Installation:
    python: Path
    tests: Path


def prepare(stage: Path) -> Installation:
    """mpi4py built for this stage's header, in the user's cache; made once."""
    header = (stage / "include" / "mpi.h").read_bytes()
    key = "\n".join([sys.version, SOURCE, NUMPY, hashlib.sha256(header).hexdigest()])
    name = f"{VERSION}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
    folder = tree.cache() / "mpi4py" / name
    found = Installation(folder / "bin" / "python", folder / f"mpi4py-{VERSION}" / "test")
    if (folder / "complete").is_file():
        return found
    packages.require("python")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run_logged("mpi4py venv", [sys.executable, "-m", "venv", folder])
    pip = [found.python, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    (folder / "source.txt").write_text(SOURCE + "\n")
    run_logged("mpi4py source", [
        *pip, "download", "--no-deps", "--no-binary", "mpi4py",
        "--require-hashes", "-d", folder, "-r", folder / "source.txt"])
    archive = folder / f"mpi4py-{VERSION}.tar.gz"
    run_logged("mpi4py unpack", ["tar", "-xzf", archive, "-C", folder])
    run_logged("mpi4py numpy", [*pip, "install", "--quiet", NUMPY])
    # Nothing of it is measured, and one C file of 5 MB takes minutes with optimization.
    run_logged("mpi4py build", [*pip, "install", "--no-deps", archive], environment={
        "MPICC": str(stage / "bin" / "mpicc"), "CFLAGS": "-O0", "MPI4PY_BUILD_MPIABI": "1"})
    (folder / "complete").write_text(key + "\n")
    return found


def run_module(stage: Path, installed: Installation, ranks: int, module: str) -> Outcome:
    """One file of the suite under our mpiexec. Its output goes to a log."""
    tree.LOGS.mkdir(parents=True, exist_ok=True)
    log = tree.LOGS / f"mpi4py-{module}-{ranks}.log"
    with tempfile.TemporaryDirectory(prefix="headway-mpi4py-") as folder, log.open("wb") as output:
        process = subprocess.Popen(
            [stage / "bin" / "mpiexec", "-n", str(ranks), installed.python, HERE / "one_rank.py",
             installed.tests, folder, module],
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            start_new_session=True, env=environment(stage / "lib"))
        try:
            process.wait(timeout=MODULE_LIMIT_S)
        except subprocess.TimeoutExpired:
            pass
        finally:
            end_session(process)
        written = [Path(folder) / f"rank-{rank}" for rank in range(ranks)]
        return merge({rank: path.read_text() if path.is_file() else ""
                      for rank, path in enumerate(written)})


def retried(run: Callable[[], Outcome]) -> Outcome:
    """What a run came to; the tests that race have passed if they did in one of a few runs."""
    outcome = run()
    for _ in range(TRIES - 1):
        lost = {name for name, (words, _) in RACES.items()
                if outcome.others.get(name, "").endswith(words)}
        if not lost:
            break
        for name in lost & run().passed:
            say(f"  {name} passed at another try: {RACES[name][1]}")
            del outcome.others[name]
            outcome.passed.add(name)
    return outcome


def environment(folder: Path) -> dict[str, str]:
    """For a library whose shared objects are in `folder`."""
    return {**os.environ, "LD_LIBRARY_PATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1",
            # Pools wait forever for processes that could not be started.
            "MPI4PY_TEST_SPAWN": "0"}


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--stage", type=Path, default=tree.STAGE)
    parser.add_argument("--ranks", default=",".join(map(str, RANKS)), help="e.g. 1,2,3,4")
    parser.add_argument("--all", action="store_const", dest="ranks",
                        const=",".join(map(str, ALL_RANKS)), help="1 to 8 ranks")
    parser.add_argument("--only", default="", metavar="REGEX", help="modules of the list")
    parser.add_argument("--module", action="append", default=[], help="a module beside the list's")
    parser.add_argument("--write", action="store_true", help="add what passes to the list")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    names = parse_list(LIST.read_text()) if LIST.is_file() else {}
    known = {name.partition(".")[0] for name in names}
    modules = sorted({module for module in known if re.search(options.only, module)}
                     if not options.module else set(options.module))
    excluded = parse_excluded(EXCLUDED.read_text())
    installed = prepare(options.stage)
    bad = unknown_files(names, excluded, installed.tests)
    passed: dict[int, set[str]] = {}
    others = 0
    for ranks in map(int, options.ranks.split(",")):
        passed[ranks] = set()
        for module in modules:
            outcome = retried(partial(run_module, options.stage, installed, ranks, module))
            passed[ranks] |= outcome.passed
            wrong = missed(names, ranks, outcome, [module])
            if not options.write:
                wrong += unaccounted(names, excluded, outcome)
            bad += wrong
            free = len(set(outcome.others) - {name for name in names if ranks in names[name]})
            others += free
            say(f"  {module:<24} {ranks} ranks: {len(outcome.passed)} passed, {len(wrong)} that "
                f"had to did not, {free} others did not")
            if options.module:
                for name, what in sorted(outcome.others.items()):
                    say(f"    {name}: {what}")
    if options.write:
        LIST.write_text(format_list(grow(names, passed)))
    for sentence in bad:
        say(f"  FAILED {sentence}")
    if bad:
        say(f"  logs: {tree.LOGS}/mpi4py-*.log")
    good = sum(len(tests) for tests in passed.values())
    say(f"{good} passed, {len(bad)} failed" + (f", {others} skipped" if others else ""))
    return 1 if bad or not good else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except StepFailed as failure:
        print(f"headway: {failure}", file=sys.stderr)
        sys.exit(1)
