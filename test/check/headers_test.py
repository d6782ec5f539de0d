# SPDX-License-Identifier: Apache-2.0
"""The check that headers compile alone."""

import unittest

from fixture import CheckTest

from check import headers


class Headers(CheckTest):
    def test_a_header_that_lacks_an_include_is_found(self) -> None:
        source = self.tree({"a.hpp": "#pragma once\n#include <string>\nstd::string f();\n",
                            "b.hpp": "#pragma once\nstd::vector<int> f();\n"})
        self.assertIsNone(headers.examine(source.root / "a.hpp", [source.root]))
        answer = headers.examine(source.root / "b.hpp", [source.root])
        self.assertIn("error", answer or "")

    def test_the_key_follows_what_is_included(self) -> None:
        source = self.tree({"a.hpp": '#include "b.hpp"\n', "b.hpp": "int b;\n", "c.hpp": "\n"})
        root = source.root.resolve()
        before = headers.key_of(root / "a.hpp", [root])
        (root / "c.hpp").write_text("int c;\n")
        self.assertEqual(headers.key_of(root / "a.hpp", [root]), before)
        (root / "b.hpp").write_text("long b;\n")
        self.assertNotEqual(headers.key_of(root / "a.hpp", [root]), before)


if __name__ == "__main__":
    unittest.main()
