// SPDX-License-Identifier: Apache-2.0
// HEADWAY_DELAY_US: no frame is seen before its moment. What arrives carries the time at which it
// was sent, so that its delay can be told; a long message needs three frames, one after another.
#include <time.h>

#include "board.h"

enum { rounds = 20, long_bytes = 200 * 1000 };

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t delay_ns(void)
{
    const char* value = getenv("HEADWAY_DELAY_US");
    return value != NULL ? strtoll(value, NULL, 10) * 1000 : 0;
}

/// From every rank to the next, waiting and computing in turn.
static void check_delay(struct check* t, int bytes, int frames)
{
    unsigned char* out = check_memory((size_t)bytes);
    unsigned char* in = check_memory((size_t)bytes);
    const int next = (t->rank + 1) % t->size;
    const int last = (t->rank + t->size - 1) % t->size;
    for (int round = 0; round < rounds; ++round) {
        check_fill(out, (size_t)bytes, (uint64_t)(round * t->size + t->rank));
        MPI_Request requests[2];
        CHECK_CALL(t, MPI_Irecv(in, bytes, MPI_BYTE, last, round, MPI_COMM_WORLD, &requests[0]));
        MPI_Barrier(MPI_COMM_WORLD);
        const int64_t sent_ns = now_ns();
        memcpy(out, &sent_ns, sizeof sent_ns);
        CHECK_CALL(t, MPI_Isend(out, bytes, MPI_BYTE, next, round, MPI_COMM_WORLD, &requests[1]));
        if (round % 2 == 1)
            compute_until_complete(board_interface());
        CHECK_CALL(t, MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        const int64_t arrived_ns = now_ns();
        CHECK_CALL(t, MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
        int64_t stamp_ns = 0;
        memcpy(&stamp_ns, in, sizeof stamp_ns);
        CHECK(t, arrived_ns - stamp_ns >= frames * delay_ns());
        check_fill(out, (size_t)bytes, (uint64_t)(round * t->size + last));
        CHECK_INT(t, memcmp(in + 8, out + 8, (size_t)bytes - 8), 0);
    }
    free(out);
    free(in);
}

static int test_main(void)
{
    struct check t = check_start("progress/delayed");
    CHECK(&t, delay_ns() > 0);
    check_delay(&t, 8, 1);
    check_delay(&t, 4000, 1);
    // Without reach into the sender's memory the bytes go by a pipe, whose chunks nothing delays.
    const char* cma = getenv("HEADWAY_CMA");
    check_delay(&t, long_bytes, cma != NULL && strcmp(cma, "off") == 0 ? 2 : 3);
    return check_finish(&t);
}
