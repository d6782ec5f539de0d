// SPDX-License-Identifier: Apache-2.0
// Communicators whose messages are served apart (HEADWAY_INSTANCES, docs/design/034): whatever a
// call waits for, messages of other communicators of the rank go on, nobody is left asleep, and
// requests of several of them can be completed together, by any thread. Communicators are made and
// freed by several threads at once.
#define CHECK_OWN_INIT
#include <pthread.h>
#include <sched.h>

#include "../check.h"

enum { comm_count = 5, long_bytes = 300000, short_bytes = 64, done_tag = 7000 };

struct team {
    struct check check;
    MPI_Comm comms[comm_count];
    int other;  // a peer; the rank itself where it is alone
    int rounds;
};

static void make_comms(struct check* t, struct team* team)
{
    team->check = *t;
    team->check.checks = team->check.failures = 0;
    team->other = (t->rank ^ 1) < t->size ? t->rank ^ 1 : t->rank;
    team->rounds = (int)check_setting("CHECK_ROUNDS", 50);
    for (int i = 0; i < comm_count; ++i)
        CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &team->comms[i]));
}

static void free_comms(struct check* t, struct team* team)
{
    for (int i = 0; i < comm_count; ++i)
        CHECK_CALL(t, MPI_Comm_free(&team->comms[i]));
}

static void join(struct check* t, struct team* other, pthread_t thread)
{
    CHECK_INT(t, pthread_join(thread, NULL), 0);
    t->checks += other->check.checks;
    t->failures += other->check.failures;
}

// One message on each communicator, posted in order, sent in another one; all kinds of completion.
static void complete_together(struct check* t, const struct team* team)
{
    enum { many = comm_count + 1 };
    for (int round = 0; round < team->rounds; ++round) {
        MPI_Request in[many], out[many];
        int values[many], given[many];
        for (int i = 0; i < many; ++i) {
            const MPI_Comm comm = i < comm_count ? team->comms[i] : MPI_COMM_WORLD;
            values[i] = -1;
            CHECK_CALL(t, MPI_Irecv(&values[i], 1, MPI_INT, team->other, round, comm, &in[i]));
        }
        for (int k = 0; k < many; ++k) {
            const int i = (k * 5 + round) % many;
            const MPI_Comm comm = i < comm_count ? team->comms[i] : MPI_COMM_WORLD;
            given[i] = 100 * round + i;
            if (round % 3 == 0)
                CHECK_CALL(t, MPI_Issend(&given[i], 1, MPI_INT, team->other, round, comm, &out[i]));
            else
                CHECK_CALL(t, MPI_Isend(&given[i], 1, MPI_INT, team->other, round, comm, &out[i]));
        }
        int left = many;
        if (round % 4 == 0) {
            CHECK_CALL(t, MPI_Waitall(many, in, MPI_STATUSES_IGNORE));
        } else if (round % 4 == 1) {
            for (; left > 0; --left) {
                int index = -1;
                MPI_Status status;
                CHECK_CALL(t, MPI_Waitany(many, in, &index, &status));
                CHECK_INT(t, status.MPI_TAG, round);
            }
        } else if (round % 4 == 2) {
            while (left > 0) {
                int count = 0, indices[many];
                CHECK_CALL(t, MPI_Waitsome(many, in, &count, indices, MPI_STATUSES_IGNORE));
                left -= count;
            }
        } else {
            int is_done = 0;
            while (!is_done)
                CHECK_CALL(t, MPI_Testall(many, in, &is_done, MPI_STATUSES_IGNORE));
        }
        CHECK_CALL(t, MPI_Waitall(many, out, MPI_STATUSES_IGNORE));
        for (int i = 0; i < many; ++i)
            CHECK_INT(t, values[i], 100 * round + i);
    }
}

