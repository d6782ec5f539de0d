// SPDX-License-Identifier: Apache-2.0
// Reduce, Allreduce, Ireduce and Iallreduce: every root, counts from none to large, in place,
// on parts of the world; operands are left as they were.
#include "../check.h"

static const int counts[] = {0, 1, 7, 40, 1000, 8193, 100000};
enum { count_count = sizeof counts / sizeof counts[0] };
enum form { blocking, started, blocking_in_place, started_in_place, form_count };

struct part {
    MPI_Comm comm;
    int rank;
    int size;
};

static int64_t operand(int rank, int i)
{
    return (int64_t)rank * 1000003 + (int64_t)i * 17 - 5;
}

static int64_t total(int size, int i)
{
    int64_t sum = 0;
    for (int rank = 0; rank < size; ++rank)
        sum += operand(rank, i);
    return sum;
}

static int finish(int code, MPI_Request* request)
{
    return code != MPI_SUCCESS ? code : MPI_Wait(request, MPI_STATUS_IGNORE);
}

static int all_reduce(enum form form, int64_t* out, int64_t* in, int count, MPI_Comm comm)
{
    MPI_Request request;
    const void* from = form >= blocking_in_place ? MPI_IN_PLACE : out;
    if (form == blocking || form == blocking_in_place) {
        return MPI_Allreduce(from, in, count, MPI_INT64_T, MPI_SUM, comm);
    }
    return finish(MPI_Iallreduce(from, in, count, MPI_INT64_T, MPI_SUM, comm, &request), &request);
}

// Only the root has a result buffer, and only it may work in place.
static int reduce(enum form form, int64_t* out, int64_t* in, int count, int root,
                  const struct part* p)
{
    MPI_Request request;
    const int at_root = p->rank == root;
    const void* from = form >= blocking_in_place && at_root ? MPI_IN_PLACE : out;
    void* to = at_root ? in : NULL;
    if (form == blocking || form == blocking_in_place) {
        return MPI_Reduce(from, to, count, MPI_INT64_T, MPI_SUM, root, p->comm);
    }
    return finish(MPI_Ireduce(from, to, count, MPI_INT64_T, MPI_SUM, root, p->comm, &request),
                  &request);
}

static void prepare(const struct part* p, int64_t* out, int64_t* in, int count, int in_place)
{
    for (int i = 0; i < count; ++i) {
        out[i] = operand(p->rank, i);
        in[i] = in_place ? out[i] : -9;
    }
    in[count] = -77;
}

static void check_sums(struct check* t, const struct part* p, const int64_t* out, const int64_t* in,
                       int count, int has_result)
{
    int wrong = 0, touched = 0;
    for (int i = 0; i < count; ++i) {
        wrong += has_result && in[i] != total(p->size, i);
        touched += out[i] != operand(p->rank, i);
    }
    CHECK_INT(t, wrong, 0);
    CHECK_INT(t, touched, 0);
    CHECK_INT(t, in[count], -77);
}

static void all_forms(struct check* t, MPI_Comm comm)
{
    struct part p = {comm, -1, 0};
    int64_t* out = check_memory((size_t)(counts[count_count - 1] + 1) * sizeof *out);
    int64_t* in = check_memory((size_t)(counts[count_count - 1] + 1) * sizeof *in);
    CHECK_CALL(t, MPI_Comm_rank(comm, &p.rank));
    CHECK_CALL(t, MPI_Comm_size(comm, &p.size));
    for (int i = 0; i < count_count; ++i) {
        for (int form = 0; form < form_count; ++form) {
            const int in_place = form >= blocking_in_place;
            prepare(&p, out, in, counts[i], in_place);
            CHECK_CALL(t, all_reduce((enum form)form, out, in, counts[i], comm));
            check_sums(t, &p, out, in, counts[i], 1);
            for (int root = 0; root < p.size; ++root) {
                prepare(&p, out, in, counts[i], in_place);
                CHECK_CALL(t, reduce((enum form)form, out, in, counts[i], root, &p));
                check_sums(t, &p, out, in, counts[i], p.rank == root);
            }
        }
    }
    free(in);
    free(out);
}

// Rounds with moving roots and no pause: a rank that only sends may be far ahead.
static void in_a_row(struct check* t)
{
    for (int i = 0; i < 300; ++i) {
        const int root = i % t->size, mine = t->rank + i;
        int sum = -1, every = -1;
        CHECK_CALL(t, MPI_Reduce(&mine, &sum, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD));
        if (t->rank == root) {
            CHECK_INT(t, sum, t->size * (t->size - 1) / 2 + i * t->size);
        }
        if (i % 7 == 0) {
            CHECK_CALL(t, MPI_Allreduce(&mine, &every, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
            CHECK_INT(t, every, t->size - 1 + i);
        }
    }
}

static int test_main(void)
{
    struct check t = check_start("reduce");
    MPI_Comm part;
    all_forms(&t, MPI_COMM_WORLD);
    all_forms(&t, MPI_COMM_SELF);
    CHECK_CALL(&t, MPI_Comm_split(MPI_COMM_WORLD, t.rank == 0, t.size - t.rank, &part));
    all_forms(&t, part);
    CHECK_CALL(&t, MPI_Comm_free(&part));
    in_a_row(&t);
    return check_finish(&t);
}
