// SPDX-License-Identifier: Apache-2.0
// Long reductions whose parts are combined on their way: types of several sizes, lengths that no
// piece divides, in place and not; ranks that come late, and ranks that go away to compute while
// the others wait, or all of them (MPI-5.0 sections 6.9 and 6.12).
#include <complex.h>
#include <stdbool.h>

#include "../check.h"

enum { count_max = 150001, forms = 5 };

static const int counts[] = {20001, 65536, count_max};

enum form { allreduce, reduce, reduce_scatter, late_allreduce, computing_allreduce };

// How a type's elements are written and read as whole numbers that sums keep exact.
struct element {
    MPI_Datatype type;
    size_t bytes;
};

static void put(const struct element* e, void* at, long value)
{
    if (e->type == MPI_SHORT)
        *(short*)at = (short)value;
    else if (e->type == MPI_FLOAT)
        *(float*)at = (float)value;
    else if (e->type == MPI_DOUBLE)
        *(double*)at = (double)value;
    else if (e->type == MPI_C_DOUBLE_COMPLEX)
        *(double complex*)at = (double)value + 2.0 * (double)value * I;
    else
        *(long double*)at = (long double)value;
}

static long get(const struct element* e, const void* at)
{
    if (e->type == MPI_SHORT)
        return *(const short*)at;
    if (e->type == MPI_FLOAT)
        return (long)*(const float*)at;
    if (e->type == MPI_DOUBLE)
        return (long)*(const double*)at;
    if (e->type == MPI_C_DOUBLE_COMPLEX) {
        const double complex z = *(const double complex*)at;
        return cimag(z) == 2.0 * creal(z) ? (long)creal(z) : -1;
    }
    return (long)*(const long double*)at;
}

static long part(int rank, int i)
{
    return (long)rank * 3 + i % 251 - 7;
}

static long sum_at(int ranks, int i)
{
    long sum = 0;
    for (int rank = 0; rank < ranks; ++rank)
        sum += part(rank, i);
    return sum;
}

static void fill(const struct check* t, const struct element* e, char* data, int count)
{
    for (int i = 0; i < count; ++i)
        put(e, data + (size_t)i * e->bytes, part(t->rank, i));
}

static void check_sums(struct check* t, const struct element* e, const char* data, int first,
                       int count)
{
    long wrong = 0;
    for (int i = 0; i < count; ++i)
        wrong += get(e, data + (size_t)i * e->bytes) != sum_at(t->size, first + i);
    CHECK_INT(t, wrong, 0);
}

// Work that makes no MPI call, longer than the transfer.
static double compute(double x)
{
    for (int i = 0; i < 300000; ++i)
        x = x * 0.999 + 0.001;
    return x;
}

static void one(struct check* t, const struct element* e, enum form form, int count, char* out,
                char* in)
{
    const MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request request;
    memset(in, 0x5A, (size_t)count * e->bytes);
    fill(t, e, out, count);
    int first = 0;
    int length = count;
    switch (form) {
        case allreduce:
            memcpy(in, out, (size_t)count * e->bytes);
            CHECK_CALL(t, MPI_Allreduce(MPI_IN_PLACE, in, count, e->type, MPI_SUM, comm));
            break;
        case reduce:
            CHECK_CALL(t, MPI_Reduce(out, in, count, e->type, MPI_SUM, t->size - 1, comm));
            if (t->rank != t->size - 1)
                return;
            break;
        case reduce_scatter:
            length = count / t->size;
            first = t->rank * length;
            CHECK_CALL(t, MPI_Reduce_scatter_block(out, in, length, e->type, MPI_SUM, comm));
            break;
        case late_allreduce:
            if (t->rank == 0)
                CHECK(t, compute((double)count) > 0.0);
            CHECK_CALL(t, MPI_Allreduce(out, in, count, e->type, MPI_SUM, comm));
            break;
        default:
            CHECK_CALL(t, MPI_Iallreduce(out, in, count, e->type, MPI_SUM, comm, &request));
            // Of two calls all compute, then only the even ranks; the others wait in MPI.
            if (count % 2 == 0 || t->rank % 2 == 0)
                CHECK(t, compute((double)count) > 0.0);
            CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
            break;
    }
    check_sums(t, e, in, first, length);
}

// With CHECK_COMBINES=1: where the ranks have a core each, parts are combined as they come, and the
// performance variable says so.
struct counter {
    bool is_open;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
};

static struct counter open_counter(struct check* t)
{
    struct counter counter = {.is_open = check_setting("CHECK_COMBINES", 0) > 0 &&
                                         sysconf(_SC_NPROCESSORS_ONLN) >= t->size};
    if (!counter.is_open)
        return counter;
    int provided = 0, index = -1, count = 0;
    CHECK_CALL(t, MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    CHECK_CALL(t, MPI_T_pvar_get_index("bytes_combined", MPI_T_PVAR_CLASS_AGGREGATE, &index));
    CHECK_CALL(t, MPI_T_pvar_session_create(&counter.session));
    CHECK_CALL(t, MPI_T_pvar_handle_alloc(counter.session, index, NULL, &counter.handle, &count));
    CHECK_CALL(t, MPI_T_pvar_start(counter.session, counter.handle));
    return counter;
}

static void close_counter(struct check* t, struct counter* counter)
{
    if (!counter->is_open)
        return;
    uint64_t bytes = 0;
    CHECK_CALL(t, MPI_T_pvar_read(counter->session, counter->handle, &bytes));
    CHECK(t, bytes > 0);
    CHECK_CALL(t, MPI_T_pvar_session_free(&counter->session));
    CHECK_CALL(t, MPI_T_finalize());
}

static int test_main(void)
{
    struct check t = check_start("combined");
    const struct element elements[] = {
        {MPI_SHORT, sizeof(short)},
        {MPI_FLOAT, sizeof(float)},
        {MPI_DOUBLE, sizeof(double)},
        {MPI_C_DOUBLE_COMPLEX, sizeof(double complex)},
        {MPI_LONG_DOUBLE, sizeof(long double)},
    };
    char* out = check_memory(count_max * sizeof(long double));
    char* in = check_memory(count_max * sizeof(long double));
    struct counter combined = open_counter(&t);
    for (size_t e = 0; e < sizeof elements / sizeof *elements; ++e) {
        for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
            for (int form = 0; form < forms; ++form)
                one(&t, &elements[e], (enum form)form, counts[c], out, in);
        }
    }
    free(out);
    free(in);
    close_counter(&t, &combined);
    return check_finish(&t);
}
