// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "engine/op.hpp"
#include "memory/allocator.hpp"

namespace headway::protocol {

/// Names an op of a rank to ranks of other nodes, so that what comes from them is looked up, never
/// followed. 0 names none.
using Ticket = std::uint64_t;

/// The ops of a rank that ranks of other nodes know. Plain data in the node heap; belongs to the
/// rank's executor.
class Tickets {
  public:
    struct Entry {
        engine::Op* op = nullptr;  ///< null: free
        std::uint32_t peer = 0;    ///< who may name it
        std::uint32_t generation = 1;
        std::uint64_t bytes_left = 0;  ///< of a receive: what has not arrived yet
        /// Of a send: what its network gave for the memory that others may read, of this process.
        void* exposed = nullptr;
        std::uint32_t next_free = 0;  ///< index and 1; 0: none
    };

    /// 0: the node heap is exhausted.
    Ticket issue(memory::Allocator& allocator, engine::Op* op, std::uint32_t peer,
                 std::uint64_t bytes_left) noexcept;
    /// Null: nobody gave this ticket to `peer`, or it was cancelled.
    Entry* find(Ticket ticket, std::uint32_t peer) noexcept;
    /// Requires that find() answers it.
    void cancel(Ticket ticket) noexcept;

  private:
    bool grow(memory::Allocator& allocator) noexcept;

    Entry* entries_ = nullptr;
    std::uint32_t count_ = 0;
    std::uint32_t first_free_ = 0;  ///< index and 1; 0: none
};

}  // namespace headway::protocol
