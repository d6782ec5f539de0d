// SPDX-License-Identifier: Apache-2.0
#include "object/sent_types.hpp"

namespace headway::object {

struct SentTypes::Record {
    Name name;
    ElementNote note;
    Record* next;
};

SentTypes::Record*& SentTypes::bucket(const Name& name) noexcept
{
    return buckets_[(name.sender * 31 + name.receiver * 7 + name.number) % bucket_count];
}

bool SentTypes::leave(memory::Allocator& allocator, const Name& name,
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

bool SentTypes::take(memory::Allocator& allocator, const Name& name, ElementNote* note) noexcept
{
    if (!lock_.lock(allocator.rank())) {
        return false;
    }
    Record** place = &bucket(name);
    while (*place != nullptr && !((*place)->name == name)) {
        place = &(*place)->next;
    }
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

}  // namespace headway::object
