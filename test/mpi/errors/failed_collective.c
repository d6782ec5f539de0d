// SPDX-License-Identifier: Apache-2.0
// Collectives in which one member has less room than comes: its call says so, the calls of members
// that depend on it say that their part did not come, nobody hangs, and the communicator, or the
// persistent request, is as good as before. Between failing calls every rank may be late.
#include "../check.h"

enum { count_max = 60000, rounds = 6, requests_max = 16 };

static const int counts[] = {1, 200, 9000, count_max};
enum { count_kinds = sizeof counts / sizeof counts[0] };

struct buffers {
    int* out;
    int* in;
};

static void fill(const struct check* t, struct buffers* b, int value)
{
    for (int i = 0; i < count_max; ++i) {
        b->out[i] = t->rank + value;
        b->in[i] = t->rank == 0 ? value : -1;
    }
}

static int is_expected(struct check* t, int code, int may_truncate)
{
    const int class = check_error_class(code);
    const int is_known = class == MPI_SUCCESS || class == MPI_ERR_OTHER ||
                         (may_truncate && class == MPI_ERR_TRUNCATE);
    if (!CHECK(t, is_known))
        fprintf(stderr, "  error class %d\n", class);
    return class;
}

// Computes a little, so that ranks come in another order each time.
static void dawdle(const struct check* t, int round)
{
    volatile long sink = 0;
    for (long i = 0; i < ((t->rank + round) % 3) * 20000L; ++i)
        sink += i;
}

// The communicator works for everybody.
static void works(struct check* t, MPI_Comm comm)
{
    int one = t->rank + 1, sum = 0;
    CHECK_CALL(t, MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_INT(t, sum, t->size * (t->size + 1) / 2);
}

static void broadcasts(struct check* t, struct buffers* b, MPI_Comm comm)
{
    const int last = t->size - 1;
    for (int k = 0; k < count_kinds; ++k) {
        for (int round = 0; round < rounds; ++round) {
            const int count = counts[k] - (t->rank == last ? 1 : 0);
            MPI_Request request;
            fill(t, b, round);
            dawdle(t, round);
            CHECK_CALL(t, MPI_Ibcast(b->in, count, MPI_INT, 0, comm, &request));
            const int class =
                is_expected(t, MPI_Wait(&request, MPI_STATUS_IGNORE), t->rank == last);
            CHECK(t, request == MPI_REQUEST_NULL);
            if (t->rank == last)
                CHECK_INT(t, class, MPI_ERR_TRUNCATE);
            if (class == MPI_SUCCESS && t->rank != last)
                CHECK_INT(t, b->in[count - 1], round);
            CHECK_INT(t, b->in[count_max - 1], t->rank == 0 || count == count_max ? round : -1);
            dawdle(t, round + 1);
            is_expected(t, MPI_Bcast(b->in, count, MPI_INT, 0, comm), t->rank == last);
            works(t, comm);
        }
    }
}

// The root has no room for what the last rank sends.
static void gathers(struct check* t, struct buffers* b, MPI_Comm comm)
{
    const int last = t->size - 1;
    for (int round = 0; round < rounds; ++round) {
        const int sent = t->rank == last ? 400 : 300;
        MPI_Request requests[2];
        int classes[2];
        fill(t, b, round);
        dawdle(t, round);
        CHECK_CALL(t,
                   MPI_Igather(b->out, sent, MPI_INT, b->in, 300, MPI_INT, 0, comm, &requests[0]));
        CHECK_CALL(t, MPI_Iallreduce(b->out, b->in + count_max / 2, 3, MPI_INT, MPI_MIN, comm,
                                     &requests[1]));
        for (int i = 1; i >= 0; --i)
            classes[i] = is_expected(t, MPI_Wait(&requests[i], MPI_STATUS_IGNORE), i == 0);
        CHECK_INT(t, classes[0], t->rank == 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
        CHECK_INT(t, classes[1], MPI_SUCCESS);
        CHECK_INT(t, b->in[count_max / 2], round);
        works(t, comm);
    }
}

// A request that failed is started again, with what is left of its last run still on its way.
static void persistent(struct check* t, struct buffers* b, MPI_Comm comm)
{
    const int last = t->size - 1;
    MPI_Request wrong, right;
    CHECK_CALL(t, MPI_Bcast_init(b->in, 9000 - (t->rank == last ? 1 : 0), MPI_INT, 0, comm,
                                 MPI_INFO_NULL, &wrong));
    CHECK_CALL(t, MPI_Allreduce_init(b->out, b->in + count_max / 2, 1, MPI_INT, MPI_MIN, comm,
                                     MPI_INFO_NULL, &right));
    for (int round = 0; round < 3 * rounds; ++round) {
        fill(t, b, round);
        dawdle(t, round);
        CHECK_CALL(t, MPI_Start(&wrong));
        CHECK_CALL(t, MPI_Start(&right));
        const int class = is_expected(t, MPI_Wait(&wrong, MPI_STATUS_IGNORE), t->rank == last);
        if (t->rank == last)
            CHECK_INT(t, class, MPI_ERR_TRUNCATE);
        CHECK(t, wrong != MPI_REQUEST_NULL);
        CHECK_CALL(t, MPI_Wait(&right, MPI_STATUS_IGNORE));
        CHECK_INT(t, b->in[count_max / 2], round);
    }
    CHECK_CALL(t, MPI_Request_free(&wrong));
    CHECK_CALL(t, MPI_Request_free(&right));
    works(t, comm);
}

// What members still send to a failed collective of a communicator that is freed meets no other.
static void freed(struct check* t, struct buffers* b)
{
    const int last = t->size - 1;
    for (int round = 0; round < 40; ++round) {
        MPI_Comm comm;
        CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        fill(t, b, round);
        dawdle(t, round);
        is_expected(
            t, MPI_Gather(b->out, t->rank == last ? 20 : 10, MPI_INT, b->in, 10, MPI_INT, 0, comm),
            1);
        CHECK_CALL(t, MPI_Comm_free(&comm));
    }
    works(t, MPI_COMM_WORLD);
}

static int test_main(void)
{
    struct check t = check_start("failed_collective");
    struct buffers b = {check_memory(count_max * sizeof(int)),
                        check_memory(count_max * sizeof(int))};
    MPI_Comm comm;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_CALL(&t, MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    if (t.size > 1) {
        broadcasts(&t, &b, comm);
        gathers(&t, &b, comm);
        persistent(&t, &b, comm);
        freed(&t, &b);
    }
    works(&t, comm);
    CHECK_CALL(&t, MPI_Comm_free(&comm));
    free(b.out);
    free(b.in);
    return check_finish(&t);
}
