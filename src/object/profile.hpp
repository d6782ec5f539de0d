// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace headway::object {

class Process;
class Rank;

/// The value of the knob `stats` that asks for a profile.
constexpr std::uint64_t stats_with_calls = 2;

/// Counts from now on what each function takes, if that knob asks for it. A node heap without room
/// leaves that part of the page out.
void begin_profile(Rank& rank);

/// Prints the page for the whole job on standard error. Requires: the ranks have stopped counting.
void print_profile(Process& process);

}  // namespace headway::object
