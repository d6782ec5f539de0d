# SPDX-License-Identifier: Apache-2.0
"""mpiexec -initial-errhandler (MPI-5.0 section 11.5): what an error ends that nobody handles."""

import subprocess
import unittest

import fixture

CLASSES = {"before": "info", "world": "count", "self": "count", "none": "info", "dup": "count",
           "after": "info"}
WORDS = {"mpi_errors_are_fatal": "fatal", "mpi_errors_abort": "abort",
         "mpi_errors_return": "return"}


class InitialErrhandler(fixture.InFolder):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        subprocess.run([str(fixture.stage() / "bin/mpicc"), "-Wall", "-Werror", "-o",
                        cls.folder / "program", fixture.HERE / "programs/initial_errhandler.c"],
                       check=True)

    def run_job(self, *words: str, **extra: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([fixture.mpiexec(), *words],
                              env=fixture.clean_environment() | extra, capture_output=True,
                              text=True, timeout=fixture.WATCHDOG_S, check=False)

    def test_errors_come_back(self) -> None:
        program = str(self.folder / "program")
        for place, name in CLASSES.items():
            with self.subTest(place=place):
                done = self.run_job("-n", "1", "-initial-errhandler", "mpi_errors_return", program,
                                    place)
                self.assertEqual((done.returncode, done.stdout, done.stderr),
                                 (0, f"class {name}\n", ""))

    def test_errors_end_the_job(self) -> None:
        program = str(self.folder / "program")
        for words in ([], ["-initial-errhandler", "mpi_errors_are_fatal"],
                      ["--initial-errhandler=mpi_errors_abort"]):
            for place in ("before", "world", "none"):
                with self.subTest(words=words, place=place):
                    done = self.run_job("-n", "1", *words, program, place)
                    self.assertNotEqual(done.returncode, 0)
                    self.assertNotIn("class", done.stdout)
                    self.assertIn(f"[MPI_ERR_{CLASSES[place].upper()}]", done.stderr)

    def test_programs_see_it(self) -> None:
        program = str(self.folder / "program")
        for word, name in WORDS.items():
            for kind in ("process", "thread"):
                with self.subTest(word=word, kind=kind):
                    done = self.run_job("-n", "2", "--ranks", kind, "-initial-errhandler", word,
                                        program, "handlers")
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertEqual(done.stdout.count(f"handlers {name} {name} {word}\n"), 2)

    def test_other_launchers_set_the_variable(self) -> None:
        done = self.run_job("-n", "1", str(self.folder / "program"), "handlers",
                            HEADWAY_INITIAL_ERRHANDLER="mpi_errors_abort")
        self.assertIn("handlers abort abort mpi_errors_abort\n", done.stdout)

    def test_other_words_are_refused(self) -> None:
        for word in ("mpi_errors_are_fun", ""):
            with self.subTest(word=word):
                done = self.run_job("-n", "1", "-initial-errhandler", word,
                                    str(self.folder / "program"), "world")
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertEqual(done.stderr.count("\n"), 1)
                self.assertIn("-initial-errhandler: is mpi_errors_are_fatal, mpi_errors_abort or "
                              f"mpi_errors_return, not '{word}'", done.stderr)


if __name__ == "__main__":
    unittest.main()
