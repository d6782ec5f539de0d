// SPDX-License-Identifier: Apache-2.0
// What performance variables say of several threads in a rank, where the right number is known:
// threads that stand before a door somebody keeps shut, threads that sleep while another one leads,
// who hands over to whom, and queues that several threads fill. Whether a thread sleeps, the
// system says; so nothing here depends on time.
#define CHECK_OWN_INIT
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "../check.h"

enum { callers = 3, turns = 8, fillers = 4, filled = 5 };

struct counters {
    MPI_T_pvar_session session;
    MPI_T_pvar_handle contended, waited, slept, handed, woken, sweeps, kept, late, out_of_order;
    MPI_T_pvar_handle posted, unexpected;
};

struct door;

struct thread {
    struct check check;
    MPI_Comm comm;
    int number;
    atomic_int id;  // the system's, once it is about to call
    struct door* door;
    MPI_Request* requests;
    pthread_t handle;
};

// A door and those who stand before it.
struct door {
    struct thread threads[callers];
    atomic_int is_shut;
};

static MPI_T_pvar_handle start_counter(struct check* t, MPI_T_pvar_session session,
                                       const char* name, int class_of)
{
    int index = -1, count = 0;
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    CHECK_CALL(t, MPI_T_pvar_get_index(name, class_of, &index));
    CHECK_CALL(t, MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
    if (class_of != MPI_T_PVAR_CLASS_LEVEL)
        CHECK_CALL(t, MPI_T_pvar_start(session, handle));
    return handle;
}

static uint64_t value_of(struct check* t, const struct counters* c, MPI_T_pvar_handle handle)
{
    uint64_t value = 0;
    CHECK_CALL(t, MPI_T_pvar_read(c->session, handle, &value));
    return value;
}

static void open_counters(struct check* t, struct counters* c)
{
    CHECK_CALL(t, MPI_T_pvar_session_create(&c->session));
    c->contended = start_counter(t, c->session, "locks_contended", MPI_T_PVAR_CLASS_COUNTER);
    c->waited = start_counter(t, c->session, "lock_wait_time", MPI_T_PVAR_CLASS_TIMER);
    c->slept = start_counter(t, c->session, "sleeps_beside", MPI_T_PVAR_CLASS_COUNTER);
    c->handed = start_counter(t, c->session, "hand_overs", MPI_T_PVAR_CLASS_COUNTER);
    c->woken = start_counter(t, c->session, "threads_woken", MPI_T_PVAR_CLASS_COUNTER);
    c->sweeps = start_counter(t, c->session, "sweeps", MPI_T_PVAR_CLASS_COUNTER);
    c->kept = start_counter(t, c->session, "messages_unexpected", MPI_T_PVAR_CLASS_COUNTER);
    c->late = start_counter(t, c->session, "messages_matched_late", MPI_T_PVAR_CLASS_COUNTER);
    c->out_of_order =
        start_counter(t, c->session, "messages_out_of_sequence", MPI_T_PVAR_CLASS_COUNTER);
    c->posted = start_counter(t, c->session, "posted_queue", MPI_T_PVAR_CLASS_LEVEL);
    c->unexpected = start_counter(t, c->session, "unexpected_queue", MPI_T_PVAR_CLASS_LEVEL);
}

// Whether the thread sleeps in the kernel, as the kernel says.
static int is_asleep(int id)
{
    char path[64], line[512] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", id);
    FILE* const file = fopen(path, "r");
    if (file == NULL)
        return 0;
    const size_t length = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[length] = '\0';
    const char* const end = strrchr(line, ')');
    return end != NULL && end[1] == ' ' && end[2] == 'S';
}

// Requires that nobody else is inside MPI who would leave it soon: else it may be that one for
// whom the thread sleeps.
static void await_sleep(struct thread* one)
{
    while (atomic_load(&one->id) == 0 || !is_asleep(atomic_load(&one->id)))
        sched_yield();
}

static void about_to_call(struct thread* one)
{
    atomic_store(&one->id, (int)syscall(SYS_gettid));
}

static void start(struct check* t, struct thread* one, MPI_Comm comm, int number,
                  void* (*body)(void*))
{
    one->check = *t;
    one->check.checks = one->check.failures = 0;
    one->comm = comm;
    one->number = number;
    atomic_store(&one->id, 0);
    CHECK_INT(t, pthread_create(&one->handle, NULL, body, one), 0);
}

static void join(struct check* t, struct thread* one)
{
    CHECK_INT(t, pthread_join(one->handle, NULL), 0);
    t->checks += one->check.checks;
    t->failures += one->check.failures;
}

static void* call(void* argument)
{
    struct thread* const one = argument;
    struct door* const door = one->door;
    int flag = 1;
    while (!atomic_load(&door->is_shut))
        sched_yield();
    about_to_call(one);
    CHECK_CALL(&one->check, MPI_Iprobe(0, 1, one->comm, &flag, MPI_STATUS_IGNORE));
    CHECK_INT(&one->check, flag, 0);
    return NULL;
}

// Inside MPI, in a function of the user: nobody else gets in until all callers sleep.
static int keep_shut(MPI_Comm comm, int key, void* value, void* extra)
{
    struct door* const door = value;
    (void)comm, (void)key, (void)extra;
    atomic_store(&door->is_shut, 1);
    for (int i = 0; i < callers; ++i)
        await_sleep(&door->threads[i]);
    return MPI_SUCCESS;
}

static void check_door(struct check* t, const struct counters* c, MPI_Comm comm)
{
    struct door door;
    MPI_Comm doomed;
    int key = MPI_KEYVAL_INVALID;
    CHECK_CALL(t, MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, keep_shut, &key, NULL));
    for (int turn = 0; turn < turns; ++turn) {
        const uint64_t contended = value_of(t, c, c->contended);
        const uint64_t waited = value_of(t, c, c->waited);
        CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_SELF, &doomed));
        CHECK_CALL(t, MPI_Comm_set_attr(doomed, key, &door));
        atomic_store(&door.is_shut, 0);
        for (int i = 0; i < callers; ++i) {
            door.threads[i].door = &door;
            start(t, &door.threads[i], comm, i, call);
        }
        CHECK_CALL(t, MPI_Comm_free(&doomed));
        for (int i = 0; i < callers; ++i)
            join(t, &door.threads[i]);
        CHECK_INT(t, value_of(t, c, c->contended) - contended, callers);
        CHECK(t, value_of(t, c, c->waited) > waited);
    }
    CHECK_CALL(t, MPI_Comm_free_keyval(&key));
}

