# SPDX-License-Identifier: Apache-2.0
"""Files nobody uses: headers nobody includes, Python modules nobody imports or starts."""

import re
from pathlib import Path

from check.source import CPP, Source

_INCLUDE = re.compile(r'#[ \t]*include[ \t]*[<"]([^">]+)[">]')
_PYTHON = ("tools", "check", "gen", "bench", "python")


def _dead_headers(source: Source) -> list[str]:
    included: set[str] = set()
    for name in source.under(endings=CPP):
        included |= {Path(header).name for header in _INCLUDE.findall(source.text(name))
                     if Path(header).name != name.name or name.suffix in (".c", ".cpp")}
    generators = "\n".join(source.text(name) for name in source.under("gen", endings=(".py",)))
    return [f"{name}: no file includes this header"
            for name in source.under("src", "launch", "test", endings=(".hpp", ".h"))
            if name.name not in included and name.name not in generators]


def _dead_modules(source: Source) -> list[str]:
    endings = (".py", ".txt", ".cmake", ".toml", ".sh", ".c", ".cpp", ".md", "")
    problems = []
    for name in source.under(*_PYTHON, endings=(".py",)):
        if name.stem in ("__init__", "__main__") or name.stem.startswith("test_") \
                or name.stem.endswith("_test") or name.parts[0] == "bench":
            continue  # started by name, not imported
        mention = re.compile(rf"\b{re.escape(name.stem)}\b")
        if not any(mention.search(source.text(other)) for other in source.under(endings=endings)
                   if other != name):
            problems.append(f"{name}: nothing imports or starts this module")
    return problems


def run(source: Source) -> list[str]:
    return _dead_headers(source) + _dead_modules(source)
