// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mpi.h"
#include "object/communicator.hpp"
#include "protocol/match.hpp"

namespace headway::object {

/// A message that a matched probe took out of the matching. Ends with its receive.
struct Message {
    protocol::Unexpected* found = nullptr;
    Communicator* communicator = nullptr;  ///< holds a reference
    Instance* instance = nullptr;          ///< where it was found
};

/// Makes a handle for a message that was taken in that instance. MPI_MESSAGE_NULL: the handle table
/// is full.
MPI_Message make_message(Instance& instance, Communicator& communicator,
                         protocol::Unexpected* found);

/// The message behind a handle, or null where it is no live one.
Message* find_message(const Rank& rank, MPI_Message handle) noexcept;

/// Ends the message's life, its content has been taken, and sets the handle to null.
void finish_message(MPI_Message* handle, Message* message);

}  // namespace headway::object
