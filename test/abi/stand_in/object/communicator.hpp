// SPDX-License-Identifier: Apache-2.0
// Stands before src/object/ on the include path of entries_test.py: what the abi layer asks of it.
#pragma once

#include <mpi.h>

#include "object/error_handler.hpp"

namespace headway::object {

/// A communicator as its rank sees it.
class Communicator {
  public:
    Communicator(int size, int rank, MPI_Comm handle, ErrorHandler* error_handler) noexcept
        : size_(size), rank_(rank), handle_(handle), error_handler_(error_handler)
    {
    }

    int size() const noexcept { return size_; }
    int rank() const noexcept { return rank_; }
    int peer_count() const noexcept { return size_; }
    bool is_inter() const noexcept { return false; }
    int source_count() const noexcept { return size_; }
    int destination_count() const noexcept { return size_; }
    MPI_Comm handle() const noexcept { return handle_; }
    ErrorHandler* error_handler() const noexcept { return error_handler_; }
    bool is_handler_chosen() const noexcept { return false; }

  private:
    int size_;
    int rank_;
    MPI_Comm handle_;
    ErrorHandler* error_handler_;
};

}  // namespace headway::object
