// SPDX-License-Identifier: Apache-2.0
// What the agent costs a program that does not need it, and what it leaves alone: no thread for a
// program of short messages, one for others, asleep when there is nothing to do; signals go to the
// program's threads; children neither wake it nor harm it.
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "board.h"

enum { bytes = 200 * 1000 };

static volatile sig_atomic_t signalled_thread;

static void note_signal(int number)
{
    (void)number;
    signalled_thread = (sig_atomic_t)syscall(SYS_gettid);
}

/// Threads of this process; the number of one that is called headway-agent, or 0, in `agent`.
static int threads(int* agent)
{
    *agent = 0;
    int count = 0;
    DIR* folder = opendir("/proc/self/task");
    for (struct dirent* entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        ++count;
        char path[300];
        char name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        FILE* file = fopen(path, "r");
        if (file != NULL && fgets(name, sizeof name, file) != NULL &&
            strcmp(name, "headway-agent\n") == 0)
            *agent = atoi(entry->d_name);
        if (file != NULL)
            fclose(file);
    }
    if (folder != NULL)
        closedir(folder);
    return count;
}

/// Context switches of a thread of this process, of its own will or not.
static long switches(int thread)
{
    char path[64];
    char line[200];
    long sum = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/status", thread);
    FILE* file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        long value = 0;
        if (sscanf(line, "voluntary_ctxt_switches: %ld", &value) == 1 ||
            sscanf(line, "nonvoluntary_ctxt_switches: %ld", &value) == 1)
            sum += value;
    }
    if (file != NULL)
        fclose(file);
    return sum;
}

static void short_messages(struct check* t)
{
    char in[64] = "", out[64] = "short";
    for (int i = 0; i < 100; ++i) {
        MPI_Request requests[2];
        MPI_Irecv(in, sizeof in, MPI_CHAR, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, sizeof out, MPI_CHAR, (t->rank + 1) % t->size, 0, MPI_COMM_WORLD,
                  &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    CHECK_INT(t, strcmp(in, "short"), 0);
}

/// Ranks 0 and 1 exchange while both compute, so that an agent has to work.
static void need_the_agent(struct check* t, struct board board, int times)
{
    const struct headway_interface_1* headway = board_interface();
    char* in = check_memory(bytes);
    char* out = check_memory(bytes);
    MPI_Request requests[2];
    const int peer = t->rank ^ 1;
    check_fill(out, bytes, (uint64_t)t->rank);
    MPI_Irecv(in, bytes, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, bytes, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &requests[1]);
    compute_until_complete(headway);
    board_raise(board, 0);
    compute_until_raised(board, 0, 2 * times);
    int flag = 0;
    CHECK_CALL(t, MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE));
    CHECK_INT(t, flag, 1);
    CHECK_PATTERN(t, in, bytes, (uint64_t)peer);
    free(in);
    free(out);
}

/// Some tens of milliseconds, longer than any nap of an agent that was asked a moment ago.
static void compute_for_long(void)
{
    volatile double x = 1;
    for (int i = 0; i < 100 * 1000; ++i)
        x = compute_a_little(x);
}

/// Nothing is open: the agent comes to rest, and then, while this rank computes, does not run at
/// all.
static void stays_asleep(struct check* t, struct board board, int agent)
{
    struct headway_progress before, after;
    for (long seen = -1; seen != switches(agent);) {
        seen = switches(agent);
        compute_for_long();
    }
    board_interface()->read_progress(&before);
    const long switches_before = switches(agent);
    board_raise(board, 1);
    compute_until_raised(board, 1, 2);
    compute_for_long();
    CHECK_INT(t, switches(agent), switches_before);
    board_interface()->read_progress(&after);
    CHECK_INT(t, after.agent_wakes, before.agent_wakes);
    CHECK(t, after.agent_wakes <= after.calls_for_help + 1);
}

static void takes_no_signals(struct check* t)
{
    struct sigaction action = {.sa_handler = note_signal};
    sigaction(SIGUSR1, &action, NULL);
    signalled_thread = 0;
    kill(getpid(), SIGUSR1);
    while (signalled_thread == 0) {
    }
    CHECK_INT(t, signalled_thread, syscall(SYS_gettid));
}

static void has_children(struct check* t)
{
    CHECK_INT(t, system("exit 3"), 3 << 8);
    const pid_t child = fork();
    if (child == 0)
        _exit(7);
    int status = 0;
    pid_t ended = -1;
    while ((ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) {
    }
    CHECK_INT(t, ended, child);
    CHECK_INT(t, WEXITSTATUS(status), 7);
}

static int test_main(void)
{
    struct check t = check_start("progress/agent");
    struct board board = board_open(&t);
    const int is_team = getenv("HEADWAY_TEAM") != NULL;
    int agent = 0;
    short_messages(&t);
    const int at_first = threads(&agent);
    if (!is_team)
        CHECK_INT(&t, at_first, 1);
    CHECK_INT(&t, agent, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (t.rank < 2) {
        need_the_agent(&t, board, 1);
        int later = threads(&agent);
        while (agent == 0)  // it names itself when it first runs
            later = threads(&agent);
        if (!is_team)
            CHECK_INT(&t, later, 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (t.rank < 2 && !is_team) {
        stays_asleep(&t, board, agent);
        takes_no_signals(&t);
        has_children(&t);
        need_the_agent(&t, board, 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    board_close(board);
    return check_finish(&t);
}
