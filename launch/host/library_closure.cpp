// SPDX-License-Identifier: Apache-2.0
#include "library_closure.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "file_bytes.hpp"

namespace headway::launch {
namespace {

std::string_view trimmed(std::string_view text)
{
    constexpr std::string_view blanks = " \t";
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// Requires that the texts outlive what is returned.
std::vector<char*> pointers_to(const std::vector<std::string>& texts)
{
    std::vector<char*> pointers;
    pointers.reserve(texts.size() + 1);
    for (const std::string& each : texts) {
        pointers.push_back(const_cast<char*>(each.c_str()));
    }
    pointers.push_back(nullptr);
    return pointers;
}

}  // namespace

base::Result<std::vector<FoundLibrary>> parse_library_list(std::string_view text)
{
    constexpr std::string_view arrow = " => ";
    std::vector<FoundLibrary> found;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = trimmed(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        const std::size_t middle = line.find(arrow);
        if (middle == std::string_view::npos) {
            // The kernel's own, or one that is asked for by its path.
            const std::string path(trimmed(line.substr(0, line.rfind(" (0x"))));
            if (path.find('/') != std::string::npos) {
                found.push_back({path, path});
            }
            continue;
        }
        const std::string_view name = line.substr(0, middle);
        std::string_view path = line.substr(middle + arrow.size());
        if (path.starts_with("not found")) {
            return base::Failure{"needs the library " + std::string(name) +
                                 ", which cannot be found; add its directory to LD_LIBRARY_PATH"};
        }
        path = trimmed(path.substr(0, path.rfind(" (0x")));
        if (path.starts_with('/')) {
            found.push_back({std::string(name), std::string(path)});
        }
    }
    return found;
}

base::Result<std::vector<FoundLibrary>> find_libraries(const std::string& interpreter,
                                                       const std::string& program,
                                                       const std::vector<std::string>& environment)
{
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return base::Failure{std::string("cannot be asked for its libraries: ") +
                             std::strerror(errno)};
    }
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    const std::vector<std::string> words{interpreter, "--list", program};
    const auto arguments = pointers_to(words);
    const auto variables = pointers_to(environment);
    pid_t child = -1;
    const int error = ::posix_spawn(&child, interpreter.c_str(), &actions, nullptr,
                                    arguments.data(), variables.data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    const auto text = read_descriptor(ends[0]);
    ::close(ends[0]);
    if (error != 0 || !text) {
        return base::Failure{std::string("cannot be asked for its libraries: ") +
                             std::strerror(error)};
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return parse_library_list(
        {reinterpret_cast<const char*>(text.value().data()), text.value().size()});
}

}  // namespace headway::launch
