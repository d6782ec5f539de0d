// SPDX-License-Identifier: Apache-2.0
// What the calls of grids, graphs and distributed graphs share.
#pragma once

#include <algorithm>
#include <span>
#include <variant>
#include <vector>

#include "abi/new_communicator.hpp"
#include "object/topology.hpp"

namespace headway::abi {

inline std::span<const int> list(const int* values, int count)
{
    return {values, static_cast<std::size_t>(std::max(count, 0))};
}

inline std::vector<int> copy_of(const int* values, int count)
{
    const std::span<const int> given = list(values, count);
    return {given.begin(), given.end()};
}

/// As many as there is room for.
inline void hand_out(std::span<const int> values, int* target, int room)
{
    const auto wanted = std::min(values.size(), static_cast<std::size_t>(room));
    std::copy_n(values.begin(), wanted, target);
}

/// The topology of a communicator if it is of that kind; null, and the call failed, otherwise.
template <typename Kind>
const Kind* find_topology(Call& call, const object::Communicator& comm, const char* maker)
{
    const object::Topology* const topology = comm.topology();
    const Kind* const found = topology != nullptr ? std::get_if<Kind>(topology) : nullptr;
    if (found == nullptr) {
        call.fail(MPI_ERR_TOPOLOGY, "the communicator has no such topology; give one of %s", maker);
    }
    return found;
}

/// MPI_SUCCESS where the communicator can have a topology.
int check_intra(Call& call, const object::Communicator& comm);

}  // namespace headway::abi
