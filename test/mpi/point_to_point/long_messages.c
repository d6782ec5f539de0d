// SPDX-License-Identifier: Apache-2.0
// Messages of some MiB between ranks that are both in MPI, at odd places and of odd lengths: what
// lies before and behind the receive buffer stays as it is (MPI 5.0, 3.2.4).
#include "../check.h"

enum { mebibyte = 1024 * 1024, guard_bytes = 128, guard = 0x5a, tag = 3 };

static const int sizes[] = {mebibyte, 4 * mebibyte + 1, 8 * mebibyte, 9 * mebibyte - 1};
enum { size_count = sizeof sizes / sizeof sizes[0] };

static int is_guard(const unsigned char* bytes)
{
    for (int i = 0; i < guard_bytes; ++i) {
        if (bytes[i] != guard)
            return 0;
    }
    return 1;
}

static void check_received(struct check* t, const unsigned char* buffer, int bytes, uint64_t seed)
{
    CHECK_PATTERN(t, buffer, (size_t)bytes, seed);
    CHECK(t, is_guard(buffer - guard_bytes));
    CHECK(t, is_guard(buffer + bytes));
}

// One way, then both ways at once, with the rank across.
static void exchange(struct check* t, unsigned char* out, unsigned char* room, int bytes, int skew)
{
    unsigned char* in = room + guard_bytes + skew;
    const int peer = t->rank ^ 1;
    if (peer >= t->size)
        return;
    check_fill(out + skew, (size_t)bytes, (uint64_t)(t->rank + skew));
    memset(room, guard, (size_t)bytes + 2 * guard_bytes + (size_t)skew);
    if (t->rank % 2 == 0) {
        CHECK_CALL(t, MPI_Send(out + skew, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD));
    } else {
        CHECK_CALL(t, MPI_Recv(in, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        check_received(t, in, bytes, (uint64_t)(peer + skew));
        memset(in, guard, (size_t)bytes);
    }
    CHECK_CALL(t, MPI_Sendrecv(out + skew, bytes, MPI_BYTE, peer, tag, in, bytes, MPI_BYTE, peer,
                               tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    check_received(t, in, bytes, (uint64_t)(peer + skew));
}

int test_main(void)
{
    struct check t = check_start("long_messages");
    const size_t room = (size_t)9 * mebibyte + 3 * guard_bytes;
    unsigned char* out = check_memory(room);
    unsigned char* in = check_memory(room);
    for (int i = 0; i < size_count; ++i) {
        for (int skew = 0; skew < 64; skew += 21)
            exchange(&t, out, in, sizes[i], skew);
    }
    free(in);
    free(out);
    return check_finish(&t);
}
