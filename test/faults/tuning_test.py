#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which algorithms serve collectives, as users say it: every algorithm that can be forced gives
right results, rank 0's environment decides for all, and wrong words and files get one sentence."""

import pathlib
import re
import subprocess
import unittest

from job import HERE, JobTest, clean_environment

KNOBS = ("HEADWAY_COLL_BARRIER", "HEADWAY_COLL_BCAST", "HEADWAY_COLL_REDUCE",
         "HEADWAY_COLL_ALLREDUCE", "HEADWAY_COLL_GATHER", "HEADWAY_COLL_SCATTER",
         "HEADWAY_COLL_ALLGATHER", "HEADWAY_COLL_ALLGATHERV", "HEADWAY_COLL_ALLTOALL",
         "HEADWAY_COLL_ALLTOALLV", "HEADWAY_COLL_SCAN", "HEADWAY_COLL_EXSCAN",
         "HEADWAY_COLL_REDUCE_SCATTER")
# What 5 ranks post in 100 barriers, the last one.
LINEAR, DISSEMINATED = 100, 300


class TuningTest(JobTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = cls.build(HERE / "tuning.c")
        cls.file = pathlib.Path(cls.folder.name) / "my.tuning"

    def algorithms_of(self, knob):
        """What the sentence about a wrong one says that there is, each with and without numbers."""
        refused = self.mpiexec(1, self.program, **{knob: "?"})
        sentence, = self.assert_refused(refused, "there is no algorithm '?'")
        found = []
        for word in sentence.split("; there are ")[1].split(", "):
            name, *parameters = word.split("[")
            found += [name] + ([name + ":3" * len(parameters)] if parameters else [])
        return found

    def frames(self, outcome):
        self.assert_ok(outcome)
        return int(re.search(r"^(\d+) frames$", outcome.stdout, re.MULTILINE)[1])

    def test_every_algorithm_gives_right_results(self):
        """All collectives are forced at once; the longest list decides how many jobs there are."""
        known = {knob: self.algorithms_of(knob) for knob in KNOBS}
        self.assertEqual(known["HEADWAY_COLL_BARRIER"],
                         ["dissemination", "dissemination_ports", "dissemination_ports:3",
                          "linear"])
        self.assertIn("pipelined_tree:3:3", known["HEADWAY_COLL_BCAST"])
        for turn in range(max(len(names) for names in known.values())):
            forced = {knob: names[turn % len(names)] for knob, names in known.items()}
            for ranks in (2, 3, 4, 5):
                with self.subTest(ranks=ranks, **forced):
                    self.assert_ok(self.mpiexec(ranks, self.program, **forced))

    def test_rank_0_decides_for_all(self):
        ways = {"linear": LINEAR, "dissemination": DISSEMINATED}
        for name, frames in ways.items():
            self.assertEqual(
                self.frames(self.mpiexec(5, self.program, HEADWAY_COLL_BARRIER=name)), frames)
        only_first = self.mpiexec(1, "-env", "HEADWAY_COLL_BARRIER", "linear", self.program,
                                  ":", "-n", 4, self.program)
        self.assertEqual(self.frames(only_first), LINEAR)
        but_first = self.mpiexec(1, "-env", "HEADWAY_COLL_BARRIER", "dissemination", self.program,
                                 ":", "-n", 4, "-env", "HEADWAY_COLL_BARRIER", "linear",
                                 self.program)
        self.assertEqual(self.frames(but_first), DISSEMINATED)

    def test_a_file_decides(self):
        self.file.write_text("barrier ..4 any any linear\nbarrier 5 any any dissemination\n")
        self.assertEqual(
            self.frames(self.mpiexec(5, self.program, HEADWAY_TUNING=str(self.file))), DISSEMINATED)
        self.file.write_text("barrier 5 0 any linear # without bytes\n")
        self.assertEqual(
            self.frames(self.mpiexec(5, self.program, HEADWAY_TUNING=str(self.file))), LINEAR)

    def test_wrong_words_get_a_sentence(self):
        for ranks in (1, 3):
            self.assert_refused(
                self.mpiexec(ranks, self.program, HEADWAY_COLL_SCAN="parallel"), "rank 0",
                "MPI_Init", "HEADWAY_COLL_SCAN", "'parallel'", "there are linear, doubling")
            self.assert_refused(
                self.mpiexec(ranks, self.program, HEADWAY_COLL_BCAST="knomial:one"), "rank 0",
                "MPI_Init", "'knomial:one'", "radix, a whole number from 2 to 1024")

    def test_wrong_files_get_a_sentence(self):
        self.file.write_text("# mine\nbcast any any any flat\nbcast any 4K- any flat\n")
        environment = {"HEADWAY_TUNING": str(self.file)}
        self.assert_refused(self.mpiexec(3, self.program, **environment), "rank 0", "MPI_Init",
                            "my.tuning", "line 3", "'4K-' are no bytes")
        self.file.write_bytes(bytes(range(256)) * 40)
        self.assert_refused(self.mpiexec(3, self.program, **environment), "line 1")
        self.assert_refused(self.mpiexec(3, self.program, HEADWAY_TUNING="/does/not/exist"),
                            "MPI_Init", "cannot be read", "unset it")

    def info(self, **environment):
        return subprocess.run([self.stage / "bin/headway", "info"], capture_output=True, text=True,
                              env=clean_environment(**environment), check=False, timeout=60)

    def test_info_prints_what_is_in_force(self):
        self.file.write_text("alltoall 3.. 1K..2K own throttled:9\n")
        told = self.info(HEADWAY_TUNING=str(self.file), HEADWAY_COLL_SCAN="linear")
        self.assertEqual((told.returncode, told.stderr), (0, ""))
        table = told.stdout.split("# collective ")[1]
        lines = [line.split() for line in table.splitlines()[1:]]
        self.assertEqual({"HEADWAY_COLL_" + line[0].upper() for line in lines}, set(KNOBS))
        first = {line[0]: line[1:] for line in reversed(lines)}
        self.assertEqual(first["alltoall"], ["3..", "1K..2K", "own", "throttled:9"])
        self.assertEqual(first["scan"], ["any", "any", "any", "linear"])
        # What is printed is a tuning file.
        self.file.write_text(table.split("\n", 1)[1])
        self.assert_ok(self.mpiexec(2, self.program, HEADWAY_TUNING=str(self.file)))
        self.file.write_text("nonsense\n")
        told = self.info(HEADWAY_TUNING=str(self.file))
        self.assertEqual(told.returncode, 2)
        self.assertIn("line 1: it has 1 word", told.stderr)


if __name__ == "__main__":
    unittest.main()
