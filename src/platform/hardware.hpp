// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace headway::platform {

/// Kinds of hardware that several cpus share, mostly from large to small.
enum class Hardware : std::uint8_t {
    package,
    numa_node,
    l3_cache,
    l2_cache,
    l1_cache,
    core,
    cpu,
    count
};
inline constexpr auto hardware_kinds = static_cast<std::size_t>(Hardware::count);

/// What others call it (hwloc): "NUMANode".
std::string_view name_of(Hardware kind) noexcept;

/// The one piece of each kind that holds all of some cpus, by the lowest cpu that it holds. Plain
/// data: ranks tell each other.
struct HardwarePlace {
    static constexpr std::int32_t several = -1;  ///< they are spread over more than one
    static constexpr std::int32_t unknown = -2;  ///< the system does not say what there is

    std::int32_t of(Hardware kind) const noexcept { return pieces[static_cast<std::size_t>(kind)]; }

    std::array<std::int32_t, hardware_kinds> pieces;
};

/// Where cpus are, from the files of the system, those of Linux below /sys/devices/system.
HardwarePlace find_hardware(std::span<const unsigned> cpus,
                            const std::string& files = "/sys/devices/system");

/// Size of the second cache of a core, likely its own, by what the system says, else 1 MiB.
std::uint64_t own_cache_bytes() noexcept;

/// Size of the largest cache that a cpu uses, shared by some cores or by all of its package, by the
/// same files; 0 where they do not say.
std::uint64_t find_last_cache(unsigned cpu, const std::string& files = "/sys/devices/system");

/// That of a cpu which this process may use, else what the C library says, 0 where it says nothing.
/// The library's word comes second: on an AMD EPYC that of Debian 12 (glibc 2.36) adds up the last
/// caches of a package, 256 MiB where eight cores share 32.
std::uint64_t last_cache_bytes();

}  // namespace headway::platform
