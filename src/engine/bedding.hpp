// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include "engine/driver.hpp"
#include "sync/thread_slot.hpp"

namespace headway::engine {

/// A thread's waiters while it sleeps: one an op, in the node heap, so that a completer in any
/// process can wake it.
class Bedding {
  public:
    Bedding(Driver& driver, std::span<Op* const> ops, std::int32_t needed)
        : driver_(driver), ops_(ops)
    {
        const std::size_t bytes = sizeof(sync::ThreadSlot) + ops.size() * sizeof(sync::Waiter);
        void* place = driver.allocator().allocate(bytes);
        if (place == nullptr) {
            return;
        }
        slot_ = new (place) sync::ThreadSlot;
        waiters_ = reinterpret_cast<sync::Waiter*>(slot_ + 1);
        slot_->belong_to(&driver.rank().ownership,
                         driver.lock().is_enabled() ? &driver.rank().threads.asleep : nullptr);
        const auto live = std::ranges::count_if(ops, [](const Op* op) { return op != nullptr; });
        slot_->arm(std::min(needed, static_cast<std::int32_t>(live)),
                   static_cast<std::uint32_t>(live));
        attach();
    }

    ~Bedding()
    {
        if (slot_ == nullptr) {
            return;
        }
        for (std::size_t i = 0; i < ops_.size(); ++i) {
            detach(i);
        }
        // A completer between its exchange and its last touch is a few instructions from the end.
        (void)slot_->drain_pins();
        driver_.allocator().free(slot_);
    }

    Bedding(const Bedding&) = delete;
    Bedding& operator=(const Bedding&) = delete;

    /// False: the heap is exhausted; the caller goes on sweeping instead of sleeping.
    bool is_made() const noexcept { return slot_ != nullptr; }
    sync::ThreadSlot& slot() noexcept { return *slot_; }

    /// When the thread is to wake if nobody wakes it before.
    platform::Deadline alarm() const noexcept { return alarm_; }
    void set_alarm(platform::Deadline alarm) noexcept { alarm_ = alarm; }

  private:
    void attach()
    {
        std::int32_t complete = 0;
        for (std::size_t i = 0; i < ops_.size(); ++i) {
            auto* waiter = new (&waiters_[i]) sync::Waiter;
            waiter->slot = slot_;
            waiter->index = static_cast<std::uint32_t>(i);
            if (ops_[i] == nullptr) {
                waiter->slot = nullptr;  // never hung on a word
            } else if (ops_[i]->word.attach(waiter) == sync::AttachResult::already_complete) {
                waiter->slot = nullptr;
                slot_->unpin();
                ++complete;
            }
        }
        if (complete != 0) {
            slot_->update(-complete);
        }
    }

    void detach(std::size_t i)
    {
        if (waiters_[i].slot == nullptr) {
            return;
        }
        sync::Waiter* orphans = nullptr;
        if (ops_[i]->word.detach(&waiters_[i], &orphans) == sync::DetachResult::detached) {
            slot_->unpin();
        }
        driver_.fire(orphans);
    }

    Driver& driver_;
    std::span<Op* const> ops_;
    sync::ThreadSlot* slot_ = nullptr;
    sync::Waiter* waiters_ = nullptr;
    platform::Deadline alarm_ = platform::Deadline::never();
};

}  // namespace headway::engine
