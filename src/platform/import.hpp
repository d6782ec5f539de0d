// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

namespace headway::platform {

/// While it lives, one loaded library gets another function than the one it has linked by a name.
/// Other libraries, and what looks the name up later, are not touched.
///
/// Thread rule: any thread, also while others run code of the library: each of their calls takes
/// one function or the other.
class ImportReplacement {
  public:
    /// `inside`: any address of the library. Where it does not call `symbol`, or its table cannot
    /// be changed, nothing happens.
    ImportReplacement(const void* inside, const char* symbol, void* replacement) noexcept;
    ImportReplacement(const ImportReplacement&) = delete;
    ImportReplacement& operator=(const ImportReplacement&) = delete;
    ~ImportReplacement();

    bool is_in_force() const noexcept { return count_ != 0; }

  private:
    struct Place {
        void** slot;
        void* before;
    };

    std::array<Place, 4> places_{};  ///< called and addressed, with and without a jump
    std::size_t count_ = 0;
};

}  // namespace headway::platform
