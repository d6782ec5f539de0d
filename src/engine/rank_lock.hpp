// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <mutex>
#include <vector>

#include "sync/thread_slot.hpp"

namespace headway::engine {

/// Lets one thread of a rank work inside the library at a time when the program asked for
/// MPI_THREAD_MULTIPLE; below that level every call costs one test of a flag.
///
/// Recursive, because user callbacks may call MPI. Also knows who of the rank's threads sleeps
/// where: one sleeps on the rank's ownership word and makes progress when it wakes (the parker),
/// the others sleep in their slots until their ops complete or the parker hands over.
/// Private to the rank's process.
class RankLock {
  public:
    /// Before the second thread can enter; `is_inside`: the first one is, and has the lock from now
    /// on. Nobody could have it yet, so this waits for nobody, whatever else the caller holds.
    void enable(bool is_inside)
    {
        is_enabled_ = true;
        [[maybe_unused]] const bool is_ours = !is_inside || mutex_.try_lock();
        assert(is_ours);
    }
    bool is_enabled() const noexcept { return is_enabled_; }

    void lock()
    {
        if (is_enabled_) [[unlikely]] {
            // Relaxed: a hint for the thread inside that somebody waits.
            wanted_.fetch_add(1, std::memory_order_relaxed);
            mutex_.lock();
            wanted_.fetch_sub(1, std::memory_order_relaxed);
        }
    }
    void unlock()
    {
        if (is_enabled_) [[unlikely]] {
            mutex_.unlock();
        }
    }
    /// Another thread stands before the door.
    bool is_wanted() const noexcept
    {
        return is_enabled_ && wanted_.load(std::memory_order_relaxed) != 0;
    }

    // The calls below require the lock.
    bool has_parker() const noexcept { return has_parker_; }
    void set_parker(bool is_parked) noexcept { has_parker_ = is_parked; }

    void add_sleeper(sync::ThreadSlot* slot) { sleepers_.push_back(slot); }
    void remove_sleeper(sync::ThreadSlot* slot) { std::erase(sleepers_, slot); }
    /// Wakes all threads that sleep in their slots, to look again or to take over the parking.
    void wake_sleepers() noexcept
    {
        for (sync::ThreadSlot* slot : sleepers_) {
            slot->signal();
        }
    }
    bool has_sleepers() const noexcept { return !sleepers_.empty(); }

  private:
    std::recursive_mutex mutex_;
    std::atomic<int> wanted_{0};  ///< written by threads at the door, read by the one inside
    bool is_enabled_ = false;     ///< written before the second thread enters
    bool has_parker_ = false;
    std::vector<sync::ThreadSlot*> sleepers_;
};

}  // namespace headway::engine
