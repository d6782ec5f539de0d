// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace headway::study {

/// `headway-study fit FILE [--set KEY=VALUE ...]`: fits the machine to a file of measurements, one
/// a line: collective, algorithm[:parameter], ranks of one node, bytes, microseconds, or - where
/// only a prediction is wanted. Prints lines of JSON: {"key", "value", "error"} of each number
/// fitted, then for each line of the file {"collective", "algorithm", "ranks", "bytes", "us",
/// "predicted_us"}. Returns the exit code.
int run_fit(std::span<const std::string_view> arguments);

}  // namespace headway::study
