// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace headway::launch {

/// All of a file. Failure: what the system says.
base::Result<std::vector<std::byte>> read_file(const std::string& path);
base::Result<std::vector<std::byte>> read_descriptor(int descriptor);

/// Half a sentence that goes on after a program's name, with the cure; `error` is that errno.
std::string why_no_memory_file(int error);

/// A memory file with these bytes, its position behind them; closed on exec. -1, with errno: the
/// system gives none.
int make_memory_file(const std::string& name, std::span<const std::byte> bytes);

}  // namespace headway::launch
