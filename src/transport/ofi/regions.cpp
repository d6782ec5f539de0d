// SPDX-License-Identifier: Apache-2.0
#include "transport/ofi/regions.hpp"

#include <new>
#include <utility>

#include "transport/ofi/buffers.hpp"

namespace headway::transport::ofi {

// NOLINTNEXTLINE(bugprone-exception-escape): asked for a value only where there is one
void* RegionRegistrar::open(const void* address, std::size_t bytes, std::uint64_t access) noexcept
{
    auto opened = Region::open_always(fabric_, address, bytes, access, next_key());
    return opened ? new (std::nothrow) Region(std::move(opened.value())) : nullptr;
}

void RegionRegistrar::close(void* memory) noexcept
{
    delete static_cast<Region*>(memory);
}

/// Of memory for others, where the provider does not choose: one that a stranger does not guess.
std::uint64_t RegionRegistrar::next_key() noexcept
{
    const std::uint64_t number = first_free_key + keys_used_++;
    return fabric_.info->domain_attr->mr_key_size < sizeof number
               ? number
               : base::keyed_number(secret_, &number, sizeof number);
}

}  // namespace headway::transport::ofi
