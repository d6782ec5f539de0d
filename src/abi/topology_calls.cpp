// SPDX-License-Identifier: Apache-2.0
// Grids and graphs that all ranks know (MPI-5.0 section 8.5).
#include "abi/topology_calls.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

#include "abi/call_order.hpp"
#include "abi/reordered.hpp"
#include "abi_calls.hpp"
#include "object/agreement.hpp"

namespace headway::abi {
namespace {

using object::Cartesian;
using object::Communicator;
using object::FullGraph;
using object::Topology;

const Cartesian* find_grid(Call& call, const Communicator& comm)
{
    return find_topology<Cartesian>(call, comm, "MPI_Cart_create");
}

const FullGraph* find_graph(Call& call, const Communicator& comm)
{
    return find_topology<FullGraph>(call, comm, "MPI_Graph_create");
}

int check_member(Call& call, int rank, int size)
{
    if (rank < 0 || rank >= size) {
        return call.fail(MPI_ERR_RANK, "rank %d is outside the topology's %d ranks", rank, size);
    }
    return MPI_SUCCESS;
}

int check_grid(Call& call, const Communicator& comm, int ndims, const int dims[])
{
    if (ndims < 0) {
        return call.fail(MPI_ERR_DIMS, "argument ndims is %d; it must not be negative", ndims);
    }
    const std::span<const int> extents = list(dims, ndims);
    for (const int extent : extents) {
        if (extent < 0) {
            return call.fail(MPI_ERR_DIMS, "a dimension of the grid is %d; it must not be negative",
                             extent);
        }
    }
    // Nobody is in a grid without places, and nobody is refused it: programs divide their number
    // of processes (MPI-5.0 section 8.5.1 forbids larger grids only).
    if (std::ranges::find(extents, 0) != extents.end()) {
        return MPI_SUCCESS;
    }
    std::int64_t product = 1;
    for (const int extent : extents) {
        product *= extent;
        if (product > comm.size()) {
            return call.fail(MPI_ERR_DIMS,
                             "the grid has more places than the communicator's %d ranks; make it "
                             "smaller",
                             comm.size());
        }
    }
    return MPI_SUCCESS;
}

int check_graph(Call& call, const Communicator& comm, int nnodes, const int index[],
                const int edges[])
{
    if (nnodes < 0 || nnodes > comm.size()) {
        return call.fail(MPI_ERR_ARG,
                         "argument nnodes is %d; it must not be negative nor above the "
                         "communicator's %d ranks",
                         nnodes, comm.size());
    }
    int end = 0;
    for (const int next : list(index, nnodes)) {
        if (next < end) {
            return call.fail(MPI_ERR_ARG,
                             "argument index has %d behind %d; each entry counts the neighbours so "
                             "far",
                             next, end);
        }
        end = next;
    }
    if (end > 0 && edges == nullptr) {
        return call.fail(MPI_ERR_ARG, "argument edges is a null pointer; give %d neighbours", end);
    }
    for (const int neighbor : list(edges, end)) {
        if (neighbor < 0 || neighbor >= nnodes) {
            return call.fail(MPI_ERR_ARG,
                             "argument edges names rank %d, outside the graph's %d ranks", neighbor,
                             nnodes);
        }
    }
    return MPI_SUCCESS;
}

Cartesian grid_of(int ndims, const int dims[], const int periods[])
{
    Cartesian grid{copy_of(dims, ndims), copy_of(periods, ndims)};
    for (int& period : grid.periods) {
        period = period != 0 ? 1 : 0;
    }
    return grid;
}

/// A communicator of the first `size` ranks, in their order or a better one; the others get
/// MPI_COMM_NULL.
int create_leading(Call& call, Communicator& comm, int size, Topology topology, bool may_reorder,
                   MPI_Comm* made)
{
    if (const int error = check_order(call, comm); error != MPI_SUCCESS) [[unlikely]] {
        return error;
    }
    object::Rank& rank = rank_of(call);
    if (size == 0) {
        *made = MPI_COMM_NULL;
        return MPI_SUCCESS;
    }
    std::vector<int> members = comm.members();
    if (may_reorder) {
        const auto sites = find_sites(call, comm, size);
        if (!sites) {
            return fail_for_memory(call);
        }
        if (!sites->empty()) {
            const std::vector<int> places = find_places(call, comm, topology, *sites);
            std::ranges::transform(places, members.begin(), [&](int member) {
                return comm.members()[static_cast<std::size_t>(member)];
            });
        }
    }
    members.resize(static_cast<std::size_t>(size));
    const object::Group group(members, rank.world_rank);
    const auto context = object::agree_for_part(rank, comm, group);
    if (context && group.rank() == MPI_UNDEFINED) {
        *made = MPI_COMM_NULL;
        return MPI_SUCCESS;
    }
    return create_communicator(call, comm, context, members, made,
                               std::make_shared<const Topology>(std::move(topology)));
}

}  // namespace

int check_intra(Call& call, const Communicator& comm)
{
    if (comm.is_inter()) {
        return call.fail(MPI_ERR_COMM,
                         "an inter-communicator cannot have a topology; give an "
                         "intra-communicator");
    }
    return MPI_SUCCESS;
}

namespace call {

int Dims_create(Call& call, int nnodes, int ndims, int dims[])
{
    if (nnodes <= 0 || ndims < 0) {
        return call.fail(MPI_ERR_DIMS,
                         "%d nodes in %d dimensions make no grid; give a positive number of nodes",
                         nnodes, ndims);
    }
    if (ndims == 0) {
        return MPI_SUCCESS;
    }
    if (!object::balance_dims(nnodes, {dims, static_cast<std::size_t>(ndims)})) {
        return call.fail(MPI_ERR_DIMS,
                         "the dimensions that are given do not divide %d nodes; set some to 0, or "
                         "choose others",
                         nnodes);
    }
    return MPI_SUCCESS;
}

int Cart_create(Call& call, Communicator* comm_old, int ndims, const int dims[],
                const int periods[], int reorder, MPI_Comm* comm_cart)
{
    int error = check_intra(call, *comm_old);
    if (error == MPI_SUCCESS) {
        error = check_grid(call, *comm_old, ndims, dims);
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    Cartesian grid = grid_of(ndims, dims, periods);
    const int size = grid.size();
    return create_leading(call, *comm_old, size, std::move(grid), reorder != 0, comm_cart);
}

int Cart_map(Call& call, Communicator* comm, int ndims, const int dims[], const int periods[],
             int* newrank)
{
    int error = check_intra(call, *comm);
    if (error == MPI_SUCCESS) {
        error = check_grid(call, *comm, ndims, dims);
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    const Cartesian grid = grid_of(ndims, dims, periods);
    *newrank = map_rank(call, *comm, grid, grid.size());
    return MPI_SUCCESS;
}

int Cartdim_get(Call& call, Communicator* comm, int* ndims)
{
    const Cartesian* const grid = find_grid(call, *comm);
    if (grid == nullptr) {
        return MPI_ERR_TOPOLOGY;
    }
    *ndims = static_cast<int>(grid->dims.size());
    return MPI_SUCCESS;
}

int Cart_get(Call& call, Communicator* comm, int maxdims, int dims[], int periods[], int coords[])
{
    const Cartesian* const grid = find_grid(call, *comm);
    if (grid == nullptr) {
        return MPI_ERR_TOPOLOGY;
    }
    hand_out(grid->dims, dims, maxdims);
    hand_out(grid->periods, periods, maxdims);
    hand_out(grid->coordinates(comm->rank()), coords, maxdims);
    return MPI_SUCCESS;
}

int Cart_coords(Call& call, Communicator* comm, int rank, int maxdims, int coords[])
{
    const Cartesian* const grid = find_grid(call, *comm);
    if (grid == nullptr) {
        return MPI_ERR_TOPOLOGY;
    }
    if (const int error = check_member(call, rank, comm->size()); error != MPI_SUCCESS) {
        return error;
    }
    hand_out(grid->coordinates(rank), coords, maxdims);
    return MPI_SUCCESS;
}

int Cart_rank(Call& call, Communicator* comm, const int coords[], int* rank)
{
    const Cartesian* const grid = find_grid(call, *comm);
    if (grid == nullptr) {
        return MPI_ERR_TOPOLOGY;
    }
    const int ndims = static_cast<int>(grid->dims.size());
    if (ndims > 0 && coords == nullptr) {
        return call.fail(MPI_ERR_ARG, "argument coords is a null pointer; give %d coordinates",
                         ndims);
    }
    const auto found = grid->rank(list(coords, ndims));
    if (!found) {
        return call.fail(MPI_ERR_ARG,
                         "the coordinates (argument coords) lie outside the grid in a dimension "
                         "that is not periodic");
    }
    *rank = *found;
    return MPI_SUCCESS;
}

int Cart_shift(Call& call, Communicator* comm, int direction, int disp, int* rank_source,
               int* rank_dest)
{
    const Cartesian* const grid = find_grid(call, *comm);
    if (grid == nullptr) {
        return MPI_ERR_TOPOLOGY;
    }
    const int ndims = static_cast<int>(grid->dims.size());
    if (direction < 0 || direction >= ndims) {
        return call.fail(MPI_ERR_DIMS, "direction %d is outside the grid's %d dimensions",
                         direction, ndims);
    }
    *rank_source = grid->shifted(comm->rank(), direction, -std::int64_t{disp});
    *rank_dest = grid->shifted(comm->rank(), direction, disp);
    return MPI_SUCCESS;
}

int Cart_sub(Call& call, Communicator* comm, const int remain_dims[], MPI_Comm* newcomm)
{
    const Cartesian* const grid = find_grid(call, *comm);
    if (grid == nullptr) {
        return MPI_ERR_TOPOLOGY;
    }
    if (!grid->dims.empty() && remain_dims == nullptr) {
        return call.fail(MPI_ERR_ARG, "argument remain_dims is a null pointer; give %zu flags",
                         grid->dims.size());
    }
    const std::vector<int> place = grid->coordinates(comm->rank());
    Cartesian kept;
    int slice = 0;  // which of the grids it becomes
    for (std::size_t i = 0; i < grid->dims.size(); ++i) {
        if (remain_dims[i] != 0) {
            kept.dims.push_back(grid->dims[i]);
            kept.periods.push_back(grid->periods[i]);
        } else {
            slice = slice * grid->dims[i] + place[i];
        }
    }
    return split_communicator(call, *comm, slice, comm->rank(), newcomm,
                              std::make_shared<const Topology>(std::move(kept)));
}

int Graph_create(Call& call, Communicator* comm_old, int nnodes, const int index[],
                 const int edges[], int reorder, MPI_Comm* comm_graph)
{
    int error = check_intra(call, *comm_old);
    if (error == MPI_SUCCESS) {
        error = check_graph(call, *comm_old, nnodes, index, edges);
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    FullGraph graph{copy_of(index, nnodes), {}};
    graph.edges = copy_of(edges, nnodes > 0 ? graph.index.back() : 0);
    return create_leading(call, *comm_old, nnodes, std::move(graph), reorder != 0, comm_graph);
}

int Graph_map(Call& call, Communicator* comm, int nnodes, const int index[], const int edges[],
              int* newrank)
{
    int error = check_intra(call, *comm);
    if (error == MPI_SUCCESS) {
        error = check_graph(call, *comm, nnodes, index, edges);
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    FullGraph graph{copy_of(index, nnodes), {}};
    graph.edges = copy_of(edges, nnodes > 0 ? graph.index.back() : 0);
    *newrank = map_rank(call, *comm, graph, nnodes);
    return MPI_SUCCESS;
}

int Graphdims_get(Call& call, Communicator* comm, int* nnodes, int* nedges)
{
    const FullGraph* const graph = find_graph(call, *comm);
    if (graph == nullptr) {
        return MPI_ERR_TOPOLOGY;
    }
    *nnodes = static_cast<int>(graph->index.size());
    *nedges = static_cast<int>(graph->edges.size());
    return MPI_SUCCESS;
}

int Graph_get(Call& call, Communicator* comm, int maxindex, int maxedges, int index[], int edges[])
{
    const FullGraph* const graph = find_graph(call, *comm);
    if (graph == nullptr) {
        return MPI_ERR_TOPOLOGY;
    }
    hand_out(graph->index, index, maxindex);
    hand_out(graph->edges, edges, maxedges);
    return MPI_SUCCESS;
}

int Graph_neighbors_count(Call& call, Communicator* comm, int rank, int* nneighbors)
{
    const FullGraph* const graph = find_graph(call, *comm);
    if (graph == nullptr) {
        return MPI_ERR_TOPOLOGY;
    }
    if (const int error = check_member(call, rank, comm->size()); error != MPI_SUCCESS) {
        return error;
    }
    *nneighbors = static_cast<int>(graph->neighbors(rank).size());
    return MPI_SUCCESS;
}

int Graph_neighbors(Call& call, Communicator* comm, int rank, int maxneighbors, int neighbors[])
{
    const FullGraph* const graph = find_graph(call, *comm);
    if (graph == nullptr) {
        return MPI_ERR_TOPOLOGY;
    }
    if (const int error = check_member(call, rank, comm->size()); error != MPI_SUCCESS) {
        return error;
    }
    hand_out(graph->neighbors(rank), neighbors, maxneighbors);
    return MPI_SUCCESS;
}

int Topo_test(Call& /*call*/, Communicator* comm, int* status)
{
    *status = comm->topology() != nullptr ? object::kind_of(*comm->topology()) : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

}  // namespace call
}  // namespace headway::abi
