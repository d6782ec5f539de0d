// SPDX-License-Identifier: Apache-2.0
// What several hand-written calls share: bytes of a buffer, names of messages, waiting.
#pragma once

#include <cstdint>

#include "abi/call.hpp"
#include "engine/wait.hpp"
#include "object/communicator.hpp"
#include "object/datatype.hpp"
#include "object/rank.hpp"
#include "transport/frame.hpp"

namespace headway::abi {

inline object::Rank& rank_of(Call& call) noexcept
{
    return object::as_rank(call.rank());
}

/// The datatype behind a checked handle.
inline const object::Datatype& type_of(Call& call, MPI_Datatype datatype) noexcept
{
    return *object::find_datatype(call.rank(), datatype);
}

/// An address computed as a number: data may be counted from null (MPI_BOTTOM), and where there are
/// no elements it may lie anywhere.
inline std::byte* bytes_behind(const void* buffer, std::int64_t offset) noexcept
{
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(buffer) +
                                        static_cast<std::uintptr_t>(offset));
}

/// Bytes of `count` elements on the wire, where gaps of an element do not travel. False, and the
/// call failed, where they cannot be counted.
inline bool size_of(Call& call, MPI_Count count, const object::Datatype& type, std::uint64_t* bytes)
{
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(count), type.size_bytes, bytes))
        [[unlikely]] {
        call.fail(MPI_ERR_COUNT, "count %lld of %llu-byte elements is more than 2^64 bytes",
                  static_cast<long long>(count), static_cast<unsigned long long>(type.size_bytes));
        return false;
    }
    return true;
}

/// The node heap has no room for what the call needs. Returns the class.
[[gnu::cold]] int fail_for_memory(Call& call);

/// Name of a message that this rank sends on `comm`.
inline transport::FrameHeader name_of_sent(const object::Communicator& comm, int tag) noexcept
{
    return {.context = comm.context(), .source = comm.rank(), .tag = tag, .sequence = 0};
}

/// Name, perhaps with wildcards, of a message that this rank receives on `comm`.
inline transport::FrameHeader name_of_wanted(const object::Communicator& comm, int source,
                                             int tag) noexcept
{
    return {.context = comm.context(), .source = source, .tag = tag, .sequence = 0};
}

inline std::uint32_t peer_of(const object::Communicator& comm, int member) noexcept
{
    return comm.scope().peer(static_cast<std::uint32_t>(member));
}

}  // namespace headway::abi
