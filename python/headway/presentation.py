# SPDX-License-Identifier: Apache-2.0
"""What a bench prints: the tables for people and the JSON lines for tools.

JSON lines: first {bench, title, machine, cores, quick, date, command, rounds, voids, settings,
variants, metrics, not_measured}, with {work} where work was calibrated, a metric being {name, unit,
better, judged, note}; then for every metric, case and library {bench, case, library, metric, unit,
samples, min, median, lower, upper, raw} where samples are the figures of the rounds and raw all
samples of all rounds, or {..., skipped}; then for every case with a rival, for every other library
that a limit names, and for the geometric mean where it has a limit, {bench, case, library:
"headway", metric: "speedup", of: the metric, unit: "ratio", rival, samples, min, median, lower,
upper, required, sign, aim, verdict}. Where a metric is judged by its value, required, sign, aim and
verdict stand in the line of ours. lower and upper are the quartiles; sign is ">=" or "<=". At the
end, for cells of nbc.c, {bench, case, library, metric: "diagnosis", words} and what each rank saw,
{bench, case, library, metric: "times", round, rank, comm, comp, both}.
"""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from headway import diagnosis, figures, rounds
from headway.description import GEOMETRIC_MEAN, Description, Limit, Metric

# What bench/mpi/harness.c takes at least where a sample does not take longer than its time allows.
SAMPLES_FEW = 11
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


def entries(
    description: Description,
    plan: rounds.Plan,
    findings: rounds.Findings,
    settings: Mapping[str, str],
    about: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """All results as JSON lines say them; see the head of this file. `about` goes into the first
    one."""
    found: list[dict[str, Any]] = [
        {
            "bench": description.name,
            "title": description.title,
            **about,
            "rounds": findings.rounds,
            "voids": findings.voids,
            "settings": dict(settings),
            "variants": list(plan.variants),
            "metrics": [_metric_fields(metric) for metric in plan.metrics],
            "not_measured": dict(description.not_measured),
        }
    ]
    for metric in plan.metrics:
        lines = [
            entry
            for case in plan.cases
            for entry in _case_entries(plan, findings, metric, case)
        ]
        for limit in metric.limits.get(GEOMETRIC_MEAN, ()):
            lines.append(_speedup_entry(plan, findings, metric, GEOMETRIC_MEAN, limit))
        found += [{"bench": description.name, **line} for line in lines if line is not None]
    found += [{"bench": description.name, **line} for line in _overlap_entries(plan, findings)]
    return found


def _overlap_entries(plan: rounds.Plan, findings: rounds.Findings) -> list[dict[str, Any]]:
    """The diagnosis of each cell, and what its ranks saw in each round."""
    lines: list[dict[str, Any]] = [
        {"case": case, "library": library, "metric": "diagnosis", "words": str(found)}
        for case in plan.cases
        for library, found in _diagnoses(plan, findings, case).items()
    ]
    lines += [
        {"case": case, "library": library, "metric": "times", "round": number, **ranks}
        for library, by_case in findings.times.items()
        for case, by_round in by_case.items()
        for number, seen in by_round.items()
        for ranks in seen
    ]
    return lines


def _diagnoses(
    plan: rounds.Plan, findings: rounds.Findings, case: str
) -> dict[str, diagnosis.Diagnosis]:
    """Of the libraries that have all ratios in this case, from the medians of the rounds."""
    metrics = {metric.name: metric for metric in plan.metrics}
    names = (*diagnosis.RATIOS, *diagnosis.TIMES)
    if not all(name in metrics for name in names):
        return {}
    found = {}
    for library in plan.libraries:
        series = {name: findings.series(library, metrics[name], case) for name in names}
        if case in findings.times.get(library, {}) and all(series.values()):
            medians = {name: statistics.median(line.values()) for name, line in series.items()}
            found[library] = diagnosis.diagnose(medians)
    return found


def _diagnosis_lines(plan: rounds.Plan, findings: rounds.Findings) -> list[str]:
    rows = [
        [case, library, str(found)]
        for case in plan.cases
        for library, found in _diagnoses(plan, findings, case).items()
    ]
    return ["", *aligned([["case", "library", "diagnosis"], *rows])] if rows else []


def _metric_fields(metric: Metric) -> dict[str, Any]:
    return {
        "name": metric.name,
        "unit": metric.unit,
        "better": "lower" if metric.lower_is_better else "higher",
        "judged": "value" if metric.is_value else "speedup",
        "note": metric.note,
    }


def _case_entries(
    plan: rounds.Plan, findings: rounds.Findings, metric: Metric, case: str
) -> list[dict[str, Any] | None]:
    return [
        *(_figures_entry(plan, findings, metric, case, name) for name in plan.libraries),
        *(_speedup_entry(plan, findings, metric, case, limit) for limit in _compared(metric, case)),
    ]


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
        for limit in metric.limits.get(case, ()) if metric.is_value else ():
            if library == (limit.of or plan.ours):
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
        "rival": against or _rival_name(plan, findings, metric, case),
        **_spread_fields(values),
        **_limit_fields(plan, findings, metric, case, limit),
    }


def _rival_name(
    plan: rounds.Plan, findings: rounds.Findings, metric: Metric, case: str
) -> str | None:
    if case == GEOMETRIC_MEAN:
        return "best of each case"
    return rounds.strongest_rival(plan, findings, metric, case)


