// SPDX-License-Identifier: Apache-2.0
// Runs a test's cases in several threads of each rank at once: with CHECK_AT_ONCE=4 each of four
// threads calls test_main(), with communicators of its own where the test says MPI_COMM_WORLD and
// MPI_COMM_SELF. So tests that keep their state in locals need to know nothing of it.
//
// With CHECK_ONE_COMM=1 the messages of all threads travel on one communicator, the tags of each
// moved to a range of its own. Collectives keep to the communicators of the threads, for two
// threads may not make them on one at once (MPI-5.0 section 6.14). Tests that receive from
// MPI_ANY_TAG would take each other's messages and are refused. With CHECK_NO_ANY_TAG=1 its members
// promise that besides, so that its messages are spread by their tags (docs/design/035).
//
// check.h includes this; the macros below take the place of the calls that have a tag.
#ifndef HEADWAY_TEST_AT_ONCE_H
#define HEADWAY_TEST_AT_ONCE_H

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { check_at_once_max = 16, check_tag_range = 32768 };

// What a thread of a test has for itself.
struct check_place {
    MPI_Comm world;
    MPI_Comm self;
    MPI_Comm apart;  // for collectives on `world`
    int thread;
    int is_beside;     // beside other threads of the rank
    int shares_world;  // with them
};

static __thread struct check_place check_place = {
    .world = MPI_COMM_WORLD, .self = MPI_COMM_SELF, .apart = MPI_COMM_WORLD};

// Whether other threads send on this thread's MPI_COMM_WORLD, so that no receive may name any tag.
static inline int check_shares_tags(void)
{
    return check_place.shares_world;
}

// Whether this thread may hang something on a handle that MPI predefines, or rename one: the
// threads of a rank have them together, and a duplicate that another makes calls back for its
// attributes.
static inline int check_has_predefined(void)
{
    return check_place.thread == 0;
}

// The buffer of MPI_Bsend: the process's, of which there is one, or that of the thread's world.
static inline int check_attach(void* memory, int size_bytes)
{
    return check_place.is_beside ? MPI_Comm_attach_buffer(check_place.world, memory, size_bytes)
                                 : MPI_Buffer_attach(memory, size_bytes);
}

static inline int check_detach(void* memory, int* size_bytes)
{
    return check_place.is_beside ? MPI_Comm_detach_buffer(check_place.world, memory, size_bytes)
                                 : MPI_Buffer_detach(memory, size_bytes);
}

static inline int check_tag(int tag, MPI_Comm comm)
{
    if (!check_place.shares_world || comm != check_place.world || tag < 0) {
        if (check_place.shares_world && comm == check_place.world && tag == MPI_ANY_TAG) {
            fprintf(stderr, "check: receives from any tag are no test for CHECK_ONE_COMM=1\n");
            exit(1);
        }
        return tag;
    }
    return tag + check_place.thread * check_tag_range;
}

// Tags in statuses as the test knows them; returns `code`.
static inline int check_untag(int code, MPI_Status* statuses, int count)
{
    const int first = check_place.thread * check_tag_range;
    if (!check_place.shares_world || first == 0 || statuses == MPI_STATUSES_IGNORE)
        return code;
    for (int i = 0; i < count; ++i) {
        if (statuses[i].MPI_TAG >= first && statuses[i].MPI_TAG < first + check_tag_range)
            statuses[i].MPI_TAG -= first;
    }
    return code;
}

// The communicator that the threads of a rank share.
static inline MPI_Comm check_make_shared(void)
{
    const char* promises = getenv("CHECK_NO_ANY_TAG");
    MPI_Info info;
    MPI_Comm shared;
    if (promises == NULL || strcmp(promises, "1") != 0)
        return MPI_COMM_WORLD;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &shared);
    MPI_Info_free(&info);
    return shared;
}

static inline MPI_Comm check_apart(MPI_Comm comm)
{
    return comm == check_place.world ? check_place.apart : comm;
}

// One of the threads of a rank.
struct check_thread {
    struct check_place place;
    int (*body)(void);
    void (*join_rank)(void* rank);  // null: the library knows whose thread this is
    void* rank;
    int failures;
    pthread_t handle;
};

static inline void* check_run_thread(void* argument)
{
    struct check_thread* const one = argument;
    if (one->join_rank != NULL)
        one->join_rank(one->rank);
    check_place = one->place;
    one->failures = one->body();
    return NULL;
}

// Between MPI_Init_thread and MPI_Finalize: `body` in `count` threads, of which the calling one is
// the first. Returns how many of them failed.
static inline int check_run_at_once(int count, int shares_world, int (*body)(void),
                                    void (*join_rank)(void*), void* rank)
{
    struct check_thread threads[check_at_once_max];
    int failures = 0;
    // Errors of calls without a communicator are raised on these, not on what threads have instead.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm shared = check_make_shared();
    for (int i = 0; i < count; ++i) {
        MPI_Comm own, self;
        MPI_Comm_dup(MPI_COMM_WORLD, &own);
        MPI_Comm_dup(MPI_COMM_SELF, &self);
        threads[i] = (struct check_thread){.place = {.world = shares_world ? shared : own,
                                                     .self = self,
                                                     .apart = own,
                                                     .thread = i,
                                                     .is_beside = 1,
                                                     .shares_world = shares_world},
                                           .body = body,
                                           .join_rank = i == 0 ? NULL : join_rank,
                                           .rank = rank};
    }
    for (int i = 1; i < count; ++i) {
        if (pthread_create(&threads[i].handle, NULL, check_run_thread, &threads[i]) != 0) {
            fprintf(stderr, "check: the system gives no thread %d\n", i);
            exit(1);
        }
    }
    const struct check_place before = check_place;
    check_run_thread(&threads[0]);
    check_place = before;
    for (int i = 0; i < count; ++i) {
        if (i != 0)
            pthread_join(threads[i].handle, NULL);
        failures += threads[i].failures != 0;
        MPI_Comm_free(&threads[i].place.apart);
        MPI_Comm_free(&threads[i].place.self);
    }
    if (shared != MPI_COMM_WORLD)
        MPI_Comm_free(&shared);
    return failures;
}

