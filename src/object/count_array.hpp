// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <mpi.h>

namespace headway::object {

/// An array of counts or displacements that a caller gave as int or as MPI_Count. Does not own it.
class CountArray {
  public:
    CountArray() noexcept = default;
    explicit CountArray(const int* narrow) noexcept : narrow_(narrow) {}
    explicit CountArray(const MPI_Count* wide) noexcept : wide_(wide) {}

    bool is_null() const noexcept { return narrow_ == nullptr && wide_ == nullptr; }

    /// Requires !is_null() and `index` within the caller's array.
    MPI_Count operator[](std::size_t index) const noexcept
    {
        return wide_ != nullptr ? wide_[index] : narrow_[index];
    }

  private:
    const int* narrow_ = nullptr;
    const MPI_Count* wide_ = nullptr;
};

}  // namespace headway::object
