// SPDX-License-Identifier: Apache-2.0
//
// What must hold for one rank's graph whatever order it runs in: no cycle, no two steps that may
// run at once and touch the same bytes (unless both read), and no two messages of one name that
// could overtake each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/graph.hpp"

namespace headway::protocol::coll {

class GraphFaults {
  public:
    explicit GraphFaults(const engine::Graph& graph)
        : graph_(graph), before_(graph.nodes().size(), std::vector<bool>(graph.nodes().size()))
    {
        sort();
    }

    std::vector<std::string> all()
    {
        const auto count = static_cast<std::uint32_t>(graph_.nodes().size());
        if (sorted_.size() != count) {
            return {"the graph has a cycle"};
        }
        std::vector<std::string> found;
        for (std::uint32_t a = 0; a < count; ++a) {
            const engine::GraphNode& node = graph_.nodes()[a];
            if (overlap(read_of(node), write_of(node))) {
                found.push_back(say("reads what it writes", a, a));
            }
            for (std::uint32_t b = a + 1; b < count; ++b) {
                if (before_[a][b] || before_[b][a]) {
                    continue;
                }
                if (conflict(node, graph_.nodes()[b])) {
                    found.push_back(say("touch the same bytes", a, b));
                }
                if (have_same_name(node, graph_.nodes()[b])) {
                    found.push_back(say("have the same name", a, b));
                }
            }
        }
        return found;
    }

  private:
    static constexpr engine::Extent nothing{engine::Space::send, 0, 0};

    /// Orders the nodes and finds, for each pair, whether one is before the other.
    void sort()
    {
        const std::size_t count = graph_.nodes().size();
        std::vector<std::uint32_t> waiting(count);
        std::vector<std::vector<std::uint32_t>> successors(count);
        for (const engine::Graph::Edge& edge : graph_.edges()) {
            ++waiting[edge.after];
            successors[edge.before].push_back(edge.after);
        }
        for (std::uint32_t node = 0; node < count; ++node) {
            if (waiting[node] == 0) {
                sorted_.push_back(node);
            }
        }
        for (std::size_t next = 0; next < sorted_.size(); ++next) {
            const std::uint32_t node = sorted_[next];
            for (const std::uint32_t successor : successors[node]) {
                for (std::size_t other = 0; other < count; ++other) {
                    if (before_[other][node] || other == node) {
                        before_[other][successor] = true;
                    }
                }
                if (--waiting[successor] == 0) {
                    sorted_.push_back(successor);
                }
            }
        }
    }

    static engine::Extent read_of(const engine::GraphNode& node)
    {
        return has_own_source(node.kind) ? node.source : nothing;
    }
    static engine::Extent write_of(const engine::GraphNode& node)
    {
        return has_target(node.kind) ? node.target : nothing;
    }

    static bool overlap(engine::Extent a, engine::Extent b)
    {
        return a.space == b.space && a.first_block < b.first_block + b.block_count &&
               b.first_block < a.first_block + a.block_count && a.block_count != 0 &&
               b.block_count != 0;
    }

    static bool conflict(const engine::GraphNode& a, const engine::GraphNode& b)
    {
        return overlap(write_of(a), write_of(b)) || overlap(write_of(a), read_of(b)) ||
               overlap(read_of(a), write_of(b));
    }

    static bool have_same_name(const engine::GraphNode& a, const engine::GraphNode& b)
    {
        return is_message(a.kind) && is_message(b.kind) && leaves(a.kind) == leaves(b.kind) &&
               a.peer == b.peer && a.slot == b.slot;
    }

    static std::string say(const char* what, std::uint32_t a, std::uint32_t b)
    {
        return "nodes " + std::to_string(a) + " and " + std::to_string(b) + " " + what;
    }

    const engine::Graph& graph_;
    std::vector<std::vector<bool>> before_;  ///< [a][b]: a completes before b starts
    std::vector<std::uint32_t> sorted_;
};

}  // namespace headway::protocol::coll
