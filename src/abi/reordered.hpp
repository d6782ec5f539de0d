// SPDX-License-Identifier: Apache-2.0
// Communicators whose ranks may change their numbers so that neighbours of a topology lie close to
// each other (`reorder` of MPI-5.0 chapter 8).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "abi/message_calls.hpp"
#include "object/reordering.hpp"
#include "object/topology.hpp"

namespace headway::abi {

/// Where the first `places` ranks of the communicator run. Collective over all of it; blocks.
/// Nothing: the node heap is exhausted. Empty: all run at one site, so nothing can be gained.
std::optional<std::vector<object::Site>> find_sites(Call& call, object::Communicator& comm,
                                                    int places);

/// Who takes which place, reported where HEADWAY_REORDER_REPORT asks for it. `dims`: of a grid,
/// whose bricks are tried too; empty for others. Equal on all members.
std::vector<int> find_places(Call& call, const object::Communicator& comm,
                             std::span<const object::PlaceEdge> edges,
                             std::span<const object::Site> sites, std::span<const int> dims = {});

/// Orders the first ranks of the communicator for a topology that has a place for each of them,
/// where `sites` are not all the same. The rank that takes each place.
std::vector<int> find_places(Call& call, const object::Communicator& comm,
                             const object::Topology& topology, std::span<const object::Site> sites);

/// The place of the calling rank, by what every rank knows of the others without a message: their
/// nodes, or the groups of HEADWAY_REORDER_GROUP. MPI_UNDEFINED: it has none. Local.
int map_rank(Call& call, const object::Communicator& comm, const object::Topology& topology,
             int places);

}  // namespace headway::abi
