// SPDX-License-Identifier: Apache-2.0
// Rank 0 waits for a message that rank 1 never sends; with CHECK_FAILS=1 a check fails instead.
#include "../mpi/check.h"

static int test_main(void)
{
    struct check t = check_start("sim/standstill");
    int in = 0;
    if (check_is_set("CHECK_FAILS"))
        CHECK_INT(&t, in, t.rank);
    else if (t.rank == 0)
        CHECK_CALL(&t, MPI_Recv(&in, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    else
        CHECK(&t, 1);
    return check_finish(&t);
}
