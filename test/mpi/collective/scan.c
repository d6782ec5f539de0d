// SPDX-License-Identifier: Apache-2.0
// Scan, Exscan, Reduce_scatter, Reduce_scatter_block, Reduce_local and their I-forms, with an
// operation that does not commute (rank order, MPI 5.0, 6.9.1) and with one that does; in place.
#include "../check.h"

enum { prime = 2147483647 };

static const int counts[] = {0, 1, 7, 1000, 30000};
enum { count_count = sizeof counts / sizeof counts[0] };

static int finish(int code, MPI_Request* request)
{
    return code != MPI_SUCCESS ? code : MPI_Wait(request, MPI_STATUS_IGNORE);
}

// An element is the map x -> slope * x + shift modulo a prime: its composition does not commute.
static uint64_t compose(uint64_t first, uint64_t second)
{
    const uint64_t a = first >> 32, b = first & 0xFFFFFFFFu;
    const uint64_t c = second >> 32, d = second & 0xFFFFFFFFu;
    return (a * c % prime) << 32 | ((b * c % prime + d) % prime);
}

static void compose_op(void* in, void* inout, int* length, MPI_Datatype* type)
{
    const uint64_t* first = in;
    uint64_t* second = inout;
    const int right = *type == MPI_UINT64_T && *length > 0;
    for (int i = 0; i < *length; ++i)
        second[i] = right ? compose(first[i], second[i]) : 0;
}

static uint64_t operand(int rank, int i, int is_sum)
{
    return is_sum ? (uint64_t)(rank * 1000 + i)
                  : (uint64_t)(rank * 31 + i % 97 + 2) << 32 | (uint64_t)(rank * 7 + i * 3 + 1);
}

// The result of ranks 0 to last, in order.
static uint64_t result_of(int last, int i, int is_sum)
{
    uint64_t result = operand(0, i, is_sum);
    for (int rank = 1; rank <= last; ++rank) {
        const uint64_t next = operand(rank, i, is_sum);
        result = is_sum ? result + next : compose(result, next);
    }
    return result;
}

static void fill(uint64_t* vector, int count, int rank, int is_sum)
{
    for (int i = 0; i < count; ++i)
        vector[i] = operand(rank, i, is_sum);
}

static void check_range(struct check* t, const uint64_t* in, int first, int count, int last,
                        int is_sum)
{
    int wrong = 0;
    for (int i = 0; i < count; ++i)
        wrong += in[i] != result_of(last, first + i, is_sum);
    CHECK_INT(t, wrong, 0);
}

struct data {
    uint64_t *out, *in;
    MPI_Op op;
    int is_sum;
};

static void scan(struct check* t, struct data* d, int count, int form)
{
    MPI_Request request;
    const void* from = form >= 2 ? MPI_IN_PLACE : (void*)d->out;
    memset(d->in, 0x5A, (size_t)(count + 1) * sizeof *d->in);
    const uint64_t untouched = d->in[count];
    if (form >= 2)
        fill(d->in, count, t->rank, d->is_sum);
    if (form % 2) {
        CHECK_CALL(
            t, finish(MPI_Iscan(from, d->in, count, MPI_UINT64_T, d->op, MPI_COMM_WORLD, &request),
                      &request));
    } else {
        CHECK_CALL(t, MPI_Scan(from, d->in, count, MPI_UINT64_T, d->op, MPI_COMM_WORLD));
    }
    check_range(t, d->in, 0, count, t->rank, d->is_sum);
    CHECK(t, d->in[count] == untouched);
}

static void exscan(struct check* t, struct data* d, int count, int form)
{
    MPI_Request request;
    const void* from = form >= 2 ? MPI_IN_PLACE : (void*)d->out;
    memset(d->in, 0x5A, (size_t)(count + 1) * sizeof *d->in);
    const uint64_t untouched = d->in[count];
    if (form >= 2)
        fill(d->in, count, t->rank, d->is_sum);
    if (form % 2) {
        CHECK_CALL(t, finish(MPI_Iexscan(from, d->in, count, MPI_UINT64_T, d->op, MPI_COMM_WORLD,
                                         &request),
                             &request));
    } else {
        CHECK_CALL(t, MPI_Exscan(from, d->in, count, MPI_UINT64_T, d->op, MPI_COMM_WORLD));
    }
    if (t->rank > 0)
        check_range(t, d->in, 0, count, t->rank - 1, d->is_sum);
    // On rank 0 the buffer has no result; without MPI_IN_PLACE it must stay as it was.
    if (t->rank == 0 && form < 2 && count > 0)
        CHECK(t, d->in[0] == untouched);
    CHECK(t, d->in[count] == untouched);
}

