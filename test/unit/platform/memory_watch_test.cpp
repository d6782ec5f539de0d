// SPDX-License-Identifier: Apache-2.0
#include "platform/memory_watch.hpp"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "platform/cpu.hpp"

namespace headway::platform {
namespace {

constexpr std::size_t page = 4096;

/// Memory of its own mapping: pages that may not be touched lie on either side.
class Area {
  public:
    explicit Area(std::size_t pages) : bytes_((pages + 2) * page)
    {
        base_ = static_cast<char*>(
            ::mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        EXPECT_NE(base_, MAP_FAILED);
        EXPECT_EQ(::mprotect(at(0), pages * page, PROT_READ | PROT_WRITE), 0);
        std::memset(at(0), 1, pages * page);
    }
    ~Area() { ::munmap(base_, bytes_); }
    Area(const Area&) = delete;
    Area& operator=(const Area&) = delete;

    char* at(std::size_t place) const { return base_ + (place + 1) * page; }
    MemoryRange range(std::size_t first, std::size_t pages) const
    {
        const auto begin = reinterpret_cast<std::uintptr_t>(at(first));
        return {begin, begin + pages * page};
    }

  private:
    std::size_t bytes_;
    char* base_;
};

/// `may_ask` or not: both ways to know mappings.
class MemoryWatchTest : public ::testing::TestWithParam<bool> {
  protected:
    void SetUp() override
    {
        auto opened = MemoryWatch::open(GetParam());
        if (!opened) {
            GTEST_SKIP() << opened.sentence();
        }
        watch = std::move(opened.value());
    }

    void settle() const
    {
        while (!watch->is_settled()) {
            yield_core();
        }
    }
    /// What has changed of `within`, as pages that it begins with.
    std::vector<std::size_t> pages_changed(const Area& area, std::size_t pages) const
    {
        settle();
        std::vector<std::size_t> found;
        MemoryRange changed;
        while (watch->take_change(changed)) {
            for (std::size_t i = 0; i < pages; ++i) {
                if (changed.overlaps(area.range(i, 1)) &&
                    std::ranges::find(found, i) == found.end()) {
                    found.push_back(i);
                }
            }
        }
        std::ranges::sort(found);
        return found;
    }

