// SPDX-License-Identifier: Apache-2.0
// Inter-communicators: made of two groups, messages and collectives between them, what can be made
// of them, and merging.
#include "../check.h"

enum { tag = 9, create_tag = 77, long_ints = 30000 };

struct sides {
    MPI_Comm local, inter;
    int color;       // the group: 0 are the even ranks of the world, 1 the odd ones
    int rank, size;  // in the own group
    int remote_size;
};

static int world_rank_of(const struct sides* s, int group, int member)
{
    (void)s;
    return 2 * member + group;
}

static struct sides begin(struct check* t)
{
    struct sides s;
    s.color = t->rank % 2;
    CHECK_CALL(t, MPI_Comm_split(MPI_COMM_WORLD, s.color, t->rank, &s.local));
    // The last ones lead.
    const int even = (t->size + 1) / 2, odd = t->size / 2;
    const int other_leader = s.color == 0 ? 2 * (odd - 1) + 1 : 2 * (even - 1);
    MPI_Comm_rank(s.local, &s.rank);
    MPI_Comm_size(s.local, &s.size);
    CHECK_CALL(t, MPI_Intercomm_create(s.local, s.size - 1, MPI_COMM_WORLD, other_leader,
                                       create_tag, &s.inter));
    s.remote_size = s.color == 0 ? odd : even;
    return s;
}

static void facts(struct check* t, const struct sides* s, MPI_Comm inter)
{
    int flag = 0, size = 0, rank = -1, result = -1;
    MPI_Group group;
    MPI_Comm dup;
    CHECK_CALL(t, MPI_Comm_test_inter(inter, &flag));
    CHECK_INT(t, flag, 1);
    CHECK_CALL(t, MPI_Comm_size(inter, &size));
    CHECK_INT(t, size, s->size);
    CHECK_CALL(t, MPI_Comm_rank(inter, &rank));
    CHECK_INT(t, rank, s->rank);
    CHECK_CALL(t, MPI_Comm_remote_size(inter, &size));
    CHECK_INT(t, size, s->remote_size);
    CHECK_CALL(t, MPI_Comm_remote_group(inter, &group));
    CHECK_CALL(t, MPI_Group_size(group, &size));
    CHECK_INT(t, size, s->remote_size);
    CHECK_CALL(t, MPI_Group_rank(group, &rank));
    CHECK_INT(t, rank, MPI_UNDEFINED);
    MPI_Group_free(&group);
    CHECK_CALL(t, MPI_Comm_group(inter, &group));
    CHECK_CALL(t, MPI_Group_rank(group, &rank));
    CHECK_INT(t, rank, s->rank);
    MPI_Group_free(&group);
    CHECK_CALL(t, MPI_Comm_dup(inter, &dup));
    CHECK_CALL(t, MPI_Comm_compare(inter, dup, &result));
    CHECK_INT(t, result, MPI_CONGRUENT);
    CHECK_CALL(t, MPI_Comm_compare(inter, s->local, &result));
    CHECK_INT(t, result, MPI_UNEQUAL);
    CHECK_CALL(t, MPI_Comm_free(&dup));
    CHECK_CALL(t, MPI_Comm_test_inter(s->local, &flag));
    CHECK_INT(t, flag, 0);
}

// Everybody sends to everybody of the other group, received from anybody.
static void messages(struct check* t, const struct sides* s, MPI_Comm inter, int count)
{
    const size_t bytes = (size_t)count * sizeof(int);
    int* out = check_memory(bytes);
    int* in = check_memory(bytes * (size_t)s->remote_size);
    MPI_Request requests[64];
    MPI_Status status;
    check_fill(out, bytes, (uint64_t)t->rank);
    for (int i = 0; i < s->remote_size; ++i)
        CHECK_CALL(t, MPI_Isend(out, count, MPI_INT, i, tag, inter, &requests[i]));
    for (int i = 0; i < s->remote_size; ++i) {
        MPI_Message message;
        CHECK_CALL(t, MPI_Mprobe(MPI_ANY_SOURCE, tag, inter, &message, &status));
        CHECK(t, status.MPI_SOURCE >= 0 && status.MPI_SOURCE < s->remote_size);
        CHECK_CALL(t, MPI_Mrecv(in, count, MPI_INT, &message, &status));
        CHECK_PATTERN(t, in, bytes, (uint64_t)world_rank_of(s, 1 - s->color, status.MPI_SOURCE));
    }
    CHECK_CALL(t, MPI_Waitall(s->remote_size, requests, MPI_STATUSES_IGNORE));
    // Nobody's next message is mistaken for one of these.
    CHECK_CALL(t, MPI_Barrier(inter));
    const int partner = s->rank < s->remote_size ? s->rank : MPI_PROC_NULL;
    CHECK_CALL(t, MPI_Sendrecv(out, count, MPI_INT, partner, tag + 1, in, count, MPI_INT, partner,
                               tag + 1, inter, &status));
    if (partner != MPI_PROC_NULL)
        CHECK_PATTERN(t, in, bytes, (uint64_t)world_rank_of(s, 1 - s->color, s->rank));
    free(in);
    free(out);
}

