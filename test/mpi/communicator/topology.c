// SPDX-License-Identifier: Apache-2.0
// Topologies: grids, graphs and distributed graphs say what they were made of, and travel with
// duplicates.
#include "../check.h"

static void dims_row(struct check* t, int nodes, int count, const int* given, const int* want)
{
    int dims[4] = {0, 0, 0, 0};
    for (int i = 0; i < count; ++i)
        dims[i] = given[i];
    CHECK_CALL(t, MPI_Dims_create(nodes, count, dims));
    for (int i = 0; i < count; ++i)
        CHECK_INT(t, dims[i], want[i]);
}

static void dims(struct check* t)
{
    const int none[4] = {0, 0, 0, 0};
    dims_row(t, 6, 2, none, (const int[]){3, 2});
    dims_row(t, 7, 2, none, (const int[]){7, 1});
    dims_row(t, 12, 3, none, (const int[]){3, 2, 2});
    dims_row(t, 60, 3, none, (const int[]){5, 4, 3});
    dims_row(t, 64, 3, none, (const int[]){4, 4, 4});
    dims_row(t, 1, 3, none, (const int[]){1, 1, 1});
    dims_row(t, 6, 3, (const int[]){0, 3, 0}, (const int[]){2, 3, 1});
    dims_row(t, 6, 2, (const int[]){2, 3}, (const int[]){2, 3});
    dims_row(t, 36, 1, none, (const int[]){36});
    for (int nodes = 1; nodes < 200; ++nodes) {
        int found[4] = {0, 0, 0, 0};
        CHECK_CALL(t, MPI_Dims_create(nodes, 4, found));
        CHECK_INT(t, found[0] * found[1] * found[2] * found[3], nodes);
        CHECK(t, found[0] >= found[1] && found[1] >= found[2] && found[2] >= found[3]);
    }
    if (!t->lenient)
        dims_row(t, 2147483647, 2, none, (const int[]){2147483647, 1});
    int bad[2] = {4, 0};
    REFUSED(t, MPI_Dims_create(6, 2, bad), MPI_ERR_DIMS, MPI_ERR_ARG);
    bad[0] = -1;
    REFUSED(t, MPI_Dims_create(6, 2, bad), MPI_ERR_DIMS, MPI_ERR_ARG);
}

static void check_grid(struct check* t, MPI_Comm grid, const int* extents, int period)
{
    int found[2], periods[2], own[2], ndims = 0, rank = -1, status = -1;
    MPI_Comm_rank(grid, &rank);
    CHECK_CALL(t, MPI_Topo_test(grid, &status));
    CHECK_INT(t, status, MPI_CART);
    CHECK_CALL(t, MPI_Cartdim_get(grid, &ndims));
    CHECK_INT(t, ndims, 2);
    CHECK_CALL(t, MPI_Cart_get(grid, 2, found, periods, own));
    CHECK(t, found[0] == extents[0] && found[1] == extents[1]);
    CHECK(t, periods[0] == 1 && periods[1] == period);
    CHECK_INT(t, own[0] * extents[1] + own[1], rank);
    for (int i = 0; i < extents[0] * extents[1]; ++i) {
        int place[2] = {-1, -1}, back = -1;
        CHECK_CALL(t, MPI_Cart_coords(grid, i, 2, place));
        CHECK(t, place[0] == i / extents[1] && place[1] == i % extents[1]);
        place[0] -= 2 * extents[0];
        CHECK_CALL(t, MPI_Cart_rank(grid, place, &back));
        CHECK_INT(t, back, i);
    }
    for (int step = -2; step <= 2; ++step) {
        int from = -7, to = -7;
        CHECK_CALL(t, MPI_Cart_shift(grid, 0, step, &from, &to));
        const int row = ((own[0] + step) % extents[0] + extents[0]) % extents[0];
        CHECK_INT(t, to, row * extents[1] + own[1]);
        CHECK_CALL(t, MPI_Cart_shift(grid, 1, step, &from, &to));
        const int before = own[1] - step, after = own[1] + step;
        if (!period) {
            CHECK_INT(t, from, before < 0 || before >= extents[1] ? MPI_PROC_NULL : rank - step);
            CHECK_INT(t, to, after < 0 || after >= extents[1] ? MPI_PROC_NULL : rank + step);
        }
    }
}

