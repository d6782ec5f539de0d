// SPDX-License-Identifier: Apache-2.0
// Collectives between two groups with elements that have gaps and another order where they arrive:
// persistent ones, started again with other data, many at once and in different orders; started
// ones; blocking ones. What must not be written keeps its value.
#include "../check.h"

enum { each = 3, out_extent = 7, in_extent = 6, members_max = 4, rounds = 3, calls = 15 };
enum { blocks_max = members_max * members_max, ints_max = blocks_max * out_extent, wide = 2 };

enum form { persistent, started, blocking, forms };

// In ints, from the beginning of an element.
static const int out_places[each] = {0, 2, 5}, in_places[each] = {4, 0, 1};

struct sides {
    MPI_Comm inter;
    MPI_Datatype out_type, in_type;
    MPI_Op sum;
    int color;       // the group: 0 are the even ranks of the world, 1 the odd ones
    int rank, size;  // in the own group
    int remote_size;
};

// How much goes to which member, or comes from it.
struct lists {
    int by_member[members_max], by_both[members_max], places[members_max];
    int out_bytes[members_max], in_bytes[members_max], scattered[members_max];
    MPI_Datatype out_types[members_max], in_types[members_max];
};

struct call {
    enum form form;
    int which, root_group, root, round;
};

static int value_of(int group, int member, int block, int k, int round)
{
    return (((group * members_max + member) * blocks_max + block) * each + k) * rounds + round + 1;
}

static void add(void* in, void* inout, int* count, MPI_Datatype* type)
{
    (void)type;
    for (int block = 0; block < *count; ++block) {
        for (int k = 0; k < each; ++k) {
            const int place = block * out_extent + out_places[k];
            ((int*)inout)[place] += ((const int*)in)[place];
        }
    }
}

static MPI_Datatype make_type(struct check* t, const int* places, int extent)
{
    MPI_Datatype tight, type;
    CHECK_CALL(t, MPI_Type_create_indexed_block(each, 1, places, MPI_INT, &tight));
    CHECK_CALL(t, MPI_Type_create_resized(tight, 0, (MPI_Aint)sizeof(int) * extent, &type));
    CHECK_CALL(t, MPI_Type_commit(&type));
    CHECK_CALL(t, MPI_Type_free(&tight));
    return type;
}

static struct lists make_lists(const struct sides* s)
{
    struct lists l;
    for (int i = 0; i < members_max; ++i) {
        l.by_member[i] = i % wide + 1;
        l.by_both[i] = (i + s->rank) % wide + 1;
        l.places[i] = i * wide;
        l.out_bytes[i] = i * wide * out_extent * (int)sizeof(int);
        l.in_bytes[i] = i * wide * in_extent * (int)sizeof(int);
        l.scattered[i] = s->remote_size;
        l.out_types[i] = s->out_type;
        l.in_types[i] = s->in_type;
    }
    // The sum stays the same, and that is what both groups must have in common.
    --l.scattered[0];
    ++l.scattered[s->size - 1];
    return l;
}