static void rooted(struct check* t, const struct sides* s, MPI_Comm inter, int root_group, int root)
{
    const int in_root_group = s->color == root_group;
    const int given = !in_root_group ? root : (s->rank == root ? MPI_ROOT : MPI_PROC_NULL);
    const int is_root = given == MPI_ROOT;
    int value = is_root ? 4711 + root : -1, all[64], sum = -1;
    CHECK_CALL(t, MPI_Bcast(&value, 1, MPI_INT, given, inter));
    CHECK_INT(t, value, !in_root_group || is_root ? 4711 + root : -1);
    int mine = t->rank + 1;
    for (int i = 0; i < 64; ++i)
        all[i] = -1;
    CHECK_CALL(t, MPI_Gather(&mine, 1, MPI_INT, all, 1, MPI_INT, given, inter));
    if (is_root) {
        for (int i = 0; i < s->remote_size; ++i)
            CHECK_INT(t, all[i], world_rank_of(s, 1 - s->color, i) + 1);
    }
    for (int i = 0; i < 64; ++i)
        all[i] = 100 * i + root;
    value = -1;
    CHECK_CALL(t, MPI_Scatter(all, 1, MPI_INT, &value, 1, MPI_INT, given, inter));
    CHECK_INT(t, value, in_root_group ? -1 : 100 * s->rank + root);
    CHECK_CALL(t, MPI_Reduce(&mine, &sum, 1, MPI_INT, MPI_SUM, given, inter));
    int want = 0;
    for (int i = 0; i < s->remote_size; ++i)
        want += world_rank_of(s, 1 - s->color, i) + 1;
    CHECK_INT(t, sum, is_root ? want : -1);
}

static void listed(struct check* t, const struct sides* s, MPI_Comm inter)
{
    int counts[64], places[64], in[64 * 64], out[64], total = 0;
    // Rank i of either group gives i + 1 numbers.
    for (int i = 0; i < s->remote_size; ++i) {
        counts[i] = i + 1;
        places[i] = total;
        total += i + 1;
    }
    for (int i = 0; i <= s->rank; ++i)
        out[i] = 1000 * t->rank + i;
    CHECK_CALL(t, MPI_Allgatherv(out, s->rank + 1, MPI_INT, in, counts, places, MPI_INT, inter));
    for (int i = 0; i < s->remote_size; ++i) {
        for (int k = 0; k < counts[i]; ++k)
            CHECK_INT(t, in[places[i] + k], 1000 * world_rank_of(s, 1 - s->color, i) + k);
    }
    int root = s->color == 1 ? 0 : (s->rank == 0 ? MPI_ROOT : MPI_PROC_NULL);
    memset(in, 0, sizeof in);
    CHECK_CALL(t, MPI_Gatherv(out, s->rank + 1, MPI_INT, in, counts, places, MPI_INT, root, inter));
    if (root == MPI_ROOT) {
        for (int i = 0; i < s->remote_size; ++i)
            CHECK_INT(t, in[places[i] + i], 1000 * world_rank_of(s, 1, i) + i);
        for (int i = 0; i < total; ++i)
            in[i] = i;
    }
    memset(out, 0xff, sizeof out);
    CHECK_CALL(t,
               MPI_Scatterv(in, counts, places, MPI_INT, out, s->rank + 1, MPI_INT, root, inter));
    if (s->color == 1) {
        const int first = s->rank * (s->rank + 1) / 2;
        for (int i = 0; i <= s->rank; ++i)
            CHECK_INT(t, out[i], first + i);
    }
}