static void check_slices(struct check* t, MPI_Comm grid, const int* extents)
{
    int own[2], found[2], periods[2], place[2], size = 0, ndims = -1, unused[1];
    CHECK_CALL(t, MPI_Cart_get(grid, 2, found, periods, own));
    for (int kept = 0; kept < 2; ++kept) {
        MPI_Comm slice;
        const int remain[2] = {kept == 0, kept == 1};
        CHECK_CALL(t, MPI_Cart_sub(grid, remain, &slice));
        CHECK_CALL(t, MPI_Cart_get(slice, 1, found, periods, place));
        CHECK_INT(t, found[0], extents[kept]);
        CHECK_INT(t, place[0], own[kept]);
        int sum = 0, want = 0;
        CHECK_CALL(t, MPI_Allreduce(&own[1 - kept], &sum, 1, MPI_INT, MPI_SUM, slice));
        want = own[1 - kept] * extents[kept];
        CHECK_INT(t, sum, want);
        CHECK_CALL(t, MPI_Comm_free(&slice));
    }
    MPI_Comm point;
    const int remain[2] = {0, 0};
    CHECK_CALL(t, MPI_Cart_sub(grid, remain, &point));
    MPI_Comm_size(point, &size);
    CHECK_INT(t, size, 1);
    CHECK_CALL(t, MPI_Cartdim_get(point, &ndims));
    CHECK_INT(t, ndims, 0);
    CHECK_CALL(t, MPI_Cart_get(point, 0, unused, unused, unused));
    CHECK_CALL(t, MPI_Comm_free(&point));
}

static void grids(struct check* t)
{
    for (int columns = 1; columns <= t->size; ++columns) {
        const int extents[2] = {t->size / columns, columns};
        for (int period = 0; period < 2; ++period) {
            const int periods[2] = {7, period};  // any non-zero is true
            const int places = extents[0] * extents[1];
            int mapped = -7;
            MPI_Comm grid, dup;
            MPI_Request request;
            CHECK_CALL(t, MPI_Cart_create(MPI_COMM_WORLD, 2, extents, periods, 0, &grid));
            CHECK_INT(t, grid == MPI_COMM_NULL, t->rank >= places);
            CHECK_CALL(t, MPI_Cart_map(MPI_COMM_WORLD, 2, extents, periods, &mapped));
            CHECK(t, t->lenient || mapped == (t->rank < places ? t->rank : MPI_UNDEFINED));
            if (grid == MPI_COMM_NULL)
                continue;
            check_grid(t, grid, extents, period);
            check_slices(t, grid, extents);
            CHECK_CALL(t, MPI_Comm_dup(grid, &dup));
            check_grid(t, dup, extents, period);
            CHECK_CALL(t, MPI_Comm_free(&dup));
            CHECK_CALL(t, MPI_Comm_idup(grid, &dup, &request));
            CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
            check_grid(t, dup, extents, period);
            CHECK_CALL(t, MPI_Comm_free(&dup));
            CHECK_CALL(t, MPI_Comm_free(&grid));
        }
    }
}

// A ring with reordering allowed: some permutation of the ranks.
static void reordered(struct check* t)
{
    const int periods[1] = {1};
    MPI_Comm ring;
    int from = -1, to = -1, in = -1, rank = -1;
    CHECK_CALL(t, MPI_Cart_create(MPI_COMM_WORLD, 1, &t->size, periods, 1, &ring));
    MPI_Comm_rank(ring, &rank);
    CHECK_CALL(t, MPI_Cart_shift(ring, 0, 1, &from, &to));
    CHECK_CALL(t, MPI_Sendrecv(&rank, 1, MPI_INT, to, 0, &in, 1, MPI_INT, from, 0, ring,
                               MPI_STATUS_IGNORE));
    CHECK_INT(t, in, (rank + t->size - 1) % t->size);
    CHECK_CALL(t, MPI_Comm_free(&ring));
}

