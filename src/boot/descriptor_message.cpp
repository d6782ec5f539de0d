// SPDX-License-Identifier: Apache-2.0
#include "boot/descriptor_message.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

namespace headway::boot {
namespace {

/// Room for two, so that a peer that sends more than it should is seen and nothing leaks.
constexpr std::size_t descriptors_max = 2;

union Control {
    cmsghdr header;
    char bytes[CMSG_SPACE(descriptors_max * sizeof(int))];
};

/// The first descriptor of a control message; the others are closed.
void take_descriptors(const cmsghdr& control, int* descriptor) noexcept
{
    const std::size_t count = (control.cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t each = 0; each < count; ++each) {
        int received = -1;
        std::memcpy(&received, CMSG_DATA(&control) + each * sizeof(int), sizeof received);
        if (*descriptor < 0) {
            *descriptor = received;
        } else {
            ::close(received);
        }
    }
}

}  // namespace

ssize_t send_with_descriptor(int socket, std::string_view bytes, int descriptor) noexcept
{
    constexpr int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
    if (descriptor < 0) {
        return ::send(socket, bytes.data(), bytes.size(), flags);
    }
    iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
    Control control{};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(sizeof(int));
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    return ::sendmsg(socket, &message, flags);
}

ssize_t receive_with_descriptor(int socket, std::span<char> bytes, int* descriptor) noexcept
{
    *descriptor = -1;
    iovec piece{bytes.data(), bytes.size()};
    Control control{};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    const ssize_t count = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count < 0) {
        return count;
    }
    for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr;
         each = CMSG_NXTHDR(&message, each)) {
        if (each->cmsg_level == SOL_SOCKET && each->cmsg_type == SCM_RIGHTS) {
            take_descriptors(*each, descriptor);
        }
    }
    return count;
}

}  // namespace headway::boot
