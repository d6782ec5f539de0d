// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace headway::base {

/// A file that a user named, if all of it could be read.
struct TextFile {
    enum class State : std::uint8_t { read, unreadable, too_long };

    State state = State::read;
    std::string text;
};

/// Files for people are shorter than a MiB.
inline TextFile read_text_file(const std::string& name)
{
    constexpr std::size_t most = 1 << 20;
    std::error_code error;
    TextFile read{.text = std::string(most, '\0')};
    std::ifstream file;
    // Opening a pipe would wait for who writes to it.
    if (std::filesystem::is_regular_file(name, error)) {
        file.open(name, std::ios::binary);
        file.read(read.text.data(), static_cast<std::streamsize>(most));
    }
    read.text.resize(static_cast<std::size_t>(file.gcount()));
    if (!file.eof()) {
        read.state =
            read.text.size() == most ? TextFile::State::too_long : TextFile::State::unreadable;
    }
    return read;
}

}  // namespace headway::base
