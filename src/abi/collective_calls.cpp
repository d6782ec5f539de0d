// SPDX-License-Identifier: Apache-2.0
// Collective calls (MPI-5.0 chapter 6): what they share, barrier and broadcast. A blocking call is
// its non-blocking form and a wait.
#include "abi/collective_calls.hpp"

#include <optional>
#include <vector>

#include "abi/block_check.hpp"
#include "abi/call_order.hpp"
#include "abi/transfer.hpp"
#include "abi_calls.hpp"
#include "object/packed.hpp"
#include "object/request.hpp"

namespace headway::abi {

namespace {

using object::CollectiveCall;
using object::Communicator;
using object::PackedBlocks;
using object::TypedBlock;
using protocol::coll::Collective;

/// The elements' bytes, or where these are not one run the packed ones that take their place and
/// stay in `kept`.
std::byte* as_one_run(CollectiveCall& collective,
                      std::optional<PackedBlocks> object::CollectiveKeep::* kept,
                      const object::Datatype& type, const void* buffer, std::uint64_t count)
{
    if (type.is_one_run(count)) [[likely]] {
        return bytes_behind(buffer, type.first_byte);
    }
    const TypedBlock block{type.layout, const_cast<void*>(buffer), count};
    return (collective.make_keep().*kept).emplace(std::vector<TypedBlock>{block}).bytes();
}

bool set_uniform(Call& call, CollectiveCall& collective, const UniformSide& side,
                 std::uint32_t blocks, std::optional<PackedBlocks> object::CollectiveKeep::* kept,
                 std::byte** place)
{
    const object::Datatype& type = type_of(call, side.datatype);
    collective.element_bytes = 1;
    collective.type = &type;
    collective.type_count = static_cast<std::uint64_t>(side.count);
    if (!size_of(call, side.count, type, &collective.count)) {
        return false;
    }
    const std::uint64_t elements = static_cast<std::uint64_t>(side.count) * blocks;
    *place = as_one_run(collective, kept, type, side.buffer, elements);
    return true;
}

/// Where a block of a listed side begins, counted from the buffer.
std::int64_t displacement_bytes(const ListedSide& side, std::uint32_t block,
                                const object::Datatype& type)
{
    const MPI_Count displacement = side.displacements[block];
    return side.datatypes != nullptr ? displacement : displacement * type.extent_bytes;
}

std::vector<TypedBlock> typed_blocks(Call& call, const ListedSide& side, std::uint32_t blocks)
{
    std::vector<TypedBlock> typed(blocks);
    for (std::uint32_t block = 0; block < blocks; ++block) {
        const object::Datatype& type = type_of_block(call, side, block);
        typed[block] = {type.layout,
                        bytes_behind(side.buffer, displacement_bytes(side, block, type)),
                        static_cast<std::uint64_t>(side.counts[block])};
    }
    return typed;
}

bool set_listed(Call& call, CollectiveCall& collective, const ListedSide& side,
                std::uint32_t blocks, std::optional<PackedBlocks> object::CollectiveKeep::* kept,
                std::vector<engine::BlockRange>& ranges, std::byte** place)
{
    collective.element_bytes = 1;
    ranges.resize(blocks);
    bool are_runs = true;
    for (std::uint32_t block = 0; block < blocks; ++block) {
        const object::Datatype& type = type_of_block(call, side, block);
        if (!size_of(call, side.counts[block], type, &ranges[block].count)) {
            return false;
        }
        ranges[block].offset = displacement_bytes(side, block, type) + type.first_byte;
        are_runs = are_runs && type.is_one_run(static_cast<std::uint64_t>(side.counts[block]));
    }
    *place = bytes_behind(side.buffer, 0);
    if (are_runs) [[likely]] {
        return true;
    }
    std::int64_t offset = 0;
    for (engine::BlockRange& range : ranges) {
        range.offset = offset;
        offset += static_cast<std::int64_t>(range.count);
    }
    *place = (collective.make_keep().*kept).emplace(typed_blocks(call, side, blocks)).bytes();
    return true;
}

int bcast(Call& call, void* buffer, MPI_Count count, MPI_Datatype datatype, int root,
          Communicator& comm, Completion completion)
{
    CollectiveCall collective;
    collective.collective = Collective::bcast;
    collective.root = joint_root(root, comm);
    const UniformSide side{buffer, count, datatype};
    if (root != MPI_PROC_NULL && !set_receive(call, collective, side, 1)) {
        return MPI_ERR_COUNT;
    }
    return run_with_blocks(call, comm, std::move(collective), completion, [&](BlockNotes& notes) {
        if (!comm.is_inter()) {
            return;
        }
        if (has_own_part(root)) {
            notes.take(side, 0, joint_root(root, comm));
        }
        for (std::uint32_t i = 0; root == MPI_ROOT && i < size_of(comm); ++i) {
            notes.give(side, 0, notes.joint_peer(i));
        }
    });
}

CollectiveCall barrier()
{
    return {};
}

}  // namespace

bool set_send(Call& call, CollectiveCall& collective, const UniformSide& side, std::uint32_t blocks)
{
    std::byte* place = nullptr;
    const bool is_set =
        set_uniform(call, collective, side, blocks, &object::CollectiveKeep::sent, &place);
    collective.send = place;
    return is_set;
}

bool set_receive(Call& call, CollectiveCall& collective, const UniformSide& side,
                 std::uint32_t blocks)
{
    std::byte* place = nullptr;
    const bool is_set =
        set_uniform(call, collective, side, blocks, &object::CollectiveKeep::received, &place);
    collective.receive = place;
    return is_set;
}

bool set_send(Call& call, CollectiveCall& collective, const ListedSide& side, std::uint32_t blocks)
{
    std::byte* place = nullptr;
    const bool is_set = set_listed(call, collective, side, blocks, &object::CollectiveKeep::sent,
                                   collective.send_blocks, &place);
    collective.send = place;
    return is_set;
}

bool set_receive(Call& call, CollectiveCall& collective, const ListedSide& side,
                 std::uint32_t blocks)
{
    std::byte* place = nullptr;
    const bool is_set =
        set_listed(call, collective, side, blocks, &object::CollectiveKeep::received,
                   collective.receive_blocks, &place);
    collective.receive = place;
    return is_set;
}

void set_send_vector(Call& call, CollectiveCall& collective, const void* buffer, MPI_Count count,
                     MPI_Datatype datatype)
{
    collective.send = as_one_run(collective, &object::CollectiveKeep::sent, type_of(call, datatype),
                                 buffer, static_cast<std::uint64_t>(count));
}

void set_receive_vector(Call& call, CollectiveCall& collective, void* buffer, MPI_Count count,
                        MPI_Datatype datatype)
{
    collective.receive =
        as_one_run(collective, &object::CollectiveKeep::received, type_of(call, datatype), buffer,
                   static_cast<std::uint64_t>(count));
}

void list_sides(CollectiveCall& collective, std::uint64_t sent, std::uint32_t sent_blocks,
                std::uint32_t received_blocks)
{
    const auto list = [](std::vector<engine::BlockRange>& blocks, std::uint64_t bytes,
                         std::uint32_t count) {
        for (std::uint32_t block = 0; block < count; ++block) {
            blocks.push_back({static_cast<std::int64_t>(bytes * block), bytes});
        }
    };
    list(collective.send_blocks, sent, sent_blocks);
    list(collective.receive_blocks, collective.count, received_blocks);
}

namespace {

int run_to_end(Call& call, Communicator& comm, CollectiveCall&& collective)
{
    const engine::StartedGraph started =
        object::run_collective(call.instance(), comm, std::move(collective));
    if (started.is_over) [[likely]] {
        object::end_complete_orphans(call.instance());
        return MPI_SUCCESS;
    }
    if (started.completion == nullptr) {
        return fail_for_memory(call);
    }
    return complete(call, started.completion, MPI_STATUS_IGNORE);
}

}  // namespace

int run_in_turn(Call& call, Communicator& comm, CollectiveCall&& collective, Completion completion)
{
    object::Rank& rank = rank_of(call);
    if (completion.is_persistent()) {
        const MPI_Request made =
            object::make_repeated_collective(rank, comm, std::move(collective));
        if (made == MPI_REQUEST_NULL) {
            return fail_for_memory(call);
        }
        *completion.request() = made;
        return MPI_SUCCESS;
    }
    if (completion.request() == nullptr) {
        return run_to_end(call, comm, std::move(collective));
    }
    engine::Op* op = object::start_collective(call.instance(), comm, std::move(collective));
    if (op == nullptr) {
        return fail_for_memory(call);
    }
    *completion.request() = object::make_request(call.instance(), comm, op);
    return MPI_SUCCESS;
}

namespace call {

int Barrier(Call& call, Communicator* comm)
{
    return run(call, *comm, barrier(), nullptr);
}

int Ibarrier(Call& call, Communicator* comm, MPI_Request* request)
{
    return run(call, *comm, barrier(), request);
}

int Barrier_init(Call& call, Communicator* comm, MPI_Info /*info*/, MPI_Request* request)
{
    return run(call, *comm, barrier(), Completion::on_start(request));
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

int Bcast_init(Call& call, void* buffer, MPI_Count count, MPI_Datatype datatype, int root,
               Communicator* comm, MPI_Info /*info*/, MPI_Request* request)
{
    return bcast(call, buffer, count, datatype, root, *comm, Completion::on_start(request));
}

}  // namespace call
}  // namespace headway::abi
