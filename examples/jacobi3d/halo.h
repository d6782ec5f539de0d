// SPDX-License-Identifier: Apache-2.0
// Exchange of the outermost owned layers with the neighbours. Between start and finish the program
// computes what needs no halo, while the messages travel.
#ifndef JACOBI3D_HALO_H
#define JACOBI3D_HALO_H

#include "clock.h"
#include "field.h"

typedef struct {
    MPI_Comm comm;
    double* outgoing[faces];  // packed faces; NULL where there is no neighbour
    double* incoming[faces];
    int count[faces];  // values in a face
    MPI_Request requests[2 * faces];
} Halo;

// False without memory. `comm` must outlive the halo.
bool make_halo(MPI_Comm comm, const Block* block, Halo* halo);
void free_halo(Halo* halo);

// Posts receives, packs and posts sends of iterate `now`.
void start_halo(Halo* halo, const Block* block, const Field* field, MpiClock* clock);

// Waits for all of them and fills the halo of `now`.
void finish_halo(Halo* halo, const Block* block, Field* field, MpiClock* clock);

#endif
