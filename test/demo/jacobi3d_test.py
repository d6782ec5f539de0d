# SPDX-License-Identifier: Apache-2.0
"""jacobi3d built once against the MPI ABI, run under Headway and under MPICH.

Needs HEADWAY_STAGE for the runs under Headway and an installed MPICH (HEADWAY_RIVALS_DIR or the
user's cache) for those under MPICH; HEADWAY_ENSURE_RIVALS=1 installs it. What is absent is skipped
by name.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from headway import libraries, rivals  # noqa: E402

SOURCE = ROOT / "examples" / "jacobi3d"
RANK_COUNTS = (1, 2, 3, 4, 8)
WATCHDOG_S = 120
TOLERANCE = 1e-12


def find_mpich() -> Path | None:
    """MPICH's environment; installed first where HEADWAY_ENSURE_RIVALS asks for it."""
    if os.environ.get("HEADWAY_ENSURE_RIVALS") == "1":
        return rivals.ensure(["mpich"])["mpich"]
    return rivals.find("mpich")


def find_stage() -> Path | None:
    """The staged Headway, where HEADWAY_STAGE names one."""
    path = os.environ.get("HEADWAY_STAGE")
    return Path(path).resolve() if path else None


def reference_residual(points: int, sweeps: int) -> float:
    """Residual (L2) before the last of `sweeps` Jacobi sweeps for the solution 'exponential' on a
    unit cube with points^3 points, worked out independently of the program and of MPI."""
    n = points + 2
    h = 1.0 / (points + 1)
    cells = range(1, points + 1)
    grid = [[[0.0] * n for _ in range(n)] for _ in range(n)]
    exact = [[[math.exp((i + j + k) * h) for k in range(n)] for j in range(n)] for i in range(n)]
    for i in range(n):
        for j in range(n):
            for k in range(n):
                if {i, j, k} & {0, n - 1}:
                    grid[i][j][k] = exact[i][j][k]
    squares: list[float] = []
    for _ in range(sweeps):
        squares = []
        new = [[row[:] for row in plane] for plane in grid]
        for i in cells:
            for j in cells:
                for k in cells:
                    around = math.fsum(
                        (
                            *(grid[i - 1][j][k], grid[i + 1][j][k], grid[i][j - 1][k]),
                            *(grid[i][j + 1][k], grid[i][j][k - 1], grid[i][j][k + 1]),
                        )
                    )
                    source = -3.0 * exact[i][j][k]
                    new[i][j][k] = (source * h * h + around) / 6.0
                    squares.append(((new[i][j][k] - grid[i][j][k]) * 6.0 / h / h) ** 2)
        grid = new
    return math.sqrt(math.fsum(squares) * h**3)


