# SPDX-License-Identifier: Apache-2.0
"""Configure, compile, install into the stage."""

import os
from pathlib import Path

from tools import packages, tree
from tools.terminal import StepFailed, run_logged

# Extra settings of presets that need a compiler other than gcc.
_CLANG = {"CMAKE_C_COMPILER": "clang-19", "CMAKE_CXX_COMPILER": "clang++-19"}
_COMPILERS = {"clang": _CLANG, "fuzz": _CLANG}


def jobs() -> str:
    return os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or str(len(os.sched_getaffinity(0)))


def _configure(preset: str) -> None:
    folder = tree.build_of(preset)
    settings = [f"-D{name}={value}" for name, value in _COMPILERS.get(preset, {}).items()]
    if preset not in _COMPILERS and not os.environ.get("CXX"):
        settings += ["-DCMAKE_C_COMPILER=gcc", "-DCMAKE_CXX_COMPILER=g++"]
    if (folder / "build.ninja").is_file():
        return  # ninja configures again by itself when a CMake file changed
    try:
        run_logged(f"configure {preset}",
                   ["cmake", "--preset", preset, "--log-level=NOTICE", *settings])
    except StepFailed:
        (folder / "CMakeCache.txt").unlink(missing_ok=True)
        raise


def build(preset: str = "release", targets: tuple[str, ...] = ("all",)) -> Path:
    """Builds a preset and installs it; returns the stage."""
    if preset not in tree.PRESETS:
        raise StepFailed(f"there is no preset '{preset}'; there are " + ", ".join(tree.PRESETS))
    packages.require("build", *(["clang"] if preset in _COMPILERS else []))
    _configure(preset)
    folder = tree.build_of(preset)
    run_logged(f"build {preset}", ["ninja", "-C", folder, "-j", jobs(), *targets])
    if targets == ("all",):
        run_logged(f"install {preset}", ["cmake", "--install", folder])
    return tree.stage_of(preset)
