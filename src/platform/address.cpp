// SPDX-License-Identifier: Apache-2.0
#include "platform/address.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

namespace headway::platform {

bool is_loopback(const void* address, std::size_t bytes) noexcept
{
    sockaddr_storage known{};
    if (address == nullptr || bytes > sizeof known) {
        return false;
    }
    std::memcpy(&known, address, bytes);
    if (known.ss_family == AF_INET && bytes >= sizeof(sockaddr_in)) {
        sockaddr_in internet{};
        std::memcpy(&internet, address, sizeof internet);
        return ntohl(internet.sin_addr.s_addr) >> 24 == 127;
    }
    if (known.ss_family == AF_INET6 && bytes >= sizeof(sockaddr_in6)) {
        sockaddr_in6 internet{};
        std::memcpy(&internet, address, sizeof internet);
        return IN6_IS_ADDR_LOOPBACK(&internet.sin6_addr) != 0;
    }
    return false;
}

bool has_rdma() noexcept
{
    return ::access("/sys/class/infiniband", F_OK) == 0;
}

}  // namespace headway::platform
