// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace headway::platform {

/// Outcome of a copy from or to another process.
enum class [[nodiscard]] CopyOutcome : std::uint8_t {
    done,
    unreachable,  ///< this pair has no such access (container, seccomp, user): use another way
    bad_address,  ///< the peer's buffer is not (wholly) mapped: a user error
};

/// Copies between this process and the process `process_id` in one step of the kernel
/// (process_vm_readv and _writev). Thread rule: any thread.
CopyOutcome read_process(std::int32_t process_id, const void* there, void* here,
                         std::size_t size_bytes) noexcept;
CopyOutcome write_process(std::int32_t process_id, const void* here, void* there,
                          std::size_t size_bytes) noexcept;

/// The same between consecutive bytes there and runs here, one after the other.
CopyOutcome read_process(std::int32_t process_id, const void* there,
                         std::span<const std::span<std::byte>> here) noexcept;
CopyOutcome write_process(std::int32_t process_id, std::span<const std::span<std::byte>> here,
                          void* there) noexcept;

/// Where the kernel asks for consent (Yama's scope 1), lets every process of this user copy from
/// and to this one.
void allow_peer_copies() noexcept;

}  // namespace headway::platform
