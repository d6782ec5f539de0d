# SPDX-License-Identifier: Apache-2.0
"""The commands of ./dev."""

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

from tools import build, packages, tree
from tools.terminal import StepFailed, end_children, say

USAGE = """\
./dev setup [GROUP ...]          install what is missing (apt, and pip into a private environment)
                                 groups for special tests: model clang debuggers
./dev build [PRESET]             configure, compile, install into build/stage
                                 presets: release (default) dev asan tsan coverage clang
./dev demo                       build, run examples/jacobi3d, show overlap, write a timeline
./dev test [NAME ...]            build and run the quick tests, or those whose name contains NAME
./dev test --oracle mpich [NAME ...]
                                 the MPI tests on another library: a rival or a folder
./dev test mpi4py [--ranks 1,2]  the test suite of mpi4py, at 1, 2 and 3 ranks; --all: 1 to 8;
                                 --compare: its time beside MPICH's, its use of the processors
./dev test long [--budget 35m]   the long jobs, as many as the budget allows
./dev check [fast]               the rules of STYLE.md, checked by programs
./dev bench NAME [OPTION ...]    run a benchmark; -h lists them, but two of the tree: mpi4py (its
                                 tests beside MPICH's) and diagnostics (what they cost unasked)
./dev rivals [NAME ...]          fetch mpich, intel, openmpi; print where they are
./dev fmt                        format C, C++ and Python files
"""


def do_setup(arguments: list[str]) -> int:
    started = time.monotonic()
    packages.require("build", "python", *arguments)
    packages.python_tools()
    say(f"setup: everything is there ({time.monotonic() - started:.1f} s)")
    return 0


def do_build(arguments: list[str]) -> int:
    stage = build.build(arguments[0] if arguments else "release")
    say(f"build: staged in {stage}")
    return 0


def do_bench(arguments: list[str]) -> int:
    """Builds, then hands over to the command `headway bench` (python/headway), or to what compares
    more than one build or one program can say."""
    if arguments[:1] == ["diagnostics"]:
        return _forward("tools.diagnostics_cost")(arguments[1:])
    if arguments[:1] == ["mpi4py"]:
        return _forward("tools.test")(["mpi4py", "--compare", *arguments[1:]])
    stage = build.build()
    packages.require("python")
    if {"instructions", "all"} & set(arguments):
        packages.require("debuggers")
    return subprocess.run(
        [sys.executable, "-m", "headway", "bench", *arguments], check=False, cwd=tree.ROOT,
        env={**os.environ, "PYTHONPATH": str(tree.ROOT / "python"), "HEADWAY_STAGE": str(stage)},
    ).returncode


def _forward(module: str) -> Callable[[list[str]], int]:
    """A command that is a module of its own: loaded only when asked for."""
    def command(arguments: list[str]) -> int:
        if importlib.util.find_spec(module) is None:
            raise StepFailed(f"{module} is not there")
        loaded = importlib.import_module(module)
        return int(loaded.main(arguments))
    return command


COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "setup": do_setup,
    "build": do_build,
    "demo": _forward("tools.demo"),
    "test": _forward("tools.test"),
    "check": _forward("check.main"),
    "bench": do_bench,
    "rivals": _forward("tools.rivals"),
    "fmt": _forward("tools.formatting"),
}


def _interrupt(_number: int, _frame: object) -> None:
    """Both signals end what was started, which a second one (of an impatient user, or of timeout,
    which signals a command and its group) must not cut short."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("help", "-h", "--help"):
        say(USAGE)
        return 0 if arguments else 2
    command = COMMANDS.get(arguments[0])
    if command is None:
        print(f"headway: there is no command '{arguments[0]}'\n{USAGE}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGINT, _interrupt)
    try:
        return command(arguments[1:])
    except StepFailed as failure:
        print(f"headway: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nheadway: interrupted", file=sys.stderr, flush=True)
        end_children()
        os._exit(130)  # threads may still wait for what was just ended


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
