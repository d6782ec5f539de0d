// SPDX-License-Identifier: Apache-2.0
// Random traffic by seed. All ranks draw the same plan: for each ordered pair of ranks a list of
// messages in send order and a list of receives in post order. Receives name the source, and a
// tag or any; since messages prefer earlier receives and receives prefer earlier messages, which
// message each receive gets does not depend on timing, and a model tells it beforehand.
// Receives from any source run beside it on another communicator and are checked for order.
// Requests are ordinary or persistent, some receives are matched probes, and some receives that
// nobody sends anything are cancelled at the end; others while their message comes.
//
// CHECK_SEED first seed, CHECK_SEEDS how many, CHECK_MESSAGES a pair. CHECK_SLOW_US: one thread of
// one rank, the seed says which, computes up to so long now and then. With CHECK_AT_ONCE each
// thread has plans of its own.
#include <time.h>

#include "../check.h"

enum { per_pair_max = 64, tag_kinds = 4, length_max = 150000, decoys_max = 5 };

enum send_mode { send_synchronous, send_plain, send_plainly_too, send_again, send_modes };
enum receive_mode { receive_plain, receive_plainly_too, receive_again, receive_matched, receives };

struct message {
    int tag;
    int bytes;
    int mode;
};

struct receive {
    int tag;
    int expected;
    int mode;
};

struct plan {
    int count;
    struct message messages[per_pair_max];
    struct receive receives[per_pair_max];
};

struct traffic {
    uint64_t seed;
    int size;
    int per_pair;
    struct plan* plans;
    MPI_Comm apart;
    long slow_us;  // 0: this thread computes nothing
};

// Computes now and then, where this thread is the slow one.
static void compute(const struct traffic* w, uint64_t* random)
{
    if (w->slow_us == 0 || check_below(random, 4) != 0)
        return;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const long long end =
        now.tv_sec * 1000000LL + now.tv_nsec / 1000 + check_below(random, (int)w->slow_us);
    while (now.tv_sec * 1000000LL + now.tv_nsec / 1000 < end)
        clock_gettime(CLOCK_MONOTONIC, &now);
}

static uint64_t payload_seed(const struct traffic* w, int source, int target, int index)
{
    return w->seed * 31 + (uint64_t)(source * 1009 + target * 97 + index);
}

static int draw_length(uint64_t* random)
{
    static const int borders[] = {0, 1, 40, 41, 64, 4096, 8191, 8192, 8193, 65536};
    const int kind = check_below(random, 10);
    if (kind < 4)
        return borders[check_below(random, 10)];
    if (kind < 9)
        return check_below(random, 2000);
    return check_below(random, length_max);
}

// The first receive is served first, each by the first message left that it accepts. Answers
// whether every receive was served.
static int match(struct plan* p)
{
    int taken[per_pair_max] = {0};
    for (int r = 0; r < p->count; ++r) {
        int m = 0;
        const int tag = p->receives[r].tag;
        while (m < p->count && (taken[m] || (tag != MPI_ANY_TAG && tag != p->messages[m].tag)))
            ++m;
        if (m == p->count)
            return 0;
        taken[m] = 1;
        p->receives[r].expected = m;
    }
    return 1;
}

static void draw_pair(struct plan* p, int count, uint64_t* random)
{
    int order[per_pair_max];
    p->count = count;
    for (int i = 0; i < count; ++i) {
        p->messages[i].tag = check_below(random, tag_kinds);
        p->messages[i].bytes = draw_length(random);
        p->messages[i].mode = check_below(random, send_modes);
        p->receives[i].mode = check_below(random, receives);
        order[i] = i;
    }
    for (int i = count - 1; i > 0; --i) {
        const int k = check_below(random, i + 1), other = order[k];
        order[k] = order[i];
        order[i] = other;
    }
    const int wild_percent = check_shares_tags() ? 0 : check_below(random, 60);
    for (int i = 0; i < count; ++i) {
        const int wild = check_below(random, 100) < wild_percent;
        p->receives[i].tag = wild ? MPI_ANY_TAG : p->messages[order[i]].tag;
    }
    // A wildcard may take what a later exact receive needs; drop wildcards from the front
    // until all are served, which exact ones alone always are.
    for (int i = 0; !match(p) && i < count; ++i)
        p->receives[i].tag = p->messages[order[i]].tag;
}

