// SPDX-License-Identifier: Apache-2.0
#include "object/note_board.hpp"

namespace headway::object {

struct NoteBoard::Record {
    Name name;
    ElementNote note;
    Record* next;
};

NoteBoard::Record*& NoteBoard::bucket(const Name& name) noexcept
{
    return buckets_[(name.sender * 31 + name.receiver * 7 + name.number + name.context * 101 +
                     name.slot * 13) %
                    bucket_count];
}

/// The link to the record of that name, or to the end of its bucket. Requires the lock.
NoteBoard::Record** NoteBoard::find(const Name& name) noexcept
{
    Record** place = &bucket(name);
    while (*place != nullptr && !((*place)->name == name)) {
        place = &(*place)->next;
    }
    return place;
}

bool NoteBoard::leave(memory::Allocator& allocator, const Name& name,
                      const ElementNote& note) noexcept
{
    auto* const record = allocator.make<Record>(Record{name, note, nullptr});
    if (record == nullptr) {
        return false;
    }
    if (!lock_.lock(allocator.rank())) {
        allocator.free(record);
        return false;
    }
    Record*& first = bucket(name);
    record->next = first;
    first = record;
    lock_.unlock();
    return true;
}

bool NoteBoard::take(memory::Allocator& allocator, const Name& name, ElementNote* note) noexcept
{
    if (!lock_.lock(allocator.rank())) {
        return false;
    }
    Record** const place = find(name);
    Record* const record = *place;
    if (record != nullptr) {
        *place = record->next;
    }
    lock_.unlock();
    if (record == nullptr) {
        return false;
    }
    *note = record->note;
    allocator.free(record);
    return true;
}

NoteBoard::Meeting NoteBoard::meet(memory::Allocator& allocator, const Name& name,
                                   const ElementNote& own, ElementNote* other) noexcept
{
    Name there = name;
    there.side = name.side == Side::given ? Side::taken : Side::given;
    auto* const made = allocator.make<Record>(Record{name, own, nullptr});
    if (made == nullptr || !lock_.lock(allocator.rank())) {
        if (made != nullptr) {
            allocator.free(made);
        }
        return Meeting::no_memory;
    }
    Record** const place = find(there);
    Record* const found = *place;
    if (found != nullptr) {
        *place = found->next;
    } else {
        *place = made;
    }
    lock_.unlock();
    if (found == nullptr) {
        return Meeting::is_first;
    }
    *other = found->note;
    allocator.free(found);
    allocator.free(made);
    return Meeting::is_second;
}

}  // namespace headway::object
