// SPDX-License-Identifier: Apache-2.0
#include "platform/mapping.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace headway::platform {
namespace {

std::string reason()
{
    return std::strerror(errno);
}

/// What to do about a file that could not be opened, by errno.
std::string cure_of_open(const char* otherwise)
{
    const bool is_limit = errno == EMFILE || errno == ENFILE;
    return is_limit ? "raise the limit on open files (ulimit -n)" : otherwise;
}

std::string in_hex(std::uintptr_t address)
{
    char text[2 + 2 * sizeof(address) + 1];
    std::snprintf(text, sizeof text, "0x%zx", static_cast<std::size_t>(address));
    return text;
}

std::string in_mib(std::uint64_t size_bytes)
{
    return std::to_string(size_bytes >> 20) + " MiB";
}

void* map_exactly_at(std::uintptr_t address, std::uint64_t size_bytes, int protection, int flags,
                     int fd) noexcept
{
    void* const wanted = reinterpret_cast<void*>(address);
    void* const got =
        ::mmap(wanted, size_bytes, protection, flags | MAP_FIXED_NOREPLACE | MAP_NORESERVE, fd, 0);
    if (got != MAP_FAILED && got != wanted) {
        // Kernels before 4.17 do not know MAP_FIXED_NOREPLACE and take the address as a hint.
        ::munmap(got, size_bytes);
        errno = EEXIST;
        return MAP_FAILED;
    }
    return got;
}

constexpr const char* shm_folder = "/dev/shm/";

/// Whether a file still has a name.
bool is_linked(int fd) noexcept
{
    struct stat info{};
    return ::fstat(fd, &info) == 0 && info.st_nlink > 0;
}

/// Removes a name whose creator has gone: nobody holds the lock of the file.
void remove_if_left_behind(const std::string& path) noexcept
{
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return;
    }
    struct stat info{};
    if (::fstat(fd, &info) == 0 && info.st_uid == ::geteuid() &&
        ::flock(fd, LOCK_EX | LOCK_NB) == 0 && is_linked(fd)) {
        ::unlink(path.c_str());
    }
    ::close(fd);
}

void remove_left_behind(std::string_view family)
{
    DIR* const folder = ::opendir(shm_folder);
    if (folder == nullptr) {
        return;
    }
    while (const dirent* entry = ::readdir(folder)) {
        if (std::string_view(entry->d_name).starts_with(family)) {
            remove_if_left_behind(std::string(shm_folder) + entry->d_name);
        }
    }
    ::closedir(folder);
}

}  // namespace

SharedFile::SharedFile(SharedFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      size_bytes_(other.size_bytes_),
      path_(std::move(other.path_)),
      has_name_(std::exchange(other.has_name_, false))
{
}

SharedFile& SharedFile::operator=(SharedFile&& other) noexcept
{
    std::swap(fd_, other.fd_);
    std::swap(size_bytes_, other.size_bytes_);
    std::swap(path_, other.path_);
    std::swap(has_name_, other.has_name_);
    return *this;
}

SharedFile::~SharedFile()
{
    unlink_name();
    if (fd_ >= 0) {
        ::close(fd_);
    }
}

void SharedFile::unlink_name() noexcept
{
    if (std::exchange(has_name_, false)) {
        ::unlink(path_.c_str());
    }
}

bool SharedFile::can_be_opened_by_path() const noexcept
{
    return has_name_ ||
           (::access(path_.c_str(), R_OK | W_OK) == 0 && ::prctl(PR_GET_DUMPABLE) == 1);
}

base::Outcome SharedFile::resize(std::uint64_t size_bytes)
{
    rlimit limit{};
    if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        limit.rlim_cur < size_bytes) {
        return base::Failure{"the limit on file sizes (ulimit -f) is below the " +
                             in_mib(size_bytes) +
                             " of shared memory asked for; raise it, or ask "
                             "for less"};
    }
    if (::ftruncate(fd_, static_cast<off_t>(size_bytes)) != 0) {
        return base::Failure{"the system refuses " + in_mib(size_bytes) + " of shared memory (" +
                             reason() + "); ask for less"};
    }
    size_bytes_ = size_bytes;
    return base::Done{};
}

base::Result<SharedFile> SharedFile::create_memfd(const std::string& name, std::uint64_t size_bytes)
{
    SharedFile file;
    file.fd_ = ::memfd_create(name.c_str(), MFD_CLOEXEC);
    if (file.fd_ < 0) {
        return base::Failure{
            "the system gives no anonymous shared memory (memfd_create: " + reason() + "); " +
            cure_of_open("set HEADWAY_NODE_HEAP=shm to use /dev/shm instead")};
    }
    file.path_ = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file.fd_);
    if (auto resized = file.resize(size_bytes); !resized) {
        return base::Failure{resized.sentence()};
    }
    return file;
}

