# SPDX-License-Identifier: Apache-2.0
"""spec/knobs.toml -> config_knobs.hpp (struct Knobs and its table) and docs/knobs.md.

knobs.py --list          names of the files that --out writes
knobs.py --out DIR       write them
knobs.py --docs          write docs/knobs.md
knobs.py --check         fail if docs/knobs.md is not what --docs would write
"""

import argparse
import re
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADER = "config_knobs.hpp"
GROUPS = ("messages", "collectives", "progress", "memory", "diagnostics")
_SUFFIXES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class BadKnob(Exception):
    """spec/knobs.toml says something that makes no sense; the text says what."""


def number(text: str) -> int:
    """The value of '8192' or '16G'."""
    match = re.fullmatch(r"([0-9]+)([KMGT]?)", text)
    if not match:
        raise BadKnob(f"'{text}' is not a whole number with an optional suffix K, M, G, T")
    return int(match[1]) * _SUFFIXES[match[2]]


@dataclass
class Knob:
    name: str
    type: str
    default: str
    about: str
    moved_by: str
    choices: list[str] = field(default_factory=list)
    not_built: list[str] = field(default_factory=list)
    range: list[str] = field(default_factory=list)
    unit: str = ""
    form: str = ""
    with_list: str = ""
    group: str = "messages"
    late: bool = False

    @property
    def variable(self) -> str:
        return "HEADWAY_" + self.name.upper()

    @property
    def cpp_type(self) -> str:
        if self.type == "choice":
            return "".join(word.title() for word in self.name.split("_")) + "Choice"
        return "std::string" if self.is_text else "std::uint64_t"

    @property
    def is_text(self) -> bool:
        return self.type in ("path", "text")

    @property
    def limits(self) -> tuple[int, int]:
        if self.type == "choice":
            return 0, len(self.choices) - 1
        if self.is_text:
            return 0, 0
        return number(self.range[0]), number(self.range[1])

    def validate(self) -> None:
        if self.type not in ("choice", "count", "bytes", "path", "text"):
            raise BadKnob(f"knob {self.name}: there is no type '{self.type}'")
        if not re.fullmatch(r"[a-z][a-z0-9_]*", self.name):
            raise BadKnob(f"knob {self.name}: the name is not snake_case")
        if self.group not in GROUPS:
            raise BadKnob(f"knob {self.name}: there is no group '{self.group}'")
        if not self.about.endswith(".") or not self.moved_by:
            raise BadKnob(f"knob {self.name}: needs a sentence `about` and a `moved_by`")
        if self.type == "choice":
            if self.default not in self.choices or self.default in self.not_built:
                raise BadKnob(f"knob {self.name}: the default is not a choice that is built")
            if self.with_list and self.with_list not in self.choices:
                raise BadKnob(f"knob {self.name}: with_list is no choice")
            return
        if self.with_list:
            raise BadKnob(f"knob {self.name}: only a choice can have a list")
        if self.is_text:
            if self.default or self.range:
                raise BadKnob(f"knob {self.name}: a {self.type} is empty by default and has no "
                              "range")
            if (self.type == "text") != bool(self.form):
                raise BadKnob(f"knob {self.name}: a text, and nothing else, needs a `form`")
            return
        if len(self.range) != 2:
            raise BadKnob(f"knob {self.name}: needs a range of two values")
        lowest, highest = self.limits
        if not lowest <= number(self.default) <= highest:
            raise BadKnob(f"knob {self.name}: the default is out of range")


def read_knobs(text: str) -> list[Knob]:
    """Parses and validates the text of knobs.toml."""
    knobs = []
    for row in tomllib.loads(text)["knob"]:
        try:
            knobs.append(Knob(**row))
        except TypeError as error:
            raise BadKnob(f"knob {row.get('name', '?')}: {error}") from error
    for knob in knobs:
        knob.validate()
    if len({knob.name for knob in knobs}) != len(knobs):
        raise BadKnob("two knobs have one name")
    return knobs


def read_not_knobs(text: str) -> list[str]:
    """Variables that start with HEADWAY_ but are no settings."""
    names: list[str] = tomllib.loads(text).get("not_knobs", [])
    return names


def enumerator(choice: str) -> str:
    """`auto` is a word of C++."""
    return "automatic" if choice == "auto" else choice


def _enumeration(knob: Knob) -> str:
    names = ", ".join(enumerator(choice) for choice in knob.choices)
    return f"enum class {knob.cpp_type} : std::uint8_t {{ {names} }};\n"


def _field(knob: Knob) -> str:
    if knob.type == "choice":
        value = f"{knob.cpp_type}::{enumerator(knob.default)}"
        if knob.with_list:
            return (f"    /// {knob.about}\n    {knob.cpp_type} {knob.name} = {value};\n"
                    f"    /// What follows `{knob.with_list}:`; empty where nothing does.\n"
                    f"    std::string {knob.name}_list;\n")
    elif knob.is_text:
        return f"    /// {knob.about}\n    {knob.cpp_type} {knob.name};\n"
    else:
        value = str(number(knob.default))
    return f"    /// {knob.about}\n    {knob.cpp_type} {knob.name} = {value};\n"


def _maximum(knob: Knob) -> str:
    return f"inline constexpr std::uint64_t {knob.name}_max = {knob.limits[1]}U;\n"


