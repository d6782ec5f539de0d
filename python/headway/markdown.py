# SPDX-License-Identifier: Apache-2.0
"""What benches measured as a page of Markdown, from the data that charts.py makes of their JSON
lines: for a repository's documentation, where a page with scripts is not shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headway.description import GEOMETRIC_MEAN
from headway.presentation import short_number

_LEGEND = (
    "Figures are medians of the rounds (in brackets the least, or quartiles where ours is judged "
    "by the figure itself), the best in bold. *Speed-up* is that of Headway over the best rival "
    "of the case in each round, median (quartiles). A limit *holds* or is *missed* where the "
    "quartiles lie on one side of it, else it is *open*."
)

Object = Mapping[str, Any]


def render(data: Object) -> str:
    """The page. Requires: data of charts.page_data()."""
    machines = Counter(bench["machine"] for bench in data["benches"])
    machine = machines.most_common(1)[0][0] if machines else ""
    lines = [
        "<!-- SPDX-License-Identifier: Apache-2.0 -->",
        "<!-- Written by `headway report FILES -o PAGE.md`: measure again instead of editing. -->",
        f"# {data['title']}",
        "",
        f"{machine}. {_LEGEND}",
        "",
        *_claims(data["claims"]),
    ]
    for bench in data["benches"]:
        lines += ["", *_bench(bench, machine)]
    lines += ["", *_settings(data["benches"])]
    return "\n".join(lines) + "\n"


def _claims(claims: Sequence[Object]) -> list[str]:
    """How many limits hold, and those that do not."""
    counts = Counter(claim["verdict"] for claim in claims)
    lines = ["## What is required", "",
             f"Of {len(claims)} limits {counts['holds']} hold, {counts['missed']} are missed, "
             f"{counts['open']} are open."]
    rows = [
        [claim["bench"], claim["case"], claim["about"], _spread(claim), claim["against"] or "-",
         f"{claim['sign']} {claim['required']:g}", _verdict(claim["verdict"])]
        for claim in claims if claim["verdict"] != "holds"
    ]
    if rows:
        heading = ["bench", "case", "figure", "median (quartiles)", "against", "required", ""]
        lines += ["", *_table(heading, rows)]
    return lines


def _bench(bench: Object, machine: str) -> list[str]:
    where = "" if bench["machine"] == machine else f"{bench['machine']}; "
    lines = [f"## {bench['name']}: {bench['title']}", "",
             f"`{bench['command']}`: {where}{bench['run']}."]
    for note in bench["notes"]:
        lines += ["", str(note)]
    for metric in bench["metrics"]:
        if metric["cases"]:
            lines += ["", *_metric(metric)]
    if bench["work"]:
        lines += ["", *_table(["case", "work"], bench["work"])]
    return lines


def _metric(metric: Object) -> list[str]:
    """A heading, a row for each case and, below, why libraries lack figures."""
    libraries = list(dict.fromkeys(
        figure["library"] for case in metric["cases"] for figure in case["figures"]
        if "skipped" not in figure))
    is_value = metric["judged"] == "value"
    lines = [f"`{metric['name']}` in {metric['unit']}, {metric['better']} is better."
             + (f" {metric['note']}" if metric["note"] else ""), ""]
    heading = ["case", *libraries, *(["required"] if is_value else
                                     ["speed-up", "against", "required"])]
    rows: list[list[str]] = []
    for case in metric["cases"]:
        cells = [case["name"], *_figures(case, libraries, metric)]
        if case["name"] == GEOMETRIC_MEAN:
            cells = [case["name"], *[""] * len(libraries)]
        if is_value:
            rows.append([*cells, "; ".join(_limit(limit) for limit in case["limits"])])
            continue
        for ratio in case["ratios"] or [None]:
            told = ["", "", ""] if ratio is None else [_spread(ratio), ratio["rival"] or "-",
                                                       _limit(ratio)]
            rows.append([*cells, *told])
            cells = [""] * len(cells)
    reasons = dict.fromkeys(
        f"{figure['library']}: {figure['skipped']}" for case in metric["cases"]
        for figure in case["figures"] if "skipped" in figure)
    told = ["", "No figure: " + "; ".join(reasons) + "."] if reasons else []
    return [*lines, *_table(heading, rows), *told]


def _figures(case: Object, libraries: Sequence[str], metric: Object) -> list[str]:
    found = {figure["library"]: figure for figure in case["figures"] if "skipped" not in figure}
    best = None
    if len(found) > 1:
        choose = min if metric["better"] == "lower" else max
        best = choose(found, key=lambda library: found[library]["median"])
    cells = []
    for library in libraries:
        figure = found.get(library)
        if figure is None:
            cells.append("-")
            continue
        median = short_number(figure["median"])
        around = short_number(figure["min"])
        if metric["judged"] == "value":
            around = f"{short_number(figure['lower'])} .. {short_number(figure['upper'])}"
        cells.append(f"{f'**{median}**' if library == best else median} ({around})")
    return cells


def _limit(entry: Object) -> str:
    if entry["verdict"] is None:
        return ""
    return f"{entry['sign']} {entry['required']:g} {_verdict(entry['verdict'])}"


def _verdict(word: str) -> str:
    return f"**{word}**" if word == "missed" else word


def _spread(entry: Object) -> str:
    lower, upper = short_number(entry["lower"]), short_number(entry["upper"])
    return f"{short_number(entry['median'])} ({lower} .. {upper})"


def _settings(benches: Iterable[Object]) -> list[str]:
    """How each library was run, and in which benches so."""
    used: dict[tuple[str, str], list[str]] = {}
    for bench in benches:
        for library, text in bench["settings"]:
            used.setdefault((library, text), []).append(bench["name"])
    rows = [[library, text, ", ".join(names)] for (library, text), names in sorted(used.items())]
    return ["## Settings", "", *_table(["library", "settings", "in"], rows)]


def _table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [heading, ["---"] * len(heading), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
