// SPDX-License-Identifier: Apache-2.0
// What the point-to-point calls share: a message as its caller describes it, and the ops of it.
#pragma once

#include "abi/message_calls.hpp"
#include "base/diagnostics.hpp"
#include "base/result.hpp"
#include "object/packed.hpp"
#include "protocol/point_to_point.hpp"

namespace headway::abi {

/// A buffer of the caller and the member that it goes to or comes from.
struct Transfer {
    const void* address = nullptr;  ///< of the bytes, where they are not packed
    std::uint64_t bytes = 0;        ///< on the wire
    int peer = MPI_PROC_NULL;
    int tag = 0;
    /// What is not one run of bytes travels packed.
    bool is_packed = false;
    /// Not the usual message: it is packed, or its types are compared.
    bool is_special = false;
    /// The send works on a copy of the message: its buffer changes before it is over.
    bool is_copied = false;
    const object::Datatype* type = nullptr;
    const void* elements = nullptr;
    std::uint64_t count = 0;

    object::TypedBlock block() const { return {type->layout, const_cast<void*>(elements), count}; }
};

/// False, and the call failed, where the bytes cannot be counted. Requires a checked datatype.
inline bool describe(Call& call, const void* buf, MPI_Count count, MPI_Datatype datatype, int peer,
                     int tag, Transfer* transfer)
{
    const object::Datatype* type = object::find_datatype(call.rank(), datatype);
    transfer->elements = buf;
    transfer->peer = peer;
    transfer->tag = tag;
    transfer->type = type;
    transfer->count = static_cast<std::uint64_t>(count);
    transfer->address = bytes_behind(buf, type->first_byte);
    transfer->is_packed = !type->is_one_run(transfer->count);
    transfer->is_special =
        transfer->is_packed || (base::has_diagnostics && call.rank().compares_types);
    return size_of(call, count, *type, &transfer->bytes);
}

/// Goes in where messages of the communicator with that tag belong. Returns where it is now.
object::Instance& go_to(Call& call, const object::Communicator& comm, int tag);
/// The same for a receive or a probe. Null, and the call failed, where messages are spread by their
/// tags, and this is none.
object::Instance* go_to_wanted(Call& call, const object::Communicator& comm, int tag);
[[gnu::cold]] int refuse_any_tag(Call& call, const object::Communicator& comm);

// Those that are given a communicator need the caller inside the instance of the message's tag.

/// Starts it. Null: the node heap is exhausted and nothing was started.
engine::Op* begin_send(object::Rank& rank, const object::Communicator& comm,
                       const Transfer& transfer, bool is_synchronous);
engine::Op* begin_receive(object::Rank& rank, object::Communicator& comm, const Transfer& transfer);
/// Says where a receive's message goes. Its name is set, and it is not started yet.
void set_target(object::Rank& rank, object::Communicator& comm, engine::Op* op,
                const Transfer& transfer);

/// Sends in buffered mode. False: the node heap is exhausted. Failure: no buffer is attached, or it
/// has no room.
base::Result<bool> buffer_send(object::Rank& rank, object::Communicator& comm,
                               const Transfer& message);

/// A complete receive from MPI_PROC_NULL; null: the node heap is exhausted.
engine::Op* make_null_receive(object::Instance& instance);

/// The same as send_at_once() for messages that are special.
bool send_special_at_once(object::Rank& rank, const object::Communicator& comm,
                          const Transfer& transfer);

/// Sends without an op what leaves at once. False: an op is needed, nothing happened.
inline bool send_at_once(object::Rank& rank, const object::Communicator& comm,
                         const Transfer& transfer, engine::Sender sender)
{
    if (transfer.is_special) [[unlikely]] {
        return send_special_at_once(rank, comm, transfer);
    }
    return protocol::send_at_once(comm.driver_for(transfer.tag), peer_of(comm, transfer.peer),
                                  name_of_sent(comm, transfer.tag), transfer.address,
                                  transfer.bytes, sender);
}

/// Receives, as MPI_Recv does. Requires: a peer. Returns the error class.
int receive(Call& call, object::Instance& at, object::Communicator& comm, const Transfer& transfer,
            MPI_Status* status);

/// Says why an op of a receive or a collective failed, where it is known.
[[gnu::cold]] void explain(Call& call, const engine::Op& op);

/// Waits, reports and frees. Returns the error class.
int complete(Call& call, engine::Op* op, MPI_Status* status);

/// The status of a receive from MPI_PROC_NULL.
void set_null_status(MPI_Status* status) noexcept;
/// A message that was found, for MPI_Probe and kin.
void set_probed_status(MPI_Status* status, const protocol::Unexpected& message) noexcept;

}  // namespace headway::abi
