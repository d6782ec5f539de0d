// SPDX-License-Identifier: Apache-2.0
#include "object/collective_keep.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "object/packed.hpp"

namespace headway::object {

UserReduction::UserReduction(UserOperator* op, MPI_Datatype datatype)
    : op_(op), datatype_(datatype), type_(*find_datatype(datatype))
{
    ++op_->references;
}

UserReduction::~UserReduction()
{
    drop_operator(op_);
}

void UserReduction::apply(const void* in, void* inout, std::uint64_t count) const
{
    if (has_gaps(type_)) {
        apply_with_gaps(in, inout, count);
        return;
    }
    call(in, inout, count);
}

void UserReduction::apply_with_gaps(const void* in, void* inout, std::uint64_t count) const
{
    const std::uint64_t packed_bytes = count * type_.size_bytes;
    const std::uint64_t spread_bytes = count * type_.extent_bytes;
    const auto first = std::make_unique<std::byte[]>(spread_bytes);
    const auto second = std::make_unique<std::byte[]>(spread_bytes);
    unpack(type_, static_cast<const std::byte*>(in), packed_bytes, first.get());
    unpack(type_, static_cast<const std::byte*>(inout), packed_bytes, second.get());
    call(first.get(), second.get(), count);
    pack(type_, second.get(), count, static_cast<std::byte*>(inout));
}

void UserReduction::call(const void* in, void* inout, std::uint64_t count) const
{
    MPI_Datatype datatype = datatype_;
    if (op_->wide != nullptr) {
        auto elements = static_cast<MPI_Count>(count);
        op_->wide(const_cast<void*>(in), inout, &elements, &datatype);
        return;
    }
    // A user function of the narrow kind takes its vector in pieces that an int can count.
    constexpr std::uint64_t piece_max = std::numeric_limits<int>::max();
    for (std::uint64_t done = 0; done < count;) {
        const std::uint64_t piece = std::min(piece_max, count - done);
        auto elements = static_cast<int>(piece);
        const std::uint64_t offset = done * type_.extent_bytes;
        op_->narrow(static_cast<char*>(const_cast<void*>(in)) + offset,
                    static_cast<char*>(inout) + offset, &elements, &datatype);
        done += piece;
    }
}

PackedBlocks::PackedBlocks(std::vector<TypedBlock> blocks) : blocks_(std::move(blocks))
{
    std::uint64_t total = 0;
    for (const TypedBlock& block : blocks_) {
        total += block.packed_bytes();
    }
    packed_ = std::make_unique<std::byte[]>(total);
    std::byte* to = packed_.get();
    for (const TypedBlock& block : blocks_) {
        pack(*block.type, block.elements, block.count, to);
        to += block.packed_bytes();
    }
}

void PackedBlocks::give_back() const
{
    const std::byte* from = packed_.get();
    for (const TypedBlock& block : blocks_) {
        unpack(*block.type, from, block.packed_bytes(), block.elements);
        from += block.packed_bytes();
    }
}

void CollectiveKeep::finish(Rank& /*rank*/, engine::Op& op)
{
    if (received && op.error == engine::OpError::none) {
        received->give_back();
    }
}

}  // namespace headway::object
