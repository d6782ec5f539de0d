# SPDX-License-Identifier: Apache-2.0
"""./dev rivals [NAME ...]: fetches the rivals and prints {name: folder}; headway.rivals does it."""

import os
import subprocess
import sys

from tools import packages, tree


def main(arguments: list[str]) -> int:
    packages.require("python")
    words = ["--ensure", *arguments] if arguments else []
    return subprocess.run(
        [sys.executable, "-m", "headway.rivals", *words], check=False,
        env={**os.environ, "PYTHONPATH": str(tree.ROOT / "python")}).returncode
