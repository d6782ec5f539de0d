// SPDX-License-Identifier: Apache-2.0
#include "engine/siblings.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/door.hpp"
#include "platform/cpu.hpp"

namespace headway::engine {

namespace {

/// Visits of a thread that waits for nothing there between two looks at another instance, one after
/// the other: where each thread of a rank has an instance of its own, each look takes a cache line
/// from who uses it.
constexpr unsigned visits_a_look = 64;

/// How long a thread sleeps at most that nobody can be relied on to wake.
constexpr std::int64_t nap_max_ns = 8'000'000;

template <typename Visit>
void for_each(InstanceSet instances, Visit&& visit)
{
    for (; instances != 0; instances &= instances - 1) {
        visit(static_cast<std::uint32_t>(std::countr_zero(instances)));
    }
}

}  // namespace

bool Siblings::look_in(InstanceSet instances, bool is_before_sleep)
{
    bool are_seen_to = true;
    for_each(instances, [&](std::uint32_t instance) {
        are_seen_to = doors_[instance]->look_in(is_before_sleep) && are_seen_to;
    });
    return are_seen_to;
}

void Siblings::work_in(InstanceSet instances)
{
    for_each(instances, [&](std::uint32_t instance) {
        Door& door = *doors_[instance];
        if (door.try_enter()) {
            door.driver()->advance();
            door.leave();
        }
    });
}

bool Siblings::try_enter_first()
{
    return doors_[0]->try_enter();
}

void Siblings::leave_first()
{
    doors_[0]->leave();
}

InstanceSet Siblings::own_among(InstanceSet instances) noexcept
{
    InstanceSet own = 0;
    for_each(instances, [&](std::uint32_t instance) {
        own |= doors_[instance]->is_own() ? set_of(instance) : 0;
    });
    return own;
}

void Siblings::note_threads_in(std::uint32_t instance) noexcept
{
    if (!have_threads() && doors_[instance]->lock().is_shared()) {
        have_threads_.store(true, std::memory_order_relaxed);  // relaxed: a hint
    }
}

std::uint64_t Siblings::attention_to(std::uint32_t instance) const noexcept
{
    Driver* const driver = doors_[instance]->driver();
    // Relaxed: a statistic.
    return activity_in(set_of(instance)) +
           (driver != nullptr ? driver->rank().counters.sweeps.load(std::memory_order_relaxed) : 0);
}

std::uint64_t Siblings::activity_in(InstanceSet instances) const noexcept
{
    // Relaxed: statistics.
    std::uint64_t sum = returns_.load(std::memory_order_relaxed);
    for_each(instances, [&](std::uint32_t instance) {
        if (Driver* const driver = doors_[instance]->driver(); driver != nullptr) {
            const RankCounters& counters = driver->rank().counters;
            sum += counters.frames_posted.load(std::memory_order_relaxed) +
                   counters.frames_received.load(std::memory_order_relaxed);
        }
    });
    return sum;
}

void Siblings::open(std::uint32_t instance) noexcept
{
    if ((sleepers_.open_but(0) & set_of(instance)) == 0) {
        returns_.fetch_add(1, std::memory_order_relaxed);  // relaxed: a hint
    }
    wake(sleepers_.open(set_of(instance)));
}

InstanceSet Siblings::begin_sleep(std::uint32_t own) noexcept
{
    const InstanceSet others = sleepers_.begin_sleep(set_of(own));
    rely_on(others, true);
    return others;
}

void Siblings::end_sleep(std::uint32_t own, InstanceSet others) noexcept
{
    sleepers_.end_sleep(set_of(own));
    rely_on(others, false);
}

void Siblings::note_return(std::uint32_t instance) noexcept
{
    const InstanceSet asleep = sleepers_.asleep_but(set_of(instance));
    if (asleep != 0) {
        returns_.fetch_add(1, std::memory_order_relaxed);  // relaxed: a hint
        wake(asleep);
    }
}

void Siblings::wake(InstanceSet sleepers) noexcept
{
    for_each(sleepers, [&](std::uint32_t each) {
        if (Driver* const driver = doors_[each]->driver(); driver != nullptr) {
            driver->rank().ownership.notify_parked();
        }
    });
}

// The lock that look_in() passes next orders it before what later threads read inside.
void Siblings::rely_on(InstanceSet instances, bool does_rely) noexcept
{
    for_each(instances, [&](std::uint32_t instance) {
        Driver* const driver = doors_[instance]->driver();
        if (driver != nullptr && does_rely) {
            driver->rank().open_ops.add_reliance();
        } else if (driver != nullptr) {
            driver->rank().open_ops.remove_reliance();
        }
    });
}

Elsewhere::Elsewhere(Driver& driver, std::span<Op* const> ops) : own_(driver.rank().instance)
{
    if (driver.siblings() == nullptr) [[likely]] {
        return;
    }
    siblings_ = driver.siblings();
    for (const Op* const op : ops) {
        if (op != nullptr && (op->kind == OpKind::sync_object || op->kind == OpKind::exchange)) {
            wanted_ = siblings_->others_of(own_);  // whatever is attached, or part of it
        } else if (op != nullptr && op->owner->instance != own_) {
            wanted_ |= set_of(op->owner->instance);
        }
    }
}

/// Nobody else can see to one whose lock this thread has.
void Elsewhere::find_own()
{
    if (siblings_ != nullptr && !has_found_own_) {
        has_found_own_ = true;
        wanted_ |= siblings_->own_among(siblings_->others_of(own_));
    }
}

void Elsewhere::visit_siblings()
{
    if (wanted_ != 0) {
        siblings_->work_in(wanted_);
    }
    if (++visits_ % visits_a_look == 0) {
        find_own();
        visit_next();
    }
}

/// Looks in at the next one that nobody has looked after since the last time.
void Elsewhere::visit_next()
{
    const InstanceSet others = siblings_->others_of(own_) & ~wanted_;
    if (others == 0) {
        return;
    }
    do {
        looked_at_ = (looked_at_ + 1) % instances_max;
    } while ((others & set_of(looked_at_)) == 0);
    siblings_->note_threads_in(looked_at_);
    const std::uint64_t attention = siblings_->attention_to(looked_at_);
    if (std::exchange(attention_[looked_at_], attention) == attention) {
        (void)siblings_->look_in(set_of(looked_at_));
        attention_[looked_at_] = siblings_->attention_to(looked_at_);
    }
}

platform::Deadline Elsewhere::alarm(platform::Deadline given)
{
    return has_ops() ? platform::earlier(platform::Deadline::after_ns(nap_min_ns), given) : given;
}

/// Whether nothing was done in the other instances for a while.
bool Elsewhere::are_idle()
{
    const InstanceSet others = siblings_->others_of(own_);
    if (others == 0) {
        return true;
    }
    const std::uint64_t activity = siblings_->activity_in(others);
    const std::int64_t now_ns = platform::monotonic_ns();
    if (activity != activity_ || idle_since_ns_ == 0) {
        activity_ = activity;
        idle_since_ns_ = now_ns;
    }
    return now_ns - idle_since_ns_ >= nap_min_ns;
}

LeftToOthers::LeftToOthers(Elsewhere& elsewhere) : elsewhere_(elsewhere)
{
    Siblings* const siblings = elsewhere.siblings_;
    if (siblings == nullptr) [[likely]] {
        return;
    }
    if (!elsewhere.are_idle()) {
        (void)siblings->look_in(siblings->others_of(elsewhere.own_), true);
        must_nap_ = true;
        return;
    }
    is_told_ = true;
    left_ = siblings->begin_sleep(elsewhere.own_);
    must_nap_ = !siblings->look_in(left_, true);
}

LeftToOthers::~LeftToOthers()
{
    if (is_told_) {
        elsewhere_.siblings_->end_sleep(elsewhere_.own_, left_);
    }
}

platform::Deadline LeftToOthers::alarm(platform::Deadline given) const
{
    if (!must_nap_) {
        return elsewhere_.alarm(given);
    }
    const std::int64_t nap_ns =
        std::exchange(elsewhere_.nap_ns_, std::min(2 * elsewhere_.nap_ns_, nap_max_ns));
    return elsewhere_.alarm(platform::earlier(platform::Deadline::after_ns(nap_ns), given));
}

}  // namespace headway::engine
