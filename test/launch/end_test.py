# SPDX-License-Identifier: Apache-2.0
"""How a job ends: exit codes, deaths, time limits, signals; and that nothing stays behind."""

import os
import signal
import subprocess
import unittest
from pathlib import Path

import fixture


class Codes(fixture.LaunchTest):
    def check(self, code: int, pattern: str, *words: str) -> None:
        """The job of `words` ends with the code and exactly one sentence."""
        done = self.run_job(*words)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertRegex(done.stderr, rf"^headway mpiexec: {pattern}\n$")

    def test_code_of_a_rank(self) -> None:
        self.check(3, r"rank 1 \(pid \d+\) exited with code 3; the other ranks were ended",
                   "-n", "3", self.talker, "1:exit=3", "pause")

    def test_one_rank_alone(self) -> None:
        self.check(3, r"rank 0 \(pid \d+\) exited with code 3", self.talker, "exit=3")

    def test_first_code_counts(self) -> None:
        done = self.run_job("-n", "2", self.talker, "catch=15", "init", "1:exit=4", "await",
                            "exit=9")
        self.assertEqual(done.returncode, 4)

    def test_killed_by_a_signal(self) -> None:
        for number, name in ((9, "Killed"), (11, "Segmentation fault"), (6, "Aborted")):
            with self.subTest(number=number):
                self.check(128 + number,
                           rf"rank 2 \(pid \d+\) was killed by signal {number} \({name}\)"
                           r"(, core dumped)?; the other ranks were ended",
                           "-n", "3", "sh", "-c",
                           f"ulimit -c 0; exec {self.talker} 2:kill={number} pause")

    def test_leaving_without_finalize(self) -> None:
        self.check(1, r"rank 1 \(pid \d+\) exited without calling MPI_Finalize or "
                   "MPI_Session_finalize; the other ranks were ended",
                   "-n", "3", self.talker, "init", "fence", "1:exit=0", "pause")

    def test_leaving_before_the_others_meet(self) -> None:
        self.check(1, r"rank 1 \(pid \d+\) has exited while other ranks wait for it in MPI_Init "
                   "or MPI_Finalize; the other ranks were ended",
                   "-n", "3", self.talker, "1:exit=0", "init", "fence", "finalize")

    def test_failing_after_finalize_lets_the_others_finish(self) -> None:
        done = self.run_job("-n", "2", self.talker, "init", "fence", "finalize", "1:exit=5",
                            f"0:{self.touch('end')}", "0:print=finished")
        self.assertEqual((done.returncode, done.stdout), (5, "finished\n"))
        self.assertRegex(done.stderr, r"rank 1 \(pid \d+\) exited with code 5\n$")

    def test_abort(self) -> None:
        done = self.run_job("-n", "2", self.talker, "init",
                            "1:send=cmd=abort exitcode=7 message=it was enough", "pause")
        self.assertEqual(done.returncode, 7)
        self.assertRegex(done.stderr, r"^it was enough\nheadway mpiexec: rank 1 \(pid \d+\) "
                         r"aborted the job with code 7; the other ranks were ended\n$")

    def test_abort_never_looks_like_success(self) -> None:
        for code in (0, 256, -1):
            with self.subTest(code=code):
                done = self.run_job(self.talker, "init", f"send=cmd=abort exitcode={code}",
                                    "pause")
                self.assertEqual(done.returncode, code & 0xff or 1)

    def test_program_that_is_not_there(self) -> None:
        self.check(127, "rank 0: cannot start 'no-such-program': No such file or directory; no "
                   "directory of PATH has it", "-n", "2", "no-such-program")
        self.check(127, "rank 2: cannot start './gone': No such file or directory",
                   "-n", "2", self.talker, "pause", ":", "./gone")
        self.check(127, "rank 0: cannot start '/usr': Permission denied", "/usr")
        self.check(127, "rank 0: cannot start in directory '/gone': No such file or directory",
                   "--wdir", "/gone", "true")

    def test_too_few_descriptors(self) -> None:
        command = f"ulimit -n 60; exec {fixture.mpiexec()} -n 64 {self.talker} pause"
        done = self.run_job("-c", command, command="sh")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (127, 1))
        self.assertIn("raise ulimit -n", done.stderr)

    def test_program_of_this_directory(self) -> None:
        program = Path(self.folder, "mine")
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        done = self.run_job("mine", cwd=self.folder)
        self.assertEqual(done.returncode, 127)
        self.assertIn("write ./mine", done.stderr)

    def test_timeout(self) -> None:
        self.check(124, "the job ran longer than --timeout 0.2 s; the ranks were ended",
                   "-n", "2", "--timeout", "0.2", self.talker, "pause")

    def test_output_before_the_end_is_complete(self) -> None:
        done = self.run_job("-n", "2", self.talker, "1:lines=100", "1:part=half", "1:kill=9",
                            "pause")
        self.assertEqual(len(done.stdout.splitlines()), 101)
        self.assertTrue(done.stdout.endswith("half\n"))

    def test_rank_that_ignores_requests_to_end(self) -> None:
        job = self.start_job("-n", "2", self.talker, "ignore=15", self.touch("up"), "init",
                             "fence", "1:exit=3", "pause")
        self.assertEqual(self.finish(job)[0], 3)


