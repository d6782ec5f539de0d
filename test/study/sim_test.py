# SPDX-License-Identifier: Apache-2.0
"""headway sim: sizes, table and picture; the program's answers and refusals; the times of a case
that is easily worked out by hand."""

import contextlib
import io
import os
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import ClassVar

from headway import __main__ as command
from headway import sim

PROGRAM = Path(os.environ["HEADWAY_STAGE"]) / "bin" / "headway-study"
SVG = "{http://www.w3.org/2000/svg}"


def run(*arguments: str, plots: bool = False) -> tuple[int, str]:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = command.main(["sim", *arguments, *([] if plots else ["--no-plot"])])
    return code, printed.getvalue()


class Sizes(unittest.TestCase):
    def test_ranges_lists_and_units(self) -> None:
        self.assertEqual(sim.parse_sizes("8..1K"), [8, 32, 128, 512, 1024])
        self.assertEqual(sim.parse_sizes("64K,8"), [8, 65536])
        self.assertEqual(sim.parse_sizes("0..8"), [0, 1, 4, 8])
        self.assertEqual(sim.parse_sizes("1M"), [1 << 20])

    def test_nonsense_is_refused(self) -> None:
        for text in ("", "eight", "8..", "1M..8", "-8", "8,,9", "8K..4K"):
            with self.assertRaises(ValueError, msg=text):
                sim.parse_sizes(text)
        code, printed = run("allreduce", "--bytes", "1M..8")
        self.assertEqual(code, 2)
        self.assertIn("goes down", printed)


class Presentation(unittest.TestCase):
    TIMES: ClassVar = {"one": {8: 2.0, 1024: 30.0}, "two": {8: 3.0, 1024: 20.0}}

    def test_the_best_of_each_size_is_marked(self) -> None:
        lines = sim.table("title", [8, 1024], self.TIMES, {"three": "too many"}).splitlines()
        rows = {line.split()[0]: line.split()[1:] for line in lines if line}
        self.assertEqual(rows["us"], ["8", "1K"])
        self.assertEqual(rows["one"], ["*2.00", "30.00"])
        self.assertEqual(rows["two"], ["3.00", "*20.00"])
        self.assertEqual(rows["three"], ["too", "many"])

    def test_the_plot_has_a_line_an_algorithm_and_a_dot_a_time(self) -> None:
        tree = ElementTree.fromstring("\n".join(sim.plot("title", self.TIMES).lines()))
        titled = [line.find(f"{SVG}title") for line in tree.iter(f"{SVG}polyline")]
        self.assertEqual([title.text for title in titled if title is not None], ["one", "two"])
        dots = list(tree.iter(f"{SVG}circle"))
        self.assertEqual(len(dots), 4)
        # Higher is slower: of the last size, one is above two.
        self.assertLess(float(dots[1].get("cy", "0")), float(dots[3].get("cy", "0")))

    def test_a_plot_of_nothing_is_a_picture(self) -> None:
        ElementTree.fromstring("\n".join(sim.plot("title", {}).lines()))


