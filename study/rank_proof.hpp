// SPDX-License-Identifier: Apache-2.0
// What can be said of one rank's graph without the others: the first two points of verifier.hpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/graph_order.hpp"
#include "study/message_ends.hpp"
#include "study/verifier.hpp"

namespace headway::study {

/// Numbers the blocks of all spaces of a rank.
class BlockNumbers {
  public:
    BlockNumbers() = default;
    BlockNumbers(const engine::Graph& graph, const RankContract& facts)
        : counts_{static_cast<std::uint32_t>(facts.send.size()),
                  static_cast<std::uint32_t>(facts.receive.size()), graph.scratch_blocks}
    {
    }

    std::uint32_t count(engine::Space space) const noexcept
    {
        return counts_[static_cast<std::size_t>(space)];
    }
    std::uint32_t first(engine::Space space) const noexcept
    {
        std::uint32_t number = 0;
        for (std::size_t i = 0; i < static_cast<std::size_t>(space); ++i) {
            number += counts_[i];
        }
        return number;
    }
    std::uint32_t first(engine::Extent extent) const noexcept
    {
        return first(extent.space) + extent.first_block;
    }
    std::uint32_t count() const noexcept { return counts_[0] + counts_[1] + counts_[2]; }

  private:
    std::uint32_t counts_[3] = {};
};

/// The name of the size of a block.
std::uint32_t size_of(const RankContract& facts, engine::Space space, std::uint32_t block) noexcept;

/// The names of the sizes of a rank's blocks, by number, at the end of `sizes`.
void add_sizes(const BlockNumbers& numbers, const RankContract& facts,
               std::vector<std::uint32_t>& sizes);

/// The first block of two extents of as many blocks, counted from their beginnings, whose sizes
/// have other names; nothing if they all agree.
std::optional<std::uint32_t> find_other_size(const RankContract& source_facts,
                                             engine::Extent source,
                                             const RankContract& target_facts,
                                             engine::Extent target);

/// Examines graphs one after the other; keeps its memory.
class RankProof {
  public:
    /// A sentence without the rank's name, or nothing. Adds the rank to `ends`.
    std::optional<std::string> examine(const engine::Graph& graph, const GraphOrder& order,
                                       const Contract& contract, std::uint32_t rank,
                                       MessageEnds& ends);

  private:
    struct Reader {
        engine::Graph::NodeIndex node;
        std::uint32_t next;  ///< the one before it, as a number in readers_
    };
    struct Touched {
        engine::Graph::NodeIndex writer;
        std::uint32_t last_reader;  ///< since then
    };

    std::optional<std::string> examine_node(engine::Graph::NodeIndex node) const;
    std::optional<std::string> examine_extent(engine::Graph::NodeIndex node,
                                              engine::Extent extent) const;
    std::optional<std::string> examine_races();
    std::optional<std::string> examine_names(MessageEnds& ends) const;
    std::optional<std::string> read(engine::Graph::NodeIndex node, std::uint32_t first,
                                    std::uint32_t count);
    std::optional<std::string> write(engine::Graph::NodeIndex node, std::uint32_t first,
                                     std::uint32_t count);
    std::string say_race(engine::Graph::NodeIndex one, engine::Graph::NodeIndex other,
                         std::uint32_t block) const;

    const engine::Graph* graph_ = nullptr;
    const GraphOrder* order_ = nullptr;
    const Contract* contract_ = nullptr;
    const RankContract* facts_ = nullptr;
    std::uint32_t rank_ = 0;
    BlockNumbers numbers_;
    std::vector<std::uint32_t> sizes_;  ///< names, by number of the block
    std::vector<Touched> touched_;
    std::vector<Reader> readers_;
};

}  // namespace headway::study