// A path: each has the one before and the one after.
static void graphs(struct check* t)
{
    int index[8], edges[16], count = 0, found_nodes = -1, found_edges = -1, status = -1;
    int got_index[8], got_edges[16], mapped = -7;
    for (int i = 0; i < t->size; ++i) {
        if (i > 0)
            edges[count++] = i - 1;
        if (i + 1 < t->size)
            edges[count++] = i + 1;
        index[i] = count;
    }
    MPI_Comm graph, dup;
    CHECK_CALL(t, MPI_Graph_create(MPI_COMM_WORLD, t->size, index, edges, 0, &graph));
    CHECK_CALL(t, MPI_Graph_map(MPI_COMM_WORLD, t->size, index, edges, &mapped));
    CHECK_INT(t, mapped, t->rank);
    CHECK_CALL(t, MPI_Comm_dup(graph, &dup));
    CHECK_CALL(t, MPI_Comm_free(&graph));
    CHECK_CALL(t, MPI_Topo_test(dup, &status));
    CHECK_INT(t, status, MPI_GRAPH);
    CHECK_CALL(t, MPI_Graphdims_get(dup, &found_nodes, &found_edges));
    CHECK_INT(t, found_nodes, t->size);
    CHECK_INT(t, found_edges, count);
    CHECK_CALL(t, MPI_Graph_get(dup, 8, 16, got_index, got_edges));
    CHECK_INT(t, memcmp(got_index, index, (size_t)t->size * sizeof(int)), 0);
    CHECK_INT(t, memcmp(got_edges, edges, (size_t)count * sizeof(int)), 0);
    for (int i = 0; i < t->size; ++i) {
        int neighbors = -1, list[2] = {-1, -1};
        const int first = i > 0 ? index[i - 1] : 0;
        CHECK_CALL(t, MPI_Graph_neighbors_count(dup, i, &neighbors));
        CHECK_INT(t, neighbors, index[i] - first);
        CHECK_CALL(t, MPI_Graph_neighbors(dup, i, 2, list));
        for (int k = 0; k < neighbors; ++k)
            CHECK_INT(t, list[k], edges[first + k]);
    }
    CHECK_CALL(t, MPI_Comm_free(&dup));
    CHECK_CALL(t, MPI_Graph_create(MPI_COMM_WORLD, 1, (const int[]){0}, edges, 0, &graph));
    CHECK_INT(t, graph == MPI_COMM_NULL, t->rank != 0);
    if (graph != MPI_COMM_NULL)
        CHECK_CALL(t, MPI_Comm_free(&graph));
    CHECK_CALL(t, MPI_Graph_create(MPI_COMM_WORLD, 0, index, edges, 0, &graph));
    CHECK(t, graph == MPI_COMM_NULL);
}

static void check_ring(struct check* t, MPI_Comm ring, int weighted)
{
    int in = -1, out = -1, flag = -1, status = -1;
    int sources[1], destinations[1], source_weights[1] = {-1}, weights[1] = {-1};
    CHECK_CALL(t, MPI_Topo_test(ring, &status));
    CHECK_INT(t, status, MPI_DIST_GRAPH);
    CHECK_CALL(t, MPI_Dist_graph_neighbors_count(ring, &in, &out, &flag));
    CHECK(t, in == 1 && out == 1);
    CHECK_INT(t, flag, weighted);
    CHECK_CALL(
        t, MPI_Dist_graph_neighbors(ring, 1, sources, weighted ? source_weights : MPI_UNWEIGHTED, 1,
                                    destinations, weighted ? weights : MPI_UNWEIGHTED));
    const int before = (t->rank + t->size - 1) % t->size;
    CHECK_INT(t, sources[0], before);
    CHECK_INT(t, destinations[0], (t->rank + 1) % t->size);
    if (weighted) {
        CHECK_INT(t, source_weights[0], 10 + before);
        CHECK_INT(t, weights[0], 10 + t->rank);
    }
}

static void distributed(struct check* t)
{
    const int before = (t->rank + t->size - 1) % t->size, after = (t->rank + 1) % t->size;
    const int in_weight = 10 + before, out_weight = 10 + t->rank, one = 1;
    MPI_Comm ring, dup;
    CHECK_CALL(t, MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, &in_weight, 1, &after,
                                                 &out_weight, MPI_INFO_NULL, 0, &ring));
    check_ring(t, ring, 1);
    CHECK_CALL(t, MPI_Comm_dup(ring, &dup));
    check_ring(t, dup, 1);
    CHECK_CALL(t, MPI_Comm_free(&dup));
    CHECK_CALL(t, MPI_Comm_free(&ring));
    CHECK_CALL(t, MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1,
                                                 &after, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring));
    check_ring(t, ring, 0);
    CHECK_CALL(t, MPI_Comm_free(&ring));
    // Each tells of the edge that leaves the rank behind it.
    const int next = (after + 1) % t->size, next_weight = 10 + after;
    CHECK_CALL(t, MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &after, &one, &next, &next_weight,
                                        MPI_INFO_NULL, 0, &ring));
    check_ring(t, ring, 1);
    CHECK_CALL(t, MPI_Comm_free(&ring));
    // One rank knows all edges.
    int sources[8], degrees[8], destinations[8];
    for (int i = 0; i < t->size; ++i) {
        sources[i] = i;
        degrees[i] = 1;
        destinations[i] = (i + 1) % t->size;
    }
    CHECK_CALL(t,
               MPI_Dist_graph_create(MPI_COMM_WORLD, t->rank == 0 ? t->size : 0, sources, degrees,
                                     destinations, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring));
    check_ring(t, ring, 0);
    CHECK_CALL(t, MPI_Comm_free(&ring));
    CHECK_CALL(t, MPI_Dist_graph_create(MPI_COMM_WORLD, 0, sources, degrees, destinations,
                                        MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &ring));
    int in = -1, out = -1, flag = -1;
    CHECK_CALL(t, MPI_Dist_graph_neighbors_count(ring, &in, &out, &flag));
    CHECK(t, in == 0 && out == 0);
    CHECK_CALL(t, MPI_Comm_free(&ring));
}

