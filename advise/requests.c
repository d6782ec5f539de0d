// SPDX-License-Identifier: Apache-2.0
// The calls that start, complete or give up requests, and those with which MPI begins and ends.
#include <stdlib.h>
#include <string.h>

#include "profile.h"

enum { few = 64 };

// What the array held before the call, which may put MPI_REQUEST_NULL into it.
typedef struct {
    MPI_Request some[few];
    MPI_Request* all;
} Before;

static void keep(Before* before, int count, const MPI_Request requests[])
{
    const size_t bytes = (size_t)(count > 0 ? count : 0) * sizeof *requests;
    before->all = count <= few ? before->some : malloc(bytes);
    if (before->all != NULL && bytes != 0)
        memcpy(before->all, requests, bytes);
}

static void drop(Before* before)
{
    if (before->all != before->some)
        free(before->all);
}

static void completed_all(const Before* before, int count, uint64_t begin_ns)
{
    for (int index = 0; before->all != NULL && index < count; ++index)
        profile_completed(before->all[index], begin_ns, count);
}

static void completed_some(const Before* before, int count, const int indices[], uint64_t begin_ns)
{
    for (int index = 0; before->all != NULL && index < count; ++index)
        profile_completed(before->all[indices[index]], begin_ns, count);
}

int MPI_Init(int* argc, char*** argv)
{
    const int error = PMPI_Init(argc, argv);
    profile_begin();
    return error;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided)
{
    const int error = PMPI_Init_thread(argc, argv, required, provided);
    profile_begin();
    return error;
}

int MPI_Finalize(void)
{
    profile_end();
    return PMPI_Finalize();
}

int MPI_Start(MPI_Request* request)
{
    const uint64_t begin_ns = profile_enter();
    const int error = PMPI_Start(request);
    profile_started(*request);
    profile_leave(class_start, "MPI_Start", begin_ns);
    return error;
}

int MPI_Startall(int count, MPI_Request requests[])
{
    const uint64_t begin_ns = profile_enter();
    const int error = PMPI_Startall(count, requests);
    for (int index = 0; index < count; ++index)
        profile_started(requests[index]);
    profile_leave(class_start, "MPI_Startall", begin_ns);
    return error;
}

int MPI_Wait(MPI_Request* request, MPI_Status* status)
{
    const uint64_t begin_ns = profile_enter();
    const MPI_Request before = *request;
    const int error = PMPI_Wait(request, status);
    profile_completed(before, begin_ns, 1);
    profile_leave(class_finish, "MPI_Wait", begin_ns);
    return error;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status* statuses)
{
    const uint64_t begin_ns = profile_enter();
    Before before;
    keep(&before, count, requests);
    const int error = PMPI_Waitall(count, requests, statuses);
    completed_all(&before, count, begin_ns);
    drop(&before);
    profile_leave(class_finish, "MPI_Waitall", begin_ns);
    return error;
}

int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status)
{
    const uint64_t begin_ns = profile_enter();
    Before before;
    keep(&before, count, requests);
    const int error = PMPI_Waitany(count, requests, index, status);
    if (*index != MPI_UNDEFINED)
        completed_some(&before, 1, index, begin_ns);
    drop(&before);
    profile_leave(class_finish, "MPI_Waitany", begin_ns);
    return error;
}

int MPI_Waitsome(int count, MPI_Request requests[], int* outcount, int indices[],
                 MPI_Status* statuses)
{
    const uint64_t begin_ns = profile_enter();
    Before before;
    keep(&before, count, requests);
    const int error = PMPI_Waitsome(count, requests, outcount, indices, statuses);
    if (*outcount != MPI_UNDEFINED)
        completed_some(&before, *outcount, indices, begin_ns);
    drop(&before);
    profile_leave(class_finish, "MPI_Waitsome", begin_ns);
    return error;
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status)
{
    const uint64_t begin_ns = profile_enter();
    const MPI_Request before = *request;
    const int error = PMPI_Test(request, flag, status);
    if (*flag)
        profile_completed(before, begin_ns, 1);
    profile_leave(class_look, "MPI_Test", begin_ns);
    return error;
}

int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status* statuses)
{
    const uint64_t begin_ns = profile_enter();
    Before before;
    keep(&before, count, requests);
    const int error = PMPI_Testall(count, requests, flag, statuses);
    if (*flag)
        completed_all(&before, count, begin_ns);
    drop(&before);
    profile_leave(class_look, "MPI_Testall", begin_ns);
    return error;
}

int MPI_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status)
{
    const uint64_t begin_ns = profile_enter();
    Before before;
    keep(&before, count, requests);
    const int error = PMPI_Testany(count, requests, index, flag, status);
    if (*flag && *index != MPI_UNDEFINED)
        completed_some(&before, 1, index, begin_ns);
    drop(&before);
    profile_leave(class_look, "MPI_Testany", begin_ns);
    return error;
}

int MPI_Testsome(int count, MPI_Request requests[], int* outcount, int indices[],
                 MPI_Status* statuses)
{
    const uint64_t begin_ns = profile_enter();
    Before before;
    keep(&before, count, requests);
    const int error = PMPI_Testsome(count, requests, outcount, indices, statuses);
    if (*outcount != MPI_UNDEFINED)
        completed_some(&before, *outcount, indices, begin_ns);
    drop(&before);
    profile_leave(class_look, "MPI_Testsome", begin_ns);
    return error;
}

int MPI_Request_free(MPI_Request* request)
{
    const uint64_t begin_ns = profile_enter();
    const MPI_Request before = *request;
    const int error = PMPI_Request_free(request);
    profile_completed(before, begin_ns, 1);
    profile_leave(class_other, "MPI_Request_free", begin_ns);
    return error;
}
