// SPDX-License-Identifier: Apache-2.0
// Point-to-point calls (MPI-5.0 chapter 3). Argument checks are in the generated entry points.
#include "abi/transfer.hpp"
#include "abi_calls.hpp"
#include "object/request.hpp"
#include "object/status.hpp"
#include "protocol/point_to_point.hpp"

namespace headway::abi {

namespace {

using engine::Op;
using object::Communicator;
using object::Rank;

int send(Call& call, const Transfer& transfer, const Communicator& comm, bool is_synchronous)
{
    if (transfer.peer == MPI_PROC_NULL) {
        return MPI_SUCCESS;
    }
    Rank& rank = rank_of(call);
    go_to(call, comm, transfer.tag);
    if (!is_synchronous && send_at_once(rank, comm, transfer, engine::Sender::is_kept)) [[likely]] {
        return MPI_SUCCESS;
    }
    Op* op = begin_send(rank, comm, transfer, is_synchronous);
    return op != nullptr ? complete(call, op, MPI_STATUS_IGNORE) : fail_for_memory(call);
}

int start_send(Call& call, const Transfer& transfer, Communicator& comm, bool is_synchronous,
               MPI_Request* request)
{
    Rank& rank = rank_of(call);
    object::Instance& at = go_to(call, comm, transfer.tag);
    if (transfer.peer == MPI_PROC_NULL ||
        (!is_synchronous && send_at_once(rank, comm, transfer, engine::Sender::goes_on))) {
        *request = object::make_done_request(at);
        return MPI_SUCCESS;
    }
    Op* op = begin_send(rank, comm, transfer, is_synchronous);
    if (op == nullptr) {
        return fail_for_memory(call);
    }
    *request = object::make_request(at, comm, op);
    return MPI_SUCCESS;
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
    object::Instance* const at = go_to_wanted(call, *comm, tag);
    if (at == nullptr) {
        return MPI_ERR_TAG;
    }
    return with_transfer(call, buf, count, datatype, source, tag, [&](const Transfer& transfer) {
        return receive(call, *at, *comm, transfer, status);
    });
}

int Irecv(Call& call, void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
          Communicator* comm, MPI_Request* request)
{
    if (source != MPI_PROC_NULL && go_to_wanted(call, *comm, tag) == nullptr) {
        return MPI_ERR_TAG;
    }
    const auto start = [&](const Transfer& transfer) -> int {
        Rank& rank = rank_of(call);
        Op* op = source != MPI_PROC_NULL ? begin_receive(rank, *comm, transfer)
                                         : make_null_receive(call.instance());
        if (op == nullptr) {
            return fail_for_memory(call);
        }
        *request = object::make_request(call.instance(), *comm, op);
        return MPI_SUCCESS;
    };
    return with_transfer(call, buf, count, datatype, source, tag, start);
}

int Iprobe(Call& call, int source, int tag, Communicator* comm, int* flag, MPI_Status* status)
{
    if (source == MPI_PROC_NULL) {
        set_null_status(status);
        *flag = 1;
        return MPI_SUCCESS;
    }
    object::Instance* const at = go_to_wanted(call, *comm, tag);
    if (at == nullptr) {
        return MPI_ERR_TAG;
    }
    engine::Driver& driver = *at->driver;
    const auto wanted = name_of_wanted(*comm, source, tag);
    protocol::Unexpected* message = protocol::probe(driver, wanted);
    if (message == nullptr) {
        driver.advance();
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
    object::Instance* const at = go_to_wanted(call, *comm, tag);
    if (at == nullptr) {
        return MPI_ERR_TAG;
    }
    engine::Driver& driver = *at->driver;
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