class Jacobi3dTest(unittest.TestCase):
    """One binary, several libraries and rank counts."""

    mpich: Path | None
    stage: Path | None
    folder: Path
    program: Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.mpich = find_mpich()
        cls.stage = find_stage()
        if cls.mpich is None and cls.stage is None:
            raise unittest.SkipTest("neither HEADWAY_STAGE nor MPICH is there")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.program = cls.folder / "jacobi3d"
        if cls.mpich is not None:
            compiler = cls.mpich / "bin" / "mpicc_abi"
        else:
            assert cls.stage is not None
            compiler = cls.stage / "bin" / "mpicc"
        subprocess.run(
            ["make", "-s", "-C", str(SOURCE), f"MPICC={compiler}", f"OUTPUT={cls.program}"],
            check=True,
            timeout=WATCHDOG_S,
        )

    def launcher(self, name: str) -> libraries.Library:
        """Headway or MPICH; skips the test where it is absent."""
        if name == "headway":
            if self.stage is None:
                self.skipTest("HEADWAY_STAGE is not set")
            return libraries.ours(self.stage)
        if self.mpich is None:
            self.skipTest("MPICH is not installed: python3 -m headway.rivals --ensure mpich")
        return libraries.mpich(self.mpich)

    def start(self, name: str, ranks: int, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Runs the program on `ranks` ranks from a folder that holds nothing of it."""
        library = self.launcher(name)
        return subprocess.run(
            [*library.command(ranks, [], False), str(self.program), *arguments],
            env=library.job_environment(ranks, [], False),
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=WATCHDOG_S,
            check=False,
        )

    def solve(self, name: str, ranks: int, *arguments: str) -> dict[str, Any]:
        """A run that must pass its own check; returns its JSON object."""
        outcome = self.start(name, ranks, "--quiet", "--json", *arguments)
        self.assertEqual(outcome.returncode, 0, outcome.stdout + outcome.stderr)
        result: dict[str, Any] = json.loads(outcome.stdout)
        self.assertTrue(result["passed"])
        self.assertEqual(result["ranks"], ranks)
        return result

    def any_library(self) -> str:
        """Ours where it is staged, else MPICH."""
        return "headway" if self.stage is not None else "mpich"

    def check_rank_counts(self, name: str, *arguments: str) -> dict[str, Any]:
        """All rank counts agree; returns the result on one rank."""
        results = [self.solve(name, ranks, *arguments) for ranks in RANK_COUNTS]
        first = results[0]
        for result in results[1:]:
            self.assertEqual(result["iterations"], first["iterations"])
            for key in ("residual", "residual_first", "error"):
                self.assert_close(result[key], first[key], f"{key} on {result['ranks']} ranks")
        return first

    def assert_close(self, value: float, wanted: float, what: str) -> None:
        """Equal within 1e-12 of the larger one."""
        self.assertTrue(math.isclose(value, wanted, rel_tol=TOLERANCE), f"{what}: {value} {wanted}")

    def test_rank_counts_agree_under_headway(self) -> None:
        self.check_rank_counts("headway", "--grid", "12")

    def test_rank_counts_agree_under_mpich(self) -> None:
        self.check_rank_counts("mpich", "--grid", "12")

    def test_headway_and_mpich_agree(self) -> None:
        for ranks in (1, 4):
            ours = self.solve("headway", ranks, "--grid", "17")
            mpich = self.solve("mpich", ranks, "--grid", "17")
            self.assertEqual(ours["iterations"], mpich["iterations"])
            self.assert_close(ours["residual"], mpich["residual"], f"residual on {ranks} ranks")

    def test_uneven_box_with_every_axis_cut(self) -> None:
        path = self.folder / "box.in"
        path.write_text(
            "grid = 7 9 11\nlength = 1 2 3\nsolution = sine  # zero outside\ncheck_interval = 1\n"
        )
        results = self.check_rank_counts(self.any_library(), "--input", str(path))
        self.assertEqual(results["grid"], [7, 9, 11])

    def test_residual_is_the_one_worked_out_by_hand(self) -> None:
        for sweeps in (1, 6):
            wanted = reference_residual(5, sweeps)
            for ranks in (1, 3):
                result = self.solve(
                    self.any_library(), ranks, "--grid", "5", "--iterations", str(sweeps)
                )
                self.assertEqual(result["residual_iteration"], sweeps - 1)
                self.assert_close(result["residual"], wanted, f"residual, {sweeps} sweeps")

    def test_error_shrinks_with_the_square_of_the_spacing(self) -> None:
        coarse = self.solve(self.any_library(), 2, "--grid", "7")["error"]
        fine = self.solve(self.any_library(), 2, "--grid", "15")["error"]
        self.assertTrue(3.5 < coarse / fine < 4.5, f"{coarse} {fine}")

    def test_parts_take_time_and_solve_nothing(self) -> None:
        name = self.any_library()
        whole = self.solve(name, 2, "--grid", "9", "--iterations", "4")
        for part in ("communication", "computation"):
            result = self.solve(name, 2, "--grid", "9", "--iterations", "4", "--part", part)
            self.assertEqual(result["part"], part)
            self.assertEqual(result["iterations"], 4)
            self.assertNotEqual(result["error"], whole["error"])
        self.assertEqual(whole["part"], "whole")
        alone = self.solve(name, 2, "--grid", "9", "--iterations", "4", "--part", "computation")
        self.assertEqual(alone["mpi_max_s"], 0.0)

    def test_runs_without_launcher(self) -> None:
        library = self.launcher(self.any_library())
        environment = library.job_environment(1, [], False)
        if self.stage is not None:
            environment["LD_LIBRARY_PATH"] = str(self.stage / "lib")
        outcome = subprocess.run(
            [str(self.program), "--grid", "6"],
            env=environment,
            cwd="/",
            capture_output=True,
            text=True,
            timeout=WATCHDOG_S,
            check=False,
        )
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        self.assertRegex(outcome.stdout, r"ranks +1 as 1 x 1 x 1\n(.*\n)+ +check +passed")

    def test_installed_input_says_what_the_program_has(self) -> None:
        keys = ("grid", "length", "solution", "tolerance", "max_iterations", "check_interval")
        for arguments in (("--grid", "4"), ("--iterations", "1")):
            without = self.solve(self.any_library(), 1, *arguments)
            given = self.solve(
                self.any_library(), 1, "--input", str(SOURCE / "default.in"), *arguments
            )
            self.assertEqual([without[key] for key in keys], [given[key] for key in keys])

    def test_unconverged_run_fails(self) -> None:
        path = self.folder / "short.in"
        path.write_text("grid = 9\nmax_iterations = 3\n")
        outcome = self.start(self.any_library(), 2, "--input", str(path))
        self.assertEqual(outcome.returncode, 1)
        self.assertIn("not converged in 3 sweeps; raise max_iterations", outcome.stdout)

    def test_wrong_input_names_line_and_cure(self) -> None:
        cases = {
            "grid = 4\nbla = 3\n": ":2: unknown key 'bla'; the keys are grid",
            "grid = 4 4\n": ":1: 'grid' needs one or three whole numbers",
            "# comment\n\ngrid 4\n": ":3: no '=' in 'grid 4'; write",
            "grid = 4\ngrid = 5\n": ":2: 'grid' stands here a second time; remove",
            "tolerance = 2\n": "write 'tolerance = 1e-8'",
            "solution = cosine\n": "one of sine, exponential, polynomial",
            "x" * 2000: ":1: the line has more than",
        }
        path = self.folder / "wrong.in"
        for text, message in cases.items():
            path.write_text(text)
            outcome = self.start(self.any_library(), 2, "--input", str(path))
            self.assertEqual(outcome.returncode, 2, text)
            self.assertIn(message, outcome.stderr)
            self.assertEqual(outcome.stderr.count("jacobi3d: "), 1, "one rank speaks, once")

    def test_wrong_arguments_name_the_cure(self) -> None:
        cases = {
            ("--grid", "x"): "--grid needs a whole number from 1 to 8192, but has 'x'",
            ("--input", "/nowhere"): "/nowhere: cannot be opened",
            ("--frob",): "unknown argument '--frob'; --help lists",
            ("--grid", "1"): "cannot be split over 2 ranks; take a larger grid",
        }
        for arguments, message in cases.items():
            outcome = self.start(self.any_library(), 2, *arguments)
            self.assertEqual(outcome.returncode, 2, arguments)
            self.assertIn(message, outcome.stderr)


if __name__ == "__main__":
    unittest.main()
