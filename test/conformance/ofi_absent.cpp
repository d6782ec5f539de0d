// SPDX-License-Identifier: Apache-2.0
//
// Stands for each test of libfabric where Headway is built without it.
#include <gtest/gtest.h>

TEST(Ofi, NeedsLibfabric)
{
    GTEST_SKIP() << "Headway is built without libfabric";
}
