# SPDX-License-Identifier: Apache-2.0
"""MPI programs whose ranks are threads of one process: what MPI tells them, and what they share."""

import re
import subprocess
import sys
from typing import Any

import fixture
import host_processes_test
import host_test

sys.path.insert(0, str(fixture.ROOT / "python"))
from headway import rivals

MPICC = str(fixture.stage() / "bin/mpicc")

# All that MPI_INFO_ENV says that does not depend on the machine, before and after MPI_Init.
STARTED_AS = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static void show(const char* when, MPI_Info info)
{
    static const char* const keys[] = {"command", "argv", "wdir"};
    const int rank = atoi(getenv("MPI_LOCALRANKID"));
    for (int i = 0; i < 3; i++) {
        char value[MPI_MAX_INFO_VAL + 1] = "";
        int room = sizeof value, found = 0;
        MPI_Info_get_string(info, keys[i], &room, value, &found);
        printf("%d: %s %s %d %s\\n", rank, when, keys[i], found, value);
    }
}
int main(int count, char** words)
{
    MPI_Info info;
    MPI_Info_create_env(0, NULL, &info);
    show("early", info);
    MPI_Info_free(&info);
    MPI_Init(&count, &words);
    show("env", MPI_INFO_ENV);
    MPI_Finalize();
    return 0;
}
"""

# Each rank reads and writes in memory that the one before it has from MPI_Alloc_mem.
NEIGHBOURS_MEMORY = """
#include <mpi.h>
#include <stdio.h>
int main(int count, char** words)
{
    int rank, ranks, wrong = 0;
    long* own;
    long* other;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Alloc_mem(1000 * sizeof *own, MPI_INFO_NULL, &own);
    for (int i = 0; i < 1000; i++) own[i] = 1000 * rank + i;
    const int before = (rank + ranks - 1) % ranks;
    MPI_Sendrecv(&own, sizeof own, MPI_BYTE, (rank + 1) % ranks, 0, &other, sizeof other,
                 MPI_BYTE, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 1000; i++) {
        wrong += other[i] != 1000 * before + i;
        other[i] = -rank;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 1000; i++) wrong += own[i] != -((rank + 1) % ranks);
    MPI_Free_mem(own);
    printf("%d wrong\\n", wrong);
    MPI_Finalize();
    return wrong;
}
"""

# A library that is loaded while the program runs: found, run, with a variable that all share.
LOADS_LATE = """
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
int main(int count, char** words)
{
    int rank, ranks;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    void* const library = dlopen(words[1], RTLD_NOW);
    if (library == NULL) { fprintf(stderr, "%s\\n", dlerror()); return 1; }
    int (*twice)(int) = (int (*)(int))dlsym(library, "twice");
    int (*from_mpi)(void) = (int (*)(void))dlsym(library, "rank_by_mpi");
    printf("%d: %d %d %d\\n", rank, twice(rank), from_mpi(),
           dlsym(RTLD_DEFAULT, "no_such_symbol") == NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    const int is_closed = dlclose(library) == 0;
    printf("%d: closed %d\\n", rank, is_closed);
    MPI_Finalize();
    return 0;
}
"""
LATE_LIBRARY = """
#include <mpi.h>
int twice(int value) { return 2 * value; }
int rank_by_mpi(void) { int rank; MPI_Comm_rank(MPI_COMM_WORLD, &rank); return rank; }
"""


# The first rank makes children that ask for the time, while the others do so all the time.
CHILDREN_ASK_FOR_THE_TIME = """
#include <mpi.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
int main(int count, char** words)
{
    const time_t moment = 962409600;
    int rank, ranks, wrong = 0, is_over = 0;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0) {
        for (int i = 0; i < 500; i++) {
            int status = 1;
            const pid_t child = fork();
            if (child == 0) _exit(localtime(&moment)->tm_year != 100);
            wrong += waitpid(child, &status, 0) != child || status != 0;
        }
        for (int i = 1; i < ranks; i++) MPI_Send(0, 0, MPI_INT, i, 0, MPI_COMM_WORLD);
        printf("%d wrong\\n", wrong);
    } else {
        MPI_Request over;
        MPI_Irecv(0, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, &over);
        while (!is_over) {
            for (int i = 0; i < 100; i++) localtime(&moment);
            MPI_Test(&over, &is_over, MPI_STATUS_IGNORE);
        }
    }
    MPI_Finalize();
    return wrong;
}
"""

# With 8 MiB of constants. When all ranks are there, the first one adds up what their copies take.
MUCH_CONSTANT = """
#include <mpi.h>
#include <stdio.h>
#include <string.h>
const char constants[8 << 20] = {1, [8 << 19] = 2, [(8 << 20) - 1] = 3};
int main(int count, char** words)
{
    int rank, sum = 0;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (long i = 0; i < (long)sizeof constants; i += 4096) sum += constants[i];
    sum += constants[sizeof constants - 1];
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        char line[600];
        long named = 0, copied_kib = 0, kib;
        int is_copy = 0;
        FILE* const maps = fopen("/proc/self/smaps", "r");
        while (fgets(line, sizeof line, maps)) {
            const int is_head = strchr("0123456789abcdef", line[0]) && strchr(line, '-');
            if (is_head) {
                is_copy = strstr(line, "/memfd:much_constant") != NULL;
                named += strstr(line, "/much_constant\\n") != NULL && !is_copy;
            }
            if (is_copy && sscanf(line, "Rss: %ld", &kib) == 1) copied_kib += kib;
        }
        fclose(maps);
        printf("named %ld copied %ld sum %d\\n", named, copied_kib, sum);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
"""


class MpiInOneProcess(host_test.HostTest):
    def run_job(self, *words: str, **named: Any) -> "subprocess.CompletedProcess[str]":
        done = super().run_job(*words, **named)
        done.stderr = host_processes_test.without_mark(done.stderr)
        return done

    def mpi_program(self, name: str, source: str) -> str:
        path = self.folder / f"{name}.c"
        path.write_text(source)
        return self.compile(MPICC, path, self.folder / name, "-ldl")

    def test_what_it_was_started_as(self) -> None:
        program = self.mpi_program("started_as", STARTED_AS)
        done = {}
        for host in ("process", self.host):
            done[host] = self.run_job("--ranks", host, "-n", "2", program, "first", "second word",
                                      ":", "-n", "1", program, "other", cwd=self.folder)
            self.assertEqual((done[host].returncode, done[host].stderr), (0, ""))
        lines = sorted(done[self.host].stdout.splitlines())
        self.assertEqual(lines, sorted(done["process"].stdout.splitlines()))
        self.assertIn(f"0: env command 1 {program}", lines)
        self.assertIn("1: env argv 1 first second word", lines)
        self.assertIn("2: early argv 1 other", lines)

    def test_memory_of_a_neighbour(self) -> None:
        program = self.mpi_program("neighbours", NEIGHBOURS_MEMORY)
        done = self.threads(5, program)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.splitlines(), ["0 wrong"] * 5)

    def test_libraries_that_are_loaded_late(self) -> None:
        source = self.folder / "late.c"
        source.write_text(LATE_LIBRARY)
        library = self.compile(MPICC, source, self.folder / "liblate.so", "-shared", "-fPIC")
        program = self.mpi_program("loads_late", LOADS_LATE)
        lines = self.in_both(4, program, library)
        self.assertIn("3: 6 3 1", lines)

    def test_a_crowd(self) -> None:
        crowd = self.compile(MPICC, host_test.PROGRAMS / "crowd.c", self.folder / "crowd")
        self.assertEqual(self.in_both(8, crowd, "process")[0], "all is well")


    def test_children_that_ask_for_the_time(self) -> None:
        program = self.mpi_program("children", CHILDREN_ASK_FOR_THE_TIME)
        self.assertEqual(self.in_both(3, program), ["0 wrong"])

    def test_constants_are_there_once(self) -> None:
        program = self.mpi_program("much_constant", MUCH_CONSTANT)
        done = self.threads(64, program)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = re.fullmatch(r"named (\d+) copied (\d+) sum 6\n", done.stdout)
        assert found is not None, done.stdout
        # The text and the constants of each rank have the file's name.
        self.assertGreaterEqual(int(found[1]), 2 * 64)
        # What each rank has for itself: some pages, of which it writes to a few.
        self.assertLess(int(found[2]), 64 * 40)

    def test_the_very_file_that_mpich_built(self) -> None:
        mpich = rivals.find("mpich")
        if mpich is None:
            self.skipTest("MPICH is not installed: ./dev rivals")
        crowd = self.compile(str(mpich / "bin/mpicc_abi"), host_test.PROGRAMS / "crowd.c",
                             self.folder / "crowd_of_mpich")
        done = self.threads(8, crowd)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "all is well\n", ""))

    def test_the_host_itself(self) -> None:
        host = str(fixture.stage() / "bin/headway-host")

        def said(option: str) -> str:
            return subprocess.run(["readelf", option, "-W", host], text=True, capture_output=True,
                                  check=True).stdout
        copies = [line for line in said("-r").splitlines() if "R_X86_64_COPY" in line]
        self.assertEqual(copies, [])
        self.assertNotIn("libstdc++", said("-d"))
        # Functions of C++ that it defines and shows to others.
        shown = re.findall(r" DEFAULT +\d+ (_Z\w+)", said("--dyn-syms"))
        self.assertEqual(shown, [])


class MpiInUlt(MpiInOneProcess):
    host = "ult"

    def test_64_on_two_workers(self) -> None:
        crowd = self.compile(MPICC, host_test.PROGRAMS / "crowd.c", self.folder / "crowd")
        for more in ((), ("--bind-ranks",)):
            with self.subTest(more=more):
                done = self.run_job("--ranks", "ult", "--workers", "2", *more, "-n", "64", crowd)
                self.assertEqual((done.returncode, done.stdout, done.stderr),
                                 (0, "all is well\n", ""))

    def test_bound_ranks_stay(self) -> None:
        # One of the two workers has nothing to do most of the time, so it would take ranks.
        source = self.folder / "uneven.c"
        source.write_text(
            "#include <mpi.h>\n#include <sched.h>\n#include <unistd.h>\n"
            "int main(int count, char** words) {\n"
            "    int rank, ranks;\n    MPI_Init(&count, &words);\n"
            "    MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &ranks);\n"
            "    for (int i = 0; i < 3000 && rank < ranks / 2; i++) sched_yield();\n"
            "    MPI_Finalize();\n    return 0;\n}\n")
        program = self.compile(MPICC, source, self.folder / "uneven")
        done = self.run_job("--ranks", "ult", "--workers", "2", "--bind-ranks",
                            "--report-workers", "-n", "16", program)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"16 ranks on 2 workers: \d+ switches, 0 of them to ranks")


if __name__ == "__main__":
    host_test.unittest.main()
