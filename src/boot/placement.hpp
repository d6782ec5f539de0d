// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "boot/boot.hpp"

namespace headway::boot {

/// Where the processes of a job are. Their *places* count them node by node, so that the processes
/// of a node are neighbours; nodes come in the order of their first process, which keeps place 0
/// with process 0.
struct Placement {
    int node_count = 1;
    int node = 0;        ///< of this process
    int place = 0;       ///< of this process
    int node_first = 0;  ///< place of the node's first process
    int node_size = 1;   ///< processes of this node

    /// Places of the first processes of all nodes, ascending.
    std::vector<int> node_firsts = {0};

    /// Number of the node of a process. Requires: its place is one of the job's.
    int node_of(int any_place) const noexcept;
    bool is_node_leader() const noexcept { return place == node_first; }
};

/// `nodes` says for each process which node it is on, by any numbers. Requires own < nodes.size().
Placement place_process(const std::vector<int>& nodes, int own);

/// Asks the launcher for its map; where it has none, the processes tell each other what machine and
/// name spaces they are in, which is collective then.
base::Result<Placement> find_placement(Boot& boot);

}  // namespace headway::boot
