// SPDX-License-Identifier: Apache-2.0
// Every send mode, at sizes around every likely protocol border, from and to odd addresses,
// with the receive posted first and with the message unexpected.
#include "../check.h"

enum mode { send, synchronous, ready, start, start_synchronous, start_ready, mode_count };
enum { tag_data = 11, tag_ready = 12, tag_arrived = 13, big_bytes = 1 << 18 };

static const int sizes[] = {
    0,     1,     7,     8,      39,     40,      41,      63,      64,      65,    255,
    256,   1023,  1024,  4095,   4096,   4097,    8191,    8192,    8193,    16384, 32769,
    65535, 65536, 65537, 131073, 262144, 1000003, 1048576, 4194304, 4194311,
};
#ifdef __SANITIZE_THREAD__
// It looks at every byte, and the last four are but more slices on the same way.
enum { size_count = sizeof sizes / sizeof sizes[0] - 4 };
#else
enum { size_count = sizeof sizes / sizeof sizes[0] };
#endif

struct pair {
    unsigned char* out;
    unsigned char* in;
    int left;
    int right;
};

// Blocking modes leave the null request.
static int start_send(enum mode mode, const void* data, int bytes, int to, MPI_Request* request)
{
    *request = MPI_REQUEST_NULL;
    switch (mode) {
        case send:
            return MPI_Send(data, bytes, MPI_BYTE, to, tag_data, MPI_COMM_WORLD);
        case synchronous:
            return MPI_Ssend(data, bytes, MPI_BYTE, to, tag_data, MPI_COMM_WORLD);
        case ready:
            return MPI_Rsend(data, bytes, MPI_BYTE, to, tag_data, MPI_COMM_WORLD);
        case start:
            return MPI_Isend(data, bytes, MPI_BYTE, to, tag_data, MPI_COMM_WORLD, request);
        case start_synchronous:
            return MPI_Issend(data, bytes, MPI_BYTE, to, tag_data, MPI_COMM_WORLD, request);
        default:
            return MPI_Irsend(data, bytes, MPI_BYTE, to, tag_data, MPI_COMM_WORLD, request);
    }
}

static void check_status(struct check* t, const MPI_Status* status, int source, int bytes)
{
    int count = -1;
    CHECK_INT(t, status->MPI_SOURCE, source);
    CHECK_INT(t, status->MPI_TAG, tag_data);
    CHECK_CALL(t, MPI_Get_count(status, MPI_BYTE, &count));
    CHECK_INT(t, count, bytes);
}

static void check_received(struct check* t, const unsigned char* in, int bytes, uint64_t seed)
{
    CHECK_PATTERN(t, in, (size_t)bytes, seed);
    CHECK_PATTERN(t, in - check_guard_bytes, check_guard_bytes, 3);
    CHECK_PATTERN(t, in + bytes, check_guard_bytes, 5);
}

static void prepare(struct pair* p, int bytes, int shift, uint64_t seed, unsigned char** out,
                    unsigned char** in)
{
    *out = p->out + check_guard_bytes + shift;
    *in = p->in + check_guard_bytes + (shift * 3) % 8;
    check_fill(*out, (size_t)bytes, seed);
    memset(*in, 0xEE, (size_t)bytes);
    check_fill(*in - check_guard_bytes, check_guard_bytes, 3);
    check_fill(*in + bytes, check_guard_bytes, 5);
}

