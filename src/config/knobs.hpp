// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "config_knobs.hpp"
#include "platform/environment.hpp"

namespace headway::config {

/// Fills Knobs from the HEADWAY_<KNOB> variables of `environment`; a variable that is absent or
/// empty leaves the default of spec/knobs.toml. Fails on the first value that cannot be used, with
/// a sentence that names the variable, the value and what is allowed.
base::Result<Knobs> load_knobs(const platform::Environment& environment);

/// One sentence for every HEADWAY_ variable that no knob answers to, with the nearest knob's name.
/// A misspelt setting must not pass silently, but it does not stop a program either.
std::vector<std::string> unknown_knob_warnings(const platform::Environment& environment);

/// The words of a choice, in the order of their values.
std::vector<std::string_view> choices_of(const KnobRow& row);

/// Whether a knob that is no path may have that value.
bool takes_value(const KnobRow& row, std::uint64_t value);

}  // namespace headway::config
