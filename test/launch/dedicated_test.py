# SPDX-License-Identifier: Apache-2.0
"""Cores that are kept for progress: the map that mpiexec prints, what ranks and their OpenMP
runtime find, who moves messages there, and what is refused."""

import os
import subprocess
import unittest
from pathlib import Path
from typing import NamedTuple

import fixture

CPUS = sorted(os.sched_getaffinity(0))
# Prints what a rank may use and what OpenMP is told.
LOOK = ["/bin/sh", "-c", "grep Cpus_allowed_list /proc/self/status; echo $HEADWAY_PROGRESS/"
        "$OMP_NUM_THREADS/$OMP_PLACES/$OMP_PROC_BIND"]


@unittest.skipIf(len(CPUS) < 2, "needs two cpus")
class Dedicated(fixture.LaunchTest):
    """Jobs with a core for progress. No MPI programs here: mpiexec does the placing."""

    def look(self, *words: str) -> tuple[list[str], str]:
        """What one rank prints, and standard error."""
        done = self.run_job(*words, *LOOK)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines(), done.stderr

    def test_rank_has_the_other_cores(self) -> None:
        lines, told = self.look("--progress", "dedicated")
        self.assertNotIn(str(CPUS[0]), lines[0].split()[1].split("-")[0].split(","))
        progress, threads, places, bind = lines[1].split("/")
        self.assertEqual(progress, f"dedicated:{CPUS[0]}")
        self.assertEqual(places.count("{"), int(threads))
        self.assertNotIn(f"{{{CPUS[0]}}}", places)
        self.assertEqual(bind, "true")
        self.assertIn(f"(cpu {CPUS[0]}) is dedicated to progress", told)
        self.assertIn(f"OMP_PLACES={places}", told)

    def test_cpu_by_name_and_by_the_environment(self) -> None:
        last = CPUS[-1]
        found = [self.look("--progress", f"dedicated:{last}"),
                 self.look("-genv", "HEADWAY_PROGRESS", f"dedicated:{last}")]
        self.environment["HEADWAY_PROGRESS"] = f"dedicated:{last}"
        found.append(self.look())
        for lines, told in found:
            self.assertIn(f"(cpu {last}) is dedicated", told)
            self.assertTrue(lines[1].startswith(f"dedicated:{last}/"))
            self.assertNotIn(str(last), lines[1].split("/")[2])

    def test_other_executors_reserve_nothing(self) -> None:
        lines, told = self.look("--progress", "timer")
        self.assertEqual(lines[1], "timer///")
        self.assertEqual(told, "")

    def test_the_users_openmp_settings_stay(self) -> None:
        lines, _told = self.look("--progress", "dedicated", "-genv", "OMP_NUM_THREADS", "1",
                                 "-genv", "OMP_PLACES", f"{{{CPUS[1]}}}")
        self.assertEqual(lines[1].split("/")[1:3], ["1", f"{{{CPUS[1]}}}"])

    def refused(self, *words: str) -> str:
        """The sentence for a job that does not start."""
        done = self.run_job(*words, *LOOK)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_bad_lists(self) -> None:
        for text, words in (("dedicated:x", "'x' is no number or range"),
                            ("dedicated:", "is no number or range"),
                            ("dedicated:4000", "may not use cpu 4000"),
                            ("dedicated:1-0", "ends before it begins"),
                            (f"dedicated:{CPUS[0]},{CPUS[0]}", "is there twice")):
            self.assertIn(words, self.refused("--progress", text), text)

    def test_no_core_left(self) -> None:
        every = ",".join(map(str, CPUS))
        self.assertIn("leaves none for the ranks", self.refused("--progress", f"dedicated:{every}"))

    def test_places_on_the_dedicated_cpu(self) -> None:
        for places in (f"{{0}}:{CPUS[-1] + 1}:1", f"{{{CPUS[0]}}},{{{CPUS[1]}}}",
                       f"{{{CPUS[0]}:1}}"):
            told = self.refused("--progress", f"dedicated:{CPUS[0]}", "-x", f"OMP_PLACES={places}")
            self.assertIn(f"has cpu {CPUS[0]}, which is the dedicated one", told)

    def test_more_ranks_than_cores(self) -> None:
        ranks = len(CPUS) + 1
        done = self.run_job("-n", str(ranks), "--progress", "dedicated", *LOOK)
        self.assertEqual(done.returncode, 0, done.stderr)
        for line in done.stdout.splitlines():
            if line.startswith("dedicated"):
                self.assertEqual(line, f"dedicated:{CPUS[0]}/1//")


class Rank(NamedTuple):
    """What a rank of programs/served.c says."""
    rank: int
    process: int
    movers: int        # threads of its process that move messages
    movers_cpus: str
    cpus: str          # its own


