# SPDX-License-Identifier: Apache-2.0
"""What the fault tests share: the stage under test, its compiler, and jobs with a watchdog."""

import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
MPI_TESTS = HERE.parent / "mpi"
WATCHDOG_S = 60
SENTENCE = re.compile(r"^headway: .+", re.MULTILINE)
# Variables of a launcher that this test itself may have been started by.
LAUNCHER = re.compile(r"^(PMI_|PMIX_|PRTE_|OMPI_|MPI_LOCAL|HYDRA_|SLURM_)")


class Outcome:
    def __init__(self, code, stdout, stderr, hung):
        self.code, self.stdout, self.stderr, self.hung = code, stdout, stderr, hung

    def __str__(self):
        return (f"exit code {self.code}, hung: {self.hung}\n"
                f"--- stdout\n{self.stdout[-2000:]}\n--- stderr\n{self.stderr[-4000:]}")

    def sentences(self):
        return SENTENCE.findall(self.stderr)


def stage():
    text = os.environ.get("HEADWAY_STAGE")
    if not text:
        raise RuntimeError("HEADWAY_STAGE must name a staged install (build/stage)")
    return pathlib.Path(text)


def clean_environment(**more):
    kept = {name: value for name, value in os.environ.items() if not LAUNCHER.match(name)}
    kept["CHECK_WATCHDOG"] = str(WATCHDOG_S)
    kept.update(more)
    return kept


def run(command, environment=None):
    """Runs a command in a session of its own, so that all of a job that hangs can be ended."""
    child = subprocess.Popen([str(part) for part in command], text=True, errors="replace",
                             env=environment or clean_environment(), start_new_session=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
    try:
        stdout, stderr = child.communicate(timeout=WATCHDOG_S)
        return Outcome(child.returncode, stdout, stderr, False)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        stdout, stderr = child.communicate()
        return Outcome(child.returncode, stdout, stderr, True)


class JobTest(unittest.TestCase):
    """Programs are built once a class into a folder that goes with it."""

    @classmethod
    def setUpClass(cls):
        cls.stage = stage()
        cls.folder = tempfile.TemporaryDirectory(prefix="headway-faults-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.built = {}

    @classmethod
    def build(cls, source, compiler=None):
        """The program of a C file; without a compiler named, of the staged mpicc."""
        if source not in cls.built:
            target = pathlib.Path(cls.folder.name) / f"{source.parent.name}_{source.stem}"
            command = [compiler or str(cls.stage / "bin/mpicc"), "-std=gnu99", "-O1", "-o",
                       str(target), str(source), "-lm", "-lpthread"]
            subprocess.run(command, check=True)
            cls.built[source] = target
        return cls.built[source]

    def mpiexec(self, ranks, *command, before=(), **environment):
        launch = [*before, self.stage / "bin/mpiexec", "-n", ranks, *command]
        return run(launch, clean_environment(**environment))

    def assert_ok(self, outcome):
        self.assertFalse(outcome.hung, str(outcome))
        self.assertEqual(outcome.code, 0, str(outcome))

    def assert_refused(self, outcome, *words):
        """It ended by itself, with a failure, and a sentence of ours holds all the words."""
        self.assertFalse(outcome.hung, str(outcome))
        self.assertNotEqual(outcome.code, 0, str(outcome))
        matching = [line for line in outcome.sentences() if all(word in line for word in words)]
        self.assertTrue(matching, f"no sentence with {words}\n{outcome}")
        return matching
