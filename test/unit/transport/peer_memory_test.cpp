// SPDX-License-Identifier: Apache-2.0
#include "transport/peer_memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace headway::transport {
namespace {

/// This process as its own peer: the system moves the bytes as it would another one's.
class PeerMemoryTest : public testing::Test {
  protected:
    PeerMemoryTest()
    {
        memory.introduce(1, memory.own_identity());
        for (std::size_t i = 0; i < there.size(); ++i) {
            there[i] = static_cast<std::byte>(i * 7 + i / 251);
        }
    }

    void SetUp() override
    {
        if (!memory.can_reach(1)) {
            GTEST_SKIP() << "the system lets no process read another one's memory";
        }
    }

    /// Every second block of so many bytes of `here`.
    std::vector<std::span<std::byte>> runs(std::size_t count, std::size_t bytes)
    {
        std::vector<std::span<std::byte>> made;
        for (std::size_t i = 0; i < count; ++i) {
            made.push_back(std::span(here).subspan(2 * i * bytes, bytes));
        }
        return made;
    }

    PeerMemory memory{2, 0, true};
    std::vector<std::byte> there = std::vector<std::byte>(400'000);
    std::vector<std::byte> here = std::vector<std::byte>(800'000, std::byte{1});
};

TEST_F(PeerMemoryTest, ReadsToRunsAndWritesFromThem)
{
    for (const std::size_t count : {0U, 1U, 2U, 63U, 64U, 65U, 200U}) {
        const auto list = runs(count, 1500);
        ASSERT_EQ(memory.read(1, there.data(), list), CopyOutcome::done);
        for (std::size_t i = 0; i < count; ++i) {
            ASSERT_TRUE(std::ranges::equal(list[i], std::span(there).subspan(i * 1500, 1500)));
        }
        std::vector<std::byte> back(there.size());
        ASSERT_EQ(memory.write(1, list, back.data()), CopyOutcome::done);
        ASSERT_TRUE(std::equal(back.begin(), back.begin() + static_cast<long>(count * 1500),
                               there.begin()));
        ASSERT_EQ(std::ranges::count(std::span(back).subspan(count * 1500), std::byte{}),
                  static_cast<long>(there.size() - count * 1500));
    }
}

TEST_F(PeerMemoryTest, SaysThatThePeersBytesAreNotThere)
{
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* const place =
        ::mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(place, MAP_FAILED);
    auto* const bytes = static_cast<std::byte*>(place);
    ASSERT_EQ(::munmap(bytes + 2 * page, 2 * page), 0);
    const auto list = runs(10, 2 * page / 8);  // the last two lie beyond
    EXPECT_EQ(memory.read(1, bytes, list), CopyOutcome::bad_address);
    EXPECT_EQ(memory.write(1, list, bytes), CopyOutcome::bad_address);
    EXPECT_EQ(memory.read(1, bytes, std::span(list).first(8)), CopyOutcome::done);
    ASSERT_EQ(::munmap(bytes, 2 * page), 0);
}

TEST_F(PeerMemoryTest, AnswersThatThereIsNoWay)
{
    PeerMemory refusing(2, 0, false);
    refusing.introduce(1, refusing.own_identity());
    EXPECT_EQ(refusing.read(1, there.data(), runs(2, 100)), CopyOutcome::unreachable);
    EXPECT_EQ(refusing.write(1, runs(2, 100), there.data()), CopyOutcome::unreachable);
}

}  // namespace
}  // namespace headway::transport
