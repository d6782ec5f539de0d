// SPDX-License-Identifier: Apache-2.0
// Buffers for sends in buffered mode (MPI-5.0 section 3.6): one of the rank, one of each
// communicator that has its own.
//
// A message takes its bytes and MPI_BSEND_OVERHEAD from the user's memory, as the standard counts,
// so that a program whose sum is too small fails here and not only elsewhere:
//
//   | Entry | message | unused |   entries in order of address, linked
//
// With MPI_BUFFER_AUTOMATIC messages lie in memory of the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/op.hpp"
#include "mpi.h"

namespace headway::object {

class Rank;

/// Thread rule: the rank's threads, under its lock.
class SendBuffer {
  public:
    /// `memory` may be MPI_BUFFER_AUTOMATIC; `size_bytes` then means nothing.
    SendBuffer(void* memory, MPI_Count size_bytes) noexcept;
    SendBuffer(const SendBuffer&) = delete;
    SendBuffer& operator=(const SendBuffer&) = delete;
    /// Requires: flushed.
    ~SendBuffer() = default;

    void* memory() const noexcept { return memory_; }
    MPI_Count size_bytes() const noexcept { return size_bytes_; }
    bool is_automatic() const noexcept { return memory_ == MPI_BUFFER_AUTOMATIC; }

    /// Where a message of so many bytes would lie; null: it does not fit beside those that are
    /// under way. Requires: not automatic. The room is free until hold() follows.
    std::byte* find_room(Rank& rank, std::uint64_t message_bytes);
    /// The room that find_room() just gave belongs to this send until it is complete.
    void hold(std::byte* room, std::uint64_t message_bytes, engine::Op* send) noexcept;
    /// A send whose message lies elsewhere. Requires: automatic.
    void hold_outside(Rank& rank, engine::Op* send);

    /// An op that is complete when all messages that are in the buffer now have left it. Null: the
    /// node heap is exhausted.
    engine::Op* start_flush(Rank& rank);
    /// Blocks until all messages have left. False: the node heap is exhausted.
    [[nodiscard]] bool flush(Rank& rank);

  private:
    /// At the beginning of its room, in the user's memory.
    struct Entry {
        Entry* next = nullptr;
        Entry* previous = nullptr;
        std::uint64_t entry_bytes = 0;
        engine::Op* send = nullptr;
    };

    static std::uint64_t bytes_of_entry(std::uint64_t message_bytes) noexcept;
    std::uint64_t room_behind(const Entry* entry) const noexcept;
    std::byte* end_of(const Entry* entry) const noexcept;
    /// The entry behind which there is room, or the list's head; false: there is none.
    bool find_gap(std::uint64_t entry_bytes) noexcept;
    void collect(Rank& rank);
    void unlink(Entry* entry) noexcept;

    void* memory_;
    MPI_Count size_bytes_;
    std::byte* begin_ = nullptr;  ///< aligned
    std::byte* end_ = nullptr;
    Entry* first_ = nullptr;
    Entry* before_room_ = nullptr;  ///< where find_room() last found some; null: at the beginning
    std::vector<engine::Op*> outside_;
    std::size_t collect_at_ = 64;  ///< sends outside that make it worth looking for complete ones
};

}  // namespace headway::object
