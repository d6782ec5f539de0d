# SPDX-License-Identifier: Apache-2.0
"""Every header of src and include compiles alone. Unchanged ones are remembered in build/."""

import hashlib
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from check.source import Source
from tools import build, tree

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^">]+)[">]', re.MULTILINE)
FLAGS = ["-fsyntax-only", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]
LANGUAGES = {".hpp": ["g++", "-std=c++20", "-x", "c++", "-Wold-style-cast"],
             ".h": ["gcc", "-std=c99", "-pedantic", "-x", "c"]}


def folders() -> list[Path]:
    return [tree.ROOT / "src", tree.ROOT / "include", tree.build_of("release") / "gen"]


def closure(start: Path, places: list[Path]) -> list[Path]:
    """The header and every file of ours it includes, directly or not."""
    found, waiting = {start}, [start]
    while waiting:
        current = waiting.pop()
        for header in _INCLUDE.findall(current.read_text(errors="replace")):
            for place in [current.parent, *places]:
                path = (place / header).resolve()
                if path.is_file() and path not in found:
                    found.add(path)
                    waiting.append(path)
    return sorted(found)


def command_of(header: Path, places: list[Path]) -> list[str]:
    return [*LANGUAGES[header.suffix], *FLAGS, *[f"-I{place}" for place in places],
            "-include", str(header), "/dev/null"]


def key_of(header: Path, places: list[Path]) -> str:
    digest = hashlib.sha256(repr(command_of(header, places)).encode())
    for path in closure(header, places):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def examine(header: Path, places: list[Path]) -> str | None:
    """What the compiler says against the header alone; None if nothing."""
    answer = subprocess.run(command_of(header, places), capture_output=True, text=True,
                            check=False)
    if answer.returncode == 0:
        return None
    errors = [line for line in answer.stderr.splitlines() if "error:" in line]
    return (errors or answer.stderr.splitlines() or ["the compiler failed"])[0]


def run(source: Source) -> list[str]:
    build.build()  # generated headers, and the compiler itself
    places = [place.resolve() for place in folders()]
    headers = [source.root / name
               for name in source.under("src", "include", endings=tuple(LANGUAGES))]
    memory = tree.BUILD / "check" / "headers.txt"
    known = set(memory.read_text().split()) if memory.is_file() else set()
    keys = {header: key_of(header.resolve(), places) for header in headers}
    changed = [header for header in headers if keys[header] not in known]
    with ThreadPoolExecutor(2) as pool:
        answers = dict(zip(changed, pool.map(lambda one: examine(one, places), changed),
                           strict=True))
    good = [keys[header] for header in headers if answers.get(header) is None]
    memory.parent.mkdir(parents=True, exist_ok=True)
    memory.write_text("\n".join(good) + "\n")
    return [f"{header.relative_to(source.root)} does not compile alone: {answer}"
            for header, answer in answers.items() if answer]
