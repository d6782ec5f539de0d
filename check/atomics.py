# SPDX-License-Identifier: Apache-2.0
"""Every atomic operation names its order; one stronger than relaxed is numbered and has a partner.

    word.store(1, std::memory_order_release);  // (3) release, pairs with (5)

The comment stands on the line of the operation or right above the statement; `// as (3)` repeats
one. A number without a file is one of this file or of its .hpp or .cpp; others are named, as in
`pairs with (5) of event_count.hpp`.
"""

import re
from pathlib import Path

from check.source import CPP, Source, blank

_STRONG = re.compile(
    r"\bmemory_order(?:_|::)(acquire|release|acq_rel|seq_cst|consume)\b|::(fence_\w+)\(")
# Wraps the orders for the model checker; its users number them.
POLICY = Path("src/platform/atomic.hpp")
_OPERATION = re.compile(r"(?:\.|->)(load|store|exchange|fetch_(?:add|sub|and|or|xor)|"
                        r"compare_exchange_(?:weak|strong))\s*\(")
_NUMBER = re.compile(r"//\s*\((\d+)\)")
_MENTION = re.compile(r"//.*\(\d+\)")
_PARTNER = re.compile(r"pairs with ((?:\(\d+\)(?:, | and )?)+)(?! ?(?:of|in) )")
_ORDER = re.compile(r"relaxed|acquire|release|acq_rel|seq_cst|order", re.IGNORECASE)


def _comment_of(lines: list[str], code: list[str], at: int) -> str:
    """Comments on the lines of the statement that holds line `at`, and right above it."""
    found = [lines[at]]
    # Up to the line after which the statement starts, then the block of comments above it.
    up = at - 1
    while up >= 0 and code[up].strip() and code[up].rstrip()[-1] not in ";{}":
        found.append(lines[up])
        up -= 1
    while up >= 0 and not code[up].strip() and lines[up].strip():
        found.append(lines[up])
        up -= 1
    down = at
    while down + 1 < len(lines) and code[down].rstrip()[-1:] not in tuple(";{}"):
        down += 1
        found.append(lines[down])
    return "\n".join(found)


def _arguments(text: str, opening: int) -> str:
    depth = 0
    for at in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return text[opening + 1:at]
    return text[opening:]


def problems_of(name: Path, text: str, twin: str = "") -> list[str]:
    """`twin` is the text of the header of a source file, or of the source file of a header."""
    if "atomic" not in text.lower():
        return []
    problems = []
    clean = blank(text)
    lines, code = text.splitlines(), clean.splitlines()
    for at, line in enumerate(code):
        strong = _STRONG.search(line)
        if strong and not _MENTION.search(_comment_of(lines, code, at)):
            problems.append(f"{name}:{at + 1}: {strong[1] or strong[2]} without its number, "
                            "as in // (3) acquire, pairs with (5)")
    for match in _OPERATION.finditer(clean):
        if not _ORDER.search(_arguments(clean, match.end() - 1)):
            line_number = clean.count("\n", 0, match.start()) + 1
            problems.append(f"{name}:{line_number}: {match[1]} without a memory order")
    numbers = set(_NUMBER.findall(text + twin))
    for match in _PARTNER.finditer(re.sub(r"\n\s*//\s*", " ", text)):
        for partner in re.findall(r"\d+", match[1]):
            if partner not in numbers:
                problems.append(f"{name}: pairs with ({partner}), which is not in this file")
    return problems


def run(source: Source) -> list[str]:
    problems = []
    for name in source.under("src", "launch", endings=CPP):
        if name == POLICY:
            continue
        twins = [name.with_suffix(ending) for ending in (".hpp", ".cpp")]
        twin = "\n".join(source.text(one) for one in twins
                         if one != name and one in source.names)
        problems += problems_of(name, source.text(name), twin)
    return problems
