// SPDX-License-Identifier: Apache-2.0
// Beside a dedicated cpu a rank that waits leaves its work to the thread there, unless it is told
// to wait actively (HEADWAY_WAIT). It leaves no operations open between its calls, so whoever works
// for it does so while it waits.
#include "board.h"

enum { rounds = 100, work = 3000 };

static int test_main(void)
{
    struct check t = check_start("progress/passive");
    const struct headway_interface_1* headway = board_interface();
    const char* const wait = getenv("HEADWAY_WAIT");
    const int is_active = wait != NULL && strcmp(wait, "active") == 0;
    struct headway_progress before, after;
    volatile double x = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    headway->read_progress(&before);
    for (int round = 0; round < rounds; ++round) {
        int got = -1;
        if (t.rank == 0) {
            CHECK_CALL(&t, MPI_Recv(&got, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_INT(&t, got, round);
        } else if (t.rank == 1) {
            for (int i = 0; i < work; ++i)
                x = compute_a_little(x);
            CHECK_CALL(&t, MPI_Send(&round, 1, MPI_INT, 0, 0, MPI_COMM_WORLD));
        }
    }
    headway->read_progress(&after);
    if (t.rank == 0) {
        const uint64_t times = after.times_helped - before.times_helped;
        CHECK(&t, is_active ? times == 0 : times > 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return check_finish(&t);
}
