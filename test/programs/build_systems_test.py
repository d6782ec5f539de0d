#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# headway-test: together
# headway-needs: autotools
"""Projects as users have them, with CMake and with autotools, find Headway by their own means,
build in C and in C++ 11 to 23, and pass their own tests."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LIMIT_S = 120
LAUNCHER = ("PMI_", "PMIX_", "SLURM_", "HEADWAY_JOB")
COMPILERS = ("CC", "CXX", "MPICC", "MPICXX", "HEADWAY_CC", "HEADWAY_CXX", "LD_LIBRARY_PATH")
CPLUSPLUS = {11: 201103, 14: 201402, 17: 201703}


def stage() -> Path:
    return Path(os.environ.get("HEADWAY_STAGE", ROOT / "build/stage")).resolve()


class ProjectTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name).resolve()
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(LAUNCHER) and name not in COMPILERS}
        self.environment["PATH"] = f"{stage()}/bin:{os.environ['PATH']}"

    def output(self, *words: str | Path) -> str:
        done = subprocess.run([str(word) for word in words], cwd=self.folder, text=True,
                              env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=LIMIT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def check_library(self, program: str) -> None:
        self.assertIn(f"{stage()}/lib/libmpi_abi.so.1", self.output("ldd", program))


class CMakeTest(ProjectTest):
    def test_project(self) -> None:
        self.output("cmake", "-S", HERE / "cmake_project", "-B", "build")
        self.output("cmake", "--build", "build", "--parallel", "2")
        tests = self.output("ctest", "--test-dir", "build", "--output-on-failure", "--timeout",
                            "60")
        self.assertIn("100% tests passed, 0 tests failed out of 12", tests)
        for program in ("ring_c", *(f"ring_cxx{version}" for version in (11, 14, 17, 20, 23))):
            self.check_library(f"build/{program}")
        for version, number in CPLUSPLUS.items():
            self.assertEqual(self.output("mpiexec", "-n", "2", f"build/ring_cxx{version}"),
                             f"the ring has 2 members in C++ {number}\n")


class AutotoolsTest(ProjectTest):
    def setUp(self) -> None:
        super().setUp()
        for name in ("configure.ac", "Makefile.am"):
            shutil.copy(HERE / "autotools_project" / name, self.folder)
        # Sources of one program tree must differ in more than their suffix.
        for name in ("ring.c", "ring.cpp"):
            shutil.copy(HERE / name, self.folder / f"in_{name.replace('ring.', '')}_{name}")

    def test_project(self) -> None:
        self.output("autoreconf", "--install")
        self.output("./configure", f"--prefix={self.folder}/there")
        log = self.output("make", "-j2", "check")
        self.assertRegex(log, r"(?m)^# PASS: +2$")
        self.output("make", "install")
        self.check_library("there/bin/ring_c")
        for name in ("ring_c", "ring_cxx"):
            self.assertIn("the ring has 2 members",
                          self.output("mpiexec", "-n", "2", f"there/bin/{name}"))


class CompilerTest(ProjectTest):
    def test_each_version_by_hand(self) -> None:
        for version in ("11", "14", "17", "20", "23"):
            with self.subTest(version):
                self.output("mpicxx", f"-std=c++{version}", "-Wall", "-Wextra", "-pedantic-errors",
                            "-Wold-style-cast", "-Werror", "-o", "ring", HERE / "ring.cpp")
                self.assertIn("the ring has 3 members",
                              self.output("mpiexec", "-n", "3", "./ring"))
        for version in ("c99", "c11", "c17"):
            with self.subTest(version):
                self.output("mpicc", f"-std={version}", "-Wall", "-Wextra", "-pedantic-errors",
                            "-Werror", "-o", "ring", HERE / "ring.c")
                self.assertEqual(self.output("mpiexec", "-n", "2", "./ring"),
                                 "the ring has 2 members\n")


if __name__ == "__main__":
    unittest.main()
