// SPDX-License-Identifier: Apache-2.0
#include "platform/memory_copy.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <vector>

#include "platform/peer_copy.hpp"
#include "unit/platform/exact_copies.hpp"

namespace headway::platform {
namespace {

constexpr std::size_t page = 4096;

TEST(MemoryCopy, KnowsWhereStringInstructionsAreSlow)
{
    alignas(page) static std::byte room[3 * page];
    const auto is_slow = [](std::size_t behind) {
        return is_slow_for_strings(room + 100 + behind, room + 100);
    };
    for (const std::size_t slow : {1U, 16U, 31U, 4097U, 4127U}) {
        EXPECT_TRUE(is_slow(slow)) << slow;
    }
    for (const std::size_t quick : {0U, 32U, 33U, 2048U, 4095U, 4096U, 4128U}) {
        EXPECT_FALSE(is_slow(quick)) << quick;
    }
}

TEST(MemoryCopy, IsExactWhereverTheEndsLie)
{
    constexpr std::size_t sizes[] = {0, 1, page - 1, page, page + 1, page + 64, 5000};
    expect_exact_copies(copy_memory, sizes);
    // Of these ends, at a length that has all parts of the loop.
    std::vector<std::byte> source(20'000);
    for (std::size_t i = 0; i < source.size(); ++i) {
        source[i] = static_cast<std::byte>(i * 7 % 251);
    }
    for (const std::size_t bytes : {page - 1, page, page + 63, 3 * page + 17}) {
        std::vector<std::byte> target(source.size() + page);
        const auto place = (reinterpret_cast<std::uintptr_t>(source.data()) + 16 -
                            reinterpret_cast<std::uintptr_t>(target.data())) %
                           page;
        ASSERT_TRUE(is_slow_for_strings(target.data() + place, source.data()));
        copy_memory(target.data() + place, source.data(), bytes);
        EXPECT_TRUE(std::equal(target.begin() + static_cast<std::ptrdiff_t>(place),
                               target.begin() + static_cast<std::ptrdiff_t>(place + bytes),
                               source.begin()));
        EXPECT_EQ(target[place + bytes], std::byte{0});
    }
}

/// A process that has all that this one has, and waits.
class Twin {
  public:
    Twin() : id_(::fork())
    {
        if (id_ == 0) {
            for (;;) {
                ::pause();
            }
        }
    }
    ~Twin()
    {
        ::kill(id_, SIGKILL);
        ::waitpid(id_, nullptr, 0);
    }
    Twin(const Twin&) = delete;
    Twin& operator=(const Twin&) = delete;

    std::int32_t id() const noexcept { return id_; }

  private:
    pid_t id_;
};

TEST(PeerCopy, GoesAroundPlacesThatAreSlow)
{
    constexpr std::size_t bytes = 50'001;
    std::vector<std::byte> there(bytes + 2 * page);
    for (std::size_t i = 0; i < there.size(); ++i) {
        there[i] = static_cast<std::byte>(i * 13 % 251);
    }
    const std::vector<std::byte> expected = there;
    const Twin twin;
    std::vector<std::byte> here(bytes + 2 * page);
    const auto even = (reinterpret_cast<std::uintptr_t>(there.data()) -
                       reinterpret_cast<std::uintptr_t>(here.data())) %
                      page;
    for (const std::size_t behind : {0U, 1U, 16U, 31U, 32U}) {
        std::byte* const to = here.data() + even + behind;
        std::fill(here.begin(), here.end(), std::byte{0});
        const CopyOutcome outcome = read_process(twin.id(), there.data(), to, bytes);
        if (outcome == CopyOutcome::unreachable) {
            GTEST_SKIP() << "this system lets no process into another one";
        }
        ASSERT_EQ(outcome, CopyOutcome::done);
        EXPECT_TRUE(std::equal(to, to + bytes, expected.begin())) << behind;
        EXPECT_EQ(to[bytes], std::byte{0});
        // Written one byte on, and read back from there.
        ASSERT_EQ(write_process(twin.id(), to, there.data() + behind + 1, bytes),
                  CopyOutcome::done);
        std::vector<std::byte> back(bytes);
        ASSERT_EQ(read_process(twin.id(), there.data() + behind + 1, back.data(), bytes),
                  CopyOutcome::done);
        EXPECT_TRUE(std::equal(back.begin(), back.end(), expected.begin())) << behind;
        ASSERT_EQ(write_process(twin.id(), expected.data(), there.data(), there.size()),
                  CopyOutcome::done);
    }
}

}  // namespace
}  // namespace headway::platform
