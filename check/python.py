# SPDX-License-Identifier: Apache-2.0
"""Python passes ruff and mypy with the settings of pyproject.toml."""

import subprocess

from check.source import Source
from tools import packages


def run(source: Source) -> list[str]:
    folder = packages.python_tools()
    problems = []
    for command in (["ruff", "check", "--quiet", "--output-format=concise"], ["mypy"]):
        answer = subprocess.run([folder / command[0], *command[1:]], cwd=source.root,
                                capture_output=True, text=True, check=False)
        if answer.returncode != 0:
            problems += (answer.stdout + answer.stderr).strip().splitlines()
    return problems
