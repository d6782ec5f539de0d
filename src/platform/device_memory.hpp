// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace headway::platform {

/// Tells memory of a GPU from memory that the processor can read, by asking the driver library
/// that the program itself has loaded (CUDA, HIP). Loads nothing.
///
/// Costs: without a driver library, is_needed() is false and nobody has to ask. On a machine with a
/// GPU the library usually comes after MPI_Init, so every question then looks whether anything was
/// loaded since the last one, and asks the driver once it is there. Pages that were found to be of
/// the host are remembered, until a library is loaded: buffers that begin there need no question.
/// (A program that unmaps such a page and has its driver put memory of a device there, is not
/// refused but fails when that is read.)
///
/// Thread rule: any thread.
class DeviceMemory {
  public:
    enum class Watch : std::uint8_t {
        off,        ///< never
        if_likely,  ///< where a driver library is loaded or the machine has a GPU
        always,
    };

    explicit DeviceMemory(Watch watch);

    /// Whether a buffer may be memory of a device. Does not change.
    bool is_needed() const noexcept { return is_needed_; }
    /// The driver whose memory lies at `address` ("CUDA", "HIP"), or null where the processor can
    /// read it. Requires is_needed().
    const char* driver_of(const void* address) noexcept;
    /// driver_of() has said lately that the processor can read the page. Requires is_needed().
    bool is_known_host(const void* address) const noexcept
    {
        const std::uintptr_t page = page_of(address);
        // Relaxed: the answer is the number itself.
        return page != 0 &&
               (*host_pages_)[page % page_count].load(std::memory_order_relaxed) == page;
    }

  private:
    static constexpr std::size_t driver_count = 2;
    static constexpr std::size_t page_count = 1024;

    /// The smallest that a driver can map. 0 is no page.
    static std::uintptr_t page_of(const void* address) noexcept
    {
        return reinterpret_cast<std::uintptr_t>(address) >> 12U;
    }

    const char* ask(const void* address) noexcept;
    void look_for_drivers() noexcept;

    bool is_needed_ = false;
    // Each the number of a page, in its place modulo their count; written with the lock, read by
    // any thread. Null unless is_needed_.
    std::unique_ptr<std::array<std::atomic<std::uintptr_t>, page_count>> host_pages_;
    std::mutex mutex_;              ///< for what follows
    std::uint64_t loads_seen_ = 0;  ///< libraries loaded so far when last looked
    /// By driver: its function that knows addresses; null: not loaded.
    std::array<void*, driver_count> questions_{};
    bool has_new_hip_numbers_ = false;
};

}  // namespace headway::platform