// As where a program gives each of two rows a quarter of its processes, and has three.
static void empty_grids(struct check* t)
{
    static const int grids[][3] = {{2, 0, 1}, {0, 2147483647, 2147483647}, {2147483647, 9, 0}};
    const int periods[3] = {0, 1, 0};
    for (int i = 0; i < 3; ++i) {
        MPI_Comm grid = MPI_COMM_WORLD;
        int mapped = -7;
        CHECK_CALL(t, MPI_Cart_create(MPI_COMM_WORLD, 3, grids[i], periods, i % 2, &grid));
        CHECK(t, grid == MPI_COMM_NULL);
        CHECK_CALL(t, MPI_Cart_map(MPI_COMM_WORLD, 3, grids[i], periods, &mapped));
        CHECK_INT(t, mapped, MPI_UNDEFINED);
    }
}

static void refused(struct check* t)
{
    const int large = t->size + 1, below = -1, period = 0, outside = t->size;
    int value = 0, place = 5, found[1];
    MPI_Comm made, line;
    REFUSED(t, MPI_Cart_create(MPI_COMM_WORLD, 1, &large, &period, 0, &made), MPI_ERR_DIMS,
            MPI_ERR_ARG, MPI_ERR_TOPOLOGY);
    REFUSED(t, MPI_Cart_create(MPI_COMM_WORLD, 1, &below, &period, 0, &made), MPI_ERR_DIMS,
            MPI_ERR_ARG);
    REFUSED(t, MPI_Cart_create(MPI_COMM_WORLD, -1, &t->size, &period, 0, &made), MPI_ERR_DIMS,
            MPI_ERR_ARG);
    REFUSED(t, MPI_Cartdim_get(MPI_COMM_WORLD, &value), MPI_ERR_TOPOLOGY);
    REFUSED(t, MPI_Graphdims_get(MPI_COMM_WORLD, &value, &value), MPI_ERR_TOPOLOGY);
    REFUSED(t, MPI_Dist_graph_neighbors_count(MPI_COMM_WORLD, &value, &value, &value),
            MPI_ERR_TOPOLOGY);
    REFUSED(t, MPI_Graph_create(MPI_COMM_WORLD, 1, (const int[]){1}, &outside, 0, &made),
            MPI_ERR_ARG, MPI_ERR_RANK);
    if (!t->lenient)
        REFUSED(t,
                MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &outside, MPI_UNWEIGHTED, 0, NULL,
                                               MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made),
                MPI_ERR_ARG, MPI_ERR_RANK);
    CHECK_CALL(t, MPI_Cart_create(MPI_COMM_WORLD, 1, &t->size, &period, 0, &line));
    MPI_Comm_set_errhandler(line, MPI_ERRORS_RETURN);
    place = t->size;
    REFUSED(t, MPI_Cart_rank(line, &place, &value), MPI_ERR_ARG, MPI_ERR_RANK);
    REFUSED(t, MPI_Cart_coords(line, t->size, 1, found), MPI_ERR_RANK, MPI_ERR_ARG);
    REFUSED(t, MPI_Cart_shift(line, 1, 1, &value, &value), MPI_ERR_DIMS, MPI_ERR_ARG);
    REFUSED(t, MPI_Graphdims_get(line, &value, &value), MPI_ERR_TOPOLOGY);
    CHECK_CALL(t, MPI_Comm_free(&line));
}

static int test_main(void)
{
    struct check t = check_start("topology");
    int status = -1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK_CALL(&t, MPI_Topo_test(MPI_COMM_WORLD, &status));
    CHECK_INT(&t, status, MPI_UNDEFINED);
    dims(&t);
    grids(&t);
    reordered(&t);
    graphs(&t);
    distributed(&t);
    empty_grids(&t);
    refused(&t);
    return check_finish(&t);
}
