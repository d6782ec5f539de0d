// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace headway::study {

/// `headway-study sim COLLECTIVE --nodes N --ppn P --bytes B,B... [--algorithm NAME] [--root R]
/// [--first RANKS] [--width RANKS] [--limit MESSAGES] [--machine FILE] [--set KEY=VALUE ...]`:
/// simulates every algorithm of a collective. Prints a line of JSON for each algorithm and size:
/// {"algorithm", "bytes", "us", "messages"} or {"algorithm", "bytes", "skipped"}. Returns the exit
/// code.
int run_sim(std::span<const std::string_view> arguments);

}  // namespace headway::study
