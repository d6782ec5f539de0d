// SPDX-License-Identifier: Apache-2.0
#include "halo.h"

#include <stdlib.h>
#include <string.h>

// A message carries the face it leaves through as its tag.
static int opposite(int face)
{
    return face ^ 1;
}

static int neighbour_of(const Block* block, int face)
{
    return block->neighbour[face / sides][face % sides];
}

bool make_halo(MPI_Comm comm, const Block* block, Halo* halo)
{
    memset(halo, 0, sizeof *halo);
    halo->comm = comm;
    bool good = true;
    for (int face = 0; face < faces; ++face) {
        halo->requests[face] = halo->requests[faces + face] = MPI_REQUEST_NULL;
        if (neighbour_of(block, face) == no_rank)
            continue;
        const int axis = face / sides;
        halo->count[face] = block->count[(axis + 1) % axes] * block->count[(axis + 2) % axes];
        const size_t size_bytes = (size_t)halo->count[face] * sizeof(double);
        halo->outgoing[face] = malloc(size_bytes);
        halo->incoming[face] = malloc(size_bytes);
        if (halo->outgoing[face] == NULL || halo->incoming[face] == NULL)
            good = false;
    }
    if (!good)
        free_halo(halo);
    return good;
}

void free_halo(Halo* halo)
{
    for (int face = 0; face < faces; ++face) {
        free(halo->outgoing[face]);
        free(halo->incoming[face]);
        halo->outgoing[face] = halo->incoming[face] = NULL;
    }
}

// The owned layer at a face (depth 1) or the halo behind it (depth 0).
static Box layer_at(const Block* block, int face, int depth)
{
    Box layer;
    for (int axis = 0; axis < axes; ++axis) {
        layer.low[axis] = 1;
        layer.high[axis] = block->count[axis] + 1;
    }
    const int axis = face / sides;
    layer.low[axis] = face % sides == 0 ? depth : block->count[axis] + 1 - depth;
    layer.high[axis] = layer.low[axis] + 1;
    return layer;
}

static void pack(const Field* field, const Box* layer, double* buffer)
{
    const size_t row = (size_t)(layer->high[2] - layer->low[2]);
    for (int x = layer->low[0]; x < layer->high[0]; ++x) {
        for (int y = layer->low[1]; y < layer->high[1]; ++y) {
            const double* const from = field->now + field_index(field, x, y, layer->low[2]);
            for (size_t z = 0; z < row; ++z)
                *buffer++ = from[z];
        }
    }
}

static void unpack(const double* buffer, const Box* layer, Field* field)
{
    const size_t row = (size_t)(layer->high[2] - layer->low[2]);
    for (int x = layer->low[0]; x < layer->high[0]; ++x) {
        for (int y = layer->low[1]; y < layer->high[1]; ++y) {
            double* const to = field->now + field_index(field, x, y, layer->low[2]);
            for (size_t z = 0; z < row; ++z)
                to[z] = *buffer++;
        }
    }
}

void start_halo(Halo* halo, const Block* block, const Field* field, MpiClock* clock)
{
    enter_mpi(clock);
    for (int face = 0; face < faces; ++face) {
        if (halo->incoming[face] == NULL)
            continue;
        MPI_Irecv(halo->incoming[face], halo->count[face], MPI_DOUBLE, neighbour_of(block, face),
                  opposite(face), halo->comm, &halo->requests[face]);
    }
    leave_mpi(clock);
    for (int face = 0; face < faces; ++face) {
        if (halo->outgoing[face] == NULL)
            continue;
        const Box layer = layer_at(block, face, 1);
        pack(field, &layer, halo->outgoing[face]);
        enter_mpi(clock);
        MPI_Isend(halo->outgoing[face], halo->count[face], MPI_DOUBLE, neighbour_of(block, face),
                  face, halo->comm, &halo->requests[faces + face]);
        leave_mpi(clock);
    }
}

void finish_halo(Halo* halo, const Block* block, Field* field, MpiClock* clock)
{
    enter_mpi(clock);
    MPI_Waitall(2 * faces, halo->requests, MPI_STATUSES_IGNORE);
    leave_mpi(clock);
    for (int face = 0; face < faces; ++face) {
        if (halo->incoming[face] == NULL)
            continue;
        const Box layer = layer_at(block, face, 0);
        unpack(halo->incoming[face], &layer, field);
    }
}
