// SPDX-License-Identifier: Apache-2.0
// What Headway keeps in the five reserved integers of a status:
//   [0..1] bytes received, 64 bits     [2] 1: cancelled     [3..4] zero
#pragma once

#include <cstdint>
#include <cstring>

#include <mpi.h>

namespace headway::object {

inline std::int64_t status_bytes(const MPI_Status& status) noexcept
{
    std::int64_t bytes = 0;
    std::memcpy(&bytes, status.MPI_internal, sizeof(bytes));
    return bytes;
}

inline void set_status_bytes(MPI_Status& status, std::int64_t bytes) noexcept
{
    std::memcpy(status.MPI_internal, &bytes, sizeof(bytes));
}

inline bool is_status_cancelled(const MPI_Status& status) noexcept
{
    return status.MPI_internal[2] != 0;
}

inline void set_status_cancelled(MPI_Status& status, bool is_cancelled) noexcept
{
    status.MPI_internal[2] = is_cancelled ? 1 : 0;
}

/// Fills a status for a message. MPI_ERROR is left alone, as the standard asks of single
/// completions.
inline void fill_status(MPI_Status& status, int source, int tag, std::int64_t bytes) noexcept
{
    status.MPI_SOURCE = source;
    status.MPI_TAG = tag;
    set_status_bytes(status, bytes);
    set_status_cancelled(status, false);
}

/// The empty status (MPI-5.0, 3.7.3).
inline void clear_status(MPI_Status& status) noexcept
{
    fill_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    status.MPI_ERROR = MPI_SUCCESS;
}

}  // namespace headway::object
