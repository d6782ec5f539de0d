# SPDX-License-Identifier: Apache-2.0
"""children.py LIBRARY PROGRAM: a rank in Python, without mpi4py, that starts processes after
MPI_Init in the ways Python has, and communicates afterwards."""

import ctypes
import multiprocessing
import os
import subprocess
import sys

WORLD = ctypes.c_void_p(0x101)  # MPI_COMM_WORLD in the standard ABI


def square(number):
    return number * number


def fork_and_leave():
    """A child that ends as Python programs do, with all of their exit handlers."""
    child = os.fork()
    if child == 0:
        sys.exit(5)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main():
    library, program = sys.argv[1:]
    mpi = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    mpi.MPI_Init(None, None)
    code = fork_and_leave()
    assert code == 5, code
    words = subprocess.run([program, "none"], check=True, capture_output=True, text=True).stdout
    assert words == "rank 0 of 1\n", words
    # A copy of the first environment names a connection that this child does not have.
    stale = subprocess.run([program, "none"], check=False, capture_output=True, text=True,
                           env=dict(os.environ))
    print("stale:", stale.returncode, stale.stderr.strip(), flush=True)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(square, range(5)) == [0, 1, 4, 9, 16]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(square, range(3)) == [0, 1, 4]
    mpi.MPI_Barrier(WORLD)
    mpi.MPI_Finalize()
    print("rank done", flush=True)


if __name__ == "__main__":
    main()
