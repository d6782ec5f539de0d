// SPDX-License-Identifier: Apache-2.0
//
// The ownership word: who may progress a rank now. One 32-bit word a rank in the node heap, which
// is also the futex its owner sleeps on.
//
//   bit  31 ............. 8  7 .. 4   3       2     1 0
//        rank of the holder    0    PARKED  BELL   state: 0 FREE, 1 OWNED, 2 HELD
//
// Written by: the owner (enter, leave, park), helpers (hold), anybody (ring). Read by all.
// Invariants: 1. OWNED and HELD exclude each other and themselves. 2. PARKED is set by the owner
// alone: with OWNED it sleeps for work, with HELD it sleeps until the holder gives the word over;
// FREE with PARKED does not exist. 3. Whoever turns BELL on over OWNED and PARKED wakes the owner.
#pragma once

#include <cstdint>

#include "platform/atomic.hpp"

namespace headway::sync {

/// What ring() leaves to its caller.
enum class [[nodiscard]] RingEffect : std::uint8_t {
    nothing,      ///< the owner or the holder is awake and will see the bell
    ask_helper,   ///< nobody had the word: take it (try_hold) or ask somebody to
    wake_parked,  ///< the owner sleeps: call wake_parked()
};

/// Thread rule: enter, leave and the parking calls belong to the rank's owner, one thread at a
/// time; try_hold and release_hold to a helper; ring, notify_parked and the questions to anyone.
template <typename Atomics>
class BasicOwnershipWord {
  public:
    static constexpr std::uint32_t rank_limit = 1U << 24;

    BasicOwnershipWord() noexcept : word_(0) {}

    /// The owner takes the word; free of atomics with side effects if it has it already. Yields,
    /// then sleeps while a helper holds it. Afterwards the owner polls once, as bells rung before
    /// are gone. False at `deadline`: the word is still held (the holder may have died).
    [[nodiscard]] bool enter(platform::Deadline deadline = platform::Deadline::never()) noexcept
    {
        for (unsigned attempt = 0; attempt < Atomics::polite_attempts; ++attempt) {
            if (try_enter()) {
                return true;
            }
            Atomics::pause(attempt);
        }
        return enter_asleep(deadline);
    }

    [[nodiscard]] bool try_enter() noexcept
    {
        // Relaxed: OWNED can only be our own doing, and a stale FREE is caught by the exchange.
        std::uint32_t seen = word_.load(std::memory_order_relaxed);
        while (state_of(seen) == free_state) {
            // (1) acquire, pairs with (2) and (4): sees what the last one in did to the rank.
            if (word_.compare_exchange_weak(seen, owned_state, std::memory_order_acquire,
                                            std::memory_order_relaxed)) {
                order_after_bell(seen);
                return true;
            }
        }
        return state_of(seen) == owned_state;
    }

    /// The owner goes away. True: the bell was rung since it was last answered; enter and poll
    /// again (or see to it that somebody does). Requires: the caller is inside.
    [[nodiscard]] bool leave() noexcept
    {
        // (2) release, pairs with (1) and (3): the next one in sees our work; acquire, pairs with
        // (5) and (12): work announced by a bell found here is visible. Exchange, not a store: a
        // bell is either found here, or its ringer finds FREE and asks a helper.
        return order_after_bell(word_.exchange(free_state, std::memory_order_acq_rel));
    }

    /// A helper takes the word of a rank whose owner is away, for rank `who`. It answers the bell:
    /// the caller polls. Failure: the owner is in, or another helper.
    [[nodiscard]] bool try_hold(std::uint32_t who) noexcept
    {
        // Relaxed: only a hint, the exchange decides.
        std::uint32_t seen = word_.load(std::memory_order_relaxed);
        while (state_of(seen) == free_state) {
            // (3) acquire, pairs with (2), (4) and (5).
            if (word_.compare_exchange_weak(seen, held_state | who << holder_shift,
                                            std::memory_order_acquire, std::memory_order_relaxed)) {
                order_after_bell(seen);
                return true;
            }
        }
        return false;
    }

    /// The helper is done. An owner that waits for the word gets it from hand to hand and polls by
    /// itself. Else true: the bell was rung meanwhile; hold and poll again. Requires: held by the
    /// caller.
    [[nodiscard]] bool release_hold() noexcept
    {
        // Relaxed: the exchange decides.
        std::uint32_t seen = word_.load(std::memory_order_relaxed);
        for (;;) {
            const bool owner_waits = (seen & parked_bit) != 0;
            // (4) release, pairs with (1), (3) and (6); acquire, pairs with (5) as in (2).
            if (word_.compare_exchange_weak(seen, owner_waits ? owned_state : free_state,
                                            std::memory_order_acq_rel, std::memory_order_relaxed)) {
                if (owner_waits) {
                    Atomics::wake(word_);
                    return false;
                }
                return order_after_bell(seen);
            }
        }
    }

