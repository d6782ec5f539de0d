// SPDX-License-Identifier: Apache-2.0
// Verifies algorithms over many numbers of ranks, roots, tunings and topologies.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "protocol/coll/topology.hpp"
#include "study/other_graphs.hpp"
#include "study/verifier.hpp"

namespace headway::study {

/// One call to verify, with everything a builder may read.
struct Case {
    const coll::Row* row = nullptr;
    std::uint32_t size = 1;
    std::uint32_t root = 0;
    bool in_place = false;
    bool is_listed = false;
    coll::Tuning tuning{};
    std::vector<std::uint32_t> node_of_rank{};  ///< where the row reads a topology

    std::string sentence() const;  ///< "allgather_bruck, 5 ranks, in place"
};

/// The graphs of all ranks, and what they must do.
struct Posed {
    std::vector<engine::Graph> graphs;
    Contract contract;
    Traffic traffic;                                ///< by the formula
    std::vector<std::uint64_t> scratch_blocks_max;  ///< by rank
};
Posed pose(const Case& one);
/// Of an algorithm between groups, the first with `first_size` ranks.
Posed pose_between_groups(coll::Algorithm algorithm, std::uint32_t size, std::uint32_t first_size,
                          std::uint32_t root);

Posed pose_neighbors(const Neighborhoods& all, bool has_one_block);

/// Why the graphs of a call do not do what they must; also where messages, blocks or bytes are not
/// as many as the formula says, or a rank needs more scratch than its bound.
std::optional<std::string> examine(const Posed& posed, Verifier& verifier);
std::optional<std::string> examine(const Posed& posed);

/// How far a sweep goes.
struct Reach {
    std::uint32_t through = 17;            ///< all numbers of ranks from 1 on
    std::vector<std::uint32_t> samples;    ///< and these
    std::uint32_t all_roots_through = 17;  ///< all roots up to there, then some
    bool has_all_tunings = true;           ///< else those of the table
};

struct Swept {
    std::uint64_t cases = 0;
    std::uint64_t messages = 0;
    std::optional<std::string> fault;  ///< the first, with its case; the sweep ended there
};

Swept sweep(const coll::Row& row, const Reach& reach);
/// All collectives between two groups.
Swept sweep_between_groups(coll::Algorithm algorithm, const Reach& reach);
/// Grids, and graphs drawn by seed, some with several edges between two ranks.
Swept sweep_neighbors(const Reach& reach);

}  // namespace headway::study
