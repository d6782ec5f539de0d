// SPDX-License-Identifier: Apache-2.0
// Collective calls (MPI-5.0 chapter 6): what they share, barrier and broadcast. A blocking call is
// its non-blocking form and a wait.
#include "abi/collective_calls.hpp"

#include <optional>
#include <vector>

#include "abi/call_order.hpp"
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

std::byte* bytes_at(const void* buffer) noexcept
{
    return static_cast<std::byte*>(const_cast<void*>(buffer));
}

/// The buffer, or where its elements have gaps the packed one that takes its place and stays in
/// `kept`.
std::byte* without_gaps(CollectiveCall& collective,
                        std::optional<PackedBlocks> object::CollectiveKeep::* kept,
                        const TypedBlock& block)
{
    if (!object::has_gaps(*block.type)) [[likely]] {
        return block.elements;
    }
    return (collective.make_keep().*kept).emplace(std::vector<TypedBlock>{block}).bytes();
}

bool set_uniform(Call& call, CollectiveCall& collective, const UniformSide& side,
                 std::uint32_t blocks, std::optional<PackedBlocks> object::CollectiveKeep::* kept,
                 std::byte** place)
{
    collective.element_bytes = 1;
    if (!size_of(call, side.count, side.datatype, &collective.count)) {
        return false;
    }
    const TypedBlock all{object::find_datatype(side.datatype), bytes_at(side.buffer),
                         static_cast<std::uint64_t>(side.count) * blocks};
    *place = without_gaps(collective, kept, all);
    return true;
}

/// Computed as a number: a block without elements may lie anywhere, also behind null.
std::byte* bytes_behind(const void* buffer, std::int64_t offset) noexcept
{
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(buffer) +
                                        static_cast<std::uintptr_t>(offset));
}

/// Where a block of a listed side begins, counted from the buffer.
std::int64_t displacement_bytes(const ListedSide& side, std::uint32_t block,
                                const object::Datatype& type)
{
    const MPI_Count displacement = side.displacements[block];
    return side.datatypes != nullptr ? displacement : displacement * type.extent_bytes;
}

bool set_listed(Call& call, CollectiveCall& collective, const ListedSide& side,
                std::uint32_t blocks, std::optional<PackedBlocks> object::CollectiveKeep::* kept,
                std::vector<engine::BlockRange>& ranges, std::byte** place)
{
    collective.element_bytes = 1;
    ranges.resize(blocks);
    std::vector<TypedBlock> typed(blocks);
    bool has_gaps = false;
    for (std::uint32_t block = 0; block < blocks; ++block) {
        const MPI_Datatype handle =
            side.datatypes != nullptr ? side.datatypes[block] : side.datatype;
        const object::Datatype& type = *object::find_datatype(handle);
        if (!size_of(call, side.counts[block], handle, &ranges[block].count)) {
            return false;
        }
        ranges[block].offset = displacement_bytes(side, block, type);
        typed[block] = {&type, bytes_behind(side.buffer, ranges[block].offset),
                        static_cast<std::uint64_t>(side.counts[block])};
        has_gaps = has_gaps || object::has_gaps(type);
    }
    *place = bytes_at(side.buffer);
    if (!has_gaps) [[likely]] {
        return true;
    }
    std::int64_t offset = 0;
    for (engine::BlockRange& range : ranges) {
        range.offset = offset;
        offset += static_cast<std::int64_t>(range.count);
    }
    *place = (collective.make_keep().*kept).emplace(std::move(typed)).bytes();
    return true;
}

int bcast(Call& call, void* buffer, MPI_Count count, MPI_Datatype datatype, int root,
          Communicator& comm, MPI_Request* request)
{
    CollectiveCall collective;
    collective.collective = Collective::bcast;
    collective.root = static_cast<std::uint32_t>(root);
    if (!set_receive(call, collective, UniformSide{buffer, count, datatype}, 1)) {
        return MPI_ERR_COUNT;
    }
    return run(call, comm, std::move(collective), request);
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

void set_send_vector(CollectiveCall& collective, const void* buffer, MPI_Count count,
                     MPI_Datatype datatype)
{
    collective.send = without_gaps(
        collective, &object::CollectiveKeep::sent,
        {object::find_datatype(datatype), bytes_at(buffer), static_cast<std::uint64_t>(count)});
}

void set_receive_vector(CollectiveCall& collective, void* buffer, MPI_Count count,
                        MPI_Datatype datatype)
{
    collective.receive = without_gaps(
        collective, &object::CollectiveKeep::received,
        {object::find_datatype(datatype), bytes_at(buffer), static_cast<std::uint64_t>(count)});
}

int run(Call& call, Communicator& comm, CollectiveCall collective, MPI_Request* request)
{
    object::Rank& rank = rank_of(call);
    if (const int error = check_order(call, comm, &collective); error != MPI_SUCCESS) [[unlikely]] {
        return error;
    }
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

namespace call {

int Barrier(Call& call, Communicator* comm)
{
    return run(call, *comm, barrier(), nullptr);
}

int Ibarrier(Call& call, Communicator* comm, MPI_Request* request)
{
    return run(call, *comm, barrier(), request);
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

}  // namespace call
}  // namespace headway::abi
