// SPDX-License-Identifier: Apache-2.0
// MPI_THREAD_MULTIPLE with the ways of older libraries: HEADWAY_THREAD_WAITS=race,
// HEADWAY_THREAD_POSTS=inside, HEADWAY_MATCHING=list. Threads message each other, in their rank
// and in the next one, and what they count says which way was used.
#define CHECK_OWN_INIT
#include <pthread.h>
#include "../check.h"

enum { thread_count = 4, rounds_max = 200, window = 8 };

struct entity {
    struct check check;
    MPI_Comm comm;
    int index;
    int rounds;
};

static int tag_of(int thread, int slot)
{
    return thread * window + slot;
}

static int value_of(int rank, int thread, int round, int slot)
{
    return ((rank * thread_count + thread) * rounds_max + round) * window + slot;
}

// Each thread receives from the thread before it in its own rank, and from its like in the rank
// before.
static void* exchange(void* argument)
{
    struct entity* const e = argument;
    struct check* const t = &e->check;
    const int neighbour = (e->index + thread_count - 1) % thread_count;
    const int to = (t->rank + 1) % t->size, from = (t->rank + t->size - 1) % t->size;
    for (int round = 0; round < e->rounds; ++round) {
        int own[window], far[window], out[2][window];
        MPI_Request requests[4 * window];
        int count = 0;
        for (int slot = 0; slot < window; ++slot) {
            MPI_Irecv(&own[slot], 1, MPI_INT, t->rank, tag_of(neighbour, slot), e->comm,
                      &requests[count++]);
            MPI_Irecv(&far[slot], 1, MPI_INT, from, tag_of(thread_count + e->index, slot), e->comm,
                      &requests[count++]);
        }
        for (int slot = 0; slot < window; ++slot) {
            out[0][slot] = out[1][slot] = value_of(t->rank, e->index, round, slot);
            MPI_Isend(&out[0][slot], 1, MPI_INT, t->rank, tag_of(e->index, slot), e->comm,
                      &requests[count++]);
            MPI_Isend(&out[1][slot], 1, MPI_INT, to, tag_of(thread_count + e->index, slot), e->comm,
                      &requests[count++]);
        }
        CHECK_CALL(t, MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
        for (int slot = 0; slot < window; ++slot) {
            CHECK_INT(t, own[slot], value_of(t->rank, neighbour, round, slot));
            CHECK_INT(t, far[slot], value_of(from, e->index, round, slot));
        }
    }
    // One token around the threads: all but one wait, one by one.
    int token = e->index == 0 ? 1 : 0;
    for (int turn = 0; turn < e->rounds; ++turn) {
        if (e->index != 0 || turn != 0)
            MPI_Recv(&token, 1, MPI_INT, t->rank, tag_of(neighbour, 0), e->comm, MPI_STATUS_IGNORE);
        ++token;
        MPI_Send(&token, 1, MPI_INT, t->rank, tag_of(e->index, 0), e->comm);
    }
    if (e->index == 0) {
        MPI_Recv(&token, 1, MPI_INT, t->rank, tag_of(neighbour, 0), e->comm, MPI_STATUS_IGNORE);
        CHECK_INT(t, token, thread_count * e->rounds + 1);
    }
    return NULL;
}

static MPI_T_pvar_handle start_counter(struct check* t, MPI_T_pvar_session session,
                                       const char* name)
{
    int index = -1, count = 0;
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    CHECK_CALL(t, MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index));
    CHECK_CALL(t, MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
    CHECK_CALL(t, MPI_T_pvar_start(session, handle));
    return handle;
}

static uint64_t value_now(struct check* t, MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    uint64_t value = 0;
    CHECK_CALL(t, MPI_T_pvar_read(session, handle, &value));
    return value;
}

static void run_threads(struct check* t, MPI_Comm comm, int rounds)
{
    struct entity entities[thread_count];
    pthread_t threads[thread_count];
    for (int i = 0; i < thread_count; ++i) {
        entities[i] = (struct entity){.check = *t, .comm = comm, .index = i, .rounds = rounds};
        entities[i].check.checks = entities[i].check.failures = 0;
        CHECK_INT(t, pthread_create(&threads[i], NULL, exchange, &entities[i]), 0);
    }
    for (int i = 0; i < thread_count; ++i) {
        pthread_join(threads[i], NULL);
        t->checks += entities[i].check.checks;
        t->failures += entities[i].check.failures;
    }
}

static int is_mode(const char* variable, const char* value)
{
    const char* const set = getenv(variable);
    return set != NULL && strcmp(set, value) == 0;
}

static int test_main(void)
{
    int provided = 0;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    struct check t = check_start("thread_modes");
    CHECK_INT(&t, provided, MPI_THREAD_MULTIPLE);
    MPI_T_pvar_session session;
    CHECK_CALL(&t, MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    CHECK_CALL(&t, MPI_T_pvar_session_create(&session));
    MPI_T_pvar_handle slept = start_counter(&t, session, "sleeps_beside");
    MPI_T_pvar_handle handed = start_counter(&t, session, "hand_overs");
    MPI_T_pvar_handle parked = start_counter(&t, session, "parks");
    MPI_T_pvar_handle met = start_counter(&t, session, "gates_contended");
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    const uint64_t parked_before = value_now(&t, session, parked);
    // Threads that race spin for whole slices of time while the one with the next message waits.
    const int races = is_mode("HEADWAY_THREAD_WAITS", "race");
    run_threads(&t, comm, races ? 4 : rounds_max);
    if (races) {
        CHECK_INT(&t, value_now(&t, session, slept), 0);
        CHECK_INT(&t, value_now(&t, session, handed), 0);
        CHECK_INT(&t, value_now(&t, session, parked), parked_before);
    } else {
        CHECK(&t, value_now(&t, session, slept) > 0);
    }
    if (is_mode("HEADWAY_THREAD_POSTS", "inside"))
        CHECK_INT(&t, value_now(&t, session, met), 0);
    MPI_Comm_free(&comm);
    CHECK_CALL(&t, MPI_T_pvar_session_free(&session));
    CHECK_CALL(&t, MPI_T_finalize());
    MPI_Barrier(MPI_COMM_WORLD);
    const int code = check_finish(&t);
    MPI_Finalize();
    return code;
}
