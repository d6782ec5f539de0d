// SPDX-License-Identifier: Apache-2.0
#include "engine/sync_object.hpp"

#include <new>
#include <utility>

#include "engine/wait.hpp"

namespace headway::engine {

namespace {

/// What threads wait for that wait for the same end. The op comes first, so that freeing it frees
/// all.
struct End {
    Op op;
    std::uint32_t waiters = 0;  ///< threads; the executor's own
};

End* end_of(Op* op)
{
    return reinterpret_cast<End*>(op);
}

/// The end that a newcomer can wait for: one that is not told yet, else a new one. Null: the node
/// heap is exhausted.
Op* join_end(Driver& driver, SyncObject& object)
{
    if (object.awaited != nullptr && !object.awaited->word.is_complete()) {
        return object.awaited;
    }
    // Who told the last one does not look at `awaited` any more; its threads know their op.
    object.completions.end_wait();
    void* const place = driver.allocator().allocate(sizeof(End));
    if (place == nullptr) {
        return nullptr;
    }
    Op* const op = &(new (place) End)->op;
    op->owner = &driver.rank();
    op->kind = OpKind::sync_object;
    object.awaited = op;
    if (object.completions.begin_wait()) {
        driver.complete(op);
    }
    return op;
}

void leave_end(Driver& driver, SyncObject& object, Op* op)
{
    if (object.awaited == op) {
        object.completions.end_wait();
        object.awaited = nullptr;
    }
    if (--end_of(op)->waiters == 0) {
        driver.destroy_op(op);
    }
}

}  // namespace

SyncObject* create_sync_object(Driver& driver)
{
    void* const place = driver.allocator().allocate(sizeof(SyncObject));
    return place != nullptr ? new (place) SyncObject(driver.rank()) : nullptr;
}

void destroy_sync_object(Driver& driver, SyncObject* object)
{
    // A completer between its two steps is a few instructions from the end.
    for (unsigned attempt = 0; object->completions.is_in_use(); ++attempt) {
        platform::RealAtomics::pause(attempt);
    }
    driver.allocator().free(object);
}

SyncEvent* create_event(Driver& driver, SyncObject& object, std::uint64_t request)
{
    void* const place = driver.allocator().allocate(sizeof(SyncEvent));
    if (place == nullptr) {
        return nullptr;
    }
    auto* const event = new (place) SyncEvent;
    event->object = &object;
    event->request = request;
    return event;
}

void destroy_event(Driver& driver, SyncEvent* event)
{
    driver.allocator().free(event);
}

void attach_op(Driver& driver, SyncEvent* event, Op* op)
{
    SyncObject& object = *event->object;
    event->op = op;
    event->next = nullptr;
    event->waiter.kind = sync::WaiterKind::sync_object;
    event->waiter.payload = reinterpret_cast<std::uintptr_t>(event);
    ++object.attached;
    object.completions.expect();
    if (op->word.attach(&event->waiter) == sync::AttachResult::already_complete) {
        fire_sync_event(driver.worker(), &event->waiter);
    }
}

bool detach_op(Driver& driver, SyncEvent* event)
{
    sync::Waiter* orphans = nullptr;
    const sync::DetachResult result = event->op->word.detach(&event->waiter, &orphans);
    driver.fire(orphans);
    if (result == sync::DetachResult::completed_meanwhile) {
        return false;
    }
    SyncObject& object = *event->object;
    --object.attached;
    if (object.completions.withdraw()) {
        driver.complete(object.awaited);
    }
    return true;
}

SyncEvent* take_completed(SyncObject& object)
{
    auto* const first = static_cast<SyncEvent*>(object.completions.take_all());
    for (const sync::ListLink* link = first; link != nullptr; link = link->next) {
        --object.attached;
    }
    return first;
}

void queue_event(SyncObject& object, SyncEvent* event)
{
    event->next = nullptr;
    if (object.first == nullptr) {
        object.first = event;
    } else {
        object.last->next = event;
    }
    object.last = event;
    ++object.queued;
}

SyncEvent* take_event(SyncObject& object)
{
    SyncEvent* const event = object.first;
    if (event != nullptr) {
        object.first = static_cast<SyncEvent*>(event->next);
        --object.queued;
    }
    return event;
}

bool await_completions(Driver& driver, SyncObject& object)
{
    // The end that is being told may be one that came before the last op was attached.
    for (bool is_covered = false; !is_covered;) {
        Op* const op = join_end(driver, object);
        if (op == nullptr) {
            return false;
        }
        is_covered = object.completions.is_awaited();
        ++end_of(op)->waiters;
        wait_for(driver, op);
        leave_end(driver, object, op);
    }
    return true;
}

void fire_sync_event(Worker& worker, sync::Waiter* waiter)
{
    auto* const event = reinterpret_cast<SyncEvent*>(waiter->payload);
    SyncObject* const object = event->object;
    if (object->completions.deliver(event)) {
        worker.complete(object->awaited);
    }
}

}  // namespace headway::engine
