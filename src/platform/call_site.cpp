// SPDX-License-Identifier: Apache-2.0
#include "platform/call_site.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace headway::platform {

namespace {

/// Of the object file that a frame lies in.
struct Place {
    std::string file;
    std::uintptr_t address = 0;  ///< as its symbols count
    std::string symbol;
    std::uintptr_t offset = 0;  ///< behind the symbol
};

/// A name of the file that another process can open, too.
std::string openable(const char* name)
{
    const std::string own = "/proc/" + std::to_string(::getpid());
    const std::string text = name != nullptr ? name : "";
    constexpr char self[] = "/proc/self";
    if (text.starts_with(self)) {
        return own + text.substr(sizeof self - 1);
    }
    // The main program is known as it was called, perhaps from another folder.
    return ::access(text.c_str(), R_OK) == 0 ? text : own + "/exe";
}

bool find_place(void* frame, Place* place)
{
    // The call stands before the address to which it returns.
    auto* const call = static_cast<char*>(frame) - 1;
    Dl_info info{};
    if (::dladdr(call, &info) == 0 || info.dli_fbase == nullptr) {
        return false;
    }
    Elf64_Ehdr header;
    std::memcpy(&header, info.dli_fbase, sizeof header);
    const auto address = reinterpret_cast<std::uintptr_t>(call);
    const auto base = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
    place->file = openable(info.dli_fname);
    place->address = header.e_type == ET_EXEC ? address : address - base;
    if (info.dli_sname != nullptr) {
        place->symbol = info.dli_sname;
        place->offset = address - reinterpret_cast<std::uintptr_t>(info.dli_saddr);
    }
    return true;
}

/// The first line that a program prints; nothing where it cannot be run.
std::string first_line_of(const char* const arguments[])
{
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        return {};
    }
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child = -1;
    const bool is_started = ::posix_spawnp(&child, arguments[0], &actions, nullptr,
                                           const_cast<char* const*>(arguments), environ) == 0;
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    std::string text;
    char bytes[512];
    for (ssize_t got = 0; is_started && (got = ::read(ends[0], bytes, sizeof bytes)) > 0;) {
        text.append(bytes, static_cast<std::size_t>(got));
    }
    ::close(ends[0]);
    if (is_started) {
        (void)::waitpid(child, nullptr, 0);
    }
    return text.substr(0, text.find('\n'));
}

/// "main.c:31", or nothing.
std::string line_of(const Place& place)
{
    char address[32];
    std::snprintf(address, sizeof address, "0x%zx", static_cast<std::size_t>(place.address));
    const char* const arguments[] = {"addr2line", "-s", "-e", place.file.c_str(), address, nullptr};
    std::string line = first_line_of(arguments);
    line.resize(std::min(line.size(), line.find(' ')));  // without "(discriminator 2)"
    return line.empty() || line.starts_with('?') || line.ends_with('?') ? std::string() : line;
}

std::string describe(const Place& place)
{
    if (std::string line = line_of(place); !line.empty()) {
        return line;
    }
    const std::string file = place.file.substr(place.file.rfind('/') + 1);
    char text[512];
    if (!place.symbol.empty()) {
        std::snprintf(text, sizeof text, "%.200s+0x%zx in %.200s", place.symbol.c_str(),
                      static_cast<std::size_t>(place.offset), file.c_str());
    } else {
        std::snprintf(text, sizeof text, "0x%zx in %.200s", static_cast<std::size_t>(place.address),
                      file.c_str());
    }
    return text;
}

void* base_of(void* address)
{
    Dl_info info{};
    return ::dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

}  // namespace

Frames capture_frames() noexcept
{
    Frames frames;
    const int found =
        ::backtrace(frames.addresses.data(), static_cast<int>(frames.addresses.size()));
    frames.count = found > 0 ? static_cast<std::size_t>(found) : 0;
    return frames;
}

CallSite find_call_site(const Frames& frames)
{
    CallSite site{"MPI", ""};
    const void* const own = base_of(reinterpret_cast<void*>(&capture_frames));
    std::size_t outer = 0;
    while (outer < frames.count && base_of(frames.addresses[outer]) == own) {
        ++outer;
    }
    if (outer == 0 || outer == frames.count) {
        return site;
    }
    Place place;
    if (find_place(frames.addresses[outer - 1], &place) && !place.symbol.empty()) {
        site.function = place.symbol.starts_with("PMPI_") ? place.symbol.substr(1) : place.symbol;
    }
    if (Place caller; find_place(frames.addresses[outer], &caller)) {
        site.place = describe(caller);
    }
    return site;
}

}  // namespace headway::platform
