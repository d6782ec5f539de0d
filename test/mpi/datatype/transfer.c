// SPDX-License-Identifier: Apache-2.0
// Messages of derived types in every mode of sending, short and long, into the same and into other
// layouts; what lies between the elements stays. A type may be freed while its message travels.
#include "layouts.h"

enum { modes = 6, tag = 5 };

static void start_send(struct check* t, int mode, const struct area* a, int count,
                       MPI_Datatype type, int dest, MPI_Request* request)
{
    *request = MPI_REQUEST_NULL;
    switch (mode) {
        case 0:
            CHECK_CALL(t, MPI_Isend(a->address, count, type, dest, tag, MPI_COMM_WORLD, request));
            return;
        case 1:
            CHECK_CALL(t, MPI_Issend(a->address, count, type, dest, tag, MPI_COMM_WORLD, request));
            return;
        case 2:
            CHECK_CALL(t, MPI_Ibsend(a->address, count, type, dest, tag, MPI_COMM_WORLD, request));
            return;
        case 3:
            CHECK_CALL(t, MPI_Bsend(a->address, count, type, dest, tag, MPI_COMM_WORLD));
            return;
        case 4:
            CHECK_CALL(t, MPI_Isend_c(a->address, count, type, dest, tag, MPI_COMM_WORLD, request));
            return;
        default:
            CHECK_CALL(t, MPI_Irsend(a->address, count, type, dest, tag, MPI_COMM_WORLD, request));
            return;
    }
}

// Each rank sends to the next one, and the types are freed while messages are on their way.
static void pass_on(struct check* t, int mode, int out_kind, int in_kind, int elements)
{
    const int next = (t->rank + 1) % t->size, last = (t->rank + t->size - 1) % t->size;
    struct layout out = layout_make(t, out_kind), in = layout_make(t, in_kind);
    const int ints = elements * out.ints;
    const int room = (ints + in.ints - 1) / in.ints + 1;
    struct area from = layout_area(&out, elements), to = layout_area(&in, room);
    MPI_Request requests[2];
    MPI_Status status;
    int got = -1;
    layout_fill(&out, &from, elements, t->rank);
    CHECK_CALL(t, MPI_Irecv(to.address, room, in.type, last, tag, MPI_COMM_WORLD, &requests[0]));
    if (mode == 5)
        CHECK_CALL(t, MPI_Barrier(MPI_COMM_WORLD));
    MPI_Datatype ours = out.type, theirs = in.type;
    start_send(t, mode, &from, elements, ours, next, &requests[1]);
    CHECK_CALL(t, MPI_Type_free(&ours));
    CHECK_CALL(t, MPI_Type_free(&theirs));
    CHECK_CALL(t, MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Wait(&requests[0], &status));
    CHECK_CALL(t, MPI_Get_count(&status, MPI_INT, &got));
    CHECK_INT(t, got, ints);
    CHECK_INT(t, layout_wrong(&in, &to, ints, last), 0);
    free(from.memory);
    free(to.memory);
}

// Parts of a pair of an int and a float arrive.
static void partial(struct check* t)
{
    const int lengths[] = {1, 1};
    const MPI_Aint places[] = {0, 8};
    const MPI_Datatype types[] = {MPI_INT, MPI_FLOAT};
    MPI_Datatype pair;
    MPI_Status status;
    int memory[12], ints[] = {1, 2, 3}, count = -1;
    MPI_Count elements = -1;
    CHECK_CALL(t, MPI_Type_create_struct(2, lengths, places, types, &pair));
    CHECK_CALL(t, MPI_Type_commit(&pair));
    for (int sent = 0; sent <= 3; ++sent) {
        CHECK_CALL(t, MPI_Sendrecv(ints, sent, MPI_INT, 0, tag, memory, 4, pair, 0, tag,
                                   MPI_COMM_SELF, &status));
        CHECK_CALL(t, MPI_Get_count(&status, pair, &count));
        CHECK_INT(t, count, sent % 2 == 0 ? sent / 2 : MPI_UNDEFINED);
        if (t->lenient)  // a library is known to end by SIGFPE there
            continue;
        CHECK_CALL(t, MPI_Get_elements(&status, pair, &count));
        CHECK_INT(t, count, sent);
        CHECK_CALL(t, MPI_Status_set_elements_c(&status, pair, sent));
        CHECK_CALL(t, MPI_Get_elements_c(&status, pair, &elements));
        CHECK_INT(t, elements, sent);
    }
    CHECK(t, memory[0] == 1 && memory[2] == 2 && memory[3] == 3);
    CHECK_CALL(t, MPI_Type_free(&pair));
}