/// False with errno: there is no file.
bool SharedFile::create_locked()
{
    // Between open and flock the file looks left behind; who finds it so removes its name.
    do {
        if (fd_ >= 0) {
            ::close(fd_);
        }
        fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    } while (fd_ >= 0 && ::flock(fd_, LOCK_EX) == 0 && !is_linked(fd_));
    has_name_ = fd_ >= 0;
    return has_name_;
}

base::Result<SharedFile> SharedFile::create_shm(const std::string& name, std::string_view family,
                                                std::uint64_t size_bytes)
{
    if (!family.empty()) {
        remove_left_behind(family);
    }
    SharedFile file;
    file.path_ = shm_folder + name;
    if (!file.create_locked()) {
        return base::Failure{"the shared memory file " + file.path_ + " cannot be created (" +
                             reason() + "); " +
                             cure_of_open("make /dev/shm writable, or leave HEADWAY_NODE_HEAP "
                                          "unset to do without it")};
    }
    if (auto resized = file.resize(size_bytes); !resized) {
        return base::Failure{resized.sentence()};
    }
    return file;
}

base::Result<SharedFile> SharedFile::open(const std::string& path)
{
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        const bool is_shm = path.starts_with(shm_folder);
        return base::Failure{
            "the shared memory " + path + " of this node cannot be opened (" + reason() + "); " +
            cure_of_open(is_shm ? "all ranks must run as one user with one /dev/shm: set "
                                  "HEADWAY_NODE_HEAP=memfd to do without it"
                                : "all ranks must run as one user and see one /proc: start the job "
                                  "with Headway's mpiexec, or set HEADWAY_NODE_HEAP=shm to use "
                                  "/dev/shm")};
    }
    return adopt(fd, path);
}

base::Result<SharedFile> SharedFile::adopt(int fd, const std::string& path)
{
    SharedFile file;
    file.path_ = path;
    file.fd_ = fd;
    struct stat info{};
    if (::fstat(file.fd_, &info) != 0 || info.st_size <= 0) {
        return base::Failure{"the shared memory " + path +
                             " of this node is empty; the process "
                             "that made it has probably failed"};
    }
    file.size_bytes_ = static_cast<std::uint64_t>(info.st_size);
    return file;
}

void prepare_for_writing(void* place, std::size_t size_bytes) noexcept
{
#ifdef MADV_POPULATE_WRITE
    static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto begin = reinterpret_cast<std::uintptr_t>(place) & ~(page - 1);
    const auto end =
        (reinterpret_cast<std::uintptr_t>(place) + size_bytes + page - 1) & ~(page - 1);
    (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE);
#else
    (void)place;
    (void)size_bytes;
#endif
}

bool commit_range(int fd, std::uint64_t offset, std::uint64_t size_bytes) noexcept
{
    int rc = 0;
    do {
        rc = ::posix_fallocate(fd, static_cast<off_t>(offset), static_cast<off_t>(size_bytes));
    } while (rc == EINTR);
    return rc == 0;
}

Mapping::Mapping(Mapping&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), size_bytes_(std::exchange(other.size_bytes_, 0))
{
}

Mapping& Mapping::operator=(Mapping&& other) noexcept
{
    std::swap(base_, other.base_);
    std::swap(size_bytes_, other.size_bytes_);
    return *this;
}

Mapping::~Mapping()
{
    if (base_ != nullptr) {
        ::munmap(base_, size_bytes_);
    }
}

bool Mapping::is_free_at(std::uintptr_t address, std::uint64_t size_bytes) noexcept
{
    void* const got =
        map_exactly_at(address, size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (got == MAP_FAILED) {
        return false;
    }
    ::munmap(got, size_bytes);
    return true;
}

base::Result<Mapping> Mapping::map_at(const SharedFile& file, std::uintptr_t address)
{
    void* const got =
        map_exactly_at(address, file.size_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file.fd());
    if (got != MAP_FAILED) {
        Mapping mapping;
        mapping.base_ = got;
        mapping.size_bytes_ = file.size_bytes();
        return mapping;
    }
    if (errno == EEXIST || errno == EINVAL) {
        return base::Failure{"the address " + in_hex(address) +
                             " for the shared memory of the "
                             "node is taken in this process; another library maps memory there: "
                             "load it later, or ask for less shared memory"};
    }
    return base::Failure{"the system refuses to map " + in_mib(file.size_bytes()) +
                         " of shared memory (" + reason() +
                         "); raise the limit on address space "
                         "(ulimit -v), or ask for less"};
}

}  // namespace headway::platform
