// SPDX-License-Identifier: Apache-2.0
// Long messages move while their ranks compute: MPI-5.0 section 3.7.4 (progress), strongly read.
// Nobody calls MPI between the start of an operation and the moment it is found complete.
#include "board.h"

enum { longest = 9 * 1024 * 1024 };

static const int sizes[] = {20 * 1024, 300 * 1024, longest};
enum { size_count = sizeof sizes / sizeof sizes[0] };

/// Rank 1 posts a receive and computes; rank 0's send ends although rank 1 calls no MPI.
static void receiver_computes(struct check* t, struct board board, unsigned char* buffer)
{
    const struct headway_interface_1* headway = board_interface();
    for (int i = 0; i < size_count; ++i) {
        if (t->rank == 0) {
            check_fill(buffer, (size_t)sizes[i], (uint64_t)i);
            MPI_Request request;
            CHECK_CALL(t, MPI_Isend(buffer, sizes[i], MPI_BYTE, 1, i, MPI_COMM_WORLD, &request));
            CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
            board_raise(board, 0);
        } else if (t->rank == 1) {
            memset(buffer, 0, (size_t)sizes[i]);
            MPI_Request request;
            CHECK_CALL(t, MPI_Irecv(buffer, sizes[i], MPI_BYTE, 0, i, MPI_COMM_WORLD, &request));
            compute_until_raised(board, 0, i + 1);
            compute_until_complete(headway);
            CHECK_PATTERN(t, buffer, (size_t)sizes[i], (uint64_t)i);
            int flag = 0;
            MPI_Status status;
            CHECK_CALL(t, MPI_Test(&request, &flag, &status));
            CHECK_INT(t, flag, 1);
            int count = 0;
            MPI_Get_count(&status, MPI_BYTE, &count);
            CHECK_INT(t, count, sizes[i]);
        }
    }
}

/// Both start and compute, in either order; both find their operation complete with one test.
static void both_compute(struct check* t, struct board board, unsigned char* buffer)
{
    const struct headway_interface_1* headway = board_interface();
    for (int i = 0; i < 2 * size_count; ++i) {
        const int bytes = sizes[i / 2];
        const int sends_first = i % 2;
        if (t->rank > 1)
            continue;
        const int first = sends_first ? 0 : 1;
        MPI_Request request;
        if (t->rank != first)
            compute_until_raised(board, 1, i + 1);
        if (t->rank == 0) {
            check_fill(buffer, (size_t)bytes, (uint64_t)i + 10);
            CHECK_CALL(t, MPI_Isend(buffer, bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD, &request));
        } else {
            memset(buffer, 0, (size_t)bytes);
            CHECK_CALL(t, MPI_Irecv(buffer, bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD, &request));
        }
        if (t->rank == first)
            board_raise(board, 1);
        compute_until_complete(headway);
        board_raise(board, 2);
        compute_until_raised(board, 2, 2 * (i + 1));
        int flag = 0;
        CHECK_CALL(t, MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
        CHECK_INT(t, flag, 1);
        if (t->rank == 1)
            CHECK_PATTERN(t, buffer, (size_t)bytes, (uint64_t)i + 10);
    }
}

/// Everybody exchanges with everybody, all compute.
static void all_compute(struct check* t, struct board board)
{
    const struct headway_interface_1* headway = board_interface();
    const size_t bytes = 100 * 1000;
    const int size = t->size;
    unsigned char* out = check_memory(bytes * (size_t)size);
    unsigned char* in = check_memory(bytes * (size_t)size);
    MPI_Request* requests = check_memory(2 * (size_t)size * sizeof *requests);
    for (int peer = 0; peer < size; ++peer) {
        unsigned char* to = out + bytes * (size_t)peer;
        check_fill(to, bytes, (uint64_t)(t->rank * size + peer));
        MPI_Irecv(in + bytes * (size_t)peer, (int)bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD,
                  &requests[peer]);
        MPI_Isend(to, (int)bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[size + peer]);
    }
    compute_until_complete(headway);
    board_raise(board, 3);
    compute_until_raised(board, 3, size);
    int flag = 0;
    CHECK_CALL(t, MPI_Testall(2 * size, requests, &flag, MPI_STATUSES_IGNORE));
    CHECK_INT(t, flag, 1);
    for (int peer = 0; peer < size; ++peer)
        CHECK_PATTERN(t, in + bytes * (size_t)peer, bytes, (uint64_t)(peer * size + t->rank));
    free(out);
    free(in);
    free(requests);
}

static int test_main(void)
{
    struct check t = check_start("progress/rendezvous");
    struct board board = board_open(&t);
    unsigned char* buffer = check_memory(longest);
    receiver_computes(&t, board, buffer);
    MPI_Barrier(MPI_COMM_WORLD);
    both_compute(&t, board, buffer);
    MPI_Barrier(MPI_COMM_WORLD);
    all_compute(&t, board);
    free(buffer);
    MPI_Barrier(MPI_COMM_WORLD);
    board_close(board);
    return check_finish(&t);
}
