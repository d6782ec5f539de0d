# SPDX-License-Identifier: Apache-2.0
"""Every knob is used by the library, documented, and moved by a test or benchmark that exists."""

import re
import tomllib
from pathlib import Path

from check.source import CPP, Source, blank


def run(source: Source) -> list[str]:
    spec = Path("spec/knobs.toml")
    if spec not in source.names:
        return []
    page = Path("docs/knobs.md")
    documented = source.text(page) if page in source.names else ""
    code = "\n".join(blank(source.text(name)) for name in source.under("src", endings=CPP)
                     if name.parts[1] != "config")
    problems = []
    for row in tomllib.loads(source.text(spec))["knob"]:
        name, variable = row["name"], "HEADWAY_" + row["name"].upper()
        if variable not in documented:
            problems.append(f"{page}: {variable} is missing; run: python3 gen/knobs.py --docs")
        if not re.search(rf"\b{name}\b", code):
            problems.append(f"{spec}: knob {name} is not used in src; remove it until it is")
        mover = Path(row["moved_by"])
        if mover not in source.names:
            problems.append(f"{spec}: knob {name} is moved by {mover}, which is not there")
        elif not re.search(rf"\b({name}|{variable})\b", source.text(mover)):
            problems.append(f"{spec}: {mover} does not mention knob {name}")
    return problems
