// SPDX-License-Identifier: Apache-2.0
// Collectives that have one algorithm each and stand in no table: those between two groups, by the
// name inter_..., and those of neighbours, on a grid whose first dimension is periodic.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "engine/graph.hpp"
#include "protocol/coll/table.hpp"

namespace headway::study {

namespace coll = protocol::coll;

/// Who sends to whom, by rank, in the order of blocks; -1: nobody.
struct Neighborhoods {
    std::vector<std::vector<int>> sources{};
    std::vector<std::vector<int>> destinations{};
    bool are_opposite = false;  ///< blocks 2d and 2d + 1 are the two directions of a dimension
};
/// Of width * height ranks.
Neighborhoods grid(int width, int height);

/// What a rank is told of the root: whoever shares its group without being it, is told nothing.
std::uint32_t root_named_to(std::uint32_t rank, std::uint32_t root, std::uint32_t first_size);

struct NamedAlgorithm {
    std::string_view name;
    coll::Algorithm algorithm;
};
/// Those between groups, but the barrier, which has no graph of its own.
std::span<const NamedAlgorithm> algorithms_between_groups() noexcept;

struct OtherCall {
    std::uint32_t size = 2;
    std::uint32_t root = 0;
    std::uint32_t first_size = 0;  ///< ranks of the first group; 0: half of them
    std::uint32_t width = 0;       ///< of the grid; 0: as near to a square as it can be
};

struct OtherGraphs {
    std::string_view name;
    std::uint64_t messages = 0;
    std::function<engine::Graph(std::uint32_t rank)> build;
};

bool is_other(std::string_view collective);
/// All of them, with commas between.
std::string other_names();

/// Requires: is_other(collective). Failure: the call cannot be; the sentence says which option
/// (--first, --width) is to be changed.
base::Result<OtherGraphs> other_graphs(std::string_view collective, const OtherCall& call);

}  // namespace headway::study
