// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace headway::object {

/// "MPI_ERR_RANK" for its value; null for numbers that are no class of the standard.
const char* error_class_name(int error_class) noexcept;

/// What that class means, as a clause without a full stop ("a rank is not in the communicator");
/// null for numbers that are no class of the standard.
const char* error_class_text(int error_class) noexcept;

}  // namespace headway::object
