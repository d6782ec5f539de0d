// SPDX-License-Identifier: Apache-2.0
// Scatters, gathers and reductions, blocks of all lengths one after the other, about those at which
// they go another way: every root, in place, elements with gaps on one side, two communicators by
// turns. Who has room for less than comes is told, and the next calls are as before. A reduction
// has the bits of one that does not block.
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>

#include "../check.h"
#include "../frames.h"

// Shelves have room for some calls ahead; the next ones wait.
enum { rounds = 12, longest = (1 << 20) + 1 };

static const int lengths[] = {0,     1,     64,    512,   1024,   1025,   2000,    8192,   8193,
                              20000, 65535, 65536, 65537, 131072, 200001, 1 << 20, longest};
enum { length_count = sizeof lengths / sizeof lengths[0] };

typedef struct {
    MPI_Comm comm;
    int rank;
    int size;
    unsigned char* all;
    unsigned char* own;
} Place;

static uint64_t seed_of(int call, int rank)
{
    return (uint64_t)call * 64 + (uint64_t)rank + 1;
}

static void fill_all(const Place* p, int call, int bytes)
{
    for (int i = 0; i < p->size; ++i)
        check_fill(p->all + (size_t)i * (size_t)bytes, (size_t)bytes, seed_of(call, i));
}

static void scatter(struct check* t, const Place* p, int call, int bytes, int root)
{
    const int at_root = p->rank == root, in_place = at_root && call % 2 == 1;
    memset(p->own, 0xEE, (size_t)bytes + check_guard_bytes);
    if (at_root)
        fill_all(p, call, bytes);
    CHECK_CALL(t, MPI_Scatter(p->all, bytes, MPI_BYTE, in_place ? MPI_IN_PLACE : p->own, bytes,
                              MPI_BYTE, root, p->comm));
    const unsigned char* got = in_place ? p->all + (size_t)p->rank * (size_t)bytes : p->own;
    CHECK_PATTERN(t, got, (size_t)bytes, seed_of(call, p->rank));
    CHECK_INT(t, p->own[bytes], 0xEE);
}

static void gather(struct check* t, const Place* p, int call, int bytes, int root)
{
    const int at_root = p->rank == root, in_place = at_root && call % 2 == 1;
    const size_t own_at = (size_t)p->rank * (size_t)bytes;
    memset(p->all, 0xEE, (size_t)p->size * (size_t)bytes + 1);
    unsigned char* const from = in_place ? p->all + own_at : p->own;
    check_fill(from, (size_t)bytes, seed_of(call, p->rank));
    CHECK_CALL(t, MPI_Gather(in_place ? MPI_IN_PLACE : p->own, bytes, MPI_BYTE, p->all, bytes,
                             MPI_BYTE, root, p->comm));
    for (int i = 0; i < p->size && at_root; ++i)
        CHECK_PATTERN(t, p->all + (size_t)i * (size_t)bytes, (size_t)bytes, seed_of(call, i));
    CHECK_INT(t, p->all[(size_t)p->size * (size_t)bytes], 0xEE);
}

// Sums that depend on the order in which they are made.
static void reduce(struct check* t, const Place* p, int call, int bytes, int root)
{
    const int at_root = p->rank == root, in_place = at_root && call % 2 == 1;
    const int count = bytes / (int)sizeof(float);
    float* const own = (float*)(void*)p->own;
    float* const result = (float*)(void*)p->all;
    float* const expected = result + longest / sizeof(float);
    for (int i = 0; i < count; ++i)
        own[i] = 1.0f / (float)(1 + (i * 7 + p->rank * 13 + call * 5) % 1001);
    MPI_Request request;
    CHECK_CALL(t, MPI_Ireduce(own, expected, count, MPI_FLOAT, MPI_SUM, root, p->comm, &request));
    CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (in_place)
        memcpy(result, own, (size_t)count * sizeof(float));
    CHECK_CALL(t, MPI_Reduce(in_place ? MPI_IN_PLACE : own, result, count, MPI_FLOAT, MPI_SUM, root,
                             p->comm));
    if (at_root)
        CHECK_INT(t, memcmp(result, expected, (size_t)count * sizeof(float)), 0);
}

static void check_lengths(struct check* t, const Place* places)
{
    int call = 0;
    for (int i = 0; i < length_count; ++i) {
        const int times = lengths[i] > 100000 ? 3 : rounds;
        for (int round = 0; round < times; ++round, ++call) {
            const Place* const p = &places[round % 2];
            scatter(t, p, call, lengths[i], round % p->size);
            gather(t, p, call, lengths[i], (round / 2) % p->size);
            reduce(t, p, call, lengths[i], (round / 3) % p->size);
        }
    }
}

// All of one root, which the others leave behind.
static void check_ahead(struct check* t, const Place* p)
{
    for (int call = 0; call < 200; ++call)
        gather(t, p, call, 3000 + 100 * (call % 7), 0);
    for (int call = 0; call < 60; ++call)
        scatter(t, p, call, 30000 + 1000 * (call % 7), 0);
}

