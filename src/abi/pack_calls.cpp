// SPDX-License-Identifier: Apache-2.0
// Packing by hand (MPI-5.0 section 5.2).
#include "abi/message_calls.hpp"
#include "abi_calls.hpp"
#include "object/packed.hpp"

namespace headway::abi {
namespace {

/// MPI_SUCCESS if `bytes` fit between `position` and the buffer's end.
int check_room(Call& call, MPI_Count position, MPI_Count buffer_bytes, std::uint64_t bytes)
{
    if (position < 0 || position > buffer_bytes ||
        static_cast<std::uint64_t>(buffer_bytes - position) < bytes) {
        return call.fail(MPI_ERR_TRUNCATE,
                         "the packed buffer of %lld bytes has no %llu at position %lld",
                         static_cast<long long>(buffer_bytes),
                         static_cast<unsigned long long>(bytes), static_cast<long long>(position));
    }
    return MPI_SUCCESS;
}

object::TypedBlock block_of(const object::Datatype& type, const void* buffer, MPI_Count count)
{
    return {type.layout, const_cast<void*>(buffer), static_cast<std::uint64_t>(count)};
}

}  // namespace

namespace call {

int Pack(Call& call, const void* inbuf, MPI_Count incount, MPI_Datatype datatype, void* outbuf,
         MPI_Count outsize, MPI_Count* position, object::Communicator* /*comm*/)
{
    const object::Datatype& type = type_of(call, datatype);
    std::uint64_t bytes = 0;
    if (!size_of(call, incount, type, &bytes)) {
        return MPI_ERR_COUNT;
    }
    if (const int error = check_room(call, *position, outsize, bytes); error != MPI_SUCCESS) {
        return error;
    }
    object::pack(block_of(type, inbuf, incount), bytes_behind(outbuf, *position));
    *position += static_cast<MPI_Count>(bytes);
    return MPI_SUCCESS;
}

int Unpack(Call& call, const void* inbuf, MPI_Count insize, MPI_Count* position, void* outbuf,
           MPI_Count outcount, MPI_Datatype datatype, object::Communicator* /*comm*/)
{
    const object::Datatype& type = type_of(call, datatype);
    std::uint64_t bytes = 0;
    if (!size_of(call, outcount, type, &bytes)) {
        return MPI_ERR_COUNT;
    }
    if (const int error = check_room(call, *position, insize, bytes); error != MPI_SUCCESS) {
        return error;
    }
    object::unpack(block_of(type, outbuf, outcount), bytes_behind(inbuf, *position), bytes);
    *position += static_cast<MPI_Count>(bytes);
    return MPI_SUCCESS;
}

int Pack_size(Call& call, MPI_Count incount, MPI_Datatype datatype, object::Communicator* /*comm*/,
              MPI_Count* size)
{
    std::uint64_t bytes = 0;
    if (!size_of(call, incount, type_of(call, datatype), &bytes)) {
        return MPI_ERR_COUNT;
    }
    *size = static_cast<MPI_Count>(bytes);
    return MPI_SUCCESS;
}

}  // namespace call
}  // namespace headway::abi
