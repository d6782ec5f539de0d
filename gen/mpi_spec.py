# SPDX-License-Identifier: Apache-2.0
"""Reads spec/mpi/*.toml and spells its functions in C."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SPEC = ROOT / "spec" / "mpi"
# Functions of ours, MPIX_...; not of the standard, so not in its header.
EXTENSION = "extension"
NOT_CHAPTERS = {"kinds", "handles", "constants", "types", EXTENSION}
# The order of the chapters in the header.
CHAPTERS = [
    "environment", "point_to_point", "request", "datatype", "collective", "neighbor",
    "communicator", "attribute", "topology", "error", "info", "session", "dynamic",
    "rma", "io", "abi", "tool",
]
FUNCTION_KEYS = {
    "name", "large", "returns", "deprecated", "error", "any_time", "built", "same_as", "short_way",
    "args", "value", "inside",
}
ARG_KEYS = {
    "name", "kind", "type", "c", "dir", "const", "array", "length", "brackets", "count",
    "datatype", "in_place", "root_only", "large_only",
}
OUTSIDE_ERRORS = {"default", "file_default", "tool", "nothing"}


class SpecError(Exception):
    """The spec contradicts itself; the text says where."""


@dataclass(frozen=True)
class Arg:
    """One argument of a function; the fields are those of spec/mpi/README.md."""

    name: str
    kind: str
    c_type: str
    c_large: str
    pointer: bool
    direction: str
    const: bool
    array: str | None
    brackets: bool
    literal: str | None
    count: str | None
    datatype: str | None
    in_place: str | None
    root_only: bool
    large_only: bool

    def base_type(self, large: bool) -> str:
        return self.c_large if large else self.c_type

    @property
    def is_array(self) -> bool:
        return self.array is not None

    def declaration(self, large: bool) -> str:
        if self.literal is not None:
            return self.literal
        text = ("const " if self.const else "") + self.base_type(large) + " "
        if self.is_array or self.brackets:
            return f"{text}{self.name}[]"
        if self.pointer or self.direction != "in":
            text += "*"
        return text + self.name


@dataclass(frozen=True)
class Function:
    """One function of the standard; its `_c` twin, where there is one, is this with large=True."""

    name: str
    chapter: str
    args: list[Arg]
    large: bool
    returns: str
    deprecated: str | None
    error: str
    any_time: bool
    built: bool
    body: str
    short_way: bool
    value: bool
    inside: str | None

    def variants(self) -> list[bool]:
        return [False, True] if self.large else [False]

    def args_of(self, large: bool) -> list[Arg]:
        return [arg for arg in self.args if large or not arg.large_only]

    def c_name(self, large: bool, prefix: str = "MPI_") -> str:
        if self.chapter == EXTENSION and prefix.endswith("MPI_"):
            prefix = prefix.removesuffix("_") + "X_"
        return prefix + self.name + ("_c" if large else "")

    def parameters(self, large: bool) -> str:
        return ", ".join(arg.declaration(large) for arg in self.args_of(large)) or "void"

    def find(self, name: str) -> Arg:
        for arg in self.args:
            if arg.name == name:
                return arg
        raise SpecError(f"{self.name}: no argument is called {name}")


@dataclass
class Spec:
    """Everything of spec/mpi. `functions` are the standard's, `extensions` ours."""

    functions: list[Function] = field(default_factory=list)
    extensions: list[Function] = field(default_factory=list)
    handles: list[dict] = field(default_factory=list)
    constants: list[dict] = field(default_factory=list)
    types: dict = field(default_factory=dict)

    def chapter(self, name: str) -> list[Function]:
        return [function for function in [*self.functions, *self.extensions]
                if function.chapter == name]


def read_toml(path: Path) -> dict:
    with path.open("rb") as file:
        return tomllib.load(file)


def make_arg(entry: dict, kinds: dict, function: str) -> Arg:
    unknown = set(entry) - ARG_KEYS
    if unknown:
        raise SpecError(f"{function}: unknown keys {sorted(unknown)} in an argument")
    kind = kinds.get(entry["kind"])
    if kind is None:
        raise SpecError(f"{function}: kind {entry['kind']} is not in kinds.toml")
    c_type = entry.get("type", kind.get("c"))
    if c_type is None and "c" not in entry:
        raise SpecError(f"{function}: argument {entry['name']} has no C type")
    c_large = kind.get("large", c_type)
    if entry["kind"] == "either_function":
        c_large = f"{c_type}_c"
    return Arg(
        name=entry["name"], kind=entry["kind"], c_type=c_type or "", c_large=c_large or "",
        pointer=kind.get("pointer", False), direction=entry.get("dir", "in"),
        const=entry.get("const", False), array=entry.get("array"),
        brackets=entry.get("brackets", False), literal=entry.get("c"), count=entry.get("count"),
        datatype=entry.get("datatype"), in_place=entry.get("in_place"),
        root_only=entry.get("root_only", False), large_only=entry.get("large_only", False),
    )


def make_function(entry: dict, chapter: str, kinds: dict) -> Function:
    name = entry["name"]
    unknown = set(entry) - FUNCTION_KEYS
    if unknown:
        raise SpecError(f"{name}: unknown keys {sorted(unknown)}")
    function = Function(
        name=name, chapter=chapter,
        args=[make_arg(arg, kinds, name) for arg in entry["args"]],
        large=entry.get("large", False), returns=entry.get("returns", "int"),
        deprecated=entry.get("deprecated"), error=entry["error"],
        any_time=entry.get("any_time", False), built=entry.get("built", False),
        body=entry.get("same_as", name), short_way=entry.get("short_way", False),
        value=entry.get("value", False), inside=entry.get("inside"),
    )
    if function.error not in OUTSIDE_ERRORS:
        function.find(function.error)
    if function.inside is not None:
        function.find(function.inside)
    for arg in function.args:
        for partner in (arg.count, arg.datatype):
            if partner is not None:
                function.find(partner)
    return function


def load(folder: Path = SPEC) -> Spec:
    """Reads the folder. Raises SpecError where files contradict each other."""
    kinds = read_toml(folder / "kinds.toml")["kind"]
    spec = Spec(
        handles=read_toml(folder / "handles.toml")["handle"],
        constants=read_toml(folder / "constants.toml")["constants"],
        types=read_toml(folder / "types.toml"),
    )
    found = {path.stem for path in folder.glob("*.toml")} - NOT_CHAPTERS
    if found != set(CHAPTERS):
        raise SpecError(f"chapters on disk and in mpi_spec.py differ: {found ^ set(CHAPTERS)}")
    seen: set[str] = set()
    for chapter in [*CHAPTERS, EXTENSION]:
        place = spec.extensions if chapter == EXTENSION else spec.functions
        for entry in read_toml(folder / f"{chapter}.toml")["function"]:
            function = make_function(entry, chapter, kinds)
            if function.name in seen:
                raise SpecError(f"{function.name} is described twice")
            seen.add(function.name)
            place.append(function)
    for function in [*spec.functions, *spec.extensions]:
        if function.body not in seen:
            raise SpecError(f"{function.name}: same_as names {function.body}, which is not there")
    return spec


def mentions(text: str, name: str) -> bool:
    """True where C++ text uses an identifier outside string literals."""
    without_strings = re.sub(r'"[^"]*"', '""', text)
    return re.search(rf"\b{re.escape(name)}\b", without_strings) is not None