// Every second of 4 bytes at the members; a run of bytes at the root.
static void check_gaps(struct check* t, const Place* p)
{
    enum { count = 5000 };
    MPI_Datatype gaps;
    CHECK_CALL(t, MPI_Type_vector(count, 1, 2, MPI_INT, &gaps));
    CHECK_CALL(t, MPI_Type_commit(&gaps));
    int* const own = (int*)(void*)p->own;
    int* const all = (int*)(void*)p->all;
    for (int call = 0; call < 20; ++call) {
        const int root = call % p->size;
        for (int i = 0; i < 2 * count; ++i)
            own[i] = i % 2 == 0 ? call * 1000000 + p->rank * count + i / 2 : -1;
        if (p->rank == root)
            CHECK_CALL(t, MPI_Gather(own, 1, gaps, all, count, MPI_INT, root, p->comm));
        else
            CHECK_CALL(t, MPI_Gather(own, 1, gaps, NULL, 0, MPI_INT, root, p->comm));
        for (int i = 0; i < p->size * count && p->rank == root; ++i)
            CHECK_INT(t, all[i], call * 1000000 + i);
        for (int i = 0; i < 2 * count; ++i)
            own[i] = -1;
        CHECK_CALL(t, MPI_Scatter(all, count, MPI_INT, own, 1, gaps, root, p->comm));
        for (int i = 0; i < 2 * count; ++i)
            CHECK_INT(t, own[i], i % 2 == 0 ? call * 1000000 + p->rank * count + i / 2 : -1);
    }
    CHECK_CALL(t, MPI_Type_free(&gaps));
}

static void check_truncation(struct check* t, const Place* p)
{
    enum { given = 200000, room = 70000 };
    for (int call = 0; call < 10; ++call) {
        const int root = call % p->size, at_root = p->rank == root;
        fill_all(p, call, at_root ? given : 0);
        memset(p->own, 0xEE, given);
        int code =
            at_root ? MPI_Scatter(p->all, given, MPI_BYTE, p->own, given, MPI_BYTE, root, p->comm)
                    : MPI_Scatter(NULL, 0, MPI_BYTE, p->own, room, MPI_BYTE, root, p->comm);
        CHECK_INT(t, check_error_class(code), at_root ? MPI_SUCCESS : MPI_ERR_TRUNCATE);
        CHECK_INT(t, p->own[given - 1] == 0xEE && p->own[room] == 0xEE, !at_root);
        scatter(t, p, call, 5000, root);
        gather(t, p, call, 50000, root);
        reduce(t, p, call, 3000, root);
    }
}

static int goes_by_messages(const char* what)
{
    const char* const named = getenv("CHECK_MESSAGES");
    return named != NULL && (strcmp(named, "all") == 0 || strcmp(named, what) == 0);
}

// Blocks need no message, but for CHECK_MESSAGES.
static void check_frames(struct check* t, const Place* p)
{
    const Frames frames = frames_begin(t);
    uint64_t before = frames_posted(t, frames);
    enum { calls = 30, short_bytes = 4000, long_bytes = 100000 };
    for (int call = 0; call < calls; ++call) {
        const int bytes = call % 2 == 0 ? short_bytes : long_bytes;
        scatter(t, p, call, short_bytes, call % p->size);
        gather(t, p, call, short_bytes, call % p->size);
        CHECK_CALL(t,
                   MPI_Reduce(p->own, p->all, bytes, MPI_BYTE, MPI_BOR, call % p->size, p->comm));
    }
    frames_expect(t, frames, before, goes_by_messages("most") ? 3 * calls : 0);
    before = frames_posted(t, frames);
    for (int call = 0; call < calls; ++call) {
        scatter(t, p, call, long_bytes, call % p->size);
        gather(t, p, call, long_bytes, call % p->size);
    }
    frames_expect(t, frames, before, goes_by_messages("long_blocks") ? 2 * calls : 0);
    frames_end(t, frames);
}

// Ranks on one processor share it, whatever the machine has.
static void go_to_first_processor(void)
{
    cpu_set_t allowed, one;
    sched_getaffinity(0, sizeof allowed, &allowed);
    size_t first = 0;
    while (!CPU_ISSET(first, &allowed))
        ++first;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static int test_main(void)
{
    const int shares_processor = getenv("CHECK_ONE_PROCESSOR") != NULL;
    if (shares_processor)
        go_to_first_processor();
    struct check t = check_start("blocks");
    Place places[2] = {{.comm = MPI_COMM_WORLD}};
    CHECK_CALL(&t, MPI_Comm_split(MPI_COMM_WORLD, 0, -t.rank, &places[1].comm));
    for (int i = 0; i < 2; ++i) {
        Place* const p = &places[i];
        MPI_Comm_rank(p->comm, &p->rank);
        MPI_Comm_size(p->comm, &p->size);
        MPI_Comm_set_errhandler(p->comm, MPI_ERRORS_RETURN);
        p->all = check_memory((size_t)(p->size + 1) * longest + check_guard_bytes);
        p->own = check_memory(longest + check_guard_bytes);
    }
    check_lengths(&t, places);
    check_ahead(&t, &places[1]);
    check_gaps(&t, &places[0]);
    if (shares_processor && is_on_one_node(&t))
        check_frames(&t, &places[0]);
    if (!goes_by_messages("most") && t.size > 2)
        check_truncation(&t, &places[0]);
    for (int i = 0; i < 2; ++i) {
        free(places[i].all);
        free(places[i].own);
    }
    CHECK_CALL(&t, MPI_Comm_free(&places[1].comm));
    return check_finish(&t);
}