// Absolute addresses, and a message that is received with the calls of matched probing.
static void bottom(struct check* t)
{
    const int next = (t->rank + 1) % t->size, last = (t->rank + t->size - 1) % t->size;
    int out[2] = {t->rank, t->rank + 50}, in[2] = {-1, -1};
    MPI_Aint places[4];
    MPI_Datatype send_type, receive_type;
    MPI_Message message;
    MPI_Request request;
    CHECK_CALL(t, MPI_Get_address(&out[1], &places[0]));
    CHECK_CALL(t, MPI_Get_address(&out[0], &places[1]));
    CHECK_CALL(t, MPI_Get_address(&in[1], &places[2]));
    CHECK_CALL(t, MPI_Get_address(&in[0], &places[3]));
    CHECK_CALL(t, MPI_Type_create_hindexed_block(2, 1, places, MPI_INT, &send_type));
    CHECK_CALL(t, MPI_Type_create_hindexed_block(2, 1, places + 2, MPI_INT, &receive_type));
    CHECK_CALL(t, MPI_Type_commit(&send_type));
    CHECK_CALL(t, MPI_Type_commit(&receive_type));
    CHECK_CALL(t, MPI_Isend(MPI_BOTTOM, 1, send_type, next, tag, MPI_COMM_WORLD, &request));
    CHECK_CALL(t, MPI_Mprobe(last, tag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Mrecv(MPI_BOTTOM, 1, receive_type, &message, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(t, in[0] == last && in[1] == last + 50);
    CHECK_CALL(t, MPI_Type_free(&send_type));
    CHECK_CALL(t, MPI_Type_free(&receive_type));
}

static void replace(struct check* t, int kind, int elements)
{
    const int next = (t->rank + 1) % t->size, last = (t->rank + t->size - 1) % t->size;
    struct layout l = layout_make(t, kind);
    struct area a = layout_area(&l, elements);
    layout_fill(&l, &a, elements, t->rank);
    CHECK_CALL(t, MPI_Sendrecv_replace(a.address, elements, l.type, next, tag, last, tag,
                                       MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_INT(t, layout_wrong(&l, &a, elements * l.ints, last), 0);
    CHECK_CALL(t, MPI_Type_free(&l.type));
    free(a.memory);
}

// A message that is too long leaves alone what lies outside the elements.
static void truncated(struct check* t)
{
    struct layout l = layout_make(t, 1);
    struct area to = layout_area(&l, 2);
    int ints[20], wrong = 0;
    for (int i = 0; i < 20; ++i)
        ints[i] = layout_value(3, i);
    REFUSED(t,
            MPI_Sendrecv(ints, 20, MPI_INT, 0, tag, to.address, 2, l.type, 0, tag, MPI_COMM_SELF,
                         MPI_STATUS_IGNORE),
            MPI_ERR_TRUNCATE);
    for (int i = 0; i < to.ints; ++i) {
        const int is_place = i < 20 && i % 10 % 3 == 0;
        wrong += !is_place && to.memory[i] != layout_filler;
    }
    CHECK_INT(t, wrong, 0);
    CHECK_CALL(t, MPI_Type_free(&l.type));
    free(to.memory);
}

static int test_main(void)
{
    struct check t = check_start("datatype/transfer");
    const int counts[] = {0, 1, 5, 300, 20000};
    const int buffer_bytes = 6 << 20;
    void* buffer = check_memory((size_t)buffer_bytes);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK_CALL(&t, check_attach(buffer, buffer_bytes));
    for (int kind = 0; kind < layout_kinds; ++kind) {
        for (int i = 0; i < 5; ++i) {
            pass_on(&t, (kind + i) % modes, kind, kind, counts[i]);
            pass_on(&t, (kind + i + 3) % modes, kind, (kind + 1 + i) % layout_kinds, counts[i]);
        }
        replace(&t, kind, 3);
        replace(&t, kind, 5000);
    }
    for (int mode = 0; mode < modes; ++mode)
        pass_on(&t, mode, 2, 5, 40);
    partial(&t);
    bottom(&t);
    truncated(&t);
    CHECK_CALL(&t, check_detach(&buffer, &(int){0}));
    free(buffer);
    return check_finish(&t);
}
