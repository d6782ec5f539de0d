// SPDX-License-Identifier: Apache-2.0
#include "memory/allocator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "heap_fixture.hpp"

namespace headway::memory {
namespace {

class AllocatorTest : public ::testing::Test {
  protected:
    void SetUp() override
    {
        heap_ = make_heap(4);
        ASSERT_NE(heap_, nullptr);
    }
    Allocator& rank(std::uint32_t index) { return heap_->for_rank(index); }

    std::unique_ptr<NodeHeap> heap_;
};

TEST_F(AllocatorTest, BlocksAreAlignedDistinctAndReused)
{
    std::set<void*> blocks;
    for (int each = 0; each < 5000; ++each) {
        void* const block = rank(0).allocate(100);
        ASSERT_NE(block, nullptr);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0U);
        EXPECT_TRUE(heap_->contains(block));
        EXPECT_TRUE(blocks.insert(block).second);
    }
    EXPECT_EQ(heap_->statistics().slab_bytes_in_use, 5000U * 128U);
    const std::uint64_t reserved = heap_->statistics().bytes_reserved;
    for (void* const block : blocks) {
        rank(0).free(block);
    }
    EXPECT_EQ(heap_->statistics().slab_bytes_in_use, 0U);
    EXPECT_EQ(heap_->statistics().bytes_reserved, unit_bytes);
    EXPECT_EQ(heap_->statistics().bytes_reserved_high, reserved);
    rank(0).free(nullptr);
}

TEST_F(AllocatorTest, EveryClassBoundaryHoldsItsBytes)
{
    std::vector<std::pair<unsigned char*, std::size_t>> blocks;
    for (std::uint32_t size_class = 0; size_class < size_class_count; ++size_class) {
        for (const std::size_t extra : {0U, 1U}) {
            const std::size_t size = size_class_bytes(size_class) + extra;
            auto* const block = static_cast<unsigned char*>(rank(1).allocate(size));
            ASSERT_NE(block, nullptr);
            EXPECT_GE(rank(1).usable_bytes(block), size);
            std::memset(block, static_cast<int>(blocks.size()), size);
            blocks.emplace_back(block, size);
        }
    }
    for (std::size_t each = 0; each < blocks.size(); ++each) {
        const auto [block, size] = blocks[each];
        EXPECT_EQ(block[0], each);
        EXPECT_EQ(block[size - 1], each);
        rank(1).free(block);
    }
    EXPECT_EQ(rank(1).slab_bytes_in_use(), 0U);
}

TEST_F(AllocatorTest, LargeRunsMeltTogether)
{
    void* const first = rank(0).allocate(3 * unit_bytes);
    void* const second = rank(1).allocate(2 * unit_bytes);
    void* const third = rank(2).allocate(unit_bytes);
    void* const guard = rank(3).allocate(unit_bytes);
    EXPECT_EQ(heap_->statistics().bytes_reserved, 7 * unit_bytes);
    rank(3).free(first);
    rank(0).free(third);
    rank(0).free(second);
    void* const all = rank(1).allocate(6 * unit_bytes);
    EXPECT_EQ(all, first);
    rank(0).free(all);
    rank(0).free(guard);
    EXPECT_EQ(heap_->statistics().bytes_reserved, 0U);
    EXPECT_EQ(rank(2).allocate(8 * unit_bytes), first);
}

TEST_F(AllocatorTest, ExhaustionIsAValueAndPasses)
{
    std::vector<void*> blocks;
    while (void* const block = rank(0).allocate(std::size_t{16} << 20)) {
        blocks.push_back(block);
    }
    EXPECT_EQ(blocks.size(), 15U);
    EXPECT_EQ(rank(0).allocate(std::size_t{1} << 40), nullptr);
    EXPECT_EQ(rank(0).allocate(SIZE_MAX), nullptr);
    rank(0).free(blocks.back());
    blocks.pop_back();
    EXPECT_NE(rank(0).allocate(std::size_t{16} << 20), nullptr);
}

TEST_F(AllocatorTest, SmallBlocksEndToo)
{
    std::uint64_t count = 0;
    while (rank(0).allocate(32 * 1024) != nullptr) {
        ++count;
    }
    EXPECT_GT(count, 7800U);
    EXPECT_EQ(rank(1).allocate(32 * 1024), nullptr);
}

TEST_F(AllocatorTest, BlocksFreedByOthersComeBackToTheOwner)
{
    std::vector<void*> blocks;
    for (int each = 0; each < 2000; ++each) {
        blocks.push_back(rank(0).allocate(64));
    }
    std::thread other([&] {
        for (void* const block : blocks) {
            rank(1).free(block);
        }
    });
    other.join();
    EXPECT_EQ(rank(0).slab_bytes_in_use(), 2000U * 64U);
    EXPECT_EQ(rank(1).slab_bytes_in_use(), 0U);
    const std::set<void*> known(blocks.begin(), blocks.end());
    const std::uint64_t reserved = heap_->statistics().bytes_reserved;
    for (int each = 0; each < 2000; ++each) {
        ASSERT_NE(rank(0).allocate(64), nullptr);
    }
    EXPECT_EQ(heap_->statistics().bytes_reserved, reserved);
}

TEST_F(AllocatorTest, MakeConstructs)
{
    struct Pair {
        int left;
        int right;
        Pair(int first, int second) : left(first), right(second) {}
    };
    Pair* const pair = rank(0).make<Pair>(3, 4);
    ASSERT_NE(pair, nullptr);
    EXPECT_EQ(pair->left + pair->right, 7);
    rank(0).free(pair);
}

/// Ranks as processes: each sends the blocks it fills to the next one, which checks and frees them.
TEST_F(AllocatorTest, ProcessesFreeEachOthersBlocks)
{
    constexpr std::uint32_t ranks = 4;
    constexpr int rounds = 20'000;
    struct alignas(64) Box {
        std::atomic<std::uint64_t*> block;
    };
    auto* const boxes = static_cast<Box*>(rank(0).allocate(sizeof(Box) * ranks));
    std::memset(static_cast<void*>(boxes), 0, sizeof(Box) * ranks);
    const auto run = [&](std::uint32_t me) {
        Box& outgoing = boxes[me];
        Box& incoming = boxes[(me + ranks - 1) % ranks];
        std::uint64_t state = me + 1;
        int sent = 0;
        int received = 0;
        while (sent < rounds || received < rounds) {
            if (sent < rounds && outgoing.block.load(std::memory_order_acquire) == nullptr) {
                state = state * 6364136223846793005U + 1442695040888963407U;
                const std::size_t words = 2 + (state >> 33) % (sent % 100 == 0 ? 20'000 : 200);
                auto* const block = static_cast<std::uint64_t*>(rank(me).allocate(words * 8));
                if (block == nullptr) {
                    return 1;
                }
                block[0] = words;
                block[1] = state;
                block[words - 1] = words == 2 ? state : words ^ state;
                outgoing.block.store(block, std::memory_order_release);
                ++sent;
            }
            std::uint64_t* const block = incoming.block.load(std::memory_order_acquire);
            if (received < rounds && block != nullptr) {
                const std::uint64_t words = block[0];
                if (words > 2 && block[words - 1] != (words ^ block[1])) {
                    return 2;
                }
                rank(me).free(block);
                incoming.block.store(nullptr, std::memory_order_release);
                ++received;
            } else {
                platform::yield_core();
            }
        }
        return 0;
    };
    std::vector<pid_t> children;
    for (std::uint32_t me = 0; me < ranks; ++me) {
        children.push_back(in_child([&run, me] { return run(me); }));
    }
    for (const pid_t child : children) {
        EXPECT_EQ(exit_code_of(child), 0);
    }
    rank(0).free(boxes);
    for (std::uint32_t me = 0; me < ranks; ++me) {
        rank(me).take_inbound();
        EXPECT_EQ(rank(me).slab_bytes_in_use(), 0U) << me;
    }
}

TEST_F(AllocatorTest, ZeroedBlocksAreZeroWhoeverHadThemBefore)
{
    for (const std::size_t bytes :
         {std::size_t{100}, std::size_t{5000}, std::size_t{32768}, std::size_t{3 * unit_bytes}}) {
        // Used, given back, and cut anew: by the same rank, and over runs that melt together.
        for (int turn = 0; turn < 3; ++turn) {
            std::vector<unsigned char*> blocks;
            for (std::size_t each = 0; each < 8; ++each) {
                auto* const block = static_cast<unsigned char*>(
                    rank(each % 2 == 0 ? 0 : 1).allocate_zeroed(bytes + each));
                ASSERT_NE(block, nullptr);
                EXPECT_EQ(std::count(block, block + bytes + each, 0),
                          static_cast<std::ptrdiff_t>(bytes + each))
                    << bytes << " bytes, turn " << turn;
                std::memset(block, 0xEE, bytes + each);
                blocks.push_back(block);
            }
            for (unsigned char* const block : blocks) {
                rank(0).free(block);
            }
            rank(1).take_inbound();
        }
    }
}

TEST_F(AllocatorTest, ADeathInsideTheLockIsNamedAndDoesNotHang)
{
    void* const keep = rank(0).allocate(unit_bytes);
    PageRuns& runs = heap_->runs();
    const pid_t child = in_child([&] {
        (void)runs.lock().try_lock(3);
        return 0;
    });
    EXPECT_EQ(exit_code_of(child), 0);
    EXPECT_EQ(rank(0).allocate(unit_bytes), nullptr);
    EXPECT_EQ(heap_->lock_holder(), 3);
    runs.lock().unlock();
    EXPECT_EQ(heap_->lock_holder(), -1);
    rank(0).free(keep);
}

}  // namespace
}  // namespace headway::memory
