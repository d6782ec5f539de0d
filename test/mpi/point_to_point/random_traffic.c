// SPDX-License-Identifier: Apache-2.0
// Random traffic by seed. All ranks draw the same plan: for each ordered pair of ranks a list of
// messages in send order and a list of receives in post order. Receives name the source, and a
// tag or any; since messages prefer earlier receives and receives prefer earlier messages, which
// message each receive gets does not depend on timing, and a model tells it beforehand.
// Receives from any source run beside it on another communicator and are checked for order.
//
// CHECK_SEED first seed, CHECK_SEEDS how many, CHECK_MESSAGES a pair.
#include "../check.h"

enum { per_pair_max = 64, tag_kinds = 4, length_max = 150000 };

struct message {
    int tag;
    int bytes;
    int mode;
};

struct receive {
    int tag;
    int expected;
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
};

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
        p->messages[i].mode = check_below(random, 3);
        order[i] = i;
    }
    for (int i = count - 1; i > 0; --i) {
        const int k = check_below(random, i + 1), other = order[k];
        order[k] = order[i];
        order[i] = other;
    }
    const int wild_percent = check_below(random, 60);
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
    int used;
};

static void start_one(struct check* t, const struct traffic* w, struct slots* s, int peer, int k,
                      int sends)
{
    const int at = s->used++;
    s->peer[at] = peer;
    s->index[at] = sends ? -1 : k;
    s->in[at] = s->out[at] = NULL;
    if (!sends) {
        const struct plan* p = &w->plans[peer * w->size + t->rank];
        s->in[at] = check_memory(length_max);
        CHECK_CALL(t, MPI_Irecv(s->in[at], length_max, MPI_BYTE, peer, p->receives[k].tag,
                                MPI_COMM_WORLD, &s->requests[at]));
        return;
    }
    const struct message* m = &w->plans[t->rank * w->size + peer].messages[k];
    s->out[at] = check_memory((size_t)m->bytes);
    check_fill(s->out[at], (size_t)m->bytes, payload_seed(w, t->rank, peer, k));
    if (m->mode == 0) {
        CHECK_CALL(t, MPI_Issend(s->out[at], m->bytes, MPI_BYTE, peer, m->tag, MPI_COMM_WORLD,
                                 &s->requests[at]));
    } else {
        CHECK_CALL(t, MPI_Isend(s->out[at], m->bytes, MPI_BYTE, peer, m->tag, MPI_COMM_WORLD,
                                &s->requests[at]));
    }
}

static void check_one(struct check* t, const struct traffic* w, const struct slots* s, int at,
                      const MPI_Status* status)
{
    const int peer = s->peer[at], k = s->index[at];
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

// Completes everything, by a drawn member of the Wait and Test families at each turn.
static void finish_all(struct check* t, const struct traffic* w, struct slots* s, uint64_t* random)
{
    MPI_Status* statuses = check_memory((size_t)s->used * sizeof *statuses);
    int* indices = check_memory((size_t)s->used * sizeof *indices);
    for (int left = s->used; left > 0 && t->failures == 0;) {
        int count = 0, flag = 1;
        const int how = check_below(random, 4);
        if (how == 0) {
            CHECK_CALL(t, MPI_Waitany(s->used, s->requests, indices, statuses));
            count = 1;
        } else if (how == 1) {
            CHECK_CALL(t, MPI_Testany(s->used, s->requests, indices, &flag, statuses));
            count = flag;
        } else if (how == 2) {
            CHECK_CALL(t, MPI_Waitsome(s->used, s->requests, &count, indices, statuses));
        } else {
            CHECK_CALL(t, MPI_Testsome(s->used, s->requests, &count, indices, statuses));
        }
        for (int i = 0; i < count; ++i)
            check_one(t, w, s, indices[i], &statuses[i]);
        left -= count;
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
}

// Sends and receives of all pairs are started in a random interleaving that keeps the order
// within each list; now and then a Test or an Iprobe comes between.
static void exchange(struct check* t, const struct traffic* w)
{
    uint64_t random = w->seed * 7919 + (uint64_t)t->rank;
    struct slots s;
    const int lists = 2 * w->size, total = lists * w->per_pair;
    int* next = calloc((size_t)lists, sizeof *next);
    slots_create(&s, total);
    while (s.used < total) {
        const int list = check_below(&random, lists);
        if (next[list] == w->per_pair)
            continue;
        start_one(t, w, &s, list / 2, next[list]++, list % 2);
        if (check_below(&random, 16) == 0) {
            int flag = 0;
            CHECK_CALL(t, MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag,
                                     MPI_STATUS_IGNORE));
        }
    }
    finish_all(t, w, &s, &random);
    slots_destroy(&s);
    free(next);
}

// Everyone sends `per_pair` numbered messages to everyone, taken from any source.
static void from_any(struct check* t, const struct traffic* w)
{
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
        int value = -1;
        MPI_Status status;
        CHECK_CALL(t, MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, w->apart, &status));
        CHECK_INT(t, value, last[status.MPI_SOURCE] + 1);
        CHECK_INT(t, status.MPI_TAG, value % 3);
        last[status.MPI_SOURCE] = value;
    }
    CHECK_CALL(t, MPI_Waitall(total, requests, MPI_STATUSES_IGNORE));
    free(last);
    free(values);
    free(requests);
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
        uint64_t random = (uint64_t)seed;
        w.seed = (uint64_t)seed;
        for (int i = 0; i < t.size * t.size; ++i)
            draw_pair(&w.plans[i], w.per_pair, &random);
        exchange(&t, &w);
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
