// SPDX-License-Identifier: Apache-2.0
#include "platform/device_memory.hpp"

#include <dlfcn.h>

#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

namespace headway::platform {
namespace {

constexpr std::size_t page_bytes = 4096;

TEST(DeviceMemory, WhatWasFoundToBeOfTheHostNeedsNoQuestion)
{
    DeviceMemory devices(DeviceMemory::Watch::always);
    ASSERT_TRUE(devices.is_needed());
    std::vector<std::byte> buffer(3 * page_bytes);
    EXPECT_FALSE(devices.is_known_host(buffer.data()));
    EXPECT_EQ(devices.driver_of(buffer.data()), nullptr);
    EXPECT_TRUE(devices.is_known_host(buffer.data()));
    EXPECT_FALSE(devices.is_known_host(buffer.data() + 2 * page_bytes));
}

TEST(DeviceMemory, NullIsNeverKnown)
{
    DeviceMemory devices(DeviceMemory::Watch::always);
    EXPECT_FALSE(devices.is_known_host(nullptr));
    (void)devices.driver_of(nullptr);
    EXPECT_FALSE(devices.is_known_host(nullptr));
}

TEST(DeviceMemory, ALibraryThatIsLoadedMakesItAskAgain)
{
    DeviceMemory devices(DeviceMemory::Watch::always);
    const std::vector<std::byte> first(2 * page_bytes);
    const std::vector<std::byte> second(2 * page_bytes);
    (void)devices.driver_of(first.data());
    ASSERT_TRUE(devices.is_known_host(first.data()));
    void* const library = ::dlopen("libBrokenLocale.so.1", RTLD_LAZY);
    if (library == nullptr) {
        GTEST_SKIP() << "there is no library to load here";
    }
    // Noticed with the next question, whatever that is about.
    (void)devices.driver_of(second.data());
    EXPECT_FALSE(devices.is_known_host(first.data()));
    EXPECT_TRUE(devices.is_known_host(second.data()));
    ::dlclose(library);
}

TEST(DeviceMemory, NobodyAsksWhereThatIsSwitchedOff)
{
    EXPECT_FALSE(DeviceMemory(DeviceMemory::Watch::off).is_needed());
}

}  // namespace
}  // namespace headway::platform