// A synchronous send on one communicator is matched while its receiver waits on another one.
static void wait_elsewhere(struct check* t, const struct team* team)
{
    for (int round = 0; round < team->rounds; ++round) {
        const MPI_Comm first = team->comms[round % comm_count];
        const MPI_Comm second =
            round % 2 == 0 ? MPI_COMM_WORLD : team->comms[(round + 1) % comm_count];
        MPI_Request early;
        int value = -1, token = -1;
        CHECK_CALL(t, MPI_Irecv(&value, 1, MPI_INT, team->other, round, first, &early));
        if (team->other == t->rank) {
            MPI_Request out;
            CHECK_CALL(t, MPI_Issend(&round, 1, MPI_INT, t->rank, round, first, &out));
            CHECK_CALL(t, MPI_Wait(&out, MPI_STATUS_IGNORE));
        } else if (t->rank % 2 == 0) {
            CHECK_CALL(t, MPI_Ssend(&round, 1, MPI_INT, team->other, round, first));
            CHECK_CALL(t, MPI_Send(&round, 1, MPI_INT, team->other, done_tag, second));
            CHECK_CALL(
                t, MPI_Recv(&token, 1, MPI_INT, team->other, done_tag, second, MPI_STATUS_IGNORE));
            CHECK_INT(t, token, round);
        } else {
            // Asleep on `second`, or looking there again and again, until the send has been
            // matched.
            if (round % 3 == 0) {
                int is_there = 0;
                while (!is_there)
                    CHECK_CALL(
                        t, MPI_Iprobe(team->other, done_tag, second, &is_there, MPI_STATUS_IGNORE));
            }
            CHECK_CALL(
                t, MPI_Recv(&token, 1, MPI_INT, team->other, done_tag, second, MPI_STATUS_IGNORE));
            CHECK_INT(t, token, round);
            CHECK_CALL(t, MPI_Ssend(&round, 1, MPI_INT, team->other, round, first));
            CHECK_CALL(t, MPI_Send(&round, 1, MPI_INT, team->other, done_tag, second));
        }
        CHECK_CALL(t, MPI_Wait(&early, MPI_STATUS_IGNORE));
        CHECK_INT(t, value, round);
    }
}

struct post {
    struct team* team;
    MPI_Request requests[comm_count];
    char* in[comm_count];
    _Atomic int is_posted;
    _Atomic int may_end;
};

// Posts long receives, then computes for as long as the others take (silent), or ends (orphans).
static void* post_and_leave(void* argument)
{
    struct post* post = argument;
    struct team* team = post->team;
    struct check* t = &team->check;
    for (int i = 0; i < comm_count; ++i) {
        CHECK_CALL(t, MPI_Irecv(post->in[i], long_bytes, MPI_BYTE, team->other, 50 + i,
                                team->comms[i], &post->requests[i]));
    }
    post->is_posted = 1;
    while (!post->may_end)
        sched_yield();
    return NULL;
}

