# SPDX-License-Identifier: Apache-2.0
"""Which tests there are: ctest's list, MPI programs (test/mpi/list.toml), Python files."""

import json
import re
import subprocess
import sys
from pathlib import Path

from tools import mpi_tests, tree
from tools.test_case import PATIENCE, SANITIZER_OPTIONS, Test

# Folders of test/ whose Python files start programs of the stage, or jobs of rivals whose ranks
# have to start at one time.
JOB_KINDS = ("launch", "abi", "bench", "faults", "interop", "demo", "programs", "trace", "sim")


def from_ctest(preset: str) -> list[Test]:
    """C++ test programs of a build tree."""
    folder = tree.build_of(preset)
    listing = subprocess.run(
        ["ctest", "--test-dir", folder, "--show-only=json-v1"], capture_output=True, text=True,
        check=True)
    tests = []
    for entry in json.loads(listing.stdout)["tests"]:
        properties = {row["name"]: row["value"] for row in entry.get("properties", [])}
        label = (properties.get("LABELS") or ["quick"])[0]
        tests.append(Test(
            name=entry["name"], command=entry["command"], label=label,
            timeout_s=float(properties.get("TIMEOUT", 60)) * PATIENCE.get(preset, 1.0),
            environment=dict(SANITIZER_OPTIONS),
            folder=Path(properties.get("WORKING_DIRECTORY", folder)),
            counts=not entry["name"].startswith("model_")))
    return tests


def _has_mark(path: Path, mark: str) -> bool:
    """A test says `# headway-test: long`, `waits` or `together`, in its first lines."""
    return f"# headway-test: {mark}" in path.read_text().splitlines()[:12]


def _needs(path: Path) -> list[str]:
    """A test that says `# headway-needs: model` gets that group of packages installed."""
    marks = re.findall(r"^# headway-needs: (.*)$", path.read_text(), re.MULTILINE)
    return " ".join(marks).split()


def _python_files() -> list[tuple[str, Path]]:
    """(kind, file): tests by name; other files beside them are drivers and fixtures."""
    found = []
    for kind in ("gen", "python"):
        for pattern in ("*_test.py", "test_*.py"):
            found += [(kind, path) for path in (tree.ROOT / kind).rglob(pattern)]
    for pattern in ("*_test.py", "check_*.py"):
        found += [(path.parent.name, path) for path in (tree.ROOT / "test").glob(f"*/{pattern}")]
    return sorted(found)


def from_python(preset: str) -> list[Test]:
    """Python tests: of gen, tools and checks, of the launcher, of the ABI.

    Those of JOB_KINDS use the stage; HEADWAY_STAGE names it. They run alone, unless they say
    `waits` (most of their time), or `together`: they compile most of their time.
    """
    tests = []
    for kind, path in _python_files():
        is_long, waits = _has_mark(path, "long"), _has_mark(path, "waits")
        alone = kind in JOB_KINDS and not waits and not _has_mark(path, "together")
        tests.append(Test(
            name=f"{kind}_{path.stem}", command=[sys.executable, str(path)],
            label="long" if is_long else "quick", timeout_s=900 if is_long else 300,
            alone=alone, waits=waits, needs=_needs(path),
            environment={
                "HEADWAY_STAGE": str(tree.stage_of(preset)),
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONPATH": f"{tree.ROOT}:{tree.ROOT / 'python'}:{tree.ROOT / 'gen'}"}))
    return tests


def collect(preset: str) -> list[Test]:
    tests = from_ctest(preset)
    if preset == "release":
        tests += from_python(preset)
    return tests + mpi_tests.from_list(mpi_tests.of_preset(preset))
