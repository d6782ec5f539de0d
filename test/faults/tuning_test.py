#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which algorithms serve collectives, as users say it: every algorithm that can be forced gives
right results, rank 0's environment decides for all, and wrong words and files get one sentence."""

import pathlib
import re
import subprocess
import sys
import unittest

from job import HERE, JobTest, clean_environment, run

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

    def mpiexec(self, ranks, *command, before=(), **environment):
        """Messages are tested and counted, so ranks that share cores do not meet instead."""
        return super().mpiexec(ranks, *command, before=before,
                               **({"HEADWAY_MEETINGS": "off"} | environment))

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
                          "linear", "two_level", "two_level:3"])
        self.assertIn("pipelined_tree:3:3", known["HEADWAY_COLL_BCAST"])
        for turn in range(max(len(names) for names in known.values())):
            forced = {knob: names[turn % len(names)] for knob, names in known.items()}
            for ranks in (2, 3, 4, 5):
                with self.subTest(ranks=ranks, **forced):
                    self.assert_ok(self.mpiexec(ranks, self.program, **forced))

    def test_members_read_each_other(self):
        """In one process, where that is built in for long blocks, and between processes, where the
        system lets them and where it does not."""
        direct = {f"HEADWAY_COLL_{name}": "direct"
                  for name in ("BCAST", "ALLREDUCE", "SCATTER", "ALLGATHER", "ALLTOALL",
                               "REDUCE_SCATTER")}
        for settings in ({}, direct, direct | {"HEADWAY_CMA": "off"}):
            for host in ("thread", "ult", "process"):
                for ranks in (2, 3, 5):
                    with self.subTest(host=host, ranks=ranks, **settings):
                        self.assert_ok(self.mpiexec(ranks, "--ranks", host, self.program,
                                                    **settings))

    def test_members_that_may_not_read_each_other_send(self):
        """Forced or built in: the frames of the job tell whether they do."""
        def frames(**settings):
            return self.frames(self.mpiexec(5, "--ranks", "thread", self.program, "allgathers",
                                            **settings))
        direct = {"HEADWAY_COLL_ALLGATHER": "direct"}
        off = {"HEADWAY_PEER_READS": "off"}
        self.assertEqual(frames(**direct), frames())
        self.assertEqual(frames(**direct, **off), frames(**off))
        # Ranks of one process need no leave of the system.
        self.assertEqual(frames(HEADWAY_CMA="off"), frames())
        self.assertNotEqual(frames(**off), frames())

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
        self.file.write_text("barrier ..4 any any any linear\n"
                             "barrier 5 any any any dissemination\n")
        self.assertEqual(
            self.frames(self.mpiexec(5, self.program, HEADWAY_TUNING=str(self.file))), DISSEMINATED)
        self.file.write_text("barrier 5 0 any any linear # without bytes\n")
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
        self.file.write_text("# mine\nbcast any any any any flat\n"
                             "bcast any 4K- any any flat\n")
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
        self.file.write_text("alltoall 3.. 1K..2K own any throttled:9\n")
        told = self.info(HEADWAY_TUNING=str(self.file), HEADWAY_COLL_SCAN="linear")
        self.assertEqual((told.returncode, told.stderr), (0, ""))
        table = told.stdout.split("# collective ")[1]
        lines = [line.split() for line in table.splitlines()[1:]]
        self.assertEqual({"HEADWAY_COLL_" + line[0].upper() for line in lines}, set(KNOBS))
        first = {line[0]: line[1:] for line in reversed(lines)}
        self.assertEqual(first["alltoall"], ["3..", "1K..2K", "own", "any", "throttled:9"])
        self.assertEqual(first["scan"], ["any", "any", "any", "any", "linear"])
        # What is printed is a tuning file.
        self.file.write_text(table.split("\n", 1)[1])
        self.assert_ok(self.mpiexec(2, self.program, HEADWAY_TUNING=str(self.file)))
        self.file.write_text("nonsense\n")
        told = self.info(HEADWAY_TUNING=str(self.file))
        self.assertEqual(told.returncode, 2)
        self.assertIn("line 1: it has 1 word", told.stderr)