class Leftovers(fixture.LaunchTest):
    def test_children_of_ranks_end_with_a_good_job(self) -> None:
        done = self.run_job("-n", "2", self.talker, "child=1000", "init", "fence", "finalize")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(fixture.marked_processes(self.mark), [])

    def test_children_of_ranks_end_with_a_bad_job(self) -> None:
        done = self.run_job("-n", "2", self.talker, "child=1000", "1:kill=9", "pause")
        self.assertEqual(done.returncode, 137)
        self.assertEqual(fixture.marked_processes(self.mark), [])

    def test_all_end_when_mpiexec_is_killed(self) -> None:
        job = self.start_job("-n", "2", self.talker, "child=1000", self.touch("up"), "pause",
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.await_ranks(2, "up")
        job.kill()
        job.wait(timeout=fixture.WATCHDOG_S)
        fixture.await_that(lambda: fixture.marked_processes(self.mark) == [],
                           "the watcher to kill what is left")

    def test_shared_memory_goes_however_the_job_ends(self) -> None:
        # Locked, as a file of a living job is.
        leave = "exec 9> /dev/shm/headway-$HEADWAY_JOB-heap; flock 9; "
        for end, code in (("true", 0), ("exit 3", 3), ("kill -9 $$", 137)):
            with self.subTest(end=end):
                self.assertEqual(self.run_job("sh", "-c", leave + end).returncode, code)
                self.assertEqual(fixture.shared_memory() - self.shared_memory_before, set())
        job = self.start_job("sh", "-c", f"{leave} exec {self.talker} {self.touch('up')} pause",
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.await_ranks(1, "up")
        self.assertNotEqual(fixture.shared_memory() - self.shared_memory_before, set())
        job.kill()
        fixture.await_that(lambda: fixture.shared_memory() <= self.shared_memory_before,
                           "the watcher to remove shared memory")

    def test_a_job_inside_a_rank_ends_with_the_outer_one(self) -> None:
        job = self.start_job("-n", "2", fixture.mpiexec(), "-n", "2", self.talker,
                             self.touch(f"up{os.getpid()}-"), "pause")
        fixture.await_that(lambda: len(self.ranks_of(job)) == 4, "four inner ranks")
        job.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(job)[0], 143)

    def test_closed_pipe(self) -> None:
        script = f"{fixture.mpiexec()} -n 2 yes; echo $? >&2"
        shell = subprocess.Popen(["sh", "-c", script], env=self.environment, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert shell.stdout is not None
        self.assertEqual(shell.stdout.readline(), "y\n")
        shell.stdout.close()
        assert shell.stderr is not None
        with shell.stderr:
            self.assertEqual(shell.stderr.read(), "141\n")
        shell.wait(timeout=fixture.WATCHDOG_S)

    def test_full_device(self) -> None:
        with open("/dev/full", "w") as full:
            done = self.run_job("-n", "2", self.talker, "print=x", "pause", stdout=full)
        self.assertEqual(done.returncode, 1)
        self.assertIn("No space left on device", done.stderr)

    def test_closed_standard_streams(self) -> None:
        command = f"{fixture.mpiexec()} -n 2 {self.talker} init fence finalize <&- >&- 2>&-"
        self.assertEqual(subprocess.run(["sh", "-c", command], env=self.environment,
                                        timeout=fixture.WATCHDOG_S).returncode, 0)


class Signals(fixture.LaunchTest):
    def start_catchers(self, number: int) -> "subprocess.Popen[str]":
        job = self.start_job("-n", "2", self.talker, f"catch={number}", self.touch("up"), "await")
        self.await_ranks(2, "up")
        return job

    def test_forwarded(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT,
                       signal.SIGUSR1, signal.SIGUSR2):
            with self.subTest(number=number):
                for mark in self.folder.iterdir():
                    mark.unlink()
                job = self.start_catchers(number)
                job.send_signal(number)
                self.assertEqual(self.finish(job), (0, f"caught {number:d}\n" * 2, ""))

    def test_deadly(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
            with self.subTest(number=number):
                for mark in self.folder.iterdir():
                    mark.unlink()
                job = self.start_job("-n", "2", self.talker, self.touch("up"), "pause")
                self.await_ranks(2, "up")
                job.send_signal(number)
                code, _, err = self.finish(job)
                self.assertEqual(code, 128 + number)
                self.assertRegex(
                    err, r"^headway mpiexec: the job was ended by signal \d+ \(.*\)\n$")

    def test_second_interrupt_kills(self) -> None:
        job = self.start_job("-n", "2", self.talker, "ignore=2", "ignore=15", self.touch("up"),
                             "pause")
        self.await_ranks(2, "up")
        job.send_signal(signal.SIGINT)
        fixture.await_that(lambda: not self.is_pending(job.pid, signal.SIGINT), "the first INT")
        self.assertIsNone(job.poll())
        job.send_signal(signal.SIGINT)
        code, _, err = self.finish(job)
        self.assertEqual(code, 130)
        self.assertIn("killed by a second signal 2", err)

    @staticmethod
    def is_pending(pid: int, number: int) -> bool:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("ShdPnd"):
                return bool(int(line.split()[1], 16) >> (number - 1) & 1)
        return False

    def test_stop_and_continue(self) -> None:
        job = self.start_catchers(signal.SIGUSR1)
        ranks = self.ranks_of(job)
        self.assertEqual(len(ranks), 2)
        job.send_signal(signal.SIGTSTP)
        for pid in (*ranks, job.pid):
            fixture.await_that(lambda pid=pid: fixture.state_of(pid) == "T",  # type: ignore[misc]
                               "all to stop")
        job.send_signal(signal.SIGCONT)
        for pid in (*ranks, job.pid):
            fixture.await_that(lambda pid=pid: fixture.state_of(pid) != "T",  # type: ignore[misc]
                               "all to go on")
        job.send_signal(signal.SIGUSR1)
        self.assertEqual(self.finish(job)[0], 0)

    def test_ignored_signals_stay_ignored(self) -> None:
        job = self.start_job("-n", "1", self.talker, self.touch("up"), "catch=10", "await",
                             preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.await_ranks(1, "up")
        job.send_signal(signal.SIGHUP)
        fixture.await_that(lambda: not self.is_pending(job.pid, signal.SIGHUP), "HUP")
        self.assertIsNone(job.poll())
        fixture.await_that(lambda: self.catches(self.ranks_of(job)[0], 10), "the handler")
        job.send_signal(signal.SIGUSR1)
        self.assertEqual(self.finish(job)[:2], (0, "caught 10\n"))

    @staticmethod
    def catches(pid: int, number: int) -> bool:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("SigCgt"):
                return bool(int(line.split()[1], 16) >> (number - 1) & 1)
        return False


if __name__ == "__main__":
    unittest.main()
