// SPDX-License-Identifier: Apache-2.0
//
// Random programs of allocations and frees by several ranks, beside a simple model: a map of the
// blocks in use. Blocks never overlap, keep their contents, and all memory comes back.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "memory/node_heap.hpp"

namespace headway::memory {
namespace {

constexpr std::uint32_t ranks = 3;

struct Step {
    bool allocates;
    std::uint32_t rank;
    std::size_t size_bytes;  ///< of an allocation
    std::size_t pick;        ///< which block a free takes
};

rc::Gen<std::size_t> any_size()
{
    return rc::gen::weightedOneOf<std::size_t>({
        {10, rc::gen::inRange<std::size_t>(0, 600)},
        {5, rc::gen::inRange<std::size_t>(600, slab_block_bytes_max + 1)},
        {2, rc::gen::inRange<std::size_t>(slab_block_bytes_max, 10 * unit_bytes)},
    });
}

rc::Gen<std::vector<Step>> any_program()
{
    // Not shrunk by size: a program of some hundred steps is the point.
    return rc::gen::container<std::vector<Step>>(
        400, rc::gen::construct<Step>(rc::gen::weightedElement<bool>({{3, true}, {2, false}}),
                                      rc::gen::inRange<std::uint32_t>(0, ranks), any_size(),
                                      rc::gen::arbitrary<std::size_t>()));
}

struct Block {
    std::size_t size_bytes;
    unsigned char pattern;
};

class Model {
  public:
    explicit Model(NodeHeap* heap) : heap_(heap) {}

    void allocate(const Step& step)
    {
        auto* const place =
            static_cast<unsigned char*>(heap_->for_rank(step.rank).allocate(step.size_bytes));
        if (place == nullptr) {
            RC_ASSERT(heap_->statistics().bytes_reserved > heap_->size_bytes() / 2);
            return;
        }
        const std::size_t usable = heap_->for_rank(step.rank).usable_bytes(place);
        RC_ASSERT(usable >= step.size_bytes);
        RC_ASSERT(reinterpret_cast<std::uintptr_t>(place) % 64 == 0);
        RC_ASSERT(heap_->contains(place) && heap_->contains(place + usable - 1));
        const auto after = blocks_.lower_bound(place);
        RC_ASSERT(after == blocks_.end() || place + usable <= after->first);
        if (after != blocks_.begin()) {
            const auto before = std::prev(after);
            RC_ASSERT(before->first + before->second.size_bytes <= place);
        }
        const auto pattern = static_cast<unsigned char>(++count_);
        std::fill(place, place + usable, pattern);
        blocks_.emplace(place, Block{usable, pattern});
    }

    void free(std::uint32_t rank, std::size_t pick)
    {
        if (blocks_.empty()) {
            return;
        }
        const auto chosen =
            std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(pick % blocks_.size()));
        const auto [place, block] = *chosen;
        RC_ASSERT(std::count(place, place + block.size_bytes, block.pattern) ==
                  static_cast<std::ptrdiff_t>(block.size_bytes));
        blocks_.erase(chosen);
        heap_->for_rank(rank).free(place);
    }

    void free_all()
    {
        for (std::uint32_t rank = 0; !blocks_.empty(); rank = (rank + 1) % ranks) {
            free(rank, 0);
        }
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            heap_->for_rank(rank).take_inbound();
        }
    }

  private:
    NodeHeap* heap_;
    std::map<unsigned char*, Block> blocks_;
    std::size_t count_ = 0;
};

std::unique_ptr<NodeHeap> make_heap(std::uint64_t size_bytes)
{
    HeapOptions options;
    options.size_bytes = size_bytes;
    options.rank_count = ranks;
    options.version = "test";
    options.name = "headway-property";
    options.candidate =
        static_cast<unsigned>(std::countr_zero(NodeHeap::candidate_mask(size_bytes)));
    auto heap = NodeHeap::create(options);
    RC_ASSERT(heap.has_value());
    return std::move(heap.value());
}

bool behaves_like_the_model(std::uint64_t size_bytes)
{
    return rc::check([size_bytes] {
        const std::vector<Step> program = *any_program();
        const auto heap = make_heap(size_bytes);
        Model model(heap.get());
        for (const Step& step : program) {
            if (step.allocates) {
                model.allocate(step);
            } else {
                model.free(step.rank, step.pick);
            }
        }
        model.free_all();
        RC_ASSERT(heap->statistics().slab_bytes_in_use == 0U);
        // One empty slab a rank and size class may be kept.
        RC_ASSERT(heap->statistics().bytes_reserved <= ranks * size_class_count * 4 * unit_bytes);
    });
}

TEST(NodeHeapProperty, BehavesLikeAMapOfBlocks)
{
    EXPECT_TRUE(behaves_like_the_model(std::uint64_t{256} << 20));
}

TEST(NodeHeapProperty, BehavesLikeAMapOfBlocksWhenShortOfMemory)
{
    EXPECT_TRUE(behaves_like_the_model(std::uint64_t{8} << 20));
}

}  // namespace
}  // namespace headway::memory
