// SPDX-License-Identifier: Apache-2.0
#include "object/collective_keep.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "object/rank.hpp"

namespace headway::object {

UserReduction::UserReduction(Rank& rank, UserOperator* op, MPI_Datatype datatype)
    : rank_(rank), op_(op), datatype_(datatype), layout_(find_datatype(rank, datatype)->layout)
{
    // Relaxed, both: a call names them.
    op_->references.fetch_add(1, std::memory_order_relaxed);
    DerivedDatatype* const derived = find_derived_datatype(rank, datatype);
    is_derived_ = derived != nullptr;
    if (is_derived_) {
        derived->references.fetch_add(1, std::memory_order_relaxed);
    }
}

UserReduction::~UserReduction()
{
    if (is_derived_) {
        drop_datatype(rank_, datatype_);
    }
    drop_operator(op_);
}

void UserReduction::apply(const void* in, void* inout, std::uint64_t count) const
{
    if (!layout_->is_dense()) {
        apply_with_gaps(in, inout, count);
        return;
    }
    // The address of an element is not that of its data where the type begins elsewhere.
    const auto begin = static_cast<std::uintptr_t>(layout_->data.begin);
    call(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(in) - begin),
         reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(inout) - begin), count);
}

void UserReduction::apply_with_gaps(const void* in, void* inout, std::uint64_t count) const
{
    const SpreadElements first(layout_, count);
    const SpreadElements second(layout_, count);
    const std::uint64_t bytes = first.block().packed_bytes();
    unpack(first.block(), static_cast<const std::byte*>(in), bytes);
    unpack(second.block(), static_cast<const std::byte*>(inout), bytes);
    call(first.block().elements, second.block().elements, count);
    pack(second.block(), static_cast<std::byte*>(inout));
}

void UserReduction::call(const void* in, void* inout, std::uint64_t count) const
{
    MPI_Datatype handle = datatype_;
    if (op_->wide != nullptr) {
        auto elements = static_cast<MPI_Count>(count);
        op_->wide(const_cast<void*>(in), inout, &elements, &handle);
        return;
    }
    // A user function of the narrow kind takes its vector in pieces that an int can count.
    constexpr std::uint64_t piece_max = std::numeric_limits<int>::max();
    for (std::uint64_t done = 0; done < count;) {
        const std::uint64_t piece = std::min(piece_max, count - done);
        auto elements = static_cast<int>(piece);
        const auto offset = static_cast<std::int64_t>(done) * layout_->extent;
        op_->narrow(static_cast<char*>(const_cast<void*>(in)) + offset,
                    static_cast<char*>(inout) + offset, &elements, &handle);
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
    take();
}

void PackedBlocks::take() const
{
    std::byte* to = packed_.get();
    for (const TypedBlock& block : blocks_) {
        pack(block, to);
        to += block.packed_bytes();
    }
}

void PackedBlocks::give_back() const
{
    const std::byte* from = packed_.get();
    for (const TypedBlock& block : blocks_) {
        unpack(block, from, block.packed_bytes());
        from += block.packed_bytes();
    }
}

void CollectiveKeep::give_back()
{
    if (received) {
        received->give_back();
    }
}

void CollectiveKeep::finish(Rank& /*rank*/, engine::Op& op)
{
    if (op.error == engine::OpError::none) {
        give_back();
    }
}

}  // namespace headway::object
