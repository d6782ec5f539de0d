// SPDX-License-Identifier: Apache-2.0
// Point-to-point calls (MPI-5.0 chapter 3). Argument checks are in the generated entry points.
#include "abi/message_calls.hpp"

#include "abi_calls.hpp"
#include "object/packed.hpp"
#include "object/request.hpp"
#include "object/status.hpp"
#include "protocol/point_to_point.hpp"

namespace headway::abi {

int fail_for_memory(Call& call)
{
    return call.fail(MPI_ERR_NO_MEM,
                     "the node heap is exhausted; complete operations earlier, raise "
                     "HEADWAY_HEAP_SIZE, or the size of /dev/shm where the heap is there");
}

namespace {

using engine::Op;
using object::Communicator;
using object::Rank;

/// A buffer of the caller and the member that it goes to or comes from.
struct Transfer {
    const void* address = nullptr;
    std::uint64_t bytes = 0;  ///< on the wire
    int peer = MPI_PROC_NULL;
    int tag = 0;
    /// Set for elements with gaps, which travel packed.
    const object::Datatype* gapped = nullptr;
    std::uint64_t count = 0;
};

Op* begin_send(Rank& rank, const Communicator& comm, const Transfer& transfer, bool is_synchronous)
{
    Op* op = rank.driver().create_op(engine::OpKind::send);
    if (op == nullptr) {
        return nullptr;
    }
    op->header = name_of_sent(comm, transfer.tag);
    op->peer = peer_of(comm, transfer.peer);
    op->address = static_cast<std::byte*>(const_cast<void*>(transfer.address));
    if (transfer.gapped != nullptr) {
        auto* keep = new object::PackedSend(*transfer.gapped, transfer.address, transfer.count);
        op->address = keep->bytes();
        object::set_keep(*op, keep);
    }
    op->size_bytes = transfer.bytes;
    protocol::start_send(rank.driver(), op, is_synchronous);
    return op;
}

Op* begin_receive(Rank& rank, const Communicator& comm, const Transfer& transfer)
{
    Op* op = rank.driver().create_op(engine::OpKind::receive);
    if (op == nullptr) {
        return nullptr;
    }
    op->header = name_of_wanted(comm, transfer.peer, transfer.tag);
    op->address = static_cast<std::byte*>(const_cast<void*>(transfer.address));
    if (transfer.gapped != nullptr) {
        auto* keep = new object::PackedReceive(
            *transfer.gapped, const_cast<void*>(transfer.address), transfer.count);
        op->address = keep->bytes();
        object::set_keep(*op, keep);
    }
    op->size_bytes = transfer.bytes;
    protocol::start_receive(rank.driver(), op);
    return op;
}

bool send_at_once(Rank& rank, const Communicator& comm, const Transfer& transfer)
{
    return transfer.gapped == nullptr &&
           protocol::send_at_once(rank.driver(), peer_of(comm, transfer.peer),
                                  name_of_sent(comm, transfer.tag), transfer.address,
                                  transfer.bytes);
}

void set_null_status(MPI_Status* status) noexcept
{
    if (status != MPI_STATUS_IGNORE) {
        object::fill_status(*status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    }
}

/// Waits, reports and frees. Returns the error class.
int complete(Call& call, Op* op, MPI_Status* status)
{
    Rank& rank = rank_of(call);
    engine::wait_for(rank.driver(), op);
    return object::end_op(rank, op, status);
}

int send(Call& call, const Transfer& transfer, const Communicator& comm, bool is_synchronous)
{
    if (transfer.peer == MPI_PROC_NULL) {
        return MPI_SUCCESS;
    }
    Rank& rank = rank_of(call);
    if (!is_synchronous && send_at_once(rank, comm, transfer)) [[likely]] {
        return MPI_SUCCESS;
    }
    Op* op = begin_send(rank, comm, transfer, is_synchronous);
    return op != nullptr ? complete(call, op, MPI_STATUS_IGNORE) : fail_for_memory(call);
}

int start_send(Call& call, const Transfer& transfer, Communicator& comm, bool is_synchronous,
               MPI_Request* request)
{
    Rank& rank = rank_of(call);
    if (transfer.peer == MPI_PROC_NULL ||
        (!is_synchronous && send_at_once(rank, comm, transfer))) {
        *request = object::make_done_request(rank);
        return MPI_SUCCESS;
    }
    Op* op = begin_send(rank, comm, transfer, is_synchronous);
    if (op == nullptr) {
        return fail_for_memory(call);
    }
    *request = object::make_request(rank, comm, op);
    return MPI_SUCCESS;
}

/// The calling rank's view of a message that was found, for MPI_Probe and kin.
void set_probed_status(MPI_Status* status, protocol::Unexpected& message)
{
    if (status != MPI_STATUS_IGNORE) {
        object::fill_status(*status, message.header.source, message.header.tag,
                            static_cast<std::int64_t>(message.message_bytes));
    }
}

/// False, and the call failed, where the bytes cannot be counted.
bool describe(Call& call, const void* buf, MPI_Count count, MPI_Datatype datatype, int peer,
              int tag, Transfer* transfer)
{
    const object::Datatype& type = *object::find_datatype(datatype);
    transfer->address = buf;
    transfer->peer = peer;
    transfer->tag = tag;
    transfer->count = static_cast<std::uint64_t>(count);
    if (object::has_gaps(type)) [[unlikely]] {
        transfer->gapped = &type;
    }
    return size_of(call, count, datatype, &transfer->bytes);
}

/// Reads as an error class or the class of a failed size.
template <typename Use>
int with_transfer(Call& call, const void* buf, MPI_Count count, MPI_Datatype datatype, int peer,
                  int tag, Use&& use)
{
    Transfer transfer;
    return describe(call, buf, count, datatype, peer, tag, &transfer) ? use(transfer)
                                                                     : MPI_ERR_COUNT;
}

}  // namespace

namespace call {

int Send(Call& call, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
         Communicator* comm)
{
    return with_transfer(call, buf, count, datatype, dest, tag, [&](const Transfer& transfer) {
        return send(call, transfer, *comm, false);
    });
}

int Rsend(Call& call, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
          Communicator* comm)
{
    return Send(call, buf, count, datatype, dest, tag, comm);
}

int Ssend(Call& call, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
          Communicator* comm)
{
    return with_transfer(call, buf, count, datatype, dest, tag, [&](const Transfer& transfer) {
        return send(call, transfer, *comm, true);
    });
}

int Isend(Call& call, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
          Communicator* comm, MPI_Request* request)
{
    return with_transfer(call, buf, count, datatype, dest, tag, [&](const Transfer& transfer) {
        return start_send(call, transfer, *comm, false, request);
    });
}

int Irsend(Call& call, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
           Communicator* comm, MPI_Request* request)
{
    return Isend(call, buf, count, datatype, dest, tag, comm, request);
}

int Issend(Call& call, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
           Communicator* comm, MPI_Request* request)
{
    return with_transfer(call, buf, count, datatype, dest, tag, [&](const Transfer& transfer) {
        return start_send(call, transfer, *comm, true, request);
    });
}

int Recv(Call& call, void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
         Communicator* comm, MPI_Status* status)
{
    if (source == MPI_PROC_NULL) {
        set_null_status(status);
        return MPI_SUCCESS;
    }
    return with_transfer(call, buf, count, datatype, source, tag, [&](const Transfer& transfer) {
        Op* op = begin_receive(rank_of(call), *comm, transfer);
        return op != nullptr ? complete(call, op, status) : fail_for_memory(call);
    });
}

int Irecv(Call& call, void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
          Communicator* comm, MPI_Request* request)
{
    return with_transfer(call, buf, count, datatype, source, tag, [&](const Transfer& transfer) -> int {
        Rank& rank = rank_of(call);
        Op* op = nullptr;
        if (source == MPI_PROC_NULL) {
            op = rank.driver().create_op(engine::OpKind::receive);
            if (op != nullptr) {
                op->status_source = MPI_PROC_NULL;
                op->status_tag = MPI_ANY_TAG;
                rank.driver().complete(op);
            }
        }
        else {
            op = begin_receive(rank, *comm, transfer);
        }
        if (op == nullptr) {
            return fail_for_memory(call);
        }
        *request = object::make_request(rank, *comm, op);
        return MPI_SUCCESS;
    });
}

int Sendrecv(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
             int sendtag, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source,
             int recvtag, Communicator* comm, MPI_Status* status)
{
    Rank& rank = rank_of(call);
    Transfer out;
    Transfer in;
    if (!describe(call, sendbuf, sendcount, sendtype, dest, sendtag, &out) ||
        !describe(call, recvbuf, recvcount, recvtype, source, recvtag, &in)) {
        return MPI_ERR_COUNT;
    }
    Op* receive = nullptr;
    if (source != MPI_PROC_NULL) {
        receive = begin_receive(rank, *comm, in);
        if (receive == nullptr) {
            return fail_for_memory(call);
        }
    }
    const int sent = send(call, out, *comm, false);
    if (receive == nullptr) {
        set_null_status(status);
        return sent;
    }
    const int received = complete(call, receive, status);
    return sent != MPI_SUCCESS ? sent : received;
}

int Iprobe(Call& call, int source, int tag, Communicator* comm, int* flag, MPI_Status* status)
{
    if (source == MPI_PROC_NULL) {
        set_null_status(status);
        *flag = 1;
        return MPI_SUCCESS;
    }
    engine::Driver& driver = rank_of(call).driver();
    const auto wanted = name_of_wanted(*comm, source, tag);
    protocol::Unexpected* message = protocol::probe(driver, wanted);
    if (message == nullptr) {
        driver.progress();
        message = protocol::probe(driver, wanted);
    }
    *flag = message != nullptr ? 1 : 0;
    if (message != nullptr) {
        set_probed_status(status, *message);
    }
    return MPI_SUCCESS;
}

int Probe(Call& call, int source, int tag, Communicator* comm, MPI_Status* status)
{
    if (source == MPI_PROC_NULL) {
        set_null_status(status);
        return MPI_SUCCESS;
    }
    engine::Driver& driver = rank_of(call).driver();
    const auto wanted = name_of_wanted(*comm, source, tag);
    protocol::Unexpected* message = nullptr;
    engine::wait_until(driver, [&] {
        message = protocol::probe(driver, wanted);
        return message != nullptr;
    });
    set_probed_status(status, *message);
    return MPI_SUCCESS;
}

}  // namespace call
}  // namespace headway::abi
