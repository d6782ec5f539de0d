# SPDX-License-Identifier: Apache-2.0
"""From measured times to lines of a tuning file, with times made up here."""

import argparse
import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from headway import fit, tune
from headway.fit import Cell, Line, Span

LISTING = """barrier: dissemination, dissemination_ports[:ports], linear, two_level[:ports]
bcast: flat, knomial[:radix], pipelined_tree[:radix][:segments]
scan: linear, doubling
"""
CHOICES = """# collective    ranks     bytes           cores   nodes    algorithm
barrier         any       any             shared  any      linear
barrier         any       any             any     several  two_level:1
barrier         any       any             any     any      dissemination
bcast           3..       128K..          any     any      scatter_ring
bcast           any       any             any     any      binomial
"""


def cell(size: int, ranks: int = 4, cores: str = "own", collective: str = "bcast",
         **speedups: float | list[float]) -> Cell:
    """One whose rounds all said the same, unless they are listed."""
    by_round = {name: values if isinstance(values, list) else [values] * 5
                for name, values in speedups.items()}
    return Cell(collective, ranks, cores, size, "binomial", by_round)


def lines_of(*cells: Cell) -> list[str]:
    """The first six words of each line."""
    return [" ".join(line.text().split()[:6]) for line in fit.lines(fit.winners(cells))]


class SpanTest(unittest.TestCase):
    def test_words_say_what_they_mean(self) -> None:
        for span, word in ((Span(0, None), "any"), (Span(8, 8), "8"), (Span(0, 31), "..31"),
                           (Span(2048, None), "2K.."), (Span(3, 1 << 20), "3..1M"),
                           (Span(0, 0), "0")):
            self.assertEqual(span.word(), word)
            self.assertEqual(fit.span_of(word), span)
        with self.assertRaises(ValueError):
            fit.span_of("some")

    def test_sizes_reach_halfway_and_miss_nothing(self) -> None:
        self.assertEqual(fit.size_spans([8, 4096, 65536]),
                         [Span(0, 255), Span(256, 16383), Span(16384, None)])
        self.assertEqual(fit.size_spans([0]), [Span(0, None)])

    def test_ranks_stand_for_fewer_but_never_for_more(self) -> None:
        self.assertEqual(fit.rank_spans([2, 4, 6, 16]),
                         [Span(2, 2), Span(3, 4), Span(5, 6), Span(9, 16)])


class WinnerTest(unittest.TestCase):
    def test_the_fastest_wins(self) -> None:
        self.assertEqual(fit.winner(cell(8, flat=1.5, chain=1.3)), ("flat", 1.5))

    def test_noise_moves_nothing(self) -> None:
        self.assertIsNone(fit.winner(cell(8, flat=1.09, chain=0.5)))
        # Faster in the median, slower in every third round; or hardly faster in some.
        self.assertIsNone(fit.winner(cell(8, flat=[0.8, 0.9, 1.4, 1.5, 1.6])))
        self.assertIsNone(fit.winner(cell(8, flat=[1.0, 1.04, 1.4, 1.5, 1.6])))
        self.assertIsNone(fit.winner(cell(8, flat=[])))
        self.assertEqual(fit.gain_of([0.9, 1.2, 1.3, 1.4]), 1.25)

    def test_what_is_built_in_does_not_win_against_itself(self) -> None:
        self.assertIsNone(fit.winner(cell(8, binomial=1.5)))

    def test_a_neighbor_goes_on_where_it_is_about_as_fast(self) -> None:
        first, second = cell(8, flat=1.5, chain=1.2), cell(4096, flat=1.45, chain=1.5)
        third = cell(65536, flat=1.2, chain=1.5)
        chosen = fit.winners([third, first, second])
        self.assertEqual([chosen[each] for each in (first, second, third)],
                         [("flat", 1.5), ("flat", 1.45), ("chain", 1.5)])


