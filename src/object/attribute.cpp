// SPDX-License-Identifier: Apache-2.0
#include "object/attribute.hpp"

#include <algorithm>

namespace headway::object {

int KeyvalTable::add(Keyval keyval)
{
    if (places_.size() >= places_max_) {
        std::erase_if(places_, [](const auto& place) { return place.second.key.expired(); });
        places_max_ = std::max(places_max_, 2 * places_.size());
    }
    keyval.number = next_++;
    const auto key = std::make_shared<const Keyval>(keyval);
    places_.emplace(keyval.number, Place{.key = key, .held = key});
    return keyval.number;
}

std::shared_ptr<const Keyval> KeyvalTable::find(Keyed keyed, int number) const
{
    const auto found = places_.find(number);
    return found != places_.end() && found->second.held != nullptr &&
                   found->second.held->keyed == keyed
               ? found->second.held
               : nullptr;
}

bool KeyvalTable::exists(Keyed keyed, int number) const
{
    const auto found = places_.find(number);
    const auto key = found != places_.end() ? found->second.key.lock() : nullptr;
    return key != nullptr && key->keyed == keyed;
}

void KeyvalTable::free(int number)
{
    places_.at(number).held.reset();
}

const AttributeSet::Entry* AttributeSet::find(int number) const noexcept
{
    const auto found =
        std::ranges::find(entries_, number, [](const Entry& entry) { return entry.key->number; });
    return found != entries_.end() ? &*found : nullptr;
}

void AttributeSet::remove(int number)
{
    std::erase_if(entries_, [&](const Entry& entry) { return entry.key->number == number; });
}

}  // namespace headway::object
