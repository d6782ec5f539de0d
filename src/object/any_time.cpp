// SPDX-License-Identifier: Apache-2.0
#include "object/any_time.hpp"

#include <new>
#include <span>

#include "platform/fatal.hpp"
#include "platform/process.hpp"

namespace headway::object {

HandleTable* process_handles() noexcept
{
    // Nobody's but the process's, like its addresses: several ranks share it, and it is there
    // before the first and after the last of them.
    static auto* const range = new (std::nothrow) platform::AddressRange(handle_range_bytes);
    static HandleTable* const table =
        range != nullptr && range->base() != nullptr
            ? new (std::nothrow) HandleTable(std::span(range->base(), range->size_bytes()))
            : nullptr;
    return table;
}

AnyTimePart& process_any_time()
{
    static AnyTimePart* const part = [] {
        HandleTable* table = process_handles();
        if (table == nullptr) {
            platform::fatal(-1,
                            "cannot reserve 1 GiB of addresses for handles; raise the limit on "
                            "virtual memory (ulimit -v)");
        }
        return new AnyTimePart(*table);
    }();
    return *part;
}

}  // namespace headway::object