// Round the ring; the receive is posted before the neighbour may send.
static void posted(struct check* t, struct pair* p, enum mode mode, int bytes, int shift)
{
    unsigned char *out, *in;
    MPI_Request receive, sent;
    MPI_Status status;
    prepare(p, bytes, shift, (uint64_t)t->rank + 100, &out, &in);
    CHECK_CALL(t, MPI_Irecv(in, bytes, MPI_BYTE, p->left, tag_data, MPI_COMM_WORLD, &receive));
    CHECK_CALL(t, MPI_Sendrecv(NULL, 0, MPI_BYTE, p->left, tag_ready, NULL, 0, MPI_BYTE, p->right,
                               tag_ready, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_CALL(t, start_send(mode, out, bytes, p->right, &sent));
    CHECK_CALL(t, MPI_Wait(&receive, &status));
    CHECK_CALL(t, MPI_Wait(&sent, MPI_STATUS_IGNORE));
    CHECK(t, receive == MPI_REQUEST_NULL);
    check_status(t, &status, p->left, bytes);
    check_received(t, in, bytes, (uint64_t)p->left + 100);
    CHECK_PATTERN(t, out, (size_t)bytes, (uint64_t)t->rank + 100);
}

// Round the ring; an empty message sent later has come before the receive is posted.
static void unexpected(struct check* t, struct pair* p, enum mode mode, int bytes, int shift)
{
    unsigned char *out, *in;
    MPI_Request sent[2];
    MPI_Status status;
    prepare(p, bytes, shift, (uint64_t)t->rank + 200, &out, &in);
    CHECK_CALL(t, start_send(mode, out, bytes, p->right, &sent[0]));
    CHECK_CALL(t, MPI_Isend(NULL, 0, MPI_BYTE, p->right, tag_arrived, MPI_COMM_WORLD, &sent[1]));
    CHECK_CALL(
        t, MPI_Recv(NULL, 0, MPI_BYTE, p->left, tag_arrived, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Recv(in, bytes, MPI_BYTE, p->left, tag_data, MPI_COMM_WORLD, &status));
    CHECK_CALL(t, MPI_Waitall(2, sent, MPI_STATUSES_IGNORE));
    check_status(t, &status, p->left, bytes);
    check_received(t, in, bytes, (uint64_t)p->left + 200);
}

// Even ranks send, odd ones have seen the message by Probe before they receive it.
static void probed(struct check* t, struct pair* p, enum mode mode, int bytes, int shift)
{
    unsigned char *out, *in;
    MPI_Request sent;
    MPI_Status status;
    const int partner = t->rank ^ 1;
    if (partner >= t->size)
        return;
    prepare(p, bytes, shift, 300, &out, &in);
    if (t->rank % 2 == 0) {
        CHECK_CALL(t, start_send(mode, out, bytes, partner, &sent));
        return;
    }
    CHECK_CALL(t, MPI_Probe(partner, tag_data, MPI_COMM_WORLD, &status));
    check_status(t, &status, partner, bytes);
    // A longer buffer than needed: the status says what came.
    CHECK_CALL(t, MPI_Recv(in, bytes + 8, MPI_BYTE, partner, tag_data, MPI_COMM_WORLD, &status));
    check_status(t, &status, partner, bytes);
    check_received(t, in, bytes, 300);
}

static int test_main(void)
{
    struct check t = check_start("modes");
    const size_t room = (size_t)sizes[size_count - 1] + 2 * check_guard_bytes + 16;
    struct pair p = {check_memory(room), check_memory(room), (t.rank + t.size - 1) % t.size,
                     (t.rank + 1) % t.size};
    for (int i = 0; i < size_count; ++i) {
        for (int mode = 0; mode < mode_count; ++mode) {
            // Large messages take turns at the odd addresses; small ones try more of them.
            const int shifts = sizes[i] >= big_bytes ? 1 : 3;
            for (int k = 0; k < shifts; ++k) {
                const int shift = (mode + 3 * k) % 8;
                posted(&t, &p, (enum mode)mode, sizes[i], shift);
                if (mode == start || mode == start_synchronous) {
                    unexpected(&t, &p, (enum mode)mode, sizes[i], shift);
                }
                if (mode == send || mode == synchronous) {
                    probed(&t, &p, (enum mode)mode, sizes[i], shift);
                }
            }
        }
    }
    free(p.out);
    free(p.in);
    return check_finish(&t);
}
