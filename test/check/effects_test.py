# SPDX-License-Identifier: Apache-2.0
"""The list of functions without a test is true, and can only shrink."""

import tempfile
import unittest
from pathlib import Path

from tools import effects


class Effects(unittest.TestCase):
    def test_every_other_function_is_called(self) -> None:
        self.assertEqual(effects.without_test(), effects.read_floor())

    def test_what_counts_as_called(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            (Path(name) / "a.c").write_text(
                "MPI_Send(x); EACH_FORM(p, Scan, scan, out)\nBOTH_WAYS(t, Comm, comm);\n")
            self.assertEqual(effects.called_names(Path(name)),
                             {"Send", "Scan_c", "Iscan_c", "Scan_init_c", "Comm_toint",
                              "Comm_fromint"})

    def test_comments_and_strings_are_no_calls(self) -> None:
        self.assertEqual(effects.names_in("""
            // MPI_One(x) of "MPI_Two"
            /* MPI_Three(
               MPI_Four() */
            print("MPI_Five(\\"MPI_Six()", '"', MPI_Send("// not", 0), "/*"); MPI_Recv(/* in */ x);
        """), {"Send", "Recv"})


if __name__ == "__main__":
    unittest.main()
