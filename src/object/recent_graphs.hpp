// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/graph_engine.hpp"
#include "protocol/coll/choices.hpp"

namespace headway::object {

/// Whether elements of so many bytes, by an operator that is predefined on them, may be combined a
/// piece at a time and by anybody.
constexpr bool combines_pieces(std::uint64_t element_bytes) noexcept
{
    return element_bytes != 0 && engine::piece_alignment % element_bytes == 0;
}

/// All that the graph of a collective with uniform blocks depends on, within a communicator: the
/// choice of the algorithm, what it is built by, and the way there.
struct CollectiveShape {
    protocol::coll::Collective collective = protocol::coll::Collective::barrier;
    bool in_place = false;
    bool is_commutative = true;
    bool combines_pieces = true;  ///< see combines_pieces()
    std::uint32_t root = 0;
    std::uint64_t bytes = 0;  ///< of the vector, or of one block

    bool operator==(const CollectiveShape&) const = default;
};

/// What serves a call.
struct KnownGraph {
    engine::GraphTemplate* stored = nullptr;  ///< null: not known, or the node heap is exhausted
    bool may_meet = false;                    ///< the ranks may do the same by meeting

    /// Whether members may combine what others lay down for them (engine/shelf): `how` is
    /// collecting, for the root, or halving, for all.
    bool lets_combine(engine::Meets how) const noexcept
    {
        return stored != nullptr && may_meet && stored->meeting.what == how;
    }
};

/// The graphs of a communicator's last calls. A program repeats a few collectives of the same
/// shapes; to choose an algorithm and look for its graph takes as long as a short message.
/// Thread rule: as the communicator's owner.
class RecentGraphs {
  public:
    /// None: not among the last ones.
    KnownGraph find(const CollectiveShape& shape) const noexcept
    {
        const Entry& entry = entries_[place(shape)];
        return entry.shape == shape ? entry.graph : KnownGraph{};
    }

    void remember(const CollectiveShape& shape, KnownGraph graph) noexcept
    {
        entries_[place(shape)] = {shape, graph};
    }

  private:
    struct Entry {
        CollectiveShape shape;
        KnownGraph graph;
    };
    static constexpr unsigned place_bits = 3;

    static std::size_t place(const CollectiveShape& shape) noexcept
    {
        const std::uint64_t mixed =
            (shape.bytes * 64 + static_cast<std::uint64_t>(shape.collective) + shape.root * 32) *
            0x9E37'79B9'7F4A'7C15U;
        return mixed >> (64U - place_bits);
    }

    std::array<Entry, std::size_t{1} << place_bits> entries_{};
};

}  // namespace headway::object
