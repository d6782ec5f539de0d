// SPDX-License-Identifier: Apache-2.0
//
// Long messages from and into memory that changes between them, over providers that are treated as
// hardware: what arrives is what was there, memory that stays is registered once, and memory that
// does not is registered anew.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "conformance/ofi_link.hpp"
#include "platform/memory_watch.hpp"

namespace headway::transport {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t long_bytes = 64 * page;

/// Pages between pages that may not be touched: a mapping of its own, as the endpoints of this one
/// process could not watch one mapping both.
class Area {
  public:
    Area()
    {
        base_ = static_cast<std::byte*>(
            ::mmap(nullptr, long_bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        EXPECT_NE(base_, MAP_FAILED);
        map(0, long_bytes);
    }
    ~Area() { ::munmap(base_, long_bytes + 2 * page); }
    Area(const Area&) = delete;
    Area& operator=(const Area&) = delete;

    std::byte* bytes() const { return base_ + page; }
    void unmap(std::size_t offset, std::size_t count) const
    {
        ASSERT_EQ(::munmap(bytes() + offset, count), 0);
    }
    void map(std::size_t offset, std::size_t count) const
    {
        ASSERT_NE(::mmap(bytes() + offset, count, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
                  MAP_FAILED);
    }
    void fill(std::uint32_t seed) const
    {
        for (std::size_t i = 0; i < long_bytes; ++i) {
            seed = seed * 1664525 + 1013904223;
            bytes()[i] = static_cast<std::byte>(seed >> 24);
        }
    }

  private:
    std::byte* base_;
};

class OfiRegionsTest : public ::testing::TestWithParam<const char*> {
  protected:
    void SetUp() override { open(16); }

    void open(std::uint64_t regions_kept_max)
    {
        NetworkOptions options;
        options.regions_kept_max = regions_kept_max;
        options.region_bytes_max = 16 * long_bytes;
        options.registers_all = true;
        link.open(GetParam(), options);
        if (!link.why_not().empty()) {
            GTEST_SKIP() << link.why_not();
        }
        can_keep = static_cast<bool>(platform::MemoryWatch::open());
    }

    /// A message of `count` bytes from `offset` on: the second rank reads them.
    void send(std::size_t offset = 0, std::size_t count = long_bytes)
    {
        Exposure exposure;
        void* const exposed = link.port(0).expose(source.bytes() + offset, count, &exposure);
        ASSERT_NE(exposed, nullptr);
        void* prepared = nullptr;
        ASSERT_TRUE(link.port(1).prepare_target(target.bytes() + offset, count, &prepared));
        ASSERT_NE(prepared, nullptr) << "not treated as hardware";
        await([&] {
            return link.port(1).read(0, exposure, 0, target.bytes() + offset, count, prepared, 1) ==
                   base::Status::done;
        });
        std::uint64_t cookie = 0;
        await([&] { return link.port(1).poll_transfer(cookie); });
        link.port(1).release_target(prepared);
        link.port(0).conceal(exposed);
        EXPECT_EQ(std::memcmp(source.bytes() + offset, target.bytes() + offset, count), 0);
    }
    template <typename Condition>
    void await(Condition&& condition)
    {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(40);
        while (!condition()) {
            ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "nothing moves";
            for (const std::uint32_t rank : {0U, 1U}) {
                Frame frame;
                std::uint32_t sender = 0;
                ASSERT_FALSE(link.port(rank).poll(frame, sender));
            }
        }
    }
    RegionCounts counts(std::uint32_t rank) { return link.network(rank).region_counts(); }

    const Area source;
    const Area target;
    OfiEndpoint link;
    bool can_keep = false;
};

TEST_P(OfiRegionsTest, MemoryThatStaysIsRegisteredOnce)
{
    constexpr std::uint64_t messages = 20;
    for (std::uint32_t i = 0; i < messages; ++i) {
        source.fill(i);
        ASSERT_NO_FATAL_FAILURE(send());
        ASSERT_NO_FATAL_FAILURE(send(5 * page + 3, 7 * page));  // a part of it
    }
    for (const std::uint32_t rank : {0U, 1U}) {
        // Whether another thread of the process changes memory just then is not up to this test.
        EXPECT_EQ(counts(rank).hits + counts(rank).misses, 2 * messages);
        EXPECT_EQ(counts(rank).hits != 0, can_keep);
        EXPECT_EQ(counts(rank).invalidations, 0U);
    }
}

TEST_P(OfiRegionsTest, MemoryThatWasMappedAnewIsRegisteredAnew)
{
    constexpr std::uint64_t messages = 20;
    for (std::uint32_t i = 0; i < messages; ++i) {
        source.fill(i);
        ASSERT_NO_FATAL_FAILURE(send());
        const std::size_t offset = i % 3 * page;
        const std::size_t count = i % 2 == 0 ? long_bytes - offset : page;
        for (const Area* area : {&source, &target}) {
            area->unmap(offset, count);
            area->map(offset, count);
        }
    }
    source.fill(messages);
    ASSERT_NO_FATAL_FAILURE(send());
    for (const std::uint32_t rank : {0U, 1U}) {
        EXPECT_EQ(counts(rank).hits, 0U);
        // One that made way for its successor before it was known to be lost does not count.
        EXPECT_EQ(counts(rank).invalidations != 0, can_keep);
    }
}

TEST_P(OfiRegionsTest, MemoryThatWasEmptiedIsRegisteredAnew)
{
    source.fill(1);
    ASSERT_NO_FATAL_FAILURE(send());
    ASSERT_EQ(::madvise(source.bytes() + page, page, MADV_DONTNEED), 0);
    ASSERT_NO_FATAL_FAILURE(send());
    EXPECT_EQ(target.bytes()[page], std::byte{0});
    EXPECT_EQ(counts(0).hits, 0U);
    EXPECT_EQ(counts(1).invalidations, 0U);
}

TEST_P(OfiRegionsTest, AForkedChildDisturbsNobody)
{
    source.fill(1);
    ASSERT_NO_FATAL_FAILURE(send());
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        char word = 0;
        ::close(ends[1]);
        source.unmap(0, long_bytes);                         // its own copy of it
        const bool is_end = ::read(ends[0], &word, 1) == 0;  // its parent is through
        ::_exit(is_end && ::munmap(target.bytes(), long_bytes) == 0 ? 0 : 1);
    }
    ASSERT_GT(child, 0);
    source.fill(2);
    ASSERT_NO_FATAL_FAILURE(send());
    EXPECT_EQ(counts(0).invalidations, 0U);
    source.unmap(0, long_bytes);
    await([&] { return !can_keep || counts(0).invalidations == 1; });
    source.map(0, long_bytes);
    source.fill(3);
    ASSERT_NO_FATAL_FAILURE(send());
    ::close(ends[0]);
    ::close(ends[1]);
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST_P(OfiRegionsTest, WithoutRoomMemoryIsRegisteredForEachMessage)
{
    OfiEndpoint first;
    std::swap(first, link);
    open(0);
    for (std::uint32_t i = 0; i < 3; ++i) {
        source.fill(i);
        ASSERT_NO_FATAL_FAILURE(send());
    }
    EXPECT_EQ(counts(0).hits, 0U);
    EXPECT_EQ(counts(0).misses, 3U);
}

INSTANTIATE_TEST_SUITE_P(Providers, OfiRegionsTest, ::testing::Values("tcp", "net", "sockets"),
                         &name_of_provider);

}  // namespace
}  // namespace headway::transport
