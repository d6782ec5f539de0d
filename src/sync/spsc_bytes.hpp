// SPDX-License-Identifier: Apache-2.0
//
// Byte ring beside a ring of cells: payload that does not fit a cell. Positions are 64-bit counts
// of bytes that only grow; position modulo capacity is the place. A reservation is contiguous: one
// that would pass the end of the ring skips to its start, and the skipped bytes go back with it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/atomic.hpp"

namespace headway::sync {

/// A contiguous piece of the ring. Only `end` has to travel to the consumer (beside the size, which
/// the message knows): the piece begins at place_of(begin), and release(end) gives it back.
struct ByteReservation {
    std::uint64_t begin;
    std::uint64_t end;
};

/// Control block; the bytes follow it in memory (bytes_needed). All bytes zero: a ring of capacity
/// zero, in which every reservation fails.
/// Thread rule: as BasicSpscCells. The ring publishes nothing by itself: a reservation is announced
/// by the cell that carries its end.
template <typename Atomics>
class BasicSpscBytes {
  public:
    static constexpr std::uint64_t granule_bytes = platform::cache_line_bytes;

    static constexpr std::size_t bytes_needed(std::size_t capacity) noexcept
    {
        return sizeof(BasicSpscBytes) + capacity;
    }

    /// Requires: `capacity` is a power of two, at least 4 granules; before either side uses it.
    void open(std::uint64_t capacity) noexcept { capacity_ = capacity; }
    std::uint64_t capacity() const noexcept { return capacity_; }

    /// Largest piece that is sure to find room at some time, whatever the positions.
    std::uint64_t reservation_bytes_max() const noexcept { return capacity_ / 4; }

    /// Sets a piece of `size_bytes` aside. False: no room for now (retry_lane_full); pieces above
    /// reservation_bytes_max() never fit.
    [[nodiscard]] bool reserve(std::uint64_t size_bytes, ByteReservation* piece) noexcept
    {
        if (size_bytes > reservation_bytes_max()) {
            return false;
        }
        const std::uint64_t begin = begin_for(size_bytes);
        const std::uint64_t end = begin + round_up(size_bytes);
        if (end - returned_seen_ > capacity_) {
            // (1) acquire, pairs with (2): the consumer has read the bytes that we write again.
            returned_seen_ = returned_.load(std::memory_order_acquire);
            if (end - returned_seen_ > capacity_) {
                return false;
            }
        }
        reserved_ = end;
        *piece = ByteReservation{begin, end};
        return true;
    }

    /// The consumer has read everything up to `end` of a piece. Pieces go back in order. Credits
    /// travel once in a quarter of the ring. True: they did.
    bool release(std::uint64_t end) noexcept
    {
        if (end - returned_sent_ < capacity_ / 4) {
            return false;
        }
        returned_sent_ = end;
        // (2) release, pairs with (1): our reads come before the bytes are written again.
        returned_.store(end, std::memory_order_release);
        return true;
    }

    /// Where the piece of `size_bytes` that ends at `end` begins (for the consumer).
    std::uint64_t begin_of(std::uint64_t end, std::uint64_t size_bytes) const noexcept
    {
        return end - round_up(size_bytes);
    }

    /// Place of a position. Requires: the bytes lie behind this control block.
    void* place_of(std::uint64_t position) noexcept
    {
        return reinterpret_cast<unsigned char*>(this) + sizeof(*this) +
               (position & (capacity_ - 1));
    }

  private:
    static constexpr std::uint64_t round_up(std::uint64_t size_bytes) noexcept
    {
        return (size_bytes + granule_bytes - 1) & ~(granule_bytes - 1);
    }

    std::uint64_t begin_for(std::uint64_t size_bytes) const noexcept
    {
        const std::uint64_t reserved = reserved_;
        const std::uint64_t left = capacity_ - (reserved & (capacity_ - 1));
        return round_up(size_bytes) <= left ? reserved : reserved + left;
    }

    // Written once by open(), before both sides; read by both.
    alignas(platform::cache_line_bytes) std::uint64_t capacity_ = 0;
    // The producer's line.
    alignas(platform::cache_line_bytes) typename Atomics::template Plain<std::uint64_t> reserved_{};
    typename Atomics::template Plain<std::uint64_t> returned_seen_{};
    // The consumer's line.
    alignas(platform::cache_line_bytes)
        typename Atomics::template Plain<std::uint64_t> returned_sent_{};
    // Written by the consumer once in a quarter of the ring, read by the producer when it is out.
    alignas(platform::cache_line_bytes)
        typename Atomics::template Atomic<std::uint64_t> returned_{};
};

using SpscBytes = BasicSpscBytes<platform::RealAtomics>;
static_assert(sizeof(SpscBytes) % platform::cache_line_bytes == 0);

}  // namespace headway::sync
