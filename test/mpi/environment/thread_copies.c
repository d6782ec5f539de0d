// SPDX-License-Identifier: Apache-2.0
// A thread sleeps in MPI until its long message to its own rank is taken. Then another one of the
// rank receives it, and waits for bytes that nobody but these two can copy (MPI-5.0 section 11.6).
#define _GNU_SOURCE
#define CHECK_OWN_INIT
#include <pthread.h>
#include <sched.h>

#include "../check.h"

enum { rounds = 20, bytes = 200000 };

struct sender {
    struct check check;
    _Atomic int round_begun;  // by the receiver; counts from 1
    // By the sender.
    _Atomic int thread;
    _Atomic int round_sent;
    _Atomic int round_done;
};

// Whether the sender's thread sleeps in the system; while its rank's other thread is not in MPI, it
// does so only where it waits.
static int is_asleep(const struct sender* s)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", s->thread);
    FILE* file = fopen(path, "r");
    if (file == NULL)
        return 0;
    const char* line = fgets(text, sizeof text, file);
    fclose(file);
    const char* name_end = line != NULL ? strrchr(line, ')') : NULL;
    return name_end != NULL && name_end[1] == ' ' && name_end[2] == 'S';
}

static void* send_and_sleep(void* argument)
{
    struct sender* s = argument;
    struct check* t = &s->check;
    char* out = check_memory(bytes);
    s->thread = (int)gettid();
    for (int round = 1; round <= rounds; ++round) {
        MPI_Request request;
        while (s->round_begun != round)
            sched_yield();
        check_fill(out, bytes, (uint64_t)round);
        CHECK_CALL(t, MPI_Isend(out, bytes, MPI_BYTE, t->rank, round, MPI_COMM_WORLD, &request));
        s->round_sent = round;
        CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
        s->round_done = round;
    }
    free(out);
    return NULL;
}

static int test_main(void)
{
    int provided = -1;
    const int started = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    struct check t = check_start("thread_copies");
    CHECK_INT(&t, started, MPI_SUCCESS);
    CHECK_INT(&t, provided, MPI_THREAD_MULTIPLE);
    struct sender sender = {.check = t};
    sender.check.checks = sender.check.failures = 0;
    pthread_t thread;
    char* in = check_memory(bytes);
    CHECK_INT(&t, pthread_create(&thread, NULL, send_and_sleep, &sender), 0);
    for (int round = 1; round <= rounds; ++round) {
        sender.round_begun = round;
        while (sender.round_sent != round || !is_asleep(&sender))
            sched_yield();
        CHECK_CALL(&t,
                   MPI_Recv(in, bytes, MPI_BYTE, t.rank, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_PATTERN(&t, in, bytes, (uint64_t)round);
        while (sender.round_done != round)
            sched_yield();
    }
    CHECK_INT(&t, pthread_join(thread, NULL), 0);
    t.checks += sender.check.checks;
    t.failures += sender.check.failures;
    free(in);
    CHECK_CALL(&t, MPI_Finalize());
    return check_finish(&t);
}
