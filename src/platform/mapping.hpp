// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace headway::platform {

/// Memory that can be mapped by several processes: an anonymous memory file or a file in /dev/shm.
/// Movable owner of the descriptor and, for the creator, of the name.
class SharedFile {
  public:
    SharedFile() noexcept = default;
    SharedFile(SharedFile&& other) noexcept;
    SharedFile& operator=(SharedFile&& other) noexcept;
    ~SharedFile();

    /// Anonymous; others open it as /proc/<pid>/fd/<fd> while this process lives.
    static base::Result<SharedFile> create_memfd(const std::string& name, std::uint64_t size_bytes);
    /// A new file /dev/shm/<name>; the name must be unlinked (unlink_name, or the destructor).
    /// While it has a name the file is locked; names that start with `family` (none, if that is
    /// empty) and that no living process has locked are removed first: their creators were killed.
    static base::Result<SharedFile> create_shm(const std::string& name, std::string_view family,
                                               std::uint64_t size_bytes);
    static base::Result<SharedFile> open(const std::string& path);
    /// One that came as an open descriptor, which it owns from now on; `path` is for messages.
    static base::Result<SharedFile> adopt(int fd, const std::string& path);

    int fd() const noexcept { return fd_; }
    std::uint64_t size_bytes() const noexcept { return size_bytes_; }
    /// What another process of this user gives to open().
    const std::string& path() const noexcept { return path_; }
    /// Removes the name, so that nothing stays behind whoever dies; mappings go on. Idempotent.
    void unlink_name() noexcept;
    /// Whether others can be expected to open path(): it can be opened from here, and the system
    /// does not guard what belongs to this process.
    bool can_be_opened_by_path() const noexcept;

  private:
    bool create_locked();
    base::Outcome resize(std::uint64_t size_bytes);

    int fd_ = -1;
    std::uint64_t size_bytes_ = 0;
    std::string path_;
    bool has_name_ = false;
};

/// Makes sure that a range of a shared file has memory behind it, so that touching it cannot raise
/// SIGBUS. False: the file system is full.
bool commit_range(int fd, std::uint64_t offset, std::uint64_t size_bytes) noexcept;

/// Maps all pages of a range that is about to be written for the first time by one call: each of
/// them would be a fault of its own. Nothing happens where the system cannot (Linux before 5.14).
void prepare_for_writing(void* place, std::size_t size_bytes) noexcept;

/// A shared mapping at a given address; unmapped by the destructor.
class Mapping {
  public:
    Mapping() noexcept = default;
    Mapping(Mapping&& other) noexcept;
    Mapping& operator=(Mapping&& other) noexcept;
    ~Mapping();

    /// Whether [address, address + size_bytes) is free in this process now.
    static bool is_free_at(std::uintptr_t address, std::uint64_t size_bytes) noexcept;

    /// Maps the whole file at exactly `address`; never replaces another mapping.
    static base::Result<Mapping> map_at(const SharedFile& file, std::uintptr_t address);

    void* base() const noexcept { return base_; }
    std::uint64_t size_bytes() const noexcept { return size_bytes_; }

  private:
    void* base_ = nullptr;
    std::uint64_t size_bytes_ = 0;
};

}  // namespace headway::platform
