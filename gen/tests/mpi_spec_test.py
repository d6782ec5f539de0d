#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The description of MPI, the header and the entry points made from it."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "gen"))

import mpi_checks  # noqa: E402
import mpi_entries  # noqa: E402
import mpi_header  # noqa: E402
import mpi_spec  # noqa: E402

KINDS = {"comm": {"c": "MPI_Comm"}, "dest": {"c": "int"}, "count": {"c": "int",
         "large": "MPI_Count"}, "win": {"c": "MPI_Win"}, "buffer": {"c": "void", "pointer": True},
         "number": {"c": "int", "large": "MPI_Count"}, "long_count": {"c": "MPI_Count"},
         "any_datatype": {"c": "MPI_Datatype"}, "length": {"c": "int"}}


def function(args: list[dict], **more: object) -> mpi_spec.Function:
    entry = {"name": "Try", "error": "default", "built": True, "args": args, **more}
    return mpi_spec.make_function(entry, "rma", KINDS)


class SpecTest(unittest.TestCase):
    def setUp(self) -> None:
        self.spec = mpi_spec.load()

    def test_the_standard_has_664_functions_161_of_them_large(self) -> None:
        total = sum(len(entry.variants()) for entry in self.spec.functions)
        large = sum(entry.large for entry in self.spec.functions)
        self.assertEqual((total, large), (664, 161))

    def test_everything_without_an_error_path_is_built(self) -> None:
        for entry in self.spec.functions:
            if entry.error == "nothing":
                self.assertTrue(entry.built, entry.name)

    def test_tools_can_be_called_at_any_time(self) -> None:
        for entry in self.spec.functions:
            self.assertEqual(entry.error == "tool", entry.name.startswith("T_"), entry.name)
            if entry.error == "tool":
                self.assertTrue(entry.any_time, entry.name)

    def test_a_large_twin_differs_or_is_there_by_erratum(self) -> None:
        for entry in self.spec.functions:
            if entry.large and entry.name not in ("Psend_init", "Precv_init"):
                self.assertNotEqual(entry.parameters(False), entry.parameters(True), entry.name)

    def test_mistakes_are_refused(self) -> None:
        with self.assertRaisesRegex(mpi_spec.SpecError, "unknown keys"):
            function([{"name": "comm", "kind": "comm", "colour": 1}])
        with self.assertRaisesRegex(mpi_spec.SpecError, "not in kinds"):
            function([{"name": "comm", "kind": "communicator"}])
        with self.assertRaisesRegex(mpi_spec.SpecError, "no argument is called"):
            function([], error="comm")
        with self.assertRaisesRegex(mpi_spec.SpecError, "no argument is called"):
            function([{"name": "buf", "kind": "buffer", "count": "n"}])


