// SPDX-License-Identifier: Apache-2.0
// What HEADWAY_CHECK=messages asks of every message between ranks: that the receiver's types are
// the sender's (MPI-5.0 section 3.3.1). Types that hold the same numbers in the same form may stand
// for each other (MPI_INT and MPI_INT32_T), and MPI_BYTE and MPI_PACKED for anything.
#pragma once

#include <cstdint>

#include "abi/transfer.hpp"
#include "object/element_note.hpp"

namespace headway::abi {

/// What a call says of `count` elements.
object::ElementNote note_of(const data::Layout& layout, std::uint64_t count);

/// Leaves what the sender says of a message where its receiver finds it. Returns the number that
/// the message has to carry. Requires Rank::process().sent_types().
std::uint32_t leave_note(object::Rank& rank, std::uint32_t peer, const Transfer& transfer);

/// Lets the receive compare when it ends. Requires the same; the op is not started yet.
void compare_at_end(object::Communicator& comm, engine::Op* receive, const Transfer& transfer);

}  // namespace headway::abi
