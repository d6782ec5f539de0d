# SPDX-License-Identifier: Apache-2.0
"""The model of a machine: fitted to times that a machine made up here would take, written, read by
headway sim, refused where it is broken; a bench whose cases are predicted."""

import contextlib
import io
import json
import os
import subprocess
import tempfile
import unittest
from collections.abc import Sequence
from pathlib import Path

from headway import __main__ as command
from headway import description, jobs, libraries, machine, runner

PROGRAM = Path(os.environ["HEADWAY_STAGE"]) / "bin" / "headway-study"
# Of the machine made up here.
TRUTH = {"overhead_us": 0.2, "node_latency_us": 0.7, "node_gigabytes": 9.0,
         "node_long_gigabytes": 14.0, "node_offer_us": 1.5, "reduce_gigabytes": 6.0,
         "copy_gigabytes": 5.0}
FORCED = {"HEADWAY_COLL_BCAST": "binomial", "HEADWAY_COLL_REDUCE": "binomial",
          "HEADWAY_COLL_ALLGATHER": "ring", "HEADWAY_COLL_ALLTOALL": "pairwise",
          "HEADWAY_COLL_SCATTER": "flat"}
# One message at a time, both ways, and several without a pause.
FITTED = ("Bcast", "Reduce", "Allgather", "Scatter")
SIZES = ("8 B", "1 KiB", "16 KiB", "64 KiB", "1 MiB")


def run(*arguments: str) -> tuple[int, str]:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = command.main(list(arguments))
    return code, printed.getvalue()


def study(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False,
                          timeout=60)


def true_us(case: str, ranks: int) -> float:
    """What the machine made up here takes."""
    each = machine.named(case, ranks, FORCED)
    settings = [word for key, value in TRUTH.items() for word in ("--set", f"{key}={value}")]
    answer = study("sim", each.collective, "--nodes", "1", "--ppn", str(ranks), "--bytes",
                   str(each.size), "--algorithm", f"{each.collective}_{each.algorithm}", *settings)
    return float(json.loads(answer.stdout)["us"])


