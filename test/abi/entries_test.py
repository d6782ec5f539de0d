#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# headway-test: together
"""The generated entry points over a stand-in rank: argument checks, error handlers, sentences."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "gen"), str(ROOT / "test" / "abi")]

import knobs  # noqa: E402
import mpi_entries  # noqa: E402
import mpi_spec  # noqa: E402
import wrong_arguments  # noqa: E402

HERE = ROOT / "test" / "abi"
ABI_SOURCES = ["call", "check", "plain_calls"]
PLATFORM_SOURCES = ["call_site", "current_rank"]
OBJECT_SOURCES = ["handle_table", "error_class", "error_handler"]


def written_by_hand() -> set[str]:
    text = (ROOT / "src" / "abi" / "plain_calls.cpp").read_text()
    return set(re.findall(r"^[\w:]+ (\w+)\([^;]*?\)\s*\{", text, re.M))


def stand_in_calls(spec: mpi_spec.Spec) -> str:
    """Every hand-written function that is not plain, as one that notes that it was reached."""
    plain = written_by_hand()
    lines = ['#include "abi_calls.hpp"', '#include "stand_in.hpp"',
             "namespace headway::abi::call {"]
    for function in [*spec.functions, *spec.extensions]:
        if not function.built or function.body != function.name or function.name in plain:
            continue
        amounts = [arg.name for arg in function.args if mpi_entries.is_narrowed(arg, False)]
        body = "auto& stand_in = test::StandIn::instance(); ++stand_in.reached; "
        body += "".join(f"*{name} = stand_in.wide_answer; " for name in amounts)
        head = mpi_entries.prototype(function).rstrip(";")
        answer = {"int": "return stand_in.answer;", "void": ""}.get(
            function.returns, "return nullptr;")
        lines.append(f"{head} {{ {body}{answer} }}")
    return "\n".join([*lines, "}  // namespace headway::abi::call"]) + "\n"


def compile_all(command: list[str]) -> str:
    """Empty where it compiles, else what the compiler says."""
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if ran.returncode == 0 else ran.stderr[-4000:] or "the compiler failed"


class EntriesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        """Builds the abi layer over the stand-in: a shared library beside the programs."""
        cls.enterClassContext(holder := tempfile.TemporaryDirectory())
        cls.folder = Path(holder.name)
        cls.spec = mpi_spec.load()
        files = mpi_entries.render(cls.spec)
        for file, text in files.items():
            (cls.folder / file).write_text(text)
        knobs_toml = (ROOT / "spec" / "knobs.toml").read_text()
        (cls.folder / knobs.HEADER).write_text(
            knobs.render_header(knobs.read_knobs(knobs_toml), knobs.read_not_knobs(knobs_toml)))
        (cls.folder / "calls.cpp").write_text(stand_in_calls(cls.spec))
        # One unit: the headers are read once.
        entries = [file for file in files if file.startswith("entry_")]
        (cls.folder / "all.cpp").write_text(
            "".join(f'#include "{file}"\n' for file in [*entries, "abi_functions.cpp"]))
        cls.flags = ["-std=c++20", "-g0", "-O0", f"-I{HERE / 'stand_in'}", f"-I{ROOT / 'src'}",
                     f"-I{ROOT / 'include'}", f"-I{cls.folder}"]
        sources = [cls.folder / "all.cpp", cls.folder / "calls.cpp",
                   HERE / "stand_in" / "stand_in.cpp",
                   *(ROOT / "src" / "platform" / f"{part}.cpp" for part in PLATFORM_SOURCES),
                   *(ROOT / "src" / "object" / f"{part}.cpp" for part in OBJECT_SOURCES),
                   *(ROOT / "src" / "abi" / f"{part}.cpp" for part in ABI_SOURCES)]
        cls.library = cls.folder / "libstand_in.so"
        problem = compile_all(["g++", *cls.flags, "-shared", "-fPIC", *map(str, sources), "-o",
                               str(cls.library)])
        if problem:
            raise AssertionError(problem)

    def run_program(self, name: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([self.folder / name], capture_output=True, text=True, check=False,
                              timeout=60)

    def test_checks_handlers_and_sentences(self) -> None:
        problem = compile_all(
            ["g++", *self.flags, str(HERE / "entries_driver.cpp"), str(self.library), "-lgtest",
             "-lgtest_main", "-lpthread", f"-Wl,-rpath,{self.folder}", "-o",
             str(self.folder / "driver")])
        self.assertEqual(problem, "")
        ran = self.run_program("driver")
        self.assertEqual(ran.returncode, 0, ran.stdout[-6000:] + ran.stderr[-2000:])
        self.assertRegex(ran.stdout, r"PASSED  \] 1\d tests")

    def test_wrong_arguments_to_every_built_function(self) -> None:
        text, count = wrong_arguments.program(self.spec)
        self.assertGreater(count, 300)
        (self.folder / "wrong.c").write_text(text)
        problem = compile_all(
            ["gcc", "-std=c99", "-w", "-DME=1", f"-I{ROOT / 'include'}",
             str(self.folder / "wrong.c"), str(self.library), f"-Wl,-rpath,{self.folder}", "-o",
             str(self.folder / "wrong")])
        self.assertEqual(problem, "")
        ran = self.run_program("wrong")
        self.assertEqual((ran.returncode, ran.stdout[:3000], ran.stderr), (0, "", ""))


if __name__ == "__main__":
    unittest.main()
