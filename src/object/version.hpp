// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace headway::object {

/// What MPI_Get_library_version answers. All processes of a node must have the same: the node heap
/// has no other layout number.
inline constexpr std::string_view library_version = "Headway 0.1.0, MPI 5.0, MPI ABI 1.0";

}  // namespace headway::object
