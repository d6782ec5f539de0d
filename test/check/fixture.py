# SPDX-License-Identifier: Apache-2.0
"""A small tree of files for a check to look at."""

import tempfile
import unittest
from pathlib import Path

from check.source import Source


class CheckTest(unittest.TestCase):
    """`tree({name: text})` makes a Source of exactly these files."""

    def tree(self, files: dict[str, str]) -> Source:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = Path(folder.name)
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return Source(root, [Path(name) for name in files])
