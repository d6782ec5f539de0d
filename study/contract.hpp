// SPDX-License-Identifier: Apache-2.0
// What MPI says a collective does to buffers (MPI-5.0 chapter 6), block by block: the measure that
// graphs are held against. It knows nothing of algorithms.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "protocol/coll/between_groups.hpp"
#include "protocol/coll/table.hpp"
#include "protocol/coll/topology.hpp"

namespace headway::study {

namespace coll = protocol::coll;

/// Bytes of a block whose size has that name, where some must be counted: unequal, some zero.
constexpr std::uint64_t bytes_of_size(std::uint32_t name) noexcept
{
    return (std::uint64_t{name} * 37 + 3) % 101;
}

/// A block of somebody's input.
struct Origin {
    std::uint32_t rank = 0;
    std::uint32_t block = 0;
};

/// What must stand in a block of the receive space in the end.
enum class Wanted : std::uint8_t {
    untouched,  ///< nobody may have written there
    input,      ///< the origin's block
    combined,   ///< that block of `count` ranks from the origin's on, combined
};

struct SendBlock {
    Origin origin{};
    std::uint32_t size = 0;
};

struct ReceiveBlock {
    bool has_input = false;  ///< in place: `input` stands there before
    Origin input{};
    Wanted wanted = Wanted::untouched;
    Origin origin{};
    std::uint32_t count = 1;
    std::uint32_t size = 0;
};

/// Sizes are names: blocks of different names may differ in size, by anything and down to nothing,
/// so that what is proved by names holds for all counts.
struct RankContract {
    std::vector<SendBlock> send;
    std::vector<ReceiveBlock> receive;
    /// Block i of scratch has size scratch[i mod length].
    std::vector<std::uint32_t> scratch{0};
};

struct Contract {
    std::vector<RankContract> ranks;
    engine::Blocks blocks = engine::Blocks::uniform;
    std::uint32_t block_count = 1;  ///< split only
    /// Blocks lie where a list says: an extent has one, but where they follow each other.
    bool has_listed_blocks = false;
    bool do_send_blocks_follow = false;
    bool is_ordered = true;  ///< combined in the order of ranks
    /// Ranks whose combined blocks must have been combined in one same way: they are bitwise equal.
    bool is_equal_on_all = false;
    std::uint32_t equal_from = 0;  ///< on all ranks below it, and on all others
    /// Nobody may end before all have begun.
    bool is_barrier = false;
    /// Send and receive space of a rank begin at the same address.
    bool do_spaces_overlap = false;
};

/// A call of a collective of one group.
struct Setting {
    coll::Collective collective = coll::Collective::barrier;
    std::uint32_t size = 1;
    std::uint32_t root = 0;
    coll::InPlace in_place = coll::InPlace::nobody;
    bool is_ordered = true;
    coll::Listing listing = coll::Listing::no;  ///< other than `no`: blocks differ in size
    const coll::Topology* topology = nullptr;   ///< where the listing speaks of nodes
    /// Into which a vector is cut; 0: not at all. What else can be said of pieces is up to MPI.
    std::uint32_t pieces = 0;

    bool is_in_place(std::uint32_t rank) const noexcept
    {
        return in_place == coll::InPlace::everyone ||
               (in_place == coll::InPlace::root && rank == root);
    }
};

Contract contract_of(const Setting& setting);

/// Of a collective between two groups, the first with `first_size` ranks.
Contract contract_between_groups(coll::Collective collective, std::uint32_t size,
                                 std::uint32_t first_size, std::uint32_t root);

/// Where a rank's block of a neighbourhood collective comes from: the n-th edge from a rank meets
/// the n-th edge that its neighbour has to it, or on a grid the other end of the direction.
Contract contract_of_neighbors(std::span<const std::vector<int>> sources,
                               std::span<const std::vector<int>> destinations, bool are_opposite,
                               bool has_one_block);

}  // namespace headway::study
