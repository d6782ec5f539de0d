// SPDX-License-Identifier: Apache-2.0
#include "platform/process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "platform/cpu.hpp"

namespace headway::platform {
namespace {

/// Of a short file of the system; empty where there is none.
std::string content_of(const std::string& path)
{
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return {};
    }
    char text[4096];
    const ssize_t bytes = ::read(file, text, sizeof text);
    ::close(file);
    return {text, bytes > 0 ? static_cast<std::size_t>(bytes) : 0};
}

}  // namespace

std::int32_t process_id() noexcept
{
    return ::getpid();
}

bool process_exists(std::int32_t process_id) noexcept
{
    // A process that ended is a zombie until its parent asks, and then still takes signals; its
    // memory map is gone at once.
    std::uint64_t nothing = 0;
    const iovec here{&nothing, sizeof nothing};
    const iovec there{reinterpret_cast<void*>(std::uintptr_t{1}), sizeof nothing};
    // A living process answers that nothing is mapped there (EFAULT), or refuses (EPERM).
    return ::process_vm_readv(process_id, &here, 1, &there, 1, 0) >= 0 || errno != ESRCH;
}

std::int32_t thread_id() noexcept
{
    return ::gettid();
}

std::string host_name()
{
    char name[256] = {};
    if (::gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') {
        return "localhost";
    }
    return name;
}

std::string node_identity()
{
    std::string identity = content_of("/proc/sys/kernel/random/boot_id");
    if (identity.empty()) {
        identity = host_name();
    }
    for (const char* name : {"/proc/self/ns/pid", "/proc/self/ns/ipc"}) {
        char space[64];
        const ssize_t bytes = ::readlink(name, space, sizeof space);
        identity += ';';
        identity.append(space, bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
    }
    std::erase_if(identity, [](char byte) { return byte <= ' ' || byte > '~'; });
    return identity;
}

std::string machine_name()
{
    utsname system{};
    return ::uname(&system) == 0 ? system.machine : "";
}

std::vector<unsigned> allowed_cpus()
{
    std::vector<unsigned> cpus;
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        return cpus;
    }
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &allowed)) {
            cpus.push_back(cpu);
        }
    }
    return cpus;
}

std::size_t count_cpus_of_parent() noexcept
{
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    return ::sched_getaffinity(::getppid(), sizeof allowed, &allowed) == 0
               ? static_cast<std::size_t>(CPU_COUNT(&allowed))
               : 0;
}

bool can_run_on(unsigned cpu) noexcept
{
    cpu_set_t before;
    cpu_set_t wanted;
    CPU_ZERO(&before);
    CPU_ZERO(&wanted);
    if (cpu >= CPU_SETSIZE || ::sched_getaffinity(0, sizeof before, &before) != 0) {
        return false;
    }
    CPU_SET(cpu, &wanted);
    const bool can_run = ::sched_setaffinity(0, sizeof wanted, &wanted) == 0;
    (void)::sched_setaffinity(0, sizeof before, &before);
    return can_run;
}

int count_threads(std::int32_t process_id)
{
    int count = 0;
    DIR* const threads = ::opendir(("/proc/" + std::to_string(process_id) + "/task").c_str());
    while (threads != nullptr) {
        const dirent* const entry = ::readdir(threads);
        if (entry == nullptr) {
            ::closedir(threads);
            break;
        }
        count += entry->d_name[0] != '.' ? 1 : 0;
    }
    return count;
}

int other_threads_on(unsigned cpu)
{
    int count = 0;
    DIR* const threads = ::opendir("/proc/self/task");
    while (threads != nullptr) {
        const dirent* const entry = ::readdir(threads);
        if (entry == nullptr) {
            ::closedir(threads);
            break;
        }
        const pid_t thread = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
        cpu_set_t allowed;
        CPU_ZERO(&allowed);
        if (thread > 0 && thread != ::gettid() &&
            ::sched_getaffinity(thread, sizeof allowed, &allowed) == 0 &&
            CPU_ISSET(cpu, &allowed)) {
            ++count;
        }
    }
    return count;
}

std::uint64_t random_token() noexcept
{
    std::uint64_t token = 0;
    if (::getrandom(&token, sizeof token, GRND_NONBLOCK) != sizeof token) {
        // Too early in the life of the machine: time and pid tell processes apart as well.
        token = static_cast<std::uint64_t>(monotonic_ns()) << 24 ^
                static_cast<std::uint64_t>(process_id());
    }
    return token;
}

base::Secret make_secret() noexcept
{
    base::Secret secret;
    while (::getrandom(&secret, sizeof secret, 0) != sizeof secret) {
        if (errno != EINTR) {  // no such call: what a token is then
            return {random_token(), random_token()};
        }
    }
    return secret;
}

void write_error(std::string_view line) noexcept
{
    // Nothing can be done about a closed standard error.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

void exit_now(int code) noexcept
{
    ::_exit(code & 0xFF);
}

AddressRange::AddressRange(std::size_t size_bytes) noexcept
{
    void* range = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range != MAP_FAILED) {
        base_ = static_cast<std::byte*>(range);
        size_bytes_ = size_bytes;
    }
}

AddressRange::~AddressRange()
{
    if (base_ != nullptr) {
        ::munmap(base_, size_bytes_);
    }
}

AddressRange::AddressRange(AddressRange&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), size_bytes_(std::exchange(other.size_bytes_, 0))
{
}

AddressRange& AddressRange::operator=(AddressRange&& other) noexcept
{
    std::swap(base_, other.base_);
    std::swap(size_bytes_, other.size_bytes_);
    return *this;
}

}  // namespace headway::platform
