// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

namespace {

/// The tree of `size` vertices in which vertex 0 has `degree` children and others have one fewer,
/// numbered level by level.
class CayleyTree {
  public:
    CayleyTree(std::uint32_t size, std::uint32_t degree)
        : size_(size), degree_(std::max(degree, 2U))
    {
    }

    /// Requires: not vertex 0.
    std::uint32_t parent(std::uint32_t vertex) const
    {
        return vertex <= degree_ ? 0 : (vertex - degree_ - 1) / (degree_ - 1) + 1;
    }

    std::vector<std::uint32_t> neighbors(std::uint32_t vertex) const
    {
        std::vector<std::uint32_t> all;
        std::uint64_t first = 1;
        std::uint64_t count = degree_;
        if (vertex != 0) {
            all.push_back(parent(vertex));
            count = degree_ - 1;
            first = degree_ + 1 + (vertex - 1) * count;
        }
        for (std::uint64_t child = first; child < first + count && child < size_; ++child) {
            all.push_back(static_cast<std::uint32_t>(child));
        }
        return all;
    }

    /// The neighbour of `vertex` on the way to `origin`, another vertex. Numbers fall on the way
    /// up.
    std::uint32_t toward(std::uint32_t vertex, std::uint32_t origin) const
    {
        std::uint32_t at = origin;
        while (at > vertex) {
            const std::uint32_t above = parent(at);
            if (above == vertex) {
                return at;
            }
            at = above;
        }
        return parent(vertex);
    }

  private:
    std::uint64_t size_;
    std::uint32_t degree_;
};

}  // namespace

Graph allgather_cayley(const Call& call)
{
    Graph graph;
    const Place place = call.place;
    const CayleyTree tree(place.size, call.tuning.radix);
    const std::vector<std::uint32_t> neighbors = tree.neighbors(place.rank);
    for (std::uint32_t step = 0; step < place.size; ++step) {
        const std::uint32_t origin = (place.rank + step) % place.size;
        const auto slot = static_cast<std::uint16_t>(origin);
        const Extent home{Space::receive, origin, 1};
        Extent block = home;
        Graph::NodeIndex here = Graph::none;
        std::uint32_t from = place.rank;
        if (origin != place.rank) {
            from = tree.toward(place.rank, origin);
            here = graph.receive(from, slot, home);
        } else if (!place.in_place) {
            block = {.space = Space::send};
            graph.copy(block, home);
        }
        for (const std::uint32_t neighbor : neighbors) {
            if (neighbor != from) {
                graph.order(here, graph.send(neighbor, slot, block));
            }
        }
    }
    return graph;
}

}  // namespace headway::protocol::coll
