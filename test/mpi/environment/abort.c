// SPDX-License-Identifier: Apache-2.0
// One rank ends the job, with the code that it gives, while all others wait for it: the run counts
// as passed if the launcher ends with that code.
#include "../check.h"

static int test_main(void)
{
    struct check t = check_start("abort");
    MPI_Comm twin;
    CHECK_CALL(&t, MPI_Comm_dup(MPI_COMM_WORLD, &twin));
    CHECK_CALL(&t, MPI_Barrier(twin));
    if (t.failures == 0 && t.rank == t.size - 1)
        MPI_Abort(twin, 9);
    MPI_Barrier(twin);  // nobody comes back from here
    CHECK(&t, t.failures != 0 && "MPI_Abort has returned, or the job went on");
    return check_finish(&t);
}
