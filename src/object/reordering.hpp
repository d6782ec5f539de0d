// SPDX-License-Identifier: Apache-2.0
// Who takes which place of a topology, so that neighbours lie close together (`reorder` of MPI-5.0
// chapter 8). Pure functions of facts that are equal on all members: all of them find the same.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace headway::object {

/// Where a rank runs. Ranks of one cache name it alike if they are of one node.
struct Site {
    int node = 0;
    int cache = 0;  ///< the last one its cores share, by a number of its own node

    bool operator==(const Site&) const = default;
};

/// Two places of a topology that exchange messages, in either direction.
struct PlaceEdge {
    int from = 0;
    int to = 0;
    std::int64_t weight = 1;
};

/// Weight of the edges whose ends lie apart.
struct Crossing {
    std::int64_t nodes = 0;
    std::int64_t caches = 0;  ///< within a node

    auto operator<=>(const Crossing&) const = default;
};

struct Reordering {
    std::vector<int> member_at;  ///< rank of the old communicator that takes a place
    Crossing before;             ///< as if every rank took the place of its own number
    Crossing after;

    bool is_identity() const { return after == before; }
};

/// Weight of edges between sites if `member_at` says who takes a place.
Crossing crossing_of(std::span<const PlaceEdge> edges, std::span<const int> member_at,
                     std::span<const Site> sites);

/// The best of several orders in which places can be dealt out to the sites, one after the other:
/// the places' own numbers, `tried` (permutations of the places), and one that grows from neighbour
/// to neighbour. `sites` has an entry a place, of the rank of that number. Ranks keep their numbers
/// where nothing is gained.
Reordering reorder(std::span<const PlaceEdge> edges, std::span<const Site> sites,
                   std::span<const std::vector<int>> tried = {});

/// Places of a grid (row-major) brick by brick, for every shape of bricks of `brick_places` places
/// that fills the grid.
std::vector<std::vector<int>> brick_orders(std::span<const int> dims, int brick_places);

}  // namespace headway::object