class Fit(unittest.TestCase):
    def test_finds_the_machine_and_writes_what_sim_reads(self) -> None:
        measured = [machine.named(f"{name} {size}", ranks, FORCED,
                                  true_us(f"{name} {size}", ranks))
                    for name in FITTED for size in SIZES for ranks in (2, 4)]
        wanted = machine.named("Alltoall 4 KiB", 8, FORCED)
        fitted = machine.fit([*measured, wanted], {"cores": "0"})
        self.assertNotIn("switch_us", fitted.numbers)
        for key, value in TRUTH.items():
            self.assertAlmostEqual(fitted.numbers[key].value / value, 1, delta=0.02, msg=key)
            self.assertTrue(fitted.numbers[key].is_known, key)
        self.assertLess(max(map(abs, fitted.errors())), 0.01)
        truth_us = true_us("Alltoall 4 KiB", 8)
        self.assertAlmostEqual(fitted.predicted_us[-1] / truth_us, 1, delta=0.01)
        self.assertRegex(machine.quality(fitted)[-1], "^all +40 +0% ")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "mine"
            path.write_text(machine.file_text(fitted, ["who", "where"]), encoding="utf-8")
            code, printed = run("sim", "alltoall", "--nodes", "1", "--ppn", "8", "--bytes", "4K",
                                "--algorithm", "alltoall_pairwise", "--no-plot", "--machine",
                                str(path))
        self.assertEqual(code, 0, printed)
        self.assertAlmostEqual(float(printed.split("*")[-1]) / truth_us, 1, delta=0.02)

    def test_what_is_not_known_is_called_a_guess(self) -> None:
        one = machine.named("Bcast 8 B", 2, FORCED, 1.0)
        fitted = machine.fit([one], {"cores": "2"})
        self.assertFalse(fitted.numbers["reduce_gigabytes"].is_known)
        text = machine.file_text(fitted, ["who"])
        self.assertRegex(text, r"# who\n# Measured with a core for each rank; .*\ncores = 2\noverh")
        self.assertRegex(text, r"reduce_gigabytes = 15 +# [^;]+; a guess")

    def test_cases_want_a_size_and_an_algorithm(self) -> None:
        self.assertEqual(machine.named("Allgather 16 KiB", 3, FORCED).line(),
                         "allgather ring 3 16384 -")
        for case in ("Scan 8 B", "Bcast", "Bcast 8 bits"):
            with self.assertRaisesRegex(jobs.JobError, "cannot be predicted"):
                machine.named(case, 2, FORCED)

    def test_broken_measurements_are_refused_with_their_line(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "measured"
            for text, sentence in (
                ("bcast binomial 2 8 0.5\nbcast binomial 2 8", ", line 2: 'bcast binomial 2 8' is"),
                ("gossip binomial 2 8 1", "there is no collective 'gossip'"),
                ("bcast luck 2 8 1", "there is no algorithm 'luck' of bcast; there are flat"),
                ("bcast binomial 0 8 1", "wants ranks from 1 to 1024"),
                ("bcast binomial 2 8 -1", "microseconds above 0 or -"),
                ("bcast binomial 2 8 nan", "microseconds above 0 or -"),
                ("allgather recursive_doubling 3 8 1", "recursive_doubling is not for 3 ranks"),
                ("bcast binomial 2 8 -", "nothing was measured"),
                ("", "nothing was measured"),
            ):
                path.write_text(text, encoding="utf-8")
                answer = study("fit", str(path))
                self.assertEqual(answer.returncode, 2, text)
                self.assertTrue(answer.stderr.startswith("headway: fit: "), answer.stderr)
                self.assertIn(sentence, answer.stderr)
            self.assertIn("cannot be read", study("fit", folder).stderr)
            self.assertIn("name one file", study("fit").stderr)


class MachineFile(unittest.TestCase):
    def test_sim_refuses_a_broken_one(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "mine"
            path.write_text("cores = 2\nluck = 7\n", encoding="utf-8")
            answer = study("sim", "bcast", "--machine", str(path))
            self.assertEqual(answer.returncode, 2)
            self.assertIn(f"headway: sim: --machine: {path}, line 2: the machine has no 'luck'",
                          answer.stderr)
            answer = study("sim", "bcast", "--machine", f"{folder}/none")
            self.assertEqual(answer.returncode, 2)
            self.assertIn("none cannot be read; name a machine file", answer.stderr)

    def test_what_is_set_beside_it_counts(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "mine"
            path.write_text("overhead_us = 2\nlatency_us = 5\ngigabytes = 9\n", encoding="utf-8")
            code, printed = run("sim", "bcast", "--nodes", "2", "--bytes", "1000", "--algorithm",
                                "bcast_binomial", "--machine", str(path), "--set", "gigabytes=1",
                                "--no-plot")
        self.assertEqual(code, 0, printed)
        self.assertIn("*10.00", printed)

    def test_tune_refuses_wrong_words(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for words, sentence in ((["--collectives", "scan"], "leave it out with --machine"),
                                    (["--delay-us", "-1"], "--delay-us -1: write a number from 0"),
                                    (["--ranks", "0"], "--ranks 0: write numbers")):
                code, printed = run("tune", "--machine", f"{folder}/mine", *words)
                self.assertEqual(code, 2)
                self.assertIn(sentence, printed)
            code, printed = run("tune", "--machine", folder)
            self.assertEqual(code, 2)
            self.assertIn(f"--machine: {folder} cannot be written", printed)
            self.assertEqual(list(Path(folder).iterdir()), [])


class TrueRunner(runner.Runner):
    """Its jobs take what the machine made up here takes, but for one that is slower."""

    def _start(self, job: description.Job, measured: runner.Measured, cases: Sequence[str],
               *_more: object, **_others: object) -> jobs.JobResult:
        times = {}
        for case in cases:
            name = job.name_in_program(case)
            times[case] = [true_us(name, job.ranks) * (1.25 if "64 B" in name else 1)]
        return jobs.JobResult(samples={machine.TIME: times})


class PredictedBench(unittest.TestCase):
    def test_cases_are_predicted_from_what_is_measured_beside(self) -> None:
        forced = ", ".join(f'{name} = "{word}"' for name, word in FORCED.items())
        fit = ", ".join(f'"{name} {size}"' for name in FITTED for size in SIZES)
        described = description.parse("made", f"""
            title = "made up"
            program = "collectives"
            metric = [{{ name = "error", unit = "ratio", better = "lower", judged = "value" }}]
            median = [{{ case = "middle", of = ["short", "long", "Alltoall 2 KiB"] }}]
            [[job]]
            ranks = 4
            pin = false
            machine = "m"
            cases = []
            fit = [{fit}]
            environment = {{ {forced} }}
            [[job]]
            ranks = 8
            pin = false
            machine = "m"
            cases = ["short", "long", "Alltoall 2 KiB"]
            called = ["Bcast 64 B", "Allgather 32 KiB", "Alltoall 2 KiB"]
            environment = {{ {forced} }}
            """)
        measured = runner.Measured(libraries.ours(Path("/nowhere")), {})
        # No cores of their own are told, so none are shared.
        made = TrueRunner(described, {"headway": measured}, [], 1.0)
        result = made.run("headway", described.cases)
        errors = {case: values[0] for case, values in result.samples["error"].items()}
        self.assertAlmostEqual(errors["short"], 0.2, delta=0.01)
        self.assertLess(max(errors["long"], errors["Alltoall 2 KiB"]), 0.02)
        self.assertLess(errors["middle"], 0.02)
        # What the fit needs is no case of the bench.
        self.assertEqual(set(result.samples["time_us"]), set(described.cases))
        self.assertEqual(set(made.run("headway", ["middle"]).samples["error"]),
                         set(described.cases))

    def test_a_fit_needs_a_machine(self) -> None:
        with self.assertRaisesRegex(description.DescriptionError, "'fit' needs 'machine'"):
            description.parse("made", """
                title = "made up"
                program = "collectives"
                metric = [{ name = "error", unit = "ratio", better = "lower" }]
                job = [{ ranks = 2, pin = true, cases = ["Bcast 8 B"], fit = ["Bcast 16 B"] }]
                """)


if __name__ == "__main__":
    unittest.main()
