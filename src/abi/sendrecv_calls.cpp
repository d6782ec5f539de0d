// SPDX-License-Identifier: Apache-2.0
// Calls that send one message and receive another (MPI-5.0 section 3.11).
#include "abi/transfer.hpp"
#include "abi_calls.hpp"
#include "engine/joint.hpp"
#include "object/exchange.hpp"
#include "object/request.hpp"

namespace headway::abi {
namespace {

using engine::Op;
using object::Communicator;
using object::Rank;

/// What a call is to move.
struct Pair {
    Transfer out;
    Transfer in;
};

/// What was started of it.
struct Halves {
    Op* send = nullptr;  ///< null: it is over already
    Op* receive = nullptr;
};

/// False, and the call failed, where the bytes of a replaced buffer cannot be counted.
bool describe_replaced(Call& call, void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                       int sendtag, int source, int recvtag, Pair* pair)
{
    pair->out.is_copied = true;
    return describe(call, buf, count, datatype, dest, sendtag, &pair->out) &&
           describe(call, buf, count, datatype, source, recvtag, &pair->in);
}

bool begin_out(Rank& rank, const Communicator& comm, const Transfer& out, Halves* halves)
{
    if (out.peer == MPI_PROC_NULL || send_at_once(rank, comm, out)) {
        return true;
    }
    halves->send = begin_send(rank, comm, out, false);
    return halves->send != nullptr;
}

bool begin_in(Rank& rank, Communicator& comm, const Transfer& in, Halves* halves)
{
    halves->receive = in.peer != MPI_PROC_NULL ? begin_receive(rank, comm, in)
                                               : make_null_receive(comm.instance());
    return halves->receive != nullptr;
}

/// The receive first, so that the message finds it; but where both use one buffer, what is sent
/// must leave it, or be copied, before anything arrives. False: the node heap is exhausted.
bool begin(Rank& rank, Communicator& comm, const Pair& pair, Halves* halves)
{
    return pair.out.is_copied
               ? begin_out(rank, comm, pair.out, halves) && begin_in(rank, comm, pair.in, halves)
               : begin_in(rank, comm, pair.in, halves) && begin_out(rank, comm, pair.out, halves);
}

/// Ends what was started of a call that cannot go on.
int give_up(Call& call, const Halves& halves)
{
    if (halves.receive != nullptr) {
        (void)protocol::cancel_receive(*call.instance().driver, halves.receive);
        (void)complete(call, halves.receive, MPI_STATUS_IGNORE);
    }
    if (halves.send != nullptr) {
        (void)complete(call, halves.send, MPI_STATUS_IGNORE);
    }
    return fail_for_memory(call);
}

int exchange(Call& call, Communicator& comm, const Pair& pair, MPI_Status* status)
{
    Halves halves;
    if (!begin(rank_of(call), comm, pair, &halves)) {
        return give_up(call, halves);
    }
    const int sent =
        halves.send != nullptr ? complete(call, halves.send, MPI_STATUS_IGNORE) : MPI_SUCCESS;
    const int received = complete(call, halves.receive, status);
    return sent != MPI_SUCCESS ? sent : received;
}

int start_exchange(Call& call, Communicator& comm, const Pair& pair, MPI_Request* request)
{
    Rank& rank = rank_of(call);
    Halves halves;
    if (!begin(rank, comm, pair, &halves)) {
        return give_up(call, halves);
    }
    Op* op = halves.receive;
    if (halves.send != nullptr) {
        op = engine::create_joint(comm.driver(), engine::OpKind::receive, 2);
        if (op == nullptr) {
            return give_up(call, halves);
        }
        object::join_exchange(comm.driver(), op, halves.send, halves.receive);
    }
    *request = object::make_request(comm.instance(), comm, op);
    return MPI_SUCCESS;
}

}  // namespace

namespace call {

int Sendrecv(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
             int sendtag, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source,
             int recvtag, Communicator* comm, MPI_Status* status)
{
    Pair pair;
    return describe(call, sendbuf, sendcount, sendtype, dest, sendtag, &pair.out) &&
                   describe(call, recvbuf, recvcount, recvtype, source, recvtag, &pair.in)
               ? exchange(call, *comm, pair, status)
               : MPI_ERR_COUNT;
}

int Isendrecv(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
              int sendtag, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source,
              int recvtag, Communicator* comm, MPI_Request* request)
{
    Pair pair;
    return describe(call, sendbuf, sendcount, sendtype, dest, sendtag, &pair.out) &&
                   describe(call, recvbuf, recvcount, recvtype, source, recvtag, &pair.in)
               ? start_exchange(call, *comm, pair, request)
               : MPI_ERR_COUNT;
}

int Sendrecv_replace(Call& call, void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                     int sendtag, int source, int recvtag, Communicator* comm, MPI_Status* status)
{
    Pair pair;
    return describe_replaced(call, buf, count, datatype, dest, sendtag, source, recvtag, &pair)
               ? exchange(call, *comm, pair, status)
               : MPI_ERR_COUNT;
}

int Isendrecv_replace(Call& call, void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                      int sendtag, int source, int recvtag, Communicator* comm,
                      MPI_Request* request)
{
    Pair pair;
    return describe_replaced(call, buf, count, datatype, dest, sendtag, source, recvtag, &pair)
               ? start_exchange(call, *comm, pair, request)
               : MPI_ERR_COUNT;
}

}  // namespace call
}  // namespace headway::abi
