# SPDX-License-Identifier: Apache-2.0
"""What a bench prints: the tables for people and the JSON lines for tools.

JSON lines: first {bench, title, machine, cores, quick, rounds, voids, settings}, with {work} where
work was calibrated; then for every metric, case and library {bench, case, library, metric, unit,
samples, min, median, lower, upper, raw} where samples are the figures of the rounds and raw all
samples of all rounds, or {..., skipped}; then for every case with a rival, and for every other
library that a limit names, {bench, case, library: "headway", metric: "speedup", of: the metric,
unit: "ratio", rival, samples, min, median, lower, upper, required, aim, verdict}. Where a metric is
judged by its value, required, aim and verdict stand in the line of ours. lower and upper are the
quartiles.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from headway import figures, rounds
from headway.description import Description, Limit, Metric

SPEEDUP_HEADING = ["speed-up (quartiles)", "against", "required"]


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
    for metric in plan.metrics:
        for case in plan.cases:
            for library in plan.libraries:
                entry = _figures_entry(plan, findings, metric, case, library)
                if entry is not None:
                    entries.append({"bench": description.name, **entry})
            for limit in _compared(metric, case):
                speedup = _speedup_entry(plan, findings, metric, case, limit)
                if speedup is not None:
                    entries.append({"bench": description.name, **speedup})
    return [json.dumps(entry) for entry in entries]


def _compared(metric: Metric, case: str) -> list[Limit | None]:
    """The speed-ups to show: the one over the best rival, limited or not, then the others."""
    if metric.is_value:
        return []
    limits = metric.limits.get(case, ())
    over_best: list[Limit | None] = [limit for limit in limits if limit.against is None]
    return [*(over_best or [None]), *(limit for limit in limits if limit.against is not None)]


def _figures_entry(
    plan: rounds.Plan, findings: rounds.Findings, metric: Metric, case: str, library: str
) -> dict[str, Any] | None:
    entry: dict[str, Any] = {
        "case": case,
        "library": library,
        "metric": metric.name,
        "unit": metric.unit,
    }
    values = list(findings.series(library, metric, case).values())
    if values:
        raw = list(findings.raw(library, metric, case).values())
        entry |= _spread_fields(values) | {"raw": raw}
        if metric.is_value and library == plan.ours:
            for limit in metric.limits.get(case, ()):
                entry |= _limit_fields(plan, findings, metric, case, limit)
        return entry
    if case in findings.skipped[library]:
        return entry | {"skipped": findings.skipped[library][case]}
    return None


def _speedup_entry(
    plan: rounds.Plan, findings: rounds.Findings, metric: Metric, case: str, limit: Limit | None
) -> dict[str, Any] | None:
    against = limit.against if limit else None
    values = rounds.case_speedups(plan, findings, metric, case, against)
    if not values:
        return None
    return {
        "case": case,
        "library": plan.ours,
        "metric": "speedup",
        "of": metric.name,
        "unit": "ratio",
        "rival": against or rounds.strongest_rival(plan, findings, metric, case),
        **_spread_fields(values),
        **_limit_fields(plan, findings, metric, case, limit),
    }


def _limit_fields(
    plan: rounds.Plan, findings: rounds.Findings, metric: Metric, case: str, limit: Limit | None
) -> dict[str, Any]:
    if limit is None:
        return {"required": None, "aim": None, "verdict": None}
    verdict = rounds.verdict(plan, findings, metric, case, limit)
    return {"required": limit.required, "aim": limit.aim, "verdict": verdict.value}


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


def table(
    description: Description,
    plan: rounds.Plan,
    findings: rounds.Findings,
    settings: Mapping[str, str],
    about: Mapping[str, Any],
) -> str:
    """The results for a reader: for each metric a line a case, the best library marked, what is
    required of ours; then settings."""
    computer = about["machine"]
    lines = [
        f"{description.name}: {description.title}",
        f"  {computer['processor']}, {computer['cores']} cores, kernel {computer['kernel']}, "
        f"load {computer['load']} at the start",
        f"  measured on cores {','.join(map(str, about['cores']))}; {findings.rounds} rounds, "
        f"{len(findings.voids)} void",
    ]
    for metric in plan.metrics:
        lines += ["", *_metric_lines(plan, findings, metric)]
    lines += ["", *_work_lines(about.get("work", {})), "settings:"]
    lines += [f"  {label:<16} {settings[label]}" for label in plan.libraries]
    if computer["load"] > computer["cores"] / 2:
        lines.append(
            f"warning: other programs kept the machine busy (load {computer['load']}); these "
            "figures show that load, so measure again on a quiet machine."
        )
    lines += [f"  void round: {void.splitlines()[0]}" for void in findings.voids]
    return "\n".join(lines)


def _metric_lines(plan: rounds.Plan, findings: rounds.Findings, metric: Metric) -> list[str]:
    """The table of one metric with its heading and, below, who is the best how often."""
    spread = "quartiles" if metric.is_value else "min, distance of the quartiles in % of the median"
    lines = [
        f"  {metric.name} in {metric.unit}, {'lower' if metric.lower_is_better else 'higher'} is "
        f"better: median of the rounds ({spread}); * = best"
    ]
    if metric.note:
        lines.append(f"  {metric.note}")
    heading = ["case", *plan.libraries]
    if plan.ours is not None:
        heading += ["required"] if metric.is_value else SPEEDUP_HEADING
    rows = [heading]
    for case in plan.cases:
        rows += _case_rows(plan, findings, metric, case)
    return [*lines, "", *aligned(rows), *_winners(plan, findings, metric)]


def _case_rows(
    plan: rounds.Plan, findings: rounds.Findings, metric: Metric, case: str
) -> list[list[str]]:
    """A case's row; further rows for speed-ups over more than the best rival."""
    row = [case, *_figure_cells(plan, findings, metric, case)]
    if plan.ours is None:
        return [row]
    if metric.is_value:
        limits = metric.limits.get(case, ())
        cells = [_required_cell(plan, findings, metric, case, limit) for limit in limits]
        return [[*row, "; ".join(cells) or "-"]]
    rows = []
    for limit in _compared(metric, case):
        rows.append([*row, *_speedup_cells(plan, findings, metric, case, limit)])
        row = [""] * len(row)
    return rows


