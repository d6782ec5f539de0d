// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace headway::object {

class Rank;

/// Remembers from now on where the rank's objects are made, if the knob `leaks` is set.
void watch_for_leaks(Rank& rank);

/// Names the rank's objects that nobody freed, with the calls that made them, on standard error.
/// Nothing happens where they were not watched. Requires: the rank is about to end.
void report_leaks(Rank& rank);

}  // namespace headway::object
