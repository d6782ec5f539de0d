// SPDX-License-Identifier: Apache-2.0
// Blocks that members give each other in one collective call, for HEADWAY_CHECK=collectives: of
// v-forms, between groups and between neighbours. Each side says what it gives and what it takes,
// and the one who comes second compares; nobody waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "abi/collective_calls.hpp"
#include "base/diagnostics.hpp"
#include "object/distant_note.hpp"
#include "object/element_note.hpp"
#include "object/note_board.hpp"
#include "object/process.hpp"
#include "object/topology.hpp"
#include "protocol/coll/edge_slots.hpp"

namespace headway::abi {

/// One block, as the calling rank says of it.
struct BlockNote {
    std::uint32_t peer;  ///< in the joint scope, to or from whom
    std::uint32_t slot;  ///< of several blocks between the same two
    object::NoteBoard::Side side;
    object::ElementNote note;
};

/// What a call says of all of its blocks. Local.
class BlockNotes {
  public:
    BlockNotes(Call& call, const object::Communicator& comm) : call_(call), comm_(comm) {}

    const std::vector<BlockNote>& all() const noexcept { return notes_; }

    /// Block `block` of a side, which goes to `peer` or comes from it.
    template <typename Side>
    void give(const Side& side, std::uint32_t block, std::uint32_t peer, std::uint32_t slot = 0)
    {
        add(object::NoteBoard::Side::given, note_of_block(side, block), peer, slot);
    }
    template <typename Side>
    void take(const Side& side, std::uint32_t block, std::uint32_t peer, std::uint32_t slot = 0)
    {
        add(object::NoteBoard::Side::taken, note_of_block(side, block), peer, slot);
    }

    /// A call in which all give to all: `sent` has a block for each or one for all, or is in place.
    template <typename Sent, typename Received>
    void exchange(const Sent& sent, bool has_one_block, const Received& received)
    {
        const bool in_place = sent.buffer == MPI_IN_PLACE;
        for (std::uint32_t i = 0; i < size_of(comm_); ++i) {
            const std::uint32_t peer = joint_peer(i);
            if (!in_place) {
                give(sent, has_one_block ? 0 : i, peer);
            } else {
                // What is in place lies where this rank's own block, or the peer's, is to come.
                give(received, has_one_block ? own() : i, peer);
            }
            take(received, i, peer);
        }
    }

    /// The same with neighbours.
    template <typename Sent, typename Received>
    void exchange_with_neighbors(const Sent& sent, bool has_one_block, const Received& received)
    {
        const bool is_grid = std::holds_alternative<object::Cartesian>(*comm_.topology());
        const object::Neighborhood& neighbors = comm_.neighborhood();
        protocol::coll::EdgeSlots leaving(is_grid);
        for (std::size_t i = 0; i < neighbors.destinations.size(); ++i) {
            if (const int to = neighbors.destinations[i]; to >= 0) {
                give(sent, has_one_block ? 0 : static_cast<std::uint32_t>(i),
                     static_cast<std::uint32_t>(to), leaving.of_destination(to, i));
            }
        }
        protocol::coll::EdgeSlots arriving(is_grid);
        for (std::size_t i = 0; i < neighbors.sources.size(); ++i) {
            if (const int from = neighbors.sources[i]; from >= 0) {
                take(received, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(from),
                     arriving.of_source(from, i));
            }
        }
    }

    /// A member, or one of the other group, in the joint scope.
    std::uint32_t joint_peer(std::uint32_t peer) const noexcept
    {
        return comm_.is_inter() ? joint_root(static_cast<int>(peer), comm_) : peer;
    }
    std::uint32_t own() const noexcept { return comm_.joint_scope().rank; }

  private:
    object::ElementNote note_of_block(const UniformSide& side, std::uint32_t block) const;
    object::ElementNote note_of_block(const ListedSide& side, std::uint32_t block) const;
    void add(object::NoteBoard::Side side, const object::ElementNote& note, std::uint32_t peer,
             std::uint32_t slot)
    {
        notes_.push_back({peer, slot, side, note});
    }

    Call& call_;
    const object::Communicator& comm_;
    std::vector<BlockNote> notes_;
};

/// Says what this rank gives or takes where the other side hears of it: the one who takes compares
/// where both are of different nodes, else who comes second. `lane_peer`: the other side, as lanes
/// name it.
object::NoteBoard::Meeting meet(Call& call, const object::Communicator& comm,
                                std::uint32_t lane_peer, const object::NoteBoard::Name& name,
                                const object::ElementNote& own, object::DistantNote::Topic topic,
                                object::ElementNote* other);

/// Compares calls (compare_order) and, where these agree, their blocks.
[[gnu::cold]] int compare_blocks(Call& call, object::Communicator& comm,
                                 const object::CollectiveCall& collective,
                                 const BlockNotes& blocks);

/// run() of a call whose blocks can be compared; `describe(notes)` says what they are.
template <typename Describe>
int run_with_blocks(Call& call, object::Communicator& comm, object::CollectiveCall&& collective,
                    Completion completion, const Describe& describe)
{
    if (const int error = prepare(call, comm, collective); error != MPI_SUCCESS) [[unlikely]] {
        return error;
    }
    if (base::has_diagnostics && rank_of(call).process().call_order() != nullptr) [[unlikely]] {
        BlockNotes blocks(call, comm);
        describe(blocks);
        if (const int error = compare_blocks(call, comm, collective, blocks);
            error != MPI_SUCCESS) {
            return error;
        }
    }
    return run_in_turn(call, comm, std::move(collective), completion);
}

/// A call without a root: each rank gives `blocks` blocks and gets one from every rank. What is
/// given may be in place.
template <typename Sent, typename Received>
int run_unrooted(Call& call, protocol::coll::Collective kind, const Sent& sent,
                 std::uint32_t blocks, const Received& received, object::Communicator& comm,
                 Completion completion)
{
    object::CollectiveCall collective;
    collective.collective = kind;
    if (!set_sides(call, collective, sent, blocks, received, size_of(comm))) {
        return MPI_ERR_COUNT;
    }
    return run_with_blocks(call, comm, std::move(collective), completion, [&](BlockNotes& notes) {
        // Uniform blocks of one group are compared with the call itself.
        if (comm.is_inter() || !std::is_same_v<Received, UniformSide>) {
            notes.exchange(sent, blocks == 1, received);
        }
    });
}

}  // namespace headway::abi
