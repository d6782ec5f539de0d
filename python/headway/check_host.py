# SPDX-License-Identifier: Apache-2.0
"""Says whether a program can run as several ranks of one process (mpiexec --ranks thread), what
its ranks would share, and if it cannot, why, and what helps."""

from __future__ import annotations

import argparse
import os
import subprocess
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("program", help="as mpiexec would be given it")
    parser.add_argument("--shared-lib", action="append", default=[], metavar="NAME",
                        help="a library that ranks are to share, as for mpiexec; may be repeated")


def main(options: argparse.Namespace) -> int:
    host = Path(os.environ["HEADWAY_STAGE"]) / "bin" / "headway-host"
    command = [host, "--check", options.program, *options.shared_lib]
    return subprocess.run(command, check=False).returncode
