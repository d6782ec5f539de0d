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

/// One collective call as one member makes it: what all members must have in common. Plain data.
struct CallSignature {
    static constexpr std::size_t name_bytes = 48;
    static constexpr std::int64_t nothing = -1;

    explicit CallSignature(std::string_view function = {}) noexcept;

    char name[name_bytes] = {};    ///< of the function
    std::int64_t root = nothing;   ///< rank in the communicator
    std::int64_t bytes = nothing;  ///< of the vector or of one block, where all must give the same
    std::uint64_t operation = 0;   ///< operator of a reduction, or the sizes of all blocks
    ElementNote elements;          ///< of the vector or of one block; of a reduction, its operator

    bool operator==(const CallSignature& other) const noexcept;
};

/// "MPI_Bcast with root 0 and 4 bytes".
std::string describe(const CallSignature& signature);

/// Compares the collective calls of the members of communicators (HEADWAY_CHECK=collectives). Who
/// comes first to the n-th call on a communicator leaves a record in the node heap; each later one
/// compares his own call with it, and the last one removes it. Nobody waits for anybody, so that
/// programs run as without it. Lies in the node heap.
///
/// Thread rule: any rank at any time; the lock inside is held for a few hundred instructions.
class CallOrder {
  public:
    enum class Answer : std::uint8_t { agrees, differs, no_memory };

    /// Counts as the communicator's next collective call. Where it differs, `*other` is the call
    /// of rank `*other_rank` of MPI_COMM_WORLD, and both are call number `*number`, from 1 on.
    Answer compare(memory::Allocator& allocator, Communicator& communicator,
                   const CallSignature& own, CallSignature* other, int* other_rank,
                   std::uint64_t* number) noexcept;

  private:
    struct Record;
    static constexpr std::size_t bucket_count = 256;

    sync::HolderLock lock_;
    Record* buckets_[bucket_count] = {};  ///< guarded by the lock, as what they lead to
};

}  // namespace headway::object