static void reduce_scatter_block(struct check* t, struct data* d, int count, int form)
{
    MPI_Request request;
    const int own = count / t->size, total = own * t->size;
    const void* from = form >= 2 ? MPI_IN_PLACE : (void*)d->out;
    memset(d->in, 0x5A, (size_t)(total + 1) * sizeof *d->in);
    const uint64_t untouched = d->in[total];
    if (form >= 2)
        fill(d->in, total, t->rank, d->is_sum);
    if (form % 2) {
        CHECK_CALL(t, finish(MPI_Ireduce_scatter_block(from, d->in, own, MPI_UINT64_T, d->op,
                                                       MPI_COMM_WORLD, &request),
                             &request));
    } else {
        CHECK_CALL(t,
                   MPI_Reduce_scatter_block(from, d->in, own, MPI_UINT64_T, d->op, MPI_COMM_WORLD));
    }
    check_range(t, d->in, t->rank * own, own, t->size - 1, d->is_sum);
    CHECK(t, d->in[form >= 2 ? total : own] == untouched);
}

static void reduce_scatter(struct check* t, struct data* d, int count, int form)
{
    MPI_Request request;
    int *blocks = check_memory((size_t)t->size * sizeof *blocks), first = 0, total = 0;
    // Uneven, and rank 1 gets nothing.
    for (int rank = 0; rank < t->size; ++rank) {
        blocks[rank] = rank == 1 ? 0 : count / t->size + (rank % 3 == 2 && count >= t->size);
        if (total + blocks[rank] > count)
            blocks[rank] = count - total;
        if (rank < t->rank)
            first += blocks[rank];
        total += blocks[rank];
    }
    const void* from = form >= 2 ? MPI_IN_PLACE : (void*)d->out;
    memset(d->in, 0x5A, (size_t)(total + 1) * sizeof *d->in);
    const uint64_t untouched = d->in[total];
    if (form >= 2)
        fill(d->in, total, t->rank, d->is_sum);
    if (form % 2) {
        CHECK_CALL(t, finish(MPI_Ireduce_scatter(from, d->in, blocks, MPI_UINT64_T, d->op,
                                                 MPI_COMM_WORLD, &request),
                             &request));
    } else {
        CHECK_CALL(t, MPI_Reduce_scatter(from, d->in, blocks, MPI_UINT64_T, d->op, MPI_COMM_WORLD));
    }
    check_range(t, d->in, first, blocks[t->rank], t->size - 1, d->is_sum);
    CHECK(t, d->in[form >= 2 ? total : blocks[t->rank]] == untouched);
    free(blocks);
}

static void reduce_local(struct check* t, struct data* d, int count)
{
    int wrong = 0;
    fill(d->in, count, t->rank + 1, d->is_sum);
    CHECK_CALL(t, MPI_Reduce_local(d->out, d->in, count, MPI_UINT64_T, d->op));
    for (int i = 0; i < count; ++i) {
        const uint64_t a = operand(t->rank, i, d->is_sum), b = operand(t->rank + 1, i, d->is_sum);
        wrong += d->in[i] != (d->is_sum ? a + b : compose(a, b));
    }
    CHECK_INT(t, wrong, 0);
}

static int test_main(void)
{
    struct check t = check_start("scan");
    const size_t most = (size_t)counts[count_count - 1] + 1;
    struct data d = {check_memory(most * sizeof(uint64_t)), check_memory(most * sizeof(uint64_t)),
                     MPI_SUM, 1};
    for (; d.is_sum >= 0; --d.is_sum) {
        if (!d.is_sum)
            CHECK_CALL(&t, MPI_Op_create(compose_op, 0, &d.op));
        for (int i = 0; i < count_count; ++i) {
            fill(d.out, counts[i], t.rank, d.is_sum);
            for (int form = 0; form < 4; ++form) {
                scan(&t, &d, counts[i], form);
                exscan(&t, &d, counts[i], form);
                reduce_scatter(&t, &d, counts[i], form);
                reduce_scatter_block(&t, &d, counts[i], form);
            }
            reduce_local(&t, &d, counts[i]);
        }
    }
    CHECK_CALL(&t, MPI_Op_free(&d.op));
    free(d.in);
    free(d.out);
    return check_finish(&t);
}
