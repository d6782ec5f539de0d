// SPDX-License-Identifier: Apache-2.0
// Requests that are attached to sync objects (docs/design/023). The handle of an active one stands
// for its event, as Kind::attached_request, so that calls on requests do not know it; that of an
// inactive persistent one is as it was, and its record knows the event.
// Thread rule: the rank's threads, under its lock.
#pragma once

#include "engine/sync_object.hpp"
#include "mpi.h"
#include "object/persistent.hpp"
#include "object/rank.hpp"

namespace headway::object {

/// The event of an active request that is attached; null for others.
inline engine::SyncEvent* find_attached(const Rank& rank, MPI_Request request) noexcept
{
    return static_cast<engine::SyncEvent*>(
        rank.handles->find(Kind::attached_request, bits_of(request)));
}

/// Where the completions of a request go.
struct Attachment {
    engine::SyncObject& object;
    std::uint64_t cookie;
    bool is_silent;  ///< no event is wanted
};

/// Attaches the active request of `op` once. False: the node heap is exhausted.
bool attach_active(Rank& rank, MPI_Request request, engine::Op* op, const Attachment& to);
/// Attaches every run of a persistent request from now on; `op` is the active one, or null.
/// Requires: it is bound to none. False: as above.
bool bind(Rank& rank, MPI_Request request, Persistent& persistent, engine::Op* op,
          const Attachment& to);

/// The request of `op` that `event` names is attached from now on.
void attach_request(Rank& rank, engine::SyncEvent& event, engine::Op* op);
/// The opposite, where the op is not complete: the request stands for its op again. False: its
/// event is in the queue, or will be in a moment. `event` stays.
bool detach_request(Rank& rank, engine::SyncEvent& event);

/// Ends the binding of a request that is not attached now.
void unbind(Rank& rank, Persistent& persistent);
/// Frees the event of a request that is not attached any more, unless its persistent request keeps
/// it.
void drop_event(Rank& rank, engine::SyncEvent* event);

/// An event was taken: the request stands for its op, which is complete, and the caller ends it.
MPI_Request release_request(Rank& rank, engine::SyncEvent& event);

}  // namespace headway::object
