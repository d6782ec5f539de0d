// SPDX-License-Identifier: Apache-2.0
// A Jacobi iteration over a cube, cut into blocks in three dimensions: each exchanges its faces
// with its neighbours, then every point becomes the mean of its six neighbours. The same grid for
// any number of ranks. After each 16th iteration all learn the largest change. Case: "iteration".
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { points = 96, dimensions = 3, faces = 6, iterations_a_check = 16 };

typedef struct {
    const Harness* harness;
    MPI_Comm grid;
    int size[dimensions];   // own points
    int neighbours[faces];  // by dimension: below, above
    double* now;            // with a layer of neighbours' points around
    double* next;
    double* out[faces];
    double* in[faces];
    double change;
} Block;

static size_t at(const Block* block, int x, int y, int z)
{
    const size_t width = (size_t)block->size[0] + 2;
    const size_t height = (size_t)block->size[1] + 2;
    return ((size_t)z * height + (size_t)y) * width + (size_t)x;
}

static int face_points(const Block* block, int dimension)
{
    return block->size[(dimension + 1) % dimensions] * block->size[(dimension + 2) % dimensions];
}

// Copies the points of the plane `layer` of a dimension out of the block, or into it.
static void move_face(Block* block, int dimension, int layer, double* face, int is_out)
{
    const int first = (dimension + 1) % dimensions;
    const int second = (dimension + 2) % dimensions;
    int place[dimensions];
    place[dimension] = layer;
    for (int i = 1; i <= block->size[second]; ++i) {
        place[second] = i;
        for (int j = 1; j <= block->size[first]; ++j) {
            place[first] = j;
            double* const point = &block->now[at(block, place[0], place[1], place[2])];
            if (is_out)
                *face++ = *point;
            else
                *point = *face++;
        }
    }
}

static void exchange(Block* block)
{
    MPI_Request requests[2 * faces];
    for (int face = 0; face < faces; ++face)
        MPI_Irecv(block->in[face], face_points(block, face / 2), MPI_DOUBLE,
                  block->neighbours[face], face ^ 1, block->grid, &requests[face]);
    for (int face = 0; face < faces; ++face) {
        const int dimension = face / 2;
        if (block->neighbours[face] != MPI_PROC_NULL)
            move_face(block, dimension, face % 2 == 0 ? 1 : block->size[dimension],
                      block->out[face], 1);
        MPI_Isend(block->out[face], face_points(block, dimension), MPI_DOUBLE,
                  block->neighbours[face], face, block->grid, &requests[faces + face]);
    }
    MPI_Waitall(2 * faces, requests, MPI_STATUSES_IGNORE);
    for (int face = 0; face < faces; ++face) {
        if (block->neighbours[face] != MPI_PROC_NULL)
            move_face(block, face / 2, face % 2 == 0 ? 0 : block->size[face / 2] + 1,
                      block->in[face], 0);
    }
}

static double sweep(Block* block)
{
    const size_t line = (size_t)block->size[0] + 2;
    const size_t plane = line * ((size_t)block->size[1] + 2);
    double change = 0.0;
    for (int z = 1; z <= block->size[2]; ++z) {
        for (int y = 1; y <= block->size[1]; ++y) {
            const double* const now = &block->now[at(block, 0, y, z)];
            double* const next = &block->next[at(block, 0, y, z)];
            for (int x = 1; x <= block->size[0]; ++x) {
                const double value = (now[x - 1] + now[x + 1] + now[x - line] + now[x + line] +
                                      now[x - plane] + now[x + plane]) /
                                     6.0;
                change = fmax(change, fabs(value - now[x]));
                next[x] = value;
            }
        }
    }
    double* const before = block->now;
    block->now = block->next;
    block->next = before;
    return change;
}

static void agree(Block* block, double change)
{
    MPI_Allreduce(&change, &block->change, 1, MPI_DOUBLE, MPI_MAX, block->grid);
}

// A repetition is so many iterations, at whose end all know the change.
static void iterate(void* context, long repeats)
{
    Block* const block = context;
    for (long count = 0; count < repeats; ++count) {
        double change = 0.0;
        for (int i = 0; i < iterations_a_check; ++i) {
            exchange(block);
            change = sweep(block);
        }
        agree(block, change);
    }
}

static double* room_for(const Harness* harness, size_t count)
{
    double* const room = calloc(count, sizeof(double));
    if (room == NULL)
        harness_fail(harness, "no memory");
    return room;
}

static void make(Block* block, const Harness* harness)
{
    int parts[dimensions] = {0, 0, 0};
    const int no[dimensions] = {0, 0, 0};
    int place[dimensions];
    int rank = 0;
    MPI_Dims_create(harness->ranks, dimensions, parts);
    MPI_Cart_create(harness->comm, dimensions, parts, no, 0, &block->grid);
    MPI_Comm_rank(block->grid, &rank);
    MPI_Cart_coords(block->grid, rank, dimensions, place);
    size_t count = 1;
    for (int i = 0; i < dimensions; ++i) {
        block->size[i] = points * (place[i] + 1) / parts[i] - points * place[i] / parts[i];
        count *= (size_t)block->size[i] + 2;
        MPI_Cart_shift(block->grid, i, 1, &block->neighbours[2 * i], &block->neighbours[2 * i + 1]);
    }
    block->harness = harness;
    block->now = room_for(harness, count);
    block->next = room_for(harness, count);
    for (int face = 0; face < faces; ++face) {
        const size_t size = (size_t)face_points(block, face / 2);
        block->out[face] = room_for(harness, size);
        block->in[face] = room_for(harness, size);
    }
    // One wall of the cube is hot; its points lie in the layer around the blocks there.
    for (int y = 0; place[2] == 0 && y <= block->size[1] + 1; ++y) {
        for (int x = 0; x <= block->size[0] + 1; ++x) {
            block->now[at(block, x, y, 0)] = 1.0;
            block->next[at(block, x, y, 0)] = 1.0;
        }
    }
}

// The largest change of the first iteration is a sixth of the wall's heat, whoever has the wall.
static void verify(Block* block)
{
    exchange(block);
    agree(block, sweep(block));
    if (fabs(block->change - 1.0 / 6.0) > 1e-12)
        harness_fail(block->harness, "the first iteration changes the grid by a wrong amount");
}

int main(int argc, char** argv)
{
    static double samples_us[harness_samples_max];
    Harness harness;
    if (!harness_begin(&argc, &argv, &harness))
        return harness_end(&harness);
    Block block = {0};
    make(&block, &harness);
    verify(&block);
    if (harness_wants(&harness, "iteration")) {
        const int count = harness_sample(&harness, iterate, &block, samples_us);
        for (int index = 0; index < count; ++index)
            samples_us[index] /= iterations_a_check;
        harness_emit(&harness, "iteration", "time_us", "us", samples_us, count);
    }
    MPI_Comm_free(&block.grid);
    for (int face = 0; face < faces; ++face) {
        free(block.out[face]);
        free(block.in[face]);
    }
    free(block.now);
    free(block.next);
    return harness_end(&harness);
}