class FitTest(JobTest):
    """`headway tune` on this machine, as short as it can be."""

    def tune(self, *words):
        """Its programs are built into the folder of the class."""
        return run([self.stage / "bin/headway", "tune", *words],
                   clean_environment(XDG_CACHE_HOME=self.folder.name,
                                     HEADWAY_COLL_BARRIER="linear"))

    def test_what_it_writes_is_a_tuning_file(self):
        file = pathlib.Path(self.folder.name) / "fitted.tuning"
        done = self.tune("--quick", "--collectives", "barrier,scan", "--ranks", "2,3",
                         "--output", file)
        self.assert_ok(done)
        self.assertIn("3 ranks: round 5, done", done.stderr)
        self.assertIn("measured calls keep what is built in", done.stdout)
        heading = file.read_text().splitlines()[0]
        self.assertRegex(heading, r"^# headway tune --quick .*, \d{4}-\d\d-\d\d .* UTC, Headway ")
        # What is fitted is in force; lines stand in the order of the file.
        lines = [line.partition("#")[0].split() for line in file.read_text().splitlines()]
        told = subprocess.run([self.stage / "bin/headway", "info"], capture_output=True, text=True,
                              env=clean_environment(HEADWAY_TUNING=str(file)), check=False,
                              timeout=60)
        self.assertEqual((told.returncode, told.stderr), (0, ""))
        table = [line.split() for line in told.stdout.split("# collective ")[1].splitlines()]
        for collective in ("barrier", "scan"):
            fitted = [line for line in lines if line[:1] == [collective]]
            known = [line for line in table if line[:1] == [collective]]
            self.assertEqual(known[:len(fitted)], fitted)
        self.assert_ok(self.mpiexec(3, self.build(HERE / "tuning.c"), HEADWAY_TUNING=str(file)))

    def test_what_cannot_be_gets_a_sentence(self):
        for words, said in ((("--collectives", "brodcast"), "no 'brodcast' to measure"),
                            (("--ranks", "2-4"), "--ranks 2-4: write numbers"),
                            (("--output", "/does/not/exist"), "cannot be written: No such file"),
                            (("--output", self.folder.name), "cannot be written: it is a folder")):
            done = self.tune("--quick", *words)
            self.assertEqual(done.code, 2, str(done))
            self.assertIn(said, done.stderr)


class NodesTest(JobTest):
    """Ranks of one machine that are told that they are on several nodes: libfabric between them."""

    # Ranks, which of them share a node, and the frames of the last one in 100 barriers of two
    # levels: leads disseminate and release their nodes, others tell their lead.
    places = ((4, "(vector,(0,2,2))", 100), (5, "(vector,(0,2,1))", 100),
              (4, "(vector,(0,1,3),(1,1,1))", 100), (6, "(vector,(0,3,2))", 100))

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not (cls.stage / "lib/libheadway_ofi.so").exists():
            raise unittest.SkipTest("Headway was built without libfabric")
        cls.program = cls.build(HERE / "tuning.c")

    def on_nodes(self, ranks, mapping, *arguments, **environment):
        outcome = run([sys.executable, HERE / "plain_launcher.py", ranks, self.program, *arguments],
                      clean_environment(PLAIN_MAPPING=mapping, HEADWAY_OFI_INTERFACE="lo",
                                        **environment))
        self.assert_ok(outcome)
        return int(re.search(r"^(\d+) frames$", outcome.stdout, re.MULTILINE)[1])

    def test_two_levels_give_right_results(self):
        forced = dict.fromkeys(
            (f"HEADWAY_COLL_{name}" for name in ("BARRIER", "BCAST", "REDUCE", "ALLREDUCE",
                                                 "GATHER", "SCATTER", "ALLGATHER", "ALLGATHERV",
                                                 "ALLTOALL", "SCAN", "EXSCAN",
                                                 "REDUCE_SCATTER")),
            "two_level")
        for ranks, mapping, frames in self.places:
            with self.subTest(ranks=ranks, mapping=mapping):
                self.assertEqual(self.on_nodes(ranks, mapping, **forced), frames)
                self.on_nodes(ranks, mapping, "dealt", **forced)

    def test_many_leads_give_right_results(self):
        for ranks, mapping, _ in self.places:
            with self.subTest(ranks=ranks, mapping=mapping):
                self.on_nodes(ranks, mapping, HEADWAY_COLL_ALLREDUCE="many_leads")
                self.on_nodes(ranks, mapping, "dealt", HEADWAY_COLL_ALLREDUCE="many_leads")

    def test_what_is_built_in_gives_right_results(self):
        for ranks, mapping, frames in self.places:
            with self.subTest(ranks=ranks, mapping=mapping):
                self.assertEqual(self.on_nodes(ranks, mapping), frames)
                self.on_nodes(ranks, mapping, "dealt")

    def test_a_rank_a_node_has_one_level(self):
        self.assertEqual(self.on_nodes(4, "(vector,(0,4,1))", HEADWAY_COLL_BARRIER="two_level"),
                         200)


if __name__ == "__main__":
    unittest.main()
