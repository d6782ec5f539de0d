// SPDX-License-Identifier: Apache-2.0
#include "memory/node_heap.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "heap_fixture.hpp"

namespace headway::memory {
namespace {

using platform::Deadline;

constexpr std::int64_t watchdog_ns = 60'000'000'000;

TEST(NodeHeap, OffersAnAddressAndMapsThere)
{
    const HeapOptions options = small_heap(2);
    ASSERT_LT(options.candidate, NodeHeap::candidate_count);
    auto heap = make_heap(2);
    ASSERT_NE(heap, nullptr);
    EXPECT_EQ(heap->address(), NodeHeap::candidate_address(options.candidate));
    EXPECT_EQ(heap->rank_count(), 2U);
    EXPECT_EQ(NodeHeap::candidate_mask(options.size_bytes) & (1U << options.candidate), 0U);
    EXPECT_EQ(NodeHeap::candidate_address(NodeHeap::candidate_count), 0U);
}

TEST(NodeHeap, FullSizeCostsNoMemoryUntilUsed)
{
    HeapOptions options = small_heap(8);
    options.size_bytes = std::uint64_t{16} << 30;
    auto heap = NodeHeap::create(options);
    ASSERT_TRUE(heap) << heap.sentence();
    EXPECT_EQ(heap.value()->statistics().bytes_reserved, 0U);
    struct stat info{};
    ASSERT_EQ(::stat(heap.value()->path().c_str(), &info), 0);
    EXPECT_LT(info.st_blocks * 512, 1 << 20);
}

TEST(NodeHeap, TakenAddressIsSaidWithACure)
{
    auto first = make_heap(1);
    ASSERT_NE(first, nullptr);
    HeapOptions options = small_heap(1);
    while (NodeHeap::candidate_address(options.candidate) != first->address()) {
        options.candidate = (options.candidate + 1) % NodeHeap::candidate_count;
    }
    auto second = NodeHeap::create(options);
    ASSERT_FALSE(second);
    EXPECT_NE(second.sentence().find("is taken in this process"), std::string::npos);
}

TEST(NodeHeap, NoCommonAddressIsSaid)
{
    HeapOptions options = small_heap(1);
    options.candidate = NodeHeap::candidate_count;
    auto heap = NodeHeap::create(options);
    ASSERT_FALSE(heap);
    EXPECT_NE(heap.sentence().find("none of the addresses"), std::string::npos);
}

TEST(NodeHeap, RefusedSizesAreSaidWithACure)
{
    const pid_t child = in_child([] {
        const HeapOptions options = small_heap(1);
        const rlimit limit{options.size_bytes / 2, options.size_bytes / 2};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        auto heap = NodeHeap::create(options);
        return !heap && heap.sentence().find("ulimit -f") != std::string::npos ? 0 : 1;
    });
    EXPECT_EQ(exit_code_of(child), 0);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
    const pid_t narrow = in_child([] {
        const HeapOptions options = small_heap(1);
        const rlimit limit{options.size_bytes, options.size_bytes};
        ::setrlimit(RLIMIT_AS, &limit);
        auto heap = NodeHeap::create(options);
        return !heap && heap.sentence().find("ulimit -v") != std::string::npos ? 0 : 1;
    });
    EXPECT_EQ(exit_code_of(narrow), 0);
#endif
    HeapOptions tiny = small_heap(1);
    tiny.size_bytes = unit_bytes;
    EXPECT_FALSE(NodeHeap::create(tiny));
}

TEST(NodeHeap, AttachRefusesWhatIsNoHeap)
{
    auto none = NodeHeap::attach("/proc/self/fd/987654", 0x10'0000'0000, "test");
    ASSERT_FALSE(none);
    EXPECT_NE(none.sentence().find("cannot be opened"), std::string::npos);
    const HeapOptions options = small_heap(1);
    auto file = platform::SharedFile::create_memfd("other", options.size_bytes);
    ASSERT_TRUE(file) << file.sentence();
    auto other = NodeHeap::attach(file.value().path(),
                                  NodeHeap::candidate_address(options.candidate), "test");
    ASSERT_FALSE(other);
    EXPECT_NE(other.sentence().find("is not the shared memory"), std::string::npos);
    EXPECT_FALSE(NodeHeap::attach("/dev/null", 0x10'0000'0000, "test"));
}

/// The child is forked before the heap exists, so it shares nothing but the text in the pipe.
TEST(NodeHeap, AnotherProcessAttachesByPath)
{
    for (const HeapKind kind : {HeapKind::memfd, HeapKind::shm}) {
        int to_child[2];
        ASSERT_EQ(::pipe(to_child), 0);
        HeapOptions options = small_heap(2);
        options.kind = kind;
        const std::string name = "headway-attach-" + std::to_string(::getpid());
        options.name = name;
        const auto address = NodeHeap::candidate_address(options.candidate);
        const pid_t child = in_child([&]() -> int {
            char path[200] = {};
            if (::read(to_child[0], path, sizeof path - 1) <= 0) {
                return 1;
            }
            if (NodeHeap::attach(path, address, "another version")) {
                return 2;
            }
            auto heap = NodeHeap::attach(path, address, "test");
            if (!heap || !heap.value()->wait_ready(Deadline::after_ns(watchdog_ns))) {
                return 3;
            }
            auto* const text = static_cast<char*>(heap.value()->root(0));
            if (std::strcmp(text, "from the parent") != 0) {
                return 4;
            }
            heap.value()->for_rank(1).free(text);
            return 0;
        });
        auto heap = NodeHeap::create(options);
        ASSERT_TRUE(heap) << heap.sentence();
        const std::string path = heap.value()->path();
        ASSERT_EQ(::write(to_child[1], path.c_str(), path.size()),
                  static_cast<ssize_t>(path.size()));
        auto* const text = static_cast<char*>(heap.value()->for_rank(0).allocate(100));
        std::strcpy(text, "from the parent");
        heap.value()->set_root(0, text);
        heap.value()->announce_ready();
        EXPECT_EQ(exit_code_of(child), 0);
        heap.value()->for_rank(0).take_inbound();
        EXPECT_EQ(heap.value()->statistics().slab_bytes_in_use, 0U);
        heap.value()->unlink_name();
        EXPECT_EQ(kind == HeapKind::shm, ::access(path.c_str(), F_OK) != 0);
        ::close(to_child[0]);
        ::close(to_child[1]);
    }
}

TEST(NodeHeap, WaitReadyEndsAtItsDeadline)
{
    auto heap = make_heap(1);
    ASSERT_NE(heap, nullptr);
    EXPECT_FALSE(heap->wait_ready(Deadline::after_ns(1000)));
    heap->announce_ready();
    EXPECT_TRUE(heap->wait_ready(Deadline::after_ns(watchdog_ns)));
}

constexpr int no_namespace = 77;

/// Gives the calling process a /dev/shm of its own, of `size` (mount option); false if the system
/// does not let it.
bool shrink_shm(const char* size)
{
    if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
        return false;
    }
    const std::string option = std::string("size=") + size;
    return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("tmpfs", "/dev/shm", "tmpfs", 0, option.c_str()) == 0;
}

int create_on_a_full_shm()
{
    if (!shrink_shm("16k")) {
        return no_namespace;
    }
    HeapOptions options = small_heap(1);
    options.size_bytes = std::uint64_t{16} << 30;  // its first bytes already need more than 16 KiB
    options.kind = HeapKind::shm;
    const auto refused = NodeHeap::create(options);
    if (refused || refused.sentence().find("/dev/shm is full") == std::string::npos) {
        return 1;
    }
    return ::access("/dev/shm/headway-test", F_OK) == 0 ? 2 : 0;
}

/// Touches every byte it gets: memory that is not there would end the process by SIGBUS.
int use_up_a_small_shm()
{
    if (!shrink_shm("8m")) {
        return no_namespace;
    }
    HeapOptions options = small_heap(1);
    options.kind = HeapKind::shm;
    auto heap = NodeHeap::create(options);
    if (!heap) {
        return 1;
    }
    heap.value()->unlink_name();
    Allocator& allocator = heap.value()->for_rank(0);
    std::uint64_t got = 0;
    for (const std::size_t size : {std::size_t{100'000}, std::size_t{64}}) {
        while (void* const block = allocator.allocate(size)) {
            std::memset(block, 1, size);
            got += size;
        }
    }
    return got > (std::uint64_t{6} << 20) && got < (std::uint64_t{8} << 20) ? 0 : 2;
}

TEST(NodeHeap, FullShmIsAValueAndNeverASignal)
{
    const int refused = exit_code_of(in_child(create_on_a_full_shm));
    if (refused == no_namespace) {
        GTEST_SKIP() << "this user may not mount a small /dev/shm";
    }
    EXPECT_EQ(refused, 0);
    EXPECT_EQ(exit_code_of(in_child(use_up_a_small_shm)), 0);
}

}  // namespace
}  // namespace headway::memory
