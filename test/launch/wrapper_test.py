# SPDX-License-Identifier: Apache-2.0
# headway-test: together
"""Compiler wrappers, headway.pc and find_package(MPI), in a prefix that was moved.

The prefix holds copies of the staged wrappers and a library with four functions, so that these
tests say something about the wrappers alone; the last test takes the staged library.
"""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import fixture

PROJECT = fixture.HERE / "programs/cmake_project"
HEADER = """
#define MPI_VERSION 5
#define MPI_SUBVERSION 0
#ifdef __cplusplus
extern "C" {
#endif
int MPI_Init(int*, char***);
int MPI_Finalize(void);
int MPI_Get_version(int*, int*);
#ifdef __cplusplus
}
#endif
"""
SOURCE = """
int MPI_Init(int* count, char*** words) { (void)count; (void)words; return 0; }
int MPI_Finalize(void) { return 0; }
int MPI_Get_version(int* major, int* minor) { *major = 5; *minor = 0; return 0; }
"""


class Prefix(unittest.TestCase):
    prefix: Path

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.prefix = Path(folder.name).resolve() / "moved here"
        (cls.prefix / "bin").mkdir(parents=True)
        (cls.prefix / "include").mkdir()
        (cls.prefix / "lib/pkgconfig").mkdir(parents=True)
        for name in ("mpicc", "mpicxx", "mpic++", "mpiexec"):
            shutil.copy(fixture.stage() / "bin" / name, cls.prefix / "bin", follow_symlinks=False)
        shutil.copy(fixture.stage() / "lib/pkgconfig/headway.pc", cls.prefix / "lib/pkgconfig")
        (cls.prefix / "include/mpi.h").write_text(HEADER)
        source = cls.prefix / "mpi.c"
        source.write_text(SOURCE)
        library = cls.prefix / "lib/libmpi_abi.so.1"
        subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-soname,libmpi_abi.so.1", "-o", library,
                        source], check=True)
        (cls.prefix / "lib/libmpi_abi.so").symlink_to(library.name)

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.environment = {name: value for name, value in fixture.clean_environment().items()
                            if name not in ("CC", "CXX", "HEADWAY_CC", "HEADWAY_CXX",
                                            "LD_LIBRARY_PATH")}

    def output(self, *words: str | Path, **variables: str) -> str:
        return subprocess.run(words, env=self.environment | variables, cwd=self.folder, text=True,
                              stdout=subprocess.PIPE, timeout=300, check=True).stdout

    def tool(self, name: str) -> Path:
        return self.prefix / "bin" / name


class Wrapper(Prefix):
    def test_compiles_and_links_in_a_folder_with_a_blank(self) -> None:
        for name, source in (("mpicc", "main.c"), ("mpicxx", "main.cpp"), ("mpic++", "main.cpp")):
            with self.subTest(name=name):
                shutil.copy(PROJECT / "main.c", self.folder / source)
                self.output(self.tool(name), "-Wall", "-Werror", source, "-o", "program")
                self.assertEqual(self.output("./program"), "MPI 5.0\n")
                dynamic = self.output("readelf", "-d", "program")
                self.assertIn(f"runpath: [{self.prefix}/lib]", dynamic)
                self.assertIn("[libmpi_abi.so.1]", dynamic)

    def test_compiles_and_links_in_two_steps(self) -> None:
        self.output(self.tool("mpicc"), "-c", PROJECT / "main.c", "-o", "main.o")
        self.output(self.tool("mpicc"), "main.o", "-o", "program")
        self.assertEqual(self.output("./program"), "MPI 5.0\n")

    def test_arguments_arrive_as_they_are(self) -> None:
        text = "int main(void) { return sizeof(TEXT) == sizeof(\"a 'b' * $c\") ? 0 : 1; }\n"
        (self.folder / "a b.c").write_text(text)
        self.output(self.tool("mpicc"), "-DTEXT=\"a 'b' * $c\"", "a b.c", "-o", "x y")
        self.output("./x y")

    def test_through_a_link_from_elsewhere(self) -> None:
        (self.folder / "mpicc").symlink_to(self.tool("mpicc"))
        self.assertIn(f"{self.prefix}/include", self.output("./mpicc", "-showme:compile"))
        (self.folder / "mpicxx").symlink_to(self.tool("mpicxx"))
        self.assertTrue(self.output("./mpicxx", "-show").startswith("c++ "))

    def test_through_the_path(self) -> None:
        path = f"{self.prefix}/bin:{os.environ['PATH']}"
        self.assertIn(f"{self.prefix}/lib", self.output("mpicc", "-showme:link", PATH=path))

    def test_shows_its_flags(self) -> None:
        wrapper = self.tool("mpicc")
        prefix = str(self.prefix)
        self.assertEqual(self.output(wrapper, "-showme:compile"), f"-I{prefix}/include\n")
        self.assertEqual(self.output(wrapper, "-showme:link"),
                         f"-L{prefix}/lib -Wl,-rpath,{prefix}/lib -Wl,--enable-new-dtags "
                         "-lmpi_abi\n")
        self.assertEqual(self.output(wrapper, "-showme:incdirs"), f"{prefix}/include\n")
        self.assertEqual(self.output(wrapper, "-showme:libdirs"), f"{prefix}/lib\n")
        self.assertEqual(self.output(wrapper, "-showme:libs"), "mpi_abi\n")
        self.assertEqual(self.output(wrapper, "-showme:command"), "cc\n")
        self.assertRegex(self.output(wrapper, "-showme:version"), r"^mpicc: Headway \d+\.\d+\.\d+")
        for word in ("-compile_info", "-compile-info"):
            self.assertTrue(self.output(wrapper, word).startswith(f"cc -I{prefix}"))
        self.assertIn("-lmpi_abi", self.output(wrapper, "-link_info"))
        for word in ("-show", "-showme", "--showme"):
            line = self.output(wrapper, word, "x y.c")
            self.assertTrue(line.startswith("cc "), line)
            self.assertIn("'x y.c'", line)
            self.assertIn("-lmpi_abi", line)
        self.assertNotIn("-lmpi_abi", self.output(wrapper, "-show", "-c", "x.c"))

    def test_asks_the_compiler(self) -> None:
        self.assertEqual(self.output(self.tool("mpicc"), "--version"),
                         self.output("cc", "--version"))
        self.assertEqual(self.output(self.tool("mpicxx"), "-dumpmachine"),
                         self.output("c++", "-dumpmachine"))

    def test_another_compiler(self) -> None:
        wrapper = self.tool("mpicc")
        self.assertEqual(self.output(wrapper, "-showme:command", HEADWAY_CC="ccache gcc"),
                         "ccache gcc\n")
        self.assertTrue(self.output(wrapper, "-cc=gcc", "-show").startswith("gcc "))
        self.assertTrue(self.output(self.tool("mpicxx"), "-cxx=g++", "-show").startswith("g++ "))
        self.assertTrue(self.output(self.tool("mpic++"), "-show", HEADWAY_CXX="g++")
                        .startswith("g++ "))


