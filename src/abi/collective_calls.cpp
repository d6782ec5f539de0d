// SPDX-License-Identifier: Apache-2.0
// Collective calls (MPI-5.0 chapter 6). A blocking call is its non-blocking form and a wait.
#include <memory>
#include <utility>

#include "abi/message_calls.hpp"
#include "abi_calls.hpp"
#include "data/reduce.hpp"
#include "object/collective.hpp"
#include "object/request.hpp"

namespace headway::abi {
namespace {

using object::CollectiveCall;
using object::Communicator;
using protocol::coll::Collective;

/// Starts what was described and waits for it, or makes a request of it.
int run(Call& call, Communicator& comm, CollectiveCall collective, MPI_Request* request)
{
    object::Rank& rank = rank_of(call);
    engine::Op* op = object::start_collective(rank, comm, std::move(collective));
    if (op == nullptr) {
        return fail_for_memory(call);
    }
    if (request != nullptr) {
        *request = object::make_request(rank, comm, op);
        return MPI_SUCCESS;
    }
    engine::wait_for(rank.driver(), op);
    return object::end_op(rank, op, MPI_STATUS_IGNORE);
}

/// Blocks of a call travel as bytes: ranks may name the same bytes by different types.
bool set_block(Call& call, CollectiveCall& collective, MPI_Count count, MPI_Datatype datatype)
{
    collective.element_bytes = 1;
    if (!size_of(call, count, datatype, &collective.count)) {
        return false;
    }
    collective.count = static_cast<std::uint64_t>(count) *
                       object::find_datatype(datatype)->extent_bytes;
    return true;
}

int barrier(Call& call, Communicator& comm, MPI_Request* request)
{
    return run(call, comm, {}, request);
}

int bcast(Call& call, void* buffer, MPI_Count count, MPI_Datatype datatype, int root,
          Communicator& comm, MPI_Request* request)
{
    CollectiveCall collective;
    collective.collective = Collective::bcast;
    collective.receive = buffer;
    collective.root = static_cast<std::uint32_t>(root);
    if (!set_block(call, collective, count, datatype)) {
        return MPI_ERR_COUNT;
    }
    return run(call, comm, std::move(collective), request);
}

/// Finds out what `op` does on `datatype`. The class of what is wrong, else MPI_SUCCESS.
int set_reduction(Call& call, CollectiveCall& collective, MPI_Datatype datatype, MPI_Op op)
{
    const object::Datatype* type = object::find_datatype(datatype);
    collective.element_bytes = type->extent_bytes;
    auto* user = call.rank().handles->find<object::UserOperator>(op);
    if (user != nullptr) {
        collective.is_commutative = user->is_commutative;
        collective.user = std::make_unique<object::UserReduction>(user, datatype);
        return MPI_SUCCESS;
    }
    const auto predefined = object::find_predefined_operator(op);
    if (!predefined || data::reduce_kernel(*predefined, type->kind) == nullptr) {
        return call.fail(MPI_ERR_OP,
                         "the operator (argument op, 0x%zx) is not defined on the datatype (0x%zx)",
                         static_cast<std::size_t>(object::bits_of(op)),
                         static_cast<std::size_t>(object::bits_of(datatype)));
    }
    collective.reduction.op = *predefined;
    collective.reduction.kind = type->kind;
    return MPI_SUCCESS;
}

/// The vector of a reduction must have an address in bytes.
bool is_countable(Call& call, MPI_Count count, MPI_Datatype datatype)
{
    std::uint64_t bytes = 0;
    return size_of(call, count, datatype, &bytes);
}

int reduction(Call& call, CollectiveCall& collective, const void* sendbuf, MPI_Count count,
              MPI_Datatype datatype, MPI_Op op, Communicator& comm, MPI_Request* request)
{
    if (!is_countable(call, count, datatype)) {
        return MPI_ERR_COUNT;
    }
    collective.in_place = sendbuf == MPI_IN_PLACE;
    collective.send = collective.in_place ? nullptr : sendbuf;
    collective.count = static_cast<std::uint64_t>(count);
    if (const int error = set_reduction(call, collective, datatype, op); error != MPI_SUCCESS) {
        return error;
    }
    return run(call, comm, std::move(collective), request);
}

int reduce(Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
           MPI_Op op, int root, Communicator& comm, MPI_Request* request)
{
    CollectiveCall collective;
    collective.collective = Collective::reduce;
    collective.receive = recvbuf;
    collective.root = static_cast<std::uint32_t>(root);
    return reduction(call, collective, sendbuf, count, datatype, op, comm, request);
}

int allreduce(Call& call, const void* sendbuf, void* recvbuf, MPI_Count count,
              MPI_Datatype datatype, MPI_Op op, Communicator& comm, MPI_Request* request)
{
    CollectiveCall collective;
    collective.collective = Collective::allreduce;
    collective.receive = recvbuf;
    return reduction(call, collective, sendbuf, count, datatype, op, comm, request);
}

/// Arguments of the calls that move blocks.
struct Blocks {
    const void* sendbuf;
    MPI_Count sendcount;
    MPI_Datatype sendtype;
    void* recvbuf;
    MPI_Count recvcount;
    MPI_Datatype recvtype;
};

int gather(Call& call, const Blocks& blocks, int root, Communicator& comm, MPI_Request* request)
{
    CollectiveCall collective;
    collective.collective = Collective::gather;
    collective.root = static_cast<std::uint32_t>(root);
    collective.in_place = blocks.sendbuf == MPI_IN_PLACE;
    collective.send = collective.in_place ? nullptr : blocks.sendbuf;
    collective.receive = blocks.recvbuf;
    const bool at_root = root == comm.rank();
    const bool counted = at_root ? set_block(call, collective, blocks.recvcount, blocks.recvtype)
                                 : set_block(call, collective, blocks.sendcount, blocks.sendtype);
    return counted ? run(call, comm, std::move(collective), request) : MPI_ERR_COUNT;
}

int scatter(Call& call, const Blocks& blocks, int root, Communicator& comm, MPI_Request* request)
{
    CollectiveCall collective;
    collective.collective = Collective::scatter;
    collective.root = static_cast<std::uint32_t>(root);
    collective.in_place = blocks.recvbuf == MPI_IN_PLACE;
    collective.send = blocks.sendbuf;
    collective.receive = collective.in_place ? nullptr : blocks.recvbuf;
    const bool at_root = root == comm.rank();
    const bool counted = at_root ? set_block(call, collective, blocks.sendcount, blocks.sendtype)
                                 : set_block(call, collective, blocks.recvcount, blocks.recvtype);
    return counted ? run(call, comm, std::move(collective), request) : MPI_ERR_COUNT;
}

/// Allgather and alltoall: the receive side says the size of a block.
int exchange(Call& call, Collective kind, const Blocks& blocks, Communicator& comm,
             MPI_Request* request)
{
    CollectiveCall collective;
    collective.collective = kind;
    collective.in_place = blocks.sendbuf == MPI_IN_PLACE;
    collective.send = collective.in_place ? nullptr : blocks.sendbuf;
    collective.receive = blocks.recvbuf;
    const bool counted = set_block(call, collective, blocks.recvcount, blocks.recvtype);
    return counted ? run(call, comm, std::move(collective), request) : MPI_ERR_COUNT;
}

}  // namespace

namespace call {

int Barrier(Call& call, Communicator* comm)
{
    return barrier(call, *comm, nullptr);
}

int Ibarrier(Call& call, Communicator* comm, MPI_Request* request)
{
    return barrier(call, *comm, request);
}

int Bcast(Call& call, void* buffer, MPI_Count count, MPI_Datatype datatype, int root,
          Communicator* comm)
{
    return bcast(call, buffer, count, datatype, root, *comm, nullptr);
}

int Ibcast(Call& call, void* buffer, MPI_Count count, MPI_Datatype datatype, int root,
           Communicator* comm, MPI_Request* request)
{
    return bcast(call, buffer, count, datatype, root, *comm, request);
}

int Reduce(Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
           MPI_Op op, int root, Communicator* comm)
{
    return reduce(call, sendbuf, recvbuf, count, datatype, op, root, *comm, nullptr);
}

int Ireduce(Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
            MPI_Op op, int root, Communicator* comm, MPI_Request* request)
{
    return reduce(call, sendbuf, recvbuf, count, datatype, op, root, *comm, request);
}

int Allreduce(Call& call, const void* sendbuf, void* recvbuf, MPI_Count count,
              MPI_Datatype datatype, MPI_Op op, Communicator* comm)
{
    return allreduce(call, sendbuf, recvbuf, count, datatype, op, *comm, nullptr);
}

int Iallreduce(Call& call, const void* sendbuf, void* recvbuf, MPI_Count count,
               MPI_Datatype datatype, MPI_Op op, Communicator* comm, MPI_Request* request)
{
    return allreduce(call, sendbuf, recvbuf, count, datatype, op, *comm, request);
}

int Gather(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
           void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root, Communicator* comm)
{
    const Blocks blocks{sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype};
    return gather(call, blocks, root, *comm, nullptr);
}

int Igather(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
            void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
            Communicator* comm, MPI_Request* request)
{
    const Blocks blocks{sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype};
    return gather(call, blocks, root, *comm, request);
}

int Scatter(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
            void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
            Communicator* comm)
{
    const Blocks blocks{sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype};
    return scatter(call, blocks, root, *comm, nullptr);
}

int Iscatter(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
             void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
             Communicator* comm, MPI_Request* request)
{
    const Blocks blocks{sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype};
    return scatter(call, blocks, root, *comm, request);
}

int Allgather(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
              void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, Communicator* comm)
{
    const Blocks blocks{sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype};
    return exchange(call, Collective::allgather, blocks, *comm, nullptr);
}

int Iallgather(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
               void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, Communicator* comm,
               MPI_Request* request)
{
    const Blocks blocks{sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype};
    return exchange(call, Collective::allgather, blocks, *comm, request);
}

int Alltoall(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
             void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, Communicator* comm)
{
    const Blocks blocks{sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype};
    return exchange(call, Collective::alltoall, blocks, *comm, nullptr);
}

int Ialltoall(Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
              void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, Communicator* comm,
              MPI_Request* request)
{
    const Blocks blocks{sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype};
    return exchange(call, Collective::alltoall, blocks, *comm, request);
}

int Op_create(Call& call, EitherFunction<MPI_User_function, MPI_User_function_c> user_fn,
              int commute, MPI_Op* op)
{
    auto* made = new object::UserOperator{user_fn.narrow, user_fn.wide, commute != 0};
    *op = rank_of(call).pool().acquire<MPI_Op>(made);
    return MPI_SUCCESS;
}

int Op_free(Call& call, MPI_Op* op)
{
    auto* user = call.rank().handles->find<object::UserOperator>(*op);
    if (user == nullptr) {
        return call.fail(MPI_ERR_OP, "a predefined operator cannot be freed");
    }
    rank_of(call).pool().release(*op);
    *op = MPI_OP_NULL;
    object::drop_operator(user);
    return MPI_SUCCESS;
}

int Op_commutative(Call& call, MPI_Op op, int* commute)
{
    const auto* user = call.rank().handles->find<object::UserOperator>(op);
    // Of the predefined ones only MPI_REPLACE is not commutative (MPI-5.0 section 12.3.4).
    *commute = user != nullptr ? (user->is_commutative ? 1 : 0) : (op != MPI_REPLACE ? 1 : 0);
    return MPI_SUCCESS;
}

}  // namespace call
}  // namespace headway::abi
