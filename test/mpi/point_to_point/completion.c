// SPDX-License-Identifier: Apache-2.0
// Wait, Waitall, Waitany, Waitsome, Test, Testall, Testany, Testsome: which requests they
// complete, what they leave in handles and statuses, and what empty lists and null requests give.
#include "../check.h"

enum { many = 24, tag_release = 500 };

static void check_empty(struct check* t, const MPI_Status* status)
{
    int count = -1;
    CHECK_INT(t, status->MPI_SOURCE, MPI_ANY_SOURCE);
    CHECK_INT(t, status->MPI_TAG, MPI_ANY_TAG);
    CHECK_CALL(t, MPI_Get_count(status, MPI_DOUBLE, &count));
    CHECK_INT(t, count, 0);
}

static void spoil(MPI_Status* status)
{
    memset(status, 0x5A, sizeof *status);
}

static void null_requests(struct check* t)
{
    MPI_Request none[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status, statuses[3];
    int flag = 0, index = 0, indices[3], count = 0;
    spoil(&status);
    CHECK_CALL(t, MPI_Wait(&none[0], &status));
    check_empty(t, &status);
    spoil(&status);
    CHECK_CALL(t, MPI_Test(&none[0], &flag, &status));
    CHECK_INT(t, flag, 1);
    check_empty(t, &status);
    for (int i = 0; i < 3; ++i)
        spoil(&statuses[i]);
    CHECK_CALL(t, MPI_Waitall(3, none, statuses));
    for (int i = 0; i < 3; ++i)
        check_empty(t, &statuses[i]);
    for (int i = 0; i < 3; ++i)
        spoil(&statuses[i]);
    flag = 0;
    CHECK_CALL(t, MPI_Testall(3, none, &flag, statuses));
    CHECK_INT(t, flag, 1);
    for (int i = 0; i < 3; ++i)
        check_empty(t, &statuses[i]);
    spoil(&status);
    CHECK_CALL(t, MPI_Waitany(3, none, &index, &status));
    CHECK_INT(t, index, MPI_UNDEFINED);
    check_empty(t, &status);
    spoil(&status);
    flag = 0;
    index = 0;
    CHECK_CALL(t, MPI_Testany(3, none, &index, &flag, &status));
    CHECK_INT(t, flag, 1);
    CHECK_INT(t, index, MPI_UNDEFINED);
    check_empty(t, &status);
    CHECK_CALL(t, MPI_Waitsome(3, none, &count, indices, statuses));
    CHECK_INT(t, count, MPI_UNDEFINED);
    count = 0;
    CHECK_CALL(t, MPI_Testsome(3, none, &count, indices, statuses));
    CHECK_INT(t, count, MPI_UNDEFINED);
}

static void empty_lists(struct check* t)
{
    int flag = 0, index = 0, count = 0;
    MPI_Status status;
    CHECK_CALL(t, MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE));
    CHECK_CALL(t, MPI_Testall(0, NULL, &flag, MPI_STATUSES_IGNORE));
    CHECK_INT(t, flag, 1);
    CHECK_CALL(t, MPI_Waitany(0, NULL, &index, &status));
    CHECK_INT(t, index, MPI_UNDEFINED);
    check_empty(t, &status);
    flag = 0;
    CHECK_CALL(t, MPI_Testany(0, NULL, &index, &flag, &status));
    CHECK_INT(t, flag, 1);
    CHECK_INT(t, index, MPI_UNDEFINED);
    CHECK_CALL(t, MPI_Waitsome(0, NULL, &count, NULL, MPI_STATUSES_IGNORE));
    CHECK_INT(t, count, MPI_UNDEFINED);
    count = 0;
    CHECK_CALL(t, MPI_Testsome(0, NULL, &count, NULL, MPI_STATUSES_IGNORE));
    CHECK_INT(t, count, MPI_UNDEFINED);
}

