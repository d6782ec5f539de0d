// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace headway::study {

/// `headway-study verify [--through P] [--jobs N] [NAME ...]`: verifies every algorithm, or those
/// whose names begin like one of these, in as many threads as there are cores or N, and prints a
/// line for each. Returns the exit code.
int run_verify(std::span<const std::string_view> arguments);

}  // namespace headway::study
