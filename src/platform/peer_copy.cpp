// SPDX-License-Identifier: Apache-2.0
#include "platform/peer_copy.hpp"

#include <sys/prctl.h>
#include <sys/uio.h>

#include <cerrno>

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

}  // namespace

CopyOutcome read_process(std::int32_t process_id, const void* there, void* here,
                         std::size_t size_bytes) noexcept
{
    return move(&::process_vm_readv, process_id, here, const_cast<void*>(there), size_bytes);
}

CopyOutcome write_process(std::int32_t process_id, const void* here, void* there,
                          std::size_t size_bytes) noexcept
{
    return move(&::process_vm_writev, process_id, const_cast<void*>(here), there, size_bytes);
}

void allow_peer_copies() noexcept
{
    // Without Yama this call is refused, which is as good.
    ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

}  // namespace headway::platform
