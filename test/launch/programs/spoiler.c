// SPDX-License-Identifier: Apache-2.0
// A library to be preloaded that harms what a program sends, as a faulty MPI library might: one
// message in SPOIL_EVERY has a wrong last byte (SPOIL=flip) or the bytes of the one before it
// (SPOIL=stale).
#include <mpi.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_long sent;
static _Thread_local const void* before;

int MPI_Isend(const void* bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request)
{
    const char* const how = getenv("SPOIL");
    const char* const every = getenv("SPOIL_EVERY");
    const void* harmed = bytes;
    if (how != NULL && every != NULL && count > 0 &&
        atomic_fetch_add(&sent, 1) % strtol(every, NULL, 10) == 0) {
        if (strcmp(how, "flip") == 0) {
            unsigned char* const copy = malloc((size_t)count);  // must outlive the request
            memcpy(copy, bytes, (size_t)count);
            copy[count - 1] ^= 1;
            harmed = copy;
        } else if (before != NULL) {
            harmed = before;
        }
    }
    before = bytes;
    return PMPI_Isend(harmed, count, type, to, tag, comm, request);
}
