# SPDX-License-Identifier: Apache-2.0
"""Hosts made of network namespaces on a bridge, for tests and benches; gone when these end, come
what may.

`python3 -m headway.hosts run N COMMAND...` gives a command N hosts and takes them away again; it
finds their addresses in HOSTS.
"""

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from headway.cpu_group import one_group

LAUNCHER = Path(__file__).resolve().parent / "on_host.sh"


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True, timeout=30)


def why_not() -> str:
    """Why this machine cannot have such hosts; "" if it can."""
    for tool in ("ip", "unshare", "mount"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed (./dev setup hosts)"
    probe = subprocess.run(
        ["unshare", "--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--mount-proc", "sh",
         "-c", "ip link add probe0 type veth peer name probe1 && mount -t tmpfs none /mnt"],
        capture_output=True, text=True, check=False, timeout=30)
    if probe.returncode != 0:
        return "namespaces are not permitted here: " + (probe.stderr.strip() or "no reason given")
    if os.geteuid() != 0:
        return "only root may name network namespaces"
    return ""


@dataclass(frozen=True)
class Hosts:
    """`count` hosts; their number on the bridge's network is their place from 1 on."""
    tag: str
    subnet: str
    count: int

    @property
    def bridge(self) -> str:
        return f"{self.tag}b"

    @property
    def addresses(self) -> list[str]:
        return [f"{self.subnet}.{place}" for place in range(1, self.count + 1)]

    def space(self, place: int) -> str:
        return f"{self.tag}h{place}"

    def port(self, place: int) -> str:
        """The end of the host's cable that is on this machine."""
        return f"{self.tag}p{place}"

    def environment(self, cores: Sequence[int] = ()) -> dict[str, str]:
        """What a launcher needs to reach the hosts; each has the core of its place, if they are
        given."""
        confined = {"HOSTS_CORES": " ".join(map(str, cores))} if cores else {}
        return {"HOSTS_OF_TEST": f"{self.tag}h", **confined}

    def bytes_received(self, place: int) -> int:
        """Bytes that a host has received from the bridge since it is there."""
        counter = Path("/sys/class/net") / self.port(place) / "statistics/tx_bytes"
        return int(counter.read_text())

    def set_link(self, place: int, state: str) -> None:
        """Plugs the host's cable in ("up") or out ("down"), and lets it forget whom it has not
        reached."""
        _ip("link", "set", self.port(place), state)
        _ip("-n", self.space(place), "neigh", "flush", "all")
        _ip("neigh", "flush", "dev", self.bridge)

    def limit(self, rate: str) -> None:
        """From now on no host sends faster than `rate` ("1gbit"); what is too fast waits."""
        for place in range(1, self.count + 1):
            subprocess.run(["ip", "netns", "exec", self.space(place), "tc", "qdisc", "add", "dev",
                            "eth0", "root", "tbf", "rate", rate, "burst", "256k", "latency",
                            "50ms"], check=True, timeout=30)

    def part(self, is_parted: bool) -> None:
        """Nothing passes between hosts any more, unnoticed, while this machine reaches all; or all
        as before."""
        for place in range(1, self.count + 1):
            _ip("link", "set", self.port(place), "type", "bridge_slave", "isolated",
                "on" if is_parted else "off")

    def read(self, place: int, path: str) -> str:
        """A file as it is on a host."""
        return subprocess.run(["ip", "netns", "exec", self.space(place), "cat", path],
                              capture_output=True, text=True, check=True, timeout=30).stdout

    def processes(self, place: int) -> list[int]:
        """Living processes of a host."""
        listing = subprocess.run(["ip", "netns", "pids", self.space(place)],
                                 capture_output=True, text=True, check=True, timeout=30)
        return [int(word) for word in listing.stdout.split()]

    def hydra(self, mpiexec: str, ranks: int, per_host: int, *words: str) -> list[str]:
        """The command that starts a job over all hosts by an mpiexec.hydra."""
        return [mpiexec, "-launcher", "ssh", "-launcher-exec", str(LAUNCHER), "-iface", self.bridge,
                "-hosts", ",".join(self.addresses), "-n", str(ranks), "-ppn", str(per_host), *words]

    def prterun(self, mpirun: str, ranks: int, per_host: int, *words: str) -> list[str]:
        """The same by Open MPI's mpirun."""
        listed = ",".join(f"{address}:{per_host}" for address in self.addresses)
        return [mpirun, "--allow-run-as-root", "--host", listed, "--prtemca", "plm_ssh_agent",
                str(LAUNCHER), "--prtemca", "plm_ssh_no_tree_spawn", "1", "--prtemca",
                "prte_if_include", f"{self.subnet}.0/24", "-n", str(ranks), *words]

    def up(self) -> None:
        _ip("link", "add", self.bridge, "type", "bridge")
        _ip("addr", "add", f"{self.subnet}.254/24", "dev", self.bridge)
        _ip("link", "set", self.bridge, "up")
        for place in range(1, self.count + 1):
            space = self.space(place)
            _ip("netns", "add", space)
            _ip("link", "add", self.port(place), "type", "veth", "peer", "name", "eth0", "netns",
                space)
            _ip("link", "set", self.port(place), "master", self.bridge, "up")
            _ip("-n", space, "link", "set", "lo", "up")
            _ip("-n", space, "addr", "add", f"{self.subnet}.{place}/24", "dev", "eth0")
            _ip("-n", space, "link", "set", "eth0", "up")

    def down(self) -> None:
        """Takes away what is there of it, with the processes that are left in it."""
        for place in range(1, self.count + 1):
            listing = subprocess.run(["ip", "netns", "pids", self.space(place)],
                                     capture_output=True, text=True, check=False, timeout=30)
            for word in listing.stdout.split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(word), signal.SIGKILL)
            for words in (("link", "del", self.port(place)), ("netns", "del", self.space(place))):
                subprocess.run(["ip", *words], capture_output=True, check=False, timeout=30)
        subprocess.run(["ip", "link", "del", self.bridge], capture_output=True, check=False,
                       timeout=30)


@contextlib.contextmanager
def hosts(count: int) -> Iterator[Hosts]:
    """Hosts with names and addresses that others on this machine do not have."""
    tag = f"hw{secrets.token_hex(2)}"
    made = Hosts(tag, f"10.{100 + secrets.randbelow(100)}.{secrets.randbelow(256)}", count)
    # A test that is told to end takes its hosts away first.
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        with one_group():
            made.up()
            yield made
    finally:
        made.down()
        signal.signal(signal.SIGTERM, before)


def main(arguments: list[str]) -> int:
    if len(arguments) < 3 or arguments[0] != "run":
        print(__doc__, file=sys.stderr)
        return 2
    reason = why_not()
    if reason:
        print(f"headway: no hosts: {reason}", file=sys.stderr)
        return 77
    with hosts(int(arguments[1])) as made:
        environment = os.environ | made.environment() | {
            "HOSTS": ",".join(made.addresses), "HOSTS_BRIDGE": made.bridge,
            "HOSTS_LAUNCHER": str(LAUNCHER)}
        return subprocess.run(arguments[2:], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
