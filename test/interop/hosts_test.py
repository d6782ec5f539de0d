# SPDX-License-Identifier: Apache-2.0
# headway-needs: hosts
"""Jobs of mpiexec.hydra over hosts made of network namespaces: libfabric between them, the node
heap within."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from headway import hosts  # noqa: E402

WATCHDOG_S = 60


def stage() -> Path:
    """Where Headway is installed; HEADWAY_STAGE names it."""
    return Path(os.environ.get("HEADWAY_STAGE", ROOT / "build/stage")).resolve()


def find_hydra() -> str | None:
    """An mpiexec.hydra: named by HEADWAY_HYDRA, on PATH, beside Python, of fetched rivals."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "headway/rivals"
    for path in (os.environ.get("HEADWAY_HYDRA"), shutil.which("mpiexec.hydra"),
                 Path(sys.executable).parent / "mpiexec.hydra",
                 *sorted(cache.glob("mpich*/bin/mpiexec.hydra"))):
        if path is not None and os.access(path, os.X_OK):
            return str(path)
    return None


def why_not() -> str:
    """Why jobs over hosts cannot be tried here; "" if they can."""
    reason = hosts.why_not()
    if not reason and find_hydra() is None:
        reason = "there is no mpiexec.hydra (set HEADWAY_HYDRA, or fetch the rivals)"
    if not reason and not (stage() / "lib/libheadway_ofi.so").exists():
        reason = "Headway was built without libfabric"
    return reason


def host_words(ranks: str, count: int) -> list[str]:
    """What goes before a program of whose ranks each process has `count`, which are threads of its
    ("thread") or user-level ones ("ult")."""
    return [str(stage() / "bin/headway-host"), "-n", str(count),
            *(["--ult"] if ranks == "ult" else [])]


def plain_environment() -> dict[str, str]:
    """The environment without marks of a launcher, and without settings."""
    return {name: value for name, value in os.environ.items()
            if not name.startswith(("PMI_", "PMIX_", "HEADWAY_", "FI_"))}


WHY_NOT = why_not()


@unittest.skipIf(WHY_NOT, WHY_NOT)
class HostsTest(unittest.TestCase):
    """Two hosts for all tests of a class."""

    count = 2
    hosts: hosts.Hosts
    hydra: str
    folder: str
    between: str

    @classmethod
    def setUpClass(cls) -> None:
        cls.hydra = str(find_hydra())
        cls.hosts = cls.enterClassContext(hosts.hosts(cls.count))
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.between = cls.compiled("between")

    @classmethod
    def compiled(cls, name: str) -> str:
        """A program of this folder."""
        path = f"{cls.folder}/{name}"
        subprocess.run([stage() / "bin/mpicc", "-O1", "-Wall", "-Wextra", "-Werror", "-o", path,
                        ROOT / f"test/interop/programs/{name}.c"], check=True)
        return path

    def start(self, ranks: int, per_host: int, *words: str,
              **settings: str) -> subprocess.CompletedProcess[str]:
        """Runs a job to its end; `settings` are knobs."""
        environment = plain_environment() | self.hosts.environment()
        environment |= {f"HEADWAY_{name.upper()}": value for name, value in settings.items()}
        return subprocess.run(
            self.hosts.hydra(self.hydra, ranks, per_host, *words), env=environment,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WATCHDOG_S,
            check=False)

    def run_between(self, ranks: int, per_host: int, *words: str,
                    **settings: str) -> dict[int, str]:
        """Host of every rank, of a job that must end well."""
        done = self.start(ranks, per_host, self.between, *words, **settings)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        where = {int(rank): host for rank, host in
                 re.findall(r"^between: rank (\d+) of \d+ on (\S+)$", done.stdout, re.MULTILINE)}
        self.assertEqual(sorted(where), list(range(ranks)), done.stdout + done.stderr)
        return where


