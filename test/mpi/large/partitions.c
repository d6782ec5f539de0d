// SPDX-License-Identifier: Apache-2.0
// The `_c` twins of partitioned messages, whose counts are wide in both forms.
#include "../check.h"

enum { bytes = 3000, tag = 5, sent_parts = 5, received_parts = 3 };

static int test_main(void)
{
    struct check t = check_start("large_partitions");
    const int to = (t.rank + 1) % t.size, from = (t.rank + t.size - 1) % t.size;
    char out[bytes], in[bytes] = {0};
    MPI_Request send, receive;
    check_fill(out, bytes, (uint64_t)t.rank + 1);
    CHECK_CALL(&t, MPI_Precv_init_c(in, received_parts, bytes / received_parts, MPI_CHAR, from, tag,
                                    MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
    CHECK_CALL(&t, MPI_Psend_init_c(out, sent_parts, bytes / sent_parts, MPI_CHAR, to, tag,
                                    MPI_COMM_WORLD, MPI_INFO_NULL, &send));
    CHECK_CALL(&t, MPI_Start(&receive));
    CHECK_CALL(&t, MPI_Start(&send));
    for (int i = sent_parts - 1; i >= 0; --i)
        CHECK_CALL(&t, MPI_Pready(i, send));
    CHECK_CALL(&t, MPI_Wait(&send, MPI_STATUS_IGNORE));
    CHECK_CALL(&t, MPI_Wait(&receive, MPI_STATUS_IGNORE));
    CHECK_PATTERN(&t, in, bytes, (uint64_t)from + 1);
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
    return check_finish(&t);
}
