// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace headway::platform {

/// Whether `bytes` bytes at `address`, a socket address or null, lead back into this machine.
bool is_loopback(const void* address, std::size_t bytes) noexcept;

/// Whether this machine may have devices for RDMA: its kernel has what they need.
bool has_rdma() noexcept;

}  // namespace headway::platform
