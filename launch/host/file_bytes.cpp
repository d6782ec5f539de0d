// SPDX-License-Identifier: Apache-2.0
#include "file_bytes.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace headway::launch {

base::Result<std::vector<std::byte>> read_descriptor(int descriptor)
{
    constexpr std::size_t step = std::size_t{1} << 18;
    std::vector<std::byte> bytes;
    std::size_t filled = 0;
    while (true) {
        bytes.resize(filled + step);
        const ssize_t count = ::read(descriptor, bytes.data() + filled, step);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return base::Failure{std::strerror(errno)};
        }
        filled += static_cast<std::size_t>(count);
        if (count == 0) {
            bytes.resize(filled);
            return bytes;
        }
    }
}

base::Result<std::vector<std::byte>> read_file(const std::string& path)
{
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        return base::Failure{std::strerror(errno)};
    }
    auto bytes = read_descriptor(descriptor);
    ::close(descriptor);
    return bytes;
}

std::string why_no_memory_file(int error)
{
    const std::string reason = std::strerror(error);
    const bool is_out_of_room =
        error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOSPC || error == EFBIG;
    return is_out_of_room ? "cannot be copied into memory for a rank (" + reason +
                                "); raise ulimit -n or the memory limit, or run it with "
                                "--ranks process"
                          : "cannot be copied into memory for ranks: the system gives no memory "
                            "files (memfd_create: " +
                                reason + "); allow that call, or run it with --ranks process";
}

int make_memory_file(const std::string& name, std::span<const std::byte> bytes)
{
    const int descriptor = ::memfd_create(name.substr(0, 200).c_str(), MFD_CLOEXEC);
    while (descriptor >= 0 && !bytes.empty()) {
        const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
        if (count < 0 && errno != EINTR) {
            const int error = errno;
            ::close(descriptor);
            errno = error;
            return -1;
        }
        bytes = bytes.subspan(count > 0 ? static_cast<std::size_t>(count) : 0);
    }
    return descriptor;
}

}  // namespace headway::launch
