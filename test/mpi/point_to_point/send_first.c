// SPDX-License-Identifier: Apache-2.0
// Two ranks send to each other before they receive. The standard lets a library wait there for ever
// (MPI-5.0 section 3.5); this one does not for messages up to HEADWAY_EAGER_LIMIT_INSIDE between
// processes that have a core each, whichever way they go (HEADWAY_INSIDE_WAY).
#include "../check.h"

enum { rounds = 400, bytes_min = 17000, bytes_max = 70000, tag = 5 };

static int length_of(int round, int rank)
{
    return bytes_min + (round * 7919 + rank * 4001) % (bytes_max - bytes_min + 1);
}

static int test_main(void)
{
    struct check t = check_start("send_first");
    unsigned char* const out = check_memory(bytes_max);
    unsigned char* const in = check_memory(bytes_max);
    const int peer = 1 - t.rank;
    for (int round = 0; round < rounds; ++round) {
        // The same bytes again in most rounds.
        if (round % 100 < 10)
            check_fill(out, bytes_max, (uint64_t)(2 * round + t.rank));
        CHECK_CALL(&t,
                   MPI_Send(out, length_of(round, t.rank), MPI_BYTE, peer, tag, MPI_COMM_WORLD));
        MPI_Status status;
        int count = 0;
        CHECK_CALL(&t, MPI_Recv(in, bytes_max, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &status));
        CHECK_CALL(&t, MPI_Get_count(&status, MPI_BYTE, &count));
        CHECK_INT(&t, count, length_of(round, peer));
        const int filled = round % 100 < 10 ? round : round - round % 100 + 9;
        CHECK_PATTERN(&t, in, (size_t)count, (uint64_t)(2 * filled + peer));
    }
    free(out);
    free(in);
    return check_finish(&t);
}
