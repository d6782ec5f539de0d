// SPDX-License-Identifier: Apache-2.0
#include "object/packed.hpp"

#include <algorithm>
#include <utility>

#include "engine/shared_task.hpp"

namespace headway::object {

namespace {

/// data::pack or data::unpack of all of a block, shared where that is worth waking somebody.
template <typename Byte>
void copy_with_others(engine::Driver& driver, const TypedBlock& block, std::uint64_t bytes,
                      Byte* packed,
                      void (*copy)(const data::TypedElements&, std::uint64_t, std::uint64_t, Byte*))
{
    constexpr std::uint64_t shared_bytes_min = 256 * 1024;
    constexpr std::uint64_t piece_bytes = 64 * 1024;
    const auto copy_range = [elements = elements_of(block), packed, copy](std::uint64_t from,
                                                                          std::uint64_t to) {
        copy(elements, from, to, packed + from);
    };
    if (bytes < shared_bytes_min) {
        copy_range(0, bytes);
        return;
    }
    sync::Task task(
        bytes, piece_bytes,
        [](const void* given, std::uint64_t from, std::uint64_t to) {
            (*static_cast<decltype(&copy_range)>(given))(from, to);
        },
        &copy_range);
    engine::run_shared(driver, task);
}

}  // namespace

void pack(const TypedBlock& block, std::byte* packed)
{
    data::pack(elements_of(block), 0, block.packed_bytes(), packed);
}

void unpack(const TypedBlock& block, const std::byte* packed, std::uint64_t bytes)
{
    data::unpack(elements_of(block), 0, bytes, packed);
}

void pack_with_others(engine::Driver& driver, const TypedBlock& block, std::byte* packed)
{
    copy_with_others(driver, block, block.packed_bytes(), packed, &data::pack);
}

void unpack_with_others(engine::Driver& driver, const TypedBlock& block, const std::byte* packed,
                        std::uint64_t bytes)
{
    copy_with_others(driver, block, bytes, packed, &data::unpack);
}

PackedSend::PackedSend(const TypedBlock& block)
    : packed_(std::make_unique_for_overwrite<std::byte[]>(block.packed_bytes()))
{
    pack(block, packed_.get());
}

void PackedSend::finish(Rank& /*rank*/, engine::Op& /*op*/) {}

ElementsInPlace::ElementsInPlace(TypedBlock block)
    : block_(std::move(block)), elements_(elements_of(block_))
{
}

void ElementsInPlace::finish(Rank& /*rank*/, engine::Op& /*op*/) {}

ElementsToReceive::ElementsToReceive(TypedBlock block, std::uint64_t buffer_bytes)
    : ElementsInPlace(std::move(block)),
      packed_(std::make_unique_for_overwrite<std::byte[]>(buffer_bytes))
{
}

void ElementsToReceive::finish(Rank& /*rank*/, engine::Op& op)
{
    if (op.in_elements != engine::InElements::yes) {
        data::unpack(elements(), 0, op.status_bytes, packed_.get());
    }
}

SpreadElements::SpreadElements(data::Layout::Pointer layout, std::uint64_t count)
    : block_{std::move(layout), nullptr, count}
{
    // Elements may follow each other downwards, and their data may begin anywhere.
    const data::Layout& type = *block_.layout;
    const std::int64_t steps = count != 0 ? type.extent * static_cast<std::int64_t>(count - 1) : 0;
    const std::int64_t begin = type.data.begin + std::min<std::int64_t>(steps, 0);
    const std::int64_t end = type.data.end + std::max<std::int64_t>(steps, 0);
    memory_ = std::make_unique<std::byte[]>(static_cast<std::size_t>(end - begin));
    block_.elements = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(memory_.get()) -
                                              static_cast<std::uintptr_t>(begin));
}

}  // namespace headway::object
