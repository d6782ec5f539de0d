# SPDX-License-Identifier: Apache-2.0
"""What a bench prints: the table for people and the JSON lines for tools.

JSON lines: first {bench, title, machine, cores, quick, rounds, voids, settings}; then for every
case and library {bench, case, library, metric, unit, samples, min, median, lower, upper, raw} where
samples are the figures of the rounds and raw all samples of all rounds, or {..., skipped}; then for
every case with a rival {bench, case, library: "headway", metric: "speedup", unit: "ratio", rival,
samples, min, median, lower, upper, required, aim, verdict}. lower and upper are the quartiles.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from headway import figures, rounds
from headway.description import Description, Limit


def machine() -> dict[str, Any]:
    """Processor, cores, kernel and load of this machine."""
    model = "unknown"
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "load": round(os.getloadavg()[0], 2),
    }


def json_lines(
    description: Description,
    plan: rounds.Plan,
    findings: rounds.Findings,
    settings: Mapping[str, str],
    about: Mapping[str, Any],
) -> list[str]:
    """All results as JSON lines; see the head of this file. `about` goes into the first line."""
    entries: list[dict[str, Any]] = [
        {
            "bench": description.name,
            "title": description.title,
            **about,
            "rounds": findings.rounds,
            "voids": findings.voids,
            "settings": dict(settings),
        }
    ]
    for case in plan.cases:
        for library in plan.libraries:
            entry = _figures_entry(description, findings, case, library)
            if entry is not None:
                entries.append(entry)
        speedup = _speedup_entry(description, plan, findings, case)
        if speedup is not None:
            entries.append(speedup)
    return [json.dumps(entry) for entry in entries]


def _figures_entry(
    description: Description, findings: rounds.Findings, case: str, library: str
) -> dict[str, Any] | None:
    entry: dict[str, Any] = {
        "bench": description.name,
        "case": case,
        "library": library,
        "metric": description.metric,
        "unit": description.unit,
    }
    values = list(findings.series(library, case).values())
    if values:
        raw = list(findings.samples[library][case].values())
        return entry | _spread_fields(values) | {"raw": raw}
    if case in findings.skipped[library]:
        return entry | {"skipped": findings.skipped[library][case]}
    return None


def _speedup_entry(
    description: Description, plan: rounds.Plan, findings: rounds.Findings, case: str
) -> dict[str, Any] | None:
    values = rounds.case_speedups(plan, findings, case)
    if not values:
        return None
    limit = plan.limits.get(case)
    return {
        "bench": description.name,
        "case": case,
        "library": plan.ours,
        "metric": "speedup",
        "unit": "ratio",
        "rival": rounds.strongest_rival(plan, findings, case),
        **_spread_fields(values),
        "required": limit.required if limit else None,
        "aim": limit.aim if limit else None,
        "verdict": verdict(plan, findings, case, limit).value if limit else None,
    }


def _spread_fields(values: Sequence[float]) -> dict[str, Any]:
    found = figures.spread(values)
    return {
        "samples": [_short(value) for value in values],
        "min": _short(found.least),
        "median": _short(found.median),
        "lower": _short(found.lower),
        "upper": _short(found.upper),
    }


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def verdict(
    plan: rounds.Plan, findings: rounds.Findings, case: str, limit: Limit
) -> figures.Verdict:
    """Whether a case meets its limit; a plan without extra rounds (--quick) may leave it open."""
    is_last = plan.rounds_max > plan.rounds and findings.rounds >= plan.rounds_max
    values = rounds.case_speedups(plan, findings, case)
    return figures.judge(values, limit.required, is_last)


def table(
    description: Description,
    plan: rounds.Plan,
    findings: rounds.Findings,
    settings: Mapping[str, str],
    about: Mapping[str, Any],
) -> str:
    """The results for a reader: a line a case, the best library marked, speed-ups, settings."""
    heading = ["case", *plan.libraries]
    if plan.ours is not None:
        heading += ["speed-up (quartiles)", "against", "required"]
    rows = [heading]
    for case in plan.cases:
        row = [case, *_figure_cells(description, plan, findings, case)]
        if plan.ours is not None:
            row += _speedup_cells(plan, findings, case)
        rows.append(row)
    computer = about["machine"]
    lines = [
        f"{description.name}: {description.title}",
        f"  in {description.unit}, {'lower' if description.lower_is_better else 'higher'} is "
        "better: median of the rounds (min, distance of the quartiles in % of the median); "
        "* = best",
        f"  {computer['processor']}, {computer['cores']} cores, kernel {computer['kernel']}, "
        f"load {computer['load']} at the start",
        f"  measured on cores {','.join(map(str, about['cores']))}; {findings.rounds} rounds, "
        f"{len(findings.voids)} void",
        "",
        *_aligned(rows),
        "",
        *_winners(description, plan, findings),
        "settings:",
        *(f"  {label:<16} {settings[label]}" for label in plan.libraries),
    ]
    if computer["load"] > computer["cores"] / 2:
        lines.append(
            f"warning: other programs kept the machine busy (load {computer['load']}); these "
            "figures show that load, so measure again on a quiet machine."
        )
    lines += [f"  void round: {void.splitlines()[0]}" for void in findings.voids]
    return "\n".join(lines)


def _winners(description: Description, plan: rounds.Plan, findings: rounds.Findings) -> list[str]:
    """One line: in how many cases each library is the best."""
    if len(plan.libraries) < 2:
        return []
    counts = dict.fromkeys(plan.libraries, 0)
    for case in plan.cases:
        series = {name: findings.series(name, case) for name in plan.libraries}
        best = figures.best_library(series, description.lower_is_better)
        if best is not None:
            counts[best] += 1
    ranking = sorted(counts.items(), key=lambda item: -item[1])
    return ["best: " + ", ".join(f"{name} in {count}" for name, count in ranking), ""]


def _figure_cells(
    description: Description, plan: rounds.Plan, findings: rounds.Findings, case: str
) -> list[str]:
    all_series = {name: findings.series(name, case) for name in plan.libraries}
    best = figures.best_library(all_series, description.lower_is_better)
    cells = []
    for name, series in all_series.items():
        if not series:
            reason = findings.skipped[name].get(case, "no figure")
            cells.append(f"skipped: {reason}")
            continue
        found = figures.spread(list(series.values()))
        mark = "*" if name == best else " "
        cells.append(
            f"{mark}{_number(found.median)} ({_number(found.least)}, {found.relative:.0%})"
        )
    return cells


def _speedup_cells(plan: rounds.Plan, findings: rounds.Findings, case: str) -> list[str]:
    values = rounds.case_speedups(plan, findings, case)
    if not values:
        return ["-", "-", "-"]
    found = figures.spread(values)
    limit = plan.limits.get(case)
    required = "-"
    if limit is not None:
        required = f">= {limit.required:g} {verdict(plan, findings, case, limit).value}"
    rival = rounds.strongest_rival(plan, findings, case) or "-"
    speedup = f"{found.median:.2f} ({found.lower:.2f} .. {found.upper:.2f})"
    return [speedup, rival, required]


def _number(value: float) -> str:
    """Three significant digits without an exponent for the sizes that occur."""
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _aligned(rows: Iterable[Sequence[str]]) -> list[str]:
    table_rows = list(rows)
    widths = [max(len(row[column]) for row in table_rows) for column in range(len(table_rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table_rows
    ]
