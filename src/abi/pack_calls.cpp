// SPDX-License-Identifier: Apache-2.0
// Packing by hand (MPI-5.0 sections 5.2 and 5.3).
#include <algorithm>
#include <cstring>
#include <memory>

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

int check_representation(Call& call, const char* name)
{
    if (std::strcmp(name, "external32") != 0) {
        return call.fail(MPI_ERR_ARG,
                         "the data representation (argument datarep) is '%.32s'; there is "
                         "\"external32\" only",
                         name);
    }
    return MPI_SUCCESS;
}

/// Bytes of elements in external32. False, and the call failed, where they cannot be counted.
bool external_size_of(Call& call, MPI_Count count, const object::Datatype& type,
                      std::uint64_t* bytes)
{
    const std::uint64_t one =
        data::external_bytes(*type.layout->signature, &object::external_form_of);
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(count), one, bytes)) {
        call.fail(MPI_ERR_COUNT, "count %lld of %llu bytes in external32 is more than 2^64 bytes",
                  static_cast<long long>(count), static_cast<unsigned long long>(one));
        return false;
    }
    return true;
}

/// Elements that are written or read at a time: their packed bytes are kept in between.
std::uint64_t elements_at_once(const object::Datatype& type)
{
    constexpr std::uint64_t kept_bytes = 64 * 1024;
    return std::max<std::uint64_t>(1, kept_bytes / std::max<std::uint64_t>(1, type.size_bytes));
}

/// Calls `part(elements, count, packed bytes between)` for the whole buffer, in order.
template <typename Part>
void in_parts(const object::Datatype& type, const void* buffer, MPI_Count count, const Part& part)
{
    const std::uint64_t most = elements_at_once(type);
    const auto total = static_cast<std::uint64_t>(count);
    const auto between =
        std::make_unique_for_overwrite<std::byte[]>(std::min(most, total) * type.size_bytes);
    for (std::uint64_t done = 0; done < total; done += most) {
        const std::uint64_t now = std::min(most, total - done);
        void* const elements =
            bytes_behind(buffer, static_cast<std::int64_t>(done) * type.extent_bytes);
        part(object::TypedBlock{type.layout, elements, now}, between.get());
    }
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
    object::pack_with_others(object::as_rank(call.rank()).driver(), block_of(type, inbuf, incount),
                             bytes_behind(outbuf, *position));
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
    object::unpack_with_others(object::as_rank(call.rank()).driver(),
                               block_of(type, outbuf, outcount), bytes_behind(inbuf, *position),
                               bytes);
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

int Pack_external(Call& call, const char datarep[], const void* inbuf, MPI_Count incount,
                  MPI_Datatype datatype, void* outbuf, MPI_Count outsize, MPI_Count* position)
{
    const object::Datatype& type = type_of(call, datatype);
    int error = check_representation(call, datarep);
    std::uint64_t bytes = 0;
    if (error == MPI_SUCCESS && !external_size_of(call, incount, type, &bytes)) {
        error = MPI_ERR_COUNT;
    }
    if (error == MPI_SUCCESS) {
        error = check_room(call, *position, outsize, bytes);
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    const data::Signature& signature = *type.layout->signature;
    const std::uint64_t one = data::external_bytes(signature, &object::external_form_of);
    std::byte* external = bytes_behind(outbuf, *position);
    in_parts(type, inbuf, incount, [&](const object::TypedBlock& block, std::byte* between) {
        object::pack(block, between);
        data::to_external(signature, block.count, &object::external_form_of, between, external);
        external += block.count * one;
    });
    *position += static_cast<MPI_Count>(bytes);
    return MPI_SUCCESS;
}

int Unpack_external(Call& call, const char datarep[], const void* inbuf, MPI_Count insize,
                    MPI_Count* position, void* outbuf, MPI_Count outcount, MPI_Datatype datatype)
{
    const object::Datatype& type = type_of(call, datatype);
    int error = check_representation(call, datarep);
    std::uint64_t bytes = 0;
    if (error == MPI_SUCCESS && !external_size_of(call, outcount, type, &bytes)) {
        error = MPI_ERR_COUNT;
    }
    if (error == MPI_SUCCESS) {
        error = check_room(call, *position, insize, bytes);
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    const data::Signature& signature = *type.layout->signature;
    const std::uint64_t one = data::external_bytes(signature, &object::external_form_of);
    const std::byte* external = bytes_behind(inbuf, *position);
    in_parts(type, outbuf, outcount, [&](const object::TypedBlock& block, std::byte* between) {
        data::from_external(signature, block.count, &object::external_form_of, external, between);
        object::unpack(block, between, block.packed_bytes());
        external += block.count * one;
    });
    *position += static_cast<MPI_Count>(bytes);
    return MPI_SUCCESS;
}

int Pack_external_size(Call& call, const char datarep[], MPI_Count incount, MPI_Datatype datatype,
                       MPI_Count* size)
{
    if (const int error = check_representation(call, datarep); error != MPI_SUCCESS) {
        return error;
    }
    std::uint64_t bytes = 0;
    if (!external_size_of(call, incount, type_of(call, datatype), &bytes)) {
        return MPI_ERR_COUNT;
    }
    *size = static_cast<MPI_Count>(bytes);
    return MPI_SUCCESS;
}

}  // namespace call
}  // namespace headway::abi
