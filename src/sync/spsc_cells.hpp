// SPDX-License-Identifier: Apache-2.0
//
// Ring of 64-byte lines from one producer to one consumer, of different processes. A message takes
// a whole line, or half of one: two short ones cost one line's way between the cores.
//
//   byte 0        4                    32                   60
//        state of words (28 bytes)     words (28 bytes)     state of
//        the first half, or of the whole line: 56 bytes     the second half
//
// A state word:
//   bit  31 ...... 16  15        14         13 ....... 0
//        lap           is whole  after gap  tag, the user's
//
// Halves are numbered through all laps; half n (from 0) lies in line n / 2 % lines and carries lap
// n / (2 * lines) + 1 modulo 2^16 when it is published, so no half has to be cleared by the
// consumer, and a ring of zeros is an empty one. A whole line begins at an even half. If it follows
// a message in the half before, that half's neighbour stays empty: a gap, of which the state of the
// next line tells. Whoever publishes an even half takes an old state away from the odd one beside
// it, so a state word that the consumer meets is of this lap or looks like one of the lap before.
//
// The consumer polls the line of the next half, and where that is an odd one the line behind it;
// the producer touches a line of the consumer only when it runs out.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/atomic.hpp"
#include "platform/cpu.hpp"

namespace headway::sync {

template <typename Atomics, std::size_t half_words = 7>
struct BasicCellLine {
    using Word = typename Atomics::template Plain<std::uint32_t>;
    using State = typename Atomics::template Atomic<std::uint32_t>;

    State& state_of(std::uint64_t half) noexcept { return half % 2 == 0 ? first : second; }
    Word* words_of(std::uint64_t half) noexcept { return &words[half % 2 * half_words]; }

    // States are written by the producer, read by the consumer.
    State first;
    // Written by the producer before the state of their half, read by the consumer after it.
    Word words[2 * half_words];
    State second;
};

/// Thread rule: reserve, announce and publish by whoever acts for the producer, peek and consume by
/// whoever acts for the consumer, one thread at a time each (the ownership word sees to that; both
/// sides' private fields therefore lie in the ring).
template <typename Atomics, std::size_t line_count, std::size_t half_words = 7>
class BasicSpscCells {
    static_assert(line_count >= 4 && (line_count & (line_count - 1)) == 0);

  public:
    using Line = BasicCellLine<Atomics, half_words>;
    using Word = typename Line::Word;

    static constexpr std::size_t half_bytes = half_words * sizeof(std::uint32_t);
    static constexpr std::size_t whole_bytes = 2 * half_bytes;
    static constexpr std::uint32_t tag_limit = 1U << 14;
    static constexpr std::uint64_t half_count = 2 * line_count;

    /// The words to fill for a message of a half or of a whole line, or null: the consumer is a
    /// whole ring behind (retry_lane_full). Asking twice without publish() gives the same ones.
    Word* reserve(bool is_whole) noexcept
    {
        const std::uint64_t end = begin_of(is_whole) + (is_whole ? 2 : 1);
        if (end - returned_seen_ > half_count) {
            // (1) acquire, pairs with (4): the consumer has read the halves that we fill again.
            returned_seen_ = returned_.load(std::memory_order_acquire);
            if (end - returned_seen_ > half_count) {
                return nullptr;
            }
        }
        const std::uint64_t half = begin_of(is_whole);
        return line_of(half).words_of(half);
    }

    /// Shows a reserved whole line to the consumer before publish(), with a tag by which it knows
    /// that that is still to come; as often as one likes. Its words do not change any more.
    void announce(std::uint32_t tag) noexcept { set_state(true, tag); }

    /// Hands the reserved words over. Requires tag < tag_limit.
    void publish(bool is_whole, std::uint32_t tag) noexcept
    {
        set_state(is_whole, tag);
        sent_ = begin_of(is_whole) + (is_whole ? 2 : 1);
    }

