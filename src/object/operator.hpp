// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <optional>

#include "data/element.hpp"
#include "mpi.h"

namespace headway::object {

/// A user-defined reduction (MPI_Op_create). Belongs to one rank; stays while its handle or a
/// started collective has it.
struct UserOperator {
    MPI_User_function* narrow = nullptr;  ///< exactly one of the two is set
    MPI_User_function_c* wide = nullptr;
    bool is_commutative = false;
    // One for the handle, one for each collective under way, of any instance. Any thread of the
    // rank.
    std::atomic<int> references{1};
};

/// Drops a reference; the last one destroys the operator.
void drop_operator(UserOperator* op);

/// The predefined operator behind a handle; none for user-defined ones, MPI_REPLACE and MPI_NO_OP.
std::optional<data::ReduceOperator> find_predefined_operator(MPI_Op handle) noexcept;

}  // namespace headway::object
