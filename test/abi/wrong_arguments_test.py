#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Wrong arguments to every built function of the staged library, on one rank without a launcher."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "gen"), str(ROOT / "test" / "abi")]

import mpi_spec  # noqa: E402
import wrong_arguments  # noqa: E402


class WrongArgumentsTest(unittest.TestCase):
    def test_each_gives_its_class_and_none_hangs(self) -> None:
        stage = os.environ.get("HEADWAY_STAGE")
        if not stage or not (Path(stage) / "lib" / "libmpi_abi.so.1").is_file():
            self.skipTest("HEADWAY_STAGE names no stage with a library")
        text, count = wrong_arguments.program(mpi_spec.load())
        self.assertGreater(count, 300)
        with tempfile.TemporaryDirectory() as name:
            source = Path(name) / "wrong.c"
            source.write_text(text)
            built = subprocess.run(
                ["gcc", "-std=c99", "-w", "-DME=0", f"-I{stage}/include", source, "-o",
                 Path(name) / "wrong", f"{stage}/lib/libmpi_abi.so.1", f"-Wl,-rpath,{stage}/lib"],
                capture_output=True, text=True, check=False)
            self.assertEqual(built.returncode, 0, built.stderr[-3000:])
            ran = subprocess.run([Path(name) / "wrong"], capture_output=True, text=True,
                                 check=False, timeout=60)
            self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, "", ""))


if __name__ == "__main__":
    unittest.main()