    /// The words of the oldest message not consumed, or null. They stay valid until consume().
    /// `tag` is what publish() gave, or announce(): the one whose writes are visible now.
    Word* peek(std::uint32_t* tag = nullptr) noexcept
    {
        for (;;) {
            // (3) acquire, pairs with (2). The tag comes from the same load: a later one could be
            // of a publish() whose words are not visible yet.
            const std::uint32_t state =
                line_of(taken_).state_of(taken_).load(std::memory_order_acquire);
            if (state >> lap_shift == lap_of(taken_)) [[likely]] {
                peeked_halves_ = (state & whole_bit) != 0 ? 2 : 1;
                if (tag != nullptr) {
                    *tag = state & (tag_limit - 1);
                }
                return line_of(taken_).words_of(taken_);
            }
            if (taken_ % 2 == 0) {
                return nullptr;
            }
            // (3) acquire, as above: with the next line the half before it is visible, if there is
            // a message in it.
            const std::uint32_t behind =
                line_of(taken_ + 1).state_of(taken_ + 1).load(std::memory_order_acquire);
            if (behind >> lap_shift != lap_of(taken_ + 1)) {
                return nullptr;
            }
            if ((behind & gap_bit) != 0) {
                taken_ = taken_ + 1;
            }
        }
    }

    /// Gives the peeked words back. Credits travel once in a quarter of the ring; of a full ring
    /// more than half is not consumed, so the producer never waits for nothing. True: they
    /// travelled.
    bool consume() noexcept
    {
        taken_ = taken_ + peeked_halves_;
        if (taken_ - given_back_ < half_count / 4) {
            return false;
        }
        given_back_ = std::uint64_t{taken_};
        // (4) release, pairs with (1): our reads of the halves come before their reuse.
        returned_.store(taken_, std::memory_order_release);
        return true;
    }

    /// Halves consumed so far. Thread rule: as peek().
    std::uint64_t taken() const noexcept { return taken_; }

  private:
    static constexpr unsigned lap_shift = 16;
    static constexpr std::uint32_t whole_bit = 1U << 15;
    static constexpr std::uint32_t gap_bit = 1U << 14;

    static std::uint32_t lap_of(std::uint64_t half) noexcept
    {
        return static_cast<std::uint32_t>(half / half_count + 1) & 0xFFFF;
    }
    Line& line_of(std::uint64_t half) noexcept { return lines_[half / 2 % line_count]; }

    /// Where the next message begins: a whole line at an even half.
    std::uint64_t begin_of(bool is_whole) const noexcept
    {
        return is_whole ? (sent_ + 1) & ~std::uint64_t{1} : std::uint64_t{sent_};
    }

    void set_state(bool is_whole, std::uint32_t tag) noexcept
    {
        const std::uint64_t half = begin_of(is_whole);
        Line& line = line_of(half);
        if (half % 2 == 0) {
            // Relaxed: visible with (2), before which the consumer does not look at it.
            line.second.store((lap_of(half) - 1) << lap_shift, std::memory_order_relaxed);
        }
        const std::uint32_t state = lap_of(half) << lap_shift | (is_whole ? whole_bit : 0) |
                                    (half != sent_ ? gap_bit : 0) | tag;
        // (2) release, pairs with (3): the words, and what else was written so far, are visible
        // with the state.
        line.state_of(half).store(state, std::memory_order_release);
    }

    // The producer's line: nobody else reads it.
    alignas(platform::cache_line_bytes) typename Atomics::template Plain<std::uint64_t> sent_{};
    typename Atomics::template Plain<std::uint64_t> returned_seen_{};
    // The consumer's line: nobody else reads it, so polling it costs nothing.
    alignas(platform::cache_line_bytes) typename Atomics::template Plain<std::uint64_t> taken_{};
    typename Atomics::template Plain<std::uint64_t> given_back_{};
    typename Atomics::template Plain<std::uint32_t> peeked_halves_{};
    // Written by the consumer once in a quarter of the ring, read by the producer when it is out.
    alignas(platform::cache_line_bytes)
        typename Atomics::template Atomic<std::uint64_t> returned_{};
    alignas(platform::cache_line_bytes) Line lines_[line_count]{};
};

static_assert(sizeof(BasicCellLine<platform::RealAtomics>) == platform::cache_line_bytes);

template <std::size_t line_count = 64>
using SpscCells = BasicSpscCells<platform::RealAtomics, line_count>;
static_assert(sizeof(SpscCells<64>) == 67 * platform::cache_line_bytes);

}  // namespace headway::sync
