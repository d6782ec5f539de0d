// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "memory/allocator.hpp"

namespace headway::engine {

/// Who takes part in an operation: the narrow view that protocols have of a communicator. One for
/// each member rank, in the node heap, so that whoever works for the rank can read it.
///
/// Written when the communicator is made; afterwards only `next_sequence`, by the rank's executor.
struct Scope {
    /// Even: context of point-to-point messages. The odd one above it names collective steps.
    std::uint32_t context = 0;
    std::uint32_t rank = 0;
    std::uint32_t size = 0;
    /// Collectives started on this communicator; all members count alike (MPI-5.0 section 6.12).
    std::uint32_t next_sequence = 0;
    /// Of the job: how many ranks it has, and which one is number 0 among this node's peers.
    std::uint32_t job_rank_count = 0;
    std::uint32_t origin = 0;

    std::uint32_t collective_context() const noexcept { return context | 1U; }

    /// A member as the ranks of this node know it, see Node::peer_of. Requires member < size.
    std::uint32_t peer(std::uint32_t member) const noexcept { return peers()[member]; }
    /// Its number in the job.
    std::uint32_t job_rank(std::uint32_t member) const noexcept
    {
        const std::uint32_t place = peer(member);
        const std::uint32_t before_end = job_rank_count - origin;
        return place < before_end ? place + origin : place - before_end;
    }
    std::uint32_t* peers() noexcept { return reinterpret_cast<std::uint32_t*>(this + 1); }
    const std::uint32_t* peers() const noexcept
    {
        return reinterpret_cast<const std::uint32_t*>(this + 1);
    }

    static std::size_t bytes_needed(std::uint32_t size) noexcept
    {
        return sizeof(Scope) + size * sizeof(std::uint32_t);
    }
};

}  // namespace headway::engine
