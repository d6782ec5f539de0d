// SPDX-License-Identifier: Apache-2.0
#include "platform/mapping.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstddef>

namespace headway::platform {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t half_bytes = 64 * page;

/// Faults of this thread that writing a byte of each page takes.
long faults_of_writing(std::byte* begin, std::size_t bytes)
{
    rusage before{};
    rusage after{};
    ::getrusage(RUSAGE_THREAD, &before);
    for (std::size_t at = 0; at < bytes; at += page) {
        *static_cast<volatile std::byte*>(begin + at) = std::byte{1};
    }
    ::getrusage(RUSAGE_THREAD, &after);
    return after.ru_minflt - before.ru_minflt;
}

class FreshPages : public testing::Test {
  public:
    void SetUp() override
    {
        void* const place = ::mmap(nullptr, 2 * half_bytes, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(place, MAP_FAILED);
        begin = static_cast<std::byte*>(place);
    }
    void TearDown() override { ::munmap(begin, 2 * half_bytes); }

    std::byte* begin = nullptr;
};

TEST_F(FreshPages, ThatArePreparedAreWrittenWithoutFaults)
{
    // From inside a page to inside another one.
    prepare_for_writing(begin + 100, half_bytes - 200);
    if (faults_of_writing(begin, half_bytes) != 0) {
        GTEST_SKIP() << "the system maps no range at once";
    }
    EXPECT_GT(faults_of_writing(begin + half_bytes, half_bytes), 0)
        << "not more than was asked for";
}

TEST_F(FreshPages, KeepWhatIsThere)
{
    begin[0] = std::byte{7};
    prepare_for_writing(begin, half_bytes);
    EXPECT_EQ(begin[0], std::byte{7});
    EXPECT_EQ(begin[page], std::byte{0});
}

TEST(PrepareForWriting, OfWhatIsNotMappedDoesNothing)
{
    prepare_for_writing(nullptr, page);
}

}  // namespace
}  // namespace headway::platform
