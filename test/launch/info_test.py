# SPDX-License-Identifier: Apache-2.0
"""`headway info`: what it says is what the library and the environment say."""

import re
import subprocess
import tomllib
import unittest

import fixture

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
        self.assertRegex(text, r"(?m)^built by +\S")
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


if __name__ == "__main__":
    unittest.main()
