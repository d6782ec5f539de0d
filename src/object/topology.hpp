// SPDX-License-Identifier: Apache-2.0
// Virtual topologies (MPI-5.0 chapter 8): values, equal on all members where the standard says so.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "mpi.h"
#include "object/reordering.hpp"

namespace headway::object {

/// A grid. Coordinates count in row-major order.
struct Cartesian {
    std::vector<int> dims;
    std::vector<int> periods;  ///< 0 or 1

    /// Of all dimensions together; no dimension is one process, one of 0 nobody.
    int size() const noexcept;
    /// Requires 0 <= rank < size().
    std::vector<int> coordinates(int rank) const;
    /// The rank there; coordinates of periodic dimensions may lie anywhere. Nothing: outside.
    std::optional<int> rank(std::span<const int> coordinates) const;
    /// The rank `steps` from `rank` along a dimension, MPI_PROC_NULL outside.
    int shifted(int rank, int dimension, std::int64_t steps) const;
};

/// Every process's neighbours, known to all (MPI_Graph_create).
struct FullGraph {
    std::vector<int> index;  ///< where the neighbours of a process end, as the standard has it
    std::vector<int> edges;

    std::span<const int> neighbors(int rank) const;
};

/// One process's own neighbours (MPI_Dist_graph_create).
struct AdjacentGraph {
    std::vector<int> sources;
    std::vector<int> destinations;
    std::vector<int> source_weights;  ///< empty where not weighted
    std::vector<int> destination_weights;
    bool is_weighted = false;
};

using Topology = std::variant<Cartesian, FullGraph, AdjacentGraph>;

/// MPI_CART, MPI_GRAPH or MPI_DIST_GRAPH.
int kind_of(const Topology& topology) noexcept;

/// What its places exchange with each other. Requires a topology whose edges all members know, that
/// is no AdjacentGraph.
std::vector<PlaceEdge> edges_of(const Topology& topology);

/// With whom a process exchanges blocks in neighbourhood collectives, in the order of the blocks;
/// MPI_PROC_NULL at the border of a grid.
struct Neighborhood {
    std::vector<int> sources;
    std::vector<int> destinations;
};
Neighborhood neighborhood_of(const Topology& topology, int rank);

/// MPI_Dims_create: sets those of `dims` that are 0, so that all multiply to `nodes`, as equal as
/// possible and the largest first. False, and nothing set, where that cannot be.
bool balance_dims(int nodes, std::span<int> dims);

}  // namespace headway::object
