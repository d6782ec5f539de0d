# SPDX-License-Identifier: Apache-2.0
"""./dev check [fast]: runs every check, prints what each found and how long it took."""

import importlib
import time

from check.source import Source
from tools import tree
from tools.terminal import StepFailed, say

# Name of the module below check/, and whether `fast` runs it.
CHECKS = [
    ("layers", True),
    ("lengths", True),
    ("lines", True),
    ("words", True),
    ("atomics", True),
    ("dead", True),
    ("knobs", True),
    ("drift", True),
    ("format", True),
    ("python", True),
    ("headers", False),
    ("symbols", False),
]


def main(arguments: list[str]) -> int:
    fast = arguments[:1] == ["fast"]
    wanted = [name for name in arguments if name != "fast"]
    unknown = set(wanted) - {name for name, _ in CHECKS}
    if unknown:
        raise StepFailed(f"there is no check '{unknown.pop()}'; there are: "
                         + " ".join(name for name, _ in CHECKS))
    started = time.monotonic()
    source = Source(tree.ROOT, tree.tracked_files())
    found = 0
    for name, is_fast in CHECKS:
        if (fast and not is_fast) or (wanted and name not in wanted):
            continue
        begin = time.monotonic()
        problems = importlib.import_module(f"check.{name}").run(source)
        found += len(problems)
        verdict = "ok" if not problems else f"{len(problems)} found"
        say(f"  check {name:<12} {time.monotonic() - begin:6.2f} s  {verdict}")
        for problem in problems:
            say(f"    {problem}")
    total = time.monotonic() - started
    say(f"check: {found or 'nothing'} found ({total:.1f} s)")
    return 1 if found else 0