// Nothing has been sent, so nothing may complete; then everything must.
static void tests_before_and_after(struct check* t)
{
    MPI_Request receives[3], sent[3];
    MPI_Status statuses[3];
    int in[3] = {0, 0, 0}, out[3] = {10, 11, 12}, flag = 1, index = 0, count = 0, indices[3];
    for (int i = 0; i < 3; ++i) {
        CHECK_CALL(t, MPI_Irecv(&in[i], 1, MPI_INT, t->rank, i, MPI_COMM_WORLD, &receives[i]));
    }
    const MPI_Request before = receives[1];
    CHECK_CALL(t, MPI_Test(&receives[1], &flag, &statuses[0]));
    CHECK_INT(t, flag, 0);
    CHECK(t, receives[1] == before);
    flag = 1;
    CHECK_CALL(t, MPI_Testany(3, receives, &index, &flag, &statuses[0]));
    CHECK_INT(t, flag, 0);
    CHECK_INT(t, index, MPI_UNDEFINED);
    CHECK_CALL(t, MPI_Testsome(3, receives, &count, indices, statuses));
    CHECK_INT(t, count, 0);
    CHECK_CALL(t, MPI_Isend(&out[2], 1, MPI_INT, t->rank, 2, MPI_COMM_WORLD, &sent[2]));
    flag = 1;
    CHECK_CALL(t, MPI_Testall(3, receives, &flag, statuses));
    CHECK_INT(t, flag, 0);
    CHECK(t, receives[0] != MPI_REQUEST_NULL && receives[2] != MPI_REQUEST_NULL);
    CHECK_CALL(t, MPI_Waitany(3, receives, &index, &statuses[0]));
    CHECK_INT(t, index, 2);
    CHECK_INT(t, in[2], 12);
    CHECK_INT(t, statuses[0].MPI_TAG, 2);
    CHECK(t, receives[2] == MPI_REQUEST_NULL && receives[1] == before);
    CHECK_CALL(t, MPI_Isend(&out[0], 1, MPI_INT, t->rank, 0, MPI_COMM_WORLD, &sent[0]));
    CHECK_CALL(t, MPI_Isend(&out[1], 1, MPI_INT, t->rank, 1, MPI_COMM_WORLD, &sent[1]));
    for (flag = 0; !flag;) {
        if (MPI_Testall(3, receives, &flag, statuses) != MPI_SUCCESS)
            break;
    }
    CHECK(t, receives[0] == MPI_REQUEST_NULL && receives[1] == MPI_REQUEST_NULL);
    CHECK_INT(t, statuses[0].MPI_TAG, 0);
    CHECK_INT(t, statuses[1].MPI_TAG, 1);
    check_empty(t, &statuses[2]);
    CHECK_CALL(t, MPI_Waitall(3, sent, MPI_STATUSES_IGNORE));
}

enum how {
    wait_each,
    wait_all,
    wait_any,
    wait_some,
    test_each,
    test_all,
    test_any,
    test_some,
    how_count
};

struct batch {
    MPI_Request requests[many];
    MPI_Status statuses[many];
    int finished[many];
    int left;
};

static void note(struct check* t, struct batch* b, int index, const MPI_Status* status)
{
    if (!CHECK(t, index >= 0 && index < many))
        return;
    CHECK_INT(t, b->finished[index], 0);
    CHECK(t, b->requests[index] == MPI_REQUEST_NULL);
    b->finished[index] = 1;
    b->statuses[index] = *status;
    --b->left;
}

// One call of the family; completes what it completes.
static void step(struct check* t, struct batch* b, enum how how)
{
    MPI_Status statuses[many];
    int indices[many], index = -1, flag = 1, count = 0;
    const int turn = many - b->left;
    switch (how) {
        case wait_each:
            index = (turn * 7) % many;
            CHECK_CALL(t, MPI_Wait(&b->requests[index], statuses));
            break;
        case wait_any:
            CHECK_CALL(t, MPI_Waitany(many, b->requests, &index, statuses));
            break;
        case test_each:
            index = (turn * 5) % many;
            CHECK_CALL(t, MPI_Test(&b->requests[index], &flag, statuses));
            break;
        case test_any:
            CHECK_CALL(t, MPI_Testany(many, b->requests, &index, &flag, statuses));
            break;
        case wait_all:
            CHECK_CALL(t, MPI_Waitall(many, b->requests, statuses));
            break;
        case test_all:
            CHECK_CALL(t, MPI_Testall(many, b->requests, &flag, statuses));
            break;
        case wait_some:
            CHECK_CALL(t, MPI_Waitsome(many, b->requests, &count, indices, statuses));
            CHECK(t, count >= 1 && count <= b->left);
            break;
        default:
            CHECK_CALL(t, MPI_Testsome(many, b->requests, &count, indices, statuses));
            CHECK(t, count >= 0 && count <= b->left);
            break;
    }
    if (how == wait_some || how == test_some) {
        for (int k = 0; k < count; ++k)
            note(t, b, indices[k], &statuses[k]);
    } else if (how == wait_all || (how == test_all && flag)) {
        for (int k = 0; k < many; ++k)
            note(t, b, k, &statuses[k]);
    } else if (how != test_all && flag) {
        note(t, b, index, statuses);
    }
}

