// SPDX-License-Identifier: Apache-2.0
// Topologies that may reorder: whoever has a number has the neighbours of that number, whichever
// process it is. HEADWAY_REORDER_GROUP makes several sites of one node.
#include "../check.h"

static int old_rank_at(MPI_Comm made, int place)
{
    MPI_Group old_group, new_group;
    int old_rank = -1;
    MPI_Comm_group(MPI_COMM_WORLD, &old_group);
    MPI_Comm_group(made, &new_group);
    MPI_Group_translate_ranks(new_group, 1, &place, old_group, &old_rank);
    MPI_Group_free(&old_group);
    MPI_Group_free(&new_group);
    return old_rank;
}

// All members know the same process under the same number, and every process has one number.
static void check_members(struct check* t, MPI_Comm made, int size)
{
    int rank = -1;
    MPI_Comm_rank(made, &rank);
    int own = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    int* const all = malloc(sizeof(int) * (size_t)size);
    CHECK_CALL(t, MPI_Allgather(&own, 1, MPI_INT, all, 1, MPI_INT, made));
    for (int place = 0; place < size; ++place)
        CHECK_INT(t, all[place], old_rank_at(made, place));
    CHECK_INT(t, all[rank], own);
    free(all);
}

// What the mapping calls say: every process another place. Groups of ranks that are named by a knob
// are all there is to know, so that the communicator gives each process the same one.
static void check_map(struct check* t, int mapped, MPI_Comm made)
{
    int size = 0, rank = -1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(made, &rank);
    int* const all = malloc(sizeof(int) * (size_t)size);
    MPI_Allgather(&mapped, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    for (int place = 0; place < size; ++place) {
        int takers = 0;
        for (int i = 0; i < size; ++i)
            takers += all[i] == place;
        CHECK_INT(t, takers, 1);
    }
    if (getenv("HEADWAY_REORDER_GROUP") != NULL)
        CHECK_INT(t, mapped, rank);
    free(all);
}

static void grid(struct check* t)
{
    int size = 0, dims[2] = {0, 0};
    const int periods[2] = {1, 0};
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK_CALL(t, MPI_Dims_create(size, 2, dims));
    MPI_Comm made;
    CHECK_CALL(t, MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &made));
    check_members(t, made, size);
    int mapped = -7;
    CHECK_CALL(t, MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &mapped));
    check_map(t, mapped, made);
    int rank = -1;
    MPI_Comm_rank(made, &rank);
    int expected[4] = {-1, -1, -1, -1}, given[4] = {-1, -1, -1, -1};
    for (int i = 0; i < 2; ++i) {
        MPI_Cart_shift(made, i, 1, &expected[2 * i], &expected[2 * i + 1]);
        for (int k = 2 * i; k < 2 * i + 2; ++k)
            expected[k] = expected[k] == MPI_PROC_NULL ? -1 : expected[k];
    }
    CHECK_CALL(t, MPI_Neighbor_allgather(&rank, 1, MPI_INT, given, 1, MPI_INT, made));
    for (int k = 0; k < 4; ++k)
        CHECK_INT(t, given[k], expected[k]);
    MPI_Comm_free(&made);
}

// Fewer places than processes: the others get no communicator.
static void small_grid(struct check* t)
{
    int size = 0, own = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    const int places = size > 1 ? size - 1 : 1;
    const int period = 0;
    MPI_Comm made;
    CHECK_CALL(t, MPI_Cart_create(MPI_COMM_WORLD, 1, &places, &period, 1, &made));
    CHECK_INT(t, made == MPI_COMM_NULL, own >= places);
    if (made != MPI_COMM_NULL) {
        check_members(t, made, places);
        MPI_Comm_free(&made);
    }
}

// A ring that leaps: 0, 2, 4, ..., 1, 3, 5, ...
static int behind(int place, int size)
{
    const int next = place + 2;
    return next < size ? next : 1 - place % 2 < size ? 1 - place % 2 : 0;
}

static int before(int place, int size)
{
    for (int each = 0; each < size; ++each) {
        if (behind(each, size) == place)
            return each;
    }
    return -1;
}

static void full_graph(struct check* t)
{
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int* const index = malloc(sizeof(int) * (size_t)size);
    int* const edges = malloc(sizeof(int) * (size_t)size * 2);
    for (int place = 0; place < size; ++place) {
        index[place] = 2 * place + 2;
        edges[2 * place] = before(place, size);
        edges[2 * place + 1] = behind(place, size);
    }
    MPI_Comm made;
    CHECK_CALL(t, MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 1, &made));
    check_members(t, made, size);
    int mapped = -7;
    CHECK_CALL(t, MPI_Graph_map(MPI_COMM_WORLD, size, index, edges, &mapped));
    check_map(t, mapped, made);
    int rank = -1, given[2] = {-1, -1};
    MPI_Comm_rank(made, &rank);
    CHECK_CALL(t, MPI_Neighbor_allgather(&rank, 1, MPI_INT, given, 1, MPI_INT, made));
    CHECK_INT(t, given[0], before(rank, size));
    CHECK_INT(t, given[1], behind(rank, size));
    MPI_Comm_free(&made);
    free(index);
    free(edges);
}

// What `made` says of its rank must be what the graph says of that place.
static void check_ring(struct check* t, MPI_Comm made, int size, int weight_of_place)
{
    int rank = -1, source = -1, target = -1, in_weight = -1, out_weight = -1;
    int sources = 0, targets = 0, is_weighted = 0;
    MPI_Comm_rank(made, &rank);
    check_members(t, made, size);
    CHECK_CALL(t, MPI_Dist_graph_neighbors_count(made, &sources, &targets, &is_weighted));
    CHECK(t, sources == 1 && targets == 1 && is_weighted == 1);
    CHECK_CALL(t, MPI_Dist_graph_neighbors(made, 1, &source, &in_weight, 1, &target, &out_weight));
    CHECK_INT(t, source, before(rank, size));
    CHECK_INT(t, target, behind(rank, size));
    CHECK_INT(t, out_weight, weight_of_place + rank);
    CHECK_INT(t, in_weight, weight_of_place + source);
    int given = -1;
    CHECK_CALL(t, MPI_Neighbor_allgather(&rank, 1, MPI_INT, &given, 1, MPI_INT, made));
    CHECK_INT(t, given, source);
}

static void distributed(struct check* t)
{
    int size = 0, own = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    const int source = before(own, size), target = behind(own, size);
    const int in_weight = 3 + source, out_weight = 3 + own, one = 1;
    MPI_Comm made;
    CHECK_CALL(t, MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &source, &in_weight, 1, &target,
                                                 &out_weight, MPI_INFO_NULL, 1, &made));
    check_ring(t, made, size, 3);
    MPI_Comm_free(&made);
    // Every rank names the edge of another one.
    const int named = (own + 1) % size, its_target = behind(named, size), weight = 3 + named;
    CHECK_CALL(t, MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &named, &one, &its_target, &weight,
                                        MPI_INFO_NULL, 1, &made));
    check_ring(t, made, size, 3);
    MPI_Comm_free(&made);
}

static int test_main(void)
{
    struct check t = check_start("reorder");
    grid(&t);
    small_grid(&t);
    full_graph(&t);
    distributed(&t);
    return check_finish(&t);
}