struct slots {
    unsigned char** out;
    unsigned char** in;
    MPI_Request* requests;
    int* peer;
    int* index;
    int* is_done;
    int used;
};

static int start_send(struct check* t, const struct traffic* w, struct slots* s, int at, int k)
{
    const int peer = s->peer[at];
    const struct message* m = &w->plans[t->rank * w->size + peer].messages[k];
    MPI_Request* const request = &s->requests[at];
    unsigned char* const out = check_memory((size_t)m->bytes);
    s->out[at] = out;
    check_fill(out, (size_t)m->bytes, payload_seed(w, t->rank, peer, k));
    if (m->mode == send_synchronous) {
        CHECK_CALL(t, MPI_Issend(out, m->bytes, MPI_BYTE, peer, m->tag, MPI_COMM_WORLD, request));
    } else if (m->mode == send_again) {
        CHECK_CALL(t,
                   MPI_Send_init(out, m->bytes, MPI_BYTE, peer, m->tag, MPI_COMM_WORLD, request));
        CHECK_CALL(t, MPI_Start(request));
    } else {
        CHECK_CALL(t, MPI_Isend(out, m->bytes, MPI_BYTE, peer, m->tag, MPI_COMM_WORLD, request));
    }
    return 1;
}

// False: it takes a message by a matched probe, and that is not there yet.
static int start_receive(struct check* t, const struct traffic* w, struct slots* s, int at, int k)
{
    const int peer = s->peer[at];
    const struct receive* r = &w->plans[peer * w->size + t->rank].receives[k];
    MPI_Request* const request = &s->requests[at];
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    int flag = 0, bytes = length_max;
    if (r->mode == receive_matched) {
        CHECK_CALL(t, MPI_Improbe(peer, r->tag, MPI_COMM_WORLD, &flag, &message, &status));
        if (!flag)
            return 0;
        CHECK_CALL(t, MPI_Get_count(&status, MPI_BYTE, &bytes));
    }
    unsigned char* const in = check_memory((size_t)bytes);
    s->in[at] = in;
    if (r->mode == receive_matched) {
        CHECK_CALL(t, MPI_Imrecv(in, bytes, MPI_BYTE, &message, request));
    } else if (r->mode == receive_again) {
        CHECK_CALL(t, MPI_Recv_init(in, bytes, MPI_BYTE, peer, r->tag, MPI_COMM_WORLD, request));
        CHECK_CALL(t, MPI_Start(request));
    } else {
        CHECK_CALL(t, MPI_Irecv(in, bytes, MPI_BYTE, peer, r->tag, MPI_COMM_WORLD, request));
    }
    return 1;
}

// False: not yet.
static int start_one(struct check* t, const struct traffic* w, struct slots* s, int peer, int k,
                     int sends)
{
    const int at = s->used;
    s->peer[at] = peer;
    s->index[at] = sends ? -1 : k;
    s->is_done[at] = 0;
    s->in[at] = s->out[at] = NULL;
    if (!(sends ? start_send(t, w, s, at, k) : start_receive(t, w, s, at, k)))
        return 0;
    ++s->used;
    return 1;
}

