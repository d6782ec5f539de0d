// SPDX-License-Identifier: Apache-2.0
// A machine as a file: a line a number, "node_latency_us = 0.12", by the names of machine_keys();
// what follows # is for people. What it does not name keeps its typical value.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "study/machine.hpp"

namespace headway::study {

/// `name` is the file's in sentences.
base::Result<Machine> parse_machine(std::string_view text, const std::string& name);

/// The text of a file of at most a megabyte; `what` it should be, like "a machine file".
base::Result<std::string> text_of_file(const std::string& name, std::string_view what);

base::Result<Machine> read_machine(const std::string& name);

}  // namespace headway::study
