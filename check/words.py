# SPDX-License-Identifier: Apache-2.0
"""Words and names that have no place in the tree (STYLE.md, names and comments)."""

import hashlib
import re
from pathlib import Path

from check.source import CPP, Source, blank

_MARK = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b(?!\(#\d+\))")
_EMPTY_NAMES = ("util", "utils", "common", "misc", "helper", "helpers", "manager", "impl")
_EMPTY_TYPE = re.compile(
    r"\b(?:class|struct|union|concept)\s+(\w*?(?:Utils?|Common|Misc|Helpers?|Manager|Impl))\b")
# Paths of one machine and names of tools somebody happened to write with. The names are kept as
# digests, so that the list itself does not bring them into the tree.
_MACHINE = re.compile(r"(?<![\w.}])/(?:wo" r"rk|ro" r"ot|home/\w+)/")
_FOREIGN = {
    "c857d09db23e", "c70eca6b0f88", "60965168ce76", "7d3194f79e64", "3ea125d0bff3",
    "94a168d2da57", "d298391b0743", "57de4cf40144", "5d72436256ad",
}
_WORD = re.compile(r"[A-Za-z]{5,}")


def is_foreign(word: str) -> bool:
    return hashlib.sha256(word.lower().encode()).hexdigest()[:12] in _FOREIGN


def name_problem(name: Path) -> str | None:
    """Names that say nothing: what is it that it helps with?"""
    for part in name.parts:
        words = re.split(r"[_\-.]", part.lower())
        for word in _EMPTY_NAMES:
            if word in words:
                return f"{name}: '{word}' says nothing; name the file after what it holds"
    return None


def problems_of(name: Path, text: str) -> list[str]:
    problems = []
    for number, line in enumerate(text.splitlines(), 1):
        mark = _MARK.search(line)
        if mark:
            problems.append(f"{name}:{number}: {mark[0]} without an issue number, as (#12)")
        if _MACHINE.search(line):
            problems.append(f"{name}:{number}: a path of one machine")
    if name.suffix in CPP:
        code = blank(text)
        for match in _EMPTY_TYPE.finditer(code):
            at = code.count("\n", 0, match.start()) + 1
            problems.append(f"{name}:{at}: type name {match[1]} says nothing")
    for word in sorted({word for word in _WORD.findall(text) if is_foreign(word)}):
        at = text[:text.index(word)].count("\n") + 1
        problems.append(f"{name}:{at}: the name of a tool that is no part of Headway")
    return problems


def run(source: Source) -> list[str]:
    problems = []
    for name in source.names:
        empty = name_problem(name)
        if empty:
            problems.append(empty)
        if name.name != "LICENSE":
            problems += problems_of(name, source.text(name))
    return problems
