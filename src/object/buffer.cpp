// SPDX-License-Identifier: Apache-2.0
#include "object/buffer.hpp"

#include <algorithm>
#include <new>

#include "engine/joint.hpp"
#include "engine/wait.hpp"
#include "object/rank.hpp"
#include "object/request.hpp"

namespace headway::object {

namespace {

constexpr std::uint64_t alignment = 16;

std::byte* align_up(std::byte* address) noexcept
{
    const auto bits = reinterpret_cast<std::uintptr_t>(address);
    return address + ((alignment - bits % alignment) % alignment);
}

}  // namespace

SendBuffer::SendBuffer(void* memory, MPI_Count size_bytes) noexcept
    : memory_(memory), size_bytes_(size_bytes)
{
    if (!is_automatic()) {
        auto* const start = static_cast<std::byte*>(memory);
        end_ = start + size_bytes;
        begin_ = std::min(align_up(start), end_);
    }
}

std::uint64_t SendBuffer::bytes_of_entry(std::uint64_t message_bytes) noexcept
{
    // Less than message and overhead together by what aligning the buffer and the next entry may
    // cost: a buffer that is the exact sum of its messages holds them all.
    constexpr std::uint64_t entry_overhead = MPI_BSEND_OVERHEAD - 2 * alignment;
    static_assert(sizeof(Entry) <= entry_overhead);
    return (message_bytes + alignment - 1) / alignment * alignment + entry_overhead;
}

std::byte* SendBuffer::end_of(const Entry* entry) const noexcept
{
    if (entry == nullptr) {
        return begin_;
    }
    return reinterpret_cast<std::byte*>(const_cast<Entry*>(entry)) + entry->entry_bytes;
}

/// Bytes between an entry (null: the beginning) and the next one.
std::uint64_t SendBuffer::room_behind(const Entry* entry) const noexcept
{
    const Entry* next = entry != nullptr ? entry->next : first_;
    const std::byte* limit = next != nullptr ? reinterpret_cast<const std::byte*>(next) : end_;
    return static_cast<std::uint64_t>(limit - end_of(entry));
}

bool SendBuffer::find_gap(std::uint64_t entry_bytes) noexcept
{
    if (room_behind(nullptr) >= entry_bytes) {
        before_room_ = nullptr;
        return true;
    }
    for (Entry* entry = first_; entry != nullptr; entry = entry->next) {
        if (room_behind(entry) >= entry_bytes) {
            before_room_ = entry;
            return true;
        }
    }
    return false;
}

std::byte* SendBuffer::find_room(Rank& rank, std::uint64_t message_bytes)
{
    if (message_bytes > static_cast<std::uint64_t>(end_ - begin_)) {
        return nullptr;
    }
    const std::uint64_t entry_bytes = bytes_of_entry(message_bytes);
    // Behind the newest entry first: only when that is used up is it worth looking at all others.
    if (room_behind(before_room_) < entry_bytes) {
        collect(rank);
        if (!find_gap(entry_bytes)) {
            advance_all(rank);
            collect(rank);
            if (!find_gap(entry_bytes)) {
                return nullptr;
            }
        }
    }
    return end_of(before_room_) + sizeof(Entry);
}

void SendBuffer::hold(std::byte* room, std::uint64_t message_bytes, engine::Op* send) noexcept
{
    auto* entry = new (room - sizeof(Entry)) Entry;
    entry->entry_bytes = bytes_of_entry(message_bytes);
    entry->send = send;
    entry->previous = before_room_;
    entry->next = before_room_ != nullptr ? before_room_->next : first_;
    if (entry->next != nullptr) {
        entry->next->previous = entry;
    }
    (before_room_ != nullptr ? before_room_->next : first_) = entry;
    before_room_ = entry;
}

void SendBuffer::hold_outside(Rank& rank, engine::Op* send)
{
    if (outside_.size() >= collect_at_) {
        collect(rank);
        collect_at_ = std::max<std::size_t>(64, 2 * outside_.size());
    }
    outside_.push_back(send);
}

void SendBuffer::unlink(Entry* entry) noexcept
{
    (entry->previous != nullptr ? entry->previous->next : first_) = entry->next;
    if (entry->next != nullptr) {
        entry->next->previous = entry->previous;
    }
    if (before_room_ == entry) {
        before_room_ = entry->previous;
    }
}

namespace {

/// Of any instance.
void end_send(Rank& rank, engine::Op* send)
{
    Instance& instance = rank.instance_of(*send);
    const Inside inside(instance);
    (void)end_op(instance, send, MPI_STATUS_IGNORE);
}

}  // namespace

/// Ends the sends that are complete.
void SendBuffer::collect(Rank& rank)
{
    for (Entry* entry = first_; entry != nullptr;) {
        Entry* const next = entry->next;
        if (entry->send->word.is_complete()) {
            unlink(entry);
            end_send(rank, entry->send);
        }
        entry = next;
    }
    std::erase_if(outside_, [&](engine::Op* send) {
        const bool is_over = send->word.is_complete();
        if (is_over) {
            end_send(rank, send);
        }
        return is_over;
    });
}

engine::Op* SendBuffer::start_flush(Rank& rank)
{
    collect(rank);
    std::vector<engine::Op*> sends = outside_;
    for (const Entry* entry = first_; entry != nullptr; entry = entry->next) {
        sends.push_back(entry->send);
    }
    const auto parts = static_cast<std::uint32_t>(sends.size());
    engine::Op* joint = engine::create_joint(rank.driver(), engine::OpKind::send, parts);
    if (joint == nullptr) {
        return nullptr;
    }
    for (engine::Op* send : sends) {
        engine::add_part(joint, send);
    }
    engine::seal_joint(rank.driver(), joint);
    return joint;
}

bool SendBuffer::flush(Rank& rank)
{
    engine::Op* joint = start_flush(rank);
    if (joint == nullptr) {
        return false;
    }
    engine::wait_for(rank.driver(), joint);
    rank.driver().destroy_op(joint);
    collect(rank);
    return true;
}

}  // namespace headway::object