class LinesTest(unittest.TestCase):
    def test_neighbors_merge(self) -> None:
        self.assertEqual(
            lines_of(*(cell(size, ranks, flat=1.5) for size in (8, 4096) for ranks in (2, 4)),
                     *(cell(65536, ranks, flat=1.0) for ranks in (2, 4))),
            ["bcast 2..4 ..16383 own one flat"])

    def test_a_gap_stays_a_gap(self) -> None:
        self.assertEqual(
            lines_of(cell(8, flat=2.0), cell(4096, flat=1.0), cell(65536, flat=2.0)),
            ["bcast 3..4 ..255 own one flat", "bcast 3..4 16K.. own one flat"])

    def test_other_ranks_cores_and_algorithms_do_not_merge(self) -> None:
        self.assertEqual(
            lines_of(cell(8, 2, flat=2.0), cell(8, 4, chain=2.0), cell(8, 8, "shared", flat=2.0)),
            ["bcast 2 any own one flat", "bcast 3..4 any own one chain",
             "bcast 5..8 any shared one flat"])

    def test_nothing_gives_no_lines(self) -> None:
        self.assertEqual(lines_of(cell(8, flat=1.0)), [])
        self.assertIn("# Nothing beats what is built in.", tune.file_text([], ["who"]))

    def test_a_line_says_what_it_gains(self) -> None:
        line = Line("bcast", Span(2, 2), Span(0, None), "own", "flat", (1.25, 1.5))
        self.assertRegex(line.text(), "own +one +flat +# 1.25 to 1.50 times as fast$")
        self.assertEqual(tune.file_text([line], ["who", "where"]).splitlines()[:2],
                         ["# who", "# where"])


class CommandTest(unittest.TestCase):
    def test_algorithms_of_one_node_are_tried(self) -> None:
        tried = tune.candidates(LISTING, ["barrier", "bcast"])
        self.assertEqual(tried, {
            "barrier": ["dissemination", "dissemination_ports:3", "linear"],
            "bcast": ["flat", "knomial:4", "knomial:8", "pipelined_tree:4:8",
                      "pipelined_tree:4:32"]})
        forced = tune.turns(tried)
        self.assertEqual(len(forced), 5)
        self.assertEqual(forced[2], {"barrier": "linear", "bcast": "knomial:8"})
        self.assertEqual(forced[4], {"bcast": "pipelined_tree:4:32"})

    def test_what_is_built_in_is_found(self) -> None:
        for collective, ranks, size, cores, word in (
                ("barrier", 4, 0, "own", "dissemination"), ("barrier", 4, 0, "shared", "linear"),
                ("bcast", 2, 1 << 20, "own", "binomial"), ("bcast", 3, 1 << 17, "own",
                                                           "scatter_ring")):
            self.assertEqual(tune.built_in_at(CHOICES, collective, ranks, size, cores), word)

    def test_numbers_of_ranks(self) -> None:
        self.assertEqual(tune.rank_counts(2, (2, 4)), [2, 4, 8])
        self.assertEqual(tune.rank_counts(6, (2,)), [2, 4, 6, 12])
        self.assertEqual(tune.rank_counts(1, (2, 4)), [2, 4])
        self.assertEqual(tune.ranks_named("8,2,8"), [2, 8])
        for text in ("1", "two", "2,,4", "-2", "2000", ""):
            with self.assertRaisesRegex(tune.TuneError, "like 2,4,8"):
                tune.ranks_named(text)

    def test_collectives_are_named(self) -> None:
        self.assertEqual(tune.collectives_named("scan,bcast,scan"), ["scan", "bcast"])
        with self.assertRaisesRegex(tune.TuneError, "no 'brodcast' to measure; take some of: bar"):
            tune.collectives_named("brodcast")

    def test_cases_are_called_as_in_the_program(self) -> None:
        self.assertEqual(tune.case_name("reduce_scatter", 256), "Reduce_scatter_block 256 B")
        self.assertEqual(tune.case_name("bcast", 1 << 14), "Bcast 16 KiB")
        self.assertEqual(tune.case_name("barrier", 0), "Barrier")

    def test_the_table_shows_what_changes(self) -> None:
        moved, kept = cell(8, flat=1.5), cell(4096, flat=1.0)
        shown = tune.table({moved: ("flat", 1.5, 3.0, 2.0), kept: None})
        self.assertEqual(shown[1].split(),
                         ["bcast", "4", "8", "B", "binomial", "3.00", "flat", "2.00", "1.50"])
        self.assertEqual(shown[2], "1 of 2 measured calls keep what is built in.")

    def test_wrong_words_get_a_sentence(self) -> None:
        parser = argparse.ArgumentParser()
        tune.add_arguments(parser)
        with tempfile.TemporaryDirectory() as folder:
            for words, expected in ((["--ranks", "1"], "--ranks 1: write numbers"),
                                    (["--collectives", "x"], "there is no 'x' to measure")):
                errors = io.StringIO()
                with contextlib.redirect_stderr(errors):
                    code = tune.main(parser.parse_args([*words, "--output", f"{folder}/mine"]))
                self.assertEqual(code, 2)
                self.assertIn(expected, errors.getvalue())
            self.assertEqual(list(Path(folder).iterdir()), [])


if __name__ == "__main__":
    unittest.main()
