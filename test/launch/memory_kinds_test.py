# SPDX-License-Identifier: Apache-2.0
"""mpiexec -memory-alloc-kinds (MPI-5.0 section 11.5) reaches the world and sessions."""

import subprocess
import unittest

import fixture


class MemoryKinds(fixture.InFolder):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        subprocess.run([str(fixture.stage() / "bin/mpicc"), "-Wall", "-Werror", "-o",
                        cls.folder / "program", fixture.HERE / "programs/memory_kinds.c"],
                       check=True)

    def check(self, options: list[str], kinds: str, session_kinds: str = "mpi,system",
              **extra: str) -> None:
        """What the job finds, and what a session does that asks for mpi and an unknown kind."""
        ran = subprocess.run(
            [fixture.mpiexec(), "-n", "2", *options, str(self.folder / "program")],
            env=fixture.clean_environment() | extra, capture_output=True, text=True,
            timeout=fixture.WATCHDOG_S, check=False)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual(ran.stdout.splitlines(), [
            f"{whose}: {kinds}" for whose in ("environment", "world", "duplicate", "session")
        ] + [f"session that asks: {session_kinds}"])

    def test_without_it_every_library_has_two(self) -> None:
        self.check([], "system,mpi")

    def test_known_kinds_in_their_order_and_unknown_ones_not(self) -> None:
        asked = "mpi:alloc_mem, cuda:device,mpi,none_such,system:of_no_kind"
        for dashes in ("-", "--"):
            with self.subTest(dashes=dashes):
                self.check([f"{dashes}memory-alloc-kinds", asked], "mpi:alloc_mem,mpi,system")
        self.check([f"--memory-alloc-kinds={asked}"], "mpi:alloc_mem,mpi,system")

    def test_ranks_that_are_threads(self) -> None:
        for kind in ("thread", "ult"):
            with self.subTest(kind=kind):
                self.check(["--ranks", kind, "-memory-alloc-kinds", "mpi:alloc_mem"],
                           "mpi:alloc_mem,system,mpi")

    def test_other_launchers_set_the_variable(self) -> None:
        self.check([], "mpi,system", HEADWAY_MEMORY_ALLOC_KINDS="mpi")

    def test_it_takes_a_value(self) -> None:
        ran = subprocess.run([fixture.mpiexec(), "-memory-alloc-kinds"], capture_output=True,
                             text=True, timeout=fixture.WATCHDOG_S, check=False)
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn("memory-alloc-kinds", ran.stderr)


if __name__ == "__main__":
    unittest.main()
