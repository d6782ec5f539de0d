// SPDX-License-Identifier: Apache-2.0
#include "platform/hardware.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "platform/process.hpp"

namespace headway::platform {
namespace {

/// The files of a machine of two packages with two cores each, two cpus a core (0 and 4, 1 and 5,
/// ...); a package is a NUMA node, and its last cache is the third level.
class HardwareTest : public testing::Test {
  protected:
    void SetUp() override
    {
        folder_ = std::filesystem::path(testing::TempDir()) /
                  ("hardware_" + std::to_string(process_id()));
        for (unsigned cpu = 0; cpu < 8; ++cpu) {
            const unsigned core = cpu % 4;
            const std::string both = std::to_string(core) + "," + std::to_string(core + 4);
            const bool is_first = core < 2;
            const std::string package = is_first ? "0-1,4-5" : "2-3,6-7";
            const std::string place = "cpu/cpu" + std::to_string(cpu);
            write(place + "/topology/package_cpus_list", package);
            write(place + "/topology/core_cpus_list", both);
            write(place + (is_first ? "/node0/none" : "/node1/none"), "");
            write(place + "/node_of_nothing/none", "");
            const std::vector<std::vector<std::string>> caches = {
                {"1", "Data", both, "32K"},
                {"1", "Instruction", "wrong", "64K"},
                {"2", "Unified", both, "512K"},
                {"3", "Unified", package, "32768K"}};
            for (std::size_t i = 0; i < caches.size(); ++i) {
                const std::string cache = place + "/cache/index" + std::to_string(i);
                write(cache + "/level", caches[i][0]);
                write(cache + "/type", caches[i][1]);
                write(cache + "/shared_cpu_list", caches[i][2]);
                write(cache + "/size", caches[i][3]);
            }
        }
        write("node/node0/cpulist", "0-1,4-5");
        write("node/node1/cpulist", "2-3,6-7");
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    void write(const std::string& name, const std::string& text) const
    {
        std::filesystem::create_directories((folder_ / name).parent_path());
        std::ofstream(folder_ / name) << text << '\n';
    }

    /// Package, node, third, second and first cache, core, cpu.
    std::vector<int> place_of(const std::vector<unsigned>& cpus) const
    {
        const HardwarePlace place = find_hardware(cpus, folder_);
        return {place.pieces.begin(), place.pieces.end()};
    }

    std::filesystem::path folder_;
};

constexpr int several = HardwarePlace::several;
constexpr int unknown = HardwarePlace::unknown;

TEST_F(HardwareTest, APieceIsKnownByItsLowestCpu)
{
    EXPECT_EQ(place_of({7}), (std::vector{2, 2, 2, 3, 3, 3, 7}));
    EXPECT_EQ(place_of({1}), (std::vector{0, 0, 0, 1, 1, 1, 1}));
}

TEST_F(HardwareTest, CpusAreWithinWhatHoldsAllOfThem)
{
    EXPECT_EQ(place_of({2, 6}), (std::vector{2, 2, 2, 2, 2, 2, several}));
    EXPECT_EQ(place_of({6, 7}), (std::vector{2, 2, 2, several, several, several, several}));
    EXPECT_EQ(place_of({1, 2}), std::vector<int>(hardware_kinds, several));
}

TEST_F(HardwareTest, WhatTheSystemDoesNotSayIsUnknown)
{
    std::filesystem::remove_all(folder_ / "cpu/cpu0/cache");
    std::filesystem::remove_all(folder_ / "node");
    write("cpu/cpu0/topology/package_cpus_list", "no list");
    EXPECT_EQ(place_of({0}), (std::vector{unknown, unknown, unknown, unknown, unknown, 0, 0}));
    EXPECT_EQ(place_of({}), std::vector<int>(hardware_kinds, unknown));
}

TEST_F(HardwareTest, TheLastCacheIsOneAndNotAllOfThem)
{
    EXPECT_EQ(find_last_cache(1, folder_), 32U << 20U);
    write("cpu/cpu1/cache/index3/size", "16M");
    EXPECT_EQ(find_last_cache(1, folder_), 16U << 20U);
    EXPECT_EQ(find_last_cache(8, folder_), 0U) << "there is no such cpu";
    for (const char* const size : {"", "K", "12X", "-4K"}) {
        write("cpu/cpu1/cache/index3/size", size);
        EXPECT_EQ(find_last_cache(1, folder_), 0U) << size;
    }
    std::filesystem::remove_all(folder_ / "cpu/cpu1/cache/index3");
    EXPECT_EQ(find_last_cache(1, folder_), 512U << 10U);
}

TEST_F(HardwareTest, ThisMachineHasCpus)
{
    const std::vector<unsigned> cpus = allowed_cpus();
    ASSERT_FALSE(cpus.empty());
    const HardwarePlace place = find_hardware(std::vector{cpus.back()});
    EXPECT_EQ(place.of(Hardware::cpu), static_cast<int>(cpus.back()));
}

TEST(OwnCache, IsThatOfACoreOrAGuess)
{
    const std::uint64_t bytes = own_cache_bytes();
    EXPECT_GE(bytes, 64U * 1024);
    EXPECT_TRUE(last_cache_bytes() == 0 || bytes <= last_cache_bytes()) << bytes;
}

TEST(LastCache, IsThatOfACpuWhereTheSystemSays)
{
    const std::uint64_t found = find_last_cache(allowed_cpus().front());
    if (found == 0) {
        GTEST_SKIP() << "the system shows no caches";
    }
    EXPECT_EQ(last_cache_bytes(), found);
}

TEST(LastCache, IsNoSmallerThanOthersOrUnknown)
{
    const std::uint64_t bytes = last_cache_bytes();
    EXPECT_TRUE(bytes == 0 || bytes >= 512 * 1024) << bytes;
}

}  // namespace
}  // namespace headway::platform
