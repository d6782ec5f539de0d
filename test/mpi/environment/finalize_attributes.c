// SPDX-License-Identifier: Apache-2.0
// MPI_Finalize deletes the attributes of MPI_COMM_SELF first, the last set first, while MPI works.
#define CHECK_OWN_INIT
#include "../check.h"

enum { many = 3 };

struct record {
    int order[many];
    int count;
    int sum;
};

static int on_delete(MPI_Comm comm, int key, void* value, void* extra)
{
    struct record* record = extra;
    int one = 1, finalized = 1;
    (void)key;
    if (comm != MPI_COMM_SELF || record->count == many)
        return MPI_ERR_OTHER;
    record->order[record->count++] = (int)(intptr_t)value;
    MPI_Finalized(&finalized);
    if (finalized)
        return MPI_ERR_OTHER;
    return MPI_Allreduce(&one, &record->sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static int test_main(void)
{
    struct record record = {{0}, 0, 0};
    MPI_Init(NULL, NULL);
    struct check t = check_start("finalize_attributes");
    for (intptr_t i = 0; i < many; ++i) {
        int key;
        CHECK_CALL(&t, MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, &record));
        CHECK_CALL(&t, MPI_Comm_set_attr(MPI_COMM_SELF, key, (void*)(i + 1)));
        CHECK_CALL(&t, MPI_Comm_free_keyval(&key));
    }
    CHECK_INT(&t, record.count, 0);
    MPI_Finalize();
    CHECK_INT(&t, record.count, many);
    for (int i = 0; i < many; ++i)
        CHECK_INT(&t, record.order[i], many - i);
    CHECK_INT(&t, record.sum, t.size);
    return check_finish(&t);
}
