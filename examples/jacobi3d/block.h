// SPDX-License-Identifier: Apache-2.0
// Which part of the grid a rank owns, and boxes of grid points inside it.
#ifndef JACOBI3D_BLOCK_H
#define JACOBI3D_BLOCK_H

#include "settings.h"

enum { sides = 2, faces = axes * sides, no_rank = -1 };

typedef struct {
    int rank;
    int ranks;
    int parts[axes];             // ranks along each axis
    int position[axes];          // of this rank among them
    int first[axes];             // global index of the first point owned, from 0
    int count[axes];             // points owned along each axis
    int neighbour[axes][sides];  // rank behind each face; no_rank at the boundary of the box
} Block;

// Points low <= index < high in local indices; 0 and count + 1 are the halo.
typedef struct {
    int low[axes];
    int high[axes];
} Box;

// Splits the grid over `ranks` so that the cut surface is smallest. False where no split gives
// each rank a point.
bool split_grid(const int grid[axes], int ranks, int parts[axes]);

Block make_block(const int grid[axes], const int parts[axes], int rank);

// Takes from the points owned the layer at every face that has a neighbour: `shells` gets disjoint
// boxes (some may be empty), the return value is the interior, which needs no halo.
Box peel_shells(const Block* block, Box shells[faces]);

#endif
