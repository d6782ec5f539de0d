// SPDX-License-Identifier: Apache-2.0
// The thread that works for a process's ranks, as HEADWAY_PROGRESS chooses it: its name, its cpus,
// its scheduling; and that messages move by it, whether their ranks compute or wait. Moved by
// timer_us and wait, which change how soon, not what happens.
#define _GNU_SOURCE
#include <dirent.h>
#include <sched.h>

#include "board.h"

enum { bytes = 300 * 1000, turns = 20 };

/// How many threads of this process have that name; the number of one of them in `number`.
static int count_threads(const char* wanted, int* number)
{
    int found = 0;
    DIR* folder = opendir("/proc/self/task");
    for (struct dirent* entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        char path[300];
        char name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        FILE* file = fopen(path, "r");
        if (file != NULL && fgets(name, sizeof name, file) != NULL) {
            name[strcspn(name, "\n")] = '\0';
            if (strcmp(name, wanted) == 0) {
                *number = atoi(entry->d_name);
                ++found;
            }
        }
        if (file != NULL)
            fclose(file);
    }
    if (folder != NULL)
        closedir(folder);
    return found;
}

static const char* name_of(const char* executor)
{
    return strcmp(executor, "agent") == 0    ? "headway-agent"
           : strcmp(executor, "thread") == 0 ? "headway-thread"
           : strcmp(executor, "idle") == 0   ? "headway-idle"
           : strcmp(executor, "timer") == 0  ? "headway-timer"
                                             : "headway-cpu";
}

/// Both ranks of a pair start a long exchange and compute until it is over.
static void exchange_while_computing(struct check* t)
{
    const struct headway_interface_1* headway = board_interface();
    char* in = check_memory(bytes);
    char* out = check_memory(bytes);
    const int peer = t->rank ^ 1;
    MPI_Request requests[2];
    check_fill(out, bytes, (uint64_t)t->rank);
    MPI_Irecv(in, bytes, MPI_BYTE, peer, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, bytes, MPI_BYTE, peer, 3, MPI_COMM_WORLD, &requests[1]);
    compute_until_complete(headway);
    int flag = 0;
    CHECK_CALL(t, MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE));
    CHECK_INT(t, flag, 1);
    CHECK_PATTERN(t, in, bytes, (uint64_t)peer);
    free(in);
    free(out);
}

/// Waits of all kinds, where the rank may leave the work to others: short and long messages, in a
/// ring, and collectives, one of them with a function that only its own rank can run.
static void add(void* in, void* inout, int* count, MPI_Datatype* type)
{
    (void)type;
    for (int i = 0; i < *count; ++i)
        ((long*)inout)[i] += ((long*)in)[i];
}

static void wait_for_messages(struct check* t)
{
    enum { numbers = 5000 };
    long* mine = check_memory(numbers * sizeof *mine);
    long* sums = check_memory(numbers * sizeof *sums);
    char* in = check_memory(bytes);
    char* out = check_memory(bytes);
    const int next = (t->rank + 1) % t->size;
    const int before = (t->rank + t->size - 1) % t->size;
    MPI_Op op = MPI_OP_NULL;
    CHECK_CALL(t, MPI_Op_create(add, 1, &op));
    for (int turn = 0; turn < turns; ++turn) {
        const int length = turn % 2 == 0 ? 8 : bytes;
        MPI_Request request = MPI_REQUEST_NULL;
        check_fill(out, (size_t)length, (uint64_t)(t->rank + turn));
        MPI_Irecv(in, length, MPI_BYTE, before, turn, MPI_COMM_WORLD, &request);
        CHECK_CALL(t, MPI_Send(out, length, MPI_BYTE, next, turn, MPI_COMM_WORLD));
        CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_PATTERN(t, in, (size_t)length, (uint64_t)(before + turn));
        for (int i = 0; i < numbers; ++i)
            mine[i] = i + t->rank;
        MPI_Iallreduce(mine, sums, numbers, MPI_LONG, turn % 3 == 0 ? op : MPI_SUM, MPI_COMM_WORLD,
                       &request);
        CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_INT(t, sums[numbers - 1],
                  (long)t->size * (numbers - 1) + (long)t->size * (t->size - 1) / 2);
    }
    MPI_Op_free(&op);
    free(mine);
    free(sums);
    free(in);
    free(out);
}

/// Whether some cpu is in both sets.
static int overlap(const cpu_set_t* one, const cpu_set_t* other)
{
    cpu_set_t both;
    CPU_AND(&both, one, other);
    return CPU_COUNT(&both) != 0;
}

static void check_thread(struct check* t, const char* executor)
{
    int thread = 0;
    while (count_threads(name_of(executor), &thread) == 0) {  // it names itself when it first runs
    }
    // Ranks that share a process share its thread.
    CHECK_INT(t, count_threads(name_of(executor), &thread), 1);
    if (strcmp(executor, "idle") == 0) {
        while (sched_getscheduler(thread) != SCHED_IDLE) {
        }
    }
    if (strcmp(executor, "dedicated") == 0) {
        cpu_set_t mine, its;
        sched_getaffinity(0, sizeof mine, &mine);
        do
            sched_getaffinity(thread, sizeof its, &its);
        while (CPU_COUNT(&its) != 1);
        CHECK_INT(t, overlap(&mine, &its), 0);
        CHECK(t, CPU_COUNT(&mine) > 0);
    }
}

static int test_main(void)
{
    struct check t = check_start("progress/executor");
    const char* const knob = getenv("HEADWAY_PROGRESS");
    char executor[16] = "agent";
    if (knob != NULL)
        snprintf(executor, sizeof executor, "%.*s", (int)strcspn(knob, ":"), knob);
    struct headway_progress before, after;
    wait_for_messages(&t);
    MPI_Barrier(MPI_COMM_WORLD);
    board_interface()->read_progress(&before);
    if (t.rank < 2) {
        exchange_while_computing(&t);
        check_thread(&t, executor);
        board_interface()->read_progress(&after);
        // Who works for one of the two may end the messages of both.
        const int was_helped = after.times_helped > before.times_helped;
        int other_was = 0;
        MPI_Sendrecv(&was_helped, 1, MPI_INT, t.rank ^ 1, 4, &other_was, 1, MPI_INT, t.rank ^ 1, 4,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(&t, was_helped || other_was);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    wait_for_messages(&t);
    return check_finish(&t);
}
