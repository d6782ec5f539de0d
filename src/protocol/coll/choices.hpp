// SPDX-License-Identifier: Apache-2.0
// Which algorithm serves a call, as data: lines that are gone through in turn. What users force
// stands first, then what a tuning file says, then what is built in and serves every call
// (docs/design/021).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "protocol/coll/table.hpp"

namespace headway::protocol::coll {

/// What the choice may depend on: facts that are equal on all ranks of the call.
struct Shape {
    std::uint32_t size = 1;
    /// Of the vector, or of one rank's block; where blocks are listed and all ranks know them, the
    /// mean of the blocks. 0 where they do not (gather and scatter with listed blocks, alltoallv).
    std::uint64_t bytes = 0;
    bool is_commutative = true;
    bool is_listed = false;     ///< blocks have sizes of their own
    bool shares_cores = false;  ///< all ranks of the job are on one node, which has fewer cores
    bool spans_nodes = false;   ///< the ranks of the call are on several nodes
    bool has_levels = false;    ///< and some of those have more than one of them
    bool are_nodes_contiguous = false;  ///< and those of each node follow each other
    /// The ranks may read each other's memory, and combine what lies there.
    bool reads_peers = false;
    bool is_one_process = false;  ///< the ranks of the call are in one
};

/// From `first` to `last`, both included.
struct Range {
    std::uint64_t first = 0;
    std::uint64_t last = UINT64_MAX;

    constexpr bool holds(std::uint64_t value) const noexcept
    {
        return first <= value && value <= last;
    }
    friend constexpr bool operator==(const Range&, const Range&) = default;
};

/// Whether the ranks of a job, on one node, have a core each.
enum class Cores : std::uint8_t { any, own, shared };

/// Whether the ranks of a call are on one node, and there in one process; or on several, and there
/// some share one (levels).
enum class Nodes : std::uint8_t { any, one, several, process, levels };

/// One line: calls like these are served by that algorithm, so tuned, if it can serve them.
struct Choice {
    Collective collective = Collective::barrier;
    Cores cores = Cores::any;
    Nodes nodes = Nodes::any;
    Algorithm algorithm = Algorithm::barrier_dissemination;
    Range ranks{};
    Range bytes{};
    Tuning tuning{};

    // Set by Choices.
    /// Equal for exactly the lines of one algorithm tuned alike.
    std::uint16_t graph_number = 0;
    bool is_built_in = false;  ///< no user named it
    bool keeps_order = false;  ///< as the algorithm's row, as the next
    bool keeps_order_of_nodes = false;
    bool takes_listed = false;
    bool takes_any_size = false;
    bool needs_levels = false;
    bool needs_peers = false;
};

/// The ranks of a call lie as a line wants it.
inline bool holds(Nodes nodes, const Shape& shape) noexcept
{
    switch (nodes) {
        case Nodes::any:
            return true;
        case Nodes::process:
            return shape.is_one_process;
        case Nodes::levels:
            return shape.has_levels;
        default:
            return (nodes == Nodes::several) == shape.spans_nodes;
    }
}

/// The line is one of Choices, and its algorithm, so tuned, is right for a call of that shape.
inline bool serves(const Choice& choice, const Shape& shape) noexcept
{
    return choice.ranks.holds(shape.size) && choice.bytes.holds(shape.bytes) &&
           (choice.cores == Cores::any || (choice.cores == Cores::shared) == shape.shares_cores) &&
           holds(choice.nodes, shape) && (!choice.needs_levels || shape.has_levels) &&
           (!choice.needs_peers || shape.reads_peers) &&
           (choice.keeps_order || shape.is_commutative ||
            (choice.keeps_order_of_nodes && shape.are_nodes_contiguous)) &&
           (choice.takes_listed || !shape.is_listed) &&
           (choice.takes_any_size || fits(row_of(choice.algorithm), shape.size, choice.tuning));
}

/// The algorithm has what the collective needs.
bool can_be_chosen(const Row& row, Collective collective) noexcept;

/// The collectives that choices are made for: all but those of neighbours.
inline constexpr std::size_t chosen_collectives =
    static_cast<std::size_t>(Collective::reduce_scatter) + 1;

/// The table in force. Plain data, the same for all ranks of a job.
class Choices {
  public:
    static constexpr std::size_t lines_max = 256;

    /// What is built in, and before it `first`, in its order. Requires: as many as there is
    /// room_for().
    explicit Choices(std::span<const Choice> first = {}) noexcept;

    static bool has_room_for(std::size_t lines) noexcept;

    /// The first line that serves the call; there is one. Requires: no collective of neighbours,
    /// and listed blocks where the collective has no others.
    const Choice& find(Collective collective, const Shape& shape) const noexcept
    {
        const Choice* choice = lines_.data() + begins_[static_cast<std::size_t>(collective)];
        while (!serves(*choice, shape)) {
            ++choice;
        }
        return *choice;
    }

    /// The lines of one collective, in turn.
    std::span<const Choice> of(Collective collective) const noexcept;

    /// Equal for equal tables, and else hardly ever.
    std::uint64_t digest() const noexcept;

  private:
    std::array<std::uint16_t, chosen_collectives + 1> begins_{};  ///< in lines_
    std::array<Choice, lines_max> lines_{};
};

}  // namespace headway::protocol::coll
