// SPDX-License-Identifier: Apache-2.0
// Communicators made, used and freed, more of them than the node heap of the job has room for: what
// each needed is given back, by all instances that its messages went through.
#define CHECK_OWN_INIT
#include "../check.h"

enum { tag_count = 4 };

static int test_main(void)
{
    int provided = -1;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    struct check t = check_start("churn");
    const int rounds = (int)check_setting("CHECK_ROUNDS", 15000);
    const int to = (t.rank + 1) % t.size, from = (t.rank + t.size - 1) % t.size;
    MPI_Info info;
    CHECK_CALL(&t, MPI_Info_create(&info));
    CHECK_CALL(&t, MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
    for (int round = 0; round < rounds; ++round) {
        MPI_Comm made;
        int sum = 0, in[tag_count], out[tag_count];
        MPI_Request requests[2 * tag_count];
        CHECK_CALL(&t, MPI_Comm_dup_with_info(MPI_COMM_WORLD, round % 2 == 0 ? info : MPI_INFO_NULL,
                                              &made));
        for (int tag = 0; tag < tag_count; ++tag) {
            in[tag] = -1;
            out[tag] = round + tag;
            CHECK_CALL(
                &t, MPI_Irecv(&in[tag], 1, MPI_INT, from, tag, made, &requests[tag_count + tag]));
            CHECK_CALL(&t, MPI_Isend(&out[tag], 1, MPI_INT, to, tag, made, &requests[tag]));
        }
        CHECK_CALL(&t, MPI_Allreduce(&round, &sum, 1, MPI_INT, MPI_SUM, made));
        CHECK_INT(&t, sum, round * t.size);
        // Some are freed while messages are under way.
        if (round % 3 == 0)
            CHECK_CALL(&t, MPI_Comm_free(&made));
        CHECK_CALL(&t, MPI_Waitall(2 * tag_count, requests, MPI_STATUSES_IGNORE));
        for (int tag = 0; tag < tag_count; ++tag)
            CHECK_INT(&t, in[tag], round + tag);
        if (round % 3 != 0)
            CHECK_CALL(&t, MPI_Comm_free(&made));
    }
    CHECK_CALL(&t, MPI_Info_free(&info));
    MPI_Finalize();
    return check_finish(&t);
}
