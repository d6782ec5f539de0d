# SPDX-License-Identifier: Apache-2.0
"""Which lines of src the quick tests execute, by layer."""

import json
import subprocess
from collections import defaultdict
from pathlib import Path

from tools import test, tree
from tools.terminal import say
from tools.test_case import Verdict

Lines = dict[tuple[str, int], bool]


def add_report(lines: Lines, report: str, root: Path = tree.ROOT) -> None:
    """Adds a gcov JSON document of a tree; a line is executed if any object executed it."""
    for document in report.splitlines():
        for source in json.loads(document)["files"]:
            path = (root / source["file"]).resolve()
            if not path.is_relative_to(root / "src"):
                continue
            name = str(path.relative_to(root))
            for line in source["lines"]:
                key = (name, line["line_number"])
                lines[key] = lines.get(key, False) or line["count"] > 0


def by_layer(lines: Lines) -> dict[str, tuple[int, int]]:
    """Executed and all lines of each layer."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for (name, _), executed in lines.items():
        layer = sums[Path(name).parts[1]]
        layer[0] += executed
        layer[1] += 1
    return {layer: (done, whole) for layer, (done, whole) in sorted(sums.items())}


def run() -> Verdict:
    folder = tree.build_of("coverage")
    for old in folder.rglob("*.gcda"):
        old.unlink()
    verdict = test.quick("coverage", [])
    lines: Lines = {}
    for data in sorted(folder.rglob("*.gcda")):
        gcov = subprocess.run(["gcov", "--json-format", "--stdout", data], cwd=tree.ROOT,
                              capture_output=True, text=True, check=False)
        if gcov.returncode == 0:
            add_report(lines, gcov.stdout)
    for layer, (done, whole) in by_layer(lines).items():
        say(f"  coverage {layer:<10} {100 * done / whole:5.1f} % of {whole} lines")
    return verdict
