# SPDX-License-Identifier: Apache-2.0
"""The data of the page that shows what benches measured, made from their JSON lines.

{format, title, claims, benches, timelines}. A claim is summary.Claim as an object; timelines, which
the caller adds, are {title, facts, page}: whole pages of traces. A bench: {name, title, command,
machine, run, notes, settings, work, libraries, variants, metrics, maps, ranks}; machine (what it
is), run (on which cores, when, how many rounds) and notes are text, settings lists of [library,
text], work (calibrated) of [case, text]; maps and ranks are those of heat.py. A metric: {name,
unit, better, judged, note, cases}. A case: {name, figures, ratios, limits}: figures are {library,
min, lower, median, upper, samples, raw} or {library, skipped}, raw being how many samples a round
has; ratios {rival, min, lower, median, upper, samples, required, sign, aim, verdict} are speed-ups
of ours; limits {required, sign, aim, verdict} are about the figure of ours itself.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from headway import heat, summary
from headway.presentation import work_text

FORMAT = "headway-charts-1"

_SPREAD = ("min", "lower", "median", "upper", "samples")
_LIMIT = ("required", "sign", "aim", "verdict")

Entry = dict[str, Any]


class ChartsError(Exception):
    """A file that does not hold what a bench has written; the text says where and what to do."""


def is_results(path: Path) -> bool:
    """Whether a file begins as JSON lines of `headway bench` do. Raises OSError."""
    with open(path, encoding="utf-8", errors="replace") as file:
        first = file.readline()
    try:
        entry = json.loads(first)
    except json.JSONDecodeError:
        return False
    return isinstance(entry, dict) and "bench" in entry


def read(paths: Iterable[Path]) -> list[Entry]:
    """All lines of some files. Raises ChartsError, OSError."""
    entries: list[Entry] = []
    for path in paths:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            try:
                entry = json.loads(line)
            except json.JSONDecodeError as error:
                raise ChartsError(f"{path}, line {number}: {error}; measure again with "
                                  "'headway bench NAME --json FILE'.") from error
            if not isinstance(entry, dict) or "bench" not in entry:
                raise ChartsError(f"{path}, line {number} is no line of 'headway bench --json'.")
            entries.append(entry)
    return entries


def page_data(entries: Sequence[Entry], title: str) -> dict[str, Any]:
    """The data of the page; see the head of this file. Raises ChartsError."""
    benches: list[tuple[Entry, list[Entry]]] = []
    for entry in entries:
        if "title" in entry:
            benches.append((entry, []))
        elif not benches:
            raise ChartsError("the first line of a bench is missing; give the whole file that "
                              "'headway bench NAME --json FILE' wrote.")
        else:
            benches[-1][1].append(entry)
    try:
        shown = [_bench(head, lines) for head, lines in benches]
        claims = [asdict(claim) for claim in summary.claims(entries)]
    except KeyError as error:
        raise ChartsError(f"{error} is missing in a line; it was written by another version, so "
                          "measure again with 'headway bench NAME --json FILE'.") from error
    return {"format": FORMAT, "title": title, "claims": claims, "benches": shown,
            "timelines": []}


def _bench(head: Entry, lines: Sequence[Entry]) -> dict[str, Any]:
    machine = head["machine"]
    voids = len(head["voids"])
    return {
        "name": head["bench"],
        "title": head["title"],
        "command": head["command"],
        "machine": f"{machine['processor']}, {machine['cores']} cores, kernel {machine['kernel']}",
        "run": f"on cores {','.join(map(str, head['cores']))}, {head['date']}, {head['rounds']} "
               f"rounds, {voids} void",
        "notes": _notes(head),
        "settings": [[name, text] for name, text in head["settings"].items()],
        "work": _work(head),
        "libraries": list(head["settings"]),
        "variants": head["variants"],
        "metrics": [_metric(metric, lines) for metric in head["metrics"]],
        "maps": heat.maps(lines),
        "ranks": heat.all_ranks(lines),
    }


def _notes(head: Entry) -> list[str]:
    machine = head["machine"]
    notes = []
    if machine["load"] > machine["cores"] / 2:
        notes.append(f"Other programs kept the machine busy (load {machine['load']} at the start): "
                     "these figures show that load.")
    if head["quick"]:
        notes.append("Few and short rounds (--quick): limits may be left open.")
    notes += [f"Void round: {void.splitlines()[0]}" for void in head["voids"]]
    return notes


def _work(head: Entry) -> list[list[str]]:
    return [[case, f"{work_text(work)}; the same for all"]
            for case, work in head.get("work", {}).items()]


def _metric(metric: Entry, lines: Sequence[Entry]) -> dict[str, Any]:
    cases: dict[str, dict[str, Any]] = {}
    for line in lines:
        is_ratio = line["metric"] == "speedup"
        if line["of" if is_ratio else "metric"] != metric["name"]:
            continue
        case = cases.setdefault(
            line["case"], {"name": line["case"], "figures": [], "ratios": [], "limits": []}
        )
        if is_ratio:
            case["ratios"].append({key: line[key] for key in ("rival", *_SPREAD, *_LIMIT)})
        else:
            case["figures"].append(_figure(line))
            if line.get("verdict") is not None:
                case["limits"].append({key: line[key] for key in _LIMIT})
    return {**metric, "cases": list(cases.values())}


def _figure(line: Entry) -> dict[str, Any]:
    if "skipped" in line:
        return {"library": line["library"], "skipped": line["skipped"]}
    count = int(statistics.median(len(values) for values in line["raw"]))
    return {"library": line["library"], **{key: line[key] for key in _SPREAD}, "raw": count}
