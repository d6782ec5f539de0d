// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace headway::study {

/// headway-study choices: prints the table of algorithms that the environment's settings ask for,
/// as a tuning file. Returns the exit code.
int run_choices(std::span<const std::string_view> arguments);

}  // namespace headway::study
