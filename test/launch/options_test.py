# SPDX-License-Identifier: Apache-2.0
"""Every spelling users bring along is accepted, or answered by name in one sentence."""

import socket
import unittest

import fixture

ACCEPTED = [
    ["--oversubscribe"], ["--allow-run-as-root"], ["-bind-to", "core"], ["--bind-to", "none"],
    ["--map-by", "core"], ["-map-by", "socket"], ["--map-by", "ppr:2:node"], ["--ranks", "process"],
    ["--ranks", "thread"], ["--ranks", "thread", "--stack-size", "1M"], ["--ranks", "ult"],
    ["--workers", "1", "--ranks=ult", "--bind-ranks", "--sleeps", "block"],
    ["--ranks", "ult", "--stack-size", "256K", "--schedule-seed", "5"],
    ["--ranks", "ult", "--processes-per-node", "1"], ["--processes-per-node=1", "--ranks=thread"],
    ["-launcher", "fork"], ["--mca", "btl", "self"], ["-host", "localhost"],
    ["--host", f"localhost,{socket.gethostname()}"], ["-H", "localhost:4"], ["-v"], ["-q"],
    ["-iface", "lo"], ["--timeout", "50"], ["--report-bindings"], ["-genvall"], ["-s", "0"],
    ["--use-hwthread-cpus"], ["-rmk", "user"], ["--"], ["--cpus-per-rank=1"],
]

# Options, and words the answer must hold.
REFUSED = [
    (["--ranks", "fibre"], "is process, thread or ult, not 'fibre'"),
    (["--workers", "2"], "use --ranks ult"),
    (["--ranks", "thread", "--bind-ranks"], "use --ranks ult"),
    (["--stack-size", "1M"], "use --ranks thread or ult"),
    (["--ranks", "ult", "--stack-size", "8"], "64K to 1G"),
    (["--ranks", "ult", "--sleeps", "never"], "suspend or block, not 'never'"),
    (["--ranks", "ult", "--schedule-seed", "1", "--workers", "2"], "there is one worker"),
    (["--ranks", "ult", "--label"], "--label"),
    (["--processes-per-node", "2"], "use --ranks thread or ult"),
    (["--shared-lib", "libx.so"], "use --ranks thread or ult"),
    (["--ranks", "ult", "--shared-lib="], "takes the name of a library"),
    (["--ranks", "ult", "--processes-per-node", "0"], "from 1 to 65536, not '0'"),
    (["--ranks", "ult", "--processes-per-node", "two"], "not 'two'"),
    (["--ranks", "thread", "-n", "3", "--processes-per-node", "4"], "than the job has ranks (3)"),
    (["--ranks", "ult", "-n", "2", "--processes-per-node", "2", "--schedule-seed", "1"],
     "one worker runs all ranks"),
    (["--ranks", "ult", "-n", "3", "--processes-per-node", "3", "--workers", "2"],
     "take 3 or more"),
    (["--bind-to", "socket"], "core or none, not 'socket'"),
    (["-host", "far.away", "--report-bindings"], "away (--hosts), and --report-bindings is for"),
    (["-host", "far.away", "--ranks", "thread"], "give --hosts localhost"),
    (["--hosts", "here:0"], "NAME or NAME:SLOTS, not 'here:0'"),
    (["--hosts", ","], "names no host"),
    (["-configfile", "x"], "shell script"),
    (["-outfile-pattern", "x"], "--label"),
    (["--output-filename", "x"], "--label"),
    (["-tv"], "mpiexec -n 4 gdb"),
    (["-disable-auto-cleanup"], "always ends the job"),
    (["-gpus-per-proc", "1"], "CUDA_VISIBLE_DEVICES"),
    (["--hostfile", "/does/not/exist"], "cannot read"),
    (["-n"], "value is missing"),
    (["-n", "0"], "not '0'"),
    (["-n", "four"], "not 'four'"),
    (["-n", "-3"], "not '-3'"),
    (["-n", "99999999999999999999"], "takes a number"),
    (["--timeout", "soon"], "seconds above 0"),
    (["--timeout", "-1"], "seconds above 0"),
    (["--timeout", "nan"], "seconds above 0"),
    (["--cpus-per-rank", "0"], "takes a number"),
    (["--label=yes"], "takes no value"),
    (["--env", "=1"], "name of the variable is empty"),
    (["--stdin", "all"], "rank 0 (0) or nobody (none)"),
    (["--map-by", "slot:PE=0"], "PE=N"),
    (["--timout", "3"], "did you mean --timeout?"),
    (["--wdirr", "3"], "did you mean --wdir?"),
    (["--qqqqqqqq"], "unknown option --qqqqqqqq"),
]


class Options(fixture.LaunchTest):
    def test_accepted(self) -> None:
        for words in ACCEPTED:
            with self.subTest(words=words):
                done = self.run_job(*words, self.talker, "print=ran")
                self.assertEqual((done.returncode, done.stdout), (0, "ran\n"), done.stderr)

    def test_answered_by_name(self) -> None:
        for words, answer in REFUSED:
            with self.subTest(words=words):
                # Options that lack their value come last.
                program = [] if words == ["-n"] else [self.talker, "print=ran"]
                done = self.run_job(*words, *program)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(answer, done.stderr)
                self.assertTrue(done.stderr.startswith("headway mpiexec: "), done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)

    def test_no_program(self) -> None:
        for words in ([], ["-n", "2"], ["-n", "2", ":", self.talker], [self.talker, ":"]):
            with self.subTest(words=words):
                done = self.run_job(*words)
                self.assertEqual(done.returncode, 2)
                self.assertIn("no program to start", done.stderr)

    def test_host_file(self) -> None:
        hosts = self.folder / "hosts"
        hosts.write_text("# mine\nlocalhost slots=4\n\n")
        self.assertEqual(self.run_job("-f", str(hosts), self.talker).returncode, 0)
        hosts.write_text("localhost\nfar.away slots=4\n")
        # An option that no other launcher is handed, so that none is started.
        done = self.run_job("--hostfile", str(hosts), "--report-bindings", self.talker)
        self.assertEqual(done.returncode, 2)
        self.assertIn("localhost, far.away (--hostfile)", done.stderr)

    def test_help_and_version(self) -> None:
        for words in (["--help"], ["-h"], ["-n", "2", "--help"]):
            done = self.run_job(*words)
            self.assertEqual(done.returncode, 0)
            for option in ("--timeout", "--label", "--wdir", "--bind-to", "-genv"):
                self.assertIn(option, done.stdout)
        for word in ("--version", "-V", "-version"):
            self.assertRegex(self.run_job(word).stdout, r"^headway mpiexec \d+\.\d+\.\d+\n$")

    def test_options_after_the_program_are_its_own(self) -> None:
        done = self.run_job("-n", "1", "echo", "-n", "--label", "x")
        self.assertEqual(done.stdout, "--label x\n")


if __name__ == "__main__":
    unittest.main()