#define IN_FORM(Name, ...)                                                          \
    (c->form == persistent ? MPI_##Name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, r) \
     : c->form == started  ? MPI_I##Name##_(__VA_ARGS__, comm, r)                   \
                           : MPI_##Name(__VA_ARGS__, comm))
#define MPI_IBcast_ MPI_Ibcast
#define MPI_IGather_ MPI_Igather
#define MPI_IGatherv_ MPI_Igatherv
#define MPI_IScatter_ MPI_Iscatter
#define MPI_IScatterv_ MPI_Iscatterv
#define MPI_IAllgather_ MPI_Iallgather
#define MPI_IAllgatherv_ MPI_Iallgatherv
#define MPI_IAlltoall_ MPI_Ialltoall
#define MPI_IAlltoallv_ MPI_Ialltoallv
#define MPI_IAlltoallw_ MPI_Ialltoallw
#define MPI_IReduce_ MPI_Ireduce
#define MPI_IAllreduce_ MPI_Iallreduce
#define MPI_IReduce_scatter_block_ MPI_Ireduce_scatter_block
#define MPI_IReduce_scatter_ MPI_Ireduce_scatter

static int rooted_call(const struct call* c, const struct sides* s, const struct lists* l, int* out,
                       int* in, MPI_Request* r)
{
    const MPI_Comm comm = s->inter;
    const MPI_Datatype o = s->out_type, i = s->in_type;
    const int is_root = c->root_group == s->color && c->root == s->rank;
    const int root = is_root ? MPI_ROOT : c->root_group == s->color ? MPI_PROC_NULL : c->root;
    const int mine = l->by_member[s->rank];
    switch (c->which) {
        case 1:
            return IN_FORM(Bcast, is_root ? out : in, wide, is_root ? o : i, root);
        case 2:
            return IN_FORM(Gather, out, 1, o, in, 1, i, root);
        case 3:
            return IN_FORM(Gatherv, out, mine, o, in, l->by_member, l->places, i, root);
        case 4:
            return IN_FORM(Scatter, out, 1, o, in, 1, i, root);
        case 5:
            return IN_FORM(Scatterv, out, l->by_member, l->places, o, in, mine, i, root);
        default:
            return IN_FORM(Reduce, out, in, wide, o, s->sum, root);
    }
}

static int make_call(const struct call* c, const struct sides* s, const struct lists* l, int* out,
                     int* in, MPI_Request* r)
{
    const MPI_Comm comm = s->inter;
    const MPI_Datatype o = s->out_type, i = s->in_type;
    switch (c->which) {
        case 0:
            return c->form == persistent ? MPI_Barrier_init(comm, MPI_INFO_NULL, r)
                   : c->form == started  ? MPI_Ibarrier(comm, r)
                                         : MPI_Barrier(comm);
        case 7:
            return IN_FORM(Allgather, out, 1, o, in, 1, i);
        case 8:
            return IN_FORM(Allgatherv, out, l->by_member[s->rank], o, in, l->by_member, l->places,
                           i);
        case 9:
            return IN_FORM(Alltoall, out, 1, o, in, 1, i);
        case 10:
            return IN_FORM(Alltoallv, out, l->by_both, l->places, o, in, l->by_both, l->places, i);
        case 11:
            return IN_FORM(Alltoallw, out, l->by_both, l->out_bytes, l->out_types, in, l->by_both,
                           l->in_bytes, l->in_types);
        case 12:
            return IN_FORM(Allreduce, out, in, wide, o, s->sum);
        case 13:
            return IN_FORM(Reduce_scatter_block, out, in, s->remote_size, o, s->sum);
        case 14:
            return IN_FORM(Reduce_scatter, out, in, l->scattered, o, s->sum);
        default:
            return rooted_call(c, s, l, out, in, r);
    }
}

// `count` elements at `block` are those that a member of the other group has at `theirs`.
static void expect(int* want, const struct sides* s, const struct call* c, int block, int count,
                   int member, int theirs)
{
    for (int n = 0; n < count; ++n) {
        for (int k = 0; k < each; ++k)
            want[(block + n) * in_extent + in_places[k]] =
                value_of(1 - s->color, member, theirs + n, k, c->round);
    }
}

// The sums over the other group of the elements from `theirs` on.
static void expect_sums(int* want, const struct sides* s, const struct call* c, int count,
                        int theirs)
{
    for (int n = 0; n < count; ++n) {
        for (int k = 0; k < each; ++k) {
            int* const place = want + n * out_extent + out_places[k];
            *place = 0;
            for (int member = 0; member < s->remote_size; ++member)
                *place += value_of(1 - s->color, member, theirs + n, k, c->round);
        }
    }
}

static void expect_from_all(int* want, const struct sides* s, const struct lists* l,
                            const struct call* c)
{
    for (int m = 0; m < s->remote_size; ++m) {
        const int both = l->by_both[m];
        switch (c->which) {
            case 2:
            case 7:
                expect(want, s, c, m, 1, m, 0);
                break;
            case 3:
            case 8:
                expect(want, s, c, m * wide, l->by_member[m], m, 0);
                break;
            case 9:
                expect(want, s, c, m, 1, m, s->rank);
                break;
            default:
                expect(want, s, c, m * wide, both, m, s->rank * wide);
        }
    }
}

static void expect_all(int* want, const struct sides* s, const struct lists* l,
                       const struct call* c)
{
    const int is_root = c->root_group == s->color && c->root == s->rank;
    const int is_across = c->root_group != s->color;
    int before = 0;
    for (int i = 0; i < s->rank; ++i)
        before += l->scattered[i];
    memset(want, 0xff, sizeof(int) * ints_max);
    switch (c->which) {
        case 0:
            break;
        case 1:
            expect(want, s, c, 0, is_across ? wide : 0, c->root, 0);
            break;
        case 4:
            expect(want, s, c, 0, is_across ? 1 : 0, c->root, s->rank);
            break;
        case 5:
            expect(want, s, c, 0, is_across ? l->by_member[s->rank] : 0, c->root, s->rank * wide);
            break;
        case 6:
            expect_sums(want, s, c, is_root ? wide : 0, 0);
            break;
        case 12:
            expect_sums(want, s, c, wide, 0);
            break;
        case 13:
            expect_sums(want, s, c, s->remote_size, s->rank * s->remote_size);
            break;
        case 14:
            expect_sums(want, s, c, l->scattered[s->rank], before);
            break;
        default:
            if (c->which >= 7 || is_root)
                expect_from_all(want, s, l, c);
    }
}

static void verify(struct check* t, const struct sides* s, const struct lists* l,
                   const struct call* c, const int* in)
{
    int want[ints_max];
    expect_all(want, s, l, c);
    for (int i = 0; i < ints_max; ++i) {
        char what[96];
        snprintf(what, sizeof what, "call %d in form %d, root %d of group %d, round %d, int %d",
                 c->which, (int)c->form, c->root, c->root_group, c->round, i);
        check_equal(t, __FILE__, __LINE__, what, in[i], want[i]);
    }
}

static void fill(const struct sides* s, int* out, int* in, int round)
{
    memset(out, 0x55, sizeof(int) * ints_max);
    memset(in, 0xff, sizeof(int) * ints_max * calls);
    for (int block = 0; block < blocks_max; ++block) {
        for (int k = 0; k < each; ++k)
            out[block * out_extent + out_places[k]] = value_of(s->color, s->rank, block, k, round);
    }
}

// All persistent requests together; members start them in orders of their own.
static void again_and_again(struct check* t, const struct sides* s, const struct lists* l,
                            struct call c, int* out, int* in)
{
    MPI_Request requests[calls];
    c.form = persistent;
    for (c.which = 0; c.which < calls; ++c.which)
        CHECK_CALL(t, make_call(&c, s, l, out, in + c.which * ints_max, &requests[c.which]));
    for (c.round = 0; c.round < rounds; ++c.round) {
        fill(s, out, in, c.round);
        for (int i = 0; i < calls; ++i)
            CHECK_CALL(t, MPI_Start(&requests[(i + t->rank + c.round) % calls]));
        CHECK_CALL(t, MPI_Waitall(calls, requests, MPI_STATUSES_IGNORE));
        for (c.which = 0; c.which < calls; ++c.which)
            verify(t, s, l, &c, in + c.which * ints_max);
    }
    for (int i = 0; i < calls; ++i)
        CHECK_CALL(t, MPI_Request_free(&requests[i]));
}

static void once(struct check* t, const struct sides* s, const struct lists* l, struct call c,
                 int* out, int* in)
{
    MPI_Request requests[calls];
    fill(s, out, in, c.round);
    for (c.which = 0; c.which < calls; ++c.which) {
        requests[c.which] = MPI_REQUEST_NULL;
        CHECK_CALL(t, make_call(&c, s, l, out, in + c.which * ints_max, &requests[c.which]));
    }
    CHECK_CALL(t, MPI_Waitall(calls, requests, MPI_STATUSES_IGNORE));
    for (c.which = 0; c.which < calls; ++c.which)
        verify(t, s, l, &c, in + c.which * ints_max);
}

static void between_groups(struct check* t)
{
    struct sides s = {.color = t->rank % 2};
    MPI_Comm local;
    CHECK_CALL(t, MPI_Comm_split(MPI_COMM_WORLD, s.color, t->rank, &local));
    CHECK_CALL(t, MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - s.color, 3, &s.inter));
    MPI_Comm_rank(s.inter, &s.rank);
    MPI_Comm_size(s.inter, &s.size);
    MPI_Comm_remote_size(s.inter, &s.remote_size);
    s.out_type = make_type(t, out_places, out_extent);
    s.in_type = make_type(t, in_places, in_extent);
    CHECK_CALL(t, MPI_Op_create(add, 1, &s.sum));
    const struct lists l = make_lists(&s);
    int* const out = check_memory(sizeof(int) * ints_max);
    int* const in = check_memory(sizeof(int) * ints_max * calls);
    for (int group = 0; group < 2; ++group) {
        const int last = (group == s.color ? s.size : s.remote_size) - 1;
        for (int root = 0; root <= last; root += last > 0 ? last : 1) {
            const struct call c = {.root_group = group, .root = root};
            again_and_again(t, &s, &l, c, out, in);
            once(t, &s, &l, (struct call){started, 0, group, root, 1}, out, in);
            once(t, &s, &l, (struct call){blocking, 0, group, root, 2}, out, in);
        }
    }
    free(in);
    free(out);
    CHECK_CALL(t, MPI_Op_free(&s.sum));
    CHECK_CALL(t, MPI_Type_free(&s.in_type));
    CHECK_CALL(t, MPI_Type_free(&s.out_type));
    CHECK_CALL(t, MPI_Comm_free(&s.inter));
    CHECK_CALL(t, MPI_Comm_free(&local));
}

static int test_main(void)
{
    struct check t = check_start("inter_collectives");
    CHECK(&t, t.size <= 2 * members_max);
    if (t.size > 1)
        between_groups(&t);
    return check_finish(&t);
}
