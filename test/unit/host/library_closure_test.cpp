// SPDX-License-Identifier: Apache-2.0
#include "library_closure.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiled.hpp"

namespace headway::launch {
namespace {

TEST(LibraryClosure, ReadsWhatTheLoaderPrints)
{
    const auto found = parse_library_list(
        "\tlinux-vdso.so.1 (0x00007ff689699000)\n"
        "\tlibstdc++.so.6 => /lib/x/libstdc++.so.6 (0x00007ff689400000)\n"
        "\t/lib64/ld-linux-x86-64.so.2 (0x00007ff68969b000)\n"
        "\tlibodd.so => /opt/with (0xblank)/libodd.so (0x00007ff689662000)\n");
    ASSERT_TRUE(found);
    ASSERT_EQ(found.value().size(), 3U);
    EXPECT_EQ(found.value()[0].name, "libstdc++.so.6");
    EXPECT_EQ(found.value()[0].path, "/lib/x/libstdc++.so.6");
    EXPECT_EQ(found.value()[1].path, "/lib64/ld-linux-x86-64.so.2");
    EXPECT_EQ(found.value()[2].path, "/opt/with (0xblank)/libodd.so");
}

TEST(LibraryClosure, AMissingLibraryIsNamed)
{
    const auto found = parse_library_list("\tlibgone.so.3 => not found\n");
    ASSERT_FALSE(found);
    EXPECT_NE(found.sentence().find("libgone.so.3"), std::string::npos);
}

TEST(LibraryClosure, AsksTheProgramsOwnLoader)
{
    const Workshop workshop;
    const std::string program =
        workshop.compile("g++", "#include <iostream>\nint main(){std::cout << 1;}");
    const auto found = find_libraries("/lib64/ld-linux-x86-64.so.2", program, {"PATH=/bin"});
    ASSERT_TRUE(found);
    EXPECT_TRUE(std::any_of(found.value().begin(), found.value().end(), [](const auto& each) {
        return each.name == "libstdc++.so.6" && each.path.starts_with('/');
    }));
}

}  // namespace
}  // namespace headway::launch
