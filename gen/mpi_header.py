#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes include/mpi.h from spec/mpi; `--check` exits 1 when the file in the tree differs."""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path

import mpi_spec

TARGET = mpi_spec.ROOT / "include" / "mpi.h"


def deprecation(entry: dict) -> str:
    return f" /* deprecated: {entry['deprecated']} */" if "deprecated" in entry else ""


def integer_lines(entries: list[dict]) -> list[str]:
    lines = ["/* Integers. A program may name another type of the same width before it includes",
             " * this file. */"]
    for entry in entries:
        macro = entry["macro"]
        lines += [f"#if !defined({macro})", f"#define {macro} {entry['c']}", "#endif",
                  f"typedef {macro} {entry['name']};", f"#undef {macro}", ""]
    return lines


def struct_lines(entries: list[dict]) -> list[str]:
    lines = []
    for entry in entries:
        lines.append("typedef struct {")
        for part in entry["fields"]:
            length = f"[{part['length']}]" if "length" in part else ""
            lines.append(f"    {part['c']} {part['name']}{length};")
        lines += [f"}} {entry['name']};", ""]
    return lines


def handle_lines(entries: list[dict]) -> list[str]:
    lines = ["/* Handles and their predefined values. */"]
    for entry in entries:
        lines.append(f"typedef struct {entry['struct']}* {entry['type']};")
        for value in entry["values"]:
            if "same_as" in value:
                text = value["same_as"]
            elif entry.get("tool"):
                text = f"(({entry['type']}){value['value']})"
            else:
                text = f"(({entry['type']})0x{value['value']:08x})"
            lines.append(f"#define {value['name']:<32} {text}")
        lines.append("")
    return lines


def constant_lines(entries: list[dict]) -> list[str]:
    lines = []
    for entry in entries:
        lines.append(f"/* {entry['title']}. */")
        if entry["style"] == "define":
            for value in entry["values"]:
                number = str(value["value"])
                text = f"(({value['type']}){number})" if "type" in value else number
                lines.append(f"#define {value['name']:<32} {text}")
        else:
            tag = entry.get("type", "")
            lines.append(f"typedef enum {tag} {{" if tag else "enum {")
            last = entry["values"][-1]
            for value in entry["values"]:
                comma = "" if value is last else ","
                lines.append(
                    f"    {value['name']:<34} = {value['value']}{comma}{deprecation(value)}")
            lines.append(f"}} {tag};" if tag else "};")
        lines.append("")
    return lines


def wrapped(text: str, indent: str = "    ") -> list[str]:
    return textwrap.wrap(text, 99, subsequent_indent=indent, break_long_words=False,
                         break_on_hyphens=False)


def callback_lines(types: dict) -> list[str]:
    lines = ["/* Functions that a program hands over. */"]
    for entry in types["callback"]:
        text = f"typedef {entry['returns']} ({entry['name']})({entry['args']});"
        lines += wrapped(text + deprecation(entry))
    lines += [f"typedef {entry['of']} {entry['name']};" for entry in types["alias"]]
    lines.append("")
    for entry in types["predefined_functions"][0]["values"]:
        text = f"(({entry['type']}*){entry['value']}){deprecation(entry)}"
        lines.append(f"#define {entry['name']:<32} {text}")
    lines.append("")
    return lines


def function_lines(spec: mpi_spec.Spec, prefix: str) -> list[str]:
    lines = []
    for chapter in mpi_spec.CHAPTERS:
        lines.append(f"/* {prefix}*: {chapter.replace('_', ' ')}. */")
        for function in spec.chapter(chapter):
            for large in function.variants():
                text = (f"{function.returns} {function.c_name(large, prefix)}"
                        f"({function.parameters(large)});")
                if function.deprecated:
                    text += f" /* deprecated: {function.deprecated} */"
                lines += wrapped(text)
        lines.append("")
    return lines


def render(spec: mpi_spec.Spec) -> str:
    """The whole header as text."""
    lines = [
        "/* SPDX-License-Identifier: Apache-2.0",
        " * The MPI-5.0 standard ABI, as Headway offers it. Written by gen/mpi_header.py from",
        " * spec/mpi; change it there. C99 or C++11 and later.",
        " */",
        "#ifndef HEADWAY_MPI_H",
        "#define HEADWAY_MPI_H",
        "",
        "#include <stdint.h>",
        "",
        "#if defined(__cplusplus)",
        'extern "C" {',
        "#endif",
        "",
    ]
    lines += integer_lines(spec.types["integer"])
    lines += struct_lines(spec.types["struct"])
    lines += handle_lines(spec.handles)
    lines += constant_lines(spec.constants)
    lines += callback_lines(spec.types)
    lines += function_lines(spec, "MPI_")
    lines += function_lines(spec, "PMPI_")
    lines += ["#if defined(__cplusplus)", "}", "#endif", "", "#endif /* HEADWAY_MPI_H */"]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 on drift")
    parser.add_argument("--out", type=Path, default=TARGET, help="file to write or compare")
    arguments = parser.parse_args()
    text = render(mpi_spec.load())
    if arguments.check:
        same = arguments.out.exists() and arguments.out.read_text() == text
        if not same:
            print(f"headway: {arguments.out} differs from spec/mpi; run gen/mpi_header.py",
                  file=sys.stderr)
        return 0 if same else 1
    arguments.out.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