def _work_lines(work: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The calibrated work, so that a reader can tell whose transfer it hides."""
    if not work:
        return []
    lines = ["work, the same for all libraries:"]
    lines += [
        f"  {case:<16} {_number(entry['work_us'])} us; the fastest transfer took "
        f"{_number(entry['transfer_us'])} us ({entry['fastest']})"
        for case, entry in work.items()
    ]
    return lines


def _winners(plan: rounds.Plan, findings: rounds.Findings, metric: Metric) -> list[str]:
    """One line: in how many cases each library is the best."""
    if len(plan.libraries) < 2:
        return []
    counts = dict.fromkeys(plan.libraries, 0)
    for case in plan.cases:
        best = _best(plan, findings, metric, case)
        if best is not None:
            counts[best] += 1
    ranking = sorted(counts.items(), key=lambda item: -item[1])
    return ["", "best: " + ", ".join(f"{name} in {count}" for name, count in ranking)]


def _best(
    plan: rounds.Plan, findings: rounds.Findings, metric: Metric, case: str
) -> str | None:
    series = {name: findings.series(name, metric, case) for name in plan.libraries}
    return figures.best_library(series, metric.lower_is_better)


def _figure_cells(
    plan: rounds.Plan, findings: rounds.Findings, metric: Metric, case: str
) -> list[str]:
    best = _best(plan, findings, metric, case)
    cells = []
    for name in plan.libraries:
        values = list(findings.series(name, metric, case).values())
        if not values:
            ran = case in plan.cases_of(name, [case])
            reason = findings.skipped[name].get(case, "no figure")
            cells.append(f"skipped: {reason}" if ran else "")
            continue
        found = figures.spread(values)
        mark = "*" if name == best else " "
        around = f"{_number(found.least)}, {found.relative:.0%}"
        if metric.is_value:
            around = f"{_number(found.lower)} .. {_number(found.upper)}"
        cells.append(f"{mark}{_number(found.median)} ({around})")
    return cells


def _speedup_cells(
    plan: rounds.Plan, findings: rounds.Findings, metric: Metric, case: str, limit: Limit | None
) -> list[str]:
    against = limit.against if limit else None
    values = rounds.case_speedups(plan, findings, metric, case, against)
    if not values:
        return ["-", "-", "-"]
    found = figures.spread(values)
    rival = against or rounds.strongest_rival(plan, findings, metric, case) or "-"
    speedup = f"{found.median:.2f} ({found.lower:.2f} .. {found.upper:.2f})"
    required = _required_cell(plan, findings, metric, case, limit) if limit else "-"
    return [speedup, rival, required]


def _required_cell(
    plan: rounds.Plan, findings: rounds.Findings, metric: Metric, case: str, limit: Limit
) -> str:
    sign = "<=" if metric.is_value and metric.lower_is_better else ">="
    verdict = rounds.verdict(plan, findings, metric, case, limit)
    return f"{sign} {limit.required:g} {verdict.value}"


def _number(value: float) -> str:
    """Three significant digits without an exponent for the sizes that occur."""
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def aligned(rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of columns. Requires: rows of one length, at least one."""
    table_rows = list(rows)
    widths = [max(len(row[column]) for row in table_rows) for column in range(len(table_rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table_rows
    ]
