// SPDX-License-Identifier: Apache-2.0
// The operations. A size is that of the message (ibcast, ireduce, iallreduce, exchange) or of a
// rank's block. In the v-forms odd ranks contribute half a block.
#include <stdlib.h>
#include <string.h>

#include "nbc_parts.h"

typedef enum {
    kind_ibcast,
    kind_ireduce,
    kind_iallgather,
    kind_ialltoall,
    kind_iallreduce,
    kind_igather,
    kind_iscatter,
    kind_iallgatherv,
    kind_ialltoallv,
    kind_exchange,
    kind_count,
} Kind;

static const char* const names[kind_count] = {
    "ibcast",  "ireduce",  "iallgather",  "ialltoall",  "iallreduce",
    "igather", "iscatter", "iallgatherv", "ialltoallv", "exchange",
};

int nbc_kind(const char* name)
{
    for (int kind = 0; kind < kind_count; ++kind) {
        if (strcmp(name, names[kind]) == 0)
            return kind;
    }
    return -1;
}

static bool is_reduction(int kind)
{
    return kind == kind_ireduce || kind == kind_iallreduce;
}

static bool has_block_a_rank(int kind)
{
    return kind != kind_ibcast && !is_reduction(kind) && kind != kind_exchange;
}

static int share_of(const NbcCall* call, int rank)
{
    return (int)(rank % 2 == 0 ? call->size : call->size / 2);
}

void nbc_call_free(NbcCall* call)
{
    free(call->out);
    free(call->in);
    free(call->counts);
    free(call->displacements);
    const int kind = call->kind;
    memset(call, 0, sizeof *call);
    call->kind = kind;
}

bool nbc_call_resize(const Harness* harness, NbcCall* call, size_t size)
{
    const size_t blocks = has_block_a_rank(call->kind) ? (size_t)harness->ranks : 1;
    // Whole numbers in reductions.
    call->size = is_reduction(call->kind) ? (size + 7) / 8 * 8 : size;
    const size_t room = call->size * blocks;
    if (room > nbc_bytes_max)
        return false;
    if (room > call->room) {
        free(call->out);
        free(call->in);
        call->out = malloc(room);
        call->in = malloc(room);
        call->room = room;
        int has_memory = call->out != NULL && call->in != NULL;
        MPI_Allreduce(MPI_IN_PLACE, &has_memory, 1, MPI_INT, MPI_MIN, harness->comm);
        if (!has_memory)
            return false;
        memset(call->out, harness->rank, room);
        memset(call->in, 0, room);
    }
    if (call->counts == NULL) {
        call->counts = malloc((size_t)harness->ranks * sizeof(int));
        call->displacements = malloc((size_t)harness->ranks * sizeof(int));
        if (call->counts == NULL || call->displacements == NULL)
            harness_fail(harness, "no memory");
    }
    for (int rank = 0; rank < harness->ranks; ++rank) {
        call->counts[rank] = call->kind == kind_ialltoallv
                                 ? (share_of(call, rank) < share_of(call, harness->rank)
                                        ? share_of(call, rank)
                                        : share_of(call, harness->rank))
                                 : share_of(call, rank);
        call->displacements[rank] = rank * (int)call->size;
    }
    return true;
}

static int exchange(const Harness* harness, const NbcCall* call, MPI_Request requests[2])
{
    const int next = (harness->rank + 1) % harness->ranks;
    const int before = (harness->rank + harness->ranks - 1) % harness->ranks;
    const int bytes = (int)call->size;
    MPI_Irecv(call->in, bytes, MPI_BYTE, before, 2, harness->comm, &requests[0]);
    MPI_Isend(call->out, bytes, MPI_BYTE, next, 2, harness->comm, &requests[1]);
    return 2;
}

