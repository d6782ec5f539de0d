// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "memory/allocator.hpp"
#include "object/element_note.hpp"
#include "sync/holder_lock.hpp"

namespace headway::object {

/// What one side says of elements, until the other side comes (HEADWAY_CHECK): the senders of
/// messages that have not been received yet, and whoever calls first of two members that exchange a
/// block in a collective call. Lies in the node heap.
///
/// Thread rule: any rank at any time; the lock inside is held for a few hundred instructions.
class NoteBoard {
  public:
    enum class Side : std::uint32_t { message, given, taken };

    /// Which elements, by ranks of MPI_COMM_WORLD. A message carries its number in its header
    /// (FrameHeader::sequence); blocks are named as messages of collective calls are.
    struct Name {
        std::uint32_t sender = 0;
        std::uint32_t receiver = 0;
        std::uint64_t number = 0;  ///< of the pair's messages, not 0, or of the collective call
        std::uint32_t context = 0;
        std::uint32_t leader = 0;  ///< member 0 of the communicator
        std::uint32_t slot = 0;    ///< of several blocks from one to the other
        Side side = Side::message;
        bool operator==(const Name&) const = default;
    };
    enum class Meeting : std::uint8_t { is_first, is_second, no_memory };

    /// False: the heap has no room for it, and the message is not compared.
    bool leave(memory::Allocator& allocator, const Name& name, const ElementNote& note) noexcept;
    /// Takes a note that was left. False: there is none of that name.
    bool take(memory::Allocator& allocator, const Name& name, ElementNote* note) noexcept;
    /// Of a block: takes what the other side has left, or leaves what this one says.
    Meeting meet(memory::Allocator& allocator, const Name& name, const ElementNote& own,
                 ElementNote* other) noexcept;

  private:
    struct Record;
    static constexpr std::size_t bucket_count = 1024;

    Record** find(const Name& name) noexcept;
    Record*& bucket(const Name& name) noexcept;

    sync::HolderLock lock_;
    Record* buckets_[bucket_count] = {};  ///< guarded by the lock, as what they lead to
};

}  // namespace headway::object
