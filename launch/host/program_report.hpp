// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "loader.hpp"

namespace headway::launch {

/// What a program would meet in a rank host, in lines for its user.
std::string report_on(const HostedProgram& program);

/// Why a function that the program or a library of its own asks for cannot be had in a rank; half a
/// sentence, empty: all can.
std::string refused_function(const HostedProgram& program);

}  // namespace headway::launch
