// SPDX-License-Identifier: Apache-2.0
// Sendrecv_replace, Isendrecv, Isendrecv_replace: one call sends and receives, with any partners,
// the rank itself and MPI_PROC_NULL among them.
#include "../check.h"

enum { tag = 4 };

struct place {
    int dest, source, expects;
};

// Each kind of call around a ring, to the rank itself, and with one side or both at MPI_PROC_NULL.
static struct place place_of(const struct check* t, int kind)
{
    const int right = (t->rank + 1) % t->size, left = (t->rank + t->size - 1) % t->size;
    const int last = t->size - 1;
    switch (kind) {
        case 0:
            return (struct place){right, left, left};
        case 1:
            return (struct place){t->rank, t->rank, t->rank};
        case 2:
            return (struct place){MPI_PROC_NULL, MPI_PROC_NULL, MPI_PROC_NULL};
        default: {
            // A line: its ends have nobody on one side.
            const int to = t->rank == last ? MPI_PROC_NULL : t->rank + 1;
            const int from = t->rank == 0 ? MPI_PROC_NULL : t->rank - 1;
            return (struct place){to, from, from};
        }
    }
}

static void check_result(struct check* t, struct place place, const MPI_Status* status,
                         const unsigned char* in, int bytes, uint64_t untouched)
{
    int count = -1;
    CHECK_INT(t, status->MPI_SOURCE, place.expects);
    CHECK_CALL(t, MPI_Get_count(status, MPI_BYTE, &count));
    if (place.expects == MPI_PROC_NULL) {
        CHECK_INT(t, status->MPI_TAG, MPI_ANY_TAG);
        CHECK_INT(t, count, 0);
        CHECK_PATTERN(t, in, (size_t)bytes, untouched);
    } else {
        CHECK_INT(t, status->MPI_TAG, tag);
        CHECK_INT(t, count, bytes);
        CHECK_PATTERN(t, in, (size_t)bytes, (uint64_t)(place.expects + 500));
    }
}

static void replaces(struct check* t, int kind, int bytes, int is_blocking)
{
    const struct place place = place_of(t, kind);
    unsigned char* buffer = check_memory((size_t)bytes);
    MPI_Status status;
    MPI_Request request = MPI_REQUEST_NULL;
    check_fill(buffer, (size_t)bytes, (uint64_t)(t->rank + 500));
    if (is_blocking) {
        CHECK_CALL(t, MPI_Sendrecv_replace(buffer, bytes, MPI_BYTE, place.dest, tag, place.source,
                                           tag, MPI_COMM_WORLD, &status));
    } else {
        CHECK_CALL(t, MPI_Isendrecv_replace(buffer, bytes, MPI_BYTE, place.dest, tag, place.source,
                                            tag, MPI_COMM_WORLD, &request));
        CHECK(t, request != MPI_REQUEST_NULL);
        CHECK_CALL(t, MPI_Wait(&request, &status));
    }
    check_result(t, place, &status, buffer, bytes, (uint64_t)(t->rank + 500));
    free(buffer);
}

// Several at once, completed in another order, seen by Request_get_status before.
static void starts(struct check* t, int kind, int bytes)
{
    enum { count = 6 };
    const struct place place = place_of(t, kind);
    unsigned char *out = check_memory((size_t)bytes), *in[count];
    MPI_Request requests[count];
    MPI_Status status;
    int flag = 0;
    check_fill(out, (size_t)bytes, (uint64_t)(t->rank + 500));
    for (int i = 0; i < count; ++i) {
        in[i] = check_memory((size_t)bytes);
        check_fill(in[i], (size_t)bytes, 9);
        CHECK_CALL(t, MPI_Isendrecv(out, bytes, MPI_BYTE, place.dest, tag, in[i], bytes, MPI_BYTE,
                                    place.source, i % 2 ? tag : MPI_ANY_TAG, MPI_COMM_WORLD,
                                    &requests[i]));
    }
    while (!flag) {
        if (MPI_Request_get_status(requests[0], &flag, &status) != MPI_SUCCESS)
            break;
    }
    check_result(t, place, &status, in[0], bytes, 9);
    for (int i = count - 1; i >= 0; --i) {
        CHECK_CALL(t, MPI_Wait(&requests[i], &status));
        check_result(t, place, &status, in[i], bytes, 9);
        free(in[i]);
    }
    free(out);
}

