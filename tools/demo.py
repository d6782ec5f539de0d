# SPDX-License-Identifier: Apache-2.0
"""`./dev demo`: solves a problem, shows what communication beside computation gains, and writes a
timeline."""

import json
import os
import statistics
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from tools import build, tree
from tools.terminal import StepFailed, say

# A sweep takes about as long as the three delays that a long message needs (request, answer,
# arrival), so that there is something to hide and something to hide it behind.
OVERLAP_RUN = ["--grid", "140", "--iterations", "50", "--quiet", "--json"]
DELAY_MS = 2
ROUNDS = 3


@dataclass
class Setting:
    """One row of the table: a transport, who makes progress, and what was measured."""

    transport: str
    progress: str
    environment: dict[str, str]
    whole_s: list[float] = field(default_factory=list)
    communication_s: list[float] = field(default_factory=list)
    wake_ups: list[int] = field(default_factory=list)
    residual: float = 0.0


@dataclass(frozen=True)
class Run:
    """What one run of jacobi3d said."""

    time_s: float
    residual: float
    wake_ups: int


def main(arguments: list[str]) -> int:
    stage = build.build()
    for needed in ("mpiexec", "jacobi3d"):
        if not (stage / "bin" / needed).is_file():
            raise StepFailed(f"the demo needs bin/{needed} in {stage}, which is not built")
    say("demo: mpiexec -n 4 jacobi3d " + " ".join(arguments))
    code = subprocess.run([stage / "bin" / "mpiexec", "-n", "4", stage / "bin" / "jacobi3d",
                           *arguments], check=False).returncode
    if code == 0:
        _show_overlap(stage)
        code = _write_timeline(stage)
    return code


def _show_overlap(stage: Path) -> None:
    """The table: 2 ranks, with and without helpers, on this machine and on a slow network."""
    settings = [
        Setting(name, progress, {**delay, "HEADWAY_PROGRESS": progress})
        for name, delay in (("shm", {}), (f"delay {DELAY_MS} ms",
                                          {"HEADWAY_DELAY_US": str(1000 * DELAY_MS)}))
        for progress in ("none", "agent")
    ]
    say("demo: the same on 2 ranks, " + " ".join(OVERLAP_RUN[:4]) + ": what is hidden behind "
        "computation")
    computation_s = []
    for number in range(ROUNDS):
        computation_s.append(_run(stage, {}, "computation").time_s)
        # Rotated, so that a change of the machine's speed meets all of them.
        for setting in settings[number % len(settings):] + settings[:number % len(settings)]:
            setting.communication_s.append(
                _run(stage, setting.environment, "communication").time_s)
            whole = _run(stage, setting.environment, "whole")
            setting.whole_s.append(whole.time_s)
            setting.wake_ups.append(whole.wake_ups)
            setting.residual = whole.residual
    _print_table(settings, statistics.median(computation_s))


def _run(stage: Path, environment: dict[str, str], part: str) -> Run:
    done = subprocess.run(
        [stage / "bin" / "mpiexec", "-n", "2", stage / "bin" / "jacobi3d", *OVERLAP_RUN,
         "--part", part],
        env={**os.environ, **environment, "HEADWAY_STATS": "1"}, capture_output=True, text=True,
        check=False)
    if done.returncode != 0:
        raise StepFailed(f"the demo's run of the {part} failed: {done.stderr.strip()[:300]}")
    result = json.loads(done.stdout)
    return Run(result["time_s"], result["residual"], wake_ups_in(done.stderr))


def wake_ups_in(statistics_text: str) -> int:
    """All ranks' last column of the table that HEADWAY_STATS prints."""
    rows = [line.split() for line in statistics_text.splitlines() if line.startswith("headway:")]
    return sum(int(row[-1]) for row in rows if len(row) > 2 and row[1].isdigit())


def overhead(whole_s: float, communication_s: float, computation_s: float) -> str:
    """What is left of the shorter part beside the longer one: 0 hidden, 1 as if one after the
    other. Where the shorter part is less than a tenth, the noise of the longer one is all that
    could be seen."""
    shorter, longer = sorted((communication_s, computation_s))
    return "in noise" if shorter < 0.1 * longer else f"{(whole_s - longer) / shorter:.2f}"


def _print_table(settings: list[Setting], computation_s: float) -> None:
    say(f"  computation alone {computation_s:.3f} s; medians of {ROUNDS} runs; r_overhead: 0 the "
        "shorter part is hidden,")
    say("  1 it is not; in noise: it is less than a tenth of the longer one")
    say("  transport    progress   time       messages   r_overhead  wake-ups  residual")
    for setting in settings:
        whole_s = statistics.median(setting.whole_s)
        alone_s = statistics.median(setting.communication_s)
        share = overhead(whole_s, alone_s, computation_s)
        say(f"  {setting.transport:<12} {setting.progress:<8} {whole_s:7.3f} s  {alone_s:7.3f} s "
            f"{share:>12} {statistics.median(setting.wake_ups):9.0f}  {setting.residual:.12e}")


def _write_timeline(stage: Path) -> int:
    """A page that shows some sweeps, in build/demo."""
    folder = tree.BUILD / "demo"
    folder.mkdir(parents=True, exist_ok=True)
    trace, page = folder / "timeline.json", folder / "timeline.html"
    # So few sweeps do not solve the problem, which the program says with its exit code.
    subprocess.run([stage / "bin" / "mpiexec", "-n", "4", stage / "bin" / "jacobi3d", "--quiet",
                    "--iterations", "100"], stdout=subprocess.DEVNULL, check=False,
                   env={**os.environ, "HEADWAY_TRACE": str(trace)})
    report = subprocess.run([stage / "bin" / "headway", "report", trace, "-o", page],
                            stdout=subprocess.DEVNULL, check=False)
    if report.returncode == 0:
        say(f"demo: 100 sweeps as a timeline: open {page.relative_to(tree.ROOT)} in a browser")
    return report.returncode
