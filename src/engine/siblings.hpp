// SPDX-License-Identifier: Apache-2.0
// The instances of one rank as its threads see them from inside one of them. Each is an engine of
// its own (Directory::instances); what is new where there are several is who sees to one that no
// thread is in. Why nobody is left waiting: docs/design/034.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "engine/rank_state.hpp"
#include "platform/futex.hpp"
#include "sync/sleep_register.hpp"

namespace headway::engine {

class Door;
class Driver;

/// Some of the instances of a rank, a bit each.
using InstanceSet = sync::SleepRegister::Set;

constexpr InstanceSet set_of(std::uint32_t instance) noexcept
{
    return 1U << instance;
}

/// Private to the rank's process. Thread rule: any thread of the rank.
class Siblings {
  public:
    /// Before the rank communicates.
    void add(std::uint32_t instance, Door& door) noexcept { doors_[instance] = &door; }
    /// From now on there may be traffic in it.
    void open(std::uint32_t instance) noexcept;
    InstanceSet others_of(std::uint32_t instance) const noexcept
    {
        return sleepers_.open_but(set_of(instance));
    }

    /// Door::look_in() of each. False: one of them said so.
    bool look_in(InstanceSet instances, bool is_before_sleep = false);
    /// Goes inside each that can be had at once, takes in what is there, and leaves.
    void work_in(InstanceSet instances);
    /// Goes inside the first instance, where what a user's function calls goes in, for a thread
    /// that is inside another one. False: another thread is there, who may want to go where this
    /// one is: the first door comes before all others, so nobody waits here.
    [[nodiscard]] bool try_enter_first();
    void leave_first();
    /// Those that the calling thread is inside of.
    InstanceSet own_among(InstanceSet instances) noexcept;
    /// Whether several threads of the rank have been seen inside any of them.
    bool have_threads() const noexcept
    {
        return have_threads_.load(std::memory_order_relaxed);  // relaxed: a hint
    }
    void note_threads_in(std::uint32_t instance) noexcept;
    /// A number that changes with what is done in them, mostly.
    std::uint64_t activity_in(InstanceSet instances) const noexcept;
    /// A number that changes with each sweep in one of them, too.
    std::uint64_t attention_to(std::uint32_t instance) const noexcept;

    /// A thread of `own` is about to park, and has said so in its ownership word: from now on each
    /// of the others is left free by who leaves it, and who comes back to one, or opens one more,
    /// wakes the thread. The others.
    InstanceSet begin_sleep(std::uint32_t own) noexcept;
    void end_sleep(std::uint32_t own, InstanceSet others) noexcept;
    /// A thread comes back to an instance that was left free. Requires: its lock.
    void note_return(std::uint32_t instance) noexcept;

  private:
    void rely_on(InstanceSet instances, bool does_rely) noexcept;
    void wake(InstanceSet sleepers) noexcept;

    std::array<Door*, instances_max> doors_{};
    sync::SleepRegister sleepers_{set_of(0)};
    // How often a thread came back. Written by those, read by threads that wait; relaxed, a hint.
    std::atomic<std::uint64_t> returns_{0};
    // Written once, by threads that look in at the instances; relaxed, a hint.
    std::atomic<bool> have_threads_{false};
};

/// What a waiting thread of one instance has to do with the others. Nothing where a rank has one.
/// A short wait does not look at them: what it would look at, others write all the time.
class Elsewhere {
  public:
    Elsewhere(Driver& driver, std::span<Op* const> ops);

    /// Between two sweeps.
    void visit()
    {
        if (siblings_ != nullptr) [[unlikely]] {
            visit_siblings();
        }
    }
    /// Some of what the thread waits for is there, and short messages ring only who is inside; or
    /// it is inside, too.
    bool has_ops()
    {
        find_own();
        return wanted_ != 0;
    }
    /// Other threads of the rank may need the core that this one sweeps on.
    bool has_threads() const noexcept { return siblings_ != nullptr && siblings_->have_threads(); }
    /// When the thread has to look around whether it is woken or not.
    platform::Deadline alarm(platform::Deadline given);

  private:
    friend class LeftToOthers;

    void visit_siblings();
    void visit_next();
    void find_own();
    bool are_idle();

    Siblings* siblings_ = nullptr;
    std::uint32_t own_;
    InstanceSet wanted_ = 0;
    bool has_found_own_ = false;
    unsigned visits_ = 0;
    std::uint32_t looked_at_ = 0;  ///< the instance that was looked at last
    /// attention_to() each when it was; the first look only takes that down.
    std::array<std::uint64_t, instances_max> attention_{};
    std::uint64_t activity_ = 0;      ///< in the others, when the thread last looked
    std::int64_t idle_since_ns_ = 0;  ///< there has been none since; 0: it never looked
    std::int64_t nap_ns_ = nap_min_ns;

    static constexpr std::int64_t nap_min_ns = 1'000'000;
};

/// While it lives, the thread is parked, or about to be and has said so in its ownership word. It
/// naps as long as others of its rank are at work in other instances; when they are not, those are
/// left to others. To leave them so at once would cost each of the others' calls an exchange.
class LeftToOthers {
  public:
    explicit LeftToOthers(Elsewhere& elsewhere);
    ~LeftToOthers();
    LeftToOthers(const LeftToOthers&) = delete;
    LeftToOthers& operator=(const LeftToOthers&) = delete;

    platform::Deadline alarm(platform::Deadline given) const;

  private:
    Elsewhere& elsewhere_;
    InstanceSet left_ = 0;
    bool is_told_ = false;  ///< others know that it sleeps
    bool must_nap_ = false;
};

}  // namespace headway::engine
