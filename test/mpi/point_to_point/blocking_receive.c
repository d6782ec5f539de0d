// SPDX-License-Identifier: Apache-2.0
// Blocking receives of short and middling messages, which a library may make without an operation
// and while the sender still writes: the earlier posted receive comes first, wildcards included;
// nothing beyond the message changes in the buffer; a message that is too long is an error (MPI
// 5.0, 3.2.4, 3.5).
#include "../check.h"

enum { rounds = 300, room = 50000, tag_used = 7, guard = 0x5a };

static const int sizes[] = {0,    1,    8,    40,   41,    1000,  1024,
                            1025, 2048, 4096, 5000, 16384, 16385, 40000};
enum { size_count = sizeof sizes / sizeof sizes[0] };

// One pair of ranks with its buffers. All randomness is drawn by both sides alike.
struct pair {
    int peer;
    int sends;
    uint64_t random;
    unsigned char* first;
    unsigned char* second;
};

static int is_untouched(const unsigned char* bytes, int from, int to)
{
    for (int i = from; i < to; ++i) {
        if (bytes[i] != guard)
            return 0;
    }
    return 1;
}

static void send_one(struct check* t, struct pair* p, unsigned char* buffer, int size,
                     uint64_t seed)
{
    check_fill(buffer, (size_t)size, seed);
    CHECK_CALL(t, MPI_Send(buffer, size, MPI_BYTE, p->peer, tag_used, MPI_COMM_WORLD));
}

static void check_message(struct check* t, const unsigned char* buffer, int size, uint64_t seed,
                          const MPI_Status* status, int peer)
{
    int count = -1;
    CHECK_CALL(t, MPI_Get_count(status, MPI_BYTE, &count));
    CHECK_INT(t, count, size);
    CHECK_INT(t, status->MPI_SOURCE, peer);
    CHECK_INT(t, status->MPI_TAG, tag_used);
    CHECK_PATTERN(t, buffer, (size_t)size, seed);
    CHECK(t, is_untouched(buffer, size, room));
}

static void receive_one(struct check* t, struct pair* p, int size, uint64_t seed, int source,
                        int tag)
{
    MPI_Status status;
    memset(p->first, guard, room);
    CHECK_CALL(t, MPI_Recv(p->first, room, MPI_BYTE, source, tag, MPI_COMM_WORLD, &status));
    check_message(t, p->first, size, seed, &status, p->peer);
}

// The first of two messages belongs to the receive that was posted first, whatever its name.
static void behind_a_posted_one(struct check* t, struct pair* p, int round, int is_wild)
{
    const int size[] = {sizes[check_below(&p->random, size_count)],
                        sizes[check_below(&p->random, size_count)]};
    if (p->sends) {
        send_one(t, p, p->first, size[0], (uint64_t)round);
        send_one(t, p, p->second, size[1], (uint64_t)round + rounds);
        return;
    }
    MPI_Request request;
    MPI_Status status[2];
    memset(p->first, guard, room);
    memset(p->second, guard, room);
    CHECK_CALL(t, MPI_Irecv(p->first, room, MPI_BYTE, p->peer, is_wild ? MPI_ANY_TAG : tag_used,
                            MPI_COMM_WORLD, &request));
    CHECK_CALL(t,
               MPI_Recv(p->second, room, MPI_BYTE, p->peer, tag_used, MPI_COMM_WORLD, &status[1]));
    CHECK_CALL(t, MPI_Wait(&request, &status[0]));
    check_message(t, p->first, size[0], (uint64_t)round, &status[0], p->peer);
    check_message(t, p->second, size[1], (uint64_t)round + rounds, &status[1], p->peer);
}

static void too_long(struct check* t, struct pair* p, int round)
{
    const int size = 2 + sizes[check_below(&p->random, size_count)];
    const int taken = size / 2;
    if (p->sends) {
        send_one(t, p, p->first, size, (uint64_t)round);
        return;
    }
    memset(p->first, guard, room);
    const int code =
        MPI_Recv(p->first, taken, MPI_BYTE, p->peer, tag_used, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_INT(t, check_error_class(code), MPI_ERR_TRUNCATE);
    CHECK(t, is_untouched(p->first, taken, room));
}

static void exchange(struct check* t, struct pair* p)
{
    for (int round = 0; round < rounds; ++round) {
        const int kind = check_below(&p->random, 6);
        if (kind == 4) {
            too_long(t, p, round);
            continue;
        }
        if (kind >= 2 && kind < 4) {
            behind_a_posted_one(t, p, round, kind == 3);
            continue;
        }
        const int size = sizes[check_below(&p->random, size_count)];
        if (p->sends)
            send_one(t, p, p->first, size, (uint64_t)round);
        else
            receive_one(t, p, size, (uint64_t)round, kind == 0 ? p->peer : MPI_ANY_SOURCE,
                        kind == 5 ? MPI_ANY_TAG : tag_used);
        // Now and then an answer, so that the receiver is sometimes first and sometimes late.
        if (check_below(&p->random, 3) == 0)
            p->sends = !p->sends;
    }
}

int test_main(void)
{
    struct check t = check_start("blocking_receive");
    CHECK_CALL(&t, MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    struct pair p = {t.rank ^ 1, t.rank % 2, 2026 + (uint64_t)(t.rank / 2), check_memory(room),
                     check_memory(room)};
    if (p.peer < t.size)
        exchange(&t, &p);
    free(p.first);
    free(p.second);
    return check_finish(&t);
}
