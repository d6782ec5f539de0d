#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# headway-test: long
# headway-needs: model
"""The scenarios of hand_over.pml with millions of states."""

import unittest

import spin_test


class LargeTest(spin_test.ModelTest):
    def test_models_hold(self) -> None:
        self.check_holds("hand_over", ["ASKING FAR", "RETURNING", "RETURNING FAR", "ENDING FAR"])


if __name__ == "__main__":
    unittest.main()
