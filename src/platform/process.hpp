// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/secret.hpp"

namespace headway::platform {

/// Facts about this process and its surroundings. Thread rule: any thread.

std::int32_t process_id() noexcept;

/// Whether a process of this number runs here. False also for one that has ended but is not reaped.
bool process_exists(std::int32_t process_id) noexcept;

/// Tells threads of this process apart, while they live.
std::int32_t thread_id() noexcept;

/// Name of the machine or container; "localhost" where it has none.
std::string host_name();

/// Printable, without blanks: equal for two processes of one system that see the same processes and
/// the same shared memory, so that one can map what the other has made.
std::string node_identity();

/// The instruction set as the system calls it ("x86_64"); empty where it does not say.
std::string machine_name();

/// Numbers of the cores that the calling thread may run on.
std::vector<unsigned> allowed_cpus();

/// How many cores whoever started this process may run on, 0 where that cannot be known. A launcher
/// that binds each process to cores of its own may run on all that the job has.
std::size_t count_cpus_of_parent() noexcept;

/// Whether a thread of this process may be put on that cpu: it exists, and no limit of the system's
/// (a container's cpuset) is against it.
bool can_run_on(unsigned cpu) noexcept;

/// How many threads a process of this system has; 0 where that cannot be seen.
int count_threads(std::int32_t process_id);

/// How many threads of this process, the calling one aside, may run on that cpu.
int other_threads_on(unsigned cpu);

/// 64 bits that no other process has, as far as chance allows.
std::uint64_t random_token() noexcept;
/// What nobody can guess. May wait for the system to have enough of that, just after its start.
base::Secret make_secret() noexcept;

/// Writes `line` to standard error in one piece, so that lines of several ranks do not mix.
void write_error(std::string_view line) noexcept;

/// Ends the process at once, without destructors or exit handlers.
[[noreturn]] void exit_now(int code) noexcept;

/// Addresses set aside: private, zeroed when touched, no memory until then. Never moved; given
/// back by the destructor.
class AddressRange {
  public:
    AddressRange() = default;
    explicit AddressRange(std::size_t size_bytes) noexcept;
    ~AddressRange();
    AddressRange(AddressRange&& other) noexcept;
    AddressRange& operator=(AddressRange&& other) noexcept;

    /// Null: the system refused (a limit on virtual memory).
    std::byte* base() const noexcept { return base_; }
    std::size_t size_bytes() const noexcept { return size_bytes_; }

  private:
    std::byte* base_ = nullptr;
    std::size_t size_bytes_ = 0;
};

}  // namespace headway::platform
