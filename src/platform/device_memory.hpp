// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace headway::platform {

/// Tells memory of a GPU from memory that the processor can read, by asking the driver library
/// that the program itself has loaded (CUDA, HIP). Loads nothing.
///
/// Costs: without a driver library, is_needed() is false and nobody has to ask. On a machine with a
/// GPU the library usually comes after MPI_Init, so every question then looks whether anything was
/// loaded since the last one, and asks the driver once it is there.
///
/// Thread rule: one thread at a time.
class DeviceMemory {
  public:
    enum class Watch : std::uint8_t {
        off,        ///< never
        if_likely,  ///< where a driver library is loaded or the machine has a GPU
        always,
    };

    explicit DeviceMemory(Watch watch) noexcept;

    /// Whether a buffer may be memory of a device. Does not change.
    bool is_needed() const noexcept { return is_needed_; }
    /// The driver whose memory lies at `address` ("CUDA", "HIP"), or null where the processor can
    /// read it. Requires is_needed().
    const char* driver_of(const void* address) noexcept;

  private:
    static constexpr std::size_t driver_count = 2;

    void look_for_drivers() noexcept;

    bool is_needed_ = false;
    std::uint64_t loads_seen_ = 0;  ///< libraries loaded so far when last looked
    /// By driver: its function that knows addresses; null: not loaded.
    std::array<void*, driver_count> questions_{};
    bool has_new_hip_numbers_ = false;
};

}  // namespace headway::platform
