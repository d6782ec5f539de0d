# SPDX-License-Identifier: Apache-2.0
"""The formulas beside the builders of collectives (src/protocol/coll/algorithms.hpp), as text: what
they say of messages and blocks is what the graphs of all ranks do."""

import itertools
import json
import os
import re
import subprocess
import unittest
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

STAGE = Path(os.environ["HEADWAY_STAGE"])
PROGRAM = STAGE / "bin" / "headway-study"
SOURCE = Path(__file__).resolve().parents[2] / "src" / "protocol" / "coll"
SIZES = (1, 2, 3, 4, 6, 8, 9, 13, 16)
RANKS_A_NODE = 3
TUNING = {"radix": 3, "ports": 2, "window": 2, "segments": 5}
WORD = re.compile(r"\d+|\w+(?=\()|\w+|[-+*/^(),]")


def steps(size: int, base: int) -> Iterator[int]:
    """1, base, base^2 ... below size."""
    return itertools.takewhile(lambda step: step < size, (base**i for i in itertools.count()))


def digits(number: int, base: int) -> int:
    """How many digits are not 0."""
    return 0 if number == 0 else (number % base != 0) + digits(number // base, base)


def power_below(size: int) -> int:
    return 1 << (size.bit_length() - 1)


def log2(power: int) -> int:
    return power.bit_length() - 1


def doubled(size: int) -> int:
    power = power_below(size)
    return power * log2(power) + 2 * (size - power)


# As the head of algorithms.hpp defines them.
FUNCTIONS: dict[str, Callable[..., int]] = {
    "R": lambda n, k: sum(min(k, (n - 1) // w) for w in steps(n, k + 1)),
    "D": lambda n, k: sum(digits(number, k) for number in range(n)),
    "T": lambda n: sum(min(v & -v, n - v) for v in range(1, n)),
    "P": lambda n: sum(n - w for w in steps(n, 2)),
    "W": lambda n: sum(n + min(w, n - w) - 1 for w in steps(n, 2)),
    "E": doubled,
    "log2": log2,
}


def python_of(formula: str) -> str:
    """Juxtaposition multiplies, ^ is a power, `log2 C` a call."""
    words = WORD.findall(re.sub(r"log2 (\w)", r"log2(\1)", formula))
    text = ""
    for before, word in itertools.pairwise(["(", *words]):
        is_call = word == "(" and before in FUNCTIONS
        ends, begins = before not in "-+*/^(,", word not in "-+*/^),"
        text += "*" if ends and begins and not is_call else ""
        text += {"^": "**", "/": "//"}.get(word, word)
    return text


@dataclass(frozen=True)
class Algorithm:
    name: str
    collective: str
    builder: str
    tuning: dict[str, int]  # that it is given, read or not
    reads: frozenset[str]
    sizes: str


def algorithms() -> list[Algorithm]:
    """The rows of the table."""
    found = []
    for row in re.split(r"\{\.algorithm = ", (SOURCE / "table.cpp").read_text())[1:]:
        builder = re.search(r"\.build = (?:\w+<)?(\w+)", row)
        sizes = re.search(r"Sizes::(\w+)", row)
        name, kind = re.search(r"::(\w+)", row), re.search(r"Collective::(\w+)", row)
        assert builder and name and kind
        given = dict(re.findall(r"\.(radix|ports|window|segments) = (\d+)", row))
        reads = re.findall(r"\.(radix|ports|window|segments|topology) = true", row)
        found.append(Algorithm(name[1], kind[1], builder[1],
                               {key: int(value) for key, value in given.items()},
                               frozenset(reads), sizes[1] if sizes else "any"))
    return found


def formulas() -> dict[str, tuple[str, str]]:
    """By builder what is said of messages and of blocks."""
    text = (SOURCE / "algorithms.hpp").read_text()
    found = {}
    for said, builder in re.findall(r"Formula: ((?:.*\n/// )*?.*?blocks)\.(?:.*\n)+?Graph (\w+)\(",
                                    text):
        words = said.replace("\n/// ", " ")
        messages, _, blocks = words.partition(" messages")
        found[builder] = (messages, {", no blocks": "0", ", as many blocks": messages}.get(
            blocks, blocks.removeprefix(" of ").removesuffix(" blocks")))
    return found


def names_of(algorithm: Algorithm, size: int, root: int) -> dict[str, int]:
    """The values of the names in a formula."""
    power = power_below(size)
    nodes = [min(RANKS_A_NODE, size - first) for first in range(0, size, RANKS_A_NODE)]
    tuning = {"radix": 2, "ports": 1, "window": 4, "segments": 8} | algorithm.tuning
    tuning |= {key: TUNING[key] for key in algorithm.reads if key in TUNING}
    return tuning | {"N": size, "C": power, "S": size - power, "F": int(root != 0),
                     "G": int(root < 2 * (size - power) and root % 2 == 0),
                     "M": len(nodes), "X": len(nodes), "L": max(nodes),
                     "m": nodes[root // RANKS_A_NODE], "Q": sum(count**2 for count in nodes)}


def counted(algorithm: Algorithm, size: int, root: int) -> tuple[int, int]:
    """Messages and blocks in the graphs of all ranks."""
    words = [PROGRAM, "graph", algorithm.collective, "--algorithm", algorithm.name,
             "--ranks", str(size), "--root", str(root)]
    words += ["--ppn", str(RANKS_A_NODE)] if "topology" in algorithm.reads else []
    for key in sorted(algorithm.reads & TUNING.keys()):
        words += ["--set", f"{key}={TUNING[key]}"]
    answer = subprocess.run(words, check=True, capture_output=True, text=True, timeout=60)
    nodes = [node for rank in json.loads(answer.stdout)["ranks"] for node in rank["nodes"]]
    moved = [node for node in nodes if node["kind"] in ("send", "peer_copy", "peer_reduce")]
    messages = sum(node["kind"] in ("send", "publish") for node in nodes)
    return messages, sum(node["source"][2] for node in moved)


def fits(algorithm: Algorithm, size: int) -> bool:
    ports = TUNING["ports"] if "ports" in algorithm.reads else 1
    powers = [(ports + 1)**exponent for exponent in range(size.bit_length())]
    return {"any": True, "even": size % 2 == 0, "power_of_ports": size in powers}[algorithm.sizes]


class Formulas(unittest.TestCase):
    def test_each_says_what_its_graphs_do(self) -> None:
        said = formulas()
        for algorithm in algorithms():
            for size in (each for each in SIZES if fits(algorithm, each)):
                is_rooted = algorithm.collective in ("bcast", "reduce", "gather", "scatter")
                for root in {0, size // 2} if is_rooted else {0}:
                    with self.subTest(algorithm=algorithm.name, size=size, root=root):
                        names = names_of(algorithm, size, root)
                        wanted = [eval(python_of(part), {**FUNCTIONS, **names})
                                  for part in said[algorithm.builder]]
                        self.assertEqual(list(counted(algorithm, size, root)), wanted,
                                         said[algorithm.builder])

    def test_how_a_formula_is_read(self) -> None:
        for text, wanted in (("2 (N - M) + M R(N, 1)", "2*(N-M)+M*R(N,1)"),
                             ("C / 2 log2 C + N^2", "C//2*log2(C)+N**2")):
            self.assertEqual(python_of(text), wanted)


if __name__ == "__main__":
    unittest.main()
