# SPDX-License-Identifier: Apache-2.0
# headway-test: waits
"""Shortly before a job's time is up, whoever waits in MPI says where and for what, on any number
of nodes and beside ranks that compute; and waits on."""

import os
import select
import subprocess
import sys
import threading
import time
import unittest

from job import HERE, WATCHDOG_S, JobTest, clean_environment, run

# In how many seconds the ranks are to say it. Those that wait later than that say nothing, as on a
# machine that is too busy, so it is tried again with more time.
SOON_S = (0.5, 4, 15)


class LateWaitsTest(JobTest):
    def setUp(self):
        self.program = self.build(HERE / "late_waits.c")
        self.pipe = os.path.join(self.folder.name, "pipe")
        if not os.path.exists(self.pipe):
            os.mkfifo(self.pipe)

    def check(self, command, ranks, threads, **environment):
        """All but rank 0 say each of their waits once, and end well when it lets them go on."""
        waits = (ranks - 1) * threads
        for soon_s in SOON_S:
            told = self.run_once(command, soon_s, ranks, waits, **environment)
            if len(told) == waits:
                break
        for rank in range(1, ranks):
            for tag in (7, 8)[:threads]:
                own = [line for line in told if line.startswith(
                    f"headway: rank {rank}: time is nearly up: waits in MPI_Recv at ")
                    and line.endswith(f" for a message from rank 0 with tag {tag}\n")]
                self.assertEqual(len(own), 1, "".join(told))
        self.assertEqual(len(told), waits, "".join(told))

    def run_once(self, command, soon_s, ranks, waits, **environment):
        told_at = time.time() + soon_s
        job = subprocess.Popen([str(word) for word in command], env=clean_environment(
            HEADWAY_WAITS_TOLD_AT=str(int(told_at * 1000)), **environment),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True)
        watchdog = threading.Timer(WATCHDOG_S, job.kill)
        watchdog.start()
        # It opens when rank 0 opens the other end.
        release = os.open(self.pipe, os.O_WRONLY)
        text = b""
        while text.count(b"nearly up") < waits and text[-1:] in (b"", b"\n"):
            left_s = told_at + max(1, soon_s) - time.time()
            if left_s <= 0 or not select.select([job.stderr], [], [], left_s)[0]:
                break
            text += os.read(job.stderr.fileno(), 65536)
        os.close(release)
        out, err = job.communicate()
        watchdog.cancel()
        text = (text + err).decode()
        self.assertEqual(job.returncode, 0, text + out.decode())
        self.assertEqual(out.count(b"went on"), ranks, text)
        return [line for line in text.splitlines(keepends=True) if "nearly up" in line]

    def test_ranks_of_one_node(self):
        mpiexec = self.stage / "bin/mpiexec"
        for ranks in (2, 3, 5):
            for kind in ("process", "thread", "ult"):
                for threads in (1, 2):
                    with self.subTest(ranks=ranks, kind=kind, threads=threads):
                        self.check([mpiexec, "--ranks", kind, "-n", ranks, self.program, self.pipe,
                                    *["threads"] * (threads - 1)], ranks, threads)

    def test_frames_that_are_withheld(self):
        self.check([self.stage / "bin/mpiexec", "-n", 3, self.program, self.pipe], 3, 1,
                   HEADWAY_DELAY_US="1000")

    def test_several_nodes(self):
        if not (self.stage / "lib/libheadway_ofi.so").exists():
            self.skipTest("Headway was built without libfabric")
        for threads in (1, 2):
            with self.subTest(threads=threads):
                self.check([sys.executable, HERE / "plain_launcher.py", 4, self.program, self.pipe,
                            *["threads"] * (threads - 1)], 4, threads,
                           PLAIN_MAPPING="(vector,(0,2,2))", HEADWAY_OFI_INTERFACE="lo")

    def test_before_mpiexec_ends_the_job(self):
        program = self.build(HERE / "deadlock.c")
        outcome = run([self.stage / "bin/mpiexec", "-n", 3, "--timeout", 4, program, "ring"],
                      clean_environment(HEADWAY_DEADLOCK_MS="0"))
        self.assertEqual(outcome.code, 124, str(outcome))
        for rank in range(3):
            self.assert_refused(outcome, f"rank {rank}: time is nearly up: waits in MPI_Recv")
        self.assertIn("the job ran longer than --timeout 4 s", outcome.stderr)


if __name__ == "__main__":
    unittest.main()
