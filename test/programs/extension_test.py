#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions beside the standard: each has a manual page that agrees with mpi-ext.h and is
installed, and a test program that calls it; the samples are built by the staged mpicc and run."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 60


def stage() -> Path:
    return Path(os.environ.get("HEADWAY_STAGE", ROOT / "build/stage")).resolve()


def declared() -> dict[str, tuple[str, str]]:
    """Result and parameters of each function, by name."""
    text = " ".join((stage() / "include" / "mpi-ext.h").read_text().split())
    found = re.findall(r"(int|void|void\*) (MPIX_\w+)\(([^()]*)\);", text)
    return {name: (result, parameters) for result, name, parameters in found}


def documented(page: str) -> tuple[str, str]:
    result = re.search(r'^\.Ft "(.*)"$', page, re.M)
    function = re.search(r"^\.Fn MPIX_\w+ (.*)$", page, re.M)
    assert result is not None and function is not None
    parameters = re.findall(r'"([^"]*)"', function[1]) or [function[1]]
    return result[1], ", ".join(parameters)


def without_spaces(pair: tuple[str, str]) -> tuple[str, str]:
    return pair[0].replace(" ", ""), pair[1].replace(" ", "")


class PageTest(unittest.TestCase):
    def test_every_function_has_a_page(self) -> None:
        folder = stage() / "share" / "man" / "man3"
        self.assertGreaterEqual(len(declared()), 10)
        self.assertEqual({path.stem for path in folder.glob("MPIX_*.3")}, set(declared()))
        for name, declaration in declared().items():
            page = (folder / f"{name}.3").read_text()
            self.assertEqual(without_spaces(documented(page)), without_spaces(declaration), name)
            self.assertIn(f"\n.Nm {name}\n", page)
            for part in ("SYNOPSIS", "DESCRIPTION", "THREADS", "SEE ALSO"):
                self.assertIn(f"\n.Sh {part}\n", page, name)

    def test_every_function_is_called_by_a_test_program(self) -> None:
        text = "".join(path.read_text() for path in (ROOT / "test/mpi/extension").glob("*.c"))
        for name in declared():
            self.assertRegex(text, rf"\b{name}\(")

    @unittest.skipUnless(shutil.which("groff"), "there is no groff here")
    def test_pages_are_well_formed(self) -> None:
        for path in (ROOT / "docs" / "man").glob("*.3"):
            done = subprocess.run(["groff", "-mdoc", "-ww", "-Tascii", path], text=True,
                                  capture_output=True, timeout=LIMIT_S, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), path.name)


class SampleTest(unittest.TestCase):
    def test_samples(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "sync"
            shutil.copytree(stage() / "share" / "headway" / "sync", folder)
            environment = dict(os.environ, PATH=f"{stage()}/bin:{os.environ['PATH']}")
            subprocess.run(["make", "-s", "CFLAGS=-O2 -Werror"], cwd=folder, check=True,
                           env=environment, timeout=LIMIT_S)
            for program, says in (("one", "10000 bytes from rank 0\n"),
                                  ("many", "1000 messages, each seen once\n")):
                for ranks in ("2", "3"):
                    done = subprocess.run(
                        [stage() / "bin" / "mpiexec", "-n", ranks, folder / program], text=True,
                        capture_output=True, timeout=LIMIT_S, check=False)
                    self.assertEqual((done.returncode, done.stdout, done.stderr), (0, says, ""))


if __name__ == "__main__":
    unittest.main()
