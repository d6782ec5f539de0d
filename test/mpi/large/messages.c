// SPDX-License-Identifier: Apache-2.0
// The `_c` twins of messages, buffers and packing, each checked by what arrives.
#include "../check.h"

enum { bytes = 3000, tag = 5 };

struct place {
    struct check* t;
    int to;
    int from;
    char out[bytes];
    char in[bytes];
};

static void begin(struct place* p)
{
    check_fill(p->out, bytes, (uint64_t)p->t->rank + 1);
    memset(p->in, 0, bytes);
}

static void verify(struct place* p, const MPI_Status* status)
{
    MPI_Count count = 0, elements = 0;
    CHECK_PATTERN(p->t, p->in, bytes, (uint64_t)p->from + 1);
    CHECK_CALL(p->t, MPI_Get_count_c(status, MPI_CHAR, &count));
    CHECK_INT(p->t, count, bytes);
    CHECK_CALL(p->t, MPI_Get_elements_c(status, MPI_CHAR, &elements));
    CHECK_INT(p->t, elements, bytes);
}

typedef int send_function(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
typedef int start_function(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

// All receives are there before the sends, as ready mode wants it.
static MPI_Request expect(struct place* p)
{
    MPI_Request receive;
    begin(p);
    CHECK_CALL(p->t, MPI_Irecv_c(p->in, bytes, MPI_CHAR, p->from, tag, MPI_COMM_WORLD, &receive));
    MPI_Barrier(MPI_COMM_WORLD);
    return receive;
}

static void finish(struct place* p, MPI_Request* receive)
{
    MPI_Status status;
    CHECK_CALL(p->t, MPI_Wait(receive, &status));
    verify(p, &status);
}

static void check_sends(struct place* p)
{
    send_function* const blocking[] = {MPI_Send_c, MPI_Ssend_c, MPI_Rsend_c, MPI_Bsend_c};
    start_function* const starting[] = {MPI_Isend_c, MPI_Issend_c, MPI_Irsend_c, MPI_Ibsend_c};
    start_function* const persistent[] = {MPI_Send_init_c, MPI_Ssend_init_c, MPI_Rsend_init_c,
                                          MPI_Bsend_init_c};
    for (int mode = 0; mode < 4; ++mode) {
        MPI_Request send, receive = expect(p);
        CHECK_CALL(p->t, blocking[mode](p->out, bytes, MPI_CHAR, p->to, tag, MPI_COMM_WORLD));
        finish(p, &receive);
        receive = expect(p);
        CHECK_CALL(p->t,
                   starting[mode](p->out, bytes, MPI_CHAR, p->to, tag, MPI_COMM_WORLD, &send));
        CHECK_CALL(p->t, MPI_Wait(&send, MPI_STATUS_IGNORE));
        finish(p, &receive);
        receive = expect(p);
        CHECK_CALL(p->t,
                   persistent[mode](p->out, bytes, MPI_CHAR, p->to, tag, MPI_COMM_WORLD, &send));
        CHECK_CALL(p->t, MPI_Start(&send));
        CHECK_CALL(p->t, MPI_Wait(&send, MPI_STATUS_IGNORE));
        CHECK_CALL(p->t, MPI_Request_free(&send));
        finish(p, &receive);
    }
}

static void check_receives(struct place* p)
{
    for (int form = 0; form < 5; ++form) {
        MPI_Request send, receive = MPI_REQUEST_NULL;
        MPI_Status status;
        MPI_Message message;
        begin(p);
        CHECK_CALL(p->t, MPI_Isend_c(p->out, bytes, MPI_CHAR, p->to, tag, MPI_COMM_WORLD, &send));
        if (form == 0)
            CHECK_CALL(p->t,
                       MPI_Recv_c(p->in, bytes, MPI_CHAR, p->from, tag, MPI_COMM_WORLD, &status));
        if (form == 1)
            CHECK_CALL(p->t,
                       MPI_Irecv_c(p->in, bytes, MPI_CHAR, p->from, tag, MPI_COMM_WORLD, &receive));
        if (form == 2) {
            CHECK_CALL(p->t, MPI_Recv_init_c(p->in, bytes, MPI_CHAR, p->from, tag, MPI_COMM_WORLD,
                                             &receive));
            CHECK_CALL(p->t, MPI_Start(&receive));
        }
        if (form >= 3)
            CHECK_CALL(p->t, MPI_Mprobe(p->from, tag, MPI_COMM_WORLD, &message, &status));
        if (form == 3)
            CHECK_CALL(p->t, MPI_Mrecv_c(p->in, bytes, MPI_CHAR, &message, &status));
        if (form == 4)
            CHECK_CALL(p->t, MPI_Imrecv_c(p->in, bytes, MPI_CHAR, &message, &receive));
        if (receive != MPI_REQUEST_NULL)
            CHECK_CALL(p->t, MPI_Wait(&receive, &status));
        if (form == 2)
            CHECK_CALL(p->t, MPI_Request_free(&receive));
        verify(p, &status);
        CHECK_CALL(p->t, MPI_Wait(&send, MPI_STATUS_IGNORE));
    }
}

static void check_exchanges(struct place* p)
{
    for (int form = 0; form < 4; ++form) {
        MPI_Status status;
        MPI_Request request = MPI_REQUEST_NULL;
        begin(p);
        if (form % 2 == 1)
            memcpy(p->in, p->out, bytes);
        if (form == 0)
            CHECK_CALL(p->t, MPI_Sendrecv_c(p->out, bytes, MPI_CHAR, p->to, tag, p->in, bytes,
                                            MPI_CHAR, p->from, tag, MPI_COMM_WORLD, &status));
        if (form == 1)
            CHECK_CALL(p->t, MPI_Sendrecv_replace_c(p->in, bytes, MPI_CHAR, p->to, tag, p->from,
                                                    tag, MPI_COMM_WORLD, &status));
        if (form == 2)
            CHECK_CALL(p->t, MPI_Isendrecv_c(p->out, bytes, MPI_CHAR, p->to, tag, p->in, bytes,
                                             MPI_CHAR, p->from, tag, MPI_COMM_WORLD, &request));
        if (form == 3)
            CHECK_CALL(p->t, MPI_Isendrecv_replace_c(p->in, bytes, MPI_CHAR, p->to, tag, p->from,
                                                     tag, MPI_COMM_WORLD, &request));
        if (form >= 2)
            CHECK_CALL(p->t, MPI_Wait(&request, &status));
        // MPICH leaves the status of the started forms empty.
        if (form < 2 || !p->t->lenient)
            verify(p, &status);
        else
            CHECK_PATTERN(p->t, p->in, bytes, (uint64_t)p->from + 1);
    }
}

static void check_packing(struct place* p)
{
    MPI_Count room = 0, place = 0;
    begin(p);
    CHECK_CALL(p->t, MPI_Pack_size_c(bytes, MPI_CHAR, MPI_COMM_WORLD, &room));
    CHECK(p->t, room >= bytes);
    char* packed = check_memory((size_t)room);
    CHECK_CALL(p->t, MPI_Pack_c(p->out, bytes, MPI_CHAR, packed, room, &place, MPI_COMM_WORLD));
    CHECK_INT(p->t, place, bytes);
    place = 0;
    CHECK_CALL(p->t, MPI_Unpack_c(packed, room, &place, p->in, bytes, MPI_CHAR, MPI_COMM_WORLD));
    CHECK_PATTERN(p->t, p->in, bytes, (uint64_t)p->t->rank + 1);
    free(packed);

    const int numbers[2] = {0x01020304, -2};
    int back[2] = {0, 0};
    unsigned char wire[8];
    CHECK_CALL(p->t, MPI_Pack_external_size_c("external32", 2, MPI_INT, &room));
    CHECK_INT(p->t, room, 8);
    place = 0;
    CHECK_CALL(p->t, MPI_Pack_external_c("external32", numbers, 2, MPI_INT, wire, room, &place));
    CHECK(p->t, wire[0] == 1 && wire[3] == 4 && wire[4] == 0xff && wire[7] == 0xfe);
    place = 0;
    CHECK_CALL(p->t, MPI_Unpack_external_c("external32", wire, room, &place, back, 2, MPI_INT));
    CHECK(p->t, back[0] == numbers[0] && back[1] == numbers[1]);
}

static void check_buffers(struct place* p, void* memory, MPI_Count room)
{
    void* back = NULL;
    MPI_Count size = 0;
    CHECK_CALL(p->t, MPI_Buffer_detach_c(&back, &size));
    CHECK(p->t, back == memory && size == room);
    CHECK_CALL(p->t, MPI_Comm_attach_buffer_c(MPI_COMM_WORLD, memory, room));
    MPI_Request flushed, receive = expect(p);
    CHECK_CALL(p->t, MPI_Bsend_c(p->out, bytes, MPI_CHAR, p->to, tag, MPI_COMM_WORLD));
    CHECK_CALL(p->t, MPI_Comm_flush_buffer(MPI_COMM_WORLD));
    CHECK_CALL(p->t, MPI_Comm_iflush_buffer(MPI_COMM_WORLD, &flushed));
    CHECK_CALL(p->t, MPI_Wait(&flushed, MPI_STATUS_IGNORE));
    finish(p, &receive);
    CHECK_CALL(p->t, MPI_Comm_detach_buffer_c(MPI_COMM_WORLD, &back, &size));
    CHECK(p->t, back == memory && size == room);
}

static void check_statuses(struct place* p)
{
    const MPI_Count many = (MPI_Count)3000000000;
    MPI_Status status;
    MPI_Count found = 0;
    int narrow = 0;
    memset(&status, 0, sizeof status);
    CHECK_CALL(p->t, MPI_Status_set_elements_c(&status, MPI_CHAR, many));
    CHECK_CALL(p->t, MPI_Get_count_c(&status, MPI_CHAR, &found));
    CHECK_INT(p->t, found, many);
    CHECK_CALL(p->t, MPI_Get_count(&status, MPI_CHAR, &narrow));
    CHECK_INT(p->t, narrow, MPI_UNDEFINED);
}

static int test_main(void)
{
    struct check t = check_start("large_messages");
    static _Thread_local struct place place;
    struct place* p = &place;
    p->t = &t;
    p->to = (t.rank + 1) % t.size;
    p->from = (t.rank + t.size - 1) % t.size;
    const MPI_Count room = 4 * (bytes + MPI_BSEND_OVERHEAD);
    void* memory = check_memory((size_t)room);
    CHECK_CALL(&t, MPI_Buffer_attach_c(memory, room));
    // A synchronous send to itself is received by the started receive.
    check_sends(p);
    check_receives(p);
    check_exchanges(p);
    check_packing(p);
    check_buffers(p, memory, room);
    check_statuses(p);
    free(memory);
    return check_finish(&t);
}
