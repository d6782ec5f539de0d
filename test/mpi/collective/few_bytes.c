// SPDX-License-Identifier: Apache-2.0
// Calls of few bytes, or none. Those with a root need no message, which the frames show that ranks
// post, but where messages are asked for: CHECK_MESSAGES names those calls (bcast, or all). The
// others need none among few ranks with a core each: with CHECK_EXCHANGES they are processes, and
// if there are as many processors they are looked at. What is wrong is told as in the first calls
// of a communicator, and leaves no trace in the next ones.
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include "../check.h"
#include "../frames.h"

enum { calls = 300, values = 4 };

static void bcast(struct check* t, int call, int root)
{
    long value = t->rank == root ? call : -1;
    CHECK_CALL(t, MPI_Bcast(&value, 1, MPI_LONG, root, MPI_COMM_WORLD));
    CHECK_INT(t, value, call);
}

static void scatter(struct check* t, int call, int root)
{
    long all[64], own = -1;
    for (int i = 0; i < t->size; ++i)
        all[i] = call * 100 + i;
    CHECK_CALL(t, MPI_Scatter(all, 1, MPI_LONG, &own, 1, MPI_LONG, root, MPI_COMM_WORLD));
    CHECK_INT(t, own, call * 100 + t->rank);
}

static void gather(struct check* t, int call, int root)
{
    long all[64], own = call * 100 + t->rank;
    CHECK_CALL(t, MPI_Gather(&own, 1, MPI_LONG, all, 1, MPI_LONG, root, MPI_COMM_WORLD));
    for (int i = 0; i < t->size && t->rank == root; ++i)
        CHECK_INT(t, all[i], call * 100 + i);
}

static void reduce(struct check* t, int call, int root)
{
    long own = call * 100 + t->rank, sum = -1;
    const long wanted = call * 100L * t->size + (long)t->size * (t->size - 1) / 2;
    CHECK_CALL(t, MPI_Reduce(&own, &sum, 1, MPI_LONG, MPI_SUM, root, MPI_COMM_WORLD));
    CHECK_INT(t, sum, t->rank == root ? wanted : -1);
}

static void allgather(struct check* t, int call, int shift)
{
    long all[64], own = call * 100 + t->rank + shift;
    CHECK_CALL(t, MPI_Allgather(&own, 1, MPI_LONG, all, 1, MPI_LONG, MPI_COMM_WORLD));
    for (int i = 0; i < t->size; ++i)
        CHECK_INT(t, all[i], call * 100 + i + shift);
}

static void alltoall(struct check* t, int call, int shift)
{
    long given[64], got[64];
    for (int i = 0; i < t->size; ++i)
        given[i] = call * 10000 + t->rank * 100 + i + shift;
    CHECK_CALL(t, MPI_Alltoall(given, 1, MPI_LONG, got, 1, MPI_LONG, MPI_COMM_WORLD));
    for (int i = 0; i < t->size; ++i)
        CHECK_INT(t, got[i], call * 10000 + i * 100 + t->rank + shift);
}

