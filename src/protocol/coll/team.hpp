// SPDX-License-Identifier: Apache-2.0
// The ranks that do a part of an algorithm together, and the parts that algorithms have in common.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

/// Some ranks in an order of their own, as one of them sees it. A member's number is its index.
class Team {
  public:
    /// `size` ranks from `first` on, counted from the one `shift` further, as `rank` sees them.
    static Team range(std::uint32_t rank, std::uint32_t first, std::uint32_t size,
                      std::uint32_t shift = 0);
    /// All ranks of a place, counted from `root`.
    static Team all(Place place, std::uint32_t root)
    {
        return range(place.rank, 0, place.size, root);
    }
    /// `head`, then `count` ranks from `first` on.
    static Team headed(std::uint32_t rank, std::uint32_t head, std::uint32_t first,
                       std::uint32_t count);
    /// The ranks of `rank`'s node, its lead first, the others ascending.
    static Team of_node(const Topology& topology, std::uint32_t rank, std::uint32_t root);
    /// The leads of all nodes, from the root's on. Requires that `rank` is one of them.
    static Team of_leads(const Topology& topology, std::uint32_t rank, std::uint32_t root);
    /// A rank of each node, in the order of nodes: of its ranks the one that is `piece`'s turn.
    /// Requires that `rank` is one of them.
    static Team of_piece(const Topology& topology, std::uint32_t rank, std::uint32_t piece);

    std::uint32_t index() const noexcept { return index_; }
    std::uint32_t size() const noexcept { return size_; }
    std::uint32_t rank_at(std::uint32_t index) const noexcept;

  private:
    enum class Kind : std::uint8_t { range, headed, node, leads, piece };

    Kind kind_ = Kind::range;
    const Topology* topology_ = nullptr;  ///< node, leads and piece
    std::uint32_t index_ = 0;
    std::uint32_t size_ = 1;
    std::uint32_t first_ =
        0;  ///< rank (range, headed) or node (node, leads) that indices count from
    std::uint32_t shift_ = 0;  ///< range; the piece
    std::uint32_t head_ = 0;   ///< index 0 (headed, node); the root (leads)
};

/// Where a member stands in a k-nomial tree from index 0 on: with its digits to the base `radix`,
/// a member's parent has the lowest digit that is not zero set to zero. A member and those below it
/// are neighbours: [index, index + count_below()).
class TreePlace {
  public:
    TreePlace(const Team& team, std::uint32_t radix);

    bool is_top() const noexcept { return index_ == 0; }
    std::uint32_t parent() const noexcept { return parent_; }
    std::uint32_t count_below() const noexcept { return below_of(index_, width_); }

    /// Calls `use(child, count of members below it, itself included)`, nearest child first.
    template <typename Use>
    void for_each_child(const Use& use) const
    {
        for (std::uint64_t step = 1; step < width_; step *= radix_) {
            for (std::uint64_t digit = 1; digit < radix_; ++digit) {
                const std::uint64_t child = index_ + digit * step;
                if (child >= size_) {
                    return;
                }
                use(static_cast<std::uint32_t>(child),
                    below_of(static_cast<std::uint32_t>(child), step));
            }
        }
    }
    /// The same, farthest child first: it has most below it.
    template <typename Use>
    void for_each_child_from_far(const Use& use) const
    {
        std::uint64_t step = 1;
        while (step * radix_ < width_ && step * radix_ < size_) {
            step *= radix_;
        }
        for (; step != 0; step /= radix_) {
            for (std::uint64_t digit = radix_ - 1; step < width_ && digit != 0; --digit) {
                const std::uint64_t child = index_ + digit * step;
                if (child < size_) {
                    use(static_cast<std::uint32_t>(child),
                        below_of(static_cast<std::uint32_t>(child), step));
                }
            }
        }
    }

  private:
    std::uint32_t below_of(std::uint32_t index, std::uint64_t width) const noexcept
    {
        return static_cast<std::uint32_t>(width < size_ - index ? width : size_ - index);
    }

    std::uint64_t radix_;
    std::uint32_t index_;
    std::uint32_t size_;
    std::uint64_t width_ = 1;  ///< members below, if there were enough
    std::uint32_t parent_ = 0;
};

/// A node after which all of `nodes` are over: the only one of them, or an empty copy. None of
/// none.
Graph::NodeIndex add_join(Graph& graph, std::span<const Graph::NodeIndex> nodes);

/// A message and the tree that it goes along.
struct TreeWay {
    std::uint32_t radix = 2;
    std::uint16_t slot = 0;
};

/// Adds: get `what` from the parent, hand it to the children. `ready` lets index 0 start. Returns
/// the node after which `what` is here.
Graph::NodeIndex add_tree_spread(Graph& graph, const Team& team, TreeWay way, engine::Extent what,
                                 Graph::NodeIndex ready);

/// What a rank has of a reduction after its part of it.
struct Reduced {
    engine::Extent vector;                    ///< where it stands
    Graph::NodeIndex combined = Graph::none;  ///< the node that produced it
};

/// Adds: combine what the children have with `input`, in the order of indices; unless this is
/// index 0, send the result to the parent. Takes vectors of as many blocks as `input` has from the
/// end of scratch. With `landing`, which must hold nothing yet, the result ends there if there is
/// a child.
Reduced add_tree_reduction(Graph& graph, const Team& team, TreeWay way, Reduced input,
                           const engine::Extent* landing = nullptr);

/// Adds rounds of empty messages to as many members as there are ports, each round farther, until
/// everyone has heard of everyone. The first one waits for `ready`. Slots count from `first_slot`,
/// one a round. Returns the receives; nobody may go on before all of them.
std::vector<Graph::NodeIndex> add_dissemination(Graph& graph, const Team& team, std::uint32_t ports,
                                                std::uint16_t first_slot,
                                                std::span<const Graph::NodeIndex> ready);

/// Adds recursive doubling of `input` over the team, surplus members folding into a neighbour
/// first; combines in the order of indices. Slots count from `first_slot`, at most 34; scratch as
/// above. A member whose neighbour works for it gets the result into `landing`; others end there
/// too if their input is the send space, so that nothing stands in `landing` before. Where the
/// input is pieces of a vector that is cut, `pieces` says into how many: then scratch is taken by
/// vectors. Requires: it ends with one.
Reduced add_doubling_reduction(Graph& graph, const Team& team, std::uint16_t first_slot,
                               Reduced input, engine::Extent landing, std::uint32_t pieces = 0);

}  // namespace headway::protocol::coll
