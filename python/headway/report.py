# SPDX-License-Identifier: Apache-2.0
"""`headway report FILE|DIR ... [-o PAGE]`: one HTML page that needs nothing else, or Markdown.

FILE is the trace of a program that ran with HEADWAY_TRACE=FILE: the page is its timeline. Or it is
what `headway bench NAME --json FILE` wrote, also several of them: the page shows the figures beside
those of rivals, with maps of communication by computation time where cells were measured. A DIR
stands for the files of 'headway bench --json' in it (*.json, *.jsonl), and for the traces among
these files, whose timelines follow the figures. A PAGE of figures that ends in .md is written as
Markdown: tables of all figures, without pictures and timelines. Exit code: 0 the page is written,
2 it is not.
"""

from __future__ import annotations

import argparse
import html
import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headway import charts, markdown, timeline, trace

PAGE = Path(__file__).resolve().parent / "page"
# By format of the data: template, styles, scripts. Parts share one scope, in this order.
PARTS = {
    timeline.FORMAT: ("page.html", ("page.css",), ("dom.js", "model.js", "draw.js", "page.js")),
    charts.FORMAT: ("charts.html", ("page.css", "charts.css"), ("dom.js", "heat.js", "charts.js")),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command line of `headway report`."""
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE",
                        help="a file that HEADWAY_TRACE named, or files of 'headway bench --json', "
                             "or folders with these")
    parser.add_argument("-o", "--output", type=Path, metavar="PAGE",
                        help="the page (default: beside the first FILE, ending in .html); "
                             "figures as tables of Markdown where it ends in .md")
    parser.add_argument("--title", help="title of the page (default: name of FILE)")


def main(options: argparse.Namespace) -> int:
    """Runs what the command line says; messages for the user go to standard error."""
    first = options.files[0]
    output = options.output or (first / "report.html" if first.is_dir()
                                else first.with_suffix(".html"))
    if output in options.files:
        print(f"headway report: the page would replace {output}; give -o another name.",
              file=sys.stderr)
        return 2
    is_markdown = output.suffix == ".md"
    try:
        data, told = _read(options.files, options.title)
        if is_markdown and data["format"] != charts.FORMAT:
            raise charts.ChartsError(f"a trace is shown by a page in HTML; end {output} in .html.")
    except (trace.TraceError, charts.ChartsError) as error:
        print(f"headway report: {error}", file=sys.stderr)
        return 2
    try:
        made = markdown.render(data) if is_markdown else render(data)
        output.write_text(made, encoding="utf-8")
    except OSError as error:
        print(f"headway report: the page cannot be written ({error}); give -o a file that can.",
              file=sys.stderr)
        return 2
    print(f"headway report: {output}: {told}")
    for note in data.get("notes", ()):
        print(f"headway report: {note}")
    return 0


def _files(named: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """The files that the names stand for, and what else is in folders. Raises ChartsError for a
    folder without results."""
    files: list[Path] = []
    others: list[Path] = []
    for path in named:
        if not path.is_dir():
            files.append(path)
            continue
        inside = [each for each in sorted([*path.glob("*.json"), *path.glob("*.jsonl")])
                  if each.is_file()]
        results = [each for each in inside if charts.is_results(each)]
        if not results:
            raise charts.ChartsError(f"{path} has no file that 'headway bench NAME --json FILE' "
                                     "wrote; name the folder with such files.")
        files += results
        others += [each for each in inside if each not in results]
    return files, others


def _read(named: Sequence[Path], title: str | None) -> tuple[dict[str, Any], str]:
    """The data of the page and a sentence about it."""
    files, others = _files(named)
    try:
        kinds = {charts.is_results(path) for path in files}
        if kinds == {True}:
            data = charts.page_data(charts.read(files), title or "What was measured")
            data |= _timelines(others)
            verdicts = Counter(claim["verdict"] for claim in data["claims"])
            counts = ", ".join(f"{verdicts[word]} {word}" for word in ("holds", "missed", "open"))
            return data, (f"{len(data['benches'])} benches; limits: {counts}; "
                          f"{len(data['timelines'])} timelines")
    except OSError as error:
        if len(files) > 1:
            raise charts.ChartsError(f"{error}; name files that can be read.") from error
    if len(files) > 1:
        raise charts.ChartsError("several files make one page only if all of them are of "
                                 "'headway bench --json'; give a trace alone.")
    return _timeline(files[0], title or files[0].name)


def _timeline(path: Path, title: str) -> tuple[dict[str, Any], str]:
    """The data of a trace's page and a sentence about it. Raises TraceError."""
    found = trace.read(path)
    data = timeline.page_data(found, title)
    calls = sum(row["calls"] for row in data["summary"])
    return data, (f"{data['ranks']} ranks, {calls} calls, {len(found.messages)} messages, "
                  f"{found.duration / 1e6:.3f} ms")


def _timelines(files: Sequence[Path]) -> dict[str, Any]:
    """The pages of the traces among some files, and notes about the other ones."""
    timelines: list[dict[str, str]] = []
    notes: list[str] = []
    for path in files:
        try:
            data, facts = _timeline(path, path.name)
        except trace.TraceError as error:
            notes.append(f"left out: {error}")
            continue
        timelines.append({"title": path.name, "facts": facts, "page": render(data)})
    return {"timelines": timelines, "notes": notes}


def render(data: dict[str, Any]) -> str:
    """The whole page, of the kind that the format of the data asks for."""
    template, styles, scripts = PARTS[data["format"]]
    # Within a script element only its end tag (and comments) matter to the HTML parser.
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    parts = {"title": html.escape(data["title"]), "style": _joined(styles),
             "script": _joined(scripts), "data": text}
    return re.sub("@(" + "|".join(parts) + ")@", lambda match: parts[match[1]], _part(template))


def _joined(names: Sequence[str]) -> str:
    return "\n".join(_part(name) for name in names)


def _part(name: str) -> str:
    return (PAGE / name).read_text(encoding="utf-8")
