// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "engine/driver.hpp"
#include "engine/rank_lock.hpp"

namespace headway::engine {

/// A rank's door: every call of the application comes in and goes out by it. Inside, the rank owns
/// its ownership word. A rank that goes out with operations open leaves the word free, so that
/// others can work for it while it computes; with none it keeps the word, and the door costs two
/// tests of fields of its own.
///
/// Thread rule: the rank's threads; the lock lets one of them inside at a time.
class Door {
  public:
    RankLock& lock() noexcept { return lock_; }
    const RankLock& lock() const noexcept { return lock_; }

    /// Before the second thread can enter, perhaps in a call that is inside already. Others may be
    /// too, in calls that may be made before there is MPI (two threads that open a session each):
    /// they have no lock, and leave without one.
    void enable_threads() { lock_.enable(inside_ != 0 ? 1 : 0); }
    /// Where the rank's communication begins (MPI_Init). It owns its ownership word already.
    void open(Driver& driver) noexcept { driver_ = &driver; }
    /// Where it ends (MPI_Finalize): nobody else works for the rank any more.
    void close() noexcept { driver_ = nullptr; }

    void enter()
    {
        lock_.lock();
        ++inside_;
        if (is_away_) [[unlikely]] {
            come_back();
        }
    }

    /// enter() that waits for no other thread of the rank. False: one is inside.
    [[nodiscard]] bool try_enter()
    {
        if (!lock_.try_lock()) {
            return false;
        }
        ++inside_;
        if (is_away_) [[unlikely]] {
            come_back();
        }
        return true;
    }

    /// enter() of a rank that has its ownership word still. False, and nothing happened: others may
    /// work for it.
    bool enter_at_home()
    {
        lock_.lock();
        if (is_away_) [[unlikely]] {
            lock_.unlock();
            return false;
        }
        ++inside_;
        return true;
    }

    void leave() { leave_in_line(); }

    /// For a thread of the rank that is busy elsewhere, and never waits: one sweep, if nobody else
    /// is inside and the word is here. What is left open is left to others; if the thread is about
    /// to sleep, posted receives, too. False: the word is here, or whoever is inside may leave
    /// without seeing why it should not be.
    bool look_in(bool is_before_sleep);
    /// The calling thread is inside already: it calls from a user's function.
    bool is_own()
    {
        return driver_ != nullptr && (lock_.is_enabled() ? lock_.is_own() : inside_ != 0);
    }
    /// Null: closed.
    Driver* driver() const noexcept { return driver_; }

    /// leave(), for the few calls that are made for every short message.
    [[gnu::always_inline]] void leave_in_line()
    {
        if (inside_ != 1) [[unlikely]] {
            --inside_;
            leave_others();
        } else {
            // Still inside: user functions may run on the way out, and call MPI.
            if (driver_ != nullptr && leaves_work()) [[unlikely]] {
                go_away();
            }
            inside_ = 0;
        }
        lock_.unlock();
    }

  private:
    bool leaves_work() const noexcept
    {
        return driver_->leaves_word_free() || driver_->worker().has_asked() ||
               driver_->has_unsent();
    }

    std::uint64_t sweeps() const noexcept;
    void come_back();
    void leave_others();
    void go_away();

    RankLock lock_;
    Driver* driver_ = nullptr;
    int inside_ = 0;        ///< calls of this rank that have not returned, nested ones included
    bool is_away_ = false;  ///< the ownership word was left free
    std::uint64_t swept_before_ = UINT64_MAX;  ///< sweeps of the rank until it last came back
};

}  // namespace headway::engine
