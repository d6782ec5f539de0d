// SPDX-License-Identifier: Apache-2.0
// What a rank says of its calls to ranks of other nodes, whose heap it does not reach
// (HEADWAY_CHECK). It travels before the message it speaks of, in parts that fit a record, and is
// compared where it arrives: there nobody is in a call of his own, so what differs ends the job.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/driver.hpp"
#include "object/call_order.hpp"
#include "object/note_board.hpp"
#include "sync/holder_lock.hpp"

namespace headway::object {

/// Plain data.
struct DistantNote {
    enum class Topic : std::uint32_t { message, partitioned, block, call };

    Topic topic = Topic::message;
    NoteBoard::Name name;     ///< of the elements
    ElementNote elements;     ///< of all topics but a call
    CallOrder::Turn turn;     ///< of a call
    CallSignature signature;  ///< likewise
    char communicator[64] = {};
};

/// Notes that have not arrived as a whole. Lies in the node heap, as others than a rank itself may
/// take its frames.
/// Thread rule: as NoteBoard.
class NoteParts {
  public:
    static constexpr std::size_t part_bytes = 36;

    /// One frame's payload.
    struct Part {
        std::uint32_t index = 0;
        std::array<std::byte, part_bytes> bytes;
    };

    /// True: `*note` is whole with this part. False: it is not, or there is no room for it
    /// (`*is_refused`), or parts are missing.
    bool add(memory::Allocator& allocator, std::uint32_t receiver, std::uint32_t sender,
             const Part& part, DistantNote* note, bool* is_refused) noexcept;

  private:
    struct Open;

    sync::HolderLock lock_;
    Open* open_ = nullptr;  ///< guarded by the lock, as what it leads to
};

/// False: the node heap is exhausted. Requires a distant peer.
bool send_note(engine::Driver& driver, std::uint32_t peer, const DistantNote& note);

/// Lets the node take notes of others.
void take_distant_notes(engine::Node& node);

}  // namespace headway::object