class Jobs(HostsTest):
    def test_a_burst_leaves_while_its_sender_computes(self) -> None:
        for ranks, per_host in ((2, 1), (4, 2)):
            with self.subTest(ranks=ranks), tempfile.TemporaryDirectory() as folder:
                self.run_between(ranks, per_host, "burst", folder)

    def test_a_burst_leaves_where_nobody_makes_progress(self) -> None:
        for ranks, per_host in ((2, 1), (4, 2)):
            with self.subTest(ranks=ranks), tempfile.TemporaryDirectory() as folder:
                self.run_between(ranks, per_host, "burst", folder, "connected", progress="none")

    def test_a_rank_a_host(self) -> None:
        largest = 2_000_000
        before = [self.hosts.bytes_received(place) for place in (1, 2)]
        where = self.run_between(2, 1, str(largest))
        self.assertEqual(where, {0: self.hosts.space(1), 1: self.hosts.space(2)})
        # Twice the largest message each way, and 1 MiB four times, went over the cable.
        for place in (1, 2):
            self.assertGreater(self.hosts.bytes_received(place) - before[place - 1],
                               2 * largest + 4 * (1 << 20))

    def test_two_ranks_a_host(self) -> None:
        where = self.run_between(4, 2, "100000")
        self.assertEqual([where[rank] for rank in range(4)],
                         [self.hosts.space(place) for place in (1, 1, 2, 2)])

    def test_ranks_of_a_host_are_neighbours_however_they_are_dealt_out(self) -> None:
        where = self.run_between(5, 1, "20000")
        self.assertEqual([where[rank] for rank in range(5)],
                         [self.hosts.space(place) for place in (1, 1, 1, 2, 2)])

    def test_over_another_provider(self) -> None:
        self.run_between(2, 1, "300000", ofi_provider="tcp")

    def test_offers_only_and_nobody_who_helps(self) -> None:
        self.run_between(2, 1, "100000", eager_limit="0")
        self.run_between(3, 2, "20000", unexpected_limit="0", cma="off")

    def test_long_messages_are_read(self) -> None:
        self.run_between(2, 1, "300000", network_push_max="0")
        self.run_between(2, 1, "100000", network_push_max="0", network_read_min="0",
                         eager_limit="0")

    def test_long_messages_in_frames(self) -> None:
        self.run_between(2, 1, "300000", network_push_max="0", network_read_min="1T")

    def test_some_long_messages_do_not_wait_to_be_asked_for(self) -> None:
        self.run_between(2, 1, "300000", network_push_max="400K")
        self.run_between(4, 2, "300000", network_push_max="400K", network_read_min="1T",
                         eager_limit="0")

    def test_a_wrong_setting_is_told(self) -> None:
        for _ in range(8):  # a launcher that ends the job at once may drop what it has not read
            done = self.start(2, 1, self.between, "0", eager_limit="much")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("HEADWAY_EAGER_LIMIT is 'much'", done.stderr)

    def test_a_small_window(self) -> None:
        self.run_between(2, 1, "300000", network_window="128K", network_push_max="0",
                         network_read_min="1T")


    def test_a_start_reads_little(self) -> None:
        if os.path.exists("/sys/class/infiniband"):
            self.skipTest("NOT TESTED: with RDMA devices libfabric looks through the kernel")
        done = self.start(2, 1, self.compiled("start_reads"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        counts = [int(count) for count in re.findall(r"has read (\d+) bytes", done.stdout)]
        self.assertEqual(len(counts), 2, done.stdout)
        # The symbols of a kernel have 4 MB and more.
        self.assertLess(max(counts), 2_000_000)


    def test_under_prterun(self) -> None:
        cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "headway/rivals"
        found = sorted(cache.glob("openmpi*/bin/mpirun"))
        if not found:
            self.skipTest("NOT TESTED: no Open MPI among the rivals (./dev rivals openmpi)")
        for words in ((), ("--map-by", "node")):
            done = subprocess.run(
                self.hosts.prterun(str(found[-1]), 4, 2, "--bind-to", "none", *words, self.between,
                                   "100000"),
                env=plain_environment() | self.hosts.environment(), stdin=subprocess.DEVNULL,
                capture_output=True, text=True, timeout=WATCHDOG_S, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            where = dict(re.findall(r"^between: rank (\d+) of 4 on (\S+)$", done.stdout,
                                    re.MULTILINE))
            self.assertEqual([where[str(rank)] for rank in range(4)],
                             [self.hosts.space(place) for place in (1, 1, 2, 2)])


class RegisteredMemory(HostsTest):
    """Sockets are treated as hardware that has to know memory."""

    def test_jobs(self) -> None:
        few = {"network_regions": "2", "network_region_bytes": "100K"}
        for limits in ({}, {"network_regions": "0"}, few):
            self.run_between(2, 1, "300000", ofi_registration="all", **limits)
        self.run_between(4, 2, "100000", ofi_registration="all", network_read_min="0",
                         eager_limit="0")
        self.run_between(2, 1, "300000", ofi_registration="all", ofi_provider="tcp")

    def counts(self, **settings: str) -> list[dict[str, int]]:
        """What the two ranks have counted over memory that stays and memory that changes."""
        done = self.start(2, 1, self.compiled("regions"), **settings)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found: list[dict[str, int]] = [{}, {}]
        for rank, name, count in re.findall(r"regions: rank (\d) network_region_(\w+) (\d+)",
                                            done.stdout):
            found[int(rank)][name] = int(count)
        return found

    def test_memory_that_stays_is_registered_once(self) -> None:
        told = subprocess.run([stage() / "bin/headway", "info"], capture_output=True, text=True,
                              check=True).stdout
        if "stays registered" not in told:
            self.skipTest("NOT TESTED: the system does not tell when memory changes")
        for counts in self.counts(ofi_registration="all"):
            self.assertEqual(counts["hits"] + counts["misses"], 40, counts)
            self.assertGreater(counts["hits"], 0, counts)
            self.assertGreaterEqual(counts["misses"], 20, counts)
            self.assertGreater(counts["invalidations"], 0, counts)
        for counts in self.counts(ofi_registration="all", network_regions="0"):
            self.assertEqual((counts["hits"], counts["misses"]), (0, 40))

    def test_libfabric_watches_nothing_itself(self) -> None:
        for asked, used in (({}, "disabled"), ({"FI_MR_CACHE_MONITOR": "memhooks"}, "memhooks")):
            done = subprocess.run(
                self.hosts.hydra(self.hydra, 2, 1, self.between, "1000"),
                env=plain_environment() | self.hosts.environment() | asked
                | {"FI_LOG_LEVEL": "info"},
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WATCHDOG_S,
                check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            read = re.findall(r"read string var mr_cache_monitor=(\w+)", done.stderr)
            self.assertEqual(read, 2 * [used])

    def test_sockets_need_none_of_it(self) -> None:
        sender, receiver = self.counts(network_push_max="0")
        self.assertEqual((sender["hits"], sender["misses"]), (0, 40))
        self.assertEqual(receiver["misses"], 0)


class RanksThatAreThreads(HostsTest):
    """One process a host, with one endpoint for all its ranks."""

    def run_hosted(self, ranks: str, count: int, *words: str, **settings: str) -> None:
        """A job with `count` ranks on each host that must end well."""
        done = self.start(2, 1, *host_words(ranks, count), self.between, *words, **settings)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        where = dict(re.findall(rf"^between: rank (\d+) of {2 * count} on (\S+)$", done.stdout,
                                re.MULTILINE))
        self.assertEqual([where.get(str(rank)) for rank in range(2 * count)],
                         [self.hosts.space(place) for place in (1, 2) for _ in range(count)],
                         done.stdout + done.stderr)

    def test_two_ranks_a_host(self) -> None:
        for ranks in ("thread", "ult"):
            self.run_hosted(ranks, 2, "300000")
            self.run_hosted(ranks, 2, "100000", ofi_registration="all")

    def test_many_ranks_of_one_endpoint(self) -> None:
        self.run_hosted("ult", 12, "3000")
        self.run_hosted("thread", 5, "3000")

    def test_long_messages_in_frames_and_a_small_window(self) -> None:
        for ranks in ("thread", "ult"):
            self.run_hosted(ranks, 2, "300000", network_window="128K", network_read_min="1T")
            self.run_hosted(ranks, 2, "100000", network_read_min="0", eager_limit="0")

    def test_hosts_that_take_different_numbers_are_refused(self) -> None:
        command = (f"case $(hostname) in {self.hosts.space(2)}) n=3;; *) n=2;; esac; "
                   f"exec {stage()}/bin/headway-host -n $n {self.between} 1000")
        done = self.start(2, 1, "sh", "-c", command)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stdout + done.stderr,
                         "processes of a job on several nodes host as many ranks each, but this "
                         "one 3 and the first one 2; start as many")


class OwnMpiexec(HostsTest):
    """mpiexec where a job is not for this machine alone."""

    def hand_over(self, ranks: int, *words: str, **batch: str) -> subprocess.CompletedProcess[str]:
        """A job of our mpiexec; `batch` is what a batch system sets."""
        environment = plain_environment() | self.hosts.environment() | batch
        environment["PATH"] = f"{Path(self.hydra).parent}:{environment['PATH']}"
        return subprocess.run(
            [stage() / "bin/mpiexec", "-launcher", "ssh", "-launcher-exec", str(hosts.LAUNCHER),
             "-iface", self.hosts.bridge, *words, "-n", str(ranks), self.between, "20000"],
            env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=WATCHDOG_S, check=False)

    def expect(self, done: subprocess.CompletedProcess[str], source: str,
               places: list[int]) -> None:
        """Ranks are on the hosts of these places, and the launcher was named."""
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"headway mpiexec: on {', '.join(self.hosts.addresses)} ({source}), started "
                      f"by {self.hydra}\n", done.stderr)
        where = dict(re.findall(r"^between: rank (\d+) of \d+ on (\S+)$", done.stdout,
                                re.MULTILINE))
        self.assertEqual([where[str(rank)] for rank in range(len(places))],
                         [self.hosts.space(place) for place in places])

    def test_hosts_by_name(self) -> None:
        self.expect(self.hand_over(4, "--hosts", ",".join(self.hosts.addresses), "--ppn", "2"),
                    "--hosts", [1, 1, 2, 2])

    def test_ranks_that_are_threads(self) -> None:
        names = ",".join(self.hosts.addresses)
        for ranks in ("thread", "ult"):
            self.expect(self.hand_over(4, "--hosts", names, "--ranks", ranks), "--hosts",
                        [1, 1, 2, 2])
        done = self.hand_over(5, "--hosts", names, "--ranks", "thread")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, "are as many in every process .* which they cannot be here; "
                                      "choose -n and --ppn")

    def test_hosts_of_a_batch_job(self) -> None:
        first, second = self.hosts.addresses
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(f"{first}\n{second}\n{second}\n")
            file.flush()
            self.expect(self.hand_over(3, PBS_JOBID="7.here", PBS_NODEFILE=file.name),
                        "PBS job 7.here", [1, 2, 2])
        self.expect(self.hand_over(3, LSB_JOBID="9", LSB_MCPU_HOSTS=f"{first} 2 {second} 1"),
                    "LSF job 9", [1, 1, 2])

    def test_no_launcher_is_said_in_one_sentence(self) -> None:
        environment = plain_environment() | {"PATH": "/nowhere"}
        done = subprocess.run([stage() / "bin/mpiexec", "--hosts", self.hosts.addresses[0], "true"],
                              env=environment, capture_output=True, text=True, check=False,
                              timeout=WATCHDOG_S)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, "^headway mpiexec: .* no mpiexec.hydra is on PATH; .*\n$")


