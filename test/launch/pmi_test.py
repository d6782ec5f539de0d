# SPDX-License-Identifier: Apache-2.0
"""PMI-1 in both directions: our server, our client under other servers, and garbage from either."""

import os
import random
import shutil
import socket
import subprocess
import sys
import unittest
from pathlib import Path

import fixture

BOOT = ("boot", "descriptor_message", "pmi1", "pmi1_connection", "pmi1_line", "pmix",
        "pmix_library", "single")


def find_hydras() -> list[str]:
    """Each mpiexec.hydra: named by HEADWAY_HYDRA, on PATH, beside Python, of fetched rivals."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "headway/rivals"
    candidates = [os.environ.get("HEADWAY_HYDRA"), shutil.which("mpiexec.hydra"),
                  Path(sys.executable).parent / "mpiexec.hydra",
                  *sorted(cache.glob("*/bin/mpiexec.hydra"))]
    return sorted({str(Path(path).resolve()) for path in candidates
                   if path is not None and os.access(path, os.X_OK)})


class Server(fixture.LaunchTest):
    def ask(self, request: str, *before: str) -> str:
        """The answer of our server to one line."""
        done = self.run_job(self.talker, "init", *before, f"send={request}", "receive", "finalize")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def test_answers(self) -> None:
        name = self.ask("cmd=get_my_kvsname").rpartition("=")[2]
        self.assertRegex(name, r"^\d+-[0-9a-f]{8}$")
        self.assertEqual(self.ask("cmd=get_maxes"),
                         "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024")
        self.assertEqual(self.ask("cmd=get_appnum"), "cmd=appnum rc=0 appnum=0")
        self.assertEqual(self.ask("cmd=get_universe_size"), "cmd=universe_size rc=0 size=1")
        self.assertEqual(self.ask("cmd=init pmi_version=3 pmi_subversion=0"),
                         "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1")
        self.assertIn("rc=-1", self.ask("cmd=get kvsname=other key=PMI_process_mapping"))
        self.assertIn("rc=-1", self.ask("cmd=put kvsname=other key=a value=b"))
        self.assertIn("rc=-2", self.ask("cmd=getbyidx kvsname=x idx=99"))
        self.assertIn("rc=-1", self.ask("cmd=create_kvs"))

    def test_dictionary(self) -> None:
        done = self.run_job("-l", "-n", "2", "sh", "-c", f"exec {self.talker} init "
                            '"1:send=cmd=put kvsname=$HEADWAY_JOB key=k value=a=b" 1:receive fence '
                            '"0:send=cmd=get kvsname=$HEADWAY_JOB key=k" 0:receive '
                            '"0:send=cmd=getbyidx kvsname=$HEADWAY_JOB idx=1" 0:receive '
                            '"0:send=cmd=get kvsname=$HEADWAY_JOB key=PMI_process_mapping" '
                            "0:receive finalize")
        self.assertEqual(sorted(done.stdout.splitlines()), [
            "[0] cmd=get_result rc=0 msg=success value=(vector,(0,1,2))",
            "[0] cmd=get_result rc=0 msg=success value=a=b",
            "[0] cmd=getbyidx_results rc=0 nextidx=2 key=k val=a=b",
            "[1] cmd=put_result rc=0 msg=success"], done.stderr)

    def test_published_names(self) -> None:
        done = self.run_job("-l", "-n", "2", self.talker, "init",
                            "0:send=cmd=publish_name service=s port=p", "0:receive", "fence",
                            "1:send=cmd=lookup_name service=s", "1:receive", "fence",
                            "0:send=cmd=unpublish_name service=s", "0:receive", "fence",
                            "1:send=cmd=lookup_name service=s", "1:receive", "finalize")
        lines = done.stdout.splitlines()
        self.assertEqual([line for line in lines if line.startswith("[0]")], [
            "[0] cmd=publish_result info=ok rc=0 msg=success",
            "[0] cmd=unpublish_result info=ok rc=0 msg=success"])
        self.assertEqual([line for line in lines if line.startswith("[1]")], [
            "[1] cmd=lookup_result info=ok rc=0 port=p",
            "[1] cmd=lookup_result info=no rc=-1 msg=service_not_found"])

    def test_spawn_is_refused_with_a_reason(self) -> None:
        self.assertEqual(self.ask("endcmd", "send=mcmd=spawn", "send=nprocs=2",
                                  "send=execname=./a b"),
                         "cmd=spawn_result rc=-1 msg=headway_mpiexec_cannot_spawn_yet")

    def test_programs_are_numbered(self) -> None:
        steps = (self.talker, "init", "send=cmd=get_appnum", "receive", "finalize")
        done = self.run_job("-l", *steps, ":", "-n", "2", *steps)
        self.assertEqual(sorted(done.stdout.splitlines()),
                         [f"[{rank}] cmd=appnum rc=0 appnum={program}"
                          for rank, program in ((0, 0), (1, 1), (2, 1))])

    def check_garbage(self, pattern: str, *steps: str) -> None:
        done = self.run_job("-n", "2", self.talker, *steps, "pause")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, r"^headway mpiexec: rank 1 \(pid \d+\) " + pattern + "\n$")

    def test_garbage_ends_the_job_with_one_sentence(self) -> None:
        end = " on its PMI connection, which is not PMI-1; the job was ended"
        self.check_garbage(rf"sent a line with bytes that are not text: '\\x00\\xff'{end}",
                           "1:hex=00ff0a")
        self.check_garbage(rf"sent a line that does not start with a command: ''{end}", "1:hex=0a")
        self.check_garbage(rf"sent a line with a word that is not key=value: 'hello'{end}",
                           "1:send=hello")
        self.check_garbage(rf"sent an unknown command: 'cmd=frobnicate'{end}",
                           "init", "1:send=cmd=frobnicate")
        self.check_garbage(rf"sent a line that is too long: 'a{{60}}\.\.\.'{end}",
                           f"1:hex={'61' * 8300}")
        self.check_garbage(rf"sent a command while it waits in a barrier: 'cmd=get_appnum'{end}",
                           "init", "1:send=cmd=barrier_in", "1:send=cmd=get_appnum")

    def test_random_bytes_never_hang_the_server(self) -> None:
        source = random.Random(7)
        for _ in range(20):
            noise = bytes(source.randrange(256) for _ in range(source.randrange(1, 200))) + b"\n"
            done = self.run_job("-n", "2", self.talker, f"1:hex={noise.hex()}", "pause")
            self.assertEqual(done.returncode, 1, noise)
            self.assertEqual(done.stderr.count("\n"), 1, noise)

    def test_a_closed_connection_ends_the_job(self) -> None:
        self.check_garbage("closed its PMI connection without MPI_Finalize; the other ranks were "
                           "ended", "init", "1:close")

    def test_requests_without_reading_end_the_job(self) -> None:
        flood = "while :; do echo cmd=get_maxes; done >&$PMI_FD"
        done = self.run_job("sh", "-c", flood)
        self.assertEqual(done.returncode, 1)
        self.assertIn("requests without reading the replies", done.stderr)


class Client(fixture.LaunchTest):
    client: str

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.client = str(Path(cls._programs.name) / "boot_client")
        sources = [fixture.ROOT / f"src/boot/{name}.cpp" for name in BOOT]
        subprocess.run(["c++", "-std=c++20", "-O0", "-I", fixture.ROOT / "src", "-o", cls.client,
                        fixture.HERE / "programs/boot_client.cpp", *sources], check=True)

    def expected(self, count: int, launcher: str, job: str = "named") -> list[str]:
        return [f"{rank}/{count} value-{(rank + 1) % count}=x nodes={'0' * count} "
                f"launcher={launcher} job={job} clean" for rank in range(count)]

    def test_under_our_mpiexec(self) -> None:
        for count in (1, 2, 5):
            done = self.run_job("-n", str(count), self.client)
            self.assertEqual((done.returncode, sorted(done.stdout.splitlines())),
                             (0, self.expected(count, "headway mpiexec")), done.stderr)

    def test_without_launcher(self) -> None:
        done = subprocess.run([self.client], env=self.environment, capture_output=True, text=True,
                              timeout=fixture.WATCHDOG_S)
        self.assertEqual(done.stdout.splitlines(),
                         self.expected(1, "none (singleton)", "none"))

    def test_under_hydra(self) -> None:
        hydras = find_hydras()
        if not hydras:
            self.skipTest("NOT TESTED: no mpiexec.hydra; install the wheel mpich==5.0.2 or set "
                          "HEADWAY_HYDRA")
        for hydra in hydras:
            for words in ([], ["-pmi-port"]):
                with self.subTest(hydra=hydra, words=words):
                    done = self.run_job(*words, "-n", "3", self.client, command=hydra)
                    if "unrecognized argument pmi-port" in done.stderr:
                        self.skipTest("NOT TESTED: this Hydra has no -pmi-port")
                    self.assertEqual((done.returncode, sorted(done.stdout.splitlines())),
                                     (0, self.expected(3, "PMI-1 server")), done.stderr)
            with self.subTest(hydra=hydra, ends="abort"):
                done = self.run_job("-n", "2", self.client, "abort", command=hydra)
                self.assertEqual(done.returncode, 7)
                self.assertIn("this is the reason", done.stderr)
        fixture.await_that(lambda: fixture.marked_processes(self.mark) == [],
                           "Hydra to end its processes, which it does after its own end")

    def test_abort(self) -> None:
        done = self.run_job("-n", "2", self.client, "abort")
        self.assertEqual(done.returncode, 7)
        self.assertRegex(done.stderr, r"^this is the reason\nheadway mpiexec: rank 1 \(pid \d+\) "
                         "aborted the job with code 7; the other ranks were ended\n$")

    def refusal(self, **variables: str) -> str:
        """What the client says when it is started with these variables."""
        done = subprocess.run([self.client], env=self.environment | variables, text=True,
                              capture_output=True, timeout=fixture.WATCHDOG_S)
        self.assertEqual((done.returncode, done.stdout), (9, ""))
        return done.stderr

    def test_other_launchers_are_refused_with_the_cure(self) -> None:
        for name in ("PMIX_NAMESPACE", "PMIX_RANK"):
            answer = self.refusal(**{name: "0"})
            self.assertIn("PMIx", answer)
            self.assertIn("mpiexec.hydra", answer)
        self.assertIn("srun --mpi=pmix", self.refusal(SLURM_STEP_ID="0", SLURM_PROCID="1",
                                                      SLURM_STEP_NUM_TASKS="4"))

    def test_broken_variables_are_refused(self) -> None:
        self.assertIn("PMI_FD is 'x'", self.refusal(PMI_FD="x", PMI_RANK="0", PMI_SIZE="1"))
        self.assertIn("PMI_SIZE is missing", self.refusal(PMI_FD="5", PMI_RANK="0"))
        self.assertIn("is not open", self.refusal(PMI_FD="999", PMI_RANK="0", PMI_SIZE="1"))
        self.assertIn("not host:port", self.refusal(PMI_PORT="here", PMI_ID="0"))
        self.assertIn("does not answer", self.refusal(PMI_PORT="127.0.0.1:1", PMI_ID="0"))

    def test_garbage_from_the_launcher(self) -> None:
        answers: list[tuple[bytes, str]] = [
            (b"\x00\xff\n", "not PMI-1"), (b"hello\n", "not PMI-1"), (b"cmd=maxes\n", "was due"),
            (b"x" * 9000, "too long"), (b"cmd=response_to_init rc=-1\n", "refused"),
            (b"", "has closed"), (b"cmd=response", "has closed"),
            (b"cmd=response_to_init rc=0\ncmd=maxes rc=0\n", "too little"),
            (b"cmd=response_to_init rc=0\ncmd=maxes rc=0 keylen_max=64 vallen_max=64\n"
             b"cmd=my_kvsname rc=0\n", "name its dictionary"),
        ]
        for answer, words in answers:
            with self.subTest(answer=answer[:40]):
                self.assertIn(words, self.against(answer))

    def test_rank_that_cannot_be(self) -> None:
        for rank, size in (("4", "4"), ("0", "0"), ("9", "2")):
            self.assertIn("cannot be", self.against(b"", rank, size))

    def against(self, answer: bytes, rank: str = "0", size: str = "2") -> str:
        """What the client says to a server that sends `answer`, then goes."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.sendall(answer)
            ours.shutdown(socket.SHUT_WR)
            done = subprocess.run(
                [self.client], pass_fds=[theirs.fileno()], text=True, capture_output=True,
                timeout=fixture.WATCHDOG_S, env=self.environment | {
                    "PMI_FD": str(theirs.fileno()), "PMI_RANK": rank, "PMI_SIZE": size})
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (9, "", 1))
        return done.stderr


if __name__ == "__main__":
    unittest.main()
