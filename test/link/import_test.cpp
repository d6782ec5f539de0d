// SPDX-License-Identifier: Apache-2.0
#include "platform/import.hpp"

#include <gtest/gtest.h>

#include <cstdio>

#include "opening.hpp"

namespace headway::platform {
namespace {

std::FILE* open_nothing(const char* /*path*/, const char* /*mode*/)
{
    return nullptr;
}

bool can_open_here(const char* path)
{
    std::FILE* const file = std::fopen(path, "r");
    return file != nullptr && std::fclose(file) == 0;
}

constexpr const char* there = "/proc/self/status";
const void* const inside = reinterpret_cast<const void*>(&MPIX_Test_can_open);
void* const replacement = reinterpret_cast<void*>(&open_nothing);

TEST(ImportReplacement, ChangesOneLibraryForAsLongAsItLives)
{
    ASSERT_TRUE(MPIX_Test_can_open(there));
    {
        const ImportReplacement replaced(inside, "fopen", replacement);
        EXPECT_TRUE(replaced.is_in_force());
        EXPECT_FALSE(MPIX_Test_can_open(there));
        EXPECT_TRUE(can_open_here(there));
    }
    EXPECT_TRUE(MPIX_Test_can_open(there));
}

TEST(ImportReplacement, DoesNothingToWhatIsNotImportedOrNoLibrary)
{
    const ImportReplacement other_name(inside, "fopen_of_nobody", replacement);
    EXPECT_FALSE(other_name.is_in_force());
    const int local = 0;
    const ImportReplacement no_library(&local, "fopen", replacement);
    EXPECT_FALSE(no_library.is_in_force());
    EXPECT_TRUE(MPIX_Test_can_open(there));
}

}  // namespace
}  // namespace headway::platform
