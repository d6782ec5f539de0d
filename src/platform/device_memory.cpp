// SPDX-License-Identifier: Apache-2.0
//
// The functions asked, as their interfaces define them:
//   CUDA  CUresult cuPointerGetAttribute(void* data, CUpointer_attribute, CUdeviceptr)
//   HIP   hipError_t hipPointerGetAttribute(void* data, hipPointer_attribute, hipDeviceptr_t)
// Both answer 0 for memory they know. Managed memory can be read by the processor.
#include "platform/device_memory.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>

namespace headway::platform {
namespace {

enum Driver : std::size_t { cuda, hip };

constexpr int attribute_memory_type = 2;  // the same number in both
constexpr int attribute_is_managed = 8;   // of CUDA
constexpr unsigned type_device = 2;       // of CUDA, and of HIP from version 6 on
constexpr unsigned type_device_old_hip = 1;
constexpr int new_hip_version = 60'000'000;

using CudaQuestion = int (*)(void* data, int attribute, std::uint64_t address);
using HipQuestion = int (*)(void* data, int attribute, void* address);
using HipVersion = int (*)(int* version);

/// A library only if the program has loaded it; null otherwise. The reference is kept, so that the
/// functions found stay callable whatever the program does.
void* find_loaded(const char* name) noexcept
{
    return ::dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
}

int read_loads(dl_phdr_info* info, std::size_t /*size*/, void* loads) noexcept
{
    *static_cast<std::uint64_t*>(loads) = info->dlpi_adds;
    return 1;
}

bool has_gpu() noexcept
{
    constexpr std::array nodes = {"/dev/nvidiactl", "/dev/kfd", "/dev/dxg"};
    return std::ranges::any_of(nodes, [](const char* node) { return ::access(node, F_OK) == 0; });
}

bool is_cuda_memory(void* function, const void* address) noexcept
{
    const auto question = reinterpret_cast<CudaQuestion>(function);
    const auto place = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(address));
    unsigned type = 0;
    unsigned is_managed = 0;
    return question(&type, attribute_memory_type, place) == 0 && type == type_device &&
           !(question(&is_managed, attribute_is_managed, place) == 0 && is_managed != 0);
}

bool is_hip_memory(void* function, const void* address, bool has_new_numbers) noexcept
{
    const auto question = reinterpret_cast<HipQuestion>(function);
    unsigned type = 0;
    return question(&type, attribute_memory_type, const_cast<void*>(address)) == 0 &&
           type == (has_new_numbers ? type_device : type_device_old_hip);
}

bool has_new_numbers(void* library) noexcept
{
    const auto version = reinterpret_cast<HipVersion>(::dlsym(library, "hipRuntimeGetVersion"));
    int number = 0;
    return version == nullptr || version(&number) != 0 || number >= new_hip_version;
}

}  // namespace

DeviceMemory::DeviceMemory(Watch watch)
{
    if (watch == Watch::off) {
        return;
    }
    look_for_drivers();
    const bool has_driver =
        std::ranges::any_of(questions_, [](const void* question) { return question != nullptr; });
    is_needed_ = watch == Watch::always || has_driver || has_gpu();
    if (is_needed_) {
        host_pages_ = std::make_unique<std::array<std::atomic<std::uintptr_t>, page_count>>();
    }
}

void DeviceMemory::look_for_drivers() noexcept
{
    std::uint64_t loads = 0;
    ::dl_iterate_phdr(&read_loads, &loads);
    if (loads == loads_seen_) {
        return;
    }
    loads_seen_ = loads;
    for (std::size_t place = 0; host_pages_ != nullptr && place < page_count; ++place) {
        (*host_pages_)[place].store(0, std::memory_order_relaxed);  // relaxed: see there
    }
    if (void* const library = find_loaded("libcuda.so.1"); library != nullptr) {
        questions_[cuda] = ::dlsym(library, "cuPointerGetAttribute");
    }
    for (const char* name :
         {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"}) {
        if (void* const library = find_loaded(name); library != nullptr) {
            questions_[hip] = ::dlsym(library, "hipPointerGetAttribute");
            has_new_hip_numbers_ = has_new_numbers(library);
            break;
        }
    }
}

const char* DeviceMemory::driver_of(const void* address) noexcept
{
    const std::lock_guard guard(mutex_);
    look_for_drivers();
    const char* const driver = ask(address);
    if (driver == nullptr) {
        const std::uintptr_t page = page_of(address);
        (*host_pages_)[page % page_count].store(page, std::memory_order_relaxed);  // see there
    }
    return driver;
}

const char* DeviceMemory::ask(const void* address) noexcept
{
    if (questions_[cuda] != nullptr && is_cuda_memory(questions_[cuda], address)) {
        return "CUDA";
    }
    if (questions_[hip] != nullptr &&
        is_hip_memory(questions_[hip], address, has_new_hip_numbers_)) {
        return "HIP";
    }
    return nullptr;
}

}  // namespace headway::platform
