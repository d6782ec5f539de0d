// SPDX-License-Identifier: Apache-2.0
//
// What one thread waits with: a count of completions still needed, and a place to sleep. It lies in
// the node heap, so that whoever completes an op, in whatever process, can wake the thread.
#pragma once

#include <cstdint>

#include "platform/atomic.hpp"
#include "sync/ownership_word.hpp"

namespace headway::sync {

/// Where a thread sleeps. The progress owner of a rank sleeps on the rank's ownership word, where
/// messages wake it too; other waiting threads sleep on their own slot.
enum class Bed : std::uint32_t { own_slot = 1, ownership_word = 2 };

/// One use: arm(count, pins) -> attach waiters to ops -> update(-already complete) -> wait until
/// is_satisfied() -> detach what is left -> unpin those -> drain_pins(); then the slot and its
/// waiters may be used again or freed.
///
/// Thread rule: signal, update, force and unpin belong to anyone who holds a pin; the rest to the
/// waiting thread. All bytes zero: a slot not in use.
template <typename Atomics>
class BasicThreadSlot {
  public:
    using Word = BasicOwnershipWord<Atomics>;

    BasicThreadSlot() noexcept : count_(0), pins_(0), state_(awake) {}

    using Count = typename Atomics::template Atomic<std::int32_t>;

    /// The ownership word of the thread's rank, and how many of the rank's threads sleep in slots
    /// of their own and have not been woken yet (null: nobody asks). Once, before the slot is used.
    void belong_to(Word* word, Count* asleep = nullptr) noexcept
    {
        word_ = word;
        asleep_ = asleep;
    }

    /// `needed` completions satisfy the slot; `pins` completers may touch it. Requires: no pins
    /// left from an earlier use.
    void arm(std::int32_t needed, std::uint32_t pins) noexcept
    {
        // Relaxed: nobody else knows the slot until a waiter is attached, which is a release.
        count_.store(needed, std::memory_order_relaxed);
        pins_.store(pins, std::memory_order_relaxed);
        state_.store(awake, std::memory_order_relaxed);
    }

    /// Adds to the count; landing exactly on zero wakes the thread. The count may go below zero
    /// (wait-any takes one of several completions).
    void update(std::int32_t change) noexcept
    {
        // (1) release, pairs with (2): what completed is visible to the thread; acquire: the step
        // to zero carries along what earlier completers released.
        if (count_.fetch_add(change, std::memory_order_acq_rel) + change == 0) {
            signal();
        }
    }

    /// An error ends the wait, whatever the count.
    void force() noexcept
    {
        // (9) release, pairs with (2); acquire as in (1).
        count_.exchange(0, std::memory_order_acq_rel);
        signal();
    }

    bool is_satisfied() const noexcept
    {
        // (2) acquire, pairs with (1) and (9).
        return count_.load(std::memory_order_acquire) <= 0;
    }

    /// Wakes the thread for whatever reason (hand-over of progress). Requires a pin, or other
    /// assurance that the slot is in use.
    void signal() noexcept
    {
        // (3) acq_rel, pairs with (4). Both sides are read-modify-writes of one word: either the
        // thread finds `signalled` and does not sleep, or its bed is found here and it is woken.
        const std::uint32_t before = state_.exchange(signalled, std::memory_order_acq_rel);
        if (before == in_own_slot) {
            count_asleep(-1);
            Atomics::wake(state_);
        } else if (before == in_ownership_word) {
            word_->nudge();
        }
    }

    /// A completer's last touch of the slot and of the waiter that led here.
    void unpin(std::uint32_t pins = 1) noexcept
    {
        // (5) release, pairs with (6): everything the completer read is read before reuse.
        pins_.fetch_sub(pins, std::memory_order_release);
    }

    bool has_pins() const noexcept
    {
        // (6) acquire, pairs with (5).
        return pins_.load(std::memory_order_acquire) != 0;
    }

    /// Waits until nobody can touch the slot and its waiters any more. A completer is between its
    /// exchange and its last touch, so this is short, unless it was killed there: false at
    /// `deadline`.
    [[nodiscard]] bool drain_pins(
        platform::Deadline deadline = platform::Deadline::never()) const noexcept
    {
        for (unsigned attempt = 0; has_pins(); ++attempt) {
            if (deadline.has_passed()) {
                return false;
            }
            Atomics::pause(attempt);
        }
        return true;
    }

    /// First step of going to sleep. False: signalled already. Then, for Bed::ownership_word, come
    /// the parking steps of the word; for Bed::own_slot, sleep().
    [[nodiscard]] bool prepare_sleep(Bed bed) noexcept
    {
        std::uint32_t expected = awake;
        // (4) acq_rel, pairs with (3); acquire on failure for what the signaller published.
        const bool is_ready =
            state_.compare_exchange_strong(expected, static_cast<std::uint32_t>(bed),
                                           std::memory_order_acq_rel, std::memory_order_acquire);
        if (is_ready && bed == Bed::own_slot) {
            count_asleep(1);
        }
        return is_ready;
    }

    /// Sleeps in the own slot until a signal (true) or `deadline`. Requires prepare_sleep.
    bool sleep(platform::Deadline deadline = platform::Deadline::never()) noexcept
    {
        // (7) acquire, pairs with (3).
        while (state_.load(std::memory_order_acquire) == in_own_slot) {
            if (Atomics::wait_on(state_, in_own_slot, deadline) == platform::FutexWait::timed_out) {
                return state_.load(std::memory_order_acquire) != in_own_slot;  // as (7)
            }
        }
        return true;
    }

    /// Whether sleep would end at once: for a thread that looks around before it sleeps. A hint.
    bool has_signal() const noexcept
    {
        // Relaxed: who acts on it passes (4) or (8).
        return state_.load(std::memory_order_relaxed) == signalled;
    }

    /// Out of bed. True: a signal was given (it is used up, the thread looks at its count).
    bool end_sleep() noexcept
    {
        // (8) acquire, pairs with (3). One signal may be for a hand-over only, so it is used up.
        const std::uint32_t before = state_.exchange(awake, std::memory_order_acq_rel);
        if (before == in_own_slot) {
            count_asleep(-1);  // nobody woke it
        }
        return before == signalled;
    }

  private:
    void count_asleep(std::int32_t change) noexcept
    {
        if (asleep_ != nullptr) {
            // Relaxed: who asks looks twice, milliseconds apart. Whoever ends a sleep counts before
            // he sleeps himself, so no thread that is to wake is ever counted with all others
            // asleep; one counted too late makes the number too small.
            asleep_->fetch_add(change, std::memory_order_relaxed);
        }
    }

    static constexpr std::uint32_t awake = 0;
    static constexpr std::uint32_t in_own_slot = static_cast<std::uint32_t>(Bed::own_slot);
    static constexpr std::uint32_t in_ownership_word =
        static_cast<std::uint32_t>(Bed::ownership_word);
    static constexpr std::uint32_t signalled = 3;

    // Written by the thread (arm) and its completers.
    typename Atomics::template Atomic<std::int32_t> count_;
    typename Atomics::template Atomic<std::uint32_t> pins_;
    // Written by the thread and its signallers; a futex.
    typename Atomics::template Atomic<std::uint32_t> state_;
    // Written once by the thread, read by signallers.
    Word* word_ = nullptr;
    Count* asleep_ = nullptr;
};

using ThreadSlot = BasicThreadSlot<platform::RealAtomics>;

}  // namespace headway::sync
