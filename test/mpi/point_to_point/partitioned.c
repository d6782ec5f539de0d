// SPDX-License-Identifier: Apache-2.0
// Partitioned messages: any order of partitions, other numbers of them on both sides, gaps in the
// elements, several messages with one name.
#include "../check.h"

enum { tag = 6, rounds = 4 };

struct shape {
    int send_partitions, send_count, receive_partitions, receive_count;
};

static void fill(int* out, int count, int rank, int round)
{
    for (int i = 0; i < count; ++i)
        out[i] = rank * 1000003 + round * 7919 + i;
}

static int wrong_in(const int* in, int count, int rank, int round)
{
    int wrong = 0;
    for (int i = 0; i < count; ++i)
        wrong += in[i] != rank * 1000003 + round * 7919 + i;
    return wrong;
}

static void make_ready(struct check* t, MPI_Request sent, int partitions, int round)
{
    int backwards[64];
    switch (round % 4) {
        case 0:
            for (int i = 0; i < partitions; ++i)
                CHECK_CALL(t, MPI_Pready(i, sent));
            break;
        case 1:
            for (int i = partitions; i-- > 0;)
                CHECK_CALL(t, MPI_Pready(i, sent));
            break;
        case 2:
            CHECK_CALL(t, MPI_Pready_range(0, partitions - 1, sent));
            break;
        default:
            for (int i = 0; i < partitions; ++i)
                backwards[i] = partitions - 1 - i;
            CHECK_CALL(t, MPI_Pready_list(partitions, backwards, sent));
    }
}

