// SPDX-License-Identifier: Apache-2.0
//
// A slab is a run of 64 KiB units (of 256 KiB for blocks above 4 KiB), cut into blocks of one size.
// A slab with room is in its owner's list for the size; a full one is in no list. One empty slab a
// size is kept, further ones go back to the node.
#include "memory/allocator.hpp"

#include <cassert>
#include <cstring>

namespace headway::memory {
namespace {

constexpr std::uint32_t slab_units(std::uint32_t size_class) noexcept
{
    return size_class_bytes(size_class) <= 4096 ? 1 : 4;
}

constexpr std::uint32_t slab_blocks(std::uint32_t size_class) noexcept
{
    return static_cast<std::uint32_t>((slab_units(size_class) * unit_bytes) /
                                      size_class_bytes(size_class));
}

/// The first word of a freed block is the link of whatever list it is in.
void* next_of(void* block) noexcept
{
    void* next = nullptr;
    std::memcpy(&next, block, sizeof next);
    return next;
}

void set_next(void* block, void* next) noexcept
{
    std::memcpy(block, &next, sizeof next);
}

}  // namespace

Allocator::Block Allocator::take_large(std::size_t size_bytes) noexcept
{
    const std::uint64_t units = (size_bytes + unit_bytes - 1) >> unit_shift;
    if (units > UINT32_MAX || size_bytes > SIZE_MAX - unit_bytes) {
        return {nullptr, false};
    }
    const std::uint32_t first =
        runs_->allocate(static_cast<std::uint32_t>(units), UnitKind::large, rank_, rule_);
    if (first == 0) {
        return {nullptr, false};
    }
    return {runs_->address_of(first), runs_->info(first).is_new};
}

inline Allocator::Block Allocator::take(std::size_t size_bytes) noexcept
{
    if (size_bytes > slab_block_bytes_max) {
        return take_large(size_bytes);
    }
    const std::uint32_t size_class = size_class_of(size_bytes);
    std::uint32_t head = mine_->slabs_with_room[size_class];
    if (head == 0) [[unlikely]] {
        head = slab_with_room(size_class);
        if (head == 0) {
            return {nullptr, false};
        }
    }
    UnitInfo& slab = runs_->info(head);
    Block block{slab.free_list, false};
    if (block.place != nullptr) {
        slab.free_list = next_of(block.place);
    } else {
        block.place =
            runs_->address_of(head) + std::uint64_t{slab.fresh} * size_class_bytes(size_class);
        block.is_new = slab.is_new;
        ++slab.fresh;
    }
    ++slab.used;
    if (slab.used == slab_blocks(size_class)) {
        unlink_slab(head);
    }
    count_bytes(size_class_bytes(size_class));
    return block;
}

void* Allocator::allocate(std::size_t size_bytes) noexcept
{
    return take(size_bytes).place;
}

void* Allocator::allocate_zeroed(std::size_t size_bytes) noexcept
{
    const Block block = take(size_bytes);
    if (block.place != nullptr && !block.is_new) {
        std::memset(block.place, 0, size_bytes);
    }
    return block.place;
}

void Allocator::free(void* block) noexcept
{
    if (block == nullptr) {
        return;
    }
    const UnitInfo& unit = runs_->info(runs_->unit_of(block));
    if (unit.kind == UnitKind::large) {
        // A lock that cannot be had means a dead process; the block then stays allocated.
        (void)runs_->free(runs_->unit_of(block), rank_);
        return;
    }
    assert(unit.kind == UnitKind::slab && "block is not of this heap or was freed before");
    const std::uint32_t head = unit.head;
    const std::uint32_t owner = runs_->info(head).owner;
    if (owner == rank_) [[likely]] {
        free_in_slab(head, block);
    } else {
        ranks_[owner].inbound.push(::new (block) sync::ListLink);
    }
}

void Allocator::take_inbound() noexcept
{
    sync::ListLink* link = mine_->inbound.take_all();
    while (link != nullptr) {
        sync::ListLink* const next = link->next;
        free_in_slab(runs_->info(runs_->unit_of(link)).head, link);
        link = next;
    }
}

std::size_t Allocator::usable_bytes(const void* block) const noexcept
{
    const UnitInfo& unit = runs_->info(runs_->unit_of(block));
    const UnitInfo& head = runs_->info(unit.head);
    return head.kind == UnitKind::large ? head.run_units * unit_bytes
                                        : size_class_bytes(head.size_class);
}

std::uint32_t Allocator::slab_with_room(std::uint32_t size_class) noexcept
{
    take_inbound();
    const std::uint32_t head = mine_->slabs_with_room[size_class];
    return head != 0 ? head : open_slab(size_class);
}

std::uint32_t Allocator::open_slab(std::uint32_t size_class) noexcept
{
    const std::uint32_t head =
        runs_->allocate(slab_units(size_class), UnitKind::slab, rank_, rule_);
    if (head == 0) {
        return 0;
    }
    UnitInfo& slab = runs_->info(head);
    slab.free_list = nullptr;
    slab.fresh = 0;
    slab.used = 0;
    slab.size_class = static_cast<std::uint8_t>(size_class);
    link_slab(head);
    return head;
}

void Allocator::free_in_slab(std::uint32_t head, void* block) noexcept
{
    UnitInfo& slab = runs_->info(head);
    const std::uint32_t size_class = slab.size_class;
    assert(slab.used > 0 && "block freed twice");
    set_next(block, slab.free_list);
    slab.free_list = block;
    if (slab.used == slab_blocks(size_class)) {
        link_slab(head);
    }
    --slab.used;
    count_bytes(0 - std::uint64_t{size_class_bytes(size_class)});
    if (slab.used == 0 && (slab.previous != 0 || slab.next != 0)) {
        unlink_slab(head);
        if (!runs_->free(head, rank_)) {
            link_slab(head);
        }
    }
}

void Allocator::link_slab(std::uint32_t head) noexcept
{
    UnitInfo& slab = runs_->info(head);
    std::uint32_t& list = mine_->slabs_with_room[slab.size_class];
    slab.previous = 0;
    slab.next = list;
    if (list != 0) {
        runs_->info(list).previous = head;
    }
    list = head;
}

void Allocator::unlink_slab(std::uint32_t head) noexcept
{
    UnitInfo& slab = runs_->info(head);
    if (slab.previous != 0) {
        runs_->info(slab.previous).next = slab.next;
    } else {
        mine_->slabs_with_room[slab.size_class] = slab.next;
    }
    if (slab.next != 0) {
        runs_->info(slab.next).previous = slab.previous;
    }
    slab.previous = 0;
    slab.next = 0;
}

void Allocator::count_bytes(std::uint64_t change) noexcept
{
    // Relaxed, and not read-modify-write: whoever acts for the rank is the only writer.
    auto& bytes = mine_->slab_bytes_in_use;
    bytes.store(bytes.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
}

}  // namespace headway::memory
