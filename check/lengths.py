# SPDX-License-Identifier: Apache-2.0
"""Functions have at most 70 lines, files at most 600. Data (spec/) and generated files may not."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from check.source import CPP, Source, blank

FUNCTION_MAX = 70
FILE_MAX = 600
_CONTROL = re.compile(r"\b(if|for|while|switch|catch|do|else|try)\b[^;]*$")
_NOT_CODE = re.compile(r"^\s*(namespace|extern|class|struct|enum|union|concept)\b|=\s*$")
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)


def _without_directives(text: str) -> str:
    return _DIRECTIVE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def cpp_functions(text: str) -> Iterator[tuple[int, int]]:
    """(first line, number of lines) of every outermost function body, from its signature on."""
    text = _without_directives(blank(text))
    begin = 0  # where the text before the next brace starts
    parents: list[tuple[bool, int]] = []  # of each open brace: is it a function, its first line
    for match in re.finditer(r"[{};]", text):
        mark, at = match[0], match.start()
        if mark == "{":
            head = text[begin:at]
            inside = any(function for function, _ in parents)
            called = "(" in head and head.count("(") == head.count(")")
            function = (called and not inside and not _NOT_CODE.search(head)
                        and not _CONTROL.match(head.strip()))
            skipped = len(head) - len(head.lstrip())
            parents.append((function, text.count("\n", 0, begin + skipped) + 1))
        elif mark == "}" and parents:
            function, first = parents.pop()
            if function:
                yield first, text.count("\n", 0, at) + 2 - first
        begin = at + 1


def python_functions(text: str) -> Iterator[tuple[int, int]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, (node.end_lineno or node.lineno) - node.lineno + 1


def _functions(name: Path, text: str) -> Iterator[tuple[int, int]]:
    if name.suffix == ".py":
        return python_functions(text)
    return cpp_functions(text) if name.suffix in CPP and name.suffix != ".S" else iter(())


def run(source: Source) -> list[str]:
    problems = []
    for name in source.under(endings=(*CPP, ".py", ".sh", ".cmake", "")):
        if name.parts[0] == "spec" or name.name == "LICENSE" or source.is_generated(name):
            continue
        text = source.text(name)
        lines = text.count("\n")
        if lines > FILE_MAX:
            problems.append(f"{name}: {lines} lines; a file has at most {FILE_MAX}")
        try:
            found = list(_functions(name, text))
        except SyntaxError as error:
            problems.append(f"{name}: {error}")
            continue
        problems += [f"{name}:{first}: a function of {count} lines; at most {FUNCTION_MAX}"
                     for first, count in found if count > FUNCTION_MAX]
    return problems
