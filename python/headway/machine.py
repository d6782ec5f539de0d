# SPDX-License-Identifier: Apache-2.0
"""The model of this machine that `headway sim` computes with, fitted to times of collectives.

What is measured is what the simulator computes: a collective that all ranks begin at one moment,
until the last of them ends (`--start together` of the bench programs), with its algorithm forced.
Of two ranks a broadcast is one message, a chain of pieces a stream one way, a reduction a message
and a sum; so these stand for ping-pong, rate and arithmetic. headway-study does the least squares
(study/fit.hpp).
"""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from headway import presentation, study
from headway.jobs import JobError

# Metrics of a bench whose cases are predicted.
TIME, PREDICTED, ERROR = "time_us", "predicted_us", "error"
FORCING = "HEADWAY_COLL_"
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}
# A number whose standard error is a larger part of it is not known from the measurements.
ERROR_MAX = 0.5
ABOUT = {
    "overhead_us": "CPU time of a message at either end",
    "node_latency_us": "on the way between two ranks",
    "node_gigabytes": "a second that a CPU moves of short messages",
    "node_long_gigabytes": "a second that either CPU moves of long ones",
    "node_offer_us": "before a long message moves",
    "switch_us": "of a core from one rank to another",
    "reduce_gigabytes": "a second that a rank combines",
    "copy_gigabytes": "a second that a rank copies",
}


@dataclass(frozen=True)
class Measurement:
    """A collective by one algorithm. time_us: None where only a prediction is wanted."""

    collective: str
    algorithm: str
    ranks: int
    size: int
    time_us: float | None = None

    def line(self) -> str:
        """As headway-study fit reads it."""
        time = "-" if self.time_us is None else f"{self.time_us:.6g}"
        return f"{self.collective} {self.algorithm} {self.ranks} {self.size} {time}"


@dataclass(frozen=True)
class Number:
    """One that was fitted. error: its standard error as a part of it."""

    value: float
    error: float

    @property
    def is_known(self) -> bool:
        return self.error <= ERROR_MAX


@dataclass(frozen=True)
class Fitted:
    """numbers: by key. fixed: what was given. predicted_us: one for each measurement."""

    fixed: Mapping[str, str]
    numbers: Mapping[str, Number]
    measurements: tuple[Measurement, ...]
    predicted_us: tuple[float, ...]

    def errors(self) -> list[float]:
        """Of the measured ones: what the model says, by what was measured, less 1."""
        pairs = zip(self.measurements, self.predicted_us, strict=True)
        return [predicted / each.time_us - 1 for each, predicted in pairs if each.time_us]


def named(case: str, ranks: int, environment: Mapping[str, str],
          time_us: float | None = None) -> Measurement:
    """What a job measures as `case` ("Bcast 4 KiB") where `environment` forces algorithms. Raises
    JobError for a case whose algorithm is not forced."""
    collective, _, size = case.partition(" ")
    algorithm = environment.get(FORCING + collective.upper())
    number, _, unit = size.partition(" ")
    if algorithm is None or unit not in UNITS:
        raise JobError(f"{case!r} cannot be predicted: it wants a size, and {FORCING}"
                       f"{collective.upper()} that says by which algorithm.")
    return Measurement(collective.lower(), algorithm, ranks, int(number) * UNITS[unit], time_us)


def fit(measurements: Iterable[Measurement], fixed: Mapping[str, str]) -> Fitted:
    """Fits the machine to all that have a time, and predicts all. `fixed`: numbers that are not
    fitted. Raises JobError."""
    listed = tuple(measurements)
    with tempfile.NamedTemporaryFile("w", suffix=".measured") as file:
        file.write("\n".join([*(each.line() for each in listed), ""]))
        file.flush()
        settings = [word for key, value in fixed.items() for word in ("--set", f"{key}={value}")]
        answer = study.ask(["fit", file.name, *settings])
    if answer.code != 0:
        raise JobError("headway-study fit failed.")
    entries = [json.loads(line) for line in answer.text.splitlines()]
    numbers = {entry["key"]: Number(entry["value"], entry["error"])
               for entry in entries if "key" in entry}
    predicted = tuple(entry["predicted_us"] for entry in entries if "predicted_us" in entry)
    return Fitted(dict(fixed), numbers, listed, predicted)


def file_text(fitted: Fitted, heading: Sequence[str]) -> str:
    """What `headway sim --machine` reads. Numbers that are not known stand there all the same: of
    two that look alike, only the sum may be known."""
    lines = [f"# {line}" for line in heading]
    if "switch_us" not in fitted.numbers:
        lines.append("# Measured with a core for each rank; what shared cores cost is not known.")
    lines += [f"{key} = {value}" for key, value in fitted.fixed.items()]
    for key, number in fitted.numbers.items():
        text = f"{key} = {number.value:.4g}"
        known = (f"known to {number.error:.0%}" if number.is_known
                 else "a guess, the measurements do not tell")
        lines.append(f"{text:<30}# {ABOUT[key]}; {known}")
    return "\n".join([*lines, ""])


def quality(fitted: Fitted) -> list[str]:
    """How well the model says what it was fitted to: by algorithm, ranks, and all."""
    groups: dict[tuple[str, str], list[float]] = {}
    measured = [each for each in fitted.measurements if each.time_us]
    for each, error in zip(measured, fitted.errors(), strict=True):
        key = (f"{each.collective} {each.algorithm}", str(each.ranks))
        groups.setdefault(key, []).append(error)
    rows = [("fitted to", "ranks", "times", "median error", "worst")]
    for (name, ranks), errors in groups.items():
        rows.append((name, ranks, str(len(errors)), *_error_words(errors)))
    rows.append(("all", "", str(len(measured)), *_error_words(fitted.errors())))
    return presentation.aligned(rows)


def _error_words(errors: Sequence[float]) -> tuple[str, str]:
    return (f"{statistics.median(map(abs, errors)):.0%}", f"{max(errors, key=abs):+.0%}")
