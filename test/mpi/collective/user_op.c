// SPDX-License-Identifier: Apache-2.0
// User operations: arguments they are called with, commutative ones, and operations that do not
// commute, whose result must be that of rank order (MPI 5.0, 6.9.1).
#include "../check.h"

enum { prime = 2147483647 };

static const int counts[] = {1, 2, 7, 1000, 30000};
enum { count_count = sizeof counts / sizeof counts[0] };

// An element is the map x -> slope * x + shift modulo a prime, packed in one 64-bit word.
// Composition is associative and does not commute.
static uint64_t compose(uint64_t first, uint64_t second)
{
    const uint64_t a = first >> 32, b = first & 0xFFFFFFFFu;
    const uint64_t c = second >> 32, d = second & 0xFFFFFFFFu;
    return (a * c % prime) << 32 | ((b * c % prime + d) % prime);
}

// Called as inout = in op inout, where `in` comes from the lower ranks. A wrong type or length
// spoils the result, since a test of ranks in one program has nowhere else to note it.
static void compose_op(void* in, void* inout, int* length, MPI_Datatype* type)
{
    const uint64_t* first = in;
    uint64_t* second = inout;
    const int right = *type == MPI_UINT64_T && *length > 0;
    for (int i = 0; i < *length; ++i)
        second[i] = right ? compose(first[i], second[i]) : 0;
}

static void gcd_op(void* in, void* inout, int* length, MPI_Datatype* type)
{
    const int* first = in;
    int* second = inout;
    if (*type != MPI_INT)
        return;
    for (int i = 0; i < *length; ++i) {
        int a = first[i], b = second[i];
        while (b != 0) {
            const int rest = a % b;
            a = b;
            b = rest;
        }
        second[i] = a;
    }
}

static uint64_t map_of(int rank, int i)
{
    return (uint64_t)(rank * 31 + i % 97 + 2) << 32 | (uint64_t)(rank * 7 + i * 3 + 1);
}

static uint64_t in_rank_order(int size, int i)
{
    uint64_t result = map_of(0, i);
    for (int rank = 1; rank < size; ++rank)
        result = compose(result, map_of(rank, i));
    return result;
}

static void check_maps(struct check* t, const uint64_t* in, int count)
{
    int wrong = 0;
    for (int i = 0; i < count; ++i)
        wrong += in[i] != in_rank_order(t->size, i);
    CHECK_INT(t, wrong, 0);
}

static void fill_maps(const struct check* t, uint64_t* data, int count)
{
    for (int i = 0; i < count; ++i)
        data[i] = map_of(t->rank, i);
}

static void ordered(struct check* t, MPI_Op op, int count)
{
    uint64_t* out = check_memory((size_t)count * sizeof *out);
    uint64_t* in = check_memory((size_t)count * sizeof *in);
    MPI_Request request;
    fill_maps(t, out, count);
    for (int root = 0; root < t->size; ++root) {
        memset(in, 0, (size_t)count * sizeof *in);
        CHECK_CALL(t, MPI_Reduce(out, in, count, MPI_UINT64_T, op, root, MPI_COMM_WORLD));
        if (t->rank == root)
            check_maps(t, in, count);
        fill_maps(t, in, count);
        CHECK_CALL(t, MPI_Ireduce(t->rank == root ? MPI_IN_PLACE : out, in, count, MPI_UINT64_T, op,
                                  root, MPI_COMM_WORLD, &request));
        CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (t->rank == root)
            check_maps(t, in, count);
    }
    CHECK_CALL(t, MPI_Allreduce(out, in, count, MPI_UINT64_T, op, MPI_COMM_WORLD));
    check_maps(t, in, count);
    fill_maps(t, in, count);
    CHECK_CALL(t, MPI_Allreduce(MPI_IN_PLACE, in, count, MPI_UINT64_T, op, MPI_COMM_WORLD));
    check_maps(t, in, count);
    memset(in, 0, (size_t)count * sizeof *in);
    CHECK_CALL(t, MPI_Iallreduce(out, in, count, MPI_UINT64_T, op, MPI_COMM_WORLD, &request));
    CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
    check_maps(t, in, count);
    free(in);
    free(out);
}

static void commutative(struct check* t, MPI_Op op, int count)
{
    int* out = check_memory((size_t)count * sizeof *out);
    int* in = check_memory((size_t)count * sizeof *in);
    int wrong = 0;
    for (int i = 0; i < count; ++i)
        out[i] = 6 * (i % 11 + 1) * (t->rank + 1);
    CHECK_CALL(t, MPI_Allreduce(out, in, count, MPI_INT, op, MPI_COMM_WORLD));
    for (int i = 0; i < count; ++i)
        wrong += in[i] != 6 * (i % 11 + 1);
    CHECK_INT(t, wrong, 0);
    CHECK_CALL(t, MPI_Reduce(out, in, count, MPI_INT, op, t->size - 1, MPI_COMM_WORLD));
    for (int i = 0; i < count && t->rank == t->size - 1; ++i)
        wrong += in[i] != 6 * (i % 11 + 1);
    CHECK_INT(t, wrong, 0);
    free(in);
    free(out);
}

