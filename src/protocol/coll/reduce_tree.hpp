// SPDX-License-Identifier: Apache-2.0
// The binomial tree that reductions to one rank have in common.
#pragma once

#include <cstdint>

#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

/// What a rank has of a reduction after its part of the tree.
struct Reduced {
    engine::Extent vector;                    ///< where it stands
    Graph::NodeIndex combined = Graph::none;  ///< the node that produced it
    std::uint32_t scratch_vectors = 0;        ///< taken, from 0 on
};

/// Adds to an empty graph: receive what the children have and combine it with `input`, in rank
/// order; unless this is rank 0, send the result to the parent. Messages have slot 0. A vector has
/// as many blocks as `input`. Ranks of the graph are those of `place` plus `first_rank`.
Reduced add_reduce_tree(Graph& graph, Place place, engine::Extent input,
                        std::uint32_t first_rank = 0);

}  // namespace headway::protocol::coll
