// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "platform/cpu.hpp"
#include "platform/process_barrier.hpp"
#include "sync/biased_lock.hpp"
#include "sync/thread_slot.hpp"

namespace headway::engine {

/// What several threads of a rank cost each other. Written by the one inside, read by anyone,
/// relaxed. None is counted while a rank has one thread.
struct ThreadCounters {
    std::atomic<std::uint64_t> locks_contended{0};  ///< calls that found another thread inside
    std::atomic<std::uint64_t> lock_wait_ns{0};     ///< how long they stood before the door
    std::atomic<std::uint64_t> turns_given{0};      ///< a thread that waits stood back for others
    std::atomic<std::uint64_t> wake_ups{0};         ///< of threads in their slots, not by their ops
    std::atomic<std::uint64_t> hand_overs{0};       ///< a leader left and woke another one
    std::atomic<std::uint64_t> sleeps_beside{0};    ///< a thread waited while another one led
};

/// Lets one thread of a rank work inside the library at a time when the program asked for
/// MPI_THREAD_MULTIPLE; below that level every call costs one test of a flag, and at that level
/// some plain instructions more until a second thread comes (`sync/biased_lock.hpp`).
///
/// Recursive, because user callbacks may call MPI. Also knows what the rank's waiting threads do:
/// one leads and makes progress, the others sleep in their slots until their ops complete or the
/// leader leaves. Who waits for no op in particular makes progress too. When nobody finds anything
/// any more, one sleeps on the rank's ownership word (the parker).
/// Private to the rank's process.
class RankLock {
  public:
    /// Before the second thread can enter. The calling thread is the first one; it is inside
    /// `depth` calls, and has the lock as often from now on. Nobody could have it yet, so this
    /// waits for nobody, whatever else the caller holds.
    void enable(std::uint32_t depth)
    {
        lock_.belong_to(platform::RealAtomics::self(), depth, platform::join_thread_barriers());
        is_enabled_ = true;
    }
    bool is_enabled() const noexcept { return is_enabled_; }

    void lock()
    {
        if (is_enabled_ && !lock_.try_lock()) [[unlikely]] {
            wait_for_turn();
        }
    }
    /// False: another thread is inside, or stands before the door. Waits for nobody.
    [[nodiscard]] bool try_lock()
    {
        return !is_enabled_ || (!lock_.is_first_inside() && lock_.try_lock());
    }
    void unlock()
    {
        if (is_enabled_) {
            lock_.unlock();
        }
    }
    /// The caller has it. Requires is_enabled().
    bool is_own() const noexcept { return lock_.is_own(); }
    /// Another thread stands before the door.
    bool is_wanted() const noexcept { return is_enabled_ && lock_.is_wanted(); }
    /// More than one thread has been inside.
    bool is_shared() const noexcept { return is_enabled_ && lock_.is_shared(); }

    // The calls below require the lock.

    /// The caller is inside a user's function, so to unlock once lets nobody in.
    bool is_nested() const noexcept { return is_enabled_ && lock_.depth() > 1; }

    /// For a thread that waits: leaves the lock to others for so many turns of the system's run
    /// queue, or until `has_news()`, which may look at nothing that needs the lock, and nobody is
    /// inside; who is inside then takes in what the news are of.
    template <typename HasNews>
    void stand_back(unsigned turns, HasNews&& has_news)
    {
        add(counters_.turns_given);
        unlock();
        for (unsigned turn = 0; turn < turns; ++turn) {
            if (has_news() && lock_.try_lock()) {
                return;
            }
            platform::yield_core();
        }
        lock();
    }
    void stand_back(unsigned turns)
    {
        stand_back(turns, [] { return false; });
    }

    /// Whether threads have met at the lock of late. For a thread that sweeps, once a sweep.
    bool meets_threads() noexcept
    {
        // Relaxed: a hint.
        const std::uint64_t met = counters_.locks_contended.load(std::memory_order_relaxed);
        if (met != met_before_) {
            met_before_ = met;
            sweeps_alone_ = 0;
        } else if (sweeps_alone_ < sweeps_until_alone) {
            ++sweeps_alone_;
        }
        return met != 0 && sweeps_alone_ < sweeps_until_alone;
    }

    /// The thread that makes progress for all that wait for ops of the rank; the others sleep
    /// beside it. False: another thread does.
    bool take_lead() noexcept
    {
        const std::uintptr_t self = platform::RealAtomics::self();
        if (leader_ == 0) {
            leader_ = self;
        }
        return leader_ == self;
    }
    bool leads() const noexcept { return leader_ == platform::RealAtomics::self(); }
    /// Nobody leads from now on; who sleeps longest is woken to do it.
    void leave_lead() noexcept
    {
        leader_ = 0;
        wake_leader();
    }
    /// If nobody leads, who sleeps longest is woken to do it.
    void wake_leader() noexcept
    {
        if (leader_ == 0 && !sleepers_.empty()) {
            add(counters_.hand_overs);
            wake(sleepers_.front());
        }
    }

    /// Sleeps on the ownership word.
    bool has_parker() const noexcept { return has_parker_; }
    void set_parker(bool is_parked) noexcept { has_parker_ = is_parked; }

    /// `is_for_all`: every event of the rank may be what it waits for.
    void add_sleeper(sync::ThreadSlot* slot, bool is_for_all)
    {
        sleepers_.push_back({slot, is_for_all});
        add(counters_.sleeps_beside);
    }
    void remove_sleeper(sync::ThreadSlot* slot)
    {
        std::erase_if(sleepers_, [slot](const Sleeper& each) { return each.slot == slot; });
    }
    /// There was an event, or may have been: wakes those who wait for any.
    void wake_sleepers() noexcept
    {
        for (const Sleeper& sleeper : sleepers_) {
            if (sleeper.is_for_all) {
                wake(sleeper);
            }
        }
    }
    /// All of them are to look around.
    void wake_all_sleepers() noexcept
    {
        for (const Sleeper& sleeper : sleepers_) {
            wake(sleeper);
        }
    }
    bool has_sleepers() const noexcept { return !sleepers_.empty(); }

    /// Thread rule: any thread.
    const ThreadCounters& counters() const noexcept { return counters_; }

  private:
    struct Sleeper {
        sync::ThreadSlot* slot;
        bool is_for_all;
    };

    void wake(const Sleeper& sleeper) noexcept
    {
        add(counters_.wake_ups);
        sleeper.slot->signal();
    }

    static void add(std::atomic<std::uint64_t>& counter, std::uint64_t more = 1) noexcept
    {
        // Relaxed: a statistic with one writer at a time.
        counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
    }

    [[gnu::noinline]] void wait_for_turn()
    {
        const std::int64_t begin_ns = platform::monotonic_ns();
        lock_.wait_and_lock();
        add(counters_.locks_contended);
        add(counters_.lock_wait_ns,
            static_cast<std::uint64_t>(platform::monotonic_ns() - begin_ns));
    }

    /// Some milliseconds of sweeps with a turn each.
    static constexpr unsigned sweeps_until_alone = 4096;

    sync::BiasedLock lock_;
    bool is_enabled_ = false;  ///< written before the second thread enters
    bool has_parker_ = false;
    std::uintptr_t leader_ = 0;
    std::vector<Sleeper> sleepers_;
    std::uint64_t met_before_ = 0;  ///< these two belong to meets_threads()
    unsigned sweeps_alone_ = 0;
    ThreadCounters counters_;
};

}  // namespace headway::engine
