// SPDX-License-Identifier: Apache-2.0
// How the members of a communicator settle whether its messages are spread over the rank's
// instances by their tags (docs/design/035).
#pragma once

#include "abi/message_calls.hpp"

namespace headway::abi {

/// Takes the hints of a communicator that a call is making, whose handle nobody knows. All members
/// call; blocks.
int take_first_hints(Call& call, object::Communicator& made, const object::Info& hints);
/// Of a communicator that the call has just made; nothing where this member is in none.
int take_first_hints(Call& call, MPI_Comm made, const object::Info& hints);

/// Takes hints of one that is in use. All members call; blocks. Where that is certain to be right
/// the way of its messages changes.
int change_hints(Call& call, object::Communicator& comm, const object::Info& hints);

}  // namespace headway::abi
