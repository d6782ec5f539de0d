// SPDX-License-Identifier: Apache-2.0
// Buffered mode: completes without a receive, takes bytes and overhead from the attached buffer,
// fails where they do not fit, and detach and flush wait for what is under way.
#include "../check.h"

enum { small = 100, long_bytes = 300000, tag_go = 900 };

// A message as long as the eager limit of no library, so that it stays until it is received.
static void fits_exactly(struct check* t, int use_comm)
{
    const int bytes[] = {long_bytes, 1, 0, long_bytes + 7, 333};
    const int count = 5;
    int total = 0, size = -1;
    void* back = NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int i = 0; i < count; ++i)
        total += bytes[i] + MPI_BSEND_OVERHEAD;
    for (int shift = 0; shift < 3; ++shift) {
        unsigned char* memory = check_memory((size_t)total + 16);
        unsigned char *in = check_memory(long_bytes + 7), *out = check_memory(long_bytes + 7);
        if (use_comm) {
            CHECK_CALL(t, MPI_Comm_attach_buffer(comm, memory + shift, total));
        } else {
            CHECK_CALL(t, MPI_Buffer_attach(memory + shift, total));
        }
        for (int i = 0; i < count; ++i) {
            check_fill(out, (size_t)bytes[i], (uint64_t)i);
            CHECK_CALL(t, MPI_Bsend(out, bytes[i], MPI_BYTE, t->rank, i, comm));
            memset(out, 0xEE, (size_t)bytes[i]);
        }
        // Out of order, so that room comes back in the middle first.
        for (int k = 0; k < count; ++k) {
            const int i = (k * 2 + 3) % count;
            CHECK_CALL(t, MPI_Recv(in, bytes[i], MPI_BYTE, t->rank, i, comm, MPI_STATUS_IGNORE));
            CHECK_PATTERN(t, in, (size_t)bytes[i], (uint64_t)(i));
        }
        if (use_comm) {
            CHECK_CALL(t, MPI_Comm_detach_buffer(comm, &back, &size));
        } else {
            CHECK_CALL(t, MPI_Buffer_detach(&back, &size));
        }
        CHECK(t, back == memory + shift);
        CHECK_INT(t, size, total);
        free(memory);
        free(in);
        free(out);
    }
    CHECK_CALL(t, MPI_Comm_free(&comm));
}

