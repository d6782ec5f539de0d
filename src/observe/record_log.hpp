// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace headway::observe {

/// Records of one writer in `capacity` places; once they are full, the oldest is written over and
/// the one after it may be next, so readers see the newest capacity - 1. Anyone may
/// read at any time, also while the writer goes on or after it has died. The words lie elsewhere
/// (behind the object, in the node heap), so that their number is chosen at run time.
///
/// A reader takes a record's words and then looks how far the writer is: where the writer may have
/// begun to write over them, the reader discards what it has. Requires: capacity >= 2.
///
/// Thread rule: write() by one thread; the rest by any.
template <typename Atomics, std::size_t word_count>
class RecordLog {
  public:
    using Word = typename Atomics::template Atomic<std::uint64_t>;
    using Values = std::array<std::uint64_t, word_count>;

    void write(Word* words, std::uint64_t capacity, const Values& values) noexcept
    {
        // Relaxed: written by this thread only.
        const std::uint64_t index = written_.load(std::memory_order_relaxed);
        Word* const place = words + next_place_ * word_count;
        next_place_ = next_place_ + 1 == capacity ? 0 : next_place_ + 1;
        for (std::size_t i = 0; i < word_count; ++i) {
            // (1) release, pairs with (3): who reads this word sees the count (2) before it.
            place[i].store(values[i], std::memory_order_release);
        }
        // (2) release, pairs with (4): the words are visible with their count.
        written_.store(index + 1, std::memory_order_release);
    }

    /// How many records were ever written.
    std::uint64_t written() const noexcept
    {
        // (4) acquire, pairs with (2).
        return written_.load(std::memory_order_acquire);
    }

    /// Reads the record of this number. False: it has been, or is being, written over.
    /// Requires: index < written().
    bool read(const Word* words, std::uint64_t capacity, std::uint64_t index,
              Values* values) const noexcept
    {
        const Word* const place = words + index % capacity * word_count;
        for (std::size_t i = 0; i < word_count; ++i) {
            // (3) acquire, pairs with (1).
            (*values)[i] = place[i].load(std::memory_order_acquire);
        }
        // Relaxed: after (3) has seen a word of a later record, this sees that record's number.
        return written_.load(std::memory_order_relaxed) < index + capacity;
    }

  private:
    Word written_{0};  ///< written by the writer, read by readers
    /// written_ % capacity, the writer's own: a division would be half of the work.
    std::uint64_t next_place_ = 0;
};

}  // namespace headway::observe
