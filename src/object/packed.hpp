// SPDX-License-Identifier: Apache-2.0
// Elements with gaps (MPI_DOUBLE_INT and kin): they travel packed, and a receive must leave the
// gaps of the user's buffer alone. Whatever travels packed lives in a private buffer that is kept
// with the op and, for a receive, unpacked by the owner when it completes the request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "object/datatype.hpp"
#include "object/op_keep.hpp"

namespace headway::object {

inline bool has_gaps(const Datatype& type) noexcept
{
    return type.size_bytes != type.extent_bytes;
}

/// Copies `count` elements into consecutive bytes (size_bytes each), and those with gaps back.
void pack(const Datatype& type, const void* elements, std::uint64_t count, std::byte* packed);
/// Of the last element only what `bytes` says has arrived.
void unpack(const Datatype& type, const std::byte* packed, std::uint64_t bytes, void* elements);

/// Kept with a send: the message, packed where its elements have gaps.
class PackedSend final : public OpKeep {
  public:
    PackedSend(const Datatype& type, const void* elements, std::uint64_t count);

    std::byte* bytes() noexcept { return packed_.get(); }
    void finish(Rank& rank, engine::Op& op) override;

  private:
    std::unique_ptr<std::byte[]> packed_;
};

/// Kept with a receive: where the packed message arrives, and where it goes.
class PackedReceive final : public OpKeep {
  public:
    PackedReceive(const Datatype& type, void* elements, std::uint64_t count);

    std::byte* bytes() noexcept { return packed_.get(); }
    void finish(Rank& rank, engine::Op& op) override;

  private:
    const Datatype& type_;
    void* elements_;
    std::unique_ptr<std::byte[]> packed_;
};

}  // namespace headway::object
