// SPDX-License-Identifier: Apache-2.0
#include "protocol/tickets.hpp"

#include <algorithm>
#include <new>

namespace headway::protocol {

namespace {

constexpr std::uint32_t index_of(Ticket ticket) noexcept
{
    return static_cast<std::uint32_t>(ticket);
}

}  // namespace

bool Tickets::grow(memory::Allocator& allocator) noexcept
{
    const std::uint32_t count = std::max(16U, count_ * 2);
    auto* const grown = static_cast<Entry*>(allocator.allocate(count * sizeof(Entry)));
    if (grown == nullptr) {
        return false;
    }
    std::copy_n(entries_, count_, grown);
    for (std::uint32_t i = count; i-- > count_;) {
        new (&grown[i]) Entry;
        grown[i].next_free = first_free_;
        first_free_ = i + 1;
    }
    allocator.free(entries_);
    entries_ = grown;
    count_ = count;
    return true;
}

Ticket Tickets::issue(memory::Allocator& allocator, engine::Op* op, std::uint32_t peer,
                      std::uint64_t bytes_left) noexcept
{
    if (first_free_ == 0 && !grow(allocator)) {
        return 0;
    }
    const std::uint32_t index = first_free_ - 1;
    Entry& entry = entries_[index];
    first_free_ = entry.next_free;
    entry.op = op;
    entry.peer = peer;
    entry.bytes_left = bytes_left;
    return std::uint64_t{entry.generation} << 32 | index;
}

Tickets::Entry* Tickets::find(Ticket ticket, std::uint32_t peer) noexcept
{
    const std::uint32_t index = index_of(ticket);
    if (index >= count_) {
        return nullptr;
    }
    Entry& entry = entries_[index];
    const bool is_it =
        entry.op != nullptr && entry.generation == ticket >> 32 && entry.peer == peer;
    return is_it ? &entry : nullptr;
}

void Tickets::cancel(Ticket ticket) noexcept
{
    Entry& entry = entries_[index_of(ticket)];
    entry.op = nullptr;
    entry.exposed = nullptr;
    // A ticket is never 0, whatever its place.
    entry.generation = entry.generation == UINT32_MAX ? 1 : entry.generation + 1;
    entry.next_free = first_free_;
    first_free_ = index_of(ticket) + 1;
}

}  // namespace headway::protocol
