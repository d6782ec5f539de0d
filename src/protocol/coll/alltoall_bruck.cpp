// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

namespace {

/// Copies run one after the other on whatever executes a rank, so they are ordered in one chain:
/// that says at once what may overwrite what.
class Builder {
  public:
    explicit Builder(Place place) : place_(place) {}

    Graph build();

  private:
    void copy(Extent source, Extent target)
    {
        const auto node = graph_.copy(source, target);
        graph_.order(last_, node);
        last_ = node;
    }
    template <typename Use>
    void for_each_run(std::uint32_t distance, Use use) const;
    void round(std::uint32_t distance, std::uint16_t slot);

    Place place_;
    std::uint32_t size_ = place_.size;
    Graph graph_;
    Graph::NodeIndex last_ = Graph::none;  ///< of the chain
    Graph::NodeIndex sent_ = Graph::none;  ///< of the round before
};

/// Runs of neighbouring blocks whose number has the bit `distance`.
template <typename Use>
void Builder::for_each_run(std::uint32_t distance, Use use) const
{
    std::uint32_t packed = 0;
    for (std::uint32_t first = distance; first < size_; first += 2 * distance) {
        const std::uint32_t count = std::min(distance, size_ - first);
        use(first, packed, count);
        packed += count;
    }
}

void Builder::round(std::uint32_t distance, std::uint16_t slot)
{
    const std::uint32_t half = (size_ + 1) / 2;
    const std::uint32_t outgoing = size_;
    const std::uint32_t incoming = size_ + half;
    std::uint32_t moved = 0;
    graph_.order(sent_, static_cast<Graph::NodeIndex>(graph_.nodes().size()));
    for_each_run(distance, [&](std::uint32_t first, std::uint32_t packed, std::uint32_t count) {
        copy({Space::scratch, first, count}, {Space::scratch, outgoing + packed, count});
        moved = packed + count;
    });
    sent_ = graph_.send((place_.rank + distance) % size_, slot, {Space::scratch, outgoing, moved});
    graph_.order(last_, sent_);
    const auto received = graph_.receive((place_.rank + size_ - distance) % size_, slot,
                                         {Space::scratch, incoming, moved});
    // What arrived in the round before has been taken out.
    graph_.order(last_, received);
    last_ = received;
    for_each_run(distance, [&](std::uint32_t first, std::uint32_t packed, std::uint32_t count) {
        copy({Space::scratch, incoming + packed, count}, {Space::scratch, first, count});
    });
}

// Scratch block i starts as the block for the rank i above and ends as that from the rank i below:
// in round k the blocks whose number has bit k move up by 2^k ranks.
Graph Builder::build()
{
    const Space input = place_.in_place ? Space::receive : Space::send;
    const std::uint32_t above = size_ - place_.rank;
    graph_.scratch_blocks = size_ + 2 * ((size_ + 1) / 2);
    copy({input, place_.rank, above}, {Space::scratch, 0, above});
    if (place_.rank != 0) {
        copy({input, 0, place_.rank}, {Space::scratch, above, place_.rank});
    }
    std::uint16_t slot = 0;
    for (std::uint32_t distance = 1; distance < size_; distance *= 2) {
        round(distance, slot++);
    }
    // In place, the own block is where it belongs.
    for (std::uint32_t i = place_.in_place ? 1 : 0; i < size_; ++i) {
        const std::uint32_t from = (place_.rank + size_ - i) % size_;
        copy({Space::scratch, i, 1}, {Space::receive, from, 1});
    }
    return std::move(graph_);
}

}  // namespace

Graph alltoall_bruck(Place place)
{
    return Builder(place).build();
}

}  // namespace headway::protocol::coll
