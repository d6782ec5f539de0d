// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "memory/allocator.hpp"
#include "object/element_note.hpp"
#include "sync/holder_lock.hpp"

namespace headway::object {

/// What senders say of messages that have not been received yet (HEADWAY_CHECK=messages): the note
/// stays here, and the message carries its number (FrameHeader::sequence) to whoever receives it.
/// Lies in the node heap.
///
/// Thread rule: any rank at any time; the lock inside is held for a few hundred instructions.
class SentTypes {
  public:
    struct Name {
        std::uint32_t sender;  ///< node ranks
        std::uint32_t receiver;
        std::uint32_t number;  ///< of the pair's messages, not 0
        bool operator==(const Name&) const = default;
    };

    /// False: the heap has no room for it, and the message is not compared.
    bool leave(memory::Allocator& allocator, const Name& name, const ElementNote& note) noexcept;
    /// Takes a note that was left. False: there is none of that name.
    bool take(memory::Allocator& allocator, const Name& name, ElementNote* note) noexcept;

  private:
    struct Record;
    static constexpr std::size_t bucket_count = 1024;

    Record*& bucket(const Name& name) noexcept;

    sync::HolderLock lock_;
    Record* buckets_[bucket_count] = {};  ///< guarded by the lock, as what they lead to
};

}  // namespace headway::object