static void serve_who_left(struct check* t, struct team* team, int is_silent)
{
    struct post post = {.team = team, .may_end = !is_silent};
    struct team mine = *team;
    post.team = &mine;
    pthread_t thread;
    char* out = check_memory(long_bytes);
    for (int i = 0; i < comm_count; ++i)
        post.in[i] = check_memory(long_bytes);
    CHECK_INT(t, pthread_create(&thread, NULL, post_and_leave, &post), 0);
    while (!post.is_posted)
        sched_yield();
    if (!is_silent)
        join(t, &mine, thread);
    for (int i = 0; i < comm_count; ++i) {
        check_fill(out, long_bytes, (uint64_t)(10 + i));
        CHECK_CALL(t, MPI_Ssend(out, long_bytes, MPI_BYTE, team->other, 50 + i, team->comms[i]));
    }
    if (is_silent) {
        post.may_end = 1;
        join(t, &mine, thread);
    }
    CHECK_CALL(t, MPI_Waitall(comm_count, post.requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < comm_count; ++i) {
        CHECK_PATTERN(t, post.in[i], long_bytes, (uint64_t)(10 + i));
        free(post.in[i]);
    }
    free(out);
    CHECK_CALL(t, MPI_Barrier(MPI_COMM_WORLD));
}

// Makes communicators of its own, uses and frees them; contexts are used again.
static void* make_and_free(void* argument)
{
    struct team* team = argument;
    struct check* t = &team->check;
    for (int round = 0; round < team->rounds; ++round) {
        MPI_Comm made;
        int out = round, in = -1;
        MPI_Request request;
        CHECK_CALL(t, MPI_Comm_dup(team->comms[0], &made));
        CHECK_CALL(t, MPI_Irecv(&in, 1, MPI_INT, team->other, round, made, &request));
        CHECK_CALL(t, MPI_Send(&out, 1, MPI_INT, team->other, round, made));
        if (round % 2 == 0) {
            CHECK_CALL(t, MPI_Comm_free(&made));  // the receive keeps it
            CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
            CHECK_CALL(t, MPI_Comm_free(&made));
        }
        CHECK_INT(t, in, round);
    }
    return NULL;
}

// Exchanges messages of all lengths on one communicator.
static void* exchange(void* argument)
{
    struct team* team = argument;
    struct check* t = &team->check;
    static const int lengths[] = {short_bytes, 0, 5000, long_bytes};
    char* out = check_memory(long_bytes);
    char* in = check_memory(long_bytes);
    for (int round = 0; round < team->rounds; ++round) {
        const int length = lengths[round % 4];
        MPI_Request request;
        check_fill(out, (size_t)length, (uint64_t)round);
        CHECK_CALL(t,
                   MPI_Irecv(in, length, MPI_BYTE, team->other, round, team->comms[0], &request));
        CHECK_CALL(t, MPI_Send(out, length, MPI_BYTE, team->other, round, team->comms[0]));
        CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_PATTERN(t, in, (size_t)length, (uint64_t)round);
    }
    free(out);
    free(in);
    return NULL;
}

// Concatenates decimal digits modulo a prime, not in any order; asks MPI about its type.
static void append(void* in, void* inout, int* length, MPI_Datatype* type)
{
    int size = 0;
    sched_yield();  // somebody comes to the other door
    MPI_Type_size(*type, &size);
    const int* const front = in;
    int* const back = inout;
    for (int i = 0; i < *length && size == (int)sizeof(int); ++i)
        back[i] = (front[i] * 10 + back[i]) % 9973;
}

// Reduces by a function of the program's, which calls MPI: its calls are for another door than the
// collective's, while others of the rank's threads come from there.
static void* reduce(void* argument)
{
    enum { count = 20 };
    struct team* team = argument;
    struct check* t = &team->check;
    MPI_Op op;
    CHECK_CALL(t, MPI_Op_create(append, 0, &op));
    for (int round = 0; round < 8 * team->rounds; ++round) {
        int in[count], out[count], expected = 1 + round % 9;
        for (int i = 0; i < count; ++i)
            in[i] = t->rank + 1 + round % 9;
        for (int rank = 1; rank < t->size; ++rank)
            expected = (expected * 10 + rank + 1 + round % 9) % 9973;
        MPI_Request request;
        CHECK_CALL(t, MPI_Iallreduce(in, out, count, MPI_INT, op, team->comms[0], &request));
        CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (int i = 0; i < count; ++i)
            CHECK_INT(t, out[i], expected);
    }
    CHECK_CALL(t, MPI_Op_free(&op));
    return NULL;
}

static int stay_inside(MPI_Comm comm, int key, void* extra, void* in, void* out, int* is_copied)
{
    (void)comm, (void)key, (void)extra, (void)in, (void)out;
    for (int i = 0; i < 50000; ++i)
        sched_yield();
    *is_copied = 0;
    return MPI_SUCCESS;
}

// Reduces while another thread stays in a callback, behind the door that the operator needs, longer
// than anybody looks before he sleeps.
static void reduce_beside_a_callback(struct check* t, struct team* team)
{
    struct team others[2] = {*team, *team};
    pthread_t threads[2];
    int key = MPI_KEYVAL_INVALID;
    MPI_Comm self;
    CHECK_CALL(t, MPI_Comm_create_keyval(stay_inside, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_SELF, &self));
    CHECK_CALL(t, MPI_Comm_set_attr(self, key, NULL));
    for (int i = 0; i < 2; ++i) {
        others[i].comms[0] = team->comms[i];
        others[i].rounds = 1;
        CHECK_INT(t, pthread_create(&threads[i], NULL, reduce, &others[i]), 0);
    }
    for (int round = 0; round < 5; ++round) {
        MPI_Comm copy;
        CHECK_CALL(t, MPI_Comm_dup(self, &copy));
        CHECK_CALL(t, MPI_Comm_free(&copy));
    }
    for (int i = 0; i < 2; ++i)
        join(t, &others[i], threads[i]);
    CHECK_CALL(t, MPI_Comm_free(&self));
    CHECK_CALL(t, MPI_Comm_free_keyval(&key));
}

static void work_in_threads(struct check* t, const struct team* team)
{
    static void* (*const works[comm_count])(void*) = {make_and_free, reduce, exchange, reduce,
                                                      make_and_free};
    struct team teams[comm_count];
    pthread_t threads[comm_count];
    for (int i = 0; i < comm_count; ++i) {
        teams[i] = *team;
        teams[i].comms[0] = team->comms[i];
        CHECK_INT(t, pthread_create(&threads[i], NULL, works[i], &teams[i]), 0);
    }
    for (int i = 0; i < comm_count; ++i)
        join(t, &teams[i], threads[i]);
}

static int test_main(void)
{
    int provided = -1;
    const int started = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    struct check t = check_start("instances");
    CHECK_INT(&t, started, MPI_SUCCESS);
    CHECK_INT(&t, provided, MPI_THREAD_MULTIPLE);
    struct team team;
    make_comms(&t, &team);
    complete_together(&t, &team);
    wait_elsewhere(&t, &team);
    for (int i = 0; i < 4; ++i)
        serve_who_left(&t, &team, i % 2);
    work_in_threads(&t, &team);
    reduce_beside_a_callback(&t, &team);
    CHECK_CALL(&t, MPI_Barrier(MPI_COMM_WORLD));
    free_comms(&t, &team);
    MPI_Finalize();
    return check_finish(&t);
}
