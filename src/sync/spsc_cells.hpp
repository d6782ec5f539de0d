// SPDX-License-Identifier: Apache-2.0
//
// Ring of 64-byte cells from one producer to one consumer, of different processes. The state word
// of a cell carries the lap in which it was written:
//
//   bit  31 ........ 8  7 ..... 0
//        lap (24 bits)   kind
//
// Message n (from 0) lies in cell n % count with lap n / count + 1 modulo 2^24, so a cell never
// has to be cleared, and a ring of zeros is an empty one. The consumer polls the line of the next
// cell and nothing else; the producer touches a line of the consumer only when it runs out.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/atomic.hpp"

namespace headway::sync {

template <typename Atomics, std::size_t payload_words = 15>
struct BasicCell {
    static constexpr std::size_t payload_bytes = payload_words * sizeof(std::uint32_t);

    /// 60 bytes. Offset 4 of the line: 8-byte fields belong at 4, 12, ... from here.
    void* payload() noexcept { return &words[0]; }
    const void* payload() const noexcept { return &words[0]; }
    // Written by the producer, read by the consumer.
    typename Atomics::template Atomic<std::uint32_t> state;
    // Written by the producer before the state word, read by the consumer after it.
    typename Atomics::template Plain<std::uint32_t> words[payload_words];
};

/// Thread rule: reserve and publish by whoever acts for the producer, peek and consume by whoever
/// acts for the consumer, one thread at a time each (the ownership word sees to that; both sides'
/// private fields therefore lie in the ring).
template <typename Atomics, std::size_t cell_count, std::size_t payload_words = 15>
class BasicSpscCells {
    static_assert(cell_count >= 4 && (cell_count & (cell_count - 1)) == 0);

  public:
    using Cell = BasicCell<Atomics, payload_words>;
    static constexpr std::size_t count = cell_count;

    /// The next cell to fill, or null: the consumer is a whole ring behind (retry_lane_full).
    /// Asking twice without publish() gives the same cell.
    Cell* reserve() noexcept
    {
        if (sent_ - returned_seen_ == cell_count) {
            // (1) acquire, pairs with (4): the consumer has read the cells that we fill again.
            returned_seen_ = returned_.load(std::memory_order_acquire);
            if (sent_ - returned_seen_ == cell_count) {
                return nullptr;
            }
        }
        return &cells_[sent_ % cell_count];
    }

    /// Shows the reserved cell to the consumer before publish(), with a kind by which it knows that
    /// that is still to come; as often as one likes. The cell's payload does not change any more.
    void announce(Cell* cell, std::uint8_t kind) noexcept
    {
        // (5) release, pairs with (3): the payload, and what else was written so far, is visible
        // with the state word.
        cell->state.store(lap_of(sent_) << kind_bits | kind, std::memory_order_release);
    }

    /// Hands the reserved cell over.
    void publish(Cell* cell, std::uint8_t kind) noexcept
    {
        // (2) release, pairs with (3): the payload is visible with the state word.
        cell->state.store(lap_of(sent_) << kind_bits | kind, std::memory_order_release);
        sent_ = sent_ + 1;
    }

    /// The oldest cell not consumed, or null. It stays valid until consume(). `kind` is what
    /// publish() gave, or announce(): the one whose writes are visible now.
    Cell* peek(std::uint8_t* kind = nullptr) noexcept
    {
        Cell& cell = cells_[taken_ % cell_count];
        // (3) acquire, pairs with (2) and (5). The kind comes from the same load: a later one could
        // be of a publish() whose payload is not visible yet.
        const std::uint32_t state = cell.state.load(std::memory_order_acquire);
        if (state >> kind_bits != lap_of(taken_)) {
            return nullptr;
        }
        if (kind != nullptr) {
            *kind = static_cast<std::uint8_t>(state & 0xFF);
        }
        return &cell;
    }

    /// Gives the peeked cell back. Credits travel once in a quarter of the ring; a full ring
    /// always holds at least three quarters not consumed, so the producer never waits for nothing.
    /// True: they travelled.
    bool consume() noexcept
    {
        taken_ = taken_ + 1;
        if (taken_ % (cell_count / 4) != 0) {
            return false;
        }
        // (4) release, pairs with (1): our reads of the cells come before their reuse.
        returned_.store(taken_, std::memory_order_release);
        return true;
    }

    /// Messages ever published (the producer's question) and consumed (the consumer's).
    std::uint64_t sent() const noexcept { return sent_; }
    std::uint64_t taken() const noexcept { return taken_; }

  private:
    static constexpr unsigned kind_bits = 8;
    static std::uint32_t lap_of(std::uint64_t message) noexcept
    {
        return static_cast<std::uint32_t>(message / cell_count + 1) & 0xFF'FFFF;
    }

    // The producer's line: nobody else reads it.
    alignas(platform::cache_line_bytes) typename Atomics::template Plain<std::uint64_t> sent_{};
    typename Atomics::template Plain<std::uint64_t> returned_seen_{};
    // The consumer's line: nobody else reads it, so polling it costs nothing.
    alignas(platform::cache_line_bytes) typename Atomics::template Plain<std::uint64_t> taken_{};
    // Written by the consumer once in a quarter of the ring, read by the producer when it is out.
    alignas(platform::cache_line_bytes)
        typename Atomics::template Atomic<std::uint64_t> returned_{};
    alignas(platform::cache_line_bytes) Cell cells_[cell_count]{};
};

using Cell = BasicCell<platform::RealAtomics>;
static_assert(sizeof(Cell) == platform::cache_line_bytes);

template <std::size_t cell_count = 64>
using SpscCells = BasicSpscCells<platform::RealAtomics, cell_count>;
static_assert(sizeof(SpscCells<64>) == 67 * platform::cache_line_bytes);

}  // namespace headway::sync