static void check_one(struct check* t, const struct traffic* w, const struct slots* s, int at,
                      const MPI_Status* status)
{
    const int peer = s->peer[at], k = s->index[at];
    CHECK_INT(t, s->is_done[at], 0);
    s->is_done[at] = 1;
    if (k < 0)
        return;
    const struct plan* p = &w->plans[peer * w->size + t->rank];
    const int expected = p->receives[k].expected;
    int count = -1;
    CHECK_INT(t, status->MPI_SOURCE, peer);
    CHECK_INT(t, status->MPI_TAG, p->messages[expected].tag);
    CHECK_CALL(t, MPI_Get_count(status, MPI_BYTE, &count));
    CHECK_INT(t, count, p->messages[expected].bytes);
    CHECK_PATTERN(t, s->in[at], (size_t)p->messages[expected].bytes,
                  payload_seed(w, peer, t->rank, expected));
}

// One call of the Wait and Test families, drawn; returns how many requests it completed.
static int finish_some(struct check* t, const struct traffic* w, struct slots* s, uint64_t* random,
                       MPI_Status* statuses, int* indices)
{
    int count = 0, flag = 1;
    const int how = check_below(random, 20);
    if (how >= 18) {  // seldom, for it ends all
        if (how == 18) {
            CHECK_CALL(t, MPI_Waitall(s->used, s->requests, statuses));
        } else {
            CHECK_CALL(t, MPI_Testall(s->used, s->requests, &flag, statuses));
        }
        for (int at = 0; flag && at < s->used; ++at) {
            if (!s->is_done[at]) {
                check_one(t, w, s, at, &statuses[at]);
                ++count;
            }
        }
        return count;
    }
    if (how % 4 == 0) {
        CHECK_CALL(t, MPI_Waitany(s->used, s->requests, indices, statuses));
        count = 1;
    } else if (how % 4 == 1) {
        CHECK_CALL(t, MPI_Testany(s->used, s->requests, indices, &flag, statuses));
        count = flag;
    } else if (how % 4 == 2) {
        CHECK_CALL(t, MPI_Waitsome(s->used, s->requests, &count, indices, statuses));
    } else {
        CHECK_CALL(t, MPI_Testsome(s->used, s->requests, &count, indices, statuses));
    }
    for (int i = 0; i < count; ++i)
        check_one(t, w, s, indices[i], &statuses[i]);
    return count;
}

// Persistent requests stay, inactive, and are freed when all is done.
static void finish_all(struct check* t, const struct traffic* w, struct slots* s, uint64_t* random)
{
    MPI_Status* statuses = check_memory((size_t)s->used * sizeof *statuses);
    int* indices = check_memory((size_t)s->used * sizeof *indices);
    for (int left = s->used; left > 0 && t->failures == 0;) {
        left -= finish_some(t, w, s, random, statuses, indices);
        compute(w, random);
    }
    for (int at = 0; t->failures == 0 && at < s->used; ++at) {
        if (s->requests[at] != MPI_REQUEST_NULL)
            CHECK_CALL(t, MPI_Request_free(&s->requests[at]));
    }
    free(indices);
    free(statuses);
}

static void slots_create(struct slots* s, int capacity)
{
    s->out = check_memory((size_t)capacity * sizeof *s->out);
    s->in = check_memory((size_t)capacity * sizeof *s->in);
    s->requests = check_memory((size_t)capacity * sizeof *s->requests);
    s->peer = check_memory((size_t)capacity * sizeof *s->peer);
    s->index = check_memory((size_t)capacity * sizeof *s->index);
    s->is_done = check_memory((size_t)capacity * sizeof *s->is_done);
    s->used = 0;
}

static void slots_destroy(struct slots* s)
{
    for (int i = 0; i < s->used; ++i) {
        free(s->out[i]);
        free(s->in[i]);
    }
    free(s->out);
    free(s->in);
    free(s->requests);
    free(s->peer);
    free(s->index);
    free(s->is_done);
}

// Receives of a tag that nobody sends, posted among the others and cancelled after them.
static void post_decoys(struct check* t, MPI_Request* decoys, int* room, int count)
{
    for (int i = 0; i < count; ++i) {
        room[i] = 77;
        CHECK_CALL(t, MPI_Irecv(&room[i], 1, MPI_INT, i % 2 == 0 ? MPI_ANY_SOURCE : t->rank,
                                tag_kinds, MPI_COMM_WORLD, &decoys[i]));
    }
}

