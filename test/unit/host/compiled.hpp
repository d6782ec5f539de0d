// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace headway::launch {

/// A folder of one test, with what the system's compiler makes there.
class Workshop {
  public:
    Workshop();
    ~Workshop();
    Workshop(const Workshop&) = delete;
    Workshop& operator=(const Workshop&) = delete;

    /// Compiles `source` with the compiler and options given ("gcc -O1") and returns the path of
    /// the result; a failure of the compiler is one of the test.
    std::string compile(const std::string& compiler, const std::string& source) const;
    /// The same, read.
    std::vector<std::byte> compiled(const std::string& compiler, const std::string& source) const;

    const std::filesystem::path& folder() const noexcept { return folder_; }

  private:
    std::filesystem::path folder_;
};

}  // namespace headway::launch