int nbc_call_start(const Harness* harness, const NbcCall* call, MPI_Request requests[2])
{
    const MPI_Comm comm = harness->comm;
    const int bytes = (int)call->size;
    const int numbers = bytes / (int)sizeof(double);
    unsigned char* const out = call->out;
    unsigned char* const in = call->in;
    MPI_Request* const request = &requests[0];
    switch ((Kind)call->kind) {
        case kind_ibcast:
            MPI_Ibcast(harness->rank == 0 ? out : in, bytes, MPI_BYTE, 0, comm, request);
            break;
        case kind_ireduce:
            MPI_Ireduce(out, in, numbers, MPI_DOUBLE, MPI_SUM, 0, comm, request);
            break;
        case kind_iallreduce:
            MPI_Iallreduce(out, in, numbers, MPI_DOUBLE, MPI_SUM, comm, request);
            break;
        case kind_igather:
            MPI_Igather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, 0, comm, request);
            break;
        case kind_iscatter:
            MPI_Iscatter(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, 0, comm, request);
            break;
        case kind_iallgather:
            MPI_Iallgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, comm, request);
            break;
        case kind_iallgatherv:
            MPI_Iallgatherv(out, call->counts[harness->rank], MPI_BYTE, in, call->counts,
                            call->displacements, MPI_BYTE, comm, request);
            break;
        case kind_ialltoallv:
            MPI_Ialltoallv(out, call->counts, call->displacements, MPI_BYTE, in, call->counts,
                           call->displacements, MPI_BYTE, comm, request);
            break;
        case kind_ialltoall:
            MPI_Ialltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, comm, request);
            break;
        default:
            return exchange(harness, call, requests);
    }
    return 1;
}

// Byte `index` of the block that `from` has for `to`.
static unsigned char content(int from, int to, size_t index)
{
    return (unsigned char)(37 * from + 11 * to + (int)(index % 251) + 1);
}

static void fill(const Harness* harness, NbcCall call)
{
    if (is_reduction(call.kind)) {
        for (size_t index = 0; index < call.size / sizeof(double); ++index)
            ((double*)call.out)[index] = harness->rank + (double)(index % 100);
        return;
    }
    const int blocks =
        call.kind == kind_ialltoall || call.kind == kind_ialltoallv || call.kind == kind_iscatter
            ? harness->ranks
            : 1;
    for (int to = 0; to < blocks; ++to) {
        for (size_t index = 0; index < call.size; ++index) {
            call.out[(size_t)to * call.size + index] =
                content(harness->rank, blocks == 1 ? 0 : to, index);
        }
    }
}

static bool is_sum(const Harness* harness, const NbcCall* call)
{
    const double ranks = harness->ranks;
    for (size_t index = 0; index < call->size / sizeof(double); ++index) {
        const double expected = ranks * (ranks - 1) / 2 + ranks * (double)(index % 100);
        if (((const double*)call->in)[index] != expected)
            return false;
    }
    return true;
}

static bool is_block(const NbcCall* call, int place, int from, int to, size_t bytes)
{
    for (size_t index = 0; index < bytes; ++index) {
        if (call->in[(size_t)place * call->size + index] != content(from, to, index))
            return false;
    }
    return true;
}

static bool is_right(const Harness* harness, const NbcCall* call)
{
    const int rank = harness->rank;
    const int before = (rank + harness->ranks - 1) % harness->ranks;
    if (is_reduction(call->kind))
        return (call->kind == kind_ireduce && rank != 0) || is_sum(harness, call);
    if (call->kind == kind_ibcast)
        return rank == 0 || is_block(call, 0, 0, 0, call->size);
    if (call->kind == kind_iscatter)
        return is_block(call, 0, 0, rank, call->size);
    if (call->kind == kind_exchange)
        return is_block(call, 0, before, 0, call->size);
    if (call->kind == kind_igather && rank != 0)
        return true;
    const bool is_personal = call->kind == kind_ialltoall || call->kind == kind_ialltoallv;
    const bool is_listed = call->kind == kind_iallgatherv || call->kind == kind_ialltoallv;
    for (int from = 0; from < harness->ranks; ++from) {
        const size_t bytes = is_listed ? (size_t)call->counts[from] : call->size;
        if (!is_block(call, from, from, is_personal ? rank : 0, bytes))
            return false;
    }
    return true;
}

void nbc_call_verify(const Harness* harness, const NbcCall* call)
{
    MPI_Request requests[2];
    fill(harness, *call);
    memset(call->in, 0, call->room);
    const int count = nbc_call_start(harness, call, requests);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    if (!is_right(harness, call))
        harness_fail(harness, "an operation delivered wrong bytes");
}
