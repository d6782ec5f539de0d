// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "memory/allocator.hpp"
#include "object/element_note.hpp"
#include "sync/holder_lock.hpp"

namespace headway::object {

class Communicator;

/// One collective call as one member makes it: what all members must have in common. Between groups
/// some do not know all of it, and leave it out. Plain data.
struct CallSignature {
    static constexpr std::size_t name_bytes = 48;
    static constexpr std::int64_t nothing = -1;

    explicit CallSignature(std::string_view function = {}) noexcept;

    char name[name_bytes] = {};    ///< of the function
    std::int64_t root = nothing;   ///< rank in the communicator
    std::int64_t bytes = nothing;  ///< of the vector or of one block, where all must give the same
    std::uint64_t operation = 0;   ///< operator of a reduction, or the sizes of all blocks; or 0
    ElementNote elements;          ///< of the vector or of one block; of a reduction, its operator

    /// What both say is the same.
    bool agrees_with(const CallSignature& other) const noexcept;
    /// How much it says.
    int facts() const noexcept;
};

/// "MPI_Bcast with root 0 and 4 bytes".
std::string describe(const CallSignature& signature);

/// Compares the collective calls of the members of communicators (HEADWAY_CHECK=collectives). Who
/// comes first to the n-th call on a communicator leaves a record in the node heap of its member 0;
/// each later one compares his own call with it, and the last one removes it. Nobody waits for
/// anybody, so that programs run as without it. Lies in the node heap.
///
/// Thread rule: any rank at any time; the lock inside is held for a few hundred instructions.
class CallOrder {
  public:
    enum class Answer : std::uint8_t { agrees, differs, no_memory };

    /// A member's next collective call on a communicator; ranks are those of MPI_COMM_WORLD. Plain
    /// data.
    struct Turn {
        // Together the name.
        std::uint32_t context = 0;
        std::uint32_t leader = 0;  ///< member 0, on whose node calls are compared
        std::uint32_t number = 0;  ///< from 1 on
        std::uint32_t size = 0;    ///< members that make the call
        std::uint32_t rank = 0;    ///< who makes it
    };

    /// Counts as the communicator's next call.
    static Turn take_turn(Communicator& communicator) noexcept;
    /// Where the call differs, `*other` is that of rank `*other_rank`.
    Answer compare(memory::Allocator& allocator, const Turn& turn, const CallSignature& own,
                   CallSignature* other, int* other_rank) noexcept;

  private:
    struct Record;
    static constexpr std::size_t bucket_count = 256;

    sync::HolderLock lock_;
    Record* buckets_[bucket_count] = {};  ///< guarded by the lock, as what they lead to
};

}  // namespace headway::object
