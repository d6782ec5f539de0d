# SPDX-License-Identifier: Apache-2.0
"""./dev fmt: clang-format for C and C++, ruff's import order for Python."""

import subprocess

from check.source import Source
from tools import packages, tree
from tools.terminal import say


def cpp_files(source: Source) -> list[str]:
    """C and C++ files written by people."""
    return [str(name) for name in source.under(endings=(".hpp", ".cpp", ".h", ".c"))
            if not source.is_generated(name)]


def main(arguments: list[str]) -> int:
    source = Source(tree.ROOT, tree.tracked_files())
    folder = packages.python_tools()
    files = cpp_files(source)
    codes = []
    if files:
        codes.append(subprocess.run([folder / "clang-format", "-i", *files], cwd=tree.ROOT,
                                    check=False).returncode)
    codes.append(subprocess.run([folder / "ruff", "check", "--quiet", "--fix", "--exit-zero"],
                                cwd=tree.ROOT, check=False).returncode)
    say(f"fmt: {len(files)} C and C++ files")
    return max(codes)
