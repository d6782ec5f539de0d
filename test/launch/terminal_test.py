# SPDX-License-Identifier: Apache-2.0
"""mpiexec at a terminal: input of rank 0, prompts, Ctrl-C, Ctrl-Z and fg."""

import os
import pty
import select
import signal
import time
import unittest

import fixture


class Terminal(fixture.LaunchTest):
    """Each test runs a command as the leader of a session with a terminal of its own."""

    def start(self, *words: str) -> None:
        self.seen = ""
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.execvpe(words[0], list(words), self.environment)
        self.addCleanup(self.hang_up)

    def hang_up(self) -> None:
        os.close(self.master)
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)

    def read_some(self) -> bool:
        """False when nobody has the terminal open any more."""
        try:
            text = os.read(self.master, 4096).decode()
        except OSError:
            return False
        self.seen += text
        return text != ""

    def await_text(self, text: str) -> None:
        deadline = time.monotonic() + fixture.WATCHDOG_S
        while text not in self.seen:
            if select.select([self.master], [], [], deadline - time.monotonic())[0]:
                self.assertTrue(self.read_some(), f"ended without '{text}': {self.seen!r}")
            else:
                self.fail(f"waited in vain for '{text}': {self.seen!r}")

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def code(self) -> int:
        while self.read_some():
            pass
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        return os.waitstatus_to_exitcode(status)

    def test_ranks_have_no_terminal_but_share_a_session(self) -> None:
        # The kernel shares cores out by sessions first: ranks that wait for each other are in one.
        self.start(fixture.mpiexec(), "-n", "2", "sh", "-c",
                   "echo session $(cut -d' ' -f6 /proc/self/stat).;"
                   "(: < /dev/tty) 2> /dev/null || echo none")
        leader = self.pid
        self.assertEqual(self.code(), 0)
        self.assertEqual(self.seen.count(f"session {leader}."), 2, self.seen)
        self.assertEqual(self.seen.count("none"), 2, self.seen)

    def test_rank_0_reads_the_terminal(self) -> None:
        self.start(fixture.mpiexec(), "-l", "-n", "2", "sh", "-c",
                   "read -r line; echo got:$line:")
        self.await_text("[1] got::")
        self.type("hello\n")
        self.await_text("[0] got:hello:")
        self.assertEqual(self.code(), 0)

    def test_a_prompt_is_shown(self) -> None:
        self.start(fixture.mpiexec(), "-n", "1", "sh", "-c",
                   "printf 'name? '; read -r line; echo hello $line")
        self.await_text("name? ")
        self.type("you\n")
        self.await_text("hello you")
        self.assertEqual(self.code(), 0)

    def test_ctrl_c(self) -> None:
        self.start(fixture.mpiexec(), "-n", "2", self.talker, "print=up", "pause")
        self.await_text("up\r\nup")
        self.type("\x03")
        self.assertEqual(self.code(), 130)
        self.assertIn("the job was ended by signal 2 (Interrupt)", self.seen)

    def test_ctrl_z_and_fg(self) -> None:
        self.start("bash", "--norc", "--noprofile", "-i")
        self.type("PS1='ready'' ''> '\n")
        self.await_text("ready > ")
        self.type(f"{fixture.mpiexec()} -n 2 {self.talker} catch=10 print=up await; echo code $?\n")
        self.await_text("up\r\nup")
        ranks = [pid for pid in fixture.marked_processes(self.mark)
                 if os.path.realpath(f"/proc/{pid}/exe") == os.path.realpath(self.talker)]
        self.assertEqual(len(ranks), 2)
        self.type("\x1a")
        self.await_text("Stopped")
        for pid in ranks:
            fixture.await_that(lambda pid=pid: fixture.state_of(pid) == "T",  # type: ignore[misc]
                               "ranks to stop")
        self.type("fg\n")
        for pid in ranks:
            fixture.await_that(lambda pid=pid: fixture.state_of(pid) == "S",  # type: ignore[misc]
                               "ranks to go on")
            os.kill(pid, signal.SIGUSR1)
        self.await_text("caught 10\r\ncaught 10")
        self.type("exit\n")
        self.code()

    def test_hang_up_ends_the_job(self) -> None:
        self.start(fixture.mpiexec(), "-n", "2", self.talker, "print=up", "pause")
        self.await_text("up\r\nup")
        os.kill(self.pid, signal.SIGHUP)
        self.assertEqual(self.code(), 129)

    def test_job_in_the_background_does_not_take_the_input(self) -> None:
        self.start("bash", "--norc", "--noprofile", "-i")
        self.type("PS1='ready'' ''> '\n")
        self.await_text("ready > ")
        self.type(f"{fixture.mpiexec()} -n 1 sh -c 'read -r line; echo got:$line:' & wait\n")
        self.await_text("got::")
        self.type("exit\n")
        self.code()


if __name__ == "__main__":
    unittest.main()
