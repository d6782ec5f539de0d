// SPDX-License-Identifier: Apache-2.0
// Handles that no library may accept. Which of them a library can refuse without a signal
// differs: the null handles always, the others only where `skip_garbage` is off.
#ifndef HEADWAY_TEST_BAD_HANDLES_H
#define HEADWAY_TEST_BAD_HANDLES_H

#include "../check.h"

enum { bad_count = 6 };

struct bad_handles {
    // Memory of the program that is no object of the library.
    uint64_t memory[16];
    int used;
    uintptr_t values[bad_count];
};

// Small numbers that are no predefined handle, addresses that are not mapped, are odd, or are
// mapped but not the library's.
static inline void bad_handles_fill(struct bad_handles* bad, int skip_garbage)
{
    memset(bad, 0, sizeof *bad);
    if (skip_garbage)
        return;
    bad->values[0] = 7;
    bad->values[1] = 0x3FF;
    bad->values[2] = (uintptr_t)0xDEADBEEF0000u;
    bad->values[3] = (uintptr_t)&bad->memory[4];
    bad->values[4] = (uintptr_t)&bad->memory[4] + 1;
    bad->values[5] = UINTPTR_MAX;
    bad->used = bad_count;
}

// Rows in which a library that does not look at its pointers ends by a signal.
#define REFUSED_UNSAFE(t, call, ...)         \
    do {                                     \
        if (!(t)->skip_garbage)              \
            REFUSED((t), call, __VA_ARGS__); \
    } while (0)

// All errors come back as codes, those without a communicator too.
static inline void return_errors(struct check* t)
{
    CHECK_CALL(t, MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK_CALL(t, MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
}

// What was refused must have left nothing behind: the world still works.
static inline void check_still_works(struct check* t)
{
    int sum = -1, got = -1;
    const int to = (t->rank + 1) % t->size, from = (t->rank + t->size - 1) % t->size;
    CHECK_CALL(t, MPI_Allreduce(&t->rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_INT(t, sum, t->size * (t->size - 1) / 2);
    CHECK_CALL(t, MPI_Sendrecv(&t->rank, 1, MPI_INT, to, 7, &got, 1, MPI_INT, from, 7,
                               MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_INT(t, got, from);
}

#endif
