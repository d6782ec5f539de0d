# SPDX-License-Identifier: Apache-2.0
"""Tools that profile MPI by its name-shifted interface (MPI-5.0 chapter 15)."""

import os
import subprocess
import unittest
from collections import Counter

import fixture


class Profiling(fixture.InFolder):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.compile("-shared", "-fPIC", "-o", "libprofiler.so", "profiler.c")
        cls.compile("-o", "profiled", "profiled.c")

    @classmethod
    def compile(cls, *words: str) -> None:
        sources = fixture.HERE / "programs"
        paths = [str(sources / word) if word.endswith(".c") else word for word in words]
        subprocess.run([str(fixture.stage() / "bin/mpicc"), "-Wall", "-Werror", *paths],
                       cwd=cls.folder, check=True)

    def lines_of(self, program: str, **extra: str) -> Counter[str]:
        ran = subprocess.run([fixture.mpiexec(), "-n", "3", str(self.folder / program)],
                             env=fixture.clean_environment() | extra, capture_output=True,
                             text=True, timeout=fixture.WATCHDOG_S, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return Counter(ran.stdout.splitlines())

    def check(self, lines: Counter[str]) -> None:
        self.assertEqual(lines, Counter({
            "profiler: 3 ranks": 3, "received 10": 2,
            "profiler: 10 sends, 1200 bytes": 1, "profiler: 0 sends, 0 bytes": 2}))

    def test_a_preloaded_tool_sees_the_calls_of_an_unchanged_program(self) -> None:
        preload = os.pathsep.join(
            filter(None, [str(self.folder / "libprofiler.so"), os.environ.get("LD_PRELOAD")]))
        self.check(self.lines_of("profiled", LD_PRELOAD=preload))

    def test_a_tool_that_is_linked_before_the_library_does(self) -> None:
        self.compile("-o", "linked", "profiled.c", "-L.", "-lprofiler",
                     f"-Wl,-rpath,{self.folder}")
        self.check(self.lines_of("linked"))

    def test_a_tool_inside_the_program_does(self) -> None:
        self.compile("-o", "inside", "profiled.c", "profiler.c")
        self.check(self.lines_of("inside"))

    def test_without_a_tool_nothing_is_profiled(self) -> None:
        self.assertEqual(self.lines_of("profiled"), Counter({"received 10": 2}))


if __name__ == "__main__":
    unittest.main()
