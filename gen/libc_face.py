# SPDX-License-Identifier: Apache-2.0
"""launch/libc_face.toml -> libc_face.list (names that the host program shows) and libc_face.inc.

libc_face.py --list          names of the files that --out writes
libc_face.py --out DIR       write them
"""

import argparse
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = "launch/libc_face.toml"
OUTPUTS = ["libc_face.list", "libc_face.inc"]
SHOWN = {"ends", "rank", "thread"}
TREATMENTS = SHOWN | {"shared", "refused"}


class BadFace(Exception):
    """The table says something that makes no sense; the text says what."""


def load(text: str) -> list[tuple[str, str, str]]:
    """(function, treatment, about), sorted by function."""
    rows: dict[str, tuple[str, str, str]] = {}
    for face in tomllib.loads(text).get("face", []):
        treatment, about = face.get("treatment", ""), face.get("about", "")
        if treatment not in TREATMENTS:
            raise BadFace(f"there is no treatment '{treatment}'")
        if treatment not in SHOWN and not about:
            raise BadFace(f"what is {treatment} says what about it")
        for function in face["functions"]:
            if function in rows:
                raise BadFace(f"'{function}' stands there twice")
            rows[function] = (function, treatment, about)
    return sorted(rows.values())


def shown(rows: list[tuple[str, str, str]]) -> str:
    """For the linker's --dynamic-list."""
    names = "".join(f"    {name};\n" for name, treatment, _ in rows if treatment in SHOWN)
    return f"/* SPDX-License-Identifier: Apache-2.0 */\n/* From {SOURCE}. */\n{{\n{names}}};\n"


def table(rows: list[tuple[str, str, str]]) -> str:
    lines = [f'{{"{name}", FaceTreatment::{treatment}, "{about}"}},\n'
             for name, treatment, about in rows]
    return f"// SPDX-License-Identifier: Apache-2.0\n// From {SOURCE}.\n{''.join(lines)}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(OUTPUTS))
        return 0
    try:
        rows = load((ROOT / SOURCE).read_text())
    except BadFace as bad:
        print(f"{SOURCE}: {bad}", file=sys.stderr)
        return 1
    options.out.mkdir(parents=True, exist_ok=True)
    for name, text in zip(OUTPUTS, [shown(rows), table(rows)], strict=True):
        (options.out / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