def _limit_fields(
    plan: rounds.Plan, findings: rounds.Findings, metric: Metric, case: str, limit: Limit | None
) -> dict[str, Any]:
    if limit is None:
        return {"required": None, "sign": None, "aim": None, "verdict": None}
    verdict = rounds.verdict(plan, findings, metric, case, limit)
    return {"required": limit.required, "sign": _sign(metric, limit), "aim": limit.aim,
            "verdict": verdict.value}


def _sign(metric: Metric, limit: Limit) -> str:
    return "<=" if rounds.is_at_most(metric, limit) else ">="


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
    lines += _diagnosis_lines(plan, findings)
    lines += not_measured(description.not_measured)
    lines += ["", *_work_lines(about.get("work", {})), "settings:"]
    lines += [f"  {label:<16} {settings[label]}" for label in plan.libraries]
    if computer["load"] > computer["cores"] / 2:
        lines.append(
            f"warning: other programs kept the machine busy (load {computer['load']}); these "
            "figures show that load, so measure again on a quiet machine."
        )
    lines += [f"  void round: {void.splitlines()[0]}" for void in findings.voids]
    return "\n".join(lines)


def not_measured(reasons: Mapping[str, str]) -> list[str]:
    """What a reader might look for in vain, with the reason."""
    rows = [[f"  {case}", why] for case, why in reasons.items()]
    return ["", "not measured:", *aligned(rows)] if rows else []


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
    if plan.ours is not None:
        for limit in metric.limits.get(GEOMETRIC_MEAN, ()):
            cells = _speedup_cells(plan, findings, metric, GEOMETRIC_MEAN, limit)
            rows.append([GEOMETRIC_MEAN, *[""] * len(plan.libraries), *cells])
    return [*lines, "", *aligned(rows), *_winners(plan, findings, metric),
            *_thin(plan, findings, metric)]


def _case_rows(
    plan: rounds.Plan, findings: rounds.Findings, metric: Metric, case: str
) -> list[list[str]]:
    """A case's row; further rows for speed-ups over more than the best rival."""
    row = [case, *_figure_cells(plan, findings, metric, case)]
    if plan.ours is None:
        return [row]
    if metric.is_value:
        limits = metric.limits.get(case, ())
        cells = [
            (f"{limit.of} " if limit.of else "")
            + _required_cell(plan, findings, metric, case, limit)
            for limit in limits
        ]
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
    lines += [f"  {case:<16} {work_text(entry)}" for case, entry in work.items()]
    return lines


def work_text(entry: Mapping[str, Any]) -> str:
    """One case's calibrated work in words."""
    if "order" in entry:
        delay = f", frames {entry['delay_us']} us late" if "delay_us" in entry else ""
        return (f"messages or blocks of {entry['size_bytes']} bytes ({entry['fastest']}){delay}; "
                f"products of matrices {entry['order']} wide")
    return (f"{short_number(entry['work_us'])} us; the fastest transfer took "
            f"{short_number(entry['transfer_us'])} us ({entry['fastest']})")


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


def _thin(plan: rounds.Plan, findings: rounds.Findings, metric: Metric) -> list[str]:
    """Names the libraries that were too slow in a case for as many samples as the others have."""
    lines = []
    for case in plan.cases:
        counts = {name: samples_a_round(findings.raw(name, metric, case))
                  for name in plan.libraries if findings.raw(name, metric, case)}
        usual = max(counts.values(), default=0)
        few = [f"{name} {count}" for name, count in counts.items()
               if count < SAMPLES_FEW <= usual]
        if few:
            lines.append(f"samples a round, {case}: {', '.join(few)}; else {usual} at most")
    return lines


def samples_a_round(raw: Mapping[int, Sequence[float]]) -> int:
    """How many samples a library has taken in a round of a case, in the median."""
    return int(statistics.median(len(values) for values in raw.values()))


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
        around = f"{short_number(found.least)}, {found.relative:.0%}"
        if metric.is_value:
            around = f"{short_number(found.lower)} .. {short_number(found.upper)}"
        cells.append(f"{mark}{short_number(found.median)} ({around})")
    return cells


def _speedup_cells(
    plan: rounds.Plan, findings: rounds.Findings, metric: Metric, case: str, limit: Limit | None
) -> list[str]:
    against = limit.against if limit else None
    values = rounds.case_speedups(plan, findings, metric, case, against)
    if not values:
        return ["-", "-", "-"]
    found = figures.spread(values)
    rival = against or _rival_name(plan, findings, metric, case) or "-"
    speedup = f"{found.median:.2f} ({found.lower:.2f} .. {found.upper:.2f})"
    required = _required_cell(plan, findings, metric, case, limit) if limit else "-"
    return [speedup, rival, required]


def _required_cell(
    plan: rounds.Plan, findings: rounds.Findings, metric: Metric, case: str, limit: Limit
) -> str:
    verdict = rounds.verdict(plan, findings, metric, case, limit)
    return f"{_sign(metric, limit)} {limit.required:g} {verdict.value}"


def short_number(value: float) -> str:
    """Three significant digits, or all before the point, without an exponent."""
    return f"{value:.3g}" if abs(value) < 999.5 else f"{value:.0f}"


def aligned(rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of columns. Requires: rows of one length, at least one."""
    table_rows = list(rows)
    widths = [max(len(row[column]) for row in table_rows) for column in range(len(table_rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table_rows
    ]