static void round_trips(struct check* t, const struct shape* s)
{
    const int to = (t->rank + 1) % t->size, from = (t->rank + t->size - 1) % t->size;
    const int total = s->send_partitions * s->send_count;
    int* out = check_memory((size_t)total * sizeof(int));
    int* in = check_memory((size_t)total * sizeof(int));
    MPI_Request requests[2];
    MPI_Status statuses[2];
    CHECK_CALL(t, MPI_Psend_init(out, s->send_partitions, s->send_count, MPI_INT, to, tag,
                                 MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    CHECK_CALL(t, MPI_Precv_init(in, s->receive_partitions, s->receive_count, MPI_INT, from, tag,
                                 MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
    for (int round = 0; round < rounds; ++round) {
        int flag = 0, count = 0;
        memset(in, 0xff, (size_t)total * sizeof(int));
        CHECK_CALL(t, MPI_Startall(2, requests));
        fill(out, total, t->rank, round);
        make_ready(t, requests[0], s->send_partitions, round);
        if (round % 2 == 0) {
            for (int i = 0; i < s->receive_partitions; ++i) {
                for (flag = 0; !flag;) {
                    if (MPI_Parrived(requests[1], i, &flag) != MPI_SUCCESS)
                        break;
                }
                const int first = i * s->receive_count;
                CHECK_INT(t, in[first], from * 1000003 + round * 7919 + first);
            }
        }
        CHECK_CALL(t, MPI_Waitall(2, requests, statuses));
        CHECK_INT(t, wrong_in(in, total, from, round), 0);
        CHECK_INT(t, statuses[1].MPI_SOURCE, from);
        CHECK_INT(t, statuses[1].MPI_TAG, tag);
        CHECK_CALL(t, MPI_Get_count(&statuses[1], MPI_INT, &count));
        CHECK_INT(t, count, total);
        CHECK_CALL(t, MPI_Parrived(requests[1], 0, &flag));
        CHECK_INT(t, flag, 1);
    }
    CHECK_CALL(t, MPI_Request_free(&requests[0]));
    CHECK_CALL(t, MPI_Request_free(&requests[1]));
    free(in);
    free(out);
}

// A partition can arrive while others are not ready.
static void early(struct check* t)
{
    enum { partitions = 4, count = 4096 };
    int* out = check_memory(partitions * count * sizeof(int));
    int* in = check_memory(partitions * count * sizeof(int));
    MPI_Request requests[2];
    int flag = 0;
    CHECK_CALL(t, MPI_Psend_init(out, partitions, count, MPI_INT, t->rank, tag, MPI_COMM_WORLD,
                                 MPI_INFO_NULL, &requests[0]));
    CHECK_CALL(t, MPI_Precv_init(in, partitions, count, MPI_INT, t->rank, tag, MPI_COMM_WORLD,
                                 MPI_INFO_NULL, &requests[1]));
    CHECK_CALL(t, MPI_Startall(2, requests));
    fill(out, partitions * count, t->rank, 0);
    CHECK_CALL(t, MPI_Pready(2, requests[0]));
    if (!t->lenient) {
        for (flag = 0; !flag;) {
            if (MPI_Parrived(requests[1], 2, &flag) != MPI_SUCCESS)
                break;
        }
        CHECK_INT(t, in[2 * count], t->rank * 1000003 + 2 * count);
        CHECK_CALL(t, MPI_Parrived(requests[1], 1, &flag));
        CHECK_INT(t, flag, 0);
        CHECK_CALL(t, MPI_Test(&requests[1], &flag, MPI_STATUS_IGNORE));
        CHECK_INT(t, flag, 0);
    }
    CHECK_CALL(t, MPI_Pready(3, requests[0]));
    CHECK_CALL(t, MPI_Pready_range(0, 1, requests[0]));
    CHECK_CALL(t, MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK_INT(t, wrong_in(in, partitions * count, t->rank, 0), 0);
    CHECK_CALL(t, MPI_Request_free(&requests[0]));
    CHECK_CALL(t, MPI_Request_free(&requests[1]));
    free(in);
    free(out);
}

static void strided(struct check* t)
{
    enum { partitions = 3, count = 500, span = 2 * partitions * count };
    const int to = (t->rank + 1) % t->size, from = (t->rank + t->size - 1) % t->size;
    int* out = check_memory(span * sizeof(int));
    int* in = check_memory(span * sizeof(int));
    MPI_Datatype every_other;
    MPI_Request requests[2];
    CHECK_CALL(t, MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &every_other));
    CHECK_CALL(t, MPI_Type_commit(&every_other));
    CHECK_CALL(t, MPI_Psend_init(out, partitions, count, every_other, to, tag, MPI_COMM_WORLD,
                                 MPI_INFO_NULL, &requests[0]));
    CHECK_CALL(t, MPI_Precv_init(in, partitions, count, every_other, from, tag, MPI_COMM_WORLD,
                                 MPI_INFO_NULL, &requests[1]));
    CHECK_CALL(t, MPI_Type_free(&every_other));
    for (int round = 0; round < rounds; ++round) {
        int wrong = 0;
        fill(out, span, t->rank, round);
        memset(in, 0xff, span * sizeof(int));
        CHECK_CALL(t, MPI_Startall(2, requests));
        make_ready(t, requests[0], partitions, round);
        CHECK_CALL(t, MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < span; ++i)
            wrong += in[i] != (i % 2 == 0 ? from * 1000003 + round * 7919 + i : -1);
        CHECK_INT(t, wrong, 0);
    }
    CHECK_CALL(t, MPI_Request_free(&requests[0]));
    CHECK_CALL(t, MPI_Request_free(&requests[1]));
    free(in);
    free(out);
}

// Initializations with one peer and tag match in their order, whatever the order of the starts.
static void several(struct check* t)
{
    int out[2] = {10 * t->rank + 1, 10 * t->rank + 2}, in[2] = {-1, -1};
    const int to = (t->rank + 1) % t->size, from = (t->rank + t->size - 1) % t->size;
    MPI_Request sent[2], received[2];
    for (int i = 0; i < 2; ++i) {
        CHECK_CALL(t, MPI_Psend_init(&out[i], 1, 1, MPI_INT, to, tag, MPI_COMM_WORLD, MPI_INFO_NULL,
                                     &sent[i]));
        CHECK_CALL(t, MPI_Precv_init(&in[i], 1, 1, MPI_INT, from, tag, MPI_COMM_WORLD,
                                     MPI_INFO_NULL, &received[i]));
    }
    for (int i = 2; i-- > 0;) {
        CHECK_CALL(t, MPI_Start(&sent[i]));
        CHECK_CALL(t, MPI_Pready(0, sent[i]));
    }
    CHECK_CALL(t, MPI_Startall(2, received));
    CHECK_CALL(t, MPI_Waitall(2, received, MPI_STATUSES_IGNORE));
    CHECK_CALL(t, MPI_Waitall(2, sent, MPI_STATUSES_IGNORE));
    CHECK_INT(t, in[0], 10 * from + 1);
    CHECK_INT(t, in[1], 10 * from + 2);
    for (int i = 0; i < 2; ++i) {
        CHECK_CALL(t, MPI_Request_free(&sent[i]));
        CHECK_CALL(t, MPI_Request_free(&received[i]));
    }
}

static void nobody(struct check* t)
{
    int value = 5, flag = 0;
    MPI_Request requests[2];
    CHECK_CALL(t, MPI_Psend_init(&value, 1, 1, MPI_INT, MPI_PROC_NULL, tag, MPI_COMM_WORLD,
                                 MPI_INFO_NULL, &requests[0]));
    CHECK_CALL(t, MPI_Precv_init(&value, 1, 1, MPI_INT, MPI_PROC_NULL, tag, MPI_COMM_WORLD,
                                 MPI_INFO_NULL, &requests[1]));
    CHECK_CALL(t, MPI_Startall(2, requests));
    CHECK_CALL(t, MPI_Pready(0, requests[0]));
    CHECK_CALL(t, MPI_Parrived(requests[1], 0, &flag));
    CHECK_INT(t, flag, 1);
    CHECK_CALL(t, MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK_INT(t, value, 5);
    CHECK_CALL(t, MPI_Request_free(&requests[0]));
    CHECK_CALL(t, MPI_Request_free(&requests[1]));
}

static void refused(struct check* t)
{
    int value = 0, flag = 0;
    MPI_Request request, plain = MPI_REQUEST_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    REFUSED(t,
            MPI_Psend_init(&value, -1, 1, MPI_INT, t->rank, tag, MPI_COMM_WORLD, MPI_INFO_NULL,
                           &request),
            MPI_ERR_ARG);
    REFUSED(t,
            MPI_Precv_init(&value, 1, 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD,
                           MPI_INFO_NULL, &request),
            MPI_ERR_RANK);
    CHECK_CALL(t, MPI_Psend_init(&value, 2, 1, MPI_BYTE, t->rank, tag, MPI_COMM_WORLD,
                                 MPI_INFO_NULL, &request));
    REFUSED(t, MPI_Pready(0, request), MPI_ERR_REQUEST);
    REFUSED(t, MPI_Pready(0, plain), MPI_ERR_REQUEST);
    REFUSED(t, MPI_Parrived(request, 0, &flag), MPI_ERR_REQUEST);
    CHECK_CALL(t, MPI_Start(&request));
    REFUSED(t, MPI_Pready(2, request), MPI_ERR_ARG);
    CHECK_CALL(t, MPI_Pready(0, request));
    REFUSED(t, MPI_Pready(0, request), MPI_ERR_ARG);
    REFUSED(t, MPI_Request_free(&request), MPI_ERR_REQUEST);
    REFUSED(t, MPI_Cancel(&request), MPI_ERR_REQUEST);
    CHECK_CALL(t, MPI_Pready(1, request));
    char in[2];
    MPI_Request received;
    CHECK_CALL(t, MPI_Precv_init(in, 1, 2, MPI_BYTE, t->rank, tag, MPI_COMM_WORLD, MPI_INFO_NULL,
                                 &received));
    CHECK_CALL(t, MPI_Start(&received));
    CHECK_CALL(t, MPI_Wait(&received, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Request_free(&request));
    CHECK_CALL(t, MPI_Request_free(&received));
}

static int test_main(void)
{
    struct check t = check_start("partitioned");
    static const struct shape shapes[] = {
        {1, 1, 1, 1},         {8, 1, 8, 1},         {4, 3, 6, 2},       {12, 1, 1, 12},
        {16, 4096, 16, 4096}, {6, 10000, 4, 15000}, {3, 7001, 7001, 3}, {64, 1000, 5, 12800},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i)
        round_trips(&t, &shapes[i]);
    early(&t);
    strided(&t);
    several(&t);
    if (!t.lenient) {
        nobody(&t);
        refused(&t);
    }
    return check_finish(&t);
}
