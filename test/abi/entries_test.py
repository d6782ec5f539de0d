#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The generated entry points over a stand-in rank: argument checks, error handlers, sentences."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "gen"))

import mpi_entries  # noqa: E402
import mpi_spec  # noqa: E402

HERE = ROOT / "test" / "abi"
ABI_SOURCES = ["call", "check", "plain_calls"]
OBJECT_SOURCES = ["handle_table", "error_class", "error_handler"]


def written_by_hand() -> set[str]:
    text = (ROOT / "src" / "abi" / "plain_calls.cpp").read_text()
    return set(re.findall(r"^[\w:]+ (\w+)\([^;]*?\)\s*\{", text, re.M))


def stand_in_calls(spec: mpi_spec.Spec) -> str:
    """Every hand-written function that is not plain, as one that notes that it was reached."""
    plain = written_by_hand()
    lines = ['#include "abi_calls.hpp"', '#include "stand_in.hpp"',
             "namespace headway::abi::call {"]
    for function in spec.functions:
        if not function.built or function.body != function.name or function.name in plain:
            continue
        amounts = [arg.name for arg in function.args if mpi_entries.is_narrowed(arg, False)]
        body = "auto& stand_in = test::StandIn::instance(); ++stand_in.reached; "
        body += "".join(f"*{name} = stand_in.wide_answer; " for name in amounts)
        head = mpi_entries.prototype(function).rstrip(";")
        lines.append(f"{head} {{ {body}return stand_in.answer; }}")
    return "\n".join([*lines, "}  // namespace headway::abi::call"]) + "\n"


class EntriesTest(unittest.TestCase):
    def test_entries(self) -> None:
        spec = mpi_spec.load()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            files = mpi_entries.render(spec)
            for file, text in files.items():
                (folder / file).write_text(text)
            (folder / "calls.cpp").write_text(stand_in_calls(spec))
            # One unit: the headers are read once.
            entries = [file for file in files if file.startswith("entry_")]
            (folder / "all.cpp").write_text(
                "".join(f'#include "{file}"\n' for file in [*entries, "abi_functions.cpp"]))
            program = folder / "entries"
            sources = [folder / "all.cpp", folder / "calls.cpp", HERE / "entries_driver.cpp",
                       HERE / "stand_in" / "stand_in.cpp",
                       *(ROOT / "src" / "object" / f"{part}.cpp" for part in OBJECT_SOURCES),
                       *(ROOT / "src" / "abi" / f"{part}.cpp" for part in ABI_SOURCES)]
            command = [os.environ.get("CXX", "g++"), "-std=c++20", "-g0", "-O0",
                       f"-I{HERE / 'stand_in'}", f"-I{ROOT / 'src'}", f"-I{ROOT / 'include'}",
                       f"-I{folder}", *map(str, sources), "-lgtest", "-lgtest_main", "-lpthread",
                       "-o", str(program)]
            built = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(built.returncode, 0, built.stderr[-4000:])
            ran = subprocess.run([program], capture_output=True, text=True, check=False,
                                 timeout=60)
            self.assertEqual(ran.returncode, 0, ran.stdout[-6000:] + ran.stderr[-2000:])
            self.assertRegex(ran.stdout, r"PASSED  \] 1\d tests")


if __name__ == "__main__":
    unittest.main()
