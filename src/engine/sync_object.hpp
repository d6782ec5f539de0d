// SPDX-License-Identifier: Apache-2.0
// Sync objects: ops of a rank are attached, and whoever completes one puts its event into the
// object's queue. All of it lies in the node heap, so that a helper in any process can.
#pragma once

#include <cstdint>

#include "engine/driver.hpp"
#include "sync/completion_queue.hpp"

namespace headway::engine {

struct SyncObject;

/// One attached op. Belongs to the executor, but between attach_op() and its completion: then
/// whoever completes the op puts it into the object's queue, which is his last touch.
struct SyncEvent : sync::ListLink {
    sync::Waiter waiter;
    SyncObject* object = nullptr;
    Op* op = nullptr;            ///< null: the persistent request behind it is inactive
    std::uint64_t request = 0;   ///< the handle of the op, for the owner's process
    std::uint64_t cookie = 0;    ///< what the program wants to get when the op is complete
    bool is_silent = false;      ///< nobody is told of the completion
    bool is_persistent = false;  ///< stays with its request for the next start
    bool is_last = false;        ///< but not after this one
};

/// In the node heap.
struct SyncObject {
    explicit SyncObject(RankState& rank) : owner(&rank) {}

    sync::CompletionQueue completions;
    /// Complete when no attached op is open. Written by the executor before it begins to wait, read
    /// by whoever counts to the end; null: nobody waits.
    Op* awaited = nullptr;

    // The executor's own from here.
    alignas(platform::cache_line_bytes) RankState* owner;
    SyncEvent* first = nullptr;  ///< events that nobody has taken yet, linked by `next`
    SyncEvent* last = nullptr;
    std::uint64_t queued = 0;    ///< their number
    std::uint64_t attached = 0;  ///< ops whose completion the executor has not seen
    std::uint64_t bound = 0;     ///< persistent requests that are attached with each start
};

/// Null: the node heap is exhausted. Thread rule of all that follow: the rank's executor.
SyncObject* create_sync_object(Driver& driver);
/// Requires: nothing is attached, queued or bound, and nobody waits.
void destroy_sync_object(Driver& driver, SyncObject* object);

/// An event that is not attached yet. Null: the node heap is exhausted.
SyncEvent* create_event(Driver& driver, SyncObject& object, std::uint64_t request);
void destroy_event(Driver& driver, SyncEvent* event);

/// From now on `op` fills the object's queue with `event`; at once if it is complete.
void attach_op(Driver& driver, SyncEvent* event, Op* op);
/// Takes the event off its op, which is the caller's again. False: the op is complete, and its
/// event is in the queue or will be in a moment.
bool detach_op(Driver& driver, SyncEvent* event);

/// The events of ops that completed since the last time, the oldest first, linked by `next`; they
/// are no longer attached. Their ops' results are visible.
SyncEvent* take_completed(SyncObject& object);
/// Keeps an event for the program.
void queue_event(SyncObject& object, SyncEvent* event);
/// The oldest; null: there is none.
SyncEvent* take_event(SyncObject& object);

/// Blocks until every op that is attached now is complete. False: the node heap is exhausted.
bool await_completions(Driver& driver, SyncObject& object);

/// An attached op has completed. Called by whoever completed it; afterwards the event may be gone.
void fire_sync_event(Worker& worker, sync::Waiter* waiter);

}  // namespace headway::engine