class Faults(HostsTest):
    def test_a_rank_that_is_a_thread_ends_the_job(self) -> None:
        for ranks in ("thread", "ult"):
            done = self.start(2, 1, *host_words(ranks, 2), self.between, "abort")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("between: rank 3: was told to abort", done.stdout + done.stderr)

    def test_a_host_whose_ranks_are_killed_ends_the_job(self) -> None:
        job = subprocess.Popen(
            self.hosts.hydra(self.hydra, 4, 2, self.between, "forever"),
            env=plain_environment() | self.hosts.environment(), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            assert job.stdout is not None
            for line in job.stdout:
                if line.startswith("between: under way"):
                    break
            else:
                self.fail(f"the job ended by itself: {job.wait(WATCHDOG_S)}")
            ranks = [pid for pid in self.hosts.processes(2)
                     if os.path.basename(os.path.realpath(f"/proc/{pid}/exe")) == "between"]
            self.assertEqual(len(ranks), 2)
            for pid in ranks:
                # Who sees the first one die may have ended the second.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.assertNotEqual(job.wait(WATCHDOG_S), 0)
        finally:
            job.kill()
            job.communicate()
        deadline = time.monotonic() + WATCHDOG_S
        while self.hosts.processes(1) + self.hosts.processes(2) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(self.hosts.processes(1) + self.hosts.processes(2), [])


class Refusals(HostsTest):
    def refusal(self, *words: str, **settings: str) -> str:
        done = self.start(2, 1, *(words or (self.between, "1000")), **settings)
        self.assertNotEqual(done.returncode, 0)
        found = re.search(r"^headway: rank \d+: .*$", done.stdout + done.stderr, re.MULTILINE)
        self.assertIsNotNone(found, done.stdout + done.stderr)
        return found[0] if found else ""

    def test_a_provider_that_is_not_there(self) -> None:
        said = self.refusal(ofi_provider="pigeons")
        self.assertRegex(said, "no libfabric provider .*HEADWAY_OFI_PROVIDER=pigeons; there are: ")

    def test_an_interface_that_is_not_there(self) -> None:
        self.assertRegex(self.refusal(ofi_interface="eth7"),
                         "HEADWAY_OFI_INTERFACE=eth7; there are: ")

    def test_hosts_without_a_way_to_each_other(self) -> None:
        self.hosts.part(True)
        try:
            self.assertRegex(self.refusal(network_timeout_s="20"), self.unreached)
        finally:
            self.hosts.part(False)

    def test_hosts_without_a_route(self) -> None:
        route = ("ip", "-n", self.hosts.space(1), "route")
        kind = ("unreachable", f"{self.hosts.addresses[1]}/32")
        subprocess.run([*route, "add", *kind], check=True, timeout=30)
        try:
            self.assertRegex(self.refusal(), self.unreached)
        finally:
            subprocess.run([*route, "del", *kind], check=True, timeout=30)

    unreached = (r"host '\w+' \(rank [01]\) cannot be reached at [0-9.]+,\d+ \(.*\); is it alive, "
                 "is there a route to it, and does a firewall let processes of the job through")

    def patched(self, before: bytes, after: bytes) -> str:
        """A shell command that runs a program, on the second host with a library that says
        something else in its version."""
        other = Path(tempfile.mkdtemp(dir=self.folder))
        for name in ("libmpi_abi.so.1", "libheadway_ofi.so"):
            code = (stage() / "lib" / name).read_bytes()
            self.assertTrue(before in code or name != "libmpi_abi.so.1", "nothing to change")
            (other / name).write_bytes(code.replace(before, after))
        return (f"case $(hostname) in {self.hosts.space(2)}) "
                f"export LD_PRELOAD={other}/libmpi_abi.so.1;; esac; exec {self.between} 1000")

    def test_another_version_on_another_host(self) -> None:
        command = self.patched(b"0.1.0", b"0.1.9")
        # What is compared ends in the kind of machine.
        self.assertRegex(self.refusal("sh", "-c", command),
                         r"rank [01] on host '\w+' runs Headway_0\.1\.[09],\S*_for_\S+ "
                         r"and this one Headway_0\.1\.[09],\S*_for_\S+; "
                         "install the same Headway on all hosts")


if __name__ == "__main__":
    unittest.main()
