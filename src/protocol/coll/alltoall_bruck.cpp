// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

namespace {

/// Copies run one after the other on whatever executes a rank, so they are ordered in one chain:
/// that says at once what may overwrite what.
class Builder {
  public:
    Builder(Place place, std::uint32_t ports) : place_(place), ports_(ports) {}

    Graph build();

  private:
    /// What has come by one port of a round.
    struct Arrival {
        Graph::NodeIndex received;
        std::uint64_t distance;  ///< how far these blocks have moved
        std::uint32_t first;     ///< where they stand in scratch
    };

    void copy(Extent source, Extent target)
    {
        const auto node = graph_.copy(source, target);
        graph_.order(last_, node);
        last_ = node;
    }
    template <typename Use>
    void for_each_run(std::uint64_t step, std::uint64_t distance, Use use) const;
    void round(std::uint64_t step, std::uint16_t slot);

    Place place_;
    std::uint64_t ports_;
    std::uint32_t size_ = place_.size;
    /// No round moves more: for each block that does, another differs in that digit and stays,
    /// which it shares with those of the other ports.
    std::uint32_t moved_max_ = static_cast<std::uint32_t>(size_ * ports_ / (ports_ + 1));
    Graph graph_;
    Graph::NodeIndex last_ = Graph::none;  ///< of the chain
    std::vector<Graph::NodeIndex> sent_;   ///< in the round before
};

/// Runs of neighbouring blocks that move by `distance` in the round of `step`: in whose number the
/// digit to the base ports + 1 that counts steps is distance / step.
template <typename Use>
void Builder::for_each_run(std::uint64_t step, std::uint64_t distance, Use use) const
{
    std::uint32_t packed = 0;
    for (std::uint64_t first = distance; first < size_; first += (ports_ + 1) * step) {
        const auto count = static_cast<std::uint32_t>(std::min(step, size_ - first));
        use(static_cast<std::uint32_t>(first), packed, count);
        packed += count;
    }
}

void Builder::round(std::uint64_t step, std::uint16_t slot)
{
    for (const Graph::NodeIndex sent : std::exchange(sent_, {})) {
        graph_.order(sent, static_cast<Graph::NodeIndex>(graph_.nodes().size()));
    }
    std::vector<Arrival> arrivals;
    std::uint32_t packed = 0;
    for (std::uint64_t away = step; away <= ports_ * step && away < size_; away += step) {
        const std::uint32_t outgoing = size_ + packed;
        const std::uint32_t incoming = outgoing + moved_max_;
        std::uint32_t moved = 0;
        for_each_run(step, away, [&](std::uint32_t first, std::uint32_t at, std::uint32_t count) {
            copy({Space::scratch, first, count}, {Space::scratch, outgoing + at, count});
            moved = at + count;
        });
        const auto distance = static_cast<std::uint32_t>(away);
        sent_.push_back(
            graph_.send((place_.rank + distance) % size_, slot, {Space::scratch, outgoing, moved}));
        graph_.order(last_, sent_.back());
        arrivals.push_back({graph_.receive((place_.rank + size_ - distance) % size_, slot,
                                           {Space::scratch, incoming, moved}),
                            away, incoming});
        // What arrived in the round before has been taken out.
        graph_.order(last_, arrivals.back().received);
        packed += moved;
    }
    for (const Arrival& arrival : arrivals) {
        graph_.order(arrival.received, static_cast<Graph::NodeIndex>(graph_.nodes().size()));
        for_each_run(step, arrival.distance,
                     [&](std::uint32_t first, std::uint32_t at, std::uint32_t count) {
                         copy({Space::scratch, arrival.first + at, count},
                              {Space::scratch, first, count});
                     });
    }
}

// Scratch block i starts as the block for the rank i above and ends as that from the rank i below:
// in each round the blocks whose digit is d move up by d steps, by a port for each d but 0.
Graph Builder::build()
{
    const Space input = place_.in_place ? Space::receive : Space::send;
    const std::uint32_t above = size_ - place_.rank;
    graph_.scratch_blocks = size_ + 2 * moved_max_;
    copy({input, place_.rank, above}, {Space::scratch, 0, above});
    if (place_.rank != 0) {
        copy({input, 0, place_.rank}, {Space::scratch, above, place_.rank});
    }
    std::uint16_t slot = 0;
    for (std::uint64_t step = 1; step < size_; step *= ports_ + 1) {
        round(step, slot++);
    }
    // In place, the own block is where it belongs.
    for (std::uint32_t i = place_.in_place ? 1 : 0; i < size_; ++i) {
        const std::uint32_t from = (place_.rank + size_ - i) % size_;
        copy({Space::scratch, i, 1}, {Space::receive, from, 1});
    }
    return std::move(graph_);
}

}  // namespace

Graph alltoall_bruck(Place place, std::uint32_t ports)
{
    return Builder(place, ports).build();
}

}  // namespace headway::protocol::coll
