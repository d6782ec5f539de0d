# SPDX-License-Identifier: Apache-2.0
"""./dev rivals [NAME ...]: fetches the rivals and prints {name: folder}; headway.rivals does it."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tools import packages, tree
from tools.terminal import StepFailed


def _fetch(names: list[str], output: int | None = None) -> subprocess.CompletedProcess[str]:
    packages.require("python")
    words = ["--ensure", *names] if names else []
    return subprocess.run(
        [sys.executable, "-m", "headway.rivals", *words], check=False, text=True, stdout=output,
        env={**os.environ, "PYTHONPATH": str(tree.ROOT / "python")})


def folder_of(name: str) -> Path:
    """Where a rival is; fetches it first if it is absent."""
    fetched = _fetch([name], subprocess.PIPE)
    if fetched.returncode:
        raise StepFailed(f"'{name}' is neither a folder nor a rival that could be fetched")
    return Path(json.loads(fetched.stdout)[name])


def main(arguments: list[str]) -> int:
    return _fetch(arguments).returncode
