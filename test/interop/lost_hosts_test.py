# SPDX-License-Identifier: Apache-2.0
# headway-needs: hosts
"""Hosts that fall silent, end, or are cut off for a while; and strangers on their network."""

import contextlib
import os
import random
import re
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path

from hosts_test import WATCHDOG_S, WHY_NOT, HostsTest, host_words, plain_environment

# States of sockets in /proc/net/tcp.
IS_CONNECTED = "01"
LISTENS = "0A"


class Job:
    """A job that goes on until something happens, and what it says."""

    def __init__(self, process: subprocess.Popen[bytes], output: Path) -> None:
        self.process = process
        self.output = output

    def said(self) -> str:
        return self.output.read_text(errors="replace")


@unittest.skipIf(WHY_NOT, WHY_NOT)
class LongJobTest(HostsTest):
    """Jobs of two ranks a host that are under way."""

    ranks = "process"  # or what host_words() takes: threads of one process a host

    def await_that(self, holds: Callable[[], object], what: Callable[[], str]) -> None:
        deadline = time.monotonic() + WATCHDOG_S
        while not holds():
            if time.monotonic() > deadline:
                self.fail(f"in vain: {what()}")
            time.sleep(0.02)

    @contextlib.contextmanager
    def under_way(self, *words: str, options: tuple[str, ...] = (),
                  **settings: str) -> Iterator[Job]:
        environment = plain_environment() | self.hosts.environment()
        environment |= {f"HEADWAY_{name.upper()}": value for name, value in settings.items()}
        command = (self.hosts.hydra(self.hydra, 4, 2, self.between, *words)
                   if self.ranks == "process" else
                   self.hosts.hydra(self.hydra, 2, 1, *host_words(self.ranks, 2), self.between,
                                    *words))
        with tempfile.NamedTemporaryFile() as output:
            process = subprocess.Popen(
                [command[0], *options, *command[1:]], env=environment, stdin=subprocess.DEVNULL,
                stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
            job = Job(process, Path(output.name))
            try:
                self.await_that(lambda: "between: under way" in job.said(), job.said)
                yield job
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait(WATCHDOG_S)
                for place in (1, 2):
                    for pid in self.hosts.processes(place):
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(pid, signal.SIGKILL)
                    self.await_that(lambda place=place: not self.hosts.processes(place),
                                    lambda: "processes of hosts do not end")

    def ranks_on(self, place: int) -> list[int]:
        """Processes of ranks on a host."""
        found = []
        for pid in self.hosts.processes(place):
            with contextlib.suppress(OSError):
                program = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
                if program in ("between", "headway-host"):
                    found.append(pid)
        return found

    def silences(self, place: int, lost: int) -> list[str]:
        """What ranks on a host say of one that was lost: each process says it once."""
        first = 2 * (lost - 1)
        ranks = [f"{2 * (place - 1)}", f"{2 * (place - 1) + 1}"]
        said_by = ranks if self.ranks == "process" else [f"[{''.join(ranks)}]"]
        return [rf"(?m)^headway: rank {rank}: host '{self.hosts.space(lost)}' "
                rf"\(ranks {first} to {first + 1}\) has been silent for \d+ s "
                for rank in said_by]

    def listeners(self, place: int) -> list[tuple[str, int]]:
        """Addresses and ports at which ranks on a host listen."""
        inodes = set()
        for pid in self.ranks_on(place):
            for name in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    found = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{name}"))
                    inodes.update(found.groups() if found else ())
        found_at = []
        for path in ("/proc/net/tcp", "/proc/net/tcp6"):
            for line in self.hosts.read(place, path).splitlines()[1:]:
                words = line.split()
                if words[3] == LISTENS and words[9] in inodes:
                    number, port = words[1].split(":")
                    address = number if len(number) > 8 else socket.inet_ntoa(
                        struct.pack("=I", int(number, 16)))
                    found_at.append((address, int(port, 16)))
        return found_at


class LostHosts(LongJobTest):
    def test_hosts_that_do_not_hear_each_other_any_more(self) -> None:
        with self.under_way("forever", network_timeout_s="3") as job:
            self.hosts.part(True)
            try:
                self.assertNotEqual(job.process.wait(WATCHDOG_S), 0)
            finally:
                self.hosts.part(False)
            for place, lost in ((1, 2), (2, 1)):
                for sentence in self.silences(place, lost):
                    self.assertEqual(len(re.findall(sentence, job.said())), 1, job.said())

    def test_a_cable_that_is_pulled(self) -> None:
        with self.under_way("forever", network_timeout_s="3") as job:
            self.hosts.set_link(2, "down")
            try:
                # The launcher goes on waiting for its daemon on the lost host.
                for sentence in self.silences(1, 2):
                    self.await_that(lambda said=sentence: re.search(said, job.said()), job.said)
                for place in (1, 2):
                    self.await_that(lambda place=place: not self.ranks_on(place),
                                    lambda: f"ranks are left on a host\n{job.said()}")
            finally:
                self.hosts.set_link(2, "up")
                port = Path("/sys/class/net") / self.hosts.port(2) / "operstate"
                self.await_that(lambda: port.read_text() == "up\n", port.read_text)

    def test_ranks_that_are_killed_under_a_launcher_that_lets_the_others_be(self) -> None:
        with self.under_way("forever", options=("-disable-auto-cleanup",)) as job:
            for pid in self.ranks_on(2):
                os.kill(pid, signal.SIGKILL)
            self.await_that(lambda: not self.ranks_on(1), job.said)
            lost = "rank [23]" if self.ranks == "process" else "the process of ranks 2 to 3"
            told = re.findall(rf"(?m)^headway: rank [01]: {lost} on host '{self.hosts.space(2)}' ",
                              job.said())
            # Each process says it once.
            self.assertTrue(told, job.said())
            if self.ranks != "process":
                self.assertEqual(len(told), 1, job.said())

    def test_a_cut_that_is_short_does_no_harm(self) -> None:
        end = f"{self.folder}/end-after-the-cut"
        with self.under_way("until", end) as job:
            self.hosts.part(True)
            try:
                self.await_that(self.has_repeated, job.said)
            finally:
                self.hosts.part(False)
            Path(end).touch()
            self.assertEqual(job.process.wait(WATCHDOG_S), 0, job.said())

    def has_repeated(self) -> bool:
        """Whether a host had to send something again that is still not there."""
        return any(int(line.split()[6], 16) > 0 for place in (1, 2)
                   for line in self.hosts.read(place, "/proc/net/tcp").splitlines()[1:]
                   if line.split()[3] == IS_CONNECTED)


class LostHostsOfThreads(LostHosts):
    ranks = "thread"


class LostHostsOfUserLevelRanks(LostHosts):
    ranks = "ult"


class Strangers(LongJobTest):
    def test_ranks_listen_at_their_interface_and_nowhere_else(self) -> None:
        with self.under_way("forever"):
            for place in (1, 2):
                found = self.listeners(place)
                # Each rank for messages, and to be watched.
                self.assertGreaterEqual(len(found), 4)
                self.assertEqual({address for address, _ in found},
                                 {self.hosts.addresses[place - 1]})

    def test_whoever_finds_a_socket_of_a_job_does_it_no_harm(self) -> None:
        end = f"{self.folder}/end-after-strangers"
        draw = random.Random(7)
        with self.under_way("until", end) as job:
            for place in (1, 2):
                for address in self.listeners(place):
                    for text in (b"", b"GET / HTTP/1.1\r\n\r\n", draw.randbytes(20000), bytes(4096),
                                 b"\xff" * 64):
                        # Some are refused in the middle of what they say.
                        with socket.create_connection(address, WATCHDOG_S) as stranger, \
                                contextlib.suppress(OSError):
                            stranger.sendall(text)
            Path(end).touch()
            self.assertEqual(job.process.wait(WATCHDOG_S), 0, job.said())


if __name__ == "__main__":
    unittest.main()
