# SPDX-License-Identifier: Apache-2.0
"""`headway info`: what it says is what the library and the environment say."""

import re
import subprocess
import tempfile
import tomllib
import unittest
from pathlib import Path

import fixture
from headway import info as info_page

SPEC = fixture.HERE.parents[1] / "spec" / "knobs.toml"


class Info(unittest.TestCase):
    def info(self, *words: str, **extra: str) -> str:
        ran = subprocess.run([fixture.stage() / "bin/headway", "info", *words],
                             env=fixture.clean_environment() | extra, capture_output=True,
                             text=True, timeout=fixture.WATCHDOG_S, check=False)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return ran.stdout

    def test_facts(self) -> None:
        text = self.info()
        self.assertRegex(text, r"(?m)^version +Headway ")
        self.assertRegex(text, r"(?m)^standard +MPI-5\.0, ABI \d+\.\d+$")
        self.assertRegex(text, r"(?m)^built by +(GCC|.*clang version)")
        self.assertRegex(text, r"(?m)^messages +shm: ")

    def test_every_setting_with_its_default(self) -> None:
        text = self.info()
        for knob in tomllib.loads(SPEC.read_text())["knob"]:
            found = re.search(rf"(?m)^   HEADWAY_{knob['name'].upper()} +(\S.*)$", text)
            self.assertIsNotNone(found, knob["name"])
            if knob["type"] in ("choice", "count"):
                self.assertEqual(found[1] if found else "", knob["default"])

    def test_what_the_environment_sets(self) -> None:
        text = self.info("--explain", HEADWAY_PROGRESS="none", HEADWAY_EAGER_LIMIT="8K",
                         HEADWAY_TRACE="t.json")
        self.assertRegex(text, r"(?m)^ \* HEADWAY_PROGRESS +none$")
        self.assertRegex(text, r"(?m)^ \* HEADWAY_EAGER_LIMIT +8192$")
        self.assertRegex(text, r"(?m)^ \* HEADWAY_TRACE +t\.json$")
        self.assertIn("Largest message sent before its receive is known", text)

    def test_the_way_to_other_machines_is_the_module_that_loads(self) -> None:
        folder = fixture.stage() / "lib"
        if not (folder / info_page.MODULE).is_file():
            self.skipTest("Headway was built without libfabric")
        self.assertRegex(self.info(), r"(?m)^messages +ofi: ranks of several machines, by "
                         r"libfabric \d+\.\d+ \(/\S+libfabric\.so\S*\)$")

    def test_whether_memory_stays_registered(self) -> None:
        folder = fixture.stage() / "lib"
        if not (folder / info_page.MODULE).is_file():
            self.skipTest("Headway was built without libfabric")
        line = r"(?m)^messages +ofi: memory of long ones, where hardware has to know it, "
        alone = "is registered for each message alone"
        self.assertRegex(self.info(), line + r"(stays registered \(256 regions at most\); "
                         rf"userfaultfd tells when it changes|{alone}, since the system .+)$")
        self.assertRegex(self.info(HEADWAY_NETWORK_REGIONS="0"),
                         rf"{line}{alone}, as HEADWAY_NETWORK_REGIONS says$")
        with tempfile.TemporaryDirectory() as name:
            self.assertRegex(info_page.registered_memory(Path(name), "256"),
                             f"^{alone}, since the module does not load")

    def test_a_module_that_is_missing_or_does_not_load_is_no_way(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self.assertRegex(info_page.way_to_other_machines(folder), "^none, since .* is missing")
            (folder / info_page.MODULE).write_text("no library")
            self.assertRegex(info_page.way_to_other_machines(folder),
                             "^none, since the module does not load")

    def decisions(self, **extra: str) -> list[list[str]]:
        text = self.info(**extra).partition("algorithms of collective calls")[2]
        return [line.split() for line in text.splitlines()[1:] if not line.startswith("#")]

    def test_meetings_are_told_of_where_there_are_any(self) -> None:
        self.assertIn("(ranks that share cores meet in shared memory", self.info())
        self.assertNotIn("meet in shared memory", self.info(HEADWAY_MEETINGS="off"))

    def test_decisions_serve_every_collective(self) -> None:
        rows = self.decisions()
        self.assertTrue(all(len(row) == 6 for row in rows), rows)
        knobs = [knob["name"] for knob in tomllib.loads(SPEC.read_text())["knob"]]
        named = {row[0] for row in rows}
        self.assertEqual(named, {name.removeprefix("coll_") for name in knobs
                                 if name.startswith("coll_")})
        for name in named:  # the last line of each has no condition, so that none is left over
            last = [row for row in rows if row[0] == name][-1]
            self.assertEqual(last[1:5], ["any"] * 4, name)

    def test_decisions_are_those_in_force(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            line = "bcast 3.. 7K..9K any any scatter_ring"
            path = Path(name) / "tuning"
            path.write_text(line + "\n")
            rows = self.decisions(HEADWAY_TUNING=str(path))
        self.assertEqual(next(row for row in rows if row[0] == "bcast"), line.split())
        self.assertNotIn(line.split(), self.decisions())


if __name__ == "__main__":
    unittest.main()