class HeaderTest(unittest.TestCase):
    def test_the_header_in_the_tree_is_the_generated_one(self) -> None:
        self.assertEqual(mpi_header.TARGET.read_text(), mpi_header.render(mpi_spec.load()))

    def test_check_finds_drift(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            copy = Path(name) / "mpi.h"
            copy.write_text(mpi_header.TARGET.read_text())
            command = [sys.executable, ROOT / "gen" / "mpi_header.py", "--check", "--out", copy]
            self.assertEqual(subprocess.run(command, check=False).returncode, 0)
            copy.write_text(copy.read_text() + "\n")
            drifted = subprocess.run(command, check=False, capture_output=True, text=True)
            self.assertEqual(drifted.returncode, 1)
            self.assertIn("differs from spec/mpi", drifted.stderr)

    def test_every_function_is_declared_under_both_names(self) -> None:
        text = mpi_header.TARGET.read_text()
        for entry in mpi_spec.load().functions:
            for large in entry.variants():
                for prefix in ("MPI_", "PMPI_"):
                    self.assertRegex(text, rf"\b{entry.c_name(large, prefix)}\(")

    def test_extensions_are_declared_under_both_names_beside_the_standard(self) -> None:
        text = (ROOT / "include" / "mpi-ext.h").read_text()
        names = {entry.c_name(False, prefix) for entry in mpi_spec.load().extensions
                 for prefix in ("MPI_", "PMPI_")}
        self.assertEqual(set(re.findall(r"^[\w*]+ (P?MPIX_\w+)\(", text, re.M)), names)
        self.assertNotIn("MPIX_", mpi_header.TARGET.read_text())

    def test_a_value_is_no_error_code(self) -> None:
        tried = function([{"name": "n", "kind": "number"}], value=True, returns="void*")
        self.assertEqual(mpi_entries.built_body(tried, False)[-1],
                         f"return headway::abi::call::{tried.body}(call, n);")
        self.assertIn("(Call& call, int n);", mpi_entries.prototype(tried))

    def test_compiles_as_c99_and_cpp11(self) -> None:
        for compiler, language, standard in (("gcc", "c", "c99"), ("g++", "c++", "c++11")):
            ran = subprocess.run(
                [compiler, f"-std={standard}", "-x", language, "-Wall", "-Wextra", "-Wpedantic",
                 "-Werror", "-fsyntax-only", "-I", ROOT / "include", "-"],
                input="#include <mpi.h>\n#include <mpi-ext.h>\n#include <mpi.h>\nMPI_Comm comm;\n",
                capture_output=True, text=True, check=False)
            self.assertEqual(ran.returncode, 0, ran.stderr)


class EntriesTest(unittest.TestCase):
    def setUp(self) -> None:
        self.spec = mpi_spec.load()
        self.files = mpi_entries.render(self.spec)

    def test_every_function_is_defined_once_with_a_weak_alias(self) -> None:
        text = "".join(text for name, text in self.files.items() if name.startswith("entry_"))
        defined = re.findall(r"^[\w*]+ (PMPIX?_\w+)\(.*\)\n\{", text, re.M)
        aliased = re.findall(r"^HEADWAY_WEAK_ALIAS\([\w*]+, (MPIX?_\w+),", text, re.M)
        self.assertEqual(len(defined), 664 + len(self.spec.extensions))
        self.assertEqual(len(set(defined)), len(defined))
        self.assertEqual(["P" + name for name in aliased], defined)

    def test_list_names_the_files_that_out_writes(self) -> None:
        script = ROOT / "gen" / "mpi_entries.py"
        listed = subprocess.run([sys.executable, script, "--list"], capture_output=True,
                                text=True, check=True).stdout.split()
        with tempfile.TemporaryDirectory() as name:
            subprocess.run([sys.executable, script, "--out", name], check=True)
            self.assertEqual(sorted(path.name for path in Path(name).iterdir()), sorted(listed))
            kept = Path(name) / listed[0]
            before = kept.stat().st_mtime_ns
            subprocess.run([sys.executable, script, "--out", name], check=True)
            self.assertEqual(kept.stat().st_mtime_ns, before)

    def test_what_is_not_built_reaches_no_hand_written_function(self) -> None:
        unbuilt = next(entry for entry in self.spec.functions if not entry.built)
        self.assertNotIn("abi::call::", mpi_entries.entry(unbuilt, False))

    def test_built_functions_need_checks_for_all_their_kinds(self) -> None:
        tried = function([{"name": "win", "kind": "win"}])
        with self.assertRaisesRegex(mpi_spec.SpecError, "no check for kind win"):
            mpi_checks.Checks(tried, tried.args).lines()
        tried = function([{"name": "dest", "kind": "dest"}])
        with self.assertRaisesRegex(mpi_spec.SpecError, "needs a communicator"):
            mpi_checks.Checks(tried, tried.args).lines()
        tried = function([{"name": "other", "kind": "comm"}, {"name": "comm", "kind": "comm"}],
                         any_time=True)
        with self.assertRaisesRegex(mpi_spec.SpecError, "before MPI_Init"):
            mpi_checks.Checks(tried, tried.args).lines()
        tried = function([{"name": "n", "kind": "length"},
                          {"name": "a", "kind": "count", "dir": "out", "array": "n"}])
        with self.assertRaisesRegex(mpi_spec.SpecError, "no rule for it"):
            mpi_entries.built_body(tried, False)

    def test_an_amount_that_is_read_and_written_is_widened_and_narrowed(self) -> None:
        tried = function([{"name": "position", "kind": "number", "dir": "inout"}])
        body = mpi_entries.built_body(tried, False)
        self.assertIn("MPI_Count position_wide = *position;", body)
        self.assertIn("    *position = narrow(position_wide);", body)
        self.assertNotIn("wide", "".join(mpi_entries.built_body(tried, True)))

    def test_arrays_of_any_length_are_checked_entry_by_entry(self) -> None:
        tried = function([{"name": "count", "kind": "count"},
                          {"name": "lengths", "kind": "count", "array": "count"},
                          {"name": "types", "kind": "any_datatype", "array": "count"}])
        body = "\n".join(mpi_entries.built_body(tried, False))
        self.assertIn('check_counts(call, "lengths", object::CountArray(lengths), count)', body)
        self.assertIn('check_any_datatypes(call, "types", types, count)', body)

    def test_what_only_the_twin_has_arrives_empty_from_the_other(self) -> None:
        tried = function([{"name": "n", "kind": "count", "large_only": True},
                          {"name": "a", "kind": "long_count", "dir": "out", "array": "n",
                           "large_only": True}])
        self.assertIn("(call, 0, nullptr)", mpi_entries.built_body(tried, False)[-1])
        self.assertIn("(call, n, a)", mpi_entries.built_body(tried, True)[-1])

    def test_the_short_way_is_tried_before_the_checks_which_stand_apart(self) -> None:
        tried = function([{"name": "comm", "kind": "comm"}, {"name": "n", "kind": "count"}],
                         short_way=True)
        text = mpi_entries.entry(tried, False)
        name = tried.c_name(False, "")
        general, entry = text.split(f"int PMPI_{name}(")
        self.assertIn(f"[[gnu::noinline]] static int general_{name}(", general)
        self.assertIn("refuse_communicator", general)
        self.assertIn(f"if (short_way::{name}(comm, n)) [[likely]] {{", entry)
        self.assertIn(f"const int code = general_{name}(comm, n);", entry)
        self.assertNotIn("Call call", entry)

    def test_calls_about_messages_go_in_where_these_belong(self) -> None:
        text = "".join(self.files.values())
        for name, given in (("Send", "comm, tag"), ("Irecv_c", "comm, tag"),
                            ("Improbe", "comm, tag"), ("Sendrecv", "comm, recvtag"),
                            ("Iallreduce", "comm"), ("Neighbor_alltoallv", "comm"),
                            ("Mrecv", "message"), ("Wait", "request, 1"),
                            ("Waitsome", "array_of_requests, incount"),
                            ("Request_get_status", "&request, 1")):
            self.assertIn(f"Call call(Function::{name}, {given});", text)
        for name in ("Comm_dup", "Bsend", "Send_init", "Allreduce_init", "Start", "Op_create",
                     "Reduce_local", "Buffer_flush", "Request_free"):
            self.assertIn(f"Call call(Function::{name});", text)

    def test_predefined_datatypes_have_their_names(self) -> None:
        self.assertIn('{0x209, "MPI_INT"},', self.files["abi_functions.cpp"])

    def test_a_function_without_error_path_cannot_be_left_out(self) -> None:
        tried = function([], error="nothing", built=False)
        with self.assertRaisesRegex(mpi_spec.SpecError, "must be built"):
            mpi_entries.entry(tried, False)


if __name__ == "__main__":
    unittest.main()
