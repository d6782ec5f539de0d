// SPDX-License-Identifier: Apache-2.0
#include "compiled.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <fstream>

#include "file_bytes.hpp"

namespace headway::launch {

Workshop::Workshop()
{
    std::string pattern = (std::filesystem::temp_directory_path() / "headway-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
}

Workshop::~Workshop()
{
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

std::string Workshop::compile(const std::string& compiler, const std::string& source) const
{
    const bool is_cpp = compiler.starts_with("g++");
    const std::string input = (folder_ / (is_cpp ? "source.cpp" : "source.c")).string();
    const std::string output = (folder_ / "program").string();
    std::ofstream(input) << source;
    const std::string command = compiler + " -o " + output + " " + input;
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    return output;
}

std::vector<std::byte> Workshop::compiled(const std::string& compiler,
                                          const std::string& source) const
{
    auto bytes = read_file(compile(compiler, source));
    EXPECT_TRUE(bytes);
    return bytes ? bytes.value() : std::vector<std::byte>{};
}

}  // namespace headway::launch
