// SPDX-License-Identifier: Apache-2.0
// What ranks tell each other while none of them calls MPI: a page of flags that all of them map,
// in whatever processes they are, and computation that goes on until a flag is up.
#ifndef HEADWAY_TEST_BOARD_H
#define HEADWAY_TEST_BOARD_H

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "../check.h"

enum { board_flags = 64 };

struct board {
    _Atomic int* flags;
};

/// Collective. Rank 0 makes the page, all map it, its name goes away.
static inline struct board board_open(struct check* t)
{
    char name[] = "/tmp/headway-board-XXXXXX";
    struct board board = {NULL};
    const size_t bytes = board_flags * sizeof *board.flags;
    int file = -1;
    if (t->rank == 0) {
        file = mkstemp(name);
        CHECK(t, file >= 0);
        CHECK_INT(t, ftruncate(file, (off_t)bytes), 0);
    }
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (t->rank != 0)
        file = open(name, O_RDWR | O_CLOEXEC);
    void* page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(t, page != MAP_FAILED);
    close(file);
    MPI_Barrier(MPI_COMM_WORLD);
    if (t->rank == 0)
        unlink(name);
    board.flags = page;
    return board;
}

static inline void board_close(struct board board)
{
    munmap(board.flags, board_flags * sizeof *board.flags);
}

static inline void board_raise(struct board board, int flag)
{
    ++board.flags[flag];
}

/// A little work that the compiler cannot leave out.
static inline double compute_a_little(double x)
{
    for (int i = 0; i < 200; ++i)
        x = x * 0.999 + 0.001;
    return x;
}

#if defined(CHECK_HAS_INTERFACE)
/// Headway's own table; a library that has none is not asked.
static inline const struct headway_interface_1* board_interface(void)
{
    const struct headway_interface_1* table = dlsym(RTLD_DEFAULT, "headway_interface_1");
    if (table == NULL) {
        fprintf(stderr, "skipped: needs Headway's own table\n");
        exit(check_skipped);
    }
    return table;
}
#endif

/// In a simulated team (HEADWAY_SIM) one rank runs at a time, until it asks Headway something.
static inline void let_others_run(void)
{
#if defined(CHECK_HAS_INTERFACE)
    if (getenv("HEADWAY_SIM") != NULL)
        board_interface()->open_operations();
#endif
}

/// Computes, without a call to MPI, until the flag has been raised `times` times.
static inline void compute_until_raised(struct board board, int flag, int times)
{
    volatile double x = 1;
    while (board.flags[flag] < times) {
        x = compute_a_little(x);
        let_others_run();
    }
}

#if defined(CHECK_HAS_INTERFACE)
/// Computes, without a call to MPI, until none of this rank's operations is open any more.
static inline void compute_until_complete(const struct headway_interface_1* headway)
{
    volatile double x = 1;
    while (headway->open_operations() != 0)
        x = compute_a_little(x);
}
#endif

#endif
