// SPDX-License-Identifier: Apache-2.0
#include "platform/hardware.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "base/cpu_list.hpp"
#include "platform/process.hpp"

namespace headway::platform {
namespace {

using Cpus = std::vector<unsigned>;

/// The first line of a file; empty where there is none.
std::string line_of(const std::string& path)
{
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

/// Bytes of a size as those files write it, "512K"; 0 where it is none.
std::uint64_t bytes_of(const std::string& size)
{
    std::uint64_t number = 0;
    const char* const end = size.data() + size.size();
    const auto [rest, error] = std::from_chars(size.data(), end, number);
    const std::string_view unit(rest, end);
    if (error != std::errc()) {
        return 0;
    }
    return unit == "K" ? number << 10U : unit == "M" ? number << 20U : unit.empty() ? number : 0;
}

/// Cpus of a file that lists them; none where there is no such file, or it says anything else.
Cpus cpus_in(const std::string& path)
{
    const auto cpus = base::parse_cpu_list(line_of(path));
    return cpus ? cpus.value() : Cpus();
}

/// The cpus beside `folder`'s one that share its data cache of that level.
Cpus cpus_of_cache(const std::string& folder, std::string_view level)
{
    for (int index = 0;; ++index) {
        const std::string cache = folder + "/cache/index" + std::to_string(index);
        const std::string found = line_of(cache + "/level");
        if (found.empty()) {
            return {};
        }
        if (found == level && line_of(cache + "/type") != "Instruction") {
            return cpus_in(cache + "/shared_cpu_list");
        }
    }
}

/// The system shows the node that a cpu belongs to as a link in the cpu's folder.
Cpus cpus_of_node(const std::string& files, const std::string& folder)
{
    constexpr std::string_view prefix = "node";
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with(prefix) && name.size() > prefix.size() &&
            name.find_first_not_of("0123456789", prefix.size()) == std::string::npos) {
            return cpus_in(files + "/node/" + name + "/cpulist");
        }
    }
    return {};
}

/// All that share with `cpu` a piece of that kind.
Cpus sharers_of(Hardware kind, unsigned cpu, const std::string& files)
{
    const std::string folder = files + "/cpu/cpu" + std::to_string(cpu);
    switch (kind) {
        case Hardware::package:
            return cpus_in(folder + "/topology/package_cpus_list");
        case Hardware::numa_node:
            return cpus_of_node(files, folder);
        case Hardware::l3_cache:
            return cpus_of_cache(folder, "3");
        case Hardware::l2_cache:
            return cpus_of_cache(folder, "2");
        case Hardware::l1_cache:
            return cpus_of_cache(folder, "1");
        case Hardware::core:
            return cpus_in(folder + "/topology/core_cpus_list");
        default:
            return {cpu};
    }
}

}  // namespace

std::string_view name_of(Hardware kind) noexcept
{
    static constexpr std::array<std::string_view, hardware_kinds> names = {
        "Package", "NUMANode", "L3Cache", "L2Cache", "L1Cache", "Core", "PU"};
    return names[static_cast<std::size_t>(kind)];
}

HardwarePlace find_hardware(std::span<const unsigned> cpus, const std::string& files)
{
    HardwarePlace place{};
    for (std::size_t i = 0; i < hardware_kinds; ++i) {
        Cpus sharers;
        if (!cpus.empty()) {
            sharers = sharers_of(static_cast<Hardware>(i), cpus.front(), files);
            std::ranges::sort(sharers);
        }
        const bool is_one = std::ranges::all_of(
            cpus, [&](unsigned cpu) { return std::ranges::binary_search(sharers, cpu); });
        place.pieces[i] = sharers.empty() ? HardwarePlace::unknown
                          : is_one        ? static_cast<std::int32_t>(sharers.front())
                                          : HardwarePlace::several;
    }
    return place;
}

std::uint64_t own_cache_bytes() noexcept
{
    constexpr std::uint64_t usual = 1024 * 1024;
    const long bytes = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
    return bytes > 0 ? static_cast<std::uint64_t>(bytes) : usual;
}

std::uint64_t find_last_cache(unsigned cpu, const std::string& files)
{
    const std::string caches = files + "/cpu/cpu" + std::to_string(cpu) + "/cache/index";
    std::string last_level;
    std::uint64_t bytes = 0;
    for (int index = 0;; ++index) {
        const std::string cache = caches + std::to_string(index);
        const std::string level = line_of(cache + "/level");
        if (level.empty()) {
            return bytes;
        }
        if (level > last_level) {
            last_level = level;
            bytes = bytes_of(line_of(cache + "/size"));
        }
    }
}

std::uint64_t last_cache_bytes()
{
    const Cpus cpus = allowed_cpus();
    const std::uint64_t found = cpus.empty() ? 0 : find_last_cache(cpus.front());
    if (found != 0) {
        return found;
    }
    const long bytes = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
    return bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

}  // namespace headway::platform
