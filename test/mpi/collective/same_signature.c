// SPDX-License-Identifier: Apache-2.0
// Members of a collective describe the same elements by other datatypes: only the signature has to
// be the same (MPI-5.0 sections 6.4 to 6.8). Which one a rank uses changes from call to call.
#include <stddef.h>
#include "../check.h"

// An element: three doubles.
enum { doubles = 3, form_count = 3, rounds = 5 };
static const int counts[] = {1, 40, 2000, 30000};
enum { count_count = sizeof counts / sizeof counts[0], count_max = 30000, all_to_all_max = 2000 };

struct form {
    MPI_Datatype type;
    int types_each;  // of one element
    int stride;      // of its doubles in memory
};
static _Thread_local struct form forms[form_count];

static void make_forms(struct check* t)
{
    forms[0] = (struct form){MPI_DOUBLE, doubles, 1};
    forms[1] = (struct form){MPI_DATATYPE_NULL, 1, 1};
    CHECK_CALL(t, MPI_Type_contiguous(doubles, MPI_DOUBLE, &forms[1].type));
    CHECK_CALL(t, MPI_Type_commit(&forms[1].type));
    MPI_Datatype apart;
    forms[2] = (struct form){MPI_DATATYPE_NULL, 1, 2};
    CHECK_CALL(t, MPI_Type_vector(doubles, 1, 2, MPI_DOUBLE, &apart));
    CHECK_CALL(t, MPI_Type_create_resized(apart, 0, 2 * doubles * (MPI_Aint)sizeof(double),
                                          &forms[2].type));
    CHECK_CALL(t, MPI_Type_commit(&forms[2].type));
    CHECK_CALL(t, MPI_Type_free(&apart));
}

// Double `i` of the block that `from` has for `to`.
static double value_of(int from, int to, int round, int i)
{
    return from * 1e9 + to * 1e7 + round * 1e6 + i;
}

static void fill(double* block, struct form form, int count, int from, int to, int round)
{
    for (int i = 0; i < count * doubles; ++i)
        block[i * form.stride] = value_of(from, to, round, i);
}

static void look(struct check* t, const double* block, struct form form, int count, int from,
                 int to, int round)
{
    int wrong = 0;
    for (int i = 0; i < count * doubles; ++i)
        wrong += block[i * form.stride] != value_of(from, to, round, i);
    CHECK_INT(t, wrong, 0);
}

static void clear(double* blocks, int count)
{
    for (int i = 0; i < count * doubles * 2; ++i)
        blocks[i] = -1;
}

// Where block `number` of that form lies.
static double* at(double* blocks, struct form form, int count, int number)
{
    return blocks + (ptrdiff_t)number * count * doubles * form.stride;
}

static void bcast(struct check* t, double* data, int count, int root, int round)
{
    const struct form form = forms[(t->rank + round) % form_count];
    clear(data, count);
    if (t->rank == root)
        fill(data, form, count, root, 0, round);
    CHECK_CALL(t, MPI_Bcast(data, count * form.types_each, form.type, root, MPI_COMM_WORLD));
    look(t, data, form, count, root, 0, round);
}

static void scatter(struct check* t, double* out, double* in, int count, int root, int round)
{
    const struct form given = forms[(t->rank + round + 1) % form_count];
    const struct form got = forms[(t->rank + round) % form_count];
    for (int to = 0; to < t->size && t->rank == root; ++to)
        fill(at(out, given, count, to), given, count, root, to, round);
    clear(in, count);
    CHECK_CALL(t, MPI_Scatter(out, count * given.types_each, given.type, in, count * got.types_each,
                              got.type, root, MPI_COMM_WORLD));
    look(t, in, got, count, root, t->rank, round);
}

static void gather(struct check* t, double* out, double* in, int count, int root, int round)
{
    const struct form given = forms[(t->rank + round) % form_count];
    const struct form got = forms[(t->rank + round + 1) % form_count];
    fill(out, given, count, t->rank, root, round);
    clear(in, count * t->size);
    CHECK_CALL(t, MPI_Gather(out, count * given.types_each, given.type, in, count * got.types_each,
                             got.type, root, MPI_COMM_WORLD));
    for (int from = 0; from < t->size && t->rank == root; ++from)
        look(t, at(in, got, count, from), got, count, from, root, round);
}

static void all_to_all(struct check* t, double* out, double* in, int count, int round)
{
    const struct form given = forms[(t->rank + round) % form_count];
    const struct form got = forms[(t->rank + round + 1) % form_count];
    for (int to = 0; to < t->size; ++to)
        fill(at(out, given, count, to), given, count, t->rank, to, round);
    clear(in, count * t->size);
    CHECK_CALL(t, MPI_Alltoall(out, count * given.types_each, given.type, in,
                               count * got.types_each, got.type, MPI_COMM_WORLD));
    for (int from = 0; from < t->size; ++from)
        look(t, at(in, got, count, from), got, count, from, t->rank, round);

    clear(in, count * t->size);
    CHECK_CALL(t, MPI_Allgather(out, count * given.types_each, given.type, in,
                                count * got.types_each, got.type, MPI_COMM_WORLD));
    for (int from = 0; from < t->size; ++from)
        look(t, at(in, got, count, from), got, count, from, 0, round);
}

static int test_main(void)
{
    struct check t = check_start("same_signature");
    make_forms(&t);
    const size_t bytes = (size_t)count_max * doubles * 2 * sizeof(double) * (size_t)t.size;
    double* out = check_memory(bytes);
    double* in = check_memory(bytes);
    for (int i = 0; i < count_count; ++i) {
        for (int round = 0; round < rounds; ++round) {
            const int root = round % t.size;
            bcast(&t, in, counts[i], root, round);
            scatter(&t, out, in, counts[i], root, round);
            gather(&t, out, in, counts[i], root, round);
            if (counts[i] <= all_to_all_max)
                all_to_all(&t, out, in, counts[i], round);
        }
    }
    for (int i = 1; i < form_count; ++i)
        CHECK_CALL(&t, MPI_Type_free(&forms[i].type));
    free(out);
    free(in);
    return check_finish(&t);
}
