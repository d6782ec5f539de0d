// SPDX-License-Identifier: Apache-2.0
// Partitioned messages (MPI-5.0 chapter 4).
#include "abi/transfer.hpp"
#include "abi_calls.hpp"
#include "object/partitioned.hpp"
#include "object/request.hpp"

namespace headway::abi {
namespace {

using object::Communicator;
using object::Partitioned;
using object::Rank;

int make(Call& call, engine::OpKind kind, const void* buf, int partitions, MPI_Count count,
         MPI_Datatype datatype, int peer, int tag, Communicator& comm, MPI_Request* request)
{
    if (partitions <= 0) {
        return call.fail(MPI_ERR_ARG, "argument partitions is %d; give a positive number",
                         partitions);
    }
    if (peer == MPI_ANY_SOURCE || tag == MPI_ANY_TAG) {
        return call.fail(peer == MPI_ANY_SOURCE ? MPI_ERR_RANK : MPI_ERR_TAG,
                         "a partitioned receive names its source and tag; give neither "
                         "MPI_ANY_SOURCE nor MPI_ANY_TAG");
    }
    const object::Datatype& type = type_of(call, datatype);
    MPI_Count total = 0;
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(count, MPI_Count{partitions}, &total)) {
        return call.fail(MPI_ERR_COUNT, "%d partitions of %lld elements are more than 2^63",
                         partitions, static_cast<long long>(count));
    }
    if (!size_of(call, total, type, &bytes)) {
        return MPI_ERR_COUNT;
    }
    Rank& rank = rank_of(call);
    const Partitioned::Description description{
        .kind = kind,
        .partitions = partitions,
        .partition = {type.layout, const_cast<void*>(buf), static_cast<std::uint64_t>(count)},
        .is_one_run = type.is_one_run(static_cast<std::uint64_t>(total)),
        .first_byte = bytes_behind(buf, type.first_byte),
        .peer = peer,
        .tag = tag};
    const MPI_Request made = make_persistent(rank, new Partitioned(rank, comm, description));
    if (made == MPI_REQUEST_NULL) {
        return fail_for_memory(call);
    }
    *request = made;
    return MPI_SUCCESS;
}

/// The partitioned request behind a handle, active or not; null, and the call failed, for others.
Partitioned* find(Call& call, MPI_Request request, bool* is_active)
{
    Rank& rank = rank_of(call);
    object::Persistent* found = object::find_inactive(rank, request);
    *is_active = found == nullptr;
    if (const engine::Op* const op = object::find_request(rank, request); op != nullptr) {
        found = object::starter_of(*op);
    }
    Partitioned* const partitioned = found != nullptr ? found->as_partitioned() : nullptr;
    if (partitioned == nullptr) {
        call.fail(MPI_ERR_REQUEST,
                  "the request (argument request, 0x%zx) is not partitioned; give one of "
                  "MPI_Psend_init or MPI_Precv_init",
                  static_cast<std::size_t>(object::bits_of(request)));
    } else {
        call.set_error_source(partitioned->communicator());
    }
    return partitioned;
}

int check_partition(Call& call, const Partitioned& request, int partition)
{
    if (partition < 0 || partition >= request.partitions()) {
        return call.fail(MPI_ERR_ARG, "partition %d is outside the request's %d partitions",
                         partition, request.partitions());
    }
    return MPI_SUCCESS;
}

/// An active partitioned send; null, and the call failed with `*error`, for others.
Partitioned* find_send(Call& call, MPI_Request request)
{
    bool is_active = false;
    Partitioned* const found = find(call, request, &is_active);
    if (found == nullptr) {
        return nullptr;
    }
    if (!is_active || !found->is_send()) {
        call.fail(MPI_ERR_REQUEST, "the request (argument request, 0x%zx) %s",
                  static_cast<std::size_t>(object::bits_of(request)),
                  found->is_send() ? "is not active; call MPI_Start first"
                                   : "is a receive; partitions of sends are made ready");
        return nullptr;
    }
    return found;
}

int make_ready(Call& call, Partitioned& request, int partition)
{
    if (const int error = check_partition(call, request, partition); error != MPI_SUCCESS) {
        return error;
    }
    if (request.is_ready(partition)) {
        return call.fail(MPI_ERR_ARG, "partition %d is ready already", partition);
    }
    request.make_ready(partition);
    return MPI_SUCCESS;
}

}  // namespace

namespace call {

int Psend_init(Call& call, const void* buf, int partitions, MPI_Count count, MPI_Datatype datatype,
               int dest, int tag, Communicator* comm, MPI_Info /*info*/, MPI_Request* request)
{
    return make(call, engine::OpKind::send, buf, partitions, count, datatype, dest, tag, *comm,
                request);
}

int Precv_init(Call& call, void* buf, int partitions, MPI_Count count, MPI_Datatype datatype,
               int source, int tag, Communicator* comm, MPI_Info /*info*/, MPI_Request* request)
{
    return make(call, engine::OpKind::receive, buf, partitions, count, datatype, source, tag, *comm,
                request);
}

int Pready(Call& call, int partition, MPI_Request request)
{
    Partitioned* const found = find_send(call, request);
    return found != nullptr ? make_ready(call, *found, partition) : MPI_ERR_REQUEST;
}

int Pready_range(Call& call, int partition_low, int partition_high, MPI_Request request)
{
    Partitioned* const found = find_send(call, request);
    if (found == nullptr) {
        return MPI_ERR_REQUEST;
    }
    int error = MPI_SUCCESS;
    for (int i = partition_low; error == MPI_SUCCESS && i <= partition_high; ++i) {
        error = make_ready(call, *found, i);
    }
    return error;
}

int Pready_list(Call& call, int length, const int array_of_partitions[], MPI_Request request)
{
    Partitioned* const found = find_send(call, request);
    if (found == nullptr) {
        return MPI_ERR_REQUEST;
    }
    int error = MPI_SUCCESS;
    for (int i = 0; error == MPI_SUCCESS && i < length; ++i) {
        error = make_ready(call, *found, array_of_partitions[i]);
    }
    return error;
}

int Parrived(Call& call, MPI_Request request, int partition, int* flag)
{
    bool is_active = false;
    Partitioned* const found = find(call, request, &is_active);
    if (found == nullptr) {
        return MPI_ERR_REQUEST;
    }
    if (found->is_send()) {
        return call.fail(MPI_ERR_REQUEST,
                         "the request (argument request, 0x%zx) is a send; partitions of receives "
                         "arrive",
                         static_cast<std::size_t>(object::bits_of(request)));
    }
    if (const int error = check_partition(call, *found, partition); error != MPI_SUCCESS) {
        return error;
    }
    if (!found->has_arrived(partition)) {
        rank_of(call).driver().advance();
    }
    *flag = found->has_arrived(partition) ? 1 : 0;
    return MPI_SUCCESS;
}

}  // namespace call
}  // namespace headway::abi