static void for_all(struct check* t, const struct sides* s, MPI_Comm inter)
{
    // The groups give blocks of different sizes.
    const int given = s->color + 1, taken = 2 - s->color;
    int out[2 * 64], in[2 * 64], mine = t->rank + 1, sum = -1;
    for (int i = 0; i < given; ++i)
        out[i] = 10 * t->rank + i;
    CHECK_CALL(t, MPI_Allgather(out, given, MPI_INT, in, taken, MPI_INT, inter));
    for (int i = 0; i < s->remote_size * taken; ++i)
        CHECK_INT(t, in[i], 10 * world_rank_of(s, 1 - s->color, i / taken) + i % taken);
    for (int i = 0; i < s->remote_size * given; ++i)
        out[i] = 1000 * t->rank + i;
    CHECK_CALL(t, MPI_Alltoall(out, given, MPI_INT, in, taken, MPI_INT, inter));
    for (int i = 0; i < s->remote_size * taken; ++i)
        CHECK_INT(t, in[i],
                  1000 * world_rank_of(s, 1 - s->color, i / taken) + s->rank * taken + i % taken);
    CHECK_CALL(t, MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter));
    int want = 0;
    for (int i = 0; i < s->remote_size; ++i)
        want += world_rank_of(s, 1 - s->color, i) + 1;
    CHECK_INT(t, sum, want);
    // Vectors of both groups are equally long: one number for each pair.
    const int pairs = s->size * s->remote_size;
    int* vector = check_memory((size_t)pairs * sizeof(int));
    int* block = check_memory((size_t)pairs * sizeof(int));
    for (int i = 0; i < pairs; ++i)
        vector[i] = i + mine;
    CHECK_CALL(t, MPI_Reduce_scatter_block(vector, block, s->remote_size, MPI_INT, MPI_SUM, inter));
    for (int i = 0; i < s->remote_size; ++i)
        CHECK_INT(t, block[i], s->remote_size * (s->rank * s->remote_size + i) + want);
    int counts[64];
    for (int i = 0; i < s->size; ++i)
        counts[i] = i == 0 ? pairs : 0;
    CHECK_CALL(t, MPI_Reduce_scatter(vector, block, counts, MPI_INT, MPI_SUM, inter));
    for (int i = 0; i < (s->rank == 0 ? pairs : 0); ++i)
        CHECK_INT(t, block[i], s->remote_size * i + want);
    CHECK_CALL(t, MPI_Barrier(inter));
    free(vector);
    free(block);
}

static void started(struct check* t, const struct sides* s, MPI_Comm inter)
{
    int mine = t->rank + 1, sum = 0, want = 0;
    MPI_Request requests[2];
    for (int i = 0; i < s->remote_size; ++i)
        want += world_rank_of(s, 1 - s->color, i) + 1;
    CHECK_CALL(t, MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter, &requests[0]));
    CHECK_CALL(t, MPI_Ibarrier(inter, &requests[1]));
    CHECK_CALL(t, MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK_INT(t, sum, want);
}

static void merged(struct check* t, const struct sides* s, MPI_Comm inter)
{
    for (int high_group = 0; high_group < 2; ++high_group) {
        MPI_Comm intra;
        int rank = -1, size = 0, flag = 1, sum = 0, one = 1;
        CHECK_CALL(t, MPI_Intercomm_merge(inter, s->color == high_group, &intra));
        MPI_Comm_rank(intra, &rank);
        MPI_Comm_size(intra, &size);
        CHECK_INT(t, size, t->size);
        CHECK_INT(t, rank, s->rank + (s->color == high_group ? s->remote_size : 0));
        CHECK_CALL(t, MPI_Comm_test_inter(intra, &flag));
        CHECK_INT(t, flag, 0);
        CHECK_CALL(t, MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, intra));
        CHECK_INT(t, sum, t->size);
        CHECK_CALL(t, MPI_Comm_free(&intra));
    }
}

