// SPDX-License-Identifier: Apache-2.0
// Choices as users write them: knobs that force an algorithm (HEADWAY_COLL_<COLLECTIVE>) and tuning
// files (HEADWAY_TUNING), one line a choice, of six words:
//
//   collective  ranks  bytes  cores  nodes    algorithm[:parameter]
//   allreduce   3..8   16K..  own    any      ring
//   barrier     any    any    any    several  two_level:1
//
// Ranks and bytes are one number, "first..", "..last", "first..last" or "any"; bytes are of the
// vector or of one rank's block. Cores are "own" (each rank has one), "shared" (the job is on one
// node that has fewer) or "any"; nodes are "one" (the ranks of the call are on one), "process" (and
// there in one), "several", "levels" (and some share one) or "any". What follows # is for people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "config/knobs.hpp"
#include "protocol/coll/choices.hpp"

namespace headway::protocol::coll {

/// The table that the settings ask for: what is forced, the file's lines, what is built in.
/// Failure: one sentence that names the knob, or the file and the line, and what would be right.
base::Result<Choices> read_choices(const config::Knobs& knobs);

/// The lines of a tuning file; `name` is the file's in sentences.
base::Result<std::vector<Choice>> parse_choices(std::string_view text, std::string_view name);

/// Makes `choice` one of that algorithm, "ring" or "knomial:4". Its collective is given.
base::Outcome parse_algorithm(std::string_view word, Choice& choice);

/// The line of a tuning file that says the same.
std::string line_of(const Choice& choice);

/// The names of a collective's algorithms that parse_algorithm() takes, with their parameters:
/// "linear, ring, bruck, bruck_ports[:ports]".
std::string algorithms_of(Collective collective);

}  // namespace headway::protocol::coll