static void cancel_decoys(struct check* t, MPI_Request* decoys, const int* room, int count)
{
    for (int i = 0; i < count; ++i) {
        MPI_Status status;
        int is_cancelled = 0;
        CHECK_CALL(t, MPI_Cancel(&decoys[i]));
        CHECK_CALL(t, MPI_Wait(&decoys[i], &status));
        CHECK_CALL(t, MPI_Test_cancelled(&status, &is_cancelled));
        CHECK(t, is_cancelled && room[i] == 77);
    }
}

// Sends and receives of all pairs are started in a random interleaving that keeps the order
// within each list; now and then a Test or an Iprobe comes between.
static void exchange(struct check* t, const struct traffic* w)
{
    uint64_t random = w->seed * 7919 + (uint64_t)t->rank;
    struct slots s;
    const int lists = 2 * w->size, total = lists * w->per_pair;
    int* next = calloc((size_t)lists, sizeof *next);
    MPI_Request decoys[decoys_max];
    int room[decoys_max];
    const int decoy_count = check_below(&random, decoys_max + 1);
    slots_create(&s, total);
    post_decoys(t, decoys, room, decoy_count);
    while (s.used < total && t->failures == 0) {
        const int list = check_below(&random, lists);
        if (next[list] == w->per_pair)
            continue;
        next[list] += start_one(t, w, &s, list / 2, next[list], list % 2);
        compute(w, &random);
        if (check_below(&random, 16) == 0) {
            int flag = 0;
            CHECK_CALL(t, MPI_Iprobe(MPI_ANY_SOURCE, check_shares_tags() ? 0 : MPI_ANY_TAG,
                                     MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        }
    }
    finish_all(t, w, &s, &random);
    cancel_decoys(t, decoys, room, decoy_count);
    slots_destroy(&s);
    free(next);
}

// A message around the ring and a cancellation of its receive, whichever is first: the receive has
// the message, or another one finds it. Takes turns whose lengths all ranks draw alike.
static void contest(struct check* t, const struct traffic* w)
{
    uint64_t common = w->seed * 15485863, own = common + (uint64_t)t->rank;
    const int to = (t->rank + 1) % t->size, from = (t->rank + t->size - 1) % t->size;
    for (int turn = check_below(&common, 4); turn > 0; --turn) {
        const int bytes = draw_length(&common), tag = tag_kinds + 1;
        unsigned char *out = check_memory((size_t)bytes), *in = check_memory((size_t)bytes);
        MPI_Request sent, receive;
        MPI_Status status;
        int is_cancelled = 0, flag = 0, count = -1;
        check_fill(out, (size_t)bytes, payload_seed(w, t->rank, to, turn));
        CHECK_CALL(t, MPI_Irecv(in, bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, &receive));
        CHECK_CALL(t, MPI_Isend(out, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &sent));
        for (int looks = check_below(&own, 3); looks > 0; --looks)
            CHECK_CALL(t, MPI_Test(&sent, &flag, MPI_STATUS_IGNORE));
        compute(w, &own);
        CHECK_CALL(t, MPI_Cancel(&receive));
        CHECK_CALL(t, MPI_Wait(&receive, &status));
        CHECK_CALL(t, MPI_Test_cancelled(&status, &is_cancelled));
        if (is_cancelled)
            CHECK_CALL(t, MPI_Recv(in, bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, &status));
        CHECK_CALL(t, MPI_Get_count(&status, MPI_BYTE, &count));
        CHECK_INT(t, count, bytes);
        CHECK_PATTERN(t, in, (size_t)bytes, payload_seed(w, from, t->rank, turn));
        CHECK_CALL(t, MPI_Wait(&sent, MPI_STATUS_IGNORE));
        free(in);
        free(out);
    }
}

// The next message from anywhere, received in one of the ways there are.
static int take_any(struct check* t, const struct traffic* w, uint64_t* random, MPI_Status* status)
{
    int value = -1;
    MPI_Message message = MPI_MESSAGE_NULL;
    const int how = check_below(random, 3);
    if (how == 0) {
        CHECK_CALL(t, MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, w->apart, status));
    } else if (how == 1) {
        CHECK_CALL(t, MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, w->apart, status));
        CHECK_CALL(
            t, MPI_Recv(&value, 1, MPI_INT, status->MPI_SOURCE, status->MPI_TAG, w->apart, status));
    } else {
        CHECK_CALL(t, MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, w->apart, &message, status));
        CHECK_CALL(t, MPI_Mrecv(&value, 1, MPI_INT, &message, status));
    }
    return value;
}

