# SPDX-License-Identifier: Apache-2.0
"""Jobs over hosts in descriptions, and names that stand for several benches."""

import unittest
from pathlib import Path

from headway import bench, description

TEXT = """
title = "t"
program = "p"
[[metric]]
name = "m_us"
unit = "us"
better = "lower"
[[job]]
cases = ["c"]
"""


class Network(unittest.TestCase):
    def test_ranks_are_dealt_evenly_and_pinned_alone(self) -> None:
        for ranks, hosts, pin in ((2, 2, "true"), (8, 4, "false"), (2, 0, "true")):
            parsed = description.parse(
                "x", f"{TEXT}ranks = {ranks}\nhosts = {hosts}\npin = {pin}\n")
            self.assertEqual(parsed.jobs[0].hosts, hosts)
        for ranks, hosts, pin in ((3, 2, "false"), (2, 1, "true")):
            with self.assertRaisesRegex(description.DescriptionError, "cannot be dealt"):
                description.parse("x", f"{TEXT}ranks = {ranks}\nhosts = {hosts}\npin = {pin}\n")

    def test_a_rate_is_that_of_hosts(self) -> None:
        parsed = description.parse(
            "x", f'{TEXT}ranks = 2\nhosts = 2\npin = true\nrate = "1gbit"\n')
        self.assertEqual(parsed.jobs[0].rate, "1gbit")
        with self.assertRaisesRegex(description.DescriptionError, "say hosts"):
            description.parse("x", f'{TEXT}ranks = 2\npin = true\nrate = "1gbit"\n')

    def test_a_name_stands_for_all_that_begin_with_it(self) -> None:
        benches = description.available(Path(bench.ROOT) / "bench")
        self.assertEqual(len(bench._named(["network"], benches)), 7)
        self.assertEqual(bench._named(["rate", "rate", "none"], benches), ["rate", "none"])


if __name__ == "__main__":
    unittest.main()
