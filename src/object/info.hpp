// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headway::object {

/// Keys with values, in the order in which the keys were set first (MPI-5.0 chapter 10).
/// Thread rule: one thread at a time.
class Info {
  public:
    using Entry = std::pair<std::string, std::string>;

    /// The value of a key, or null.
    const std::string* find(std::string_view key) const noexcept;
    void set(std::string_view key, std::string_view value);
    /// False: there is no such key.
    bool erase(std::string_view key);

    const std::vector<Entry>& entries() const noexcept { return entries_; }

  private:
    std::vector<Entry> entries_;
};

/// What a program was started as, as far as it is known here: the keys of MPI_INFO_ENV (MPI-5.0
/// section 11.2.1) that need no running MPI. `argc` and `argv` as main() got them, or none.
Info describe_program(int argc, char* const* argv);
Info describe_program(const std::vector<std::string>& words);

/// The same from what the system knows of this process.
Info describe_program();

}  // namespace headway::object
