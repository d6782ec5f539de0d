# SPDX-License-Identifier: Apache-2.0
"""Who depends on a member whose part of a collective failed is told so, once, and does not hang."""

import re
import unittest

from job import HERE, JobTest

FORMS = {"blocking": "MPI_Reduce", "started": "MPI_Wait", "persistent": "MPI_Wait"}


class GivenUpTest(JobTest):
    def test_says_so_where_the_result_is_wanted(self):
        program = self.build(HERE / "given_up.c")
        for form, function in FORMS.items():
            with self.subTest(form):
                outcome = self.mpiexec(4, program, form, HEADWAY_COLL_REDUCE="binomial")
                self.assertFalse(outcome.hung, str(outcome))
                shape = re.compile(rf"^headway: rank 0: {function}: .+ failed at another member.+ "
                                   r"\[MPI_ERR_OTHER\]")
                lines = [line for line in outcome.sentences() if shape.match(line)]
                self.assertEqual(len(lines), 1, str(outcome))
                self.assertEqual(outcome.stdout, "", str(outcome))
                self.assertNotEqual(outcome.code, 0, str(outcome))


if __name__ == "__main__":
    unittest.main()
