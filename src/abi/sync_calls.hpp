// SPDX-License-Identifier: Apache-2.0
// What calls on requests and on sync objects share.
#pragma once

#include "abi/call.hpp"
#include "object/sync_object.hpp"

namespace headway::abi {

/// Ends a request whose op is complete, as MPI_Wait does. Returns the error class of the operation,
/// whose communicator is then the error source.
int end_request(Call& call, MPI_Request* request, engine::Op* op, MPI_Status* status);

/// Says why a handle stands for no active request that is free.
[[gnu::cold]] int refuse_inactive(Call& call, MPI_Request given);

/// Looks at what completed since the last time: events for the program are kept for it, other
/// requests end here. Returns the error class of the last of these that failed.
int collect_events(Call& call, engine::SyncObject& object);

}  // namespace headway::abi