// Ring neighbours send `many` messages of all protocols; the receiver finishes them by `how`.
static void finish_by(struct check* t, enum how how)
{
    enum { room = 20000 };
    const int to = (t->rank + 1) % t->size, from = (t->rank + t->size - 1) % t->size;
    unsigned char *out = check_memory((size_t)many * room), *in = check_memory((size_t)many * room);
    MPI_Request sent[many];
    struct batch b = {.left = many};
    for (int i = 0; i < many; ++i) {
        CHECK_CALL(
            t, MPI_Irecv(in + i * room, room, MPI_BYTE, from, i, MPI_COMM_WORLD, &b.requests[i]));
    }
    for (int k = 0; k < many; ++k) {
        const int i = (k * 11) % many;
        check_fill(out + i * room, (size_t)(i * 800), (uint64_t)(i + t->rank));
        CHECK_CALL(t,
                   MPI_Isend(out + i * room, i * 800, MPI_BYTE, to, i, MPI_COMM_WORLD, &sent[k]));
    }
    while (b.left > 0 && t->failures == 0)
        step(t, &b, how);
    for (int i = 0; i < many; ++i) {
        int count = -1;
        CHECK_INT(t, b.statuses[i].MPI_TAG, i);
        CHECK_INT(t, b.statuses[i].MPI_SOURCE, from);
        CHECK_CALL(t, MPI_Get_count(&b.statuses[i], MPI_BYTE, &count));
        CHECK_INT(t, count, i * 800);
        CHECK_PATTERN(t, in + i * room, (size_t)(i * 800), (uint64_t)(i + from));
    }
    CHECK_CALL(t, MPI_Waitall(many, sent, MPI_STATUSES_IGNORE));
    free(in);
    free(out);
}

// Requests that are over when the call begins and requests that end during it, in one list with
// some that are none: each status tells of its own.
static void over_before_and_after(struct check* t)
{
    enum { rounds = 50, receive = 0, sent = 1, none = 2, idle = 3, started = 4, listed = 5 };
    const int to = (t->rank + 1) % t->size, from = (t->rank + t->size - 1) % t->size;
    int in = -1, out = 0, unused = 0, count = -1;
    MPI_Request inactive, persistent;
    MPI_Status statuses[listed];
    CHECK_CALL(t, MPI_Recv_init(&unused, 1, MPI_INT, from, 7, MPI_COMM_WORLD, &inactive));
    CHECK_CALL(t, MPI_Send_init(&out, 1, MPI_INT, MPI_PROC_NULL, 8, MPI_COMM_WORLD, &persistent));
    for (int round = 0; round < rounds; ++round) {
        MPI_Request requests[listed] = {
            [none] = MPI_REQUEST_NULL, [idle] = inactive, [started] = persistent};
        for (int i = 0; i < listed; ++i)
            spoil(&statuses[i]);
        out = 100 * t->rank + round;
        CHECK_CALL(t, MPI_Irecv(&in, 1, MPI_INT, from, 6, MPI_COMM_WORLD, &requests[receive]));
        CHECK_CALL(t, MPI_Start(&requests[started]));
        CHECK_CALL(t, MPI_Isend(&out, 1, MPI_INT, to, 6, MPI_COMM_WORLD, &requests[sent]));
        CHECK_CALL(t, MPI_Waitall(listed, requests, statuses));
        CHECK_INT(t, in, 100 * from + round);
        CHECK_INT(t, statuses[receive].MPI_SOURCE, from);
        CHECK_INT(t, statuses[receive].MPI_TAG, 6);
        CHECK_CALL(t, MPI_Get_count(&statuses[receive], MPI_INT, &count));
        CHECK_INT(t, count, 1);
        check_empty(t, &statuses[none]);
        check_empty(t, &statuses[idle]);
        CHECK(t, requests[receive] == MPI_REQUEST_NULL && requests[sent] == MPI_REQUEST_NULL);
        CHECK(t, requests[idle] == inactive && requests[started] == persistent);
    }
    CHECK_CALL(t, MPI_Request_free(&inactive));
    CHECK_CALL(t, MPI_Request_free(&persistent));
}

// Waitany with one finished receive among unfinished ones returns although the others never
// finish before this rank goes on.
static void waitany_does_not_wait_for_all(struct check* t)
{
    const int partner = t->rank ^ 1;
    MPI_Request requests[3];
    int in[3] = {0, 0, 0}, value = 3, index = -1, released = 0;
    if (partner >= t->size)
        return;
    for (int i = 0; i < 3; ++i) {
        CHECK_CALL(t,
                   MPI_Irecv(&in[i], 1, MPI_INT, partner, 600 + i, MPI_COMM_WORLD, &requests[i]));
    }
    CHECK_CALL(t, MPI_Send(&value, 1, MPI_INT, partner, 601, MPI_COMM_WORLD));
    CHECK_CALL(t, MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE));
    CHECK_INT(t, index, 1);
    CHECK_CALL(t, MPI_Sendrecv(&value, 1, MPI_INT, partner, tag_release, &released, 1, MPI_INT,
                               partner, tag_release, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Send(&value, 1, MPI_INT, partner, 600, MPI_COMM_WORLD));
    CHECK_CALL(t, MPI_Send(&value, 1, MPI_INT, partner, 602, MPI_COMM_WORLD));
    CHECK_CALL(t, MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    CHECK_INT(t, in[0] + in[1] + in[2], 9);
}

static int test_main(void)
{
    struct check t = check_start("completion");
    null_requests(&t);
    empty_lists(&t);
    tests_before_and_after(&t);
    for (int how = 0; how < how_count; ++how)
        finish_by(&t, (enum how)how);
    over_before_and_after(&t);
    waitany_does_not_wait_for_all(&t);
    return check_finish(&t);
}