// Elements with gaps, and a message that is longer than its buffer.
static void odd_ones(struct check* t)
{
    struct {
        short value;
        int index;
    } pair[3];
    const int right = (t->rank + 1) % t->size, left = (t->rank + t->size - 1) % t->size;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    for (int round = 0; round < 2; ++round) {
        memset(pair, 0x5A, sizeof pair);
        for (int i = 0; i < 3; ++i)
            pair[i].value = (short)(t->rank + i), pair[i].index = i;
        if (round == 0) {
            CHECK_CALL(t, MPI_Sendrecv_replace(pair, 3, MPI_SHORT_INT, right, tag, left, tag,
                                               MPI_COMM_WORLD, &status));
        } else {
            CHECK_CALL(t, MPI_Isendrecv_replace(pair, 3, MPI_SHORT_INT, right, tag, left, tag,
                                                MPI_COMM_WORLD, &request));
            CHECK_CALL(t, MPI_Wait(&request, &status));
        }
        for (int i = 0; i < 3; ++i)
            CHECK(t, pair[i].value == left + i && pair[i].index == i);
    }
    MPI_Comm comm = MPI_COMM_NULL;
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_CALL(t, MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    unsigned char *out = check_memory(20000), *in = check_memory(20000);
    for (int bytes = 10; bytes <= 20000; bytes += 19990) {
        check_fill(out, (size_t)bytes, (uint64_t)(t->rank + 500));
        memset(in, 0, (size_t)bytes);
        CHECK_CALL(t, MPI_Isendrecv(out, bytes, MPI_BYTE, right, tag, in, bytes - 3, MPI_BYTE, left,
                                    tag, comm, &request));
        REFUSED(t, MPI_Wait(&request, &status), MPI_ERR_TRUNCATE);
        CHECK_PATTERN(t, in, (size_t)(bytes - 3), (uint64_t)(left + 500));
        CHECK_INT(t, in[bytes - 1], 0);
    }
    CHECK_CALL(t, MPI_Comm_free(&comm));
    free(in);
    free(out);
}

// A freed request goes on without its caller, who may be what its partner waits for; what it
// receives is there when a later message says so.
static void freed(struct check* t, int bytes)
{
    struct {
        short value;
        int index;
    } pair = {(short)(50 + t->rank), t->rank}, got = {0, 0};
    unsigned char* buffer = check_memory((size_t)bytes);
    const int other = 1 - t->rank, is_first = t->rank == 0;
    MPI_Request requests[2];
    if (t->rank < 2 && t->size > 1) {
        check_fill(buffer, (size_t)bytes, (uint64_t)(t->rank + 500));
        if (!is_first) {
            CHECK_CALL(t,
                       MPI_Recv(NULL, 0, MPI_BYTE, 0, tag + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
        CHECK_CALL(t, MPI_Isendrecv_replace(buffer, bytes, MPI_BYTE, other, tag, other, tag,
                                            MPI_COMM_WORLD, &requests[0]));
        CHECK_CALL(t, MPI_Isendrecv(&pair, 1, MPI_SHORT_INT, other, tag, &got, 1, MPI_SHORT_INT,
                                    other, tag, MPI_COMM_WORLD, &requests[1]));
        if (is_first) {
            CHECK_CALL(t, MPI_Request_free(&requests[0]));
            CHECK_CALL(t, MPI_Request_free(&requests[1]));
            CHECK_CALL(t, MPI_Send(NULL, 0, MPI_BYTE, 1, tag + 1, MPI_COMM_WORLD));
            CHECK_CALL(t,
                       MPI_Recv(NULL, 0, MPI_BYTE, 1, tag + 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        } else {
            CHECK_CALL(t, MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
            CHECK_CALL(t, MPI_Send(NULL, 0, MPI_BYTE, 0, tag + 2, MPI_COMM_WORLD));
        }
        CHECK_PATTERN(t, buffer, (size_t)bytes, (uint64_t)(other + 500));
        CHECK(t, got.value == 50 + other && got.index == other);
    }
    free(buffer);
}

static int test_main(void)
{
    struct check t = check_start("exchange");
    static const int sizes[] = {0, 17, 8000, 8193, 300000};
    for (int kind = 0; kind < 4; ++kind) {
        for (int i = 0; i < 5; ++i) {
            replaces(&t, kind, sizes[i], 1);
            replaces(&t, kind, sizes[i], 0);
            starts(&t, kind, sizes[i]);
        }
    }
    odd_ones(&t);
    freed(&t, 100);
    freed(&t, 100000);
    return check_finish(&t);
}