static void allreduce(struct check* t, int call, int shift)
{
    long own = call * 100 + t->rank + shift, sum = -1;
    CHECK_CALL(t, MPI_Allreduce(&own, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK_INT(t, sum, (call * 100L + shift) * t->size + (long)t->size * (t->size - 1) / 2);
}

// Nobody leaves before the last one has come, who then has told so.
static void barrier(struct check* t, int call, int late)
{
    int told = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    if (t->rank == late && t->size > 1)
        CHECK_CALL(t, MPI_Send(&call, 1, MPI_INT, (late + 1) % t->size, 77, MPI_COMM_WORLD));
    CHECK_CALL(t, MPI_Barrier(MPI_COMM_WORLD));
    if (t->size == 1 || t->rank != (late + 1) % t->size)
        return;
    int is_there = 0;
    CHECK_CALL(t, MPI_Iprobe(late, 77, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE));
    CHECK(t, is_there);
    CHECK_CALL(t, MPI_Irecv(&told, 1, MPI_INT, late, 77, MPI_COMM_WORLD, &request));
    CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_INT(t, told, call);
}

static void only_barrier(struct check* t, int call, int root)
{
    (void)call;
    (void)root;
    CHECK_CALL(t, MPI_Barrier(MPI_COMM_WORLD));
}

// In place, and a sum that depends on the order to the last bit: as the non-blocking call, whose
// graph is run.
static void check_exchanges(struct check* t)
{
    for (int call = 0; call < calls; ++call) {
        const int count = 1 + call % values;
        long all[64], dealt[64];
        float own[values], sum[values], same[values];
        MPI_Request request;
        for (int i = 0; i < t->size; ++i)
            dealt[i] = t->rank * 100 + i;
        all[t->rank] = call + t->rank;
        CHECK_CALL(
            t, MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_LONG, MPI_COMM_WORLD));
        CHECK_CALL(t, MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, dealt, 1, MPI_LONG,
                                   MPI_COMM_WORLD));
        for (int i = 0; i < t->size; ++i) {
            CHECK_INT(t, all[i], call + i);
            CHECK_INT(t, dealt[i], i * 100 + t->rank);
        }
        for (int i = 0; i < values; ++i)
            own[i] = sum[i] = 1.0F / (float)(1 + (call * 7 + t->rank * 13 + i) % 1001);
        CHECK_CALL(t,
                   MPI_Iallreduce(own, same, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request));
        CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (call % 2 == 0)
            CHECK_CALL(t, MPI_Allreduce(own, sum, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
        else
            CHECK_CALL(t,
                       MPI_Allreduce(MPI_IN_PLACE, sum, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
        CHECK(t, memcmp(sum, same, sizeof *sum * (size_t)count) == 0);
    }
}

static void check_exchange_errors(struct check* t)
{
    long own = t->rank, all[64];
    REFUSED(t, MPI_Allgather(&own, -1, MPI_LONG, all, 1, MPI_LONG, MPI_COMM_WORLD), MPI_ERR_COUNT);
    REFUSED(t, MPI_Allgather(all, 1, MPI_LONG, all, 1, MPI_LONG, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    REFUSED(t, MPI_Alltoall(all, 1, MPI_LONG, all, 1, MPI_LONG, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    REFUSED(t, MPI_Alltoall(all, 1, MPI_DATATYPE_NULL, &own, 1, MPI_LONG, MPI_COMM_WORLD),
            MPI_ERR_TYPE);
    REFUSED(t, MPI_Allreduce(all, all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    REFUSED(t, MPI_Allreduce(&own, all, 1, MPI_LONG, MPI_OP_NULL, MPI_COMM_WORLD), MPI_ERR_OP);
    REFUSED(t, MPI_Allreduce(all, all + 8, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD), MPI_ERR_OP);
    REFUSED(t, MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM);
    allgather(t, 1, 0);
    alltoall(t, 2, 0);
    allreduce(t, 3, 0);
}

// Other operators, types and lengths among those that are known, and the root's vector in place.
static void check_reductions(struct check* t)
{
    for (int call = 0; call < calls; ++call) {
        const int root = call % t->size, count = 1 + call % values;
        double own[values], most[values];
        int bits = 1 << t->rank % 8, all = bits;
        for (int i = 0; i < values; ++i)
            own[i] = call + (t->rank + i) % t->size;
        CHECK_CALL(t, MPI_Reduce(own, most, count, MPI_DOUBLE, MPI_MAX, root, MPI_COMM_WORLD));
        for (int i = 0; i < count && t->rank == root; ++i)
            CHECK_INT(t, (long)most[i], call + t->size - 1);
        CHECK_CALL(t, MPI_Reduce(t->rank == root ? MPI_IN_PLACE : &bits, &all, 1, MPI_INT, MPI_BOR,
                                 root, MPI_COMM_WORLD));
        CHECK_INT(t, all, t->rank != root ? bits : t->size < 8 ? (1 << t->size) - 1 : 255);
    }
}

static void check_frames(struct check* t, Frames frames, int uses_messages,
                         void (*run)(struct check*, int, int))
{
    const uint64_t before = frames_posted(t, frames);
    for (int call = 0; call < calls; ++call)
        run(t, call, call % t->size);
    frames_expect(t, frames, before, uses_messages ? calls : 0);
}

static int have_core_each(struct check* t)
{
    cpu_set_t mine;
    unsigned char cpus[CPU_SETSIZE], all[CPU_SETSIZE];
    int count = 0;
    CPU_ZERO(&mine);
    sched_getaffinity(0, sizeof mine, &mine);
    for (size_t i = 0; i < CPU_SETSIZE; ++i)
        cpus[i] = CPU_ISSET(i, &mine) ? 1 : 0;
    CHECK_CALL(t,
               MPI_Allreduce(cpus, all, CPU_SETSIZE, MPI_UNSIGNED_CHAR, MPI_MAX, MPI_COMM_WORLD));
    for (int i = 0; i < CPU_SETSIZE; ++i)
        count += all[i];
    return count >= t->size;
}

// The call fails at every member, or at its root alone, which makes it again.
static void check_errors(struct check* t)
{
    long own = t->rank, all[64];
    REFUSED(t, MPI_Bcast(&own, 1, MPI_LONG, t->size, MPI_COMM_WORLD), MPI_ERR_ROOT);
    REFUSED(t, MPI_Bcast(&own, -1, MPI_LONG, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    REFUSED(t, MPI_Bcast(NULL, 1, MPI_LONG, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    REFUSED(t, MPI_Bcast(&own, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    REFUSED(t, MPI_Scatter(all, 1, MPI_LONG, &own, 1, MPI_LONG, -7, MPI_COMM_WORLD), MPI_ERR_ROOT);
    if (t->rank == 0) {
        REFUSED(t, MPI_Gather(all, 1, MPI_LONG, all, 1, MPI_LONG, 0, MPI_COMM_WORLD),
                MPI_ERR_BUFFER);
        REFUSED(t, MPI_Gather(&own, 1, MPI_LONG, all, -1, MPI_LONG, 0, MPI_COMM_WORLD),
                MPI_ERR_COUNT);
    }
    gather(t, 1, 0);
    REFUSED(t, MPI_Reduce(&own, all, 1, MPI_LONG, MPI_OP_NULL, 0, MPI_COMM_WORLD), MPI_ERR_OP);
    REFUSED(t, MPI_Reduce(&own, all, 1, MPI_LONG, MPI_REPLACE, 0, MPI_COMM_WORLD), MPI_ERR_OP);
    REFUSED(t, MPI_Reduce(all, all + 8, 1, MPI_DOUBLE, MPI_BAND, 0, MPI_COMM_WORLD), MPI_ERR_OP);
    REFUSED(t, MPI_Reduce(&own, all, 1, MPI_LONG, MPI_SUM, t->size, MPI_COMM_WORLD), MPI_ERR_ROOT);
    if (t->rank == 0) {
        REFUSED(t, MPI_Reduce(&own, NULL, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
        REFUSED(t, MPI_Reduce(all, all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    }
    reduce(t, 1, 0);
    // The block of the root for itself has room, or nothing is written.
    const long before = own;
    if (t->rank == 0) {
        REFUSED(t, MPI_Scatter(all, 2, MPI_LONG, &own, 1, MPI_LONG, 0, MPI_COMM_WORLD),
                MPI_ERR_TRUNCATE);
        REFUSED(t, MPI_Gather(all, 2, MPI_LONG, &own, 1, MPI_LONG, 0, MPI_COMM_WORLD),
                MPI_ERR_TRUNCATE);
    }
    CHECK_INT(t, own, before);
    if (t->rank == 0)
        REFUSED(t, MPI_Scatter(all, 1, MPI_LONG, all, 1, MPI_LONG, 0, MPI_COMM_WORLD),
                MPI_ERR_BUFFER);
    scatter(t, 2, 0);
}

// Who names less than comes has the beginning, and is told.
static void check_truncation(struct check* t)
{
    for (int room = 0; room < values; ++room) {
        long given[values] = {-1, -1, -1, -1};
        for (int i = 0; i < values && t->rank == 0; ++i)
            given[i] = room * 10 + i;
        const int code =
            MPI_Bcast(given, t->rank == 0 ? values : room, MPI_LONG, 0, MPI_COMM_WORLD);
        CHECK_INT(t, check_error_class(code), t->rank == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE);
        for (int i = 0; i < values; ++i)
            CHECK_INT(t, given[i], t->rank == 0 || i < room ? room * 10 + i : -1);
        bcast(t, room, t->size - 1);
    }
}

static int test_main(void)
{
    struct check t = check_start("few_bytes");
    const char* const asked = getenv("CHECK_MESSAGES");
    const int all = asked != NULL && strcmp(asked, "all") == 0;
    const int bcasts = all || (asked != NULL && strcmp(asked, "bcast") == 0);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    // The first calls of a communicator prepare the others.
    for (int call = 0; call < 4; ++call) {
        bcast(&t, call, 0);
        gather(&t, call, 0);
        scatter(&t, call, 0);
        reduce(&t, call, 0);
        only_barrier(&t, call, 0);
        allgather(&t, call, 0);
        alltoall(&t, call, 0);
        allreduce(&t, call, 0);
    }
    const int is_near = is_on_one_node(&t);
    MPI_Barrier(MPI_COMM_WORLD);
    const Frames frames = frames_begin(&t);
    if (is_near) {
        check_frames(&t, frames, bcasts && t.size > 1, bcast);
        check_frames(&t, frames, all && t.size > 1, scatter);
        check_frames(&t, frames, all && t.size > 1, gather);
        check_frames(&t, frames, all && t.size > 1, reduce);
    }
    if (is_near && getenv("CHECK_EXCHANGES") != NULL && have_core_each(&t)) {
        check_frames(&t, frames, 0, only_barrier);
        check_frames(&t, frames, 0, allgather);
        check_frames(&t, frames, 0, alltoall);
        check_frames(&t, frames, 0, allreduce);
    }
    for (int call = 0; call < calls; ++call) {
        allgather(&t, call, call % 3);
        barrier(&t, call, call % t.size);
        alltoall(&t, call, call % 5);
        allreduce(&t, call, call % 7);
    }
    check_reductions(&t);
    check_exchanges(&t);
    check_errors(&t);
    check_exchange_errors(&t);
    if (asked == NULL)
        check_truncation(&t);
    frames_end(&t, frames);
    return check_finish(&t);
}
