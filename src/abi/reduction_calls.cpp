// SPDX-License-Identifier: Apache-2.0
// Reductions (MPI-5.0 sections 6.9 to 6.11).
#include <vector>

#include "abi/collective_calls.hpp"
#include "abi_calls.hpp"
#include "data/reduce.hpp"
#include "object/operator.hpp"

namespace headway::abi {
namespace {

using object::CollectiveCall;
using object::Communicator;
using object::CountArray;
using protocol::coll::Collective;

/// Finds out what `op` does on `datatype`. The class of what is wrong, else MPI_SUCCESS.
int set_reduction(Call& call, CollectiveCall& collective, MPI_Datatype datatype, MPI_Op op)
{
    const object::Datatype* type = object::find_datatype(call.rank(), datatype);
    collective.element_bytes = type->size_bytes;
    collective.type = type;
    collective.type_count = 1;
    auto* user = call.rank().handles->find<object::UserOperator>(op);
    if (user != nullptr) {
        collective.is_commutative = user->is_commutative;
        collective.make_keep().user =
            std::make_unique<object::UserReduction>(rank_of(call), user, datatype);
        return MPI_SUCCESS;
    }
    const auto predefined = object::find_predefined_operator(op);
    if (type->kind == data::ElementKind::none &&
        !object::is_predefined(object::bits_of(datatype))) {
        return call.fail(MPI_ERR_OP,
                         "the operator (argument op, 0x%zx) is predefined and not defined on "
                         "datatypes that a program makes; use MPI_Op_create for such",
                         static_cast<std::size_t>(object::bits_of(op)));
    }
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

/// What every reduction is told, besides its buffers.
struct Combination {
    MPI_Count count;  ///< elements of the vector; of a block for reduce_scatter_block
    MPI_Datatype datatype;
    MPI_Op op;
};

/// The vector must have an address in bytes. The class of what is wrong, else MPI_SUCCESS.
int begin(Call& call, CollectiveCall& collective, const Combination& combination)
{
    std::uint64_t bytes = 0;
    if (!size_of(call, combination.count, type_of(call, combination.datatype), &bytes)) {
        return MPI_ERR_COUNT;
    }
    collective.count = static_cast<std::uint64_t>(combination.count);
    const int error = set_reduction(call, collective, combination.datatype, combination.op);
    collective.type_count = collective.count;
    return error;
}

int reduce(Call& call, const void* sendbuf, void* recvbuf, const Combination& combination, int root,
           Communicator& comm, Completion completion)
{
    CollectiveCall collective;
    collective.collective = Collective::reduce;
    collective.root = joint_root(root, comm);
    if (root == MPI_PROC_NULL) {
        return run(call, comm, std::move(collective), completion);
    }
    if (const int error = begin(call, collective, combination); error != MPI_SUCCESS) {
        return error;
    }
    const bool at_root = is_at_root(root, comm);
    collective.in_place = has_own_part(root) && at_root && sendbuf == MPI_IN_PLACE;
    if (has_own_part(root) && !collective.in_place) {
        set_send_vector(call, collective, sendbuf, combination.count, combination.datatype);
    }
    if (at_root) {
        set_receive_vector(call, collective, recvbuf, combination.count, combination.datatype);
    }
    return run(call, comm, std::move(collective), completion);
}

/// Allreduce, scan and exscan: a vector of every rank, a result on every rank.
int reduce_to_all(Call& call, Collective kind, const void* sendbuf, void* recvbuf,
                  const Combination& combination, Communicator& comm, Completion completion)
{
    if (comm.is_inter() && kind != Collective::allreduce) {
        return call.fail(MPI_ERR_COMM,
                         "prefix reductions have no meaning between the groups of an "
                         "inter-communicator; give an intra-communicator");
    }
    CollectiveCall collective;
    collective.collective = kind;
    if (const int error = begin(call, collective, combination); error != MPI_SUCCESS) {
        return error;
    }
    collective.in_place = sendbuf == MPI_IN_PLACE;
    if (!collective.in_place) {
        set_send_vector(call, collective, sendbuf, combination.count, combination.datatype);
    }
    set_receive_vector(call, collective, recvbuf, combination.count, combination.datatype);
    return run(call, comm, std::move(collective), completion);
}

/// `total` elements come in; the call's count has been set to those that stay here.
int scatter_reduced(Call& call, CollectiveCall collective, const void* sendbuf, void* recvbuf,
                    MPI_Count total, MPI_Datatype datatype, Communicator& comm,
                    Completion completion)
{
    collective.collective = Collective::reduce_scatter;
    collective.in_place = sendbuf == MPI_IN_PLACE;
    set_send_vector(call, collective, collective.in_place ? recvbuf : sendbuf, total, datatype);
    set_receive_vector(call, collective, recvbuf, static_cast<MPI_Count>(collective.count),
                       datatype);
    return run(call, comm, std::move(collective), completion);
}

int reduce_scatter(Call& call, const void* sendbuf, void* recvbuf, CountArray recvcounts,
                   MPI_Datatype datatype, MPI_Op op, Communicator& comm, Completion completion)
{
    CollectiveCall collective;
    MPI_Count total = 0;
    for (std::uint32_t block = 0; block < static_cast<std::uint32_t>(comm.size()); ++block) {
        const MPI_Count count = recvcounts[block];
        collective.send_blocks.push_back({total, static_cast<std::uint64_t>(count)});
        if (__builtin_add_overflow(total, count, &total)) {
            return call.fail(MPI_ERR_COUNT,
                             "the counts (argument recvcounts) add up to more than "
                             "2^63 elements");
        }
    }
    if (const int error = begin(call, collective, {total, datatype, op}); error != MPI_SUCCESS) {
        return error;
    }
    collective.count = collective.send_blocks[static_cast<std::size_t>(comm.rank())].count;
    return scatter_reduced(call, std::move(collective), sendbuf, recvbuf, total, datatype, comm,
                           completion);
}

int reduce_scatter_block(Call& call, const void* sendbuf, void* recvbuf,
                         const Combination& combination, Communicator& comm, Completion completion)
{
    CollectiveCall collective;
    MPI_Count total = 0;
    if (__builtin_mul_overflow(combination.count, MPI_Count{comm.size()}, &total)) {
        return call.fail(MPI_ERR_COUNT,
                         "count %lld of every rank adds up to more than 2^63 "
                         "elements",
                         static_cast<long long>(combination.count));
    }
    const Combination whole{total, combination.datatype, combination.op};
    if (const int error = begin(call, collective, whole); error != MPI_SUCCESS) {
        return error;
    }
    collective.count = static_cast<std::uint64_t>(combination.count);
    return scatter_reduced(call, std::move(collective), sendbuf, recvbuf, total,
                           combination.datatype, comm, completion);
}

}  // namespace

namespace call {

int Reduce(Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
           MPI_Op op, int root, Communicator* comm)
{
    return reduce(call, sendbuf, recvbuf, {count, datatype, op}, root, *comm, nullptr);
}

int Ireduce(Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
            MPI_Op op, int root, Communicator* comm, MPI_Request* request)
{
    return reduce(call, sendbuf, recvbuf, {count, datatype, op}, root, *comm, request);
}

int Reduce_init(Call& call, const void* sendbuf, void* recvbuf, MPI_Count count,
                MPI_Datatype datatype, MPI_Op op, int root, Communicator* comm, MPI_Info /*info*/,
                MPI_Request* request)
{
    return reduce(call, sendbuf, recvbuf, {count, datatype, op}, root, *comm,
                  Completion::on_start(request));
}

int Allreduce(Call& call, const void* sendbuf, void* recvbuf, MPI_Count count,
              MPI_Datatype datatype, MPI_Op op, Communicator* comm)
{
    return reduce_to_all(call, Collective::allreduce, sendbuf, recvbuf, {count, datatype, op},
                         *comm, nullptr);
}

int Iallreduce(Call& call, const void* sendbuf, void* recvbuf, MPI_Count count,
               MPI_Datatype datatype, MPI_Op op, Communicator* comm, MPI_Request* request)
{
    return reduce_to_all(call, Collective::allreduce, sendbuf, recvbuf, {count, datatype, op},
                         *comm, request);
}

int Allreduce_init(Call& call, const void* sendbuf, void* recvbuf, MPI_Count count,
                   MPI_Datatype datatype, MPI_Op op, Communicator* comm, MPI_Info /*info*/,
                   MPI_Request* request)
{
    return reduce_to_all(call, Collective::allreduce, sendbuf, recvbuf, {count, datatype, op},
                         *comm, Completion::on_start(request));
}

int Scan(Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
         MPI_Op op, Communicator* comm)
{
    return reduce_to_all(call, Collective::scan, sendbuf, recvbuf, {count, datatype, op}, *comm,
                         nullptr);
}

int Iscan(Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
          MPI_Op op, Communicator* comm, MPI_Request* request)
{
    return reduce_to_all(call, Collective::scan, sendbuf, recvbuf, {count, datatype, op}, *comm,
                         request);
}

int Scan_init(Call& call, const void* sendbuf, void* recvbuf, MPI_Count count,
              MPI_Datatype datatype, MPI_Op op, Communicator* comm, MPI_Info /*info*/,
              MPI_Request* request)
{
    return reduce_to_all(call, Collective::scan, sendbuf, recvbuf, {count, datatype, op}, *comm,
                         Completion::on_start(request));
}

int Exscan(Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
           MPI_Op op, Communicator* comm)
{
    return reduce_to_all(call, Collective::exscan, sendbuf, recvbuf, {count, datatype, op}, *comm,
                         nullptr);
}

int Iexscan(Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
            MPI_Op op, Communicator* comm, MPI_Request* request)
{
    return reduce_to_all(call, Collective::exscan, sendbuf, recvbuf, {count, datatype, op}, *comm,
                         request);
}

int Exscan_init(Call& call, const void* sendbuf, void* recvbuf, MPI_Count count,
                MPI_Datatype datatype, MPI_Op op, Communicator* comm, MPI_Info /*info*/,
                MPI_Request* request)
{
    return reduce_to_all(call, Collective::exscan, sendbuf, recvbuf, {count, datatype, op}, *comm,
                         Completion::on_start(request));
}

int Reduce_scatter(Call& call, const void* sendbuf, void* recvbuf, CountArray recvcounts,
                   MPI_Datatype datatype, MPI_Op op, Communicator* comm)
{
    return reduce_scatter(call, sendbuf, recvbuf, recvcounts, datatype, op, *comm, nullptr);
}

int Ireduce_scatter(Call& call, const void* sendbuf, void* recvbuf, CountArray recvcounts,
                    MPI_Datatype datatype, MPI_Op op, Communicator* comm, MPI_Request* request)
{
    return reduce_scatter(call, sendbuf, recvbuf, recvcounts, datatype, op, *comm, request);
}

int Reduce_scatter_init(Call& call, const void* sendbuf, void* recvbuf, CountArray recvcounts,
                        MPI_Datatype datatype, MPI_Op op, Communicator* comm, MPI_Info /*info*/,
                        MPI_Request* request)
{
    return reduce_scatter(call, sendbuf, recvbuf, recvcounts, datatype, op, *comm,
                          Completion::on_start(request));
}

int Reduce_scatter_block(Call& call, const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                         MPI_Datatype datatype, MPI_Op op, Communicator* comm)
{
    return reduce_scatter_block(call, sendbuf, recvbuf, {recvcount, datatype, op}, *comm, nullptr);
}

int Ireduce_scatter_block(Call& call, const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                          MPI_Datatype datatype, MPI_Op op, Communicator* comm,
                          MPI_Request* request)
{
    return reduce_scatter_block(call, sendbuf, recvbuf, {recvcount, datatype, op}, *comm, request);
}

int Reduce_scatter_block_init(Call& call, const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                              MPI_Datatype datatype, MPI_Op op, Communicator* comm,
                              MPI_Info /*info*/, MPI_Request* request)
{
    return reduce_scatter_block(call, sendbuf, recvbuf, {recvcount, datatype, op}, *comm,
                                Completion::on_start(request));
}

int Reduce_local(Call& call, const void* inbuf, void* inoutbuf, MPI_Count count,
                 MPI_Datatype datatype, MPI_Op op)
{
    if (inbuf == inoutbuf && inbuf != nullptr && count > 0) {
        return call.fail(MPI_ERR_BUFFER,
                         "arguments inbuf and inoutbuf are the same buffer; give two");
    }
    CollectiveCall collective;
    if (const int error = begin(call, collective, {count, datatype, op}); error != MPI_SUCCESS) {
        return error;
    }
    set_send_vector(call, collective, inbuf, count, datatype);
    set_receive_vector(call, collective, inoutbuf, count, datatype);
    object::reduce_local(rank_of(call), std::move(collective));
    return MPI_SUCCESS;
}

}  // namespace call
}  // namespace headway::abi
