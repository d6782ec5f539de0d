// SPDX-License-Identifier: Apache-2.0
//
// Byte ring beside a ring of cells: payload that does not fit a cell. Positions are 64-bit counts
// of bytes that only grow; position modulo capacity is the place. A reservation is contiguous: one
// that would pass the end of the ring skips to its start, and the skipped bytes go back with it.
//
// Memory that was never used is dear the first time, so a ring grows with its traffic: while the
// consumer keeps up, rounds end where the ring was used up to, by the same skip, and take in
// another piece now and then.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "platform/atomic.hpp"

namespace headway::sync {

/// A contiguous piece of the ring. Only `end` has to travel to the consumer (beside the size, which
/// the message knows): the piece begins at place_of(begin), and release(end) gives it back.
struct ByteReservation {
    std::uint64_t begin;
    std::uint64_t end;
    bool is_new;  ///< no piece before had all of its places
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

    /// Whether the next piece of so many bytes would be the first one in its places, as those of a
    /// ring are that is used too little yet for rounds to end early. Thread rule: the producer.
    bool is_next_new(std::uint64_t size_bytes) const noexcept
    {
        return used_ < capacity_ / 4 &&
               place_behind(begin_for(size_bytes, reserved_), size_bytes) > used_;
    }

    /// Sets a piece of `size_bytes` aside. False: no room for now (retry_lane_full); pieces above
    /// reservation_bytes_max() never fit. Where `source`, which is to be copied there, is given, up
    /// to a page is left out before the piece so that no load of that copy looks like one of bytes
    /// just stored.
    [[nodiscard]] bool reserve(std::uint64_t size_bytes, ByteReservation* piece,
                               const void* source = nullptr) noexcept
    {
        if (size_bytes > reservation_bytes_max()) {
            return false;
        }
        std::uint64_t begin = begin_for(size_bytes, reserved_);
        if (source != nullptr) {
            const std::uint64_t placed = begin + gap_before(begin, size_bytes, source);
            begin = begin_for(size_bytes, placed);
            begin += begin != placed ? gap_before(begin, size_bytes, source) : 0;
        }
        const std::uint64_t gap_max = source != nullptr ? gap_bytes_max : 0;
        if (used_ != capacity_ && is_new_round_due(round_up(size_bytes) + gap_max)) [[unlikely]] {
            begin = start_of_next_round();
            begin += source != nullptr ? gap_before(begin, size_bytes, source) : 0;
        }
        const std::uint64_t end = begin + round_up(size_bytes);
        if (!has_room(end)) {
            return false;
        }
        const std::uint64_t used = place_behind(begin, size_bytes);
        *piece = ByteReservation{begin, end, used > used_};
        if (used > used_) [[unlikely]] {
            used_ = used;
            pieces_since_growth_ = 0;
        }
        reserved_ = end;
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
    static constexpr std::uint64_t gap_bytes_max = 4096;  ///< a page

    static constexpr std::uint64_t round_up(std::uint64_t size_bytes) noexcept
    {
        return (size_bytes + granule_bytes - 1) & ~(granule_bytes - 1);
    }

    /// Whether nothing before `end` waits for the consumer to give bytes back.
    bool has_room(std::uint64_t end) noexcept
    {
        if (end - returned_seen_ > capacity_) {
            // (1) acquire, pairs with (2): the consumer has read the bytes that we write again.
            returned_seen_ = returned_.load(std::memory_order_acquire);
        }
        return end - returned_seen_ <= capacity_;
    }

    std::uint64_t start_of_next_round() const noexcept
    {
        return (reserved_ + capacity_) & ~(capacity_ - 1);
    }

    /// Of the bytes of a piece at `begin`, the place behind the last one.
    std::uint64_t place_behind(std::uint64_t begin, std::uint64_t size_bytes) const noexcept
    {
        return (begin & (capacity_ - 1)) + round_up(size_bytes);
    }

    /// Whether the next piece, which needs `room` at most, had better begin a round than be the
    /// first one in its places: a quarter of the ring is used, the consumer has kept up, so that
    /// what the round leaves out keeps no burst waiting, and the last such piece was not long ago.
    bool is_new_round_due(std::uint64_t room) noexcept
    {
        constexpr std::uint32_t pieces_a_growth = 16;
        constexpr std::uint64_t pieces_of_a_burst = 3;
        pieces_since_growth_ = pieces_since_growth_ + 1;
        return pieces_since_growth_ < pieces_a_growth && used_ >= capacity_ / 4 &&
               place_behind(reserved_, room) > used_ &&
               has_room(start_of_next_round() + pieces_of_a_burst * room);
    }

    /// The first position from `position` on where a piece is contiguous.
    std::uint64_t begin_for(std::uint64_t size_bytes, std::uint64_t position) const noexcept
    {
        const std::uint64_t left = capacity_ - (position & (capacity_ - 1));
        return round_up(size_bytes) <= left ? position : position + left;
    }

    /// A processor tells loads from stores before them by the low twelve bits of their addresses: a
    /// load that meets a store so waits until that has left the core, and stores to lines of
    /// another core take long. With the place at most a granule before the source, or as far behind
    /// as the piece is long, modulo a page, no load of a copy meets a store of it.
    std::uint64_t gap_before(std::uint64_t begin, std::uint64_t size_bytes,
                             const void* source) noexcept
    {
        constexpr std::uint64_t page = gap_bytes_max;
        const std::uint64_t behind = (reinterpret_cast<std::uintptr_t>(place_of(begin)) -
                                      reinterpret_cast<std::uintptr_t>(source)) %
                                     page;
        if (behind == 0 || behind >= size_bytes || page - behind < granule_bytes) {
            return 0;
        }
        const std::uint64_t to_next = (page - behind) & ~(granule_bytes - 1);
        return std::min(to_next, round_up(size_bytes - behind));
    }

    // Written once by open(), before both sides; read by both.
    alignas(platform::cache_line_bytes) std::uint64_t capacity_ = 0;
    // The producer's line.
    alignas(platform::cache_line_bytes) typename Atomics::template Plain<std::uint64_t> reserved_{};
    typename Atomics::template Plain<std::uint64_t> returned_seen_{};
    typename Atomics::template Plain<std::uint64_t> used_{};  ///< places behind it never were
    typename Atomics::template Plain<std::uint32_t> pieces_since_growth_{};
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
