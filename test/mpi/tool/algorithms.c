// SPDX-License-Identifier: Apache-2.0
// An algorithm that a tool chooses by a control variable before MPI_Init serves, also where the
// environment asks for another one: the algorithms of a barrier are told apart by the frames that
// the last of five ranks posts (without meetings, which need none). Needs a process a rank, as
// ranks of one process share its knobs.
#define CHECK_OWN_INIT
#include "../check.h"
#include "../frames.h"

enum { barriers = 100 };

static void choose(struct check* t, const char* name, const char* algorithm)
{
    int index = -1, count = 0;
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    CHECK_CALL(t, MPI_T_cvar_get_index(name, &index));
    CHECK_CALL(t, MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
    char* text = check_memory((size_t)count + 1);
    CHECK_CALL(t, MPI_T_cvar_read(handle, text));
    CHECK(t, strcmp(text, algorithm) != 0);
    snprintf(text, (size_t)count, "%s", algorithm);
    CHECK_CALL(t, MPI_T_cvar_write(handle, text));
    memset(text, 0, (size_t)count);
    CHECK_CALL(t, MPI_T_cvar_read(handle, text));
    CHECK_INT(t, strcmp(text, algorithm), 0);
    CHECK_CALL(t, MPI_T_cvar_handle_free(&handle));
    free(text);
}

/// What this rank posts meanwhile.
static uint64_t frames_of_barriers(struct check* t)
{
    const Frames frames = frames_begin(t);
    const uint64_t before = frames_posted(t, frames);
    for (int i = 0; i < barriers; ++i)
        MPI_Barrier(MPI_COMM_WORLD);
    const uint64_t after = frames_posted(t, frames);
    frames_end(t, frames);
    return after - before;
}

static int test_main(void)
{
    struct check t = {"tool/algorithms", -1, 0, 0, 0, 0, 0};
    int provided = -1;
    const char* const algorithm = getenv("CHECK_ALGORITHM");
    CHECK_CALL(&t, MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    choose(&t, "coll_barrier", algorithm);
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &t.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &t.size);
    const uint64_t posted = frames_of_barriers(&t);
    // Three rounds to five ranks, or one message to rank 0.
    const int rounds = strcmp(algorithm, "dissemination") == 0 ? 3 : 1;
    if (t.rank == t.size - 1)
        CHECK_INT(&t, posted, (uint64_t)(rounds * barriers));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    CHECK_CALL(&t, MPI_T_finalize());
    return check_finish(&t);
}
