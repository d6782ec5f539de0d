// SPDX-License-Identifier: Apache-2.0
// What `headway advise` loads before a program's MPI library, any that has the standard ABI: calls
// to MPI pass through here. gen/advise_calls.py writes most of the calls; those that complete
// requests stand in requests.c.
#ifndef HEADWAY_ADVISE_PROFILE_H
#define HEADWAY_ADVISE_PROFILE_H

#include <mpi.h>
#include <stdint.h>

// What a call does, as far as progress is concerned. `start` opens requests, `finish` blocks for
// them, `look` does not block; `other` is what a progress engine does not change.
typedef enum {
    class_blocking,
    class_start,
    class_look,
    class_finish,
    class_other,
    class_count
} CallClass;

// A call begins: its time in ns. A call within a call is not counted.
// Thread rule, of all functions here: any thread.
uint64_t profile_enter(void);
// The call that began then ends. `function` is its name, a literal.
void profile_leave(CallClass kind, const char* function, uint64_t begin_ns);

// A request was started by a call that is about to return.
void profile_started(MPI_Request request);
// A call that began at `begin_ns` and ends now has completed `request`, one of `count`.
void profile_completed(MPI_Request request, uint64_t begin_ns, int count);

// MPI is up, and about to go down: the latter writes what was seen to
// HEADWAY_ADVISE_DIR/rank-N.json.
void profile_begin(void);
void profile_end(void);

#endif
