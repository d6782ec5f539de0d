// SPDX-License-Identifier: Apache-2.0
#include "transport/ofi/registration_cache.hpp"

#include <algorithm>
#include <new>

namespace headway::transport::ofi {

namespace {

std::uint64_t bytes_of(const platform::MemoryRange& range) noexcept
{
    return range.end - range.begin;
}

}  // namespace

RegistrationCache::RegistrationCache(Registrar& registrar, platform::MemoryWatch* watch,
                                     const Limits& limits)
    : registrar_(registrar), watch_(watch), limits_(limits)
{
    kept_.reserve(limits.entries);
}

RegistrationCache::~RegistrationCache()
{
    (void)drop_unused();
}

Registration* RegistrationCache::acquire(const void* address, std::size_t bytes,
                                         std::uint64_t access) noexcept
{
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    const platform::MemoryRange range{begin, begin + bytes};
    if (is_unchanged(range)) {
        if (Registration* const found = find(range, access); found != nullptr) {
            ++counts_.hits;
            ++found->uses;
            return found;
        }
    }
    ++counts_.misses;
    std::unique_ptr<Registration> made(
        new (std::nothrow) Registration{.range = range, .access = access, .uses = 1});
    if (made == nullptr) {
        return nullptr;
    }
    // In this order: of a change after the registration the watch has to tell. One that it still
    // has to tell of, from before, costs no more than what is forgotten by it.
    made->is_kept = can_keep(range);
    made->memory = register_memory(*made);
    if (made->memory == nullptr) {
        return nullptr;
    }
    if (made->is_kept) {
        drop_covered(*made);
        made->is_kept = make_room(bytes);
    }
    if (!made->is_kept) {
        return made.release();
    }
    kept_bytes_ += bytes;
    kept_.push_back(std::move(made));
    return kept_.back().get();
}

void RegistrationCache::release(Registration* registration) noexcept
{
    --registration->uses;
    if (registration->uses == 0 && !registration->is_kept) {
        registrar_.close(registration->memory);
        delete registration;
    }
}

void RegistrationCache::forget_changed() noexcept
{
    platform::MemoryRange changed;
    while (watch_ != nullptr && watch_->take_change(changed)) {
        forget(changed);
    }
}

/// Whether what is kept of a range is what is there. While somebody changes memory one does not
/// know what it is.
bool RegistrationCache::is_unchanged(const platform::MemoryRange& range) noexcept
{
    if (lasting_.covers(range)) {
        return true;
    }
    const bool is_settled = watch_ != nullptr && watch_->is_settled();
    forget_changed();
    return is_settled;
}

/// Whether changes of a range will be known, or there are none.
bool RegistrationCache::can_keep(const platform::MemoryRange& range) noexcept
{
    return limits_.entries != 0 && range.end - range.begin <= limits_.bytes &&
           (lasting_.covers(range) || (watch_ != nullptr && watch_->watch(range)));
}

void RegistrationCache::forget(const platform::MemoryRange& changed) noexcept
{
    for (auto place = kept_.begin(); place != kept_.end();) {
        if ((*place)->range.overlaps(changed)) {
            ++counts_.invalidations;
            place = drop(place);
        } else {
            ++place;
        }
    }
}

/// It is then the one used last. Null: there is none.
Registration* RegistrationCache::find(const platform::MemoryRange& range,
                                      std::uint64_t access) noexcept
{
    const auto found = std::find_if(kept_.rbegin(), kept_.rend(), [&](const auto& kept) {
        return kept->access == access && kept->range.covers(range);
    });
    if (found == kept_.rend()) {
        return nullptr;
    }
    std::rotate(found.base() - 1, found.base(), kept_.end());
    return kept_.back().get();
}

/// Room within the limits, at the cost of what has not been used for the longest time. False: what
/// is in use leaves none.
bool RegistrationCache::make_room(std::uint64_t bytes) noexcept
{
    const auto has_room = [&] {
        return kept_.size() < limits_.entries && kept_bytes_ + bytes <= limits_.bytes;
    };
    for (auto place = kept_.begin(); place != kept_.end() && !has_room();) {
        if ((*place)->uses != 0) {
            ++place;
            continue;
        }
        ++counts_.evictions;
        place = drop(place);
    }
    return has_room();
}

/// Whether there was any.
bool RegistrationCache::drop_unused() noexcept
{
    const std::size_t before = kept_.size();
    for (auto place = kept_.begin(); place != kept_.end();) {
        place = (*place)->uses != 0 ? place + 1 : drop(place);
    }
    return kept_.size() != before;
}

/// What a longer one serves for as well, so that a buffer of which more and more is sent is not
/// kept many times.
void RegistrationCache::drop_covered(const Registration& by) noexcept
{
    for (auto place = kept_.begin(); place != kept_.end();) {
        const Registration& kept = **place;
        const bool is_needless =
            kept.uses == 0 && kept.access == by.access && by.range.covers(kept.range);
        place = is_needless ? drop(place) : place + 1;
    }
}

/// Nobody finds it any more; it is closed now, or when its last user releases it.
RegistrationCache::Place RegistrationCache::drop(Place place) noexcept
{
    kept_bytes_ -= bytes_of((*place)->range);
    (*place)->is_kept = false;
    if ((*place)->uses == 0) {
        registrar_.close((*place)->memory);
    } else {
        (void)place->release();  // its users'
    }
    return kept_.erase(place);
}

/// Null: refused, also when nothing is kept for nobody.
void* RegistrationCache::register_memory(const Registration& wanted) noexcept
{
    const auto* const address = reinterpret_cast<const void*>(wanted.range.begin);
    void* memory = registrar_.open(address, bytes_of(wanted.range), wanted.access);
    const std::size_t kept_before = kept_.size();
    if (memory == nullptr && drop_unused()) {
        counts_.evictions += kept_before - kept_.size();
        memory = registrar_.open(address, bytes_of(wanted.range), wanted.access);
    }
    return memory;
}

}  // namespace headway::transport::ofi