// An op may be freed while an operation with it is under way.
static void freed_early(struct check* t)
{
    uint64_t out[100], in[100] = {0};
    MPI_Op op;
    MPI_Request request;
    fill_maps(t, out, 100);
    CHECK_CALL(t, MPI_Op_create(compose_op, 0, &op));
    CHECK_CALL(t, MPI_Iallreduce(out, in, 100, MPI_UINT64_T, op, MPI_COMM_WORLD, &request));
    CHECK_CALL(t, MPI_Op_free(&op));
    CHECK(t, op == MPI_OP_NULL);
    CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
    check_maps(t, in, 100);
}

typedef struct {
    int value;
    int is_named; /* in all calls so far */
} Noted;

// Adds up values, and sees whether the datatype is the very one that the collective was called
// with, as its name tells: programs compare it with theirs.
static void add_noted(void* in, void* inout, int* length, MPI_Datatype* type)
{
    const Noted* first = in;
    Noted* second = inout;
    char name[MPI_MAX_OBJECT_NAME], wanted[32];
    int name_length = 0, bytes = 0;
    MPI_Type_get_name(*type, name, &name_length);
    MPI_Type_size(*type, &bytes);
    snprintf(wanted, sizeof wanted, "%p", (void*)*type);
    for (int i = 0; i < *length; ++i) {
        second[i].value += first[i].value;
        second[i].is_named &= first[i].is_named & (strcmp(name, wanted) == 0);
        if (bytes != sizeof(Noted))
            second[i].value = -1;
    }
}

static MPI_Datatype noted_type(void)
{
    char name[32];
    MPI_Datatype type;
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_commit(&type);
    snprintf(name, sizeof name, "%p", (void*)type);
    MPI_Type_set_name(type, name);
    return type;
}

// Of one rank nothing need be combined.
static void derived_types(struct check* t)
{
    const int all = t->size * (t->size + 1) / 2;
    const Noted own = {t->rank + 1, 1};
    Noted sum = {0, 0}, early = {0, 0}, local = own;
    MPI_Datatype type = noted_type();
    MPI_Op op;
    MPI_Request request;
    CHECK_CALL(t, MPI_Op_create(add_noted, 1, &op));
    CHECK_CALL(t, MPI_Allreduce(&own, &sum, 1, type, op, MPI_COMM_WORLD));
    CHECK_INT(t, sum.value, all);
    CHECK_INT(t, sum.is_named, 1);
    CHECK_CALL(t, MPI_Iallreduce(&own, &sum, 1, type, op, MPI_COMM_WORLD, &request));
    CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_INT(t, sum.value, all);
    CHECK_INT(t, sum.is_named, 1);
    CHECK_CALL(t, MPI_Scan(&own, &sum, 1, type, op, MPI_COMM_WORLD));
    CHECK_INT(t, sum.value, (t->rank + 1) * (t->rank + 2) / 2);
    CHECK_INT(t, sum.is_named, 1);
    CHECK_CALL(t, MPI_Reduce_local(&own, &local, 1, type, op));
    CHECK_INT(t, local.value, 2 * own.value);
    CHECK_INT(t, local.is_named, 1);
    // Freed meanwhile: the handle serves the operation still, and cannot be freed again.
    CHECK_CALL(t, MPI_Iallreduce(&own, &early, 1, type, op, MPI_COMM_WORLD, &request));
    MPI_Datatype copy = type;
    CHECK_CALL(t, MPI_Type_free(&type));
    if (!t->skip_garbage) {
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        REFUSED(t, MPI_Type_free(&copy), MPI_ERR_TYPE);
    }
    CHECK_CALL(t, MPI_Op_free(&op));
    CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_INT(t, early.value, all);
    CHECK_INT(t, early.is_named, 1);
}

static int test_main(void)
{
    struct check t = check_start("user_op");
    MPI_Op composition, gcd;
    CHECK_CALL(&t, MPI_Op_create(compose_op, 0, &composition));
    CHECK_CALL(&t, MPI_Op_create(gcd_op, 1, &gcd));
    CHECK(&t, composition != gcd && gcd != MPI_OP_NULL);
    for (int i = 0; i < count_count; ++i) {
        ordered(&t, composition, counts[i]);
        commutative(&t, gcd, counts[i]);
    }
    CHECK_CALL(&t, MPI_Op_free(&composition));
    CHECK_CALL(&t, MPI_Op_free(&gcd));
    CHECK(&t, gcd == MPI_OP_NULL);
    freed_early(&t);
    derived_types(&t);
    return check_finish(&t);
}
