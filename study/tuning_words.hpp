// SPDX-License-Identifier: Apache-2.0
// "radix=4" and its like, for the algorithms that read it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/coll/table.hpp"

namespace headway::study {

namespace coll = protocol::coll;

inline constexpr std::string_view tuning_keys = "radix, ports, window, segments";

/// The assignment is one of a tuning, right or wrong.
bool is_of_tuning(std::string_view assignment);

/// Why an assignment of a tuning cannot be; nothing if it can.
std::optional<std::string> fault_of_tuning(std::string_view assignment);

/// Changes what the row's builder reads. Requires: nothing wrong with it.
void tune(coll::Tuning& tuning, const coll::Row& row, std::string_view assignment);

/// The names of all collectives, or of the algorithms of this one if it is one.
std::string known_names(std::string_view collective);

}  // namespace headway::study
