// SPDX-License-Identifier: Apache-2.0
//
// What all who move bytes of a copy job share: which of its ranks is where, from memory or elements
// to memory or elements, and the count of what is there, which ends the job.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/copy_job.hpp"
#include "engine/op.hpp"
#include "engine/rank_state.hpp"

namespace headway::engine {

class Node;

/// Whether a rank is not in MPI to do its share, by its looks.
bool is_away(const RankState& rank) noexcept;

/// Whether a rank waits in MPI, or looks for a long message there.
bool is_waiting(const RankState& rank) noexcept;

/// Whether a rank is in MPI, if only between two steps of a call, by its looks. Without anybody who
/// could work for it a rank keeps its word while it computes, which says nothing then.
bool is_inside(const Node& node, const RankState& rank) noexcept;

/// Whether a rank waits in MPI, for this message perhaps, or did so until so lately that it may be
/// between two calls of a kind.
bool was_waiting_lately(const RankState& rank) noexcept;

/// Whether a rank is in MPI, or left it so lately that it may be between two calls of a kind.
bool was_inside_lately(const Node& node, const RankState& rank) noexcept;

/// Whether the rank has receives that wait for their messages.
inline bool expects_messages(const RankState& rank) noexcept
{
    // Relaxed: a hint.
    return rank.counters.posted_queue.load(std::memory_order_relaxed) != 0;
}

/// Whether no thread has both ends at hand: the ranks are of two processes, and the bytes are not
/// in the node heap. (Where they are, the receiver needs nobody. A target in the heap is the
/// receiver's scratch: to write into what its caches hold costs the sender more than a slot.)
bool crosses(const CopyJob& job) noexcept;

/// The caller's reference to the job is over.
void drop_reference(Worker& worker, CopyJob* job);

// What counts may end the message. Then the job is gone unless the caller has a reference, or it
// hangs in a list of the rank that he works for.

/// Counts the match: a message ends with its last byte, and not before it has a receive.
void count_match(Worker& worker, CopyJob* job);

/// Counts bytes of the message as dealt with, and completes it with the last of them.
void count_bytes(Worker& worker, CopyJob* job, std::uint64_t bytes, OpError error);

/// Counts what was copied from `source` to `target`, and how it ended.
void account(Worker& worker, CopyJob* job, const transport::Place& target,
             const transport::Place& source, std::uint64_t bytes, transport::CopyOutcome outcome);

/// Messages from this length on are written past the caches, where the last one has so many bytes:
/// it could not hold them beside what else is used. Shorter ones would be received faster, too, but
/// not read (docs/design/013).
constexpr std::uint64_t streamed_bytes_min(std::uint64_t last_cache_bytes) noexcept
{
    constexpr std::uint64_t least = 8ULL * 1024 * 1024;
    return std::max(least, last_cache_bytes / 4);
}

/// Copies by the system, once more if so said, and measures both. Requires: the bytes at `source`
/// stay, and nobody reads `target`.
transport::CopyOutcome copy_measured(Node& node, const transport::Place& target,
                                     const transport::Place& source, std::uint64_t bytes,
                                     bool twice, transport::shm::ReadingTicks* ticks);

/// Bytes of elements, or of a place of this process, to a place of this process, or the reverse.
/// `is_cached`: see transport::Frame.
void read_source(const CopyJob& job, std::uint64_t from, std::uint64_t bytes, std::byte* target);
void write_target(const CopyJob& job, std::uint64_t from, std::uint64_t bytes,
                  const std::byte* source, bool is_cached = false);

/// Reads bytes of the sender's process, or of the node heap, to a target that this process alone
/// knows: elements, or what they are combined with.
transport::CopyOutcome fetch_bytes(Node& node, const CopyJob& job, std::uint64_t from,
                                   std::uint64_t bytes);

/// Writes bytes of elements of this process, which sends them, to the target in another one.
transport::CopyOutcome store_bytes(Node& node, const CopyJob& job, std::uint64_t from,
                                   std::uint64_t bytes);

/// Between elements of this process, or from or to them.
void copy_elements(const CopyJob& job, std::uint64_t from, std::uint64_t bytes);

}  // namespace headway::engine
