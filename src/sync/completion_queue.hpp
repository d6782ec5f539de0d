// SPDX-License-Identifier: Apache-2.0
//
// What completers in any process fill and one consumer empties: completions in the order in which
// they came, and the moment at which none is open any more.
//
//   open_ = completions to come + 1, and without the 1 while somebody waits for the end
//
// 1. A completer that brings open_ to 0 tells who waits; nobody waits for the next end before it
//    has told (the consumer sees to that by the op that is completed for it).
// 2. open_ is above 0 while a completer may touch the queue, but for that one.
#pragma once

#include <cstdint>

#include "sync/mpsc_list.hpp"

namespace headway::sync {

/// One consumer at a time: expect, withdraw, begin_wait, end_wait, take_all; deliver belongs to who
/// completes. All others: as said.
template <typename Atomics>
class BasicCompletionQueue {
  public:
    using Link = BasicListLink<Atomics>;

    BasicCompletionQueue() noexcept : open_(1) {}

    /// One more completion is to come. Before its completer can know of it.
    void expect() noexcept
    {
        // Relaxed: the completer learns of it by what is published afterwards.
        if (open_.fetch_add(1, std::memory_order_relaxed) == 0) {
            // The end that somebody waits for has come; who brought it is about to say so.
            take_back();
        }
    }

    /// A completion. True: it was the last one, and somebody waits for that: the caller tells
    /// him. Else nothing here may be touched afterwards. Thread rule: any thread; once for each
    /// expect() that was not withdrawn.
    [[nodiscard]] bool deliver(Link* link) noexcept
    {
        (void)completed_.push(link);
        return count_down();
    }

    /// One completion will not come. Result as above.
    [[nodiscard]] bool withdraw() noexcept { return count_down(); }

    /// From now on the end is waited for. True: it is there already. Requires: what the teller
    /// needs was written before; no end_wait() is due.
    [[nodiscard]] bool begin_wait() noexcept
    {
        is_awaited_ = true;
        return count_down();
    }
    /// The end was told. May be called when nobody waits.
    void end_wait() noexcept
    {
        if (is_awaited_) {
            take_back();
        }
    }
    /// begin_wait() counts for completions that are expected from now on, too.
    bool is_awaited() const noexcept { return is_awaited_; }

    /// Whether a completer may still touch the queue. Requires: nobody waits.
    bool is_in_use() const noexcept
    {
        // (2) acquire, pairs with (1): what completers did lies behind them.
        return open_.load(std::memory_order_acquire) != 1;
    }

    /// Completions so far, the oldest first; null: none.
    Link* take_all() noexcept { return completed_.take_all(); }

  private:
    bool count_down() noexcept
    {
        // (1) release, pairs with itself and (2): the completion is there; acquire, pairs with
        // itself: who ends the count sees all of them, and what begin_wait() says.
        return open_.fetch_sub(1, std::memory_order_acq_rel) == 1;
    }
    void take_back() noexcept
    {
        is_awaited_ = false;
        // Relaxed: only the consumer looks for the 1.
        open_.fetch_add(1, std::memory_order_relaxed);
    }

    BasicMpscList<Atomics> completed_;
    // Written by the consumer and by completers.
    typename Atomics::template Atomic<std::uint32_t> open_;
    // The consumer's own.
    bool is_awaited_ = false;
};

using CompletionQueue = BasicCompletionQueue<platform::RealAtomics>;

}  // namespace headway::sync
