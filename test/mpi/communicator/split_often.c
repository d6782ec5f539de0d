// SPDX-License-Identifier: Apache-2.0
// Comm_split and Comm_free again and again: every rank waits for others a few times a round, for
// messages and in meetings, in ever new memory. A wake-up that gets lost ends it.
#include "../check.h"

enum { rounds = 3000, barriers = 6 };

static int test_main(void)
{
    struct check t = check_start("communicator/split_often");
    for (int round = 0; round < rounds; ++round) {
        const int color = (t.rank + round) % 2;
        const int expected = (t.size + (color == round % 2)) / 2;
        MPI_Comm part;
        CHECK_CALL(&t, MPI_Comm_split(MPI_COMM_WORLD, color, t.rank, &part));
        if (round % 3 == 0) {
            const int one = 1;
            int members = 0;
            CHECK_CALL(&t, MPI_Allreduce(&one, &members, 1, MPI_INT, MPI_SUM, part));
            CHECK_INT(&t, members, expected);
        }
        for (int i = 0; round % 5 == 0 && i < barriers; ++i)
            CHECK_CALL(&t, MPI_Barrier(part));
        CHECK_CALL(&t, MPI_Comm_free(&part));
    }
    return check_finish(&t);
}
