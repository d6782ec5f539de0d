#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# headway-needs: model
"""The models in Promela hold, and those that are broken on purpose do not. The largest scenarios
are spin_large_test.py."""

import subprocess
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
MEMORY_MIB = 2000
WATCHDOG_S = 240

HOLDING = {
    "ownership_word": [""],
    "hand_over": ["ASKING", "COPIES", "THIRD", "ENDING"],
    "holder_death": [""],
}
BROKEN = {
    "ownership_word": ["NO_FENCE", "CARELESS"],
    "hand_over": [
        "ASKING NO_PASSING_ON",  # an idle rank that was woken forgets what for
        "ASKING WAKE_FIRST",  # wakes before it publishes in `wanted`
        "ASKING NO_LAST_SWEEP",  # leaves its own graph's fired nodes behind
        "RETURNING NO_LAST_SWEEP",  # leaves behind what bells rang for before it came back
        "THIRD NO_NUDGE",  # takes out of `idle` without waking
        "THIRD ONE_PIECE",  # forgets a rank whose copies it has only begun
        "COPIES ONE_PIECE",
        "COPIES ASKS_ONCE",  # asks only before the first try to leave what it leaves behind
        "COPIES NO_FENCE",  # between "I wait no more" and the last look at the invitations
        "ENDING NO_SECOND_SWEEP",  # an agent that sweeps, then prepares to park
        "ENDING NO_LAST_LOOK",  # an agent that does not look at must_end before it sleeps
        "ENDING NO_BARRIER",  # ends while others may be away
    ],
    "holder_death": ["NO_DEADLINE"],
}


def verify(model: str, flags: str, optimise: str) -> str:
    """What spin's verifier says about a model."""
    with tempfile.TemporaryDirectory() as folder:
        def run(*command: str) -> str:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True,
                                  timeout=WATCHDOG_S, check=False)
            if done.returncode != 0:
                raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
            return done.stdout

        run("spin", *[f"-D{flag}" for flag in flags.split()], "-a", str(HERE / f"{model}.pml"))
        run("gcc", optimise, "-w", "-DSAFETY", "-DCOLLAPSE", f"-DMEMLIM={MEMORY_MIB}", "-o", "pan",
            "pan.c")
        # -E: who sleeps for good is the monitor's to judge.
        return run("./pan", "-E", "-m200000")


class ModelTest(unittest.TestCase):
    def check_holds(self, model: str, scenarios: list[str]) -> None:
        for flags in scenarios:
            with self.subTest(model=model, flags=flags):
                said = verify(model, flags, "-O2")
                self.assertIn("errors: 0", said)
                for limit in ("Search not completed", "max search depth too small"):
                    self.assertNotIn(limit, said)

    def check_is_refuted(self, model: str, scenarios: list[str]) -> None:
        for flags in scenarios:
            with self.subTest(model=model, flags=flags):
                self.assertIn("assertion violated", verify(model, flags, "-O0"))


class SpinTest(ModelTest):
    def test_models_hold(self) -> None:
        for model, scenarios in HOLDING.items():
            self.check_holds(model, scenarios)

    def test_broken_models_are_refuted(self) -> None:
        for model, scenarios in BROKEN.items():
            self.check_is_refuted(model, scenarios)


if __name__ == "__main__":
    unittest.main()