    /// Says that the rank's CPU is needed for work the caller has published before. Where the bell
    /// is on already this is a fence and a load: whoever takes that bell away sees the work.
    ///
    /// Why: the ringer publishes (a), passes the fence (13), loads the word and sees the bell (b).
    /// Whoever takes the bell away passes the fence (14), then polls (c). If (13) comes first, (c)
    /// sees (a). If (14) comes first, (b) sees the word without that bell.
    RingEffect ring() noexcept
    {
        Atomics::fence_full();  // (13) sequentially consistent, pairs with (14)
        // Relaxed: ordered by the fence.
        if ((word_.load(std::memory_order_relaxed) & bell_bit) != 0) {
            return RingEffect::nothing;
        }
        // (5) release, pairs with (2), (3), (4), (7) and (8): whoever meets the bell sees the work.
        const std::uint32_t before = word_.fetch_or(bell_bit, std::memory_order_release);
        if ((before & bell_bit) != 0 || state_of(before) == held_state) {
            return RingEffect::nothing;
        }
        if (state_of(before) == free_state) {
            return RingEffect::ask_helper;
        }
        return (before & parked_bit) != 0 ? RingEffect::wake_parked : RingEffect::nothing;
    }

    /// The system call that ring() asked for.
    void wake_parked() noexcept { Atomics::wake(word_); }

    /// After publishing a plain message (one that needs no CPU of a rank that computes): wakes the
    /// owner if it sleeps. Costs a fence and a load otherwise.
    ///
    /// No wake-up is lost: the sender publishes (a), passes the fence (9), loads the word (b). The
    /// owner sets PARKED (c), passes the fence (10), polls (d). The two fences have one order. If
    /// (9) comes first, (d) sees (a) and the owner does not sleep. If (10) comes first, (b) sees
    /// (c) or what came after it: PARKED, so the sender rings; or the owner awake or being woken,
    /// which polls after the next fence (10) of its own before it sleeps again.
    void notify_parked() noexcept
    {
        Atomics::fence_full();  // (9) sequentially consistent, pairs with (10)
        ring_while(owned_state | parked_bit, state_mask | parked_bit);
    }

    /// The same, where every owner who parks passes a barrier for all threads that post, between
    /// prepare_park() and its last poll: that is fence (10), and (9) too, wherever it strikes them.
    void notify_parked_without_fence() noexcept
    {
        // (15) the compiler's only, pairs with the barrier of who parks, in the place of (9) and
        // (10).
        Atomics::fence_compiler();
        ring_while(owned_state | parked_bit, state_mask | parked_bit);
    }

    /// The same by somebody who has passed fence (9) himself since he published, for many at once.
    void notify_parked_after_fence() noexcept
    {
        ring_while(owned_state | parked_bit, state_mask | parked_bit);
    }

    /// Makes an owner who is inside poll once more before it sleeps, and wakes it if it sleeps; one
    /// who has left is not concerned. For what a thread waits for, as opposed to work (ring).
    void nudge() noexcept { ring_while(owned_state, state_mask); }

    /// Answers the bell without leaving; true if it had been rung, so poll. Requires: inside.
    bool answer_bell() noexcept
    {
        // Relaxed: a bell missed now is met by leave() or prepare_park().
        if ((word_.load(std::memory_order_relaxed) & bell_bit) == 0) {
            return false;
        }
        // (7) acquire, pairs with (5) and (12).
        return order_after_bell(word_.fetch_and(~bell_bit, std::memory_order_acquire));
    }

    /// First step of going to sleep; then poll everything once more, then park() or, if something
    /// was found, end_park() at once. False: the bell was rung (it is now answered), poll again.
    /// Requires: owned by the caller.
    [[nodiscard]] bool prepare_park() noexcept
    {
        std::uint32_t expected = owned_state;
        // Relaxed: (10) orders it before the poll that follows.
        if (!word_.compare_exchange_strong(expected, owned_state | parked_bit,
                                           std::memory_order_relaxed, std::memory_order_relaxed)) {
            answer_bell();
            return false;
        }
        Atomics::fence_full();  // (10) sequentially consistent, pairs with (9) and (16)
        return true;
    }

    /// Sleeps until the bell or `deadline`; true for the bell. Requires prepare_park() and a poll
    /// after it that found nothing.
    bool park(platform::Deadline deadline = platform::Deadline::never()) noexcept
    {
        for (;;) {
            // Relaxed: end_park() acquires.
            const std::uint32_t seen = word_.load(std::memory_order_relaxed);
            if ((seen & bell_bit) != 0) {
                return true;
            }
            if (Atomics::wait_on(word_, seen, deadline) == platform::FutexWait::timed_out) {
                return false;
            }
        }
    }

    /// Awake again; true if the bell was rung since prepare_park().
    bool end_park() noexcept
    {
        // (8) acquire, pairs with (5) and (12).
        return order_after_bell(word_.fetch_and(state_mask, std::memory_order_acquire));
    }

