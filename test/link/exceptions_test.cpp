// SPDX-License-Identifier: Apache-2.0
// What a program's callback throws passes through the library, which has a C++ run-time of its own.
#include <stdexcept>

#include <gtest/gtest.h>

#include "passing.hpp"

namespace {

TEST(Link, TheFirstExceptionThroughTheLibraryArrivesAndCleansUp)
{
    int destroyed = 0;
    EXPECT_THROW(MPIX_Test_call([] { throw std::runtime_error("user"); }, &destroyed),
                 std::runtime_error);
    EXPECT_EQ(destroyed, 1);
}

TEST(Link, TheLibraryCatchesItsOwn)
{
    EXPECT_EQ(MPIX_Test_throw_inside(), 7);
}

}  // namespace
