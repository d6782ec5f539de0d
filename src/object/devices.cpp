// SPDX-License-Identifier: Apache-2.0
// Memory of devices, as ranks ask for it.
#include "object/process.hpp"
#include "platform/device_memory.hpp"

namespace headway::object {

namespace {

platform::DeviceMemory::Watch watch_of(config::DeviceMemoryChoice choice)
{
    using platform::DeviceMemory;
    switch (choice) {
        case config::DeviceMemoryChoice::off:
            return DeviceMemory::Watch::off;
        case config::DeviceMemoryChoice::watch:
            return DeviceMemory::Watch::always;
        default:
            return DeviceMemory::Watch::if_likely;
    }
}

}  // namespace

platform::DeviceMemory& Process::device_memory()
{
    std::call_once(has_looked_for_devices_, [this] {
        device_memory_ = std::make_unique<platform::DeviceMemory>(watch_of(knobs_.device_memory));
    });
    return *device_memory_;
}

const char* device_driver_of(RankAccess& access, const void* address) noexcept
{
    platform::DeviceMemory& devices = as_rank(access).device_memory();
    return devices.is_needed() ? devices.driver_of(address) : nullptr;
}

}  // namespace headway::object
