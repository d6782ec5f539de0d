// SPDX-License-Identifier: Apache-2.0
#include "engine/joint.hpp"

#include <atomic>
#include <new>

namespace headway::engine {

namespace {

/// In the node heap; the waiters, one a part, follow it. The op comes first, so that freeing it
/// frees all.
struct Joint {
    Op op;
    // Parts that are not complete, and 1 until the op is sealed. Written by the owner and by
    // whoever completes a part, in any process.
    std::atomic<std::uint32_t> open{1};
    std::uint32_t parts = 0;

    sync::Waiter* waiters() noexcept { return reinterpret_cast<sync::Waiter*>(this + 1); }
};

void close_one(Worker& worker, Joint* joint)
{
    // (1) release, pairs with itself: what the parts wrote is visible to whoever closes the last
    // one, and through the op's word to who waits; acquire, pairs with itself.
    if (joint->open.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        worker.complete(&joint->op);
    }
}

}  // namespace

Op* create_joint(Driver& driver, OpKind kind, std::uint32_t parts_max)
{
    void* place = driver.allocator().allocate(sizeof(Joint) + parts_max * sizeof(sync::Waiter));
    if (place == nullptr) {
        return nullptr;
    }
    auto* joint = new (place) Joint;
    joint->op.owner = &driver.rank();
    joint->op.kind = kind;
    return &joint->op;
}

void add_part(Op* op, Op* part)
{
    auto* joint = reinterpret_cast<Joint*>(op);
    auto* waiter = new (joint->waiters() + joint->parts) sync::Waiter;
    ++joint->parts;
    waiter->kind = sync::WaiterKind::joint;
    waiter->payload = reinterpret_cast<std::uintptr_t>(joint);
    // Relaxed: the owner's own 1 keeps the count up until the op is sealed.
    joint->open.fetch_add(1, std::memory_order_relaxed);
    if (part->word.attach(waiter) == sync::AttachResult::already_complete) {
        joint->open.fetch_sub(1, std::memory_order_relaxed);  // relaxed: likewise
    }
}

void seal_joint(Driver& driver, Op* op)
{
    close_one(driver.worker(), reinterpret_cast<Joint*>(op));
}

void fire_joint(Worker& worker, sync::Waiter* waiter)
{
    close_one(worker, reinterpret_cast<Joint*>(waiter->payload));
}

}  // namespace headway::engine
