// SPDX-License-Identifier: Apache-2.0
//
// The op word: one atomic that says whether an op is complete, and who waits for it.
//
//   0 PENDING   1 COMPLETE   else the address of the newest waiter; older ones follow by `next`
//
// A chain belongs to the word while it hangs there, and is not changed then. To change or to fire
// it, one takes it out whole (exchange), so no address is ever compared with one that was reused.
#pragma once

#include <cstdint>

#include "platform/atomic.hpp"
#include "sync/thread_slot.hpp"

namespace headway::sync {

/// What a completion does for a waiter: `thread` is done by fire_thread(), the rest by the engine.
enum class WaiterKind : std::uint32_t { thread, trigger, sync_object, continuation, joint };

/// One waiter of one op, in the node heap, never on a stack. Owned by who allocated it until
/// attached; by the word until complete() or detach(); then by who fires it, up to its last touch
/// (for threads: the slot's unpin).
template <typename Atomics>
struct BasicWaiter {
    using Slot = BasicThreadSlot<Atomics>;

    typename Atomics::template Plain<BasicWaiter*> next{};
    Slot* slot = nullptr;       ///< kind thread
    std::uint64_t payload = 0;  ///< other kinds: address in the node heap, or a cookie
    std::uint32_t index = 0;    ///< place of the op in the waiter's array, or a threshold
    WaiterKind kind = WaiterKind::thread;
};

enum class [[nodiscard]] AttachResult : std::uint8_t { attached, already_complete };
enum class [[nodiscard]] DetachResult : std::uint8_t { detached, completed_meanwhile };

template <typename Atomics>
class BasicOpWord {
  public:
    using Waiter = BasicWaiter<Atomics>;

    BasicOpWord() noexcept : word_(pending) {}

    /// Makes the word PENDING for a new op. Requires: nobody else knows the op.
    void reset() noexcept { word_.store(pending, std::memory_order_relaxed); }

    bool is_complete() const noexcept
    {
        // (1) acquire, pairs with (3) and (7): the op's results are visible.
        return word_.load(std::memory_order_acquire) == complete_mark;
    }

    /// Hangs `waiter` on the op. If it is complete already, its results are visible and the waiter
    /// stays the caller's. Thread rule: any thread.
    AttachResult attach(Waiter* waiter) noexcept { return attach_chain(waiter, waiter); }

    /// Completes the op; its results were written before. Returns the waiters, the one attached
    /// first at the head, for the caller to fire: it reads `next` before it fires one. The op may
    /// be gone as soon as this returns. Requires: once in the op's life. Thread rule: any thread.
    [[nodiscard]] Waiter* complete() noexcept
    {
        // (3) release, pairs with (1), (2), (4) and (6); acquire, pairs with (2): the contents of
        // the waiters are visible.
        const std::uintptr_t old = word_.exchange(complete_mark, std::memory_order_acq_rel);
        return oldest_first(to_waiter(old));
    }

    /// complete(), where no other thread attaches or detaches meanwhile; others may look.
    [[nodiscard]] Waiter* complete_alone() noexcept
    {
        // Relaxed: only this thread has written to the word since the op is known.
        const std::uintptr_t old = word_.load(std::memory_order_relaxed);
        // (7) release, pairs with (1): who sees the mark sees the results.
        word_.store(complete_mark, std::memory_order_release);
        return oldest_first(to_waiter(old));
    }

    /// Takes `waiter` off. `completed_meanwhile`: it has been or is being fired by somebody else,
    /// whose last touch must be awaited. If the op completed just while this call had its waiters
    /// in hand, `orphans` gets the others, to be fired by the caller (else null).
    /// Requires: `waiter` was attached here. Thread rule: any thread.
    DetachResult detach(Waiter* waiter, Waiter** orphans) noexcept
    {
        *orphans = nullptr;
        for (unsigned attempt = 0;; ++attempt) {
            // (4) acquire, pairs with (3), if COMPLETE.
            std::uintptr_t seen = word_.load(std::memory_order_acquire);
            if (seen == complete_mark) {
                return DetachResult::completed_meanwhile;
            }
            // (5) acquire, pairs with (2): we read the waiters.
            if (seen == pending ||
                !word_.compare_exchange_strong(seen, pending, std::memory_order_acquire,
                                               std::memory_order_relaxed)) {
                Atomics::pause(attempt);  // another detach has the waiters in hand
                continue;
            }
            Waiter* rest = nullptr;
            Waiter* rest_oldest = nullptr;
            const bool found = unlink(to_waiter(seen), waiter, &rest, &rest_oldest);
            if (rest != nullptr &&
                attach_chain(rest, rest_oldest) == AttachResult::already_complete) {
                *orphans = oldest_first(rest);
            }
            if (found) {
                return DetachResult::detached;
            }
            if (*orphans != nullptr) {
                return DetachResult::completed_meanwhile;
            }
        }
    }

  private:
    static constexpr std::uintptr_t pending = 0;
    static constexpr std::uintptr_t complete_mark = 1;

    static Waiter* to_waiter(std::uintptr_t word) noexcept
    {
        return reinterpret_cast<Waiter*>(word);
    }

    AttachResult attach_chain(Waiter* newest, Waiter* oldest) noexcept
    {
        // (6) acquire, pairs with (3), if COMPLETE.
        std::uintptr_t seen = word_.load(std::memory_order_acquire);
        while (seen != complete_mark) {
            oldest->next = to_waiter(seen);
            // (2) release, pairs with (3) and (5): the waiters are visible to who takes them;
            // acquire, pairs with (3): on failure, as (6).
            if (word_.compare_exchange_weak(seen, reinterpret_cast<std::uintptr_t>(newest),
                                            std::memory_order_acq_rel, std::memory_order_acquire)) {
                return AttachResult::attached;
            }
        }
        // The chain stays the caller's, and must not lead into one that somebody else fires.
        oldest->next = nullptr;
        return AttachResult::already_complete;
    }

    /// Splits `waiter` out of a chain in hand. True if it was there.
    static bool unlink(Waiter* chain, Waiter* waiter, Waiter** rest, Waiter** rest_oldest) noexcept
    {
        bool found = false;
        for (Waiter* each = chain; each != nullptr;) {
            Waiter* const older = each->next;
            if (each == waiter) {
                found = true;
            } else {
                if (*rest_oldest == nullptr) {
                    *rest = each;
                } else {
                    (*rest_oldest)->next = each;
                }
                *rest_oldest = each;
            }
            each = older;
        }
        return found;
    }

    static Waiter* oldest_first(Waiter* newest) noexcept
    {
        Waiter* oldest = nullptr;
        while (newest != nullptr) {
            Waiter* const older = newest->next;
            newest->next = oldest;
            oldest = newest;
            newest = older;
        }
        return oldest;
    }

    // Written by attachers, detachers and the completer; read by all.
    typename Atomics::template Atomic<std::uintptr_t> word_;
};

/// Fires a waiter of kind thread: counts, wakes if that was the last one needed, and lets go. With
/// `failed` the thread is woken whatever it still needs. Neither the waiter nor its slot may be
/// touched afterwards: read `next` before.
template <typename Atomics>
void fire_thread(BasicWaiter<Atomics>* waiter, bool failed = false) noexcept
{
    BasicThreadSlot<Atomics>* const slot = waiter->slot;
    if (failed) {
        slot->force();
    } else {
        slot->update(-1);
    }
    slot->unpin();
}

using Waiter = BasicWaiter<platform::RealAtomics>;
using OpWord = BasicOpWord<platform::RealAtomics>;
static_assert(sizeof(OpWord) == 8);

}  // namespace headway::sync
