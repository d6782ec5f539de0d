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

bool begin_out(Call& call, const Communicator& comm, const Transfer& out, Halves* halves)
{
    if (out.peer == MPI_PROC_NULL) {
        return true;
    }
    go_to(call, comm, out.tag);
    if (send_at_once(rank_of(call), comm, out, engine::Sender::goes_on)) {
        return true;
    }
    halves->send = begin_send(rank_of(call), comm, out, false);
    return halves->send != nullptr;
}

bool begin_in(Call& call, Communicator& comm, const Transfer& in, Halves* halves)
{
    if (in.peer == MPI_PROC_NULL) {
        halves->receive = make_null_receive(call.instance());
    } else {
        go_to(call, comm, in.tag);
        halves->receive = begin_receive(rank_of(call), comm, in);
    }
    return halves->receive != nullptr;
}

/// The receive first, so that the message finds it; but where both use one buffer, what is sent
/// must leave it, or be copied, before anything arrives. Where messages are spread by their tags,
/// the halves may belong to two instances, and the call is inside one after the other. False: the
/// node heap is exhausted.
bool begin(Call& call, Communicator& comm, const Pair& pair, Halves* halves)
{
    return pair.out.is_copied
               ? begin_out(call, comm, pair.out, halves) && begin_in(call, comm, pair.in, halves)
               : begin_in(call, comm, pair.in, halves) && begin_out(call, comm, pair.out, halves);
}

/// complete() of an op wherever it belongs.
int complete_half(Call& call, Op* half, MPI_Status* status)
{
    call.move_to(rank_of(call).instance_of(*half));
    return complete(call, half, status);
}

/// Ends what was started of a call that cannot go on.
int give_up(Call& call, const Halves& halves)
{
    if (halves.receive != nullptr) {
        call.move_to(rank_of(call).instance_of(*halves.receive));
        (void)protocol::cancel_receive(*call.instance().driver, halves.receive);
        (void)complete(call, halves.receive, MPI_STATUS_IGNORE);
    }
    if (halves.send != nullptr) {
        (void)complete_half(call, halves.send, MPI_STATUS_IGNORE);
    }
    return fail_for_memory(call);
}

/// Whether what it receives can be asked for on that communicator.
bool may_begin(Call& call, const Communicator& comm, const Transfer& in)
{
    return in.peer == MPI_PROC_NULL || go_to_wanted(call, comm, in.tag) != nullptr;
}

/// Whether what is sent is over by now: it went whole, so that a posted receive is of no use to it,
/// and the call can look for the other message itself.
bool send_whole(Call& call, const Communicator& comm, const Transfer& out)
{
    if (out.peer == MPI_PROC_NULL) {
        return true;
    }
    go_to(call, comm, out.tag);
    return send_at_once(rank_of(call), comm, out, engine::Sender::exchanges);
}

int receive_alone(Call& call, Communicator& comm, const Transfer& in, MPI_Status* status)
{
    if (in.peer == MPI_PROC_NULL) {
        set_null_status(status);
        return MPI_SUCCESS;
    }
    return receive(call, go_to(call, comm, in.tag), comm, in, status);
}

int exchange(Call& call, Communicator& comm, const Pair& pair, MPI_Status* status)
{
    if (!may_begin(call, comm, pair.in)) {
        return MPI_ERR_TAG;
    }
    if (send_whole(call, comm, pair.out)) {
        return receive_alone(call, comm, pair.in, status);
    }
    Halves halves;
    if (!begin(call, comm, pair, &halves)) {
        return give_up(call, halves);
    }
    const int sent =
        halves.send != nullptr ? complete_half(call, halves.send, MPI_STATUS_IGNORE) : MPI_SUCCESS;
    const int received = complete_half(call, halves.receive, status);
    return sent != MPI_SUCCESS ? sent : received;
}

int start_exchange(Call& call, Communicator& comm, const Pair& pair, MPI_Request* request)
{
    if (!may_begin(call, comm, pair.in)) {
        return MPI_ERR_TAG;
    }
    Halves halves;
    if (!begin(call, comm, pair, &halves)) {
        return give_up(call, halves);
    }
    Rank& rank = rank_of(call);
    object::Instance& home = rank.instance_of(*halves.receive);
    if (halves.send == nullptr) {
        call.move_to(home);
        *request = object::make_request(home, comm, halves.receive);
        return MPI_SUCCESS;
    }
    const bool is_split = &rank.instance_of(*halves.send) != &home;
    object::Instance& at = is_split ? rank.first() : home;
    call.move_to(at);
    Op* const op = engine::create_joint(
        *at.driver, is_split ? engine::OpKind::exchange : engine::OpKind::receive, 2);
    if (op == nullptr) {
        return give_up(call, halves);
    }
    object::join_exchange(*at.driver, op, halves.send, halves.receive);
    *request = object::make_request(at, comm, op);
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
