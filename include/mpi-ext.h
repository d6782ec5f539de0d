/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Headway offers beside the standard. C99 or C++11 and later; mpi.h itself has the standard
 * names alone. Each function has a page in section 3 of the manual, and a twin PMPIX_... for tools.
 *
 * Sync objects: requests are attached once, and whoever completes one leaves an event with the
 * program's own pointer, its cookie. To ask for the oldest event costs the same however many
 * requests are attached, and any number of threads may ask at once. Source of the interface: the
 * sync objects of T. Patinyasakdikul's dissertation (University of Tennessee, 2019), chapter 4.
 *
 * Thread rule of all functions: any thread that may call MPI; of one rank, several at once under
 * MPI_THREAD_MULTIPLE. A sync object belongs to the rank that made it.
 * Errors: unless said otherwise a function returns an error code of MPI, after the error handler of
 * MPI_COMM_SELF was called; errors of an operation that has ended go to that of its communicator.
 */
#ifndef HEADWAY_MPI_EXT_H
#define HEADWAY_MPI_EXT_H

/* The macros below hold C casts, also where -Wold-style-cast is asked for. */
#if defined(__GNUC__)
#pragma GCC system_header
#endif

#include <mpi.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A program that has this header asks by these macros what is there. */
#define MPIX_HAVE_SYNC 1
#define MPIX_HAVE_PROGRESS 1

typedef struct MPIX_ABI_Sync* MPIX_Sync;

/* clang-format off */
#define MPIX_SYNC_NULL ((MPIX_Sync)0)
/* Cookies of its own: no object lies there, and both differ from small numbers made pointers. */
#define MPIX_SYNC_EMPTY              ((void*)((UINTPTR_MAX >> 1) + 1))
#define MPIX_SYNC_NO_COMPLETION_DATA ((void*)((UINTPTR_MAX >> 1) + 2))
/* What MPIX_Sync_detach says where it came too late; no error code of MPI is negative. */
#define MPIX_SYNC_ALREADY_COMPLETE   (-1)
/* clang-format on */

/* Makes a sync object, which may be used again and again until it is freed.
 * Errors: MPI_ERR_ARG (null pointer), MPI_ERR_NO_MEM. */
int MPIX_Sync_init(MPIX_Sync* sync);

/* Frees it, before MPI_Finalize, and sets the handle to MPIX_SYNC_NULL. Events that were not taken
 * are dropped, and their requests freed.
 * Errors: MPI_ERR_ARG (no sync object of this rank), MPI_ERR_PENDING (attached requests are not
 * complete, persistent ones are attached, or another thread waits; the object stays). */
int MPIX_Sync_free(MPIX_Sync* sync);

/* Hands a request over: when it is complete, an event with `completion_data` comes up, at once if
 * it is complete already; for MPIX_SYNC_NO_COMPLETION_DATA none does. The request is freed with its
 * event; until then the handle, which is not changed, may be given to MPI_Cancel,
 * MPI_Grequest_complete and MPIX_Sync_detach only. A cancelled request has no event.
 * A persistent request stays attached until MPIX_Sync_detach or MPI_Request_free: each MPI_Start
 * leads to one event, with which (without: when it is complete) it is inactive again.
 * Errors: MPI_ERR_REQUEST (no request, attached already, partitioned), MPI_ERR_ARG (no sync object,
 * null pointer, or MPIX_SYNC_EMPTY as completion_data), MPI_ERR_NO_MEM. */
int MPIX_Sync_attach(MPIX_Sync sync, MPI_Request* request, void* completion_data);

/* Takes a request back: it is as if it had not been attached. MPIX_SYNC_ALREADY_COMPLETE, which
 * calls no error handler: it is complete, its event is there, and it is freed with that (a
 * persistent request is not attached any more after that event).
 * Errors: MPI_ERR_REQUEST (not attached to this object), MPI_ERR_ARG (no sync object). */
int MPIX_Sync_detach(MPIX_Sync sync, MPI_Request* request);

/* Blocks until every attached request is complete. Events stay where they are.
 * Errors: MPI_ERR_ARG (no sync object), MPI_ERR_NO_MEM; that of an operation without event. */
int MPIX_Sync_waitall(MPIX_Sync sync);

/* How many attached requests are not complete. Looks only, and makes no progress.
 * Errors, after which it is -1: MPI_ERR_ARG (no sync object); of an operation without event. */
int MPIX_Sync_size(MPIX_Sync sync);

/* How many events wait to be taken. Looks only, and makes no progress.
 * Errors: as MPIX_Sync_size. */
int MPIX_Sync_probe(MPIX_Sync sync);

/* Takes the oldest event: its cookie, or MPIX_SYNC_EMPTY if there is none, after one round of
 * progress. Fills `status` (which may be MPI_STATUS_IGNORE) as MPI_Wait does, and its MPI_ERROR;
 * left alone where there is no event.
 * Errors: MPI_ERR_ARG (no sync object; the result is MPIX_SYNC_EMPTY); that of the operation. */
void* MPIX_Sync_query(MPIX_Sync sync, MPI_Status* status);

/* Takes up to `incount` events, the oldest first, after one round of progress if there is none:
 * `outcount` cookies and, unless it is MPI_STATUSES_IGNORE, as many statuses.
 * Errors: MPI_ERR_ARG (no sync object, null pointer), MPI_ERR_COUNT (negative), MPI_ERR_IN_STATUS
 * (operations failed, as their MPI_ERROR says). */
int MPIX_Sync_query_bulk(int incount, MPIX_Sync sync, int* outcount, void* cbdata[],
                         MPI_Status status[]);

/* Makes one round of progress for the calling thread's rank. Does not block. */
void MPIX_Progress(void);

int PMPIX_Sync_init(MPIX_Sync* sync);
int PMPIX_Sync_free(MPIX_Sync* sync);
int PMPIX_Sync_attach(MPIX_Sync sync, MPI_Request* request, void* completion_data);
int PMPIX_Sync_detach(MPIX_Sync sync, MPI_Request* request);
int PMPIX_Sync_waitall(MPIX_Sync sync);
int PMPIX_Sync_size(MPIX_Sync sync);
int PMPIX_Sync_probe(MPIX_Sync sync);
void* PMPIX_Sync_query(MPIX_Sync sync, MPI_Status* status);
int PMPIX_Sync_query_bulk(int incount, MPIX_Sync sync, int* outcount, void* cbdata[],
                          MPI_Status status[]);
void PMPIX_Progress(void);

#ifdef __cplusplus
}
#endif

#endif
