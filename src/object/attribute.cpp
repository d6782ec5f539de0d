// SPDX-License-Identifier: Apache-2.0
#include "object/attribute.hpp"

#include <algorithm>

namespace headway::object {

int KeyvalTable::add(Keyval keyval)
{
    keyval.number = next_++;
    keys_.emplace(keyval.number, std::make_shared<const Keyval>(keyval));
    return keyval.number;
}

std::shared_ptr<const Keyval> KeyvalTable::find(Keyed keyed, int number) const
{
    const auto found = keys_.find(number);
    return found != keys_.end() && found->second->keyed == keyed ? found->second : nullptr;
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