// One thread after the other finds nobody inside.
static void check_open_door(struct check* t, const struct counters* c, MPI_Comm comm)
{
    struct door door;
    const uint64_t contended = value_of(t, c, c->contended);
    atomic_store(&door.is_shut, 1);
    for (int i = 0; i < callers; ++i) {
        door.threads[i].door = &door;
        start(t, &door.threads[i], comm, i, call);
        join(t, &door.threads[i]);
    }
    CHECK_INT(t, value_of(t, c, c->contended), contended);
}

static void* receive(void* argument)
{
    struct thread* const one = argument;
    int in = -1;
    MPI_Request request;
    CHECK_CALL(&one->check, MPI_Irecv(&in, 1, MPI_INT, 0, one->number, one->comm, &request));
    about_to_call(one);
    CHECK_CALL(&one->check, MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_INT(&one->check, in, one->number);
    return NULL;
}

// The first of two threads leads, the second sleeps beside it. The leader's message comes: it
// leaves and wakes the other one, who leads from then on and wakes nobody when it leaves.
static void check_hand_over(struct check* t, const struct counters* c, MPI_Comm comm)
{
    for (int turn = 0; turn < turns; ++turn) {
        struct thread leader, other;
        const int numbers[2] = {2 * turn, 2 * turn + 1};
        const uint64_t slept = value_of(t, c, c->slept), handed = value_of(t, c, c->handed);
        const uint64_t woken = value_of(t, c, c->woken);
        start(t, &leader, comm, numbers[0], receive);
        await_sleep(&leader);
        start(t, &other, comm, numbers[1], receive);
        await_sleep(&other);
        CHECK_INT(t, value_of(t, c, c->slept) - slept, 1);
        CHECK_INT(t, value_of(t, c, c->handed) - handed, 0);
        CHECK_CALL(t, MPI_Send(&numbers[0], 1, MPI_INT, 0, numbers[0], comm));
        join(t, &leader);
        CHECK_INT(t, value_of(t, c, c->handed) - handed, 1);
        CHECK_INT(t, value_of(t, c, c->woken) - woken, 1);
        CHECK_CALL(t, MPI_Send(&numbers[1], 1, MPI_INT, 0, numbers[1], comm));
        join(t, &other);
        CHECK_INT(t, value_of(t, c, c->slept) - slept, 1);
        CHECK_INT(t, value_of(t, c, c->handed) - handed, 1);
        CHECK_INT(t, value_of(t, c, c->woken) - woken, 1);
    }
}

// The other one's message comes first: its own completion wakes it, and nobody hands over.
static void check_own_wake_up(struct check* t, const struct counters* c, MPI_Comm comm)
{
    struct thread leader, other;
    const int numbers[2] = {100, 101};
    const uint64_t handed = value_of(t, c, c->handed), woken = value_of(t, c, c->woken);
    start(t, &leader, comm, numbers[0], receive);
    await_sleep(&leader);
    start(t, &other, comm, numbers[1], receive);
    await_sleep(&other);
    for (int i = 1; i >= 0; --i) {
        CHECK_CALL(t, MPI_Send(&numbers[i], 1, MPI_INT, 0, numbers[i], comm));
        join(t, i == 1 ? &other : &leader);
    }
    CHECK_INT(t, value_of(t, c, c->handed), handed);
    CHECK_INT(t, value_of(t, c, c->woken), woken);
}

static void* post(void* argument)
{
    struct thread* const one = argument;
    for (int i = 0; i < filled; ++i)
        CHECK_CALL(&one->check, MPI_Irecv(NULL, 0, MPI_INT, 0, one->number * filled + i, one->comm,
                                          &one->requests[i]));
    return NULL;
}

static void* withdraw(void* argument)
{
    struct thread* const one = argument;
    for (int i = 0; i < filled; ++i) {
        CHECK_CALL(&one->check, MPI_Cancel(&one->requests[i]));
        CHECK_CALL(&one->check, MPI_Wait(&one->requests[i], MPI_STATUS_IGNORE));
    }
    return NULL;
}

static void* send(void* argument)
{
    struct thread* const one = argument;
    for (int i = 0; i < filled; ++i) {
        const int tag = one->number * filled + i;
        CHECK_CALL(&one->check, MPI_Send(&tag, 1, MPI_INT, 0, tag, one->comm));
    }
    return NULL;
}

static void* receive_all(void* argument)
{
    struct thread* const one = argument;
    for (int i = 0; i < filled; ++i) {
        const int tag = one->number * filled + i;
        int in = -1;
        CHECK_CALL(&one->check, MPI_Recv(&in, 1, MPI_INT, 0, tag, one->comm, MPI_STATUS_IGNORE));
        CHECK_INT(&one->check, in, tag);
    }
    return NULL;
}

static void run_all(struct check* t, struct thread* threads, MPI_Comm comm, void* (*body)(void*))
{
    for (int i = 0; i < fillers; ++i)
        start(t, &threads[i], comm, i, body);
    for (int i = 0; i < fillers; ++i)
        join(t, &threads[i]);
}

// Four threads post, send and take at once; no message is too early or too late by chance, as all
// of one kind are over before the next begins.
static void check_queues(struct check* t, const struct counters* c, MPI_Comm comm)
{
    enum { all = fillers * filled };
    struct thread threads[fillers];
    MPI_Request requests[fillers][filled];
    int flag = 1;
    const uint64_t posted = value_of(t, c, c->posted), unexpected = value_of(t, c, c->unexpected);
    const uint64_t kept = value_of(t, c, c->kept), late = value_of(t, c, c->late);
    for (int i = 0; i < fillers; ++i)
        threads[i].requests = requests[i];
    run_all(t, threads, comm, post);
    CHECK_INT(t, value_of(t, c, c->posted) - posted, all);
    run_all(t, threads, comm, withdraw);
    CHECK_INT(t, value_of(t, c, c->posted), posted);
    CHECK_INT(t, value_of(t, c, c->kept), kept);
    run_all(t, threads, comm, send);
    CHECK_CALL(t, MPI_Iprobe(0, all, comm, &flag, MPI_STATUS_IGNORE));
    CHECK_INT(t, flag, 0);
    CHECK_INT(t, value_of(t, c, c->unexpected) - unexpected, all);
    CHECK_INT(t, value_of(t, c, c->kept) - kept, all);
    CHECK_INT(t, value_of(t, c, c->late), late);
    run_all(t, threads, comm, receive_all);
    CHECK_INT(t, value_of(t, c, c->unexpected), unexpected);
    CHECK_INT(t, value_of(t, c, c->kept) - kept, all);
    CHECK_INT(t, value_of(t, c, c->late) - late, all);
    CHECK_INT(t, value_of(t, c, c->out_of_order), 0);
}

// A look that finds nothing is one sweep.
static void check_sweeps(struct check* t, const struct counters* c, MPI_Comm comm)
{
    const uint64_t before = value_of(t, c, c->sweeps);
    for (int i = 0; i < turns; ++i) {
        int flag = 1;
        CHECK_CALL(t, MPI_Iprobe(0, 1, comm, &flag, MPI_STATUS_IGNORE));
    }
    CHECK_INT(t, value_of(t, c, c->sweeps) - before, turns);
}

static int test_main(void)
{
    int provided = 0;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    struct check t = check_start("thread_counters");
    struct counters c;
    MPI_Comm comm;
    CHECK_INT(&t, provided, MPI_THREAD_MULTIPLE);
    CHECK_CALL(&t, MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    CHECK_CALL(&t, MPI_Comm_dup(MPI_COMM_SELF, &comm));
    open_counters(&t, &c);
    check_sweeps(&t, &c, comm);
    check_open_door(&t, &c, comm);
    check_door(&t, &c, comm);
    check_hand_over(&t, &c, comm);
    check_own_wake_up(&t, &c, comm);
    check_queues(&t, &c, comm);
    CHECK_CALL(&t, MPI_T_pvar_session_free(&c.session));
    CHECK_CALL(&t, MPI_Comm_free(&comm));
    CHECK_CALL(&t, MPI_T_finalize());
    const int code = check_finish(&t);
    MPI_Finalize();
    return code;
}