class BuildSystem(Prefix):
    """find_package(MPI) and pkg-config, in a prefix without blanks: both split flags there."""

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        plain = cls.prefix.parent / "plain"
        cls.prefix.rename(plain)
        cls.prefix = plain

    def check(self, *words: str, finds_launcher: bool = True, **variables: str) -> None:
        text = self.output("cmake", "-S", PROJECT, "-B", "build", *words, **variables)
        if finds_launcher:
            self.assertIn(f"launcher: {self.prefix}/bin/mpiexec -n", text)
        self.output("cmake", "--build", "build")
        for name in ("in_c", "in_cxx"):
            self.assertEqual(self.output(f"build/{name}"), "MPI 5.0\n")
            self.assertIn(f"{self.prefix}/lib/libmpi_abi.so.1",
                          self.output("ldd", f"build/{name}"))

    def test_wrappers_as_compilers(self) -> None:
        self.check(f"-DCMAKE_C_COMPILER={self.tool('mpicc')}",
                   f"-DCMAKE_CXX_COMPILER={self.tool('mpicxx')}", finds_launcher=False)

    def test_wrappers_on_the_path(self) -> None:
        self.check(PATH=f"{self.prefix}/bin:{os.environ['PATH']}")

    def test_mpi_home(self) -> None:
        self.check(MPI_HOME=str(self.prefix))

    def test_pkg_config(self) -> None:
        path = str(self.prefix / "lib/pkgconfig")
        flags = self.output("pkg-config", "--cflags", "--libs", "headway", PKG_CONFIG_PATH=path)
        self.output("cc", PROJECT / "main.c", "-o", "program", *flags.split())
        self.assertEqual(self.output("./program"), "MPI 5.0\n")
        self.assertRegex(self.output("pkg-config", "--modversion", "headway",
                                     PKG_CONFIG_PATH=path), r"^\d+\.\d+\.\d+$")


class Staged(unittest.TestCase):
    def test_program_with_the_staged_library(self) -> None:
        if not (fixture.stage() / "lib/libmpi_abi.so").exists():
            self.skipTest("NOT TESTED: the stage has no libmpi_abi.so yet")
        with tempfile.TemporaryDirectory() as folder:
            program = f"{folder}/program"
            subprocess.run([fixture.stage() / "bin/mpicc", PROJECT / "main.c", "-o", program],
                           check=True, timeout=fixture.WATCHDOG_S)
            done = subprocess.run([fixture.mpiexec(), "-n", "2", program], text=True,
                                  capture_output=True, timeout=fixture.WATCHDOG_S)
        self.assertEqual((done.returncode, done.stdout), (0, "MPI 5.0\n" * 2), done.stderr)


if __name__ == "__main__":
    unittest.main()
