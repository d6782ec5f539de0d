# SPDX-License-Identifier: Apache-2.0
"""Asks headway-study, the program that verifies, simulates and prints graphs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Answer:
    """What it printed; what was wrong it has told the user itself."""

    code: int
    text: str


def ask(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> Answer:
    """`environment`: of the program; None: that of this one."""
    stage = os.environ.get("HEADWAY_STAGE", "")
    program = Path(stage) / "bin" / "headway-study"
    if not stage or not program.is_file():
        print(f"headway: {program} is missing; build and install Headway (./dev build), then use "
              "the command `headway` of that installation", file=sys.stderr)
        return Answer(2, "")
    # Its error output stays the user's: progress and complaints.
    done = subprocess.run([program, *arguments], stdout=subprocess.PIPE, text=True, check=False,
                          env=environment)
    return Answer(done.returncode, done.stdout)
