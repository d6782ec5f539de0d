# SPDX-License-Identifier: Apache-2.0
"""One rank of mpi4py's test suite: what suite.py starts under mpiexec.

one_rank.py TESTS OUTCOMES MODULE: runs a module of the folder TESTS and writes a line a test,
`<outcome> <name>`, into a file of the folder OUTCOMES that is named after the rank. A line
`began <name>` stands before each, so that a rank that ends early has said where.

Modules ask while they are loaded whether windows or files are there, and some of them know only one
answer for no: NotImplementedError, which mpi4py raises where a function is absent. Ours are there
and refuse, so a refusal counts as that answer; otherwise a module would be lost with all its tests.
"""

import ast
import os
import sys
import types
import unittest
from pathlib import Path
from types import TracebackType
from typing import TextIO

Failure = (tuple[type[BaseException], BaseException, TracebackType]
           | tuple[None, None, None])


class Outcomes(unittest.TextTestResult):
    """Writes outcomes as they come."""

    lines: TextIO

    def _say(self, outcome: str, test: unittest.TestCase, reason: str = "") -> None:
        first = reason.strip().splitlines()[:1]
        self.lines.write(" ".join([outcome, test.id(), *first]) + "\n")
        self.lines.flush()

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self._say("began", test)

    def addSuccess(self, test: unittest.TestCase) -> None:
        super().addSuccess(test)
        self._say("passed", test)

    def addFailure(self, test: unittest.TestCase, err: Failure) -> None:
        super().addFailure(test, err)
        self._say("failed", test, str(err[1]))

    def addError(self, test: unittest.TestCase, err: Failure) -> None:
        super().addError(test, err)
        self._say("failed", test, f"{type(err[1]).__name__}: {err[1]}")

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase,
                   err: Failure | None) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._say("failed", test, f"in a subtest: {err[1]}")

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        super().addSkip(test, reason)
        self._say("skipped", test, reason)


def accept_refusals(module: ast.Module) -> ast.Module:
    """Statements of the module itself that catch NotImplementedError catch MPI.Exception, too."""
    for statement in module.body:
        for handler in statement.handlers if isinstance(statement, ast.Try) else ():
            if isinstance(handler.type, ast.Name) and handler.type.id == "NotImplementedError":
                both = ast.parse("(NotImplementedError, MPI.Exception)", mode="eval").body
                handler.type = ast.copy_location(both, handler.type)
    return ast.fix_missing_locations(module)


def load(folder: str, name: str) -> types.ModuleType:
    """A module of the suite."""
    path = Path(folder) / f"{name}.py"
    tree = accept_refusals(ast.parse(path.read_text(encoding="utf-8"), str(path)))
    module = types.ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    exec(compile(tree, str(path), "exec"), module.__dict__)
    return module


def main(tests: str, outcomes: str, module: str) -> int:
    sys.path.insert(0, tests)
    for absent in ("cupy", "numba"):  # their tests need a device
        sys.modules[absent] = None  # type: ignore[assignment]
    from mpi4py import MPI
    library = MPI.Get_library_version()
    wanted = os.environ.get("MPI4PY_TESTS_LIBRARY", "Headway")
    if not library.startswith(wanted):
        print(f"one_rank.py: the MPI library is '{library}', not {wanted}", file=sys.stderr)
        return 2
    rank = MPI.COMM_WORLD.Get_rank()
    with (Path(outcomes) / f"rank-{rank}").open("w", encoding="utf-8") as lines:
        Outcomes.lines = lines
        suite = unittest.defaultTestLoader.loadTestsFromModule(load(tests, module))
        runner = unittest.TextTestRunner(resultclass=Outcomes, verbosity=0)
        runner.run(suite)
        lines.write("ended\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
