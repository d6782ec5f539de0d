# SPDX-License-Identifier: Apache-2.0
"""What a job that goes well looks like: arguments, environment, folders, input, output, binding."""

import os
import shutil
import subprocess
import unittest

import fixture


class Run(fixture.LaunchTest):
    def lines(self, *words: str, stdin: str = "") -> list[str]:
        """Sorted output lines of a job that must succeed."""
        done = self.run_job(*words, stdin=stdin)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return sorted(done.stdout.splitlines())

    def test_starts_as_many_ranks_as_asked(self) -> None:
        for option in ("-n", "-np", "-c", "--n", "--np", "-ppn", "-npernode", "-N"):
            with self.subTest(option=option):
                self.assertEqual(self.lines(option, "3", self.talker, "env=PMI_RANK"),
                                 ["PMI_RANK=0", "PMI_RANK=1", "PMI_RANK=2"])
        self.assertEqual(self.lines("--np=2", self.talker, "env=PMI_SIZE"), ["PMI_SIZE=2"] * 2)
        self.assertEqual(self.lines(self.talker, "env=PMI_SIZE"), ["PMI_SIZE=1"])

    def test_mpirun_is_mpiexec(self) -> None:
        done = self.run_job("-n", "2", self.talker, "print=x",
                            command=str(fixture.stage() / "bin/mpirun"))
        self.assertEqual((done.returncode, done.stdout), (0, "x\nx\n"))

    def test_several_programs_share_one_job(self) -> None:
        self.assertEqual(
            self.lines("-l", "-n", "1", self.talker, "env=PMI_SIZE", "print=a",
                       ":", "-n", "2", self.talker, "print=b"),
            ["[0] PMI_SIZE=3", "[0] a", "[1] b", "[2] b"])

    def test_label_begins_every_line(self) -> None:
        for option in ("--label", "-l", "--tag-output", "-prepend-rank"):
            with self.subTest(option=option):
                self.assertEqual(
                    self.lines(option, "-n", "2", self.talker, "print=a\nb", "part=end"),
                    ["[0] a", "[0] b", "[0] end", "[1] a", "[1] b", "[1] end"])

    def test_variables(self) -> None:
        spellings = [("-x", "A=1"), ("--env", "A=1"), ("-env", "A", "1"), ("-genv", "A", "1"),
                     ("--genv", "A=1"), ("-x=A=1",)]
        for words in spellings:
            with self.subTest(words=words):
                self.assertEqual(self.lines(*words, "-n", "1", self.talker, "env=A"), ["A=1"])

    def test_variables_of_one_program_and_of_all(self) -> None:
        self.assertEqual(
            self.lines("-genv", "A", "all", "-x", "B=first", self.talker, "env=A", "env=B", ":",
                       "-env", "A", "own", self.talker, "env=A", "env=B"),
            ["A=all", "A=own", "B=(none)", "B=first"])

    def test_only_listed_variables_are_kept(self) -> None:
        self.environment |= {"KEPT": "1", "DROPPED": "1"}
        steps = (self.talker, "env=KEPT", "env=DROPPED")
        self.assertEqual(self.lines("-genvlist", "KEPT", *steps), ["DROPPED=(none)", "KEPT=1"])
        self.assertEqual(self.lines("-envnone", *steps), ["DROPPED=(none)", "KEPT=(none)"])
        self.assertEqual(self.lines("-envnone", "-x", "KEPT", *steps),
                         ["DROPPED=(none)", "KEPT=1"])
        self.assertEqual(self.lines("-genvall", *steps), ["DROPPED=1", "KEPT=1"])

    def test_own_library_comes_first(self) -> None:
        self.environment["LD_LIBRARY_PATH"] = "/elsewhere"
        own = str(fixture.stage() / "lib")
        self.assertEqual(self.lines(self.talker, "env=LD_LIBRARY_PATH", "env=MPI4PY_MPIABI"),
                         [f"LD_LIBRARY_PATH={own}:/elsewhere", "MPI4PY_MPIABI=mpiabi"])
        self.assertEqual(self.lines("-x", "LD_LIBRARY_PATH=/mine", self.talker,
                                    "env=LD_LIBRARY_PATH"), [f"LD_LIBRARY_PATH={own}:/mine"])

    def test_a_job_inside_a_rank_knows_nothing_of_the_outer_one(self) -> None:
        self.environment |= {"PMI_RANK": "7", "PMI_SIZE": "9", "PMI_PORT": "x:1",
                             "PMIX_NAMESPACE": "outer", "HEADWAY_JOB": "outer"}
        self.assertEqual(
            self.lines(fixture.mpiexec(), self.talker, "env=PMI_RANK", "env=PMI_SIZE",
                       "env=PMI_PORT", "env=PMIX_NAMESPACE", "init", "finalize"),
            ["PMIX_NAMESPACE=(none)", "PMI_PORT=(none)", "PMI_RANK=0", "PMI_SIZE=1"])

    def test_directory(self) -> None:
        for option in ("--wdir", "-wdir", "-wd", "--wd"):
            with self.subTest(option=option):
                self.assertEqual(self.lines(option, "/usr", self.talker, "where"), ["/usr"])
        self.assertEqual(self.lines("--wdir", "/usr", self.talker, "where", ":",
                                    self.talker, "where"), sorted(["/usr", os.getcwd()]))

    def test_standard_input_goes_to_rank_0(self) -> None:
        self.assertEqual(self.lines("-l", "-n", "3", self.talker, "stdin", stdin="one\ntwo\n"),
                         ["[0] one", "[0] two"])
        self.assertEqual(self.lines("-n", "2", "--stdin", "none", self.talker, "stdin",
                                    stdin="one\n"), [])

    def test_a_job_that_reads_nothing_leaves_the_input_alone(self) -> None:
        script = f"while read -r line; do {fixture.mpiexec()} -n 2 true; echo $line; done"
        done = subprocess.run(["sh", "-c", script], input="a\nb\nc\n", capture_output=True,
                              text=True, env=self.environment, timeout=fixture.WATCHDOG_S)
        self.assertEqual(done.stdout, "a\nb\nc\n")

    def test_lines_are_whole(self) -> None:
        done = self.run_job("-n", "4", self.talker, "lines=300")
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 4 * 300)
        expected = [3 + line * 37 % 201 for line in range(300)]
        for letter in "abcd":
            self.assertEqual([len(line) for line in lines if line.startswith(letter)], expected)
        self.assertTrue(all(len(set(line)) == 1 for line in lines))

    def test_lines_of_output_and_error_on_one_pipe_are_whole(self) -> None:
        done = self.run_job("-n", "2", self.talker, "lines=50", "error=EEEE", "lines=50",
                            stderr=subprocess.STDOUT)
        self.assertTrue(all(len(set(line)) == 1 for line in done.stdout.splitlines()))
        self.assertEqual(done.stdout.count("EEEE\n"), 2)

    def test_an_unfinished_line_is_shown_at_the_end(self) -> None:
        self.assertEqual(self.lines("-n", "2", self.talker, "part=half"), ["half", "half"])

    def test_much_output_to_a_slow_reader_is_complete(self) -> None:
        job = self.start_job("-n", "2", "sh", "-c", "yes 0123456789 | head -n 300000")
        code, out, _ = self.finish(job)
        self.assertEqual((code, len(out)), (0, 2 * 300000 * 11))
        self.assertEqual(set(out.splitlines()), {"0123456789"})

    def test_binding(self) -> None:
        cores = len(os.sched_getaffinity(0))
        self.assertEqual(self.lines("--bind-to", "none", self.talker, "cpus"), [f"cpus {cores}"])
        done = self.run_job("--bind-to", "core", "--report-bindings", self.talker, "cpus")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"rank 0 is bound to core \d+ \(cpu [\d,]+\)")
        too_many = str(cores + 1)
        self.assertEqual(self.lines("-n", too_many, self.talker, "cpus"),
                         [f"cpus {cores}"] * (cores + 1))
        done = self.run_job("-n", too_many, "--bind-to", "core", self.talker)
        self.assertEqual(done.returncode, 1)
        self.assertIn("do not fit", done.stderr)

    def test_cores_a_rank(self) -> None:
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("needs two cores")
        for words in (("--cpus-per-rank", "2"), ("--map-by", "slot:PE=2"),
                      ("-bind-to", "core:2")):
            with self.subTest(words=words):
                done = self.run_job(*words, "--report-bindings", self.talker)
                self.assertRegex(done.stderr, r"bound to core \d+,\d+ ")

    def test_runs_tools_like_programs(self) -> None:
        self.assertEqual(self.lines("-n", "2", "env", "A=1", self.talker, "init", "env=A", "fence",
                                    "finalize"), ["A=1", "A=1"])

    def test_runs_debuggers_and_profilers(self) -> None:
        tools = [("valgrind", "-q", "--error-exitcode=9"),
                 ("gdb", "-q", "-batch", "-ex", "run", "-ex", "quit", "--args"),
                 ("perf", "stat", "-e", "task-clock", "-o", str(self.folder / "perf"))]
        for tool in tools:
            with self.subTest(tool=tool[0]):
                if shutil.which(tool[0]) is None:
                    self.skipTest(f"NOT TESTED: {tool[0]} is not installed")
                done = self.run_job("-n", "2", *tool, self.talker, "init", "fence", "env=PMI_RANK",
                                    "finalize")
                self.assertEqual(done.returncode, 0, done.stderr)
                for rank in (0, 1):
                    self.assertIn(f"PMI_RANK={rank}\n", done.stdout)

    def test_a_program_may_be_started_again_by_a_script(self) -> None:
        script = f"{self.talker} init fence finalize && {self.talker} init fence finalize"
        self.assertEqual(self.lines("-n", "2", "sh", "-c", script), [])


if __name__ == "__main__":
    unittest.main()
