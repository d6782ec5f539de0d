// SPDX-License-Identifier: Apache-2.0
// The ranks that algorithms for a power of two leave over fold into a neighbour first.
#pragma once

#include <cstdint>

#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

constexpr std::uint16_t fold_slot = 0;
constexpr std::uint16_t unfold_slot = 1;
constexpr std::uint16_t first_core_slot = 2;

/// Ranks 2i and 2i + 1 fold for i < surplus: the odd one works for both. So there is a power of two
/// of core ranks, and they stand for contiguous ranges of ranks in ascending order.
class CoreRanks {
  public:
    explicit constexpr CoreRanks(std::uint32_t size) noexcept
        : count_(power_of_two_below(size)), surplus_(size - count_)
    {
    }

    constexpr std::uint32_t count() const noexcept { return count_; }

    /// The neighbour works for this rank.
    constexpr bool is_spared(std::uint32_t rank) const noexcept
    {
        return rank < 2 * surplus_ && rank % 2 == 0;
    }

    /// This rank works for the one before it, too.
    constexpr bool is_double(std::uint32_t rank) const noexcept
    {
        return rank < 2 * surplus_ && rank % 2 != 0;
    }

    /// The core rank that is `rank`. Requires that it is not spared.
    constexpr std::uint32_t core_of(std::uint32_t rank) const noexcept
    {
        return rank < 2 * surplus_ ? rank / 2 : rank - surplus_;
    }

    /// The rank that core rank `core` is.
    constexpr std::uint32_t rank_of(std::uint32_t core) const noexcept
    {
        return core < surplus_ ? 2 * core + 1 : core + surplus_;
    }

    /// The first of the ranks that `core` stands for; for the count of cores, that of ranks.
    constexpr std::uint32_t first_rank_of(std::uint32_t core) const noexcept
    {
        return core < surplus_ ? 2 * core : core + surplus_;
    }

    /// The rank whose core rank differs from that of `rank` by `distance`, a power of two.
    constexpr std::uint32_t partner_of(std::uint32_t rank, std::uint32_t distance) const noexcept
    {
        return rank_of(core_of(rank) ^ distance);
    }

  private:
    std::uint32_t count_;
    std::uint32_t surplus_;
};

/// Adds all that a spared rank does: its contribution leaves, then, for in place it is the same
/// memory, its result arrives.
void add_spared(Graph& graph, std::uint32_t rank, engine::Extent contribution,
                engine::Extent result);

/// A round of recursive halving. The half of the cores that the partner's side keeps leaves this
/// rank, the half that its own side keeps arrives.
struct HalvingRound {
    std::uint32_t partner = 0;
    std::uint16_t slot = 0;
    std::uint32_t give = 0;   ///< first core of the half that leaves
    std::uint32_t keep = 0;   ///< first core of the half that stays
    std::uint32_t count = 0;  ///< cores of a half
};

/// What a round of halving moves and combines.
struct HalvingExtents {
    engine::Extent outgoing;
    engine::Extent incoming;
    engine::Extent source;  ///< of the reduction
    engine::Extent target;
};

/// Adds one round after node `ready`. Returns its reduction.
Graph::NodeIndex add_halving(Graph& graph, const HalvingRound& round, const HalvingExtents& extents,
                             Graph::NodeIndex ready);

/// Calls `body` for each round of a rank that is not spared.
template <typename Body>
void for_each_halving(const CoreRanks& cores, std::uint32_t rank, const Body& body)
{
    HalvingRound round{.slot = first_core_slot};
    std::uint32_t first = 0;
    for (round.count = cores.count() / 2; round.count != 0; round.count /= 2, ++round.slot) {
        const bool upper = (cores.core_of(rank) & round.count) != 0;
        round.keep = upper ? first + round.count : first;
        round.give = upper ? first : first + round.count;
        round.partner = cores.partner_of(rank, round.count);
        body(round);
        first = round.keep;
    }
}

}  // namespace headway::protocol::coll
