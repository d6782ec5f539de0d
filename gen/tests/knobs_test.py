# SPDX-License-Identifier: Apache-2.0
"""gen/knobs.py refuses nonsense and writes what compiles."""

import unittest

from gen import knobs

GOOD = ('[[knob]]\nname = "depth_max"\ntype = "bytes"\ndefault = "8K"\nrange = ["0", "1M"]\n'
        'about = "How deep."\nmoved_by = "t"\n')
CHOICE = ('[[knob]]\nname = "mode"\ntype = "choice"\nchoices = ["auto", "off", "later"]\n'
          'not_built = ["later"]\ndefault = "auto"\nabout = "Which."\nmoved_by = "t"\n')


class Knobs(unittest.TestCase):
    def test_good_knobs(self) -> None:
        depth, mode = knobs.read_knobs(GOOD + CHOICE)
        self.assertEqual((depth.variable, depth.limits), ("HEADWAY_DEPTH_MAX", (0, 1 << 20)))
        self.assertEqual((mode.cpp_type, mode.limits), ("ModeChoice", (0, 2)))

    def test_bad_knobs_are_refused(self) -> None:
        for old, new in (('"8K"', '"2M"'), ('"8K"', '"8Q"'), ('"bytes"', '"float"'),
                         ("depth_max", "Depth"), ("How deep.", "How deep"),
                         ("moved_by", "moved"), ('["0", "1M"]', '["0"]')):
            with self.assertRaises(knobs.BadKnob, msg=new):
                knobs.read_knobs(GOOD.replace(old, new))
        with self.assertRaises(knobs.BadKnob):
            knobs.read_knobs(CHOICE.replace('default = "auto"', 'default = "later"'))
        with self.assertRaises(knobs.BadKnob):
            knobs.read_knobs(GOOD + GOOD)

    def test_the_header_holds_defaults_and_limits(self) -> None:
        header = knobs.render_header(knobs.read_knobs(GOOD + CHOICE), ["HEADWAY_JOB"])
        self.assertIn("std::uint64_t depth_max = 8192;", header)
        self.assertIn("ModeChoice mode = ModeChoice::automatic;", header)
        self.assertIn("enum class ModeChoice : std::uint8_t { automatic, off, later };", header)
        self.assertIn('{"depth_max", KnobType::bytes, 0U, 1048576U,', header)
        self.assertIn('not_knobs[] = {"HEADWAY_JOB"}', header)

    def test_a_path_is_empty_unless_set(self) -> None:
        text = ('[[knob]]\nname = "log"\ntype = "path"\ndefault = ""\nabout = "Where."\n'
                'moved_by = "t"\n')
        header = knobs.render_header(knobs.read_knobs(text), [])
        self.assertIn("std::string log;", header)
        self.assertIn("name of a file | none | Where.", knobs.render_docs(knobs.read_knobs(text)))
        with self.assertRaises(knobs.BadKnob):
            knobs.read_knobs(text.replace('default = ""', 'default = "/tmp"'))

    def test_the_page_says_what_is_not_built(self) -> None:
        self.assertIn("auto, off, later (not built yet)",
                      knobs.render_docs(knobs.read_knobs(CHOICE)))


if __name__ == "__main__":
    unittest.main()