#undef MPI_COMM_WORLD
#undef MPI_COMM_SELF
#define MPI_COMM_WORLD (check_place.world)
#define MPI_COMM_SELF (check_place.self)

#define MPI_Send(b, n, d, to, tag, c) MPI_Send(b, n, d, to, check_tag(tag, c), c)
#define MPI_Ssend(b, n, d, to, tag, c) MPI_Ssend(b, n, d, to, check_tag(tag, c), c)
#define MPI_Rsend(b, n, d, to, tag, c) MPI_Rsend(b, n, d, to, check_tag(tag, c), c)
#define MPI_Isend(b, n, d, to, tag, c, r) MPI_Isend(b, n, d, to, check_tag(tag, c), c, r)
#define MPI_Issend(b, n, d, to, tag, c, r) MPI_Issend(b, n, d, to, check_tag(tag, c), c, r)
#define MPI_Irsend(b, n, d, to, tag, c, r) MPI_Irsend(b, n, d, to, check_tag(tag, c), c, r)
#define MPI_Send_init(b, n, d, to, tag, c, r) MPI_Send_init(b, n, d, to, check_tag(tag, c), c, r)
#define MPI_Ssend_init(b, n, d, to, tag, c, r) MPI_Ssend_init(b, n, d, to, check_tag(tag, c), c, r)
#define MPI_Irecv(b, n, d, from, tag, c, r) MPI_Irecv(b, n, d, from, check_tag(tag, c), c, r)
#define MPI_Recv_init(b, n, d, from, tag, c, r) \
    MPI_Recv_init(b, n, d, from, check_tag(tag, c), c, r)
#define MPI_Psend_init(b, k, n, d, to, tag, c, i, r) \
    MPI_Psend_init(b, k, n, d, to, check_tag(tag, c), c, i, r)
#define MPI_Precv_init(b, k, n, d, from, tag, c, i, r) \
    MPI_Precv_init(b, k, n, d, from, check_tag(tag, c), c, i, r)
#define MPI_Recv(b, n, d, from, tag, c, s) \
    check_untag(MPI_Recv(b, n, d, from, check_tag(tag, c), c, s), s, 1)
#define MPI_Sendrecv(b, n, d, to, tag, in, in_n, in_d, from, in_tag, c, s)         \
    check_untag(MPI_Sendrecv(b, n, d, to, check_tag(tag, c), in, in_n, in_d, from, \
                             check_tag(in_tag, c), c, s),                          \
                s, 1)
#define MPI_Probe(from, tag, c, s) check_untag(MPI_Probe(from, check_tag(tag, c), c, s), s, 1)
#define MPI_Iprobe(from, tag, c, f, s) \
    check_untag(MPI_Iprobe(from, check_tag(tag, c), c, f, s), s, 1)
#define MPI_Mprobe(from, tag, c, m, s) \
    check_untag(MPI_Mprobe(from, check_tag(tag, c), c, m, s), s, 1)
#define MPI_Improbe(from, tag, c, f, m, s) \
    check_untag(MPI_Improbe(from, check_tag(tag, c), c, f, m, s), s, 1)
#define MPI_Mrecv(b, n, d, m, s) check_untag(MPI_Mrecv(b, n, d, m, s), s, 1)

#define MPI_Wait(r, s) check_untag(MPI_Wait(r, s), s, 1)
#define MPI_Waitall(n, r, s) check_untag(MPI_Waitall(n, r, s), s, n)
#define MPI_Waitany(n, r, i, s) check_untag(MPI_Waitany(n, r, i, s), s, 1)
#define MPI_Waitsome(n, r, k, i, s) check_untag(MPI_Waitsome(n, r, k, i, s), s, n)
#define MPI_Test(r, f, s) check_untag(MPI_Test(r, f, s), s, 1)
#define MPI_Testall(n, r, f, s) check_untag(MPI_Testall(n, r, f, s), s, n)
#define MPI_Testany(n, r, i, f, s) check_untag(MPI_Testany(n, r, i, f, s), s, 1)
#define MPI_Testsome(n, r, k, i, s) check_untag(MPI_Testsome(n, r, k, i, s), s, n)
#define MPI_Request_get_status(r, f, s) check_untag(MPI_Request_get_status(r, f, s), s, 1)
#define MPI_Request_get_status_all(n, r, f, s) \
    check_untag(MPI_Request_get_status_all(n, r, f, s), s, n)
#define MPI_Request_get_status_any(n, r, i, f, s) \
    check_untag(MPI_Request_get_status_any(n, r, i, f, s), s, 1)
#define MPI_Request_get_status_some(n, r, k, i, s) \
    check_untag(MPI_Request_get_status_some(n, r, k, i, s), s, n)

#define MPI_Barrier(c) MPI_Barrier(check_apart(c))
#define MPI_Comm_dup(c, made) MPI_Comm_dup(check_apart(c), made)
#define MPI_Allreduce(b, out, n, d, op, c) MPI_Allreduce(b, out, n, d, op, check_apart(c))

#endif
