// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <span>
#include <string_view>

namespace headway::boot {

/// Bytes of a Unix stream socket that may carry one descriptor beside them; both sides of a
/// launcher's connection use it. As send() and recv() without blocking and without a signal.
/// Failures: as those, with errno (ENOTSOCK: nothing was done). Thread rule: any thread.

/// Sends some of `bytes`; `descriptor` travels with the first of them, unless it is negative.
ssize_t send_with_descriptor(int socket, std::string_view bytes, int descriptor) noexcept;

/// Receives some bytes. A descriptor that came with them is put in `*descriptor`, for the caller
/// to close (closed on exec); else it is -1. One that finds no room (ulimit -n) is lost.
ssize_t receive_with_descriptor(int socket, std::span<char> bytes, int* descriptor) noexcept;

}  // namespace headway::boot
