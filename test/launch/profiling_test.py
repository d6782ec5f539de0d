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
        cls.compile("-shared", "-fPIC", "-o", "libforwarder.so", "forwarder.c", "-ldl")
        cls.compile("-shared", "-fPIC", '-DTOOL="second"', "-o", "libsecond.so", "forwarder.c",
                    "-ldl")
        cls.compile("-o", "profiled", "profiled.c")

    @classmethod
    def compile(cls, *words: str) -> None:
        sources = fixture.HERE / "programs"
        paths = [str(sources / word) if word.endswith(".c") else word for word in words]
        subprocess.run([str(fixture.stage() / "bin/mpicc"), "-Wall", "-Werror", *paths],
                       cwd=cls.folder, check=True)

    def lines_of(self, program: str, *hosting: str, **extra: str) -> Counter[str]:
        ran = subprocess.run([fixture.mpiexec(), *hosting, "-n", "3", str(self.folder / program)],
                             env=fixture.clean_environment() | extra, capture_output=True,
                             text=True, timeout=fixture.WATCHDOG_S, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return Counter(ran.stdout.splitlines())

    def preloaded(self, *tools: str, program: str = "profiled") -> Counter[str]:
        libraries = [str(self.folder / f"lib{tool}.so") for tool in tools]
        return self.lines_of(program, LD_PRELOAD=os.pathsep.join(
            filter(None, [*libraries, os.environ.get("LD_PRELOAD")])))

    def check(self, lines: Counter[str], *forwarders: str) -> None:
        """The profiler and these saw all calls."""
        want = Counter({
            "profiler: 3 ranks": 3, "received 10": 2,
            "profiler: 10 sends, 1200 bytes": 1, "profiler: 0 sends, 0 bytes": 2})
        for tool in forwarders:
            want |= {f"{tool}: started": 3, f"{tool}: 10 sends": 1, f"{tool}: 0 sends": 2}
        self.assertEqual(lines, want)

    def test_a_preloaded_tool_sees_the_calls_of_an_unchanged_program(self) -> None:
        self.check(self.preloaded("profiler"))

    def test_tools_that_hand_calls_on_see_them_all(self) -> None:
        self.check(self.preloaded("forwarder", "profiler"), "forwarder")
        self.check(self.preloaded("forwarder", "second", "profiler"), "forwarder", "second")

    def test_a_tool_that_calls_the_library_is_the_last_one(self) -> None:
        self.check(self.preloaded("second", "profiler", "forwarder"), "second")

    def test_tools_chain_in_the_order_in_which_they_are_linked(self) -> None:
        self.compile("-o", "linked_two", "profiled.c", "-L.", "-Wl,--no-as-needed",
                     "-lforwarder", "-lprofiler",
                     f"-Wl,-rpath,{self.folder}")
        for hosting in ((), ("--ranks", "thread"), ("--ranks", "ult")):
            with self.subTest(hosting=hosting):
                self.check(self.lines_of("linked_two", *hosting), "forwarder")
        self.check(self.preloaded("second", program="linked_two"), "second", "forwarder")

    def test_a_tool_inside_the_program_hands_calls_to_one_that_is_preloaded(self) -> None:
        self.compile("-o", "inside_first", "profiled.c", "forwarder.c", "-ldl")
        self.check(self.preloaded("profiler", program="inside_first"), "forwarder")

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
