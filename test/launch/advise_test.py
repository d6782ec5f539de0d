# SPDX-License-Identifier: Apache-2.0
"""`headway advise` on programs of known structure: what is counted, predicted and flagged."""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

import fixture

SOURCE = fixture.ROOT / "test" / "advise" / "synthetic.c"
TURNS, COMPUTE_MS = 12, 20
GAIN_LEAST, RUNS_MAX = 1.1, 3
# Each frame so late: an exchange takes three of these, so that waits are long without progress.
DELAY_US = 3000


class Advise(fixture.InFolder):
    """Runs of the synthetic program under the profiler."""

    program: Path

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.program = cls.folder / "synthetic"
        subprocess.run([str(fixture.stage() / "bin" / "mpicc"), "-O2", str(SOURCE), "-o",
                        str(cls.program)], check=True)

    def environment(self, **more: str) -> dict[str, str]:
        settings = {"PYTHONPATH": str(fixture.ROOT / "python"), "HEADWAY_DELAY_US": str(DELAY_US)}
        return fixture.clean_environment() | settings | more

    def command(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "headway", "advise", "--stage", str(fixture.stage()), *words],
            env=self.environment(), capture_output=True, text=True, timeout=fixture.WATCHDOG_S,
            check=False)

    def advise(self, mode: str, cores: int = 16) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """The prediction, and the profiles of both ranks."""
        keep = self.folder / mode
        done = self.command("-n", "2", "--cores", str(cores), "--json", "--keep", str(keep),
                            str(self.program), mode, str(TURNS), str(COMPUTE_MS))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("HEADWAY_ADVISE_DIR", done.stderr)  # the tool's own, no mistake of a user
        profiles = [json.loads(path.read_text()) for path in sorted(keep.glob("rank-*.json"))]
        return json.loads(done.stdout.splitlines()[-1]), profiles

    def calls(self, profile: dict[str, Any]) -> dict[str, int]:
        return {name: each["calls"] for name, each in profile["classes"].items()}

    def test_counts_and_window(self) -> None:
        found, profiles = self.advise("window")
        for profile in profiles:
            self.assertEqual(self.calls(profile), {"blocking": 3, "nonblocking": 2 * TURNS,
                                                   "test": 0, "wait": TURNS + 1, "other": 0})
            self.assertEqual(profile["requests"]["count"], 2 * TURNS)
            self.assertEqual(profile["requests"]["lost"], 0)
            in_mpi = sum(each["total_s"] for each in profile["classes"].values())
            by_function = sum(each["total_s"] for each in profile["functions"].values())
            self.assertAlmostEqual(in_mpi, by_function, places=5)
            self.assertLess(in_mpi, profile["wall_s"])
        self.assertTrue(found["has_window"])

    def predicted_gain(self) -> float:
        """Of the program with a window. The best of some runs: other programs on these cores take
        from the computation what there is to be gained."""
        best = 0.0
        for _run in range(RUNS_MAX):
            found, _profiles = self.advise("window")
            best = max(best, found["measured_s"] / found["agent_windowed_s"])
            if best > GAIN_LEAST:
                break
        return best

    def test_prediction_and_what_comes(self) -> None:
        self.assertGreater(self.predicted_gain(), GAIN_LEAST)
        self.assertGreater(self.measured_gain(), GAIN_LEAST)

    def measured_gain(self) -> float:
        """As predicted_gain(), of runs with and without an agent in turn."""
        best = 0.0
        for _run in range(RUNS_MAX):
            best = max(best, self.measure("none") / self.measure("agent"))
            if best > GAIN_LEAST:
                break
        return best

    def measure(self, progress: str) -> float:
        """What the program itself says it took."""
        done = subprocess.run(
            [fixture.mpiexec(), "-n", "2", str(self.program), "window", str(TURNS),
             str(COMPUTE_MS)], env=self.environment(HEADWAY_PROGRESS=progress), text=True,
            capture_output=True, timeout=fixture.WATCHDOG_S, check=True)
        return float(done.stdout)

    def test_no_window_is_flagged(self) -> None:
        found, profiles = self.advise("none")
        self.assertFalse(found["has_window"])
        # The model alone would promise all that was waited, two frames a turn at least; as far as
        # windows reach there is next to nothing. In seconds, and not as a share of the run: what
        # computation takes is up to who else is on these cores.
        promised_s = found["measured_s"] - found["agent_s"]
        self.assertGreater(promised_s, TURNS * 2 * DELAY_US * 1e-6)
        self.assertLess(found["measured_s"] - found["agent_windowed_s"], promised_s / 4)
        self.assertEqual(profiles[0]["requests"]["without_window"], 2 * TURNS)
        done = self.command("--read", str(self.folder / "none"))
        self.assertIn("no window to overlap", done.stdout)

    def test_blocking_calls_gain_when_converted(self) -> None:
        found, profiles = self.advise("blocking")
        self.assertEqual(self.calls(profiles[1])["blocking"], TURNS + 3)
        self.assertLess(found["measured_s"] / found["dedicated_s"], 1.1)
        self.assertLess(found["converted_s"]["1"], found["converted_s"]["0"])

    def test_mixed(self) -> None:
        _found, profiles = self.advise("mixed")
        self.assertEqual(self.calls(profiles[0])["nonblocking"], TURNS)
        self.assertEqual(self.calls(profiles[0])["test"], 4 * TURNS)
        self.assertEqual(self.calls(profiles[0])["blocking"], TURNS + 3)
        self.assertEqual(profiles[0]["requests"]["count"], TURNS)

    def test_programs_of_which_nothing_can_be_told(self) -> None:
        done = self.command("-n", "1", "/bin/true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no rank has left a profile", done.stderr)
        self.assertIn("name a program", self.command().stderr)
        self.assertIn("ended with code", self.command("-n", "1", "/bin/false").stderr)

    def test_another_library_of_the_abi(self) -> None:
        mpich = os.environ.get("HEADWAY_RIVALS_DIR") or str(
            Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headway/rivals")
        found = sorted(Path(mpich).glob("mpich-*/bin/mpiexec"))
        if not found:
            self.skipTest("needs MPICH: ./dev rivals mpich")
        library = found[-1].parent.parent / "lib"
        launcher = f"{found[-1]} -n 2 env LD_LIBRARY_PATH={library}"
        done = self.command("--launcher", launcher, "--cores", "4", "--json", str(self.program),
                            "none", str(TURNS), "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout.splitlines()[-1])["ranks"], 2)


if __name__ == "__main__":
    unittest.main()
