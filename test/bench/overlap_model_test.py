# SPDX-License-Identifier: Apache-2.0
"""The model of `headway advise`: published inputs, and what must hold of it."""

import dataclasses
import sys
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from headway import advise
from headway import overlap_model as model
from headway.overlap_model import Calls, Profile

# Two inputs of Kripke on 16 cores, as published (F. Reynier's thesis, table 6.1).
KRIPKE_1 = Profile(16, 73.6, Calls(0, 11.7), Calls(480000, 0.0, 2.14e-5),
                   Calls(1119810, 0.0, 2.05e-5), Calls(10000, 0.0, 3.2e-5))
KRIPKE_2 = Profile(16, 145.7, Calls(0, 4.98), Calls(96, 0.0, 2.16e-5), Calls(109679, 0.0, 2.2e-5),
                   Calls(2, 0.0, 7.19e-5), 0.34)


def profile(**changes: Any) -> Profile:
    """A rank that computes for 8 s on 4 cores, and waits for 2 s that it could hide."""
    made = Profile(4, 8.0, Calls(100, 1.0, 1e-3), Calls(200, 0.02, 1e-5), Calls(),
                   Calls(200, 2.0, 1e-5), waited_s=2.0, hidden_s=2.0)
    return dataclasses.replace(made, **changes)


class ModelTest(unittest.TestCase):
    """Equations."""

    def test_published_inputs(self) -> None:
        self.assertAlmostEqual(model.dedicated_s(KRIPKE_1), 123.75, delta=0.01)
        self.assertAlmostEqual(model.dedicated_s(KRIPKE_2), 163.15, delta=0.01)

    def test_a_core_of_n(self) -> None:
        alone = Profile(16, 15.0, Calls(), Calls(), Calls(), Calls())
        self.assertEqual(model.dedicated_s(alone), 16.0)
        self.assertEqual(model.agent_s(alone), 15.0)

    def test_slope_over_alpha(self) -> None:
        times = [model.dedicated_s(profile(), alpha) for alpha in (0.0, 0.5, 1.0)]
        slope = 100 * (1e-5 + 1e-5) - 1.0
        self.assertAlmostEqual(times[1] - times[0], slope / 2)
        self.assertAlmostEqual(times[2] - times[0], slope)

    def test_break_even(self) -> None:
        # 2 s off the waits, against 8 / 3 s of computation; with 16 cores 8 / 15 s.
        self.assertFalse(model.pays(profile()))
        self.assertTrue(model.pays(profile(cores=16)))

    def test_what_has_no_window_stays(self) -> None:
        whole = model.agent_s(profile())
        self.assertEqual(model.windowed_s(profile(), whole), whole)
        none = model.windowed_s(profile(hidden_s=0.0), whole)
        self.assertAlmostEqual(none, whole + 2.0 - 200 * 1e-5)
        self.assertTrue(model.has_window(profile()))
        self.assertFalse(model.has_window(profile(hidden_s=0.1)))
        # Where next to nothing is waited for, there is nothing to flag.
        self.assertTrue(model.has_window(profile(hidden_s=0.0, wait=Calls(200, 0.01, 1e-5))))

    def test_imbalance(self) -> None:
        ranks = [profile(compute_s=time) for time in (6.0, 7.0, 8.0)]
        self.assertEqual(model.imbalance_s(ranks), 1.0)


class AdviceTest(unittest.TestCase):
    """From the files of ranks to sentences."""

    def entry(self, **changes: Any) -> dict[str, Any]:
        none = {"calls": 0, "total_s": 0.0, "min_s": 0.0, "percentile_s": 0.0}
        names = ("blocking", "nonblocking", "test", "wait", "other")
        classes = {name: dict(none) for name in names}
        classes["wait"] = {"calls": 100, "total_s": 2.0, "min_s": 1e-5, "percentile_s": 2e-5}
        return {"rank": 0, "ranks": 1, "cpus": 16, "wall_s": 10.0, "classes": classes,
                "requests": {"wait_s": 2.0, "hidden_s": 2.0}} | changes

    def test_parts_add_up(self) -> None:
        found = model.read(self.entry(), 16)
        self.assertEqual((found.compute_s, found.total_s), (8.0, 10.0))

    def test_dedicated_core_pays(self) -> None:
        found = advise.advice([self.entry()], 16)
        text = "\n".join(found.lines())
        self.assertTrue(found.pays)
        self.assertIn("a dedicated core pays", text)
        self.assertAlmostEqual(found.dedicated_s, 8 * 16 / 15 + 1e-3)

    def test_agent_pays_where_cores_are_few(self) -> None:
        text = "\n".join(advise.advice([self.entry()], 2).lines())
        self.assertIn("keep the agent", text)

    def test_no_window(self) -> None:
        entry = self.entry(requests={"wait_s": 2.0, "hidden_s": 0.0})
        self.assertIn("no window to overlap", "\n".join(advise.advice([entry], 16).lines()))

    def test_another_version(self) -> None:
        with self.assertRaisesRegex(advise.AdviseError, "another version"):
            advise.advice([{"classes": {}}], 4)


if __name__ == "__main__":
    unittest.main()
