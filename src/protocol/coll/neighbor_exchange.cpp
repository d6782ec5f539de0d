// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

using engine::Space;

namespace {

/// Names the messages of one side: those between the same two ranks are told apart by the number of
/// the edge, or on a grid by the direction.
class Slots {
  public:
    explicit Slots(bool are_directions) : are_directions_(are_directions) {}

    std::uint16_t next(int peer, std::size_t direction)
    {
        return are_directions_ ? static_cast<std::uint16_t>(direction) : used_[peer]++;
    }

  private:
    bool are_directions_;
    std::map<int, std::uint16_t> used_;
};

}  // namespace

Graph neighbor_exchange(const Neighbors& neighbors, bool has_one_block)
{
    Graph graph;
    Slots arriving(neighbors.are_opposite);
    for (std::size_t i = 0; i < neighbors.sources.size(); ++i) {
        if (const int from = neighbors.sources[i]; from >= 0) {
            // Named as by its sender, who sends it the other way.
            graph.receive(static_cast<std::uint32_t>(from), arriving.next(from, i ^ 1U),
                          {Space::receive, static_cast<std::uint32_t>(i), 1});
        }
    }
    Slots leaving(neighbors.are_opposite);
    for (std::size_t i = 0; i < neighbors.destinations.size(); ++i) {
        if (const int to = neighbors.destinations[i]; to >= 0) {
            const auto block = static_cast<std::uint32_t>(has_one_block ? 0 : i);
            graph.send(static_cast<std::uint32_t>(to), leaving.next(to, i),
                       {Space::send, block, 1});
        }
    }
    return graph;
}

}  // namespace headway::protocol::coll
