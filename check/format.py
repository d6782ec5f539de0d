# SPDX-License-Identifier: Apache-2.0
"""C and C++ are formatted as .clang-format says."""

import re
import subprocess

from check.source import Source
from tools import packages
from tools.formatting import cpp_files

_WHERE = re.compile(r"^(.*?:\d+):\d+: error: ", re.MULTILINE)


def run(source: Source) -> list[str]:
    files = cpp_files(source)
    if not files:
        return []
    answer = subprocess.run(
        [packages.python_tools() / "clang-format", "--dry-run", "-Werror", *files],
        cwd=source.root, capture_output=True, text=True, check=False)
    if answer.returncode == 0:
        return []
    first: dict[str, str] = {}
    for place in _WHERE.findall(answer.stderr):
        first.setdefault(place.partition(":")[0], place)
    return [f"{place}: not formatted; run ./dev fmt" for place in first.values()] \
        or [answer.stderr.strip()[:300]]
