# SPDX-License-Identifier: Apache-2.0
"""`headway report TRACE [-o PAGE]`: turns a trace into one HTML page that needs nothing else.

TRACE is what a program wrote that ran with HEADWAY_TRACE=TRACE. Exit code: 0 the page is written,
2 it is not.
"""

from __future__ import annotations

import argparse
import html
import json
import re
import sys
from pathlib import Path
from typing import Any

from headway import timeline, trace

PAGE = Path(__file__).resolve().parent / "page"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command line of `headway report`."""
    parser.add_argument("trace", type=Path, help="file that HEADWAY_TRACE named")
    parser.add_argument("-o", "--output", type=Path, metavar="PAGE",
                        help="the page (default: beside TRACE, ending in .html)")
    parser.add_argument("--title", help="title of the page (default: name of TRACE)")


def main(options: argparse.Namespace) -> int:
    """Runs what the command line says; messages for the user go to standard error."""
    output = options.output or options.trace.with_suffix(".html")
    if output == options.trace:
        print("headway report: the page would replace the trace; name it with -o.",
              file=sys.stderr)
        return 2
    try:
        found = trace.read(options.trace)
        data = timeline.page_data(found, options.title or options.trace.name)
        output.write_text(render(data), encoding="utf-8")
    except trace.TraceError as error:
        print(f"headway report: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"headway report: the page cannot be written ({error}); give -o a file that can.",
              file=sys.stderr)
        return 2
    calls = sum(row["calls"] for row in data["summary"])
    print(f"headway report: {output}: {data['ranks']} ranks, {calls} calls, "
          f"{len(found.messages)} messages, {found.duration / 1e6:.3f} ms")
    for note in data["notes"]:
        print(f"headway report: {note}")
    return 0


def render(data: dict[str, Any]) -> str:
    """The whole page."""
    # Within a script element only its end tag (and comments) matter to the HTML parser.
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    parts = {"title": html.escape(data["title"]), "style": _part("page.css"),
             "script": _script(), "data": text}
    return re.sub("@(" + "|".join(parts) + ")@", lambda match: parts[match[1]], _part("page.html"))


def _script() -> str:
    """The parts share one scope and are read in this order."""
    return "\n".join(_part(name) for name in ("model.js", "draw.js", "page.js"))


def _part(name: str) -> str:
    return (PAGE / name).read_text(encoding="utf-8")
