// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace headway::launch {

/// A library that a program loads: the name it is asked for under, and its file.
struct FoundLibrary {
    std::string name;
    std::string path;
};

/// What a program's loader prints about the libraries that it would load (`ld.so --list`).
/// Failure: half a sentence that goes on after the program's name.
base::Result<std::vector<FoundLibrary>> parse_library_list(std::string_view text);

/// All libraries of a program, in the order its loader would load them, found by that loader
/// itself: LD_LIBRARY_PATH of `environment`, run paths, the system's directories. Starts a process
/// and waits for it. Failure as above.
base::Result<std::vector<FoundLibrary>> find_libraries(const std::string& interpreter,
                                                       const std::string& program,
                                                       const std::vector<std::string>& environment);

}  // namespace headway::launch
