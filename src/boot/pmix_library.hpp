// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "boot/pmix_types.hpp"

namespace headway::boot::pmix {

/// Where libpmix may be, best first: below `prefix` (PMIX_PREFIX), if that is not empty; the file
/// that the launcher itself has loaded, if it is a parent of this process; wherever the loader
/// finds one.
std::vector<std::string> library_paths(const std::string& prefix);

/// Opens the first of `paths` that there is; it stays open. Failure: none can be opened, or it
/// lacks a function.
base::Result<Functions> open_library(const std::vector<std::string>& paths);

}  // namespace headway::boot::pmix
