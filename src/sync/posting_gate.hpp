// SPDX-License-Identifier: Apache-2.0
//
// Who may post to a ring of one producer that several threads post to: the executor of its rank,
// who may have a queue of frames that wait for room, and, while that queue is empty, other threads
// beside him.
//
//   bit 0 LOCKED   bit 1 WAITED-FOR   bit 2 OPEN (never cleared)   bit 3 BACKED-UP
//
// 1. Between enter() or a true enter_beside() and leave() the caller alone posts.
// 2. What a thread posts beside lies behind all that it gave to the executor before: the executor
//    sets BACKED-UP before he returns from queueing a frame, and clears it when all are posted.
#pragma once

#include <cstdint>

#include "platform/atomic.hpp"

namespace headway::sync {

/// In memory that processes share: the executor may be a helper in another one. All bytes zero is
/// the state before open(). Thread rule: enter_beside() any thread, enter() and the rest the
/// executor, leave() who entered.
template <typename Atomics>
class BasicPostingGate {
  public:
    BasicPostingGate() noexcept : word_(0) {}

    /// From now on threads may post beside. Requires: all that was queued has been posted, and
    /// nobody is inside.
    void open() noexcept
    {
        // (1) release, pairs with (2): the ring is made, and its fields are as the executor left
        // them.
        word_.fetch_or(is_open_bit, std::memory_order_release);
    }
    bool is_open() const noexcept
    {
        // (5) acquire, pairs with (1): a thread that sees it open sees what the rank's threads had
        // settled before.
        return (word_.load(std::memory_order_acquire) & is_open_bit) != 0;
    }

    /// False: nobody may post beside; give the frame to the executor, who keeps the order.
    /// `on_meeting()` is called once where somebody else is inside.
    template <typename OnMeeting>
    [[nodiscard]] bool enter_beside(OnMeeting&& on_meeting) noexcept
    {
        return acquire(is_open_bit | backed_up_bit, on_meeting);
    }
    [[nodiscard]] bool enter_beside() noexcept
    {
        return enter_beside([] {});
    }

    template <typename OnMeeting>
    void enter(OnMeeting&& on_meeting) noexcept
    {
        (void)acquire(0, on_meeting);
    }
    void enter() noexcept
    {
        enter([] {});
    }

    void leave() noexcept
    {
        // (3) release, pairs with (2): what was posted, and the ring's fields.
        const std::uint32_t seen =
            word_.fetch_and(~(locked_bit | waited_for_bit), std::memory_order_release);
        if ((seen & waited_for_bit) != 0) {
            Atomics::wake(word_, 1);
        }
    }

    /// A frame has been queued.
    void note_queued() noexcept
    {
        // Relaxed: the thread whose frame it is sees its own change, or the one of (4) behind it;
        // a thread that is told of it sees what the teller saw.
        word_.fetch_or(backed_up_bit, std::memory_order_relaxed);
    }
    /// All that were queued have been posted.
    void note_all_posted() noexcept
    {
        // (4) release, pairs with (2): the frames lie in the ring.
        word_.fetch_and(~backed_up_bit, std::memory_order_release);
    }

  private:
    static constexpr std::uint32_t locked_bit = 1U << 0;
    static constexpr std::uint32_t waited_for_bit = 1U << 1;
    static constexpr std::uint32_t is_open_bit = 1U << 2;
    static constexpr std::uint32_t backed_up_bit = 1U << 3;

    /// Takes the lock; false where, of the bits in `looked_at`, not OPEN alone is set.
    template <typename OnMeeting>
    bool acquire(std::uint32_t looked_at, OnMeeting&& on_meeting) noexcept
    {
        // Who was woken takes the mark with the lock: others may sleep still.
        std::uint32_t kept_mark = 0;
        for (unsigned attempt = 0;; ++attempt) {
            // Relaxed: the exchanges decide.
            std::uint32_t seen = word_.load(std::memory_order_relaxed);
            if ((seen & looked_at) != (looked_at & is_open_bit)) {
                if (kept_mark != 0) {
                    Atomics::wake(word_, 1);
                }
                return false;
            }
            if ((seen & locked_bit) == 0) {
                // (2) acquire, pairs with (1), (3) and (4).
                if (word_.compare_exchange_strong(seen, seen | locked_bit | kept_mark,
                                                  std::memory_order_acquire,
                                                  std::memory_order_relaxed)) {
                    return true;
                }
                continue;
            }
            if (attempt == 0) {
                on_meeting();
            }
            if (attempt < Atomics::polite_attempts) {
                Atomics::pause(attempt);
                continue;
            }
            // Relaxed: (3) takes the mark away, and the futex compares the word.
            if ((seen & waited_for_bit) != 0 ||
                word_.compare_exchange_strong(seen, seen | waited_for_bit,
                                              std::memory_order_relaxed,
                                              std::memory_order_relaxed)) {
                (void)Atomics::wait_on(word_, seen | waited_for_bit, platform::Deadline::never());
                kept_mark = waited_for_bit;
            }
        }
    }

    // Written by all who post; a futex.
    typename Atomics::template Atomic<std::uint32_t> word_;
};

using PostingGate = BasicPostingGate<platform::RealAtomics>;
static_assert(sizeof(PostingGate) == 4);

}  // namespace headway::sync