static void made_of_it(struct check* t, const struct sides* s, MPI_Comm inter)
{
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Group group, first;
    int size = -1, flag = -1, zero = 0;
    MPI_Request request;
    // Those of each colour meet; the third of a group has nobody there.
    const int color = s->rank < 2 ? s->rank : MPI_UNDEFINED;
    const int is_met = s->rank < 2 && s->rank < s->remote_size;
    CHECK_CALL(t, MPI_Comm_split(inter, color, 0, &made));
    CHECK_INT(t, made != MPI_COMM_NULL, is_met);
    if (made != MPI_COMM_NULL) {
        CHECK_CALL(t, MPI_Comm_remote_size(made, &size));
        CHECK_INT(t, size, 1);
        CHECK_CALL(t, MPI_Barrier(made));
        CHECK_CALL(t, MPI_Comm_free(&made));
    }
    CHECK_CALL(t, MPI_Comm_group(inter, &group));
    CHECK_CALL(t, MPI_Group_incl(group, 1, &zero, &first));
    CHECK_CALL(t, MPI_Comm_create(inter, first, &made));
    CHECK_INT(t, made != MPI_COMM_NULL, s->rank == 0);
    if (made != MPI_COMM_NULL) {
        int out = t->rank, in = -1;
        CHECK_CALL(t, MPI_Comm_test_inter(made, &flag));
        CHECK_INT(t, flag, 1);
        CHECK_CALL(t, MPI_Sendrecv(&out, 1, MPI_INT, 0, tag, &in, 1, MPI_INT, 0, tag, made,
                                   MPI_STATUS_IGNORE));
        CHECK_INT(t, in, 1 - t->rank);
        CHECK_CALL(t, MPI_Comm_free(&made));
    }
    MPI_Group_free(&first);
    MPI_Group_free(&group);
    CHECK_CALL(t, MPI_Comm_idup(inter, &made, &request));
    CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
    messages(t, s, made, 3);
    CHECK_CALL(t, MPI_Comm_free(&made));
}

// Without a communicator: the leaders know both groups, the others their own.
static void from_groups(struct check* t, const struct sides* s, MPI_Comm inter)
{
    MPI_Group local, remote, given;
    MPI_Comm made;
    int result = -1;
    char name[32];  // of this thread
    snprintf(name, sizeof name, "test://inter/%d", check_place.thread);
    CHECK_CALL(t, MPI_Comm_group(inter, &local));
    CHECK_CALL(t, MPI_Comm_remote_group(inter, &remote));
    given = s->rank == 0 || t->lenient ? remote : MPI_GROUP_EMPTY;
    CHECK_CALL(t, MPI_Intercomm_create_from_groups(local, 0, given, 0, name, MPI_INFO_NULL,
                                                   MPI_ERRORS_RETURN, &made));
    CHECK_CALL(t, MPI_Comm_compare(inter, made, &result));
    CHECK_INT(t, result, MPI_CONGRUENT);
    messages(t, s, made, 2);
    MPI_Errhandler handler;
    CHECK_CALL(t, MPI_Comm_get_errhandler(made, &handler));
    CHECK(t, handler == MPI_ERRORS_RETURN);
    CHECK_CALL(t, MPI_Comm_free(&made));
    MPI_Group_free(&local);
    MPI_Group_free(&remote);
}

static void refused(struct check* t, const struct sides* s, MPI_Comm inter)
{
    int value = 0;
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(s->local, MPI_ERRORS_RETURN);
    REFUSED(t, MPI_Send(&value, 1, MPI_INT, s->remote_size, tag, inter), MPI_ERR_RANK);
    REFUSED(t, MPI_Bcast(&value, 1, MPI_INT, s->remote_size, inter), MPI_ERR_ROOT);
    if (!t->lenient) {
        int result = 0, size = 0;
        MPI_Comm made;
        REFUSED(t, MPI_Comm_remote_size(s->local, &size), MPI_ERR_COMM);
        REFUSED(t, MPI_Intercomm_merge(s->local, 0, &made), MPI_ERR_COMM);
        REFUSED(t, MPI_Scan(&value, &result, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM);
        REFUSED(t, MPI_Intercomm_create(inter, 0, MPI_COMM_WORLD, 0, tag, &made), MPI_ERR_COMM);
    }
}

static int test_main(void)
{
    struct check t = check_start("inter");
    if (t.size == 1) {
        int flag = 1;
        CHECK_CALL(&t, MPI_Comm_test_inter(MPI_COMM_WORLD, &flag));
        CHECK_INT(&t, flag, 0);
        return check_finish(&t);
    }
    struct sides s = begin(&t);
    facts(&t, &s, s.inter);
    messages(&t, &s, s.inter, 1);
    messages(&t, &s, s.inter, long_ints);
    for (int group = 0; group < 2; ++group) {
        const int size = group == s.color ? s.size : s.remote_size;
        for (int root = 0; root < size; ++root)
            rooted(&t, &s, s.inter, group, root);
    }
    listed(&t, &s, s.inter);
    for_all(&t, &s, s.inter);
    started(&t, &s, s.inter);
    merged(&t, &s, s.inter);
    made_of_it(&t, &s, s.inter);
    from_groups(&t, &s, s.inter);
    refused(&t, &s, s.inter);
    CHECK_CALL(&t, MPI_Comm_free(&s.inter));
    CHECK_CALL(&t, MPI_Comm_free(&s.local));
    return check_finish(&t);
}