@unittest.skipIf(len(CPUS) < 2, "needs two cpus")
class Served(fixture.LaunchTest):
    """Who moves messages, whatever ranks are."""

    served: str

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.served = str(Path(cls._programs.name) / "served")
        subprocess.run([fixture.stage() / "bin/mpicc", "-O1", "-Wall", "-Werror", "-o", cls.served,
                        fixture.HERE / "programs/served.c", "-pthread"], check=True)

    def ranks(self, *words: str) -> list[Rank]:
        done = self.run_job(*words, self.served)
        self.assertEqual(done.returncode, 0, done.stderr)
        fields = [line.split() for line in done.stdout.splitlines()]
        return sorted(Rank(int(one[0]), int(one[1]), int(one[2]), *one[3:]) for one in fields)

    def check_one_mover_a_process(self, ranks: list[Rank], cpu: int) -> None:
        for each in ranks:
            self.assertEqual((each.movers, each.movers_cpus), (1, str(cpu)))
            self.assertNotIn(str(cpu), each.cpus.split(","))

    def test_ranks_of_a_process_share_one_thread(self) -> None:
        for words, processes in ((("--ranks", "process"), 5), (("--ranks", "thread"), 1),
                                 (("--ranks", "ult"), 1),
                                 (("--ranks", "thread", "--processes-per-node", "2"), 2),
                                 (("--ranks", "ult", "--processes-per-node", "2"), 2)):
            with self.subTest(words=words):
                ranks = self.ranks("-n", "5", "--progress", "dedicated", *words)
                self.assertEqual([each.rank for each in ranks], list(range(5)))
                self.assertEqual(len({each.process for each in ranks}), processes)
                self.check_one_mover_a_process(ranks, CPUS[0])

    def test_user_level_ranks_however_it_is_asked_for(self) -> None:
        last = CPUS[-1]
        for cpu, words in ((CPUS[0], ("--progress", "dedicated")),
                           (last, ("--progress", f"dedicated:{last}")),
                           (CPUS[0], ("-genv", "HEADWAY_PROGRESS", "dedicated")),
                           (CPUS[0], ("-env", "HEADWAY_PROGRESS", "dedicated"))):
            with self.subTest(words=words):
                ranks = self.ranks("--ranks", "ult", "-n", "3", *words)
                self.assertEqual(len(ranks), 3)
                self.check_one_mover_a_process(ranks, cpu)
        self.environment["HEADWAY_PROGRESS"] = "dedicated"
        self.check_one_mover_a_process(self.ranks("--ranks", "ult", "-n", "3"), CPUS[0])

    def alone(self, *words: str) -> str:
        """What the program says on standard error without a launcher."""
        self.environment["HEADWAY_PROGRESS"] = f"dedicated:{CPUS[-1]}"
        done = subprocess.run([self.served, *words], env=self.environment, capture_output=True,
                              text=True, timeout=fixture.WATCHDOG_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return "".join(line for line in done.stderr.splitlines(keepends=True)
                       if fixture.MARK not in line)

    def test_threads_that_were_there_before(self) -> None:
        self.assertEqual(self.alone(), "")
        self.assertEqual(
            self.alone("early"),
            "headway: warning: 1 thread of this process may run on the dedicated cpu "
            f"{CPUS[-1]}; start MPI before other threads, or the program with mpiexec --progress "
            "dedicated\n")
        done = self.run_job("--progress", f"dedicated:{CPUS[-1]}", self.served, "early")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("may run on the dedicated cpu", done.stderr)


@unittest.skipIf(len(CPUS) < 2, "needs two cpus")
class Places(fixture.LaunchTest):
    """What GCC's OpenMP runtime makes of it."""

    places: str

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.places = str(Path(cls._programs.name) / "places")
        subprocess.run(["gcc", "-O1", "-Wall", "-Werror", "-fopenmp", "-o", cls.places,
                        fixture.HERE / "programs/places.c"], check=True)

    def look(self, *words: str) -> tuple[list[set[int]], list[set[int]]]:
        """The cpus of each place, and those of each thread."""
        done = self.run_job("--progress", f"dedicated:{CPUS[0]}", *words, self.places)
        self.assertEqual(done.returncode, 0, done.stderr)
        found: dict[str, list[set[int]]] = {"place": [], "thread": []}
        for line in done.stdout.splitlines():
            kind, *cpus = line.split()
            found[kind].append(set(map(int, cpus)))
        return found["place"], found["thread"]

    def test_a_place_a_core(self) -> None:
        places, threads = self.look()
        core = {CPUS[0]}
        siblings = Path(f"/sys/devices/system/cpu/cpu{CPUS[0]}/topology/core_cpus_list")
        if siblings.is_file():
            core = {cpu for part in siblings.read_text().strip().split(",")
                    for cpu in range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1)}
        self.assertEqual(set().union(*places), set(CPUS) - core)
        self.assertEqual(sorted(map(sorted, threads)), sorted(map(sorted, places)))

    def test_abstract_places_keep_to_the_cores_left(self) -> None:
        for kind in ("cores", "threads", "sockets"):
            places, threads = self.look("-x", f"OMP_PLACES={kind}")
            self.assertTrue(places, kind)
            self.assertNotIn(CPUS[0], set().union(*places, *threads), kind)

    def test_threads_of_ranks_that_have_no_cores(self) -> None:
        for words in (("-n", str(len(CPUS) + 1)), ("-n", "2", "--ranks", "thread"),
                      ("-n", "2", "--ranks", "ult")):
            places, threads = self.look(*words)
            self.assertEqual(places, [], words)
            self.assertGreaterEqual(len(threads), int(words[1]))
            self.assertNotIn(CPUS[0], set().union(*threads), words)


if __name__ == "__main__":
    unittest.main()