def _row(knob: Knob) -> str:
    lowest, highest = knob.limits
    choices = "|".join(knob.choices)
    missing = "|".join(knob.not_built)
    facts = (f'     "{knob.about}",\n     KnobGroup::{knob.group}, '
             f'{"true" if knob.late else "false"}')
    if knob.is_text:
        return (
            f'    {{"{knob.name}", KnobType::text, 0U, 0U, "", "", nullptr,\n'
            f"     [](Knobs& knobs, std::string_view value) {{ knobs.{knob.name} = value; }},\n"
            f"     nullptr,\n"
            f"     [](const Knobs& knobs) {{ return std::string_view(knobs.{knob.name}); }},\n"
            f"{facts}, \"\"}},\n")
    store = f"[](Knobs& knobs, std::string_view value) {{ knobs.{knob.name}_list = value; }}"
    store_list = store if knob.with_list else "nullptr"
    return (
        f'    {{"{knob.name}", KnobType::{knob.type}, {lowest}U, {highest}U,\n'
        f'     "{choices}", "{missing}",\n'
        f"     [](Knobs& knobs, std::uint64_t value) {{\n"
        f"         knobs.{knob.name} = static_cast<{knob.cpp_type}>(value);\n"
        f"     }},\n     {store_list},\n"
        f"     [](const Knobs& knobs) {{\n"
        f"         return static_cast<std::uint64_t>(knobs.{knob.name});\n"
        f"     }},\n     nullptr,\n"
        f"{facts}, \"{knob.with_list}\"}},\n")


def render_header(knobs: list[Knob], not_knobs: list[str]) -> str:
    rows = "".join(_row(knob) for knob in knobs)
    others = ", ".join(f'"{name}"' for name in not_knobs)
    enumerations = "".join(_enumeration(knob) for knob in knobs if knob.type == "choice")
    return (
        "// SPDX-License-Identifier: Apache-2.0\n"
        "// Generated by gen/knobs.py from spec/knobs.toml.\n"
        "#pragma once\n\n#include <cstdint>\n#include <string>\n"
        "#include <string_view>\n\n"
        "namespace headway::config {\n\n"
        f"{enumerations}\n"
        "/// Every setting, with its default. Filled once by load_knobs, then read only.\n"
        f"struct Knobs {{\n{''.join(_field(knob) for knob in knobs)}}};\n\n"
        "// The largest value of each number.\n"
        f"{''.join(_maximum(knob) for knob in knobs if knob.range)}\n"
        "enum class KnobType : std::uint8_t { choice, count, bytes, text };\n"
        f"enum class KnobGroup : std::uint8_t {{ {', '.join(GROUPS)} }};\n\n"
        "/// What load_knobs knows of a knob. Choices are separated by '|'; the stored value of a\n"
        "/// choice is its index.\n"
        "struct KnobRow {\n    std::string_view name;\n    KnobType type;\n"
        "    std::uint64_t lowest;\n    std::uint64_t highest;\n"
        "    std::string_view choices;\n    std::string_view not_built;\n"
        "    void (*store)(Knobs& knobs, std::uint64_t value);\n"
        "    void (*store_text)(Knobs& knobs, std::string_view value);\n"
        "    std::uint64_t (*load)(const Knobs& knobs);\n"
        "    std::string_view (*load_text)(const Knobs& knobs);\n"
        "    std::string_view about;\n"
        "    KnobGroup group;\n"
        "    bool is_late;  ///< it may change while MPI runs\n"
        "    std::string_view with_list;  ///< the choice that a list may follow after a ':'\n"
        "};\n\n"
        f"inline constexpr KnobRow knob_table[] = {{\n{rows}}};\n\n"
        "/// Variables with our prefix that are no settings.\n"
        f"inline constexpr std::string_view not_knobs[] = {{{others}}};\n\n"
        "}  // namespace headway::config\n")


def _values(knob: Knob) -> str:
    if knob.type == "choice":
        later = [f"{choice} (not built yet)" for choice in knob.not_built]
        listed = [f"{c}[:list]" if c == knob.with_list else c for c in knob.choices]
        return ", ".join([c for c in listed if c not in knob.not_built] + later)
    if knob.is_text:
        return knob.form or "name of a file"
    return f"{knob.range[0]} to {knob.range[1]} {knob.unit or knob.type}"


def _default(knob: Knob) -> str:
    return f"`{knob.default}`" if knob.default else "none"


def render_docs(knobs: list[Knob]) -> str:
    rows = "".join(
        f"| `{knob.variable}` | {_values(knob)} | {_default(knob)} | {knob.about} |\n"
        for knob in knobs)
    return (
        "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
        "<!-- Generated by gen/knobs.py from spec/knobs.toml. -->\n"
        "# Settings\n\n"
        "Environment variables, read once in `MPI_Init`. Sizes take the suffixes K, M, G, T\n"
        "(powers of 1024). A wrong value ends the start with a sentence; an unknown name gets a\n"
        "warning that names the nearest one.\n\n"
        "| variable | values | default | effect |\n|---|---|---|---|\n"
        f"{rows}")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    if options.list:
        print(HEADER)
        return 0
    try:
        text = (ROOT / "spec" / "knobs.toml").read_text()
        knobs = read_knobs(text)
    except BadKnob as error:
        print(f"spec/knobs.toml: {error}", file=sys.stderr)
        return 1
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / HEADER).write_text(render_header(knobs, read_not_knobs(text)))
    page = ROOT / "docs" / "knobs.md"
    if options.docs:
        page.write_text(render_docs(knobs))
    if options.check and (not page.is_file() or page.read_text() != render_docs(knobs)):
        print("docs/knobs.md is not what spec/knobs.toml says; run: python3 gen/knobs.py --docs")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
