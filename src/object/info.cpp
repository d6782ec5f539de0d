// SPDX-License-Identifier: Apache-2.0
#include "object/info.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <mpi.h>

#include "platform/process.hpp"

namespace headway::object {

namespace {

/// A value that does not fit is left out: half an argument list would be a wrong one.
void set_if_fits(Info& info, std::string_view key, std::string_view value)
{
    if (!value.empty() && value.size() < MPI_MAX_INFO_VAL) {
        info.set(key, value);
    }
}

void describe_place(Info& info)
{
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::current_path(error);
    if (!error) {
        set_if_fits(info, "wdir", folder.native());
    }
    set_if_fits(info, "host", platform::host_name());
    set_if_fits(info, "arch", platform::machine_name());
}

}  // namespace

Info describe_program(const std::vector<std::string>& words)
{
    Info info;
    std::string arguments;
    for (std::size_t i = 1; i < words.size(); ++i) {
        arguments += (i > 1 ? " " : "") + words[i];
    }
    if (!words.empty()) {
        set_if_fits(info, "command", words.front());
    }
    set_if_fits(info, "argv", arguments);
    describe_place(info);
    return info;
}

const std::string* Info::find(std::string_view key) const noexcept
{
    const auto found = std::ranges::find(entries_, key, &Entry::first);
    return found != entries_.end() ? &found->second : nullptr;
}

void Info::set(std::string_view key, std::string_view value)
{
    const auto found = std::ranges::find(entries_, key, &Entry::first);
    if (found != entries_.end()) {
        found->second = value;
    } else {
        entries_.emplace_back(key, value);
    }
}

bool Info::erase(std::string_view key)
{
    return std::erase_if(entries_, [&](const Entry& entry) { return entry.first == key; }) != 0;
}

Info describe_program(int argc, char* const* argv)
{
    std::vector<std::string> words;
    for (int i = 0; argv != nullptr && i < argc && argv[i] != nullptr; ++i) {
        words.emplace_back(argv[i]);
    }
    return describe_program(words);
}

Info describe_program()
{
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    std::vector<std::string> words;
    for (std::string word; std::getline(file, word, '\0');) {
        words.push_back(word);
    }
    return describe_program(words);
}

}  // namespace headway::object
