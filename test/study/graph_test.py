# SPDX-License-Identifier: Apache-2.0
"""headway graph: the picture holds every node, edge and message, in order, and nothing lies on
anything else. Bad input gets a sentence."""

import contextlib
import io
import itertools
import json
import os
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

from headway import __main__ as command
from headway import graph

PROGRAM = Path(os.environ["HEADWAY_STAGE"]) / "bin" / "headway-study"
SVG = "{http://www.w3.org/2000/svg}"


def graphs_of(*arguments: str) -> dict[str, Any]:
    answer = subprocess.run([PROGRAM, "graph", *arguments], check=True, capture_output=True,
                            text=True, timeout=60)
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def run(*arguments: str) -> tuple[int, str]:
    """Exit code and output of `headway graph`, run here; complaints of the program go past it."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = command.main(["graph", *arguments])
    return code, printed.getvalue()


class Drawing(unittest.TestCase):
    """What the picture of some algorithms holds."""

    CASES = (
        ("allreduce", "--ranks", "8"),
        ("alltoall", "--ranks", "5", "--algorithm", "alltoall_bruck", "--in-place"),
        ("allgather", "--ranks", "16", "--algorithm", "allgather_two_level", "--ppn", "4"),
        ("bcast", "--ranks", "7", "--algorithm", "bcast_pipelined_tree", "--root", "3"),
        ("barrier", "--ranks", "2"),
        ("reduce", "--ranks", "1"),
        ("inter_allreduce", "--ranks", "7", "--first", "3"),
        ("neighbor_alltoall", "--ranks", "6", "--width", "3"),
    )

    def test_holds_every_node_edge_and_message(self) -> None:
        for case in self.CASES:
            with self.subTest(case=case):
                graphs = graphs_of(*case)
                tree = ElementTree.fromstring("\n".join(graph.draw(graphs).lines()))
                boxes = [box for box in tree.iter(f"{SVG}rect")
                         if (title := box.find(f"{SVG}title")) is not None
                         and str(title.text).startswith("node ")]
                nodes = [node for rank in graphs["ranks"] for node in rank["nodes"]]
                self.assertEqual(len(boxes), len(nodes))
                kinds = [path.get("class") for path in tree.iter(f"{SVG}path")]
                self.assertEqual(kinds.count("message"),
                                 sum(node["kind"] == "send" for node in nodes))
                self.assertEqual(kinds.count("edge"),
                                 sum(len(rank["edges"]) for rank in graphs["ranks"]))
                for box, node in zip(boxes, nodes, strict=True):
                    self.assertEqual(box.get("fill"), graph.FILLS[node["kind"]])

    def test_everything_is_on_the_sheet(self) -> None:
        for case in self.CASES:
            tree = ElementTree.fromstring("\n".join(graph.draw(graphs_of(*case)).lines()))
            width, height = float(tree.get("width", "0")), float(tree.get("height", "0"))
            for box in tree.iter(f"{SVG}rect"):
                if box.get("x") is not None:
                    right = float(box.get("x", "0")) + float(box.get("width", "0"))
                    low = float(box.get("y", "0")) + float(box.get("height", "0"))
                    self.assertLessEqual(right, width)
                    self.assertLessEqual(low, height)

    def test_what_waits_stands_below_what_it_waits_for(self) -> None:
        for case in self.CASES:
            graphs = graphs_of(*case)
            layout = graph.lay_out(graphs["ranks"])
            for rank, entry in enumerate(graphs["ranks"]):
                for before, then in entry["edges"]:
                    self.assertLess(layout.rows[rank, before], layout.rows[rank, then])
                rows = [layout.rows[rank, index] for index in range(len(entry["nodes"]))]
                self.assertEqual(len(set(rows)), len(rows))
            for sender, receiver in layout.messages:
                self.assertLess(layout.rows[sender], layout.rows[receiver])

    def test_leaves_out_edges_that_others_imply(self) -> None:
        for entry in graphs_of("barrier", "--ranks", "16")["ranks"]:
            edges = {tuple(edge) for edge in entry["edges"]}
            for (first, middle), (again, last) in itertools.product(edges, edges):
                if middle == again:
                    self.assertNotIn((first, last), edges)

    def test_takes_what_the_library_takes(self) -> None:
        self.assertEqual(graphs_of("allreduce")["algorithm"], "allreduce_recursive_doubling")
        self.assertEqual(graphs_of("allreduce", "--bytes", "1048576")["algorithm"],
                         "allreduce_halving_doubling")


class Command(unittest.TestCase):
    """The command as a user has it."""

    def test_writes_a_file(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "tree.svg"
            code, printed = run("bcast", "--ranks", "4", "--output", str(path))
            self.assertEqual(code, 0)
            self.assertIn("bcast_binomial, 4 ranks", printed)
            self.assertEqual(ElementTree.parse(path).getroot().tag, f"{SVG}svg")

    def test_says_when_a_file_cannot_be_written(self) -> None:
        code, printed = run("bcast", "--output", "/nowhere/tree.svg")
        self.assertEqual(code, 2)
        self.assertIn("cannot be written", printed)

    def test_refuses_bad_input_with_a_sentence(self) -> None:
        for arguments, sentence in (
            (["broadcast"], "there is no algorithm of 'broadcast'; there are barrier, bcast"),
            (["bcast", "--algorithm", "magic"], "'magic' of 'bcast'; there are bcast_flat"),
            (["bcast", "--ranks", "0"], "--ranks is '0'; it wants a whole number from 1 to 64"),
            (["bcast", "--ranks", "4", "--root", "4"], "from 0 to 3"),
            (["bcast", "--set", "luck=3"], "radix, ports, window, segments"),
            (["bcast", "--set", "radix=many"], "wants a whole number"),
            (["allgather", "--ranks", "7", "--algorithm", "allgather_recursive_doubling"],
             "wants a power of 2 ranks, not 7"),
            (["bcast", "--width", "2"], "are for collectives of another kind: inter_bcast"),
            (["inter_bcast", "--ranks", "1"], "either group wants one rank at least"),
            (["neighbor_allgather", "--ranks", "7", "--width", "2"], "one that divides them"),
        ):
            answer = subprocess.run([PROGRAM, "graph", *arguments], capture_output=True, text=True,
                                    check=False, timeout=60)
            self.assertEqual(answer.returncode, 2, arguments)
            self.assertIn(sentence, answer.stderr)
            self.assertTrue(answer.stderr.startswith("headway: graph: "))
            self.assertEqual(answer.stdout, "")


if __name__ == "__main__":
    unittest.main()
