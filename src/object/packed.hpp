// SPDX-License-Identifier: Apache-2.0
// Elements with gaps: they travel packed, and a receive must leave the gaps of the user's buffer
// alone. A short message is packed into its lane and unpacked from there where that can be
// (transport::MadePayload); else it lies in a private buffer that is kept with the op and, for a
// receive, unpacked by the owner when it completes the request. A long one is packed and unpacked
// in pieces on its way (engine/copy_job.hpp), where protocol::carries_elements says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/driver.hpp"
#include "object/datatype.hpp"
#include "object/op_keep.hpp"

namespace headway::object {

/// Consecutive elements of a user's buffer. Their datatype may be freed meanwhile.
struct TypedBlock {
    data::Layout::Pointer layout;
    void* elements = nullptr;
    std::uint64_t count = 0;

    std::uint64_t packed_bytes() const noexcept { return count * layout->size_bytes(); }
};

/// As ops and copies know them. The block stays.
inline data::TypedElements elements_of(const TypedBlock& block) noexcept
{
    return {block.layout->program.view(), block.layout->extent, block.elements};
}

/// Copies all elements into consecutive bytes.
void pack(const TypedBlock& block, std::byte* packed);
/// The opposite, for as many bytes as have arrived.
void unpack(const TypedBlock& block, const std::byte* packed, std::uint64_t bytes);

/// The same with the help of threads of the process that wait in MPI, where it is worth that; the
/// rank's lock is theirs meanwhile. Requires: that lock.
void pack_with_others(engine::Driver& driver, const TypedBlock& block, std::byte* packed);
void unpack_with_others(engine::Driver& driver, const TypedBlock& block, const std::byte* packed,
                        std::uint64_t bytes);

/// Kept with a send: the message, packed.
class PackedSend final : public OpKeep {
  public:
    explicit PackedSend(const TypedBlock& block);

    std::byte* bytes() noexcept { return packed_.get(); }
    void finish(Rank& rank, engine::Op& op) override;

  private:
    std::unique_ptr<std::byte[]> packed_;
};

/// Kept with an op whose bytes are moved to or from the user's elements directly.
class ElementsInPlace : public OpKeep {
  public:
    explicit ElementsInPlace(TypedBlock block);

    const data::TypedElements& elements() const noexcept { return elements_; }
    void finish(Rank& rank, engine::Op& op) override;

  private:
    TypedBlock block_;
    data::TypedElements elements_;
};

/// The same for a receive, whose message may also come in one piece of at most `buffer_bytes`, to
/// be unpacked when the request is completed.
class ElementsToReceive final : public ElementsInPlace {
  public:
    ElementsToReceive(TypedBlock block, std::uint64_t buffer_bytes);

    std::byte* bytes() noexcept { return packed_.get(); }
    void finish(Rank& rank, engine::Op& op) override;

  private:
    std::unique_ptr<std::byte[]> packed_;
};

/// Memory in which elements lie as they do in a program's buffer, gaps included.
class SpreadElements {
  public:
    SpreadElements(data::Layout::Pointer layout, std::uint64_t count);

    /// The block; its address is that of the first element.
    const TypedBlock& block() const noexcept { return block_; }

  private:
    TypedBlock block_;
    std::unique_ptr<std::byte[]> memory_;
};

}  // namespace headway::object
