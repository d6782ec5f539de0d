// SPDX-License-Identifier: Apache-2.0
// MPI_THREAD_MULTIPLE: pairs of threads of one rank send each other more messages than a lane has
// room for, short and long ones in turn, on one communicator with tags of their own and on one of
// the pair's own with wildcards. What one thread sends arrives in the order of its sending. After
// each window the sender waits for an empty message, which has no buffer.
#define CHECK_OWN_INIT
#include <pthread.h>
#include "../check.h"

enum { pair_count = 3, rounds = 8, window = 300, int_count_max = 20000, lengths = 4 };

static const int int_counts[lengths] = {1, 16, 1000, int_count_max};

struct entity {
    struct check check;
    MPI_Comm own;
    int pair;
    int sends;
};

// Long ones are rare: each stays with its sender until its receive is posted.
static int length_of(int round, int number)
{
    return number % 50 == 49 ? int_counts[2 + round % 2] : int_counts[number % 2];
}

static int value_of(const struct entity* e, int round, int number)
{
    return (e->pair * rounds + round) * window + number + 1;
}

static void send_window(struct entity* e, MPI_Comm comm, int tag, int round, int* buffer)
{
    struct check* t = &e->check;
    MPI_Request requests[window];
    MPI_Status statuses[window];
    int* place = buffer;
    for (int number = 0; number < window; ++number) {
        const int count = length_of(round, number);
        place[0] = place[count - 1] = value_of(e, round, number);
        CHECK_CALL(t, MPI_Isend(place, count, MPI_INT, t->rank, tag, comm, &requests[number]));
        place += count;
    }
    CHECK_CALL(t, MPI_Waitall(window, requests, statuses));
    for (int number = 0; number < window; ++number)
        CHECK(t, requests[number] == MPI_REQUEST_NULL);
}

// The first half is posted before anybody sends it perhaps, the second is received one by one.
static void receive_window(struct entity* e, MPI_Comm comm, int source, int tag, int round,
                           int* buffer)
{
    struct check* t = &e->check;
    MPI_Request requests[window / 2];
    MPI_Status statuses[window / 2];
    int* place = buffer;
    for (int number = 0; number < window / 2; ++number) {
        const int count = length_of(round, number);
        CHECK_CALL(t, MPI_Irecv(place, count, MPI_INT, source, tag, comm, &requests[number]));
        place += count;
    }
    CHECK_CALL(t, MPI_Waitall(window / 2, requests, statuses));
    place = buffer;
    for (int number = 0; number < window; ++number) {
        const int count = length_of(round, number);
        int received = -1;
        MPI_Status status = statuses[number % (window / 2)];
        if (number >= window / 2) {
            place = buffer;
            CHECK_CALL(t, MPI_Recv(place, count, MPI_INT, source, tag, comm, &status));
        }
        CHECK_CALL(t, MPI_Get_count(&status, MPI_INT, &received));
        CHECK_INT(t, received, count);
        CHECK_INT(t, status.MPI_SOURCE, t->rank);
        CHECK_INT(t, place[0], value_of(e, round, number));
        CHECK_INT(t, place[count - 1], value_of(e, round, number));
        place += count;
    }
}

// Nothing else has its tag, so neither wildcards nor the next window can take it.
static void pass_token(struct entity* e)
{
    struct check* t = &e->check;
    const int tag = pair_count + e->pair;
    if (e->sends) {
        MPI_Status status;
        int received = -1;
        CHECK_CALL(t, MPI_Recv(NULL, 0, MPI_INT, t->rank, tag, MPI_COMM_WORLD, &status));
        CHECK_CALL(t, MPI_Get_count(&status, MPI_INT, &received));
        CHECK_INT(t, received, 0);
        CHECK_INT(t, status.MPI_TAG, tag);
    } else {
        CHECK_CALL(t, MPI_Send(NULL, 0, MPI_INT, t->rank, tag, MPI_COMM_WORLD));
    }
}

static void* work(void* argument)
{
    struct entity* e = argument;
    int* const buffer = check_memory(sizeof(int) * (size_t)(window * 16 + 7 * int_count_max));
    for (int round = 0; round < rounds; ++round) {
        const int is_own = round % 4 >= 2;
        const MPI_Comm comm = is_own ? e->own : MPI_COMM_WORLD;
        if (e->sends)
            send_window(e, comm, e->pair, round, buffer);
        else
            receive_window(e, comm, is_own ? MPI_ANY_SOURCE : e->check.rank,
                           is_own ? MPI_ANY_TAG : e->pair, round, buffer);
        pass_token(e);
    }
    free(buffer);
    return NULL;
}

static int test_main(void)
{
    int provided = -1;
    const int started = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    struct check t = check_start("thread_messages");
    CHECK_INT(&t, started, MPI_SUCCESS);
    CHECK_INT(&t, provided, MPI_THREAD_MULTIPLE);
    struct entity entities[2 * pair_count];
    pthread_t threads[2 * pair_count];
    MPI_Comm own[pair_count];
    for (int i = 0; i < pair_count; ++i)
        CHECK_CALL(&t, MPI_Comm_dup(MPI_COMM_WORLD, &own[i]));
    for (int i = 0; i < 2 * pair_count; ++i) {
        entities[i] = (struct entity){.check = t, .own = own[i / 2], .pair = i / 2, .sends = i % 2};
        entities[i].check.checks = entities[i].check.failures = 0;
        CHECK_INT(&t, pthread_create(&threads[i], NULL, work, &entities[i]), 0);
    }
    for (int i = 0; i < 2 * pair_count; ++i) {
        CHECK_INT(&t, pthread_join(threads[i], NULL), 0);
        t.checks += entities[i].check.checks;
        t.failures += entities[i].check.failures;
    }
    for (int i = 0; i < pair_count; ++i)
        CHECK_CALL(&t, MPI_Comm_free(&own[i]));
    CHECK_CALL(&t, MPI_Finalize());
    return check_finish(&t);
}
