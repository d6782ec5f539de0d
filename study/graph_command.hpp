// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace headway::study {

/// `headway-study graph COLLECTIVE [--ranks P] [--algorithm NAME] [--root R] [--ppn P] [--bytes B]
/// [--in-place] [--set KEY=VALUE ...]`: prints the graphs of all ranks of one algorithm, as JSON:
/// {"algorithm", "collective", "ranks": [{"node", "nodes": [{"kind", "peer", "slot", "source",
/// "target"}], "edges": [[before, after]]}]}. Sources and targets are [space, first block, count].
/// Edges that others imply are left out. Without a name it is the algorithm that the library takes
/// for so many bytes. Returns the exit code.
int run_graph(std::span<const std::string_view> arguments);

}  // namespace headway::study