    /// Rank of the helper that holds the word, or -1. For the survivors of a death and for reports.
    std::int32_t holder() const noexcept
    {
        // Relaxed: names a rank, gives access to nothing.
        const std::uint32_t seen = word_.load(std::memory_order_relaxed);
        return state_of(seen) == held_state ? static_cast<std::int32_t>(seen >> holder_shift) : -1;
    }

    /// The owner takes the word from a helper known to be dead. False: `dead` does not hold it.
    /// What the dead one was doing may be half done; the caller decides what can be trusted.
    [[nodiscard]] bool seize(std::uint32_t dead) noexcept
    {
        // Relaxed: the exchange decides; a dead holder published nothing to acquire.
        std::uint32_t seen = word_.load(std::memory_order_relaxed);
        while (state_of(seen) == held_state && seen >> holder_shift == dead) {
            if (word_.compare_exchange_weak(seen, owned_state, std::memory_order_relaxed,
                                            std::memory_order_relaxed)) {
                return true;
            }
        }
        return false;
    }

    /// Whether the owner sleeps for work and no bell has been rung. If not, whoever lies down here
    /// afterwards, and adds to a set in the order of sequential consistency and looks at it, finds
    /// there what the caller has added to it before.
    bool is_asleep() const noexcept
    {
        // (16) sequentially consistent, pairs with (10).
        const std::uint32_t seen = word_.load(std::memory_order_seq_cst);
        return (seen & (state_mask | parked_bit | bell_bit)) == (owned_state | parked_bit);
    }

    // Questions, relaxed: the answer may be old when it arrives.
    bool is_free() const noexcept { return state_of(peek()) == free_state; }
    bool is_owned() const noexcept { return state_of(peek()) == owned_state; }
    bool is_parked() const noexcept { return (peek() & parked_bit) != 0; }
    bool is_rung() const noexcept { return (peek() & bell_bit) != 0; }

  private:
    static constexpr std::uint32_t free_state = 0;
    static constexpr std::uint32_t owned_state = 1;
    static constexpr std::uint32_t held_state = 2;
    static constexpr std::uint32_t state_mask = 3;
    static constexpr std::uint32_t bell_bit = 4;
    static constexpr std::uint32_t parked_bit = 8;
    static constexpr unsigned holder_shift = 8;

    static std::uint32_t state_of(std::uint32_t word) noexcept { return word & state_mask; }
    std::uint32_t peek() const noexcept { return word_.load(std::memory_order_relaxed); }

    /// After an exchange that took away the bell of `before`, if it was on; true if so.
    static bool order_after_bell(std::uint32_t before) noexcept
    {
        if ((before & bell_bit) == 0) {
            return false;
        }
        Atomics::fence_full();  // (14) sequentially consistent, pairs with (13)
        return true;
    }

    bool enter_asleep(platform::Deadline deadline) noexcept
    {
        for (;;) {
            if (try_enter()) {
                return true;
            }
            // Relaxed: only HELD turns into HELD and PARKED, and the value slept on is our own.
            std::uint32_t seen = word_.load(std::memory_order_relaxed);
            if (state_of(seen) != held_state ||
                !word_.compare_exchange_strong(seen, seen | parked_bit, std::memory_order_relaxed,
                                               std::memory_order_relaxed)) {
                continue;
            }
            seen |= parked_bit;
            while (state_of(seen) == held_state) {
                const auto slept = Atomics::wait_on(word_, seen, deadline);
                if (slept == platform::FutexWait::timed_out) {
                    return give_up_waiting();
                }
                // (6) acquire, pairs with (4): the holder has put OWNED here for us.
                seen = word_.load(std::memory_order_acquire);
            }
            Atomics::fence_full();  // as (14): the holder may have taken a bell away with it
            return true;
        }
    }

    /// Rings only while the word, under `mask`, is `wanted`. An unconditional ring() would do harm:
    /// if the owner has left meanwhile, the bell would keep a later ringer from asking a helper.
    void ring_while(std::uint32_t wanted, std::uint32_t mask) noexcept
    {
        // Relaxed: the exchange decides; for notify_parked the fence (9) orders it.
        std::uint32_t seen = word_.load(std::memory_order_relaxed);
        while ((seen & mask) == wanted && (seen & bell_bit) == 0) {
            // (12) release, pairs with (2), (7) and (8), as (5).
            if (word_.compare_exchange_weak(seen, seen | bell_bit, std::memory_order_release,
                                            std::memory_order_relaxed)) {
                if ((seen & parked_bit) != 0) {
                    wake_parked();
                }
                return;
            }
        }
    }

    /// The word may have been handed over in the very last moment.
    bool give_up_waiting() noexcept
    {
        // (11) acquire, pairs with (4).
        const std::uint32_t before = word_.fetch_and(~parked_bit, std::memory_order_acquire);
        if (state_of(before) != owned_state) {
            return false;
        }
        Atomics::fence_full();  // as (14)
        return true;
    }

    typename Atomics::template Atomic<std::uint32_t> word_;
};

using OwnershipWord = BasicOwnershipWord<platform::RealAtomics>;
static_assert(sizeof(OwnershipWord) == 4);

}  // namespace headway::sync
