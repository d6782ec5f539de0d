// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "sync/outside_bell.hpp"

namespace headway::object {

/// What processes of a node that host several ranks know of each other. In the node heap, made with
/// it.
struct HostDirectory {
    /// Ranks that have called MPI_Init, and in the upper half those that ended without: one word,
    /// so that of two that happen at once one sees the other. Written and read by ranks.
    std::atomic<std::uint64_t> starts{0};
    /// By process, how others wake ranks that its own workers run. Null, and nobody sleeps there
    /// but in the kernel, until the process has written its own; read by who wakes.
    std::atomic<sync::OutsideBell*>* bells = nullptr;
};

}  // namespace headway::object
