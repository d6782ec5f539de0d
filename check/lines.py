# SPDX-License-Identifier: Apache-2.0
"""Every file: licence line first, 100 columns (not prose, data), no tabs or trailing space."""

from pathlib import Path

from check.source import CPP, Source

COLUMNS = 100
MARK = "SPDX-License-Identifier: Apache-2.0"
_TEXT = (*CPP, ".py", ".sh", ".toml", ".cmake", ".txt", ".md", ".json", ".map", "")
_NO_MARK = {"LICENSE", ".gitignore"}  # and formats without comments
_NO_MARK_ENDINGS = {".md", ".json", ".in", ".svg"}


def needs_mark(name: Path) -> bool:
    """Programs and data carry the mark; prose and formats without comments do not."""
    return name.name not in _NO_MARK and name.suffix not in _NO_MARK_ENDINGS


def problems_of(name: Path, text: str) -> list[str]:
    problems = []
    lines = text.splitlines()
    head = lines[:2] if lines and lines[0].startswith("#!") else lines[:1]
    if needs_mark(name) and not any(MARK in line for line in head):
        problems.append(f"{name}:1: the first line (the second after #!) must say {MARK}")
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS and name.suffix != ".md" and name.parts[0] != "spec":
            problems.append(f"{name}:{number}: {len(line)} columns; at most {COLUMNS}")
        if "\t" in line and name.name != "Makefile":
            problems.append(f"{name}:{number}: a tab")
        if line != line.rstrip():
            problems.append(f"{name}:{number}: space at the end of the line")
    if text and not text.endswith("\n"):
        problems.append(f"{name}: the last line does not end")
    return problems


def run(source: Source) -> list[str]:
    problems = []
    for name in source.under(endings=_TEXT):
        if name.name != "LICENSE" and not source.is_generated(name):
            problems += problems_of(name, source.text(name))
    return problems
