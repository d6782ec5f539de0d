// SPDX-License-Identifier: Apache-2.0
#include "block.h"

// Points that lie on cuts, counted once for each cut.
static double cut_surface(const int grid[axes], const int parts[axes])
{
    double surface = 0.0;
    for (int axis = 0; axis < axes; ++axis) {
        const double face = (double)grid[(axis + 1) % axes] * grid[(axis + 2) % axes];
        surface += (parts[axis] - 1) * face;
    }
    return surface;
}

bool split_grid(const int grid[axes], int ranks, int parts[axes])
{
    bool found = false;
    double best = 0.0;
    for (int x = ranks; x >= 1; --x) {
        if (ranks % x != 0 || x > grid[0])
            continue;
        for (int y = ranks / x; y >= 1; --y) {
            const int z = ranks / x / y;
            if (ranks / x % y != 0 || y > grid[1] || z > grid[2])
                continue;
            const int candidate[axes] = {x, y, z};
            const double surface = cut_surface(grid, candidate);
            if (found && surface >= best)
                continue;
            found = true;
            best = surface;
            for (int axis = 0; axis < axes; ++axis)
                parts[axis] = candidate[axis];
        }
    }
    return found;
}

static int rank_at(const int parts[axes], const int position[axes])
{
    return (position[0] * parts[1] + position[1]) * parts[2] + position[2];
}

Block make_block(const int grid[axes], const int parts[axes], int rank)
{
    Block block = {.rank = rank, .ranks = parts[0] * parts[1] * parts[2]};
    block.position[0] = rank / (parts[1] * parts[2]);
    block.position[1] = rank / parts[2] % parts[1];
    block.position[2] = rank % parts[2];
    for (int axis = 0; axis < axes; ++axis) {
        const long place = block.position[axis];
        block.parts[axis] = parts[axis];
        block.first[axis] = (int)(place * grid[axis] / parts[axis]);
        block.count[axis] = (int)((place + 1) * grid[axis] / parts[axis]) - block.first[axis];
        for (int side = 0; side < sides; ++side) {
            int position[axes] = {block.position[0], block.position[1], block.position[2]};
            position[axis] += side == 0 ? -1 : 1;
            const bool inside = position[axis] >= 0 && position[axis] < parts[axis];
            block.neighbour[axis][side] = inside ? rank_at(parts, position) : no_rank;
        }
    }
    return block;
}

Box peel_shells(const Block* block, Box shells[faces])
{
    Box rest;
    for (int axis = 0; axis < axes; ++axis) {
        rest.low[axis] = 1;
        rest.high[axis] = block->count[axis] + 1;
    }
    for (int face = 0; face < faces; ++face) {
        const int axis = face / sides;
        const int side = face % sides;
        Box* const shell = &shells[face];
        *shell = rest;
        if (block->neighbour[axis][side] == no_rank || rest.low[axis] >= rest.high[axis]) {
            shell->high[axis] = shell->low[axis];
        } else if (side == 0) {
            shell->high[axis] = ++rest.low[axis];
        } else {
            shell->low[axis] = --rest.high[axis];
        }
    }
    return rest;
}
