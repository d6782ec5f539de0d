# SPDX-License-Identifier: Apache-2.0
"""`headway bench multirate`: all patterns, entities and options end, count right and say so as
JSON; the payload check finds a wrong byte and a message in another's place, whoever shares what."""

import json
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

import fixture

sys.path.insert(0, str(fixture.ROOT / "python"))

from headway import multirate

WINDOW, ITERATIONS, WARM_UP = 6, 4, 1
COUNTS = ("-w", str(WINDOW), "-i", str(ITERATIONS), "-W", str(WARM_UP))
# Pattern and entities: what is asked for, pairs, entities.
ENTITIES = (
    ("-p -n 2 -m 2", 2, 4),  # processes
    ("-p -t 3", 3, 6),  # threads of two ranks
    ("-p -t 2 -m 0", 2, 4),  # and of one
    ("-p -n 2 -m 1 -y 2", 2, 4),  # processes to threads
    ("-p -n 1 -x 2 -m 2", 2, 4),  # threads to processes
    ("-a -n 1 -m 3", 3, 4),
    ("-a -x 3 -y 1", 3, 4),
    ("-a -n 2 -x 2 -m 1 -y 2", 8, 6),
    ("-a -x 2 -y 2 -m 0", 4, 4),
)
OPTIONS = ("-s 8", "-s 0 -c", "-s 3000 -T", "-s 20000 -o -T", "-s 64 -c -o -T -b",
           "-s 8 -N")


class Multirate(fixture.InFolder):
    spoiler: Path

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.spoiler = cls.folder / "spoiler.so"
        source = fixture.HERE / "programs" / "spoiler.c"
        subprocess.run([fixture.stage() / "bin/mpicc", "-shared", "-fPIC", "-O1", "-Wall",
                        "-Werror", source, "-o", cls.spoiler], check=True)

    def bench(self, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        """The job that the command starts."""
        command, environment = multirate.command([*words, "--stage", str(fixture.stage())])
        environment = {name: value for name, value in environment.items()
                       if name in fixture.clean_environment() or name.startswith("HEADWAY_")}
        return subprocess.run(command, env=environment | variables, capture_output=True, text=True,
                              check=False, timeout=fixture.WATCHDOG_S)

    def headway(self, *words: str) -> "subprocess.CompletedProcess[str]":
        environment = fixture.clean_environment() | {
            "PYTHONPATH": str(fixture.ROOT / "python"), "HEADWAY_STAGE": str(fixture.stage())}
        return subprocess.run([sys.executable, "-m", "headway", "bench", "multirate", *words],
                              env=environment, capture_output=True, text=True, check=False,
                              timeout=fixture.WATCHDOG_S)

    def lines(self, *words: str) -> list[dict[str, Any]]:
        """What it prints as JSON: the job, then an entity a line."""
        done = self.bench(*words, *COUNTS, "-j", "-A", "-k")
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def check(self, asked: str, pairs: int, entities: int) -> dict[str, Any]:
        job, *rates = self.lines(*asked.split())
        messages = pairs * WINDOW * ITERATIONS
        self.assertEqual(job["messages"], messages)
        self.assertEqual(job["payload"], "right")
        self.assertEqual(job["pattern"], "pairs" if "-p" in asked else "all-to-all")
        self.assertAlmostEqual(job["rate_mps"] * job["elapsed_s"] * 1e6, messages, delta=0.01)
        self.assertEqual(len(rates), entities)
        self.assertEqual(len({(row["rank"], row["thread"]) for row in rates}), entities)
        self.assertTrue(all(row["messages_per_s"] > 0 for row in rates))
        self.assertEqual(job["overtaking"], "-o" in asked)
        self.assertEqual(job["any_tag"], "-T" in asked)
        self.assertEqual(job["pair_tags"], "-N" in asked)
        self.assertEqual(job["communicators"], "one a pair" if "-c" in asked else "one")
        return job

    def test_all_entities_with_all_options_in_turn(self) -> None:
        for number, (asked, pairs, entities) in enumerate(ENTITIES):
            options = OPTIONS[number % len(OPTIONS)]
            with self.subTest(f"{asked} {options}"):
                job = self.check(f"{asked} {options}", pairs, entities)
                self.assertEqual(job["size_bytes"], int(options.split()[1]))

    def test_in_the_other_hosts(self) -> None:
        self.check("--ranks thread -a -n 2 -x 2 -m 1 -y 2 -s 100", 8, 6)
        self.check("--ranks ult -p -t 2 -s 20000 -c", 2, 4)

    def test_one_line_of_text(self) -> None:
        done = self.headway("-S", "-n", "1", "-m", "1", "-s", "1000", *COUNTS)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout,
                         r"^1 1 1 1 1000 6 \d+\.\d\d Gbps \d+\.\d{3} usec \d+\.\d\d msg/s\n$")

    def test_a_broken_payload_is_found(self) -> None:
        for asked in ("-n 2 -m 2", "-t 2", "-t 2 -m 0 -T", "-a -x 2 -y 2 -c"):
            for how in ("flip", "stale"):
                with self.subTest(f"{asked} {how}"):
                    done = self.bench(*asked.split(), "-s", "40", "-k", "-j", *COUNTS,
                                      LD_PRELOAD=str(self.spoiler), SPOIL=how, SPOIL_EVERY="9")
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertEqual(json.loads(done.stdout)["payload"], "wrong")
                    self.assertRegex(done.stderr, r"multirate: \d+ messages were wrong")

    def test_the_spoiler_alone_harms_nothing(self) -> None:
        done = self.bench("-t", "2", "-s", "40", "-k", "-j", *COUNTS,
                          LD_PRELOAD=str(self.spoiler))
        self.assertEqual((done.returncode, json.loads(done.stdout)["payload"]), (0, "right"))

    def test_what_cannot_be_is_refused_in_a_sentence(self) -> None:
        for asked, why in (("-p -n 2 -m 1", "pairs need as many senders as receivers"),
                           ("-t 2 -S", "threads need MPI_THREAD_MULTIPLE")):
            done = self.bench(*asked.split())
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(why, done.stderr)
        for asked, why in (("-q", "option -q not recognized"),
                           ("-x many", "-x needs a number"),
                           ("--ranks fast", "--ranks is process, thread or ult"),
                           ("--library none", "no library 'none'"),
                           ("--library mpich --ranks ult", "leave it out for a rival"),
                           ("3", "nothing is called '3'")):
            with self.assertRaisesRegex(multirate.UsageError, why):
                multirate.command(asked.split())
        done = self.headway("--ranks", "fast")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"^headway bench multirate: --ranks is .*\n$")


if __name__ == "__main__":
    unittest.main()
