# SPDX-License-Identifier: Apache-2.0
"""Slurm starts jobs: a controller and two nodes of this machine, made for the test alone, without
accounts, keys, or a system that starts services. Run by `./dev test long slurm`, as root."""

import contextlib
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "faults"))
from job import WATCHDOG_S, Outcome, clean_environment, run, stage

WAYS = ("pmi2", "pmix")
NODES = ("one", "two")
CPUS = 4  # of each node, whatever the machine has


def free_ports(count: int) -> list[int]:
    """That nobody has now; they are taken again at once."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


class Cluster:
    """A controller and its nodes, until it is closed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.daemons: list[subprocess.Popen[bytes]] = []
        self.environment = clean_environment(SLURM_CONF=str(folder / "slurm.conf"),
                                             HEADWAY_OFI_INTERFACE="lo")
        (folder / "state").mkdir()
        host = socket.gethostname()
        controller, *ports = free_ports(1 + len(NODES))
        nodes = "".join(
            f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={CPUS}\n"
            for name, port in zip(NODES, ports, strict=True))
        (folder / "slurm.conf").write_text(
            f"ClusterName=box\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={controller}\n"
            f"SlurmUser=root\nSlurmdUser=root\nAuthType=auth/none\nCredType=cred/none\n"
            f"StateSaveLocation={folder}/state\nSlurmdSpoolDir={folder}/%n\n"
            f"SlurmctldPidFile={folder}/controller.pid\nSlurmdPidFile={folder}/%n.pid\n"
            f"ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n"
            f"JobAcctGatherType=jobacct_gather/none\nSelectType=select/cons_tres\n"
            f"SelectTypeParameters=CR_Core\nMpiDefault=none\nMailProg=/bin/true\n"
            f"ReturnToService=2\nSlurmdParameters=config_overrides\n{nodes}"
            f"PartitionName=box Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n")
        self.start("slurmctld", "-D", "-c")
        for name in NODES:
            (folder / name).mkdir()
            self.start("slurmd", "-D", "-N", name)
        self.await_nodes()

    def start(self, *words: str) -> None:
        output = (self.folder / f"{words[-1].strip('-')}.log").open("wb")
        with output:
            self.daemons.append(subprocess.Popen(words, env=self.environment, stdout=output,
                                                 stderr=output, stdin=subprocess.DEVNULL))

    def await_nodes(self) -> None:
        deadline = time.monotonic() + WATCHDOG_S
        while True:
            states = subprocess.run(["sinfo", "--noheader", "--Node", "--format=%T"],
                                    env=self.environment, capture_output=True, text=True,
                                    check=False).stdout.split()
            if states == ["idle"] * len(NODES):
                return
            has_left = any(daemon.poll() is not None for daemon in self.daemons)
            if has_left or time.monotonic() > deadline:
                logs = "".join(path.read_text()[-2000:] for path in self.folder.glob("*.log"))
                self.close()
                if has_left:
                    raise unittest.SkipTest(f"a daemon of Slurm does not run here:\n{logs}")
                raise RuntimeError(f"the nodes are {states}\n{logs}")
            time.sleep(0.1)

    def close(self) -> None:
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            daemon.wait(WATCHDOG_S)


def processes_of(program: Path) -> list[str]:
    """That run it still."""
    found = []
    for path in Path("/proc").glob("[0-9]*/exe"):
        with contextlib.suppress(OSError):
            if path.readlink() == program:
                found.append(path.parent.name)
    return found


