// SPDX-License-Identifier: Apache-2.0
// Sends in buffered mode and their buffers (MPI-5.0 sections 3.4 and 3.6).
#include <memory>
#include <string>

#include "abi/transfer.hpp"
#include "abi_calls.hpp"
#include "object/buffer.hpp"
#include "object/request.hpp"
#include "object/session.hpp"

namespace headway::abi {
namespace {

using engine::Op;
using object::Communicator;
using object::Rank;
using object::SendBuffer;
using BufferPlace = std::unique_ptr<SendBuffer>;

base::Failure refuse_size(const SendBuffer* buffer, std::uint64_t bytes)
{
    const std::string needed = std::to_string(bytes);
    if (buffer == nullptr) {
        return {"no buffer is attached; call MPI_Buffer_attach first, with room for " + needed +
                " bytes and MPI_BSEND_OVERHEAD"};
    }
    return {"the attached buffer of " + std::to_string(buffer->size_bytes()) +
            " bytes has no room for " + needed +
            " more and MPI_BSEND_OVERHEAD; attach a larger one, or complete receives earlier"};
}

Op* begin_from_room(Rank& rank, const Communicator& comm, const Transfer& transfer, std::byte* room)
{
    object::pack(transfer.block(), room);
    Transfer packed = transfer;
    packed.address = room;
    packed.is_packed = false;
    return begin_send(rank, comm, packed, false);
}

int send_buffered(Call& call, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                  int tag, Communicator& comm)
{
    Transfer transfer;
    if (!describe(call, buf, count, datatype, dest, tag, &transfer)) {
        return MPI_ERR_COUNT;
    }
    if (dest == MPI_PROC_NULL) {
        return MPI_SUCCESS;
    }
    const auto sent = buffer_send(rank_of(call), comm, transfer);
    if (!sent) {
        return call.fail(MPI_ERR_BUFFER, "%s", sent.sentence().c_str());
    }
    return sent.value() ? MPI_SUCCESS : fail_for_memory(call);
}

int attach(Call& call, BufferPlace& place, void* buffer, MPI_Count size)
{
    if (place != nullptr) {
        return call.fail(MPI_ERR_BUFFER, "a buffer is attached already; detach it first");
    }
    if (buffer == nullptr && size != 0) {
        return call.fail(MPI_ERR_BUFFER,
                         "argument buffer is a null pointer but size is not 0; "
                         "give memory, or MPI_BUFFER_AUTOMATIC");
    }
    place = std::make_unique<SendBuffer>(buffer, buffer == MPI_BUFFER_AUTOMATIC ? 0 : size);
    return MPI_SUCCESS;
}

int refuse_detached(Call& call)
{
    return call.fail(MPI_ERR_BUFFER, "no buffer is attached; attach one first");
}

int detach(Call& call, BufferPlace& place, void* buffer_addr, MPI_Count* size)
{
    if (place == nullptr) {
        return refuse_detached(call);
    }
    if (!place->flush(rank_of(call))) {
        return fail_for_memory(call);
    }
    *static_cast<void**>(buffer_addr) = place->memory();
    *size = place->size_bytes();
    place.reset();
    return MPI_SUCCESS;
}

int flush(Call& call, BufferPlace& place)
{
    if (place == nullptr) {
        return refuse_detached(call);
    }
    return place->flush(rank_of(call)) ? MPI_SUCCESS : fail_for_memory(call);
}

int start_flush(Call& call, BufferPlace& place, Communicator& comm, MPI_Request* request)
{
    if (place == nullptr) {
        return refuse_detached(call);
    }
    Rank& rank = rank_of(call);
    Op* op = place->start_flush(rank);
    if (op == nullptr) {
        return fail_for_memory(call);
    }
    *request = object::make_request(rank, comm, op);
    return MPI_SUCCESS;
}

/// Its own buffer, else that of its session, else the rank's (MPI-5.0 section 3.6).
SendBuffer* buffer_for(Rank& rank, Communicator& comm)
{
    if (comm.send_buffer() != nullptr) {
        return comm.send_buffer().get();
    }
    object::Session* const session = rank.find_session(comm.session());
    return session != nullptr && session->send_buffer() != nullptr ? session->send_buffer().get()
                                                                   : rank.send_buffer().get();
}

}  // namespace

base::Result<bool> buffer_send(Rank& rank, Communicator& comm, const Transfer& message)
{
    SendBuffer* const buffer = buffer_for(rank, comm);
    if (buffer == nullptr) {
        return refuse_size(buffer, message.bytes);
    }
    // Asked for first, so that a buffer that is too small fails whatever the lanes hold.
    std::byte* room = nullptr;
    if (!buffer->is_automatic()) {
        room = buffer->find_room(rank, message.bytes);
        if (room == nullptr) {
            return refuse_size(buffer, message.bytes);
        }
    }
    Op* op = nullptr;
    Transfer transfer = message;
    transfer.is_copied = room == nullptr;
    {
        const object::Inside inside(comm.instance_for(message.tag));
        if (send_at_once(rank, comm, message, engine::Sender::is_kept)) {
            return true;
        }
        op = room != nullptr ? begin_from_room(rank, comm, transfer, room)
                             : begin_send(rank, comm, transfer, false);
    }
    if (op == nullptr) {
        return false;
    }
    if (room != nullptr) {
        buffer->hold(room, transfer.bytes, op);
    } else {
        buffer->hold_outside(rank, op);
    }
    return true;
}

namespace call {

int Bsend(Call& call, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
          Communicator* comm)
{
    return send_buffered(call, buf, count, datatype, dest, tag, *comm);
}

int Ibsend(Call& call, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
           Communicator* comm, MPI_Request* request)
{
    const int error = send_buffered(call, buf, count, datatype, dest, tag, *comm);
    if (error == MPI_SUCCESS) {
        *request = object::make_done_request(rank_of(call).first());
    }
    return error;
}

int Buffer_attach(Call& call, void* buffer, MPI_Count size)
{
    return attach(call, rank_of(call).send_buffer(), buffer, size);
}

int Buffer_detach(Call& call, void* buffer_addr, MPI_Count* size)
{
    return detach(call, rank_of(call).send_buffer(), buffer_addr, size);
}

int Buffer_flush(Call& call)
{
    return flush(call, rank_of(call).send_buffer());
}

int Buffer_iflush(Call& call, MPI_Request* request)
{
    Rank& rank = rank_of(call);
    return start_flush(call, rank.send_buffer(), rank.any_own(), request);
}

int Comm_attach_buffer(Call& call, Communicator* comm, void* buffer, MPI_Count size)
{
    return attach(call, comm->send_buffer(), buffer, size);
}

int Comm_detach_buffer(Call& call, Communicator* comm, void* buffer_addr, MPI_Count* size)
{
    return detach(call, comm->send_buffer(), buffer_addr, size);
}

int Comm_flush_buffer(Call& call, Communicator* comm)
{
    return flush(call, comm->send_buffer());
}

int Comm_iflush_buffer(Call& call, Communicator* comm, MPI_Request* request)
{
    return start_flush(call, comm->send_buffer(), *comm, request);
}

int Session_attach_buffer(Call& call, object::Session* session, void* buffer, MPI_Count size)
{
    return attach(call, session->send_buffer(), buffer, size);
}

int Session_detach_buffer(Call& call, object::Session* session, void* buffer_addr, MPI_Count* size)
{
    return detach(call, session->send_buffer(), buffer_addr, size);
}

int Session_flush_buffer(Call& call, object::Session* session)
{
    return flush(call, session->send_buffer());
}

int Session_iflush_buffer(Call& call, object::Session* session, MPI_Request* request)
{
    return start_flush(call, session->send_buffer(), rank_of(call).any_own(), request);
}

}  // namespace call
}  // namespace headway::abi
