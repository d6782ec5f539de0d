// SPDX-License-Identifier: Apache-2.0
// How many frames ranks post, by the performance variable: what needs a message posts one.
#pragma once

#include "check.h"

typedef struct {
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
} Frames;

static inline Frames frames_begin(struct check* t)
{
    Frames frames;
    int provided, index = -1, count = 0;
    CHECK_CALL(t, MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    CHECK_CALL(t, MPI_T_pvar_session_create(&frames.session));
    CHECK_CALL(t, MPI_T_pvar_get_index("frames_posted", MPI_T_PVAR_CLASS_COUNTER, &index));
    CHECK_CALL(t, MPI_T_pvar_handle_alloc(frames.session, index, NULL, &frames.handle, &count));
    CHECK_CALL(t, MPI_T_pvar_start(frames.session, frames.handle));
    return frames;
}

// By the calling rank.
static inline uint64_t frames_posted(struct check* t, Frames frames)
{
    uint64_t value = 0;
    CHECK_CALL(t, MPI_T_pvar_read(frames.session, frames.handle, &value));
    return value;
}

// Since `before`, all ranks of MPI_COMM_WORLD together have posted frames for so many calls with a
// root, or none at all.
static inline void frames_expect(struct check* t, Frames frames, uint64_t before, int calls)
{
    uint64_t own = frames_posted(t, frames) - before, all = 0;
    CHECK_CALL(t, MPI_Allreduce(&own, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD));
    if (calls != 0)
        CHECK(t, all >= (uint64_t)calls * (uint64_t)(t->size - 1));
    else
        CHECK_INT(t, all, 0);
}

static inline void frames_end(struct check* t, Frames frames)
{
    CHECK_CALL(t, MPI_T_pvar_session_free(&frames.session));
    CHECK_CALL(t, MPI_T_finalize());
}

// Whether what needs no message within a node needs none at all.
static inline int is_on_one_node(struct check* t)
{
    MPI_Comm node;
    int size = 0;
    CHECK_CALL(t,
               MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    CHECK_CALL(t, MPI_Comm_size(node, &size));
    CHECK_CALL(t, MPI_Comm_free(&node));
    return size == t->size;
}
