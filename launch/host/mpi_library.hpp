// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <headway/interface.h>

#include <string>

#include "base/result.hpp"

namespace headway::launch {

/// Headway's library in this process, before any program asks for it: whatever library a program
/// was linked with, its name then leads here.
class MpiLibrary {
  public:
    /// Failure: a sentence with the cure.
    static base::Result<MpiLibrary> load();

    const struct headway_interface_1& table() const noexcept { return *table_; }
    bool has(const void* address) const noexcept
    {
        const auto* place = static_cast<const char*>(address);
        return place >= begin_ && place < end_;
    }

  private:
    const struct headway_interface_1* table_ = nullptr;
    const char* begin_ = nullptr;
    const char* end_ = nullptr;
};

}  // namespace headway::launch
