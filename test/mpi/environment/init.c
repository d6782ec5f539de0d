// SPDX-License-Identifier: Apache-2.0
// MPI_Init_thread at the level CHECK_LEVEL names (0 single .. 3 multiple; -1 is MPI_Init), what
// may be called before and after, names, versions and clocks.
#define CHECK_OWN_INIT
#include "../check.h"

static void identity(struct check* t)
{
    char name[MPI_MAX_PROCESSOR_NAME], library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = -1, version = 0, subversion = -1;
    CHECK_CALL(t, MPI_Get_processor_name(name, &length));
    CHECK(t, length > 0 && length < MPI_MAX_PROCESSOR_NAME && (int)strlen(name) == length);
    CHECK_CALL(t, MPI_Get_version(&version, &subversion));
    CHECK(t, version == MPI_VERSION && subversion == MPI_SUBVERSION);
    CHECK_CALL(t, MPI_Get_library_version(library, &length));
    CHECK(t, length > 0 && (int)strlen(library) == length);
}

static void clocks(struct check* t)
{
    const double tick = MPI_Wtick();
    double last = MPI_Wtime();
    CHECK(t, tick > 0 && tick <= 1);
    for (int i = 0; i < 1000; ++i) {
        const double now = MPI_Wtime();
        if (!CHECK(t, now >= last))
            break;
        last = now;
    }
}

static void worlds(struct check* t)
{
    int rank = -1, size = -1;
    CHECK(t, t->size >= 1 && t->rank >= 0 && t->rank < t->size);
    CHECK_CALL(t, MPI_Comm_rank(MPI_COMM_SELF, &rank));
    CHECK_CALL(t, MPI_Comm_size(MPI_COMM_SELF, &size));
    CHECK(t, rank == 0 && size == 1);
}

// Flags that hold before MPI_Init, between and after MPI_Finalize. In a team other ranks of this
// process may be elsewhere, so the first and the last look are for processes only.
static void flags(int initialized, int finalized, int* wrong)
{
    int flag = -1;
    *wrong += MPI_Initialized(&flag) != MPI_SUCCESS || flag != initialized;
    flag = -1;
    *wrong += MPI_Finalized(&flag) != MPI_SUCCESS || flag != finalized;
}

static int test_main(void)
{
    static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                                 MPI_THREAD_MULTIPLE};
    const int alone = getenv("HEADWAY_TEAM") == NULL;
    const long level = check_setting("CHECK_LEVEL", -1);
    int provided = -1, queried = -1, is_main = 0, wrong = 0, started;
    if (alone)
        flags(0, 0, &wrong);
    if (level < 0) {
        started = MPI_Init(NULL, NULL);
    } else {
        started = MPI_Init_thread(NULL, NULL, levels[level], &provided);
    }
    struct check t = check_start("init");
    CHECK_INT(&t, started, MPI_SUCCESS);
    flags(1, 0, &wrong);
    CHECK_CALL(&t, MPI_Query_thread(&queried));
    CHECK_CALL(&t, MPI_Is_thread_main(&is_main));
    CHECK_INT(&t, is_main, 1);
    if (level >= 0) {
        CHECK(&t, provided >= levels[level]);
        CHECK_INT(&t, queried, provided);
    }
    CHECK(&t, queried == MPI_THREAD_SINGLE || queried == MPI_THREAD_FUNNELED ||
                  queried == MPI_THREAD_SERIALIZED || queried == MPI_THREAD_MULTIPLE);
    identity(&t);
    clocks(&t);
    worlds(&t);
    CHECK_CALL(&t, MPI_Barrier(MPI_COMM_WORLD));
    CHECK_CALL(&t, MPI_Finalize());
    if (alone)
        flags(1, 1, &wrong);
    CHECK_INT(&t, wrong, 0);
    return check_finish(&t);
}