// Everyone sends `per_pair` numbered messages to everyone, taken from any source.
static void from_any(struct check* t, const struct traffic* w)
{
    uint64_t random = w->seed * 104729 + (uint64_t)t->rank;
    const int total = w->per_pair * w->size;
    MPI_Request* requests = check_memory((size_t)total * sizeof *requests);
    int* values = check_memory((size_t)total * sizeof *values);
    int* last = check_memory((size_t)w->size * sizeof *last);
    for (int k = 0; k < total; ++k) {
        values[k] = k / w->size;
        CHECK_CALL(t, MPI_Isend(&values[k], 1, MPI_INT, (k + t->rank) % w->size, k / w->size % 3,
                                w->apart, &requests[k]));
    }
    for (int i = 0; i < w->size; ++i)
        last[i] = -1;
    for (int k = 0; k < total; ++k) {
        MPI_Status status;
        const int value = take_any(t, w, &random, &status);
        CHECK_INT(t, value, last[status.MPI_SOURCE] + 1);
        CHECK_INT(t, status.MPI_TAG, value % 3);
        last[status.MPI_SOURCE] = value;
        compute(w, &random);
    }
    CHECK_CALL(t, MPI_Waitall(total, requests, MPI_STATUSES_IGNORE));
    free(last);
    free(values);
    free(requests);
}

// The slow thread's time; 0 for all others.
static long slow_us_of(const struct check* t, long seed)
{
    const long threads = check_place.is_beside ? check_setting("CHECK_AT_ONCE", 1) : 1;
    const int is_slow = t->rank == seed % t->size && check_place.thread == seed / 7 % threads;
    return is_slow ? check_setting("CHECK_SLOW_US", 0) : 0;
}

static int test_main(void)
{
    struct check t = check_start("random_traffic");
    struct traffic w = {.size = t.size};
    const long first = check_setting("CHECK_SEED", 1), seeds = check_setting("CHECK_SEEDS", 5);
    w.per_pair = (int)check_setting("CHECK_MESSAGES", 24);
    if (!CHECK(&t, w.per_pair > 0 && w.per_pair <= per_pair_max))
        return check_finish(&t);
    w.plans = check_memory((size_t)(t.size * t.size) * sizeof *w.plans);
    CHECK_CALL(&t, MPI_Comm_dup(MPI_COMM_WORLD, &w.apart));
    for (long seed = first; seed < first + seeds; ++seed) {
        const long failures = t.failures;
        w.seed = (uint64_t)(seed + 1000003L * check_place.thread);
        w.slow_us = slow_us_of(&t, seed);
        uint64_t random = w.seed;
        for (int i = 0; i < t.size * t.size; ++i)
            draw_pair(&w.plans[i], w.per_pair, &random);
        exchange(&t, &w);
        contest(&t, &w);
        from_any(&t, &w);
        if (t.failures != failures) {
            fprintf(stderr, "random_traffic: rank %d: repeat with CHECK_SEED=%ld CHECK_SEEDS=1\n",
                    t.rank, seed);
        }
    }
    CHECK_CALL(&t, MPI_Comm_free(&w.apart));
    free(w.plans);
    return check_finish(&t);
}
