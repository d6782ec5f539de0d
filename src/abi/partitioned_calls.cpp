// SPDX-License-Identifier: Apache-2.0
// Partitioned messages (MPI-5.0 chapter 4).
#include "abi/block_check.hpp"
#include "abi/transfer.hpp"
#include "abi/type_check.hpp"
#include "abi_calls.hpp"
#include "object/note_board.hpp"
#include "object/partitioned.hpp"
#include "object/process.hpp"
#include "object/request.hpp"

namespace headway::abi {
namespace {

using object::Communicator;
using object::Partitioned;
using object::Rank;

/// For HEADWAY_CHECK=messages: whoever of both sides comes second compares all that the message
/// has. How each side cuts it into partitions is its own matter.
int compare_sides(Call& call, Communicator& comm, const Partitioned::Description& message,
                  std::uint32_t number, const object::ElementNote& own)
{
    using object::NoteBoard;
    Rank& rank = rank_of(call);
    const bool is_send = message.kind == engine::OpKind::send;
    const auto self = static_cast<std::uint32_t>(rank.world_rank);
    const std::uint32_t peer = comm.scope().job_rank(static_cast<std::uint32_t>(message.peer));
    const NoteBoard::Name name{.sender = is_send ? self : peer,
                               .receiver = is_send ? peer : self,
                               .number = number,
                               .context = comm.context(),
                               .leader = comm.joint_scope().job_rank(0),
                               .slot = static_cast<std::uint32_t>(message.tag),
                               .side = is_send ? NoteBoard::Side::given : NoteBoard::Side::taken};
    object::ElementNote other;
    const auto meeting =
        meet(call, comm, comm.scope().peer(static_cast<std::uint32_t>(message.peer)), name, own,
             object::DistantNote::Topic::partitioned, &other);
    if (meeting == NoteBoard::Meeting::no_memory) {
        return fail_for_memory(call);
    }
    if (meeting == NoteBoard::Meeting::is_first || own.is_same_block(other)) {
        return MPI_SUCCESS;
    }
    return call.fail(MPI_ERR_TYPE,
                     "the partitioned message %s rank %u of MPI_COMM_WORLD (tag %d, communicator "
                     "'%.64s') is %s here as %s, but %s there as %s; give both sides the same "
                     "types, and the same number in all partitions",
                     is_send ? "to" : "from", peer, message.tag, comm.name().c_str(),
                     is_send ? "sent" : "received", own.text, is_send ? "received" : "sent",
                     other.text);
}

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
    auto* const message = new Partitioned(rank, comm, description);
    const std::uint32_t number = message->number();
    const MPI_Request made = make_persistent(rank, message);
    if (made == MPI_REQUEST_NULL) {
        return fail_for_memory(call);
    }
    *request = made;
    if (rank.process().sent_types() != nullptr && peer != MPI_PROC_NULL) [[unlikely]] {
        return compare_sides(call, comm, description, number,
                             note_of(*type.layout, static_cast<std::uint64_t>(total)));
    }
    return MPI_SUCCESS;
}

/// The partitioned request behind a handle, active or not; null, and the call failed, for others.
Partitioned* find(Call& call, MPI_Request request, bool* is_active)
{
    Rank& rank = rank_of(call);
    const engine::Op* const op = object::find_request(rank, request);
    *is_active = op != nullptr;
    object::Persistent* const found =
        *is_active ? object::starter_of(*op) : object::find_inactive(rank, request);
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
    if (is_active && !found->has_arrived(partition)) {
        rank_of(call).driver().advance();
    }
    *flag = !is_active || found->has_arrived(partition) ? 1 : 0;
    return MPI_SUCCESS;
}

}  // namespace call
}  // namespace headway::abi
