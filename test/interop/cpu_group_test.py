# SPDX-License-Identifier: Apache-2.0
"""headway.cpu_group: who is in the group, and that nothing of it stays behind."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
# The path has to be there first.
from headway.cpu_group import folder_of_groups, one_group  # noqa: E402


def groups_of(pid: str) -> str:
    return Path(f"/proc/{pid}/cgroup").read_text()


class CpuGroupTest(unittest.TestCase):
    def test_all_that_is_started_inside_is_one_group(self) -> None:
        before = groups_of("self")
        top = folder_of_groups()
        if top is None or not os.access(top, os.W_OK):
            self.skipTest("sessions are no groups here, or no right to make one")
        with one_group():
            inside = groups_of("self")
            self.assertNotEqual(inside, before)
            # In a session of its own, which the kernel would make another group.
            child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, start_new_session=True)
            self.assertEqual(groups_of(str(child.pid)), inside)
        # Who is left is put back where all came from, and the group is gone.
        self.assertEqual(groups_of(str(child.pid)), before)
        self.assertEqual(groups_of("self"), before)
        child.communicate()
        name = next(part for part in inside.split("/") if part.startswith("headway-")).strip()
        self.assertFalse((top / name).exists())

    def test_an_error_inside_leaves_no_group(self) -> None:
        before = groups_of("self")
        with self.assertRaises(KeyError), one_group():
            raise KeyError
        self.assertEqual(groups_of("self"), before)


if __name__ == "__main__":
    unittest.main()