static void refuses(struct check* t)
{
    static const int size = 2 * (long_bytes + MPI_BSEND_OVERHEAD);
    unsigned char *memory = check_memory((size_t)size), *out = check_memory((size_t)size);
    int back_size = 0;
    void* back = NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_SELF, &comm));
    CHECK_CALL(t, MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    CHECK_CALL(t, MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    memset(out, 1, (size_t)size);
    REFUSED(t, MPI_Bsend(out, 1, MPI_BYTE, 0, 0, comm), MPI_ERR_BUFFER);
    REFUSED(t, MPI_Buffer_detach(&back, &back_size), MPI_ERR_BUFFER);
    REFUSED(t, MPI_Buffer_flush(), MPI_ERR_BUFFER);
    CHECK_CALL(t, MPI_Bsend(out, 1, MPI_BYTE, MPI_PROC_NULL, 0, comm));
    CHECK_CALL(t, MPI_Buffer_attach(memory, size));
    REFUSED(t, MPI_Buffer_attach(memory, size), MPI_ERR_BUFFER);
    REFUSED(t, MPI_Bsend(out, size, MPI_BYTE, 0, 0, comm), MPI_ERR_BUFFER);
    CHECK_CALL(t, MPI_Bsend(out, long_bytes, MPI_BYTE, 0, 1, comm));
    CHECK_CALL(t, MPI_Ibsend(out, long_bytes, MPI_BYTE, 0, 2, comm, &request));
    CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
    REFUSED(t, MPI_Bsend(out, long_bytes, MPI_BYTE, 0, 3, comm), MPI_ERR_BUFFER);
    REFUSED(t, MPI_Ibsend(out, long_bytes, MPI_BYTE, 0, 3, comm, &request), MPI_ERR_BUFFER);
    CHECK_CALL(t, MPI_Recv(memory, 0, MPI_BYTE, MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Recv(out, long_bytes, MPI_BYTE, 0, 2, comm, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Bsend(out, long_bytes, MPI_BYTE, 0, 3, comm));
    CHECK_CALL(t, MPI_Recv(out, long_bytes, MPI_BYTE, 0, 1, comm, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Recv(out, long_bytes, MPI_BYTE, 0, 3, comm, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Buffer_detach(&back, &back_size));
    CHECK_CALL(t, MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
    CHECK_CALL(t, MPI_Comm_free(&comm));
    free(memory);
    free(out);
}

// The process's buffer, or a communicator's.
static int attach(int use_comm, void* memory, int size)
{
    return use_comm ? MPI_Comm_attach_buffer(MPI_COMM_WORLD, memory, size)
                    : MPI_Buffer_attach(memory, size);
}

static int detach(int use_comm, void** memory, int* size)
{
    return use_comm ? MPI_Comm_detach_buffer(MPI_COMM_WORLD, memory, size)
                    : MPI_Buffer_detach(memory, size);
}

static int flush(int use_comm)
{
    return use_comm ? MPI_Comm_flush_buffer(MPI_COMM_WORLD) : MPI_Buffer_flush();
}

static int iflush(int use_comm, MPI_Request* request)
{
    return use_comm ? MPI_Comm_iflush_buffer(MPI_COMM_WORLD, request) : MPI_Buffer_iflush(request);
}

// Detach must not return before a message has left, so its bytes are right although the memory
// is overwritten at once. Rank 1 receives only after rank 0 has told it to, which it does through
// a message sent before the detach.
static void detach_waits(struct check* t, int automatic, int use_comm)
{
    const int size = 3 * (long_bytes + MPI_BSEND_OVERHEAD);
    unsigned char *memory = check_memory((size_t)size), *out = check_memory(long_bytes);
    void* back = NULL;
    int back_size = -1, flag = 0;
    MPI_Request flushed = MPI_REQUEST_NULL;
    if (t->size > 1 && t->rank == 0) {
        if (automatic) {
            CHECK_CALL(t, attach(use_comm, MPI_BUFFER_AUTOMATIC, 0));
        } else {
            CHECK_CALL(t, attach(use_comm, memory, size));
        }
        for (int i = 0; i < 3; ++i) {
            check_fill(out, long_bytes, (uint64_t)(40 + i));
            CHECK_CALL(t, MPI_Bsend(out, long_bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD));
        }
        CHECK_CALL(t, iflush(use_comm, &flushed));
        CHECK_CALL(t, MPI_Test(&flushed, &flag, MPI_STATUS_IGNORE));
        CHECK_INT(t, flag, 0);
        CHECK_CALL(t, MPI_Send(NULL, 0, MPI_BYTE, 1, tag_go, MPI_COMM_WORLD));
        CHECK_CALL(t, MPI_Wait(&flushed, MPI_STATUS_IGNORE));
        CHECK_CALL(t, iflush(use_comm, &flushed));
        CHECK_CALL(t, MPI_Test(&flushed, &flag, MPI_STATUS_IGNORE));
        CHECK_INT(t, flag, 1);
        check_fill(out, long_bytes, 44);
        CHECK_CALL(t, MPI_Bsend(out, long_bytes, MPI_BYTE, 1, 4, MPI_COMM_WORLD));
        CHECK_CALL(t, flush(use_comm));
        CHECK_CALL(t, MPI_Bsend(out, long_bytes, MPI_BYTE, 1, 4, MPI_COMM_WORLD));
        CHECK_CALL(t, detach(use_comm, &back, &back_size));
        CHECK(t, back == (automatic ? MPI_BUFFER_AUTOMATIC : (void*)memory));
        if (!automatic)
            memset(memory, 0xEE, (size_t)size);
    } else if (t->rank == 1) {
        CHECK_CALL(t, MPI_Recv(NULL, 0, MPI_BYTE, 0, tag_go, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = 0; i < 3; ++i) {
            CHECK_CALL(
                t, MPI_Recv(out, long_bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_PATTERN(t, out, long_bytes, (uint64_t)(40 + i));
        }
        for (int i = 0; i < 2; ++i) {
            CHECK_CALL(
                t, MPI_Recv(out, long_bytes, MPI_BYTE, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_PATTERN(t, out, long_bytes, 44);
        }
    }
    free(memory);
    free(out);
}

// More messages than fit at once go through a small buffer while their receiver takes them; all
// ranks send to all without any receive posted.
static void streams(struct check* t)
{
    enum { rounds = 300 };
    const int each = small + MPI_BSEND_OVERHEAD, size = t->size * rounds * each;
    unsigned char *memory = check_memory((size_t)size), out[small], in[small];
    void* back = NULL;
    int back_size = 0, bad = 0;
    CHECK_CALL(t, MPI_Buffer_attach(memory, size));
    for (int i = 0; i < rounds; ++i) {
        for (int to = 0; to < t->size; ++to) {
            check_fill(out, small, (uint64_t)(i + 7 * t->rank));
            CHECK_CALL(t, MPI_Bsend(out, small - i % 9, MPI_BYTE, to, i, MPI_COMM_WORLD));
        }
    }
    for (int i = 0; i < rounds; ++i) {
        for (int from = 0; from < t->size; ++from) {
            CHECK_CALL(t,
                       MPI_Recv(in, small, MPI_BYTE, from, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            bad += check_differs(in, (size_t)(small - i % 9), (uint64_t)(i + 7 * from)) != -1;
        }
    }
    CHECK_INT(t, bad, 0);
    CHECK_CALL(t, MPI_Buffer_detach(&back, &back_size));
    free(memory);
}

// Elements with gaps lie packed in the buffer.
static void pairs(struct check* t)
{
    struct {
        double value;
        int index;
    } out[4], in[4];
    const int size = 4 * 12 + MPI_BSEND_OVERHEAD;
    unsigned char* memory = check_memory((size_t)size);
    void* back = NULL;
    int back_size = 0;
    memset(in, 0x55, sizeof in);
    for (int i = 0; i < 4; ++i)
        out[i].value = i * 1.5, out[i].index = i;
    CHECK_CALL(t, MPI_Buffer_attach(memory, size));
    CHECK_CALL(t, MPI_Bsend(out, 4, MPI_DOUBLE_INT, t->rank, 1, MPI_COMM_WORLD));
    memset(out, 0, sizeof out);
    CHECK_CALL(t, MPI_Recv(in, 4, MPI_DOUBLE_INT, t->rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < 4; ++i)
        CHECK(t, in[i].value == i * 1.5 && in[i].index == i);
    CHECK_CALL(t, MPI_Buffer_detach(&back, &back_size));
    free(memory);
}

static int test_main(void)
{
    struct check t = check_start("buffered");
    fits_exactly(&t, 0);
    fits_exactly(&t, 1);
    refuses(&t);
    for (int use_comm = 0; use_comm < 2; ++use_comm) {
        detach_waits(&t, 0, use_comm);
        detach_waits(&t, 1, use_comm);
    }
    streams(&t);
    pairs(&t);
    CHECK_CALL(&t, MPI_Barrier(MPI_COMM_WORLD));
    // Left to MPI_Finalize: attached, with a message that its receiver has yet to take.
    static unsigned char memory[8][long_bytes + MPI_BSEND_OVERHEAD];
    if (t.rank < 8) {
        unsigned char *out = check_memory(long_bytes), *in = check_memory(long_bytes);
        CHECK_CALL(&t, MPI_Buffer_attach(memory[t.rank], sizeof memory[0]));
        check_fill(out, long_bytes, 3);
        const int to = (t.rank + 1) % t.size, from = (t.rank + t.size - 1) % t.size;
        CHECK_CALL(&t, MPI_Bsend(out, long_bytes, MPI_BYTE, to, 5, MPI_COMM_WORLD));
        CHECK_CALL(&t,
                   MPI_Recv(in, long_bytes, MPI_BYTE, from, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_PATTERN(&t, in, long_bytes, 3);
        free(in);
        free(out);
    }
    return check_finish(&t);
}