@unittest.skipIf(os.geteuid() != 0, "the daemons of Slurm need root")
class SlurmTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="headway-slurm-")))
        cls.programs = {}
        for name in ("nodes", "between"):
            source = Path(__file__).parent / "programs" / f"{name}.c"
            cls.programs[name] = folder / name
            subprocess.run([stage() / "bin/mpicc", "-O1", "-o", folder / name, source], check=True)
        cls.cluster = Cluster(folder)
        cls.addClassCleanup(cls.cluster.close)

    def run_job(self, *words: object) -> Outcome:
        """Again where Slurm 22.05 fails before any rank has begun: its part that serves PMIx does
        so in one of 25 jobs, by itself."""
        for _ in range(5):
            done = run(words, self.cluster.environment)
            self.assertFalse(done.hung, str(done))
            if "aborted before step completely launched" not in done.stderr:
                break
        return done

    def check_nodes(self, done: Outcome, ranks: int, near: int) -> None:
        """All ranks met, and know who shares their node."""
        self.assertEqual(done.code, 0, done.stdout + done.stderr)
        total = ranks * (ranks - 1) // 2
        self.assertEqual(sorted(done.stdout.splitlines()),
                         [f"rank {rank} of {ranks}: {near} on its node, sum {total}"
                          for rank in range(ranks)], done.stderr)

    def test_srun_on_one_node(self) -> None:
        for way in WAYS:
            for ranks in (1, 3):
                with self.subTest(way=way, ranks=ranks):
                    done = self.run_job("srun", f"--mpi={way}", "--nodes=1", "-n", ranks,
                                        self.programs["nodes"])
                    self.check_nodes(done, ranks, ranks)

    def test_messages_of_all_lengths(self) -> None:
        for nodes, way in ((1, "pmi2"), (1, "pmix"), (2, "pmi2")):
            with self.subTest(nodes=nodes, way=way):
                done = self.run_job("srun", f"--mpi={way}", f"--nodes={nodes}", "-n", 4,
                                    self.programs["between"], 300_000)
                self.assertEqual(done.code, 0, done.stdout + done.stderr)
                self.assertEqual(len(done.stdout.splitlines()), 4, done.stderr)

    def test_srun_on_two_nodes(self) -> None:
        self.check_nodes(self.run_job("srun", "--mpi=pmi2", "--nodes=2", "--ntasks-per-node=2",
                                      self.programs["nodes"]), 4, 2)

    def test_mpiexec_in_an_allocation(self) -> None:
        mpiexec = stage() / "bin/mpiexec"
        self.check_nodes(self.run_job("salloc", "--quiet", "--nodes=1", "-n", 3, mpiexec, "-n", 3,
                                      self.programs["nodes"]), 3, 3)
        done = self.run_job("salloc", "--quiet", "--nodes=2", "--ntasks-per-node=2", mpiexec,
                            "-n", 4, self.programs["nodes"])
        self.check_nodes(done, 4, 2)
        self.assertRegex(done.stderr, r"headway mpiexec: on one, two \(Slurm job \d+\), started "
                         r"by /\S*/srun\n")

    def test_batch_job(self) -> None:
        output = self.cluster.folder / "batch"
        script = f"{stage()}/bin/mpiexec -n 2 {self.programs['nodes']}"
        done = self.run_job("sbatch", "--quiet", "--wait", "--nodes=1", "-n", 2,
                            f"--output={output}", f"--wrap={script}")
        self.assertEqual(done.code, 0, done.stderr)
        self.assertEqual(output.read_text().count(": 2 on its node, sum 1"), 2)

    def test_a_rank_that_aborts_ends_the_job(self) -> None:
        for way in WAYS:
            with self.subTest(way):
                done = self.run_job("srun", f"--mpi={way}", "--nodes=1", "-n", 3,
                                    self.programs["nodes"], 5)
                self.assertNotEqual(done.code, 0, done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertEqual(processes_of(self.programs["nodes"]), [])

    def test_bad_input(self) -> None:
        done = self.run_job("srun", "--mpi=none", "--nodes=1", "-n", 2, self.programs["nodes"])
        self.assertNotEqual(done.code, 0)
        for sentence in done.sentences():
            self.assertIn("was started by srun without PMI; use srun --mpi=pmix", sentence)
        self.assertEqual(len(done.sentences()), 2, done.stderr)
        done = self.run_job("salloc", "--quiet", "--nodes=2", "-n", 4, stage() / "bin/mpiexec",
                            "--timeout", 5, "-n", 4, self.programs["nodes"])
        self.assertNotEqual(done.code, 0)
        self.assertTrue(re.search("srun ends jobs by whole minutes only", done.stderr), done.stderr)


if __name__ == "__main__":
    unittest.main()
