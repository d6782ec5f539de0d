// SPDX-License-Identifier: Apache-2.0
#include "platform/peer_copy.hpp"

#include <sys/prctl.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

#include "platform/memory_copy.hpp"

namespace headway::platform {

namespace {

using Transfer = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                             unsigned long);

CopyOutcome move(Transfer transfer, std::int32_t process_id, void* here, void* there,
                 std::size_t size_bytes) noexcept
{
    std::size_t moved = 0;
    while (moved < size_bytes) {
        const iovec local{static_cast<std::byte*>(here) + moved, size_bytes - moved};
        const iovec remote{static_cast<std::byte*>(there) + moved, size_bytes - moved};
        const ssize_t rc = transfer(process_id, &local, 1, &remote, 1, 0);
        if (rc > 0) {
            moved += static_cast<std::size_t>(rc);
            continue;
        }
        if (rc < 0 && errno == EINTR) {
            continue;
        }
        if (rc == 0 || errno == EFAULT) {
            return CopyOutcome::bad_address;
        }
        // EPERM, ENOSYS, ESRCH (another pid namespace) and whatever a filter invents.
        return CopyOutcome::unreachable;
    }
    return CopyOutcome::done;
}

/// Through a buffer of ours, a block at a time, where the kernel would take long between the two
/// ends as they lie in their pages (is_slow_for_strings): at the same place of its page as there.
template <typename Block>
CopyOutcome move_around(const void* there, std::size_t size_bytes, Block&& block) noexcept
{
    constexpr std::size_t block_bytes = 16 * 1024;
    constexpr std::size_t page = 4096;
    alignas(page) std::byte room[block_bytes + page];
    const std::size_t place = reinterpret_cast<std::uintptr_t>(there) % page;
    auto outcome = CopyOutcome::done;
    for (std::size_t at = 0; at < size_bytes && outcome == CopyOutcome::done; at += block_bytes) {
        outcome = block(room + place, at, std::min(block_bytes, size_bytes - at));
    }
    return outcome;
}

bool is_to_go_around(const void* target, const void* source, std::size_t size_bytes) noexcept
{
    return size_bytes >= string_copy_bytes_min && is_slow_for_strings(target, source);
}

/// In lists of so many runs; run by run where the system does not move a list as a whole, which
/// says what is wrong with which.
CopyOutcome move_runs(Transfer transfer, std::int32_t process_id,
                      std::span<const std::span<std::byte>> here, std::byte* there) noexcept
{
    constexpr std::size_t list_max = 64;
    while (!here.empty()) {
        const auto runs = here.first(std::min(list_max, here.size()));
        iovec local[list_max];
        std::size_t bytes = 0;
        for (std::size_t i = 0; i < runs.size(); ++i) {
            local[i] = {runs[i].data(), runs[i].size()};
            bytes += runs[i].size();
        }
        const iovec remote{there, bytes};
        const ssize_t rc = transfer(process_id, local, runs.size(), &remote, 1, 0);
        if (rc != static_cast<ssize_t>(bytes)) {
            for (const std::span<std::byte> run : runs) {
                const CopyOutcome outcome =
                    move(transfer, process_id, run.data(), there, run.size());
                if (outcome != CopyOutcome::done) {
                    return outcome;
                }
                there += run.size();
            }
        } else {
            there += bytes;
        }
        here = here.subspan(runs.size());
    }
    return CopyOutcome::done;
}

}  // namespace

CopyOutcome read_process(std::int32_t process_id, const void* there, void* here,
                         std::size_t size_bytes) noexcept
{
    auto* const source = static_cast<std::byte*>(const_cast<void*>(there));
    if (is_to_go_around(here, there, size_bytes)) [[unlikely]] {
        return move_around(there, size_bytes, [&](void* room, std::size_t at, std::size_t bytes) {
            const auto outcome = move(&::process_vm_readv, process_id, room, source + at, bytes);
            if (outcome == CopyOutcome::done) {
                copy_memory(static_cast<std::byte*>(here) + at, room, bytes);
            }
            return outcome;
        });
    }
    return move(&::process_vm_readv, process_id, here, source, size_bytes);
}

CopyOutcome write_process(std::int32_t process_id, const void* here, void* there,
                          std::size_t size_bytes) noexcept
{
    if (is_to_go_around(there, here, size_bytes)) [[unlikely]] {
        return move_around(there, size_bytes, [&](void* room, std::size_t at, std::size_t bytes) {
            copy_memory(room, static_cast<const std::byte*>(here) + at, bytes);
            return move(&::process_vm_writev, process_id, room, static_cast<std::byte*>(there) + at,
                        bytes);
        });
    }
    return move(&::process_vm_writev, process_id, const_cast<void*>(here), there, size_bytes);
}

CopyOutcome read_process(std::int32_t process_id, const void* there,
                         std::span<const std::span<std::byte>> here) noexcept
{
    return move_runs(&::process_vm_readv, process_id, here,
                     static_cast<std::byte*>(const_cast<void*>(there)));
}

CopyOutcome write_process(std::int32_t process_id, std::span<const std::span<std::byte>> here,
                          void* there) noexcept
{
    return move_runs(&::process_vm_writev, process_id, here, static_cast<std::byte*>(there));
}

void allow_peer_copies() noexcept
{
    // Without Yama this call is refused, which is as good.
    ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

}  // namespace headway::platform
