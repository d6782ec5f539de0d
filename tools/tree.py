# SPDX-License-Identifier: Apache-2.0
"""Where things are: the source tree, the build trees, the user's cache."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
LOGS = BUILD / "log"
STAGE = BUILD / "stage"
PRESETS = ("release", "bare", "dev", "asan", "tsan", "coverage", "clang", "fuzz")


def cache() -> Path:
    """The user's cache: rivals and Python tools live here, so that fresh clones share them."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "headway"


def build_of(preset: str) -> Path:
    return BUILD / preset


def stage_of(preset: str) -> Path:
    return STAGE if preset == "release" else BUILD / preset / "stage"


def tracked_files() -> list[Path]:
    """Files git knows or would take, relative to ROOT; without git, all but build/."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT, capture_output=True, check=False,
    )
    if listing.returncode == 0:
        names = [Path(name) for name in listing.stdout.decode().split("\0") if name]
    else:
        names = [path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file()]
        names = [path for path in names if path.parts[0] not in ("build", ".git")]
    return sorted(path for path in set(names) if (ROOT / path).is_file())
