# SPDX-License-Identifier: Apache-2.0
"""`mpiexec --report`: a page at the end, whose numbers are those of the program."""

import re
import subprocess
import unittest

import fixture

# Each rank but the last sends COUNT messages of BYTES to the next one; then all meet.
PROGRAM = """
#include <mpi.h>
enum { count = 20, bytes = 1000 };
int main(void)
{
    static char data[bytes];
    int rank, size;
    MPI_Init(0, 0);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < count && rank + 1 < size; ++i)
        MPI_Send(data, bytes, MPI_CHAR, rank + 1, i, MPI_COMM_WORLD);
    if (rank > 0)
        MPI_Probe(rank - 1, count - 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < count && rank > 0; ++i)
        MPI_Recv(data, bytes, MPI_CHAR, rank - 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
"""
COUNT, BYTES = 20, 1000

# Rank 1 looks at its buffer, outside MPI, until the message that it has asked for is there. Its
# word that it has asked is the last thing before; a few rounds, as it may still be on its way out
# when the message comes, and then sees to it itself.
OVERLAPPED = """
#include <mpi.h>
#include <sched.h>
#include <string.h>
enum { bytes = 2 << 20, rounds = 20 };
static volatile char data[bytes];
int main(void)
{
    int rank;
    MPI_Request request;
    MPI_Init(0, 0);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 1; round <= rounds; ++round) {
        if (rank == 0) {
            memset((char*)data, round, bytes);
            MPI_Recv(0, 0, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send((char*)data, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        } else {
            MPI_Irecv((char*)data, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &request);
            MPI_Send(0, 0, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
            for (int i = 0; i < bytes; i += 4096)
                while (data[i] != round)
                    sched_yield();
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
    MPI_Finalize();
    return 0;
}
"""


class Profile(fixture.InFolder):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        for name, text in (("p", PROGRAM), ("overlapped", OVERLAPPED)):
            (cls.folder / f"{name}.c").write_text(text)
            subprocess.run([str(fixture.stage() / "bin/mpicc"), "-o", name, f"{name}.c"],
                           cwd=cls.folder, check=True)

    def page(self, *options: str, program: str = "p") -> list[str]:
        ran = subprocess.run([fixture.mpiexec(), *options, str(self.folder / program)],
                             env=fixture.clean_environment(), capture_output=True, text=True,
                             timeout=fixture.WATCHDOG_S, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stderr.splitlines()

    def check(self, ranks: int, *options: str) -> None:
        lines = self.page("-n", str(ranks), "--report", *options)
        self.assertLess(len(lines), 60)
        self.assertRegex(lines[0], rf"^headway: profile of {ranks} ranks in \d+ processes, ")
        rows = [line.split()[1:] for line in lines if re.match(r"headway: +\d+ ", line)]
        self.assertEqual([int(row[0]) for row in rows], list(range(ranks)))
        for rank, row in enumerate(rows):
            self.assertLessEqual(float(row[2]), 100.0)
            sent, received = int(row[4]), int(row[6])
            # Those of the program, and a few of the collectives at the end.
            self.assertGreaterEqual(sent, COUNT * (rank + 1 < ranks))
            self.assertGreaterEqual(received, COUNT * (rank > 0))
            self.assertGreaterEqual(float(row[5]), COUNT * BYTES / 1e6 * (rank + 1 < ranks))
            # The probe found the last one, so all have arrived before their receives.
            self.assertGreaterEqual(int(row[8]), COUNT * (rank > 0))
        calls = {row[1]: int(row[2]) for line in lines
                 if (row := line.split()) and len(row) > 2 and row[1].startswith("MPI_")}
        self.assertEqual(calls["MPI_Send"], COUNT * (ranks - 1))
        self.assertEqual(calls["MPI_Recv"], COUNT * (ranks - 1))
        self.assertEqual(calls["MPI_Init"], ranks)

    def test_processes(self) -> None:
        for ranks in (2, 3):
            with self.subTest(ranks=ranks):
                self.check(ranks)

    def test_threads(self) -> None:
        self.check(3, "--ranks", "thread")

    def test_overlap_is_what_others_moved(self) -> None:
        for options in ((), ("--ranks", "thread")):
            with self.subTest(options=options):
                lines = self.page("-n", "2", "--report", *options, program="overlapped")
                rows = [line.split()[1:] for line in lines if re.match(r"headway: +\d+ ", line)]
                helped, helped_s = int(rows[1][9]), float(rows[1][10])
                self.assertGreater(helped, 0)
                self.assertGreater(helped_s, 0.0)
                total = next(line for line in lines if "overlap: " in line)
                self.assertGreaterEqual(float(total.split()[6]), helped_s)

    def test_silent_without_it(self) -> None:
        self.assertEqual(self.page("-n", "2"), [])


if __name__ == "__main__":
    unittest.main()