    std::unique_ptr<MemoryWatch> watch;
};

using Pages = std::vector<std::size_t>;

TEST_P(MemoryWatchTest, TellsOfEveryWayToLoseMemory)
{
    const Area area(8);
    ASSERT_TRUE(watch->watch(area.range(0, 8)));
    EXPECT_EQ(pages_changed(area, 8), Pages());
    ASSERT_EQ(::munmap(area.at(1), page), 0);
    EXPECT_EQ(pages_changed(area, 8), Pages({1}));
    ASSERT_NE(::mmap(area.at(2), page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
              MAP_FAILED);
    EXPECT_EQ(pages_changed(area, 8), Pages({2}));
    ASSERT_EQ(::madvise(area.at(3), page, MADV_DONTNEED), 0);
    EXPECT_EQ(pages_changed(area, 8), Pages({3}));
    ASSERT_EQ(::madvise(area.at(4), page, MADV_FREE), 0);
    EXPECT_EQ(pages_changed(area, 8), Pages({4}));
    const Area other(1);
    ASSERT_EQ(::mremap(area.at(5), page, page, MREMAP_MAYMOVE | MREMAP_FIXED, other.at(0)),
              other.at(0));
    EXPECT_EQ(pages_changed(area, 8), Pages({5}));
    EXPECT_EQ(pages_changed(area, 8), Pages());
    EXPECT_EQ(*area.at(6), 1);
}

TEST_P(MemoryWatchTest, MemoryThatWasMovedIsWatchedWhereItIs)
{
    const Area from(1);
    const Area to(1);
    ASSERT_TRUE(watch->watch(from.range(0, 1)));
    ASSERT_EQ(::mremap(from.at(0), page, page, MREMAP_MAYMOVE | MREMAP_FIXED, to.at(0)), to.at(0));
    EXPECT_EQ(pages_changed(to, 1), Pages({0}));
    ASSERT_EQ(::munmap(to.at(0), page), 0);
    EXPECT_EQ(pages_changed(to, 1), Pages({0}));
}

TEST_P(MemoryWatchTest, TellsOfTheEndOfTheHeap)
{
    // Nobody else moves the break meanwhile: what is allocated here is small.
    char* const begin = static_cast<char*>(::sbrk(64 * page));
    ASSERT_NE(begin, reinterpret_cast<char*>(-1));
    const auto at = (reinterpret_cast<std::uintptr_t>(begin) + page - 1) / page * page;
    const MemoryRange range{at, at + 8 * page};
    ASSERT_TRUE(watch->watch(range));
    ASSERT_EQ(::brk(begin), 0);
    settle();
    MemoryRange changed;
    ASSERT_TRUE(watch->take_change(changed));
    EXPECT_TRUE(changed.covers(range));
}

TEST_P(MemoryWatchTest, AMappingIsWatchedAsAWhole)
{
    const Area area(8);
    ASSERT_TRUE(watch->watch(area.range(3, 1)));
    // It is still one: a part of it alone could not be moved together with the rest.
    const Area other(8);
    ASSERT_EQ(::mremap(area.at(0), 8 * page, 8 * page, MREMAP_MAYMOVE | MREMAP_FIXED, other.at(0)),
              other.at(0));
    EXPECT_EQ(pages_changed(area, 8), Pages({0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST_P(MemoryWatchTest, UntouchedMemoryIsUsedAsEver)
{
    const Area area(4);
    ASSERT_EQ(::madvise(area.at(0), 4 * page, MADV_DONTNEED), 0);
    ASSERT_TRUE(watch->watch(area.range(0, 4)));
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    ASSERT_EQ(::write(ends[1], "word", 4), 4);
    EXPECT_EQ(::read(ends[0], area.at(1), 4), 4);  // the system touches it first
    EXPECT_EQ(std::string(area.at(1), 4), "word");
    *area.at(2) = 5;
    EXPECT_EQ(*area.at(3), 0);
    ::close(ends[0]);
    ::close(ends[1]);
    EXPECT_EQ(pages_changed(area, 4), Pages());
}

TEST_P(MemoryWatchTest, OnlyPrivateMemoryOfNoFileIsWatched)
{
    void* const shared =
        ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(shared, MAP_FAILED);
    const auto at = reinterpret_cast<std::uintptr_t>(shared);
    EXPECT_FALSE(watch->watch({at, at + page}));
    ::munmap(shared, page);
    EXPECT_FALSE(watch->watch({0, page}));  // nothing is there, nor put there by other threads
    const auto code = reinterpret_cast<std::uintptr_t>(&yield_core);
    EXPECT_FALSE(watch->watch({code, code + 1}));
    const Area area(3);
    // The listener is up once it has told something: a thread that starts may map memory into the
    // gap.
    ASSERT_TRUE(watch->watch(area.range(0, 3)));
    ASSERT_EQ(::madvise(area.at(0), page, MADV_DONTNEED), 0);
    EXPECT_EQ(pages_changed(area, 3), Pages({0}));
    ASSERT_EQ(::munmap(area.at(1), page), 0);
    EXPECT_FALSE(watch->watch(area.range(0, 3)));  // a gap
    EXPECT_TRUE(watch->watch(area.range(0, 1)));
    EXPECT_TRUE(watch->watch({area.range(2, 1).begin + 1, area.range(2, 1).end - 1}));
}

TEST_P(MemoryWatchTest, MoreChangesThanAreKeptAreAChangeOfAll)
{
    const Area area(2);
    ASSERT_TRUE(watch->watch(area.range(0, 2)));
    for (std::uint32_t i = 0; i < MemoryWatch::changes_max + 1; ++i) {
        ASSERT_EQ(::madvise(area.at(0), page, MADV_DONTNEED), 0);
    }
    EXPECT_EQ(pages_changed(area, 2), Pages({0, 1}));
    ASSERT_EQ(::madvise(area.at(0), page, MADV_DONTNEED), 0);
    EXPECT_EQ(pages_changed(area, 2), Pages({0}));
}

TEST_P(MemoryWatchTest, AChildHoldsNothingUpNorIsHeldUp)
{
    const Area area(3);
    ASSERT_TRUE(watch->watch(area.range(0, 3)));
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        char word = 0;
        const bool is_free = ::munmap(area.at(0), page) == 0;  // its own copy: nobody waits
        ::close(ends[1]);
        const bool is_end = ::read(ends[0], &word, 1) == 0;  // until its parent is through
        ::_exit(is_free && is_end ? 0 : 1);
    }
    EXPECT_EQ(pages_changed(area, 3), Pages());
    ASSERT_EQ(::munmap(area.at(1), page), 0);
    EXPECT_EQ(pages_changed(area, 3), Pages({1}));
    // What is watched no more is free, although the child lives.
    watch.reset();
    ASSERT_EQ(::munmap(area.at(2), page), 0);
    ::close(ends[0]);
    ::close(ends[1]);
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST_P(MemoryWatchTest, ThreadsThatFreeMemoryWhileTheWatchEndsGoOn)
{
    constexpr int rounds = 200;
    std::thread other([] {
        for (int i = 0; i < rounds; ++i) {
            void* const memory =
                ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            *static_cast<char*>(memory) = 1;
            ::munmap(memory, page);
        }
    });
    for (int i = 0; i < rounds; ++i) {
        const Area area(1);
        ASSERT_TRUE(watch->watch(area.range(0, 1)));
        if (i % 10 == 9) {
            watch.reset();
            auto opened = MemoryWatch::open(GetParam());
            ASSERT_TRUE(opened) << opened.sentence();
            watch = std::move(opened.value());
        }
    }
    other.join();
}

/// As containers do, for good: the calling process gets no userfaultfd. False: the system refuses.
bool refuse_userfaultfd()
{
    sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_userfaultfd, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog filter{static_cast<unsigned short>(std::size(rules)), rules};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST(MemoryWatch, WhereTheSystemRefusesItSaysWhy)
{
    constexpr int cannot_be_tried = 2;
    const pid_t child = ::fork();
    if (child == 0) {
        if (!refuse_userfaultfd()) {
            ::_exit(cannot_be_tried);
        }
        const auto opened = MemoryWatch::open();
        const bool is_said = !opened && opened.sentence().find(
                                            "gives no userfaultfd (Operation "
                                            "not permitted); it takes") != std::string::npos;
        ::_exit(is_said ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == cannot_be_tried) {
        GTEST_SKIP() << "NOT TESTED: the system takes no filter of calls";
    }
    EXPECT_EQ(status, 0);
}

INSTANTIATE_TEST_SUITE_P(Ways, MemoryWatchTest, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& row) {
                             return row.param ? "asks" : "reads";
                         });

}  // namespace
}  // namespace headway::platform