class Command(unittest.TestCase):
    def test_shows_every_algorithm_of_a_collective(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "plot.svg"
            code, printed = run("allgather", "--nodes", "4", "--ppn", "3", "--bytes", "8..64K",
                                "--plot", str(path), plots=True)
            self.assertEqual(code, 0, printed)
            self.assertEqual(ElementTree.parse(path).getroot().tag, f"{SVG}svg")
        for name in ("linear", "ring", "bruck", "cayley", "two_level", "neighbor_exchange"):
            self.assertIn(f"allgather_{name} ", printed)
        self.assertIn("left out:", printed)
        self.assertIn("wants a power of 2 ranks", printed)
        # One for each of the sizes 8, 32, 128, 512, 2K, 8K, 32K and 64K, and the one of the title.
        self.assertGreaterEqual(printed.count("*"), 9)

    def test_takes_the_machine_from_the_command_line(self) -> None:
        # 2 us of CPU at both ends, 5 us on the way, 1000 bytes at a gigabyte a second.
        code, printed = run("bcast", "--nodes", "2", "--bytes", "1000", "--algorithm",
                            "bcast_binomial", "--set", "overhead_us=2", "--set", "latency_us=5",
                            "--set", "gigabytes=1")
        self.assertEqual(code, 0, printed)
        self.assertIn("*10.00", printed)

    def test_plots_unless_told_otherwise(self) -> None:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            code, printed = run("scan", "--nodes", "4", "--ppn", "2", "--bytes", "8,64", plots=True)
            self.assertEqual(code, 0, printed)
            self.assertIn("plot: scan-4x2.svg", printed)
            lines = ElementTree.parse("scan-4x2.svg").getroot().iter(f"{SVG}polyline")
            titles = [line.findtext(f"{SVG}title") for line in lines]
            self.assertLessEqual({"scan_linear", "scan_doubling"}, set(titles))
            Path("scan-4x2.svg").unlink()
            self.assertEqual(run("scan", "--nodes", "4", "--ppn", "2")[0], 0)
            self.assertEqual(list(Path().iterdir()), [])
            code, printed = run("scan", "--bytes", "8", "--plot", "none/at.svg", plots=True)
            self.assertEqual(code, 2)
            self.assertIn("none/at.svg cannot be written: No such file", printed)
            code, printed = run("scan", "--plot", "at.svg")
            self.assertEqual(code, 2)
            self.assertIn("contradict each other", printed)

    def test_shows_collectives_between_groups_and_of_neighbors(self) -> None:
        # A broadcast to one other is a message between nodes; a ring sends two and gets two.
        machine = ["--set", "overhead_us=2", "--set", "latency_us=5", "--set", "gigabytes=1"]
        code, printed = run("inter_bcast", "--nodes", "2", "--bytes", "1000", *machine)
        self.assertEqual(code, 0, printed)
        self.assertRegex(printed, r"inter_bcast +\*10\.00")
        code, printed = run("neighbor_alltoall", "--nodes", "5", "--bytes", "1000", "--width", "5",
                            *machine)
        self.assertEqual(code, 0, printed)
        self.assertRegex(printed, r"neighbor_alltoall +\*12\.00")
        code, printed = run("inter_alltoall", "--nodes", "9", "--first", "4", "--bytes", "8",
                            "--limit", "39")
        self.assertEqual(code, 0, printed)
        self.assertIn("40 messages, --limit is 39", printed)

    def test_leaves_out_what_would_take_too_long(self) -> None:
        code, printed = run("bcast", "--nodes", "2", "--ppn", "2", "--bytes", "8")
        self.assertEqual(code, 0)
        self.assertRegex(printed, r"bcast_direct +is for the ranks of one node")
        code, printed = run("alltoall", "--nodes", "8", "--bytes", "8", "--limit", "50")
        self.assertEqual(code, 0)
        self.assertIn("56 messages, --limit is 50", printed)

    def test_refuses_bad_input_with_a_sentence(self) -> None:
        for arguments, sentence in (
            (["gossip"], "there is no algorithm of 'gossip'; there are barrier"),
            (["bcast", "--nodes", "many"], "--nodes is 'many'; it wants a whole number"),
            (["bcast", "--nodes", "1000000", "--ppn", "2"], "more than the 1048576"),
            (["bcast", "--root", "16"], "from 0 to 15"),
            (["bcast", "--set", "luck=1"], "the machine has no 'luck' to set; it has"),
            (["bcast", "--set", "segments=0"], "wants a whole number from 1"),
            (["bcast", "--bytes", "8,x"], "numbers with commas"),
            (["bcast", "reduce"], "one collective is simulated at a time"),
            (["bcast", "--nodes"], "--nodes wants a value"),
            (["inter_bcast", "--nodes", "3", "--first", "3"], "either group wants one rank"),
            (["inter_bcast", "--width", "4"], "--width is for collectives of neighbours"),
            (["inter_reduce_scatter", "--nodes", "5"], "let --first be half"),
            (["neighbor_alltoall", "--nodes", "9", "--width", "2"], "wants one that divides them"),
            (["neighbor_alltoall", "--nodes", "1"], "--width is 1; a grid of 1 ranks"),
            (["neighbor_alltoall", "--first", "2"], "--first is for collectives between groups"),
            (["bcast", "--first", "2"], "are for collectives of another kind: inter_bcast"),
            (["inter_bcast", "--algorithm", "luck"], "no algorithm 'luck' of 'inter_bcast'"),
        ):
            answer = subprocess.run([PROGRAM, "sim", *arguments], capture_output=True, text=True,
                                    check=False, timeout=60)
            self.assertEqual(answer.returncode, 2, arguments)
            self.assertIn(sentence, answer.stderr)
            self.assertTrue(answer.stderr.startswith("headway: sim: "))


if __name__ == "__main__":
    unittest.main()
