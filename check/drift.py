# SPDX-License-Identifier: Apache-2.0
"""Generated files that are kept in the tree are what their generator writes."""

import subprocess
import sys

from check.source import Source


def run(source: Source) -> list[str]:
    """Asks every program of gen/ that has a --check."""
    problems = []
    for name in source.under("gen", endings=(".py",)):
        if "tests" in name.parts or '"--check"' not in source.text(name):
            continue
        answer = subprocess.run([sys.executable, name, "--check"], cwd=source.root,
                                capture_output=True, text=True, check=False)
        if answer.returncode != 0:
            said = (answer.stdout + answer.stderr).strip().splitlines()
            problems += [f"{name} --check: {line}" for line in said[-5:] or ["failed"]]
    return problems
