// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace headway::object {

/// The key under which programs ask which kinds of memory MPI can use (MPI-5.0 section 11.4.3).
inline constexpr std::string_view memory_kinds_key = "mpi_memory_alloc_kinds";

/// What Headway can use: of the kinds that were asked for ("system,mpi:alloc_mem,cuda") those it
/// knows, then those that every library must have.
std::string supported_memory_kinds(std::string_view requested);

}  // namespace headway::object
