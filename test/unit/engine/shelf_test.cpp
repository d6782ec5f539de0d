// SPDX-License-Identifier: Apache-2.0
//
// Members that lay down the bytes of calls get what the call is defined to bring, however far one
// runs ahead of another.
#include "engine/shelf.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "meeting_ranks.hpp"
#include "platform/process_barrier.hpp"

namespace headway::engine {
namespace {

using Kind = ShelfCall::Kind;
using Bytes = std::vector<std::byte>;

constexpr std::byte untouched{0xA5};

std::byte value(std::uint32_t from, std::uint32_t to, std::size_t i, std::uint32_t call)
{
    return static_cast<std::byte>(from * 7 + to * 13 + i * 31 + (i >> 6) + call * 101);
}

class ShelfTest : public MeetingRanks {
  protected:
    ShelfTest()
    {
        seats_.assign(size(), {});
        barriers_.assign(size(), 0);
        for (const ShelfSize shelf_size : {ShelfSize::lines, ShelfSize::pages, ShelfSize::blocks}) {
            Shelf* const shelf = create_shelf(node_.driver(0).allocator(), shelf_size, size());
            shelves_.push_back(shelf);
            for (Seat& seat : seats_) {
                seat.at(shelf_size).shelf = shelf;
            }
        }
    }
    ~ShelfTest() override
    {
        for (Shelf* const shelf : shelves_) {
            for (std::uint32_t rank = 0; rank < size(); ++rank) {
                leave_shelf(node_.driver(rank).allocator(), *shelf);
            }
        }
    }

    std::uint32_t size() const { return node_.size(); }

    OpError use(std::uint32_t rank, const ShelfCall& call)
    {
        return use_shelf(node_.driver(rank), seat(rank, call.kind, call.bytes), node_.world(rank),
                         call);
    }

    /// Where the calls of that kind are that name so many bytes.
    ShelfSeat& seat(std::uint32_t rank, Kind kind, std::size_t bytes)
    {
        return seats_[rank].at(ShelfCall::has_root(kind)
                                   ? shelf_for(kind, bytes, size(), {}).value()
                                   : ShelfSize::lines);
    }

    static void fill(std::byte* block, std::size_t bytes, std::uint32_t from, std::uint32_t to,
                     std::uint32_t call)
    {
        for (std::size_t i = 0; i < bytes; ++i) {
            block[i] = value(from, to, i, call);
        }
    }
    static void expect(const std::byte* block, std::size_t bytes, std::uint32_t from,
                       std::uint32_t to, std::uint32_t call)
    {
        for (std::size_t i = 0; i < bytes; ++i) {
            ASSERT_EQ(block[i], value(from, to, i, call)) << "byte " << i << " of call " << call;
        }
    }

    // `call` only tells calls apart.

    void bcast(std::uint32_t rank, std::size_t bytes, std::uint32_t root, std::uint32_t call)
    {
        Bytes vector(bytes, untouched);
        if (rank == root) {
            fill(vector.data(), bytes, root, 0, call);
        }
        ASSERT_EQ(
            use(rank,
                {.kind = Kind::bcast, .root = root, .receive = vector.data(), .bytes = bytes}),
            OpError::none);
        expect(vector.data(), bytes, root, 0, call);
    }

    void scatter(std::uint32_t rank, std::size_t bytes, std::uint32_t root, bool keeps_own,
                 std::uint32_t call)
    {
        Bytes all(bytes * size());
        for (std::uint32_t to = 0; rank == root && to < size(); ++to) {
            fill(&all[to * bytes], bytes, root, to, call);
        }
        Bytes own(bytes, untouched);
        ASSERT_EQ(use(rank, {.kind = Kind::scatter,
                             .keeps_own = keeps_own && rank == root,
                             .root = root,
                             .send = all.data(),
                             .receive = own.data(),
                             .bytes = bytes}),
                  OpError::none);
        if (keeps_own && rank == root) {
            EXPECT_EQ(own, Bytes(bytes, untouched));
        } else {
            expect(own.data(), bytes, root, rank, call);
        }
    }

    void gather(std::uint32_t rank, std::size_t bytes, std::uint32_t root, bool keeps_own,
                std::uint32_t call)
    {
        Bytes own(bytes);
        fill(own.data(), bytes, rank, root, call);
        Bytes all(rank == root ? bytes * size() : 0, untouched);
        if (rank == root && keeps_own) {
            std::copy(own.begin(), own.end(),
                      all.begin() + static_cast<std::ptrdiff_t>(rank * bytes));
        }
        ASSERT_EQ(use(rank, {.kind = Kind::gather,
                             .keeps_own = keeps_own && rank == root,
                             .root = root,
                             .send = own.data(),
                             .receive = all.data(),
                             .bytes = bytes}),
                  OpError::none);
        for (std::uint32_t from = 0; rank == root && from < size(); ++from) {
            expect(&all[from * bytes], bytes, from, root, call);
        }
    }

    /// What the tree gives of an element, by halves.
    float tree(std::uint32_t first, std::uint32_t last, std::size_t i, std::uint32_t call) const
    {
        if (last - first == 1) {
            return number(first, i, call);
        }
        const std::uint32_t middle = first + std::bit_ceil(last - first) / 2;
        return tree(first, middle, i, call) + tree(middle, last, i, call);
    }
    static float number(std::uint32_t rank, std::size_t i, std::uint32_t call)
    {
        return 1.0F / static_cast<float>(1 + (i * 7 + rank * 13 + call * 5) % 1001);
    }

    /// Reduce, or allreduce, where all take.
    void reduce(Kind kind, std::uint32_t rank, std::size_t bytes, std::uint32_t root,
                bool is_in_place, std::uint32_t call)
    {
        const bool takes = !ShelfCall::has_root(kind) || rank == root;
        const Reduction sum{.op = data::ReduceOperator::sum, .kind = data::ElementKind::float32};
        std::vector<float> own(bytes / sizeof(float));
        for (std::size_t i = 0; i < own.size(); ++i) {
            own[i] = number(rank, i, call);
        }
        std::vector<float> result(takes ? own.size() : 0);
        if (is_in_place && takes) {
            result = own;
        }
        const std::vector<float>& given = is_in_place && takes ? result : own;
        ASSERT_EQ(use(rank, {.kind = kind,
                             .root = root,
                             .send = reinterpret_cast<const std::byte*>(given.data()),
                             .receive = reinterpret_cast<std::byte*>(result.data()),
                             .bytes = own.size() * sizeof(float),
                             .element_bytes = sizeof(float),
                             .reduction = &sum}),
                  OpError::none);
        for (std::size_t i = 0; i < result.size(); ++i) {
            ASSERT_EQ(result[i], tree(0, size(), i, call)) << "element " << i << " of " << call;
        }
    }

    void barrier(std::uint32_t rank)
    {
        come_.fetch_add(1);
        ASSERT_EQ(use(rank, {.kind = Kind::barrier}), OpError::none);
        barriers_[rank] += 1;
        EXPECT_GE(come_.load(), barriers_[rank] * size());
    }

    void allgather(std::uint32_t rank, std::size_t bytes, bool is_in_place, std::uint32_t call)
    {
        Bytes own(bytes);
        Bytes all(bytes * size(), untouched);
        std::byte* const given = is_in_place ? &all[rank * bytes] : own.data();
        fill(given, bytes, rank, 0, call);
        ASSERT_EQ(use(rank, {.kind = Kind::allgather,
                             .keeps_own = is_in_place,
                             .send = given,
                             .receive = all.data(),
                             .bytes = bytes}),
                  OpError::none);
        for (std::uint32_t from = 0; from < size(); ++from) {
            expect(&all[from * bytes], bytes, from, 0, call);
        }
    }

    void alltoall(std::uint32_t rank, std::size_t bytes, bool is_in_place, std::uint32_t call)
    {
        Bytes given(bytes * size());
        for (std::uint32_t to = 0; to < size(); ++to) {
            fill(&given[to * bytes], bytes, rank, to, call);
        }
        Bytes got = is_in_place ? given : Bytes(bytes * size(), untouched);
        ASSERT_EQ(use(rank, {.kind = Kind::alltoall,
                             .keeps_own = is_in_place,
                             .send = is_in_place ? got.data() : given.data(),
                             .receive = got.data(),
                             .bytes = bytes}),
                  OpError::none);
        for (std::uint32_t from = 0; from < size(); ++from) {
            expect(&got[from * bytes], bytes, from, rank, call);
        }
    }

    /// The same call on all ranks, drawn by `random`, which is in the same state on all: of few
    /// bytes, or with blocks.
    void run_drawn(std::uint32_t rank, std::mt19937& random, ShelfSize shelf_size,
                   std::uint32_t call)
    {
        const auto kind = static_cast<Kind>(
            shelf_size == ShelfSize::lines ? random() % ShelfCall::kinds : 1 + random() % 3);
        const auto root = static_cast<std::uint32_t>(random() % size());
        const bool keeps_own = random() % 2 == 0;
        const bool is_small = random() % 2 == 0;
        const std::size_t most =
            shelf_size == ShelfSize::lines ? shelf_call_bytes(size()) : 3 * shelf_stretch_bytes_max;
        std::size_t bytes = 1 + random() % (is_small ? 16 : most);
        while (shelf_size == ShelfSize::lines && !fits_on_shelf(kind, bytes, size())) {
            bytes = (bytes + 1) / 2;
        }
        switch (kind) {
            case Kind::bcast:
                bcast(rank, bytes, root, call);
                break;
            case Kind::scatter:
                scatter(rank, bytes, root, keeps_own, call);
                break;
            case Kind::gather:
                gather(rank, bytes, root, keeps_own, call);
                break;
            case Kind::reduce:
                reduce(kind, rank, bytes, root, keeps_own, call);
                break;
            case Kind::barrier:
                barrier(rank);
                break;
            case Kind::allgather:
                allgather(rank, bytes, keeps_own, call);
                break;
            case Kind::allreduce:
                reduce(kind, rank, bytes, root, keeps_own, call);
                break;
            case Kind::alltoall:
                alltoall(rank, bytes, keeps_own, call);
                break;
        }
    }

    std::vector<Shelf*> shelves_;
    std::atomic<std::uint64_t> come_{0};   ///< to barriers, all members
    std::vector<std::uint64_t> barriers_;  ///< ended, by member, which alone writes it
};

TEST_P(ShelfTest, CallsOfAllKindsBringWhatTheyAreDefinedToBring)
{
    const std::uint32_t seed = size();
    run_threads([&](std::uint32_t rank) {
        std::mt19937 random(seed);
        std::mt19937 pauses(rank);
        for (std::uint32_t call = 0; call < 1500; ++call) {
            run_drawn(rank, random, ShelfSize::lines, call);
            if (pauses() % 64 == 0) {
                std::this_thread::yield();
            }
        }
    });
}

TEST_P(ShelfTest, WhereRanksHaveCoresToo)
{
    node_.node().is_oversubscribed = false;
    node_.node().parks_with_barrier = platform::join_process_barriers();
    const std::uint32_t seed = size() + 100;
    run_threads([&](std::uint32_t rank) {
        std::mt19937 random(seed);
        for (std::uint32_t call = 0; call < 800; ++call) {
            run_drawn(rank, random, ShelfSize::lines, call);
        }
    });
}

TEST_P(ShelfTest, BlocksAmongCallsOfFewBytes)
{
    const std::uint32_t seed = size() + 200;
    run_threads([&](std::uint32_t rank) {
        std::mt19937 random(seed);
        for (std::uint32_t call = 0; call < 150; ++call) {
            run_drawn(rank, random, ShelfSize::blocks, call);
        }
    });
}

TEST_P(ShelfTest, MembersCombineOnTheWayToTheRoot)
{
    constexpr std::size_t bytes = 2 * shelf_stretch_bytes_max;
    const std::uint32_t last = size() / 2 * 2 - 1;  // of a pair
    if (last < 3) {
        GTEST_SKIP() << "no pair without the root";
    }
    std::atomic<bool> has_given{false};
    run_threads([&](std::uint32_t rank) {
        RankState& pair_end = node_.driver(last).rank();
        while (rank == last - 1 && !has_given && pair_end.waiting_threads.load() == 0) {
            std::this_thread::yield();
        }
        if (rank == last - 1) {
            EXPECT_FALSE(has_given) << "its neighbour gives the sum of both";
        }
        reduce(Kind::reduce, rank, bytes, 0, false, 0);
        if (rank == last) {
            has_given = true;
        }
    });
}

TEST_P(ShelfTest, WhoHasRoomForLessOfABlockGetsTheBeginningAndIsTold)
{
    run_threads([&](std::uint32_t rank) {
        // Several stretches on one side, one on the other.
        const std::size_t bytes = rank == 0 ? 200000 : 10000;
        Bytes all(bytes * size());
        for (std::uint32_t to = 0; rank == 0 && to < size(); ++to) {
            fill(&all[to * bytes], bytes, 0, to, 1);
        }
        Bytes own(bytes, untouched);
        const ShelfCall call{.kind = Kind::scatter,
                             .root = 0,
                             .send = all.data(),
                             .receive = own.data(),
                             .bytes = bytes};
        EXPECT_EQ(use(rank, call), rank == 0 ? OpError::none : OpError::truncated);
        expect(own.data(), 10000, 0, rank, 1);
        if (rank != 0) {
            skip_on_shelf(node_.driver(rank), seat(rank, Kind::scatter, bytes), node_.world(rank),
                          call);
        }
        scatter(rank, 5000, size() - 1, false, 2);
        // To the root come vectors that it has no room for.
        const Reduction sum{.op = data::ReduceOperator::sum, .kind = data::ElementKind::float32};
        std::vector<float> vector(rank == 0 ? 10000 : 100000, 1.0F);
        std::vector<float> result(10000, -1.0F);
        const ShelfCall reduction{.kind = Kind::reduce,
                                  .root = 0,
                                  .send = reinterpret_cast<const std::byte*>(vector.data()),
                                  .receive = reinterpret_cast<std::byte*>(result.data()),
                                  .bytes = vector.size() * sizeof(float),
                                  .element_bytes = sizeof(float),
                                  .reduction = &sum};
        EXPECT_EQ(use(rank, reduction), rank == 0 ? OpError::truncated : OpError::none);
        if (rank == 0) {
            EXPECT_EQ(result, std::vector<float>(10000, -1.0F));
            skip_on_shelf(node_.driver(rank), seat(rank, Kind::reduce, reduction.bytes),
                          node_.world(rank), reduction);
        }
        gather(rank, 64 * 1024, 0, false, 3);
    });
}

TEST_P(ShelfTest, TheRootRunsAheadAndOthersFindAllThatItLaidDown)
{
    std::atomic<std::uint32_t> ahead{0};
    constexpr std::uint32_t calls = 100;
    run_threads([&](std::uint32_t rank) {
        // The others come when the root is through.
        while (rank != 0 && ahead.load() == 0) {
            std::this_thread::yield();
        }
        for (std::uint32_t call = 0; call < calls; ++call) {
            bcast(rank, 8 + call % 100, 0, call);
        }
        if (rank == 0) {
            ahead = 1;
        }
    });
}

TEST_P(ShelfTest, ThoseWhoGiveRunAheadOfTheRoot)
{
    std::atomic<std::uint32_t> ahead{0};
    constexpr std::uint32_t calls = 100;
    run_threads([&](std::uint32_t rank) {
        while (rank == 0 && ahead.load() != size() - 1) {
            std::this_thread::yield();
        }
        for (std::uint32_t call = 0; call < calls; ++call) {
            gather(rank, 1 + call % 64, 0, false, call);
        }
        ahead += rank != 0;
    });
}

TEST_P(ShelfTest, WhoHasNoRoomForAllGetsTheBeginningAndIsTold)
{
    run_threads([&](std::uint32_t rank) {
        bcast(rank, 8, 0, 0);
        const std::size_t bytes = rank == 0 ? 300 : 100;
        Bytes vector(bytes, untouched);
        if (rank == 0) {
            fill(vector.data(), bytes, 0, 0, 1);
        }
        const ShelfCall call{
            .kind = Kind::bcast, .root = 0, .receive = vector.data(), .bytes = bytes};
        const OpError wanted = rank == 0 ? OpError::none : OpError::truncated;
        EXPECT_EQ(use(rank, call), wanted);
        expect(vector.data(), 100, 0, 0, 1);
        if (rank != 0) {
            // It has not ended the call.
            EXPECT_EQ(use(rank, call), wanted);
            skip_on_shelf(node_.driver(rank), seat(rank, Kind::bcast, bytes), node_.world(rank),
                          call);
        }
        gather(rank, 16, size() - 1, false, 2);
    });
}

TEST_P(ShelfTest, WhoHasNoRoomForWhatAllGiveIsToldAndHasGivenItsOwn)
{
    run_threads([&](std::uint32_t rank) {
        for (const Kind kind : {Kind::allgather, Kind::alltoall, Kind::allreduce}) {
            if (!fits_on_shelf(kind, 8, size())) {
                continue;
            }
            const std::size_t bytes = rank == 0 ? 4 : 8;  // of a block
            const std::vector<std::int32_t> given(2 * std::size_t{size()},
                                                  static_cast<std::int32_t>(rank) + 1);
            std::vector<std::int32_t> got(2 * std::size_t{size()}, -1);
            const Reduction sum{.op = data::ReduceOperator::sum, .kind = data::ElementKind::int32};
            const ShelfCall call{.kind = kind,
                                 .send = reinterpret_cast<const std::byte*>(given.data()),
                                 .receive = reinterpret_cast<std::byte*>(got.data()),
                                 .bytes = bytes,
                                 .element_bytes = kind == Kind::allreduce ? 4U : 1U,
                                 .reduction = &sum};
            if (rank != 0) {
                EXPECT_EQ(use(rank, call), OpError::none);
                continue;
            }
            for (int attempt = 0; attempt < 2; ++attempt) {  // it has not ended the call
                EXPECT_EQ(use(rank, call), OpError::truncated);
                EXPECT_EQ(got.back(), -1);
                EXPECT_EQ(got[1], kind == Kind::allreduce ? -1 : 2);
            }
            skip_on_shelf(node_.driver(rank), seat(rank, kind, bytes), node_.world(rank), call);
        }
        allgather(rank, 16, false, 2);
    });
}

TEST_P(ShelfTest, FewBytesFit)
{
    const std::uint64_t members = size();
    // Who names nothing has to hear that more was given.
    EXPECT_TRUE(fits_on_shelf(Kind::bcast, 0, members));
    EXPECT_TRUE(fits_on_shelf(Kind::bcast, 1024, members));
    EXPECT_FALSE(fits_on_shelf(Kind::bcast, shelf_call_bytes(members) + 1, members));
    EXPECT_TRUE(fits_on_shelf(Kind::gather, 64, members));
    EXPECT_TRUE(fits_on_shelf(Kind::scatter, 64, members));
    EXPECT_FALSE(fits_on_shelf(Kind::gather, 1024, members));
    EXPECT_FALSE(fits_on_shelf(Kind::scatter, 1024, members));
    EXPECT_EQ(shelf_for(Kind::scatter, 1024, members, {}), ShelfSize::pages);
    EXPECT_EQ(shelf_for(Kind::scatter, shelf_page_bytes_max + 1, members, {}), ShelfSize::blocks);
    EXPECT_EQ(shelf_for(Kind::gather, shelf_block_bytes_max, members, {}), ShelfSize::blocks);
    EXPECT_EQ(shelf_for(Kind::gather, shelf_block_bytes_max + 1, members, {}), std::nullopt);
    EXPECT_EQ(shelf_for(Kind::bcast, 4096, members, {}), std::nullopt);
    EXPECT_EQ(shelf_for(Kind::scatter, shelf_block_bytes_max, members, {}), ShelfSize::blocks);
    const MemberCores asking{.ask_each_other = true};
    const std::uint64_t stretch = shelf_stretch_bytes_max;
    EXPECT_EQ(shelf_for(Kind::scatter, stretch, members, asking), ShelfSize::blocks);
    EXPECT_EQ(shelf_for(Kind::scatter, stretch + 1, members, asking), std::nullopt);
    EXPECT_EQ(shelf_for(Kind::gather, stretch + 1, members, asking), std::nullopt);
    EXPECT_EQ(shelf_for(Kind::reduce, stretch + 1, members, asking), ShelfSize::blocks);
    EXPECT_EQ(shelf_for(Kind::reduce, 8, members, {}), ShelfSize::lines);
    const MemberCores alone{.are_shared = false};
    EXPECT_EQ(shelf_for(Kind::reduce, 8, shelf_lone_reduce_members_max, alone), ShelfSize::lines);
    EXPECT_EQ(shelf_for(Kind::reduce, 8, shelf_lone_reduce_members_max + 1, alone), std::nullopt);
    EXPECT_EQ(shelf_for(Kind::reduce, 1024, members, alone), std::nullopt);
    for (const Kind kind : {Kind::barrier, Kind::allgather, Kind::allreduce, Kind::alltoall}) {
        EXPECT_EQ(shelf_for(kind, 8, shelf_exchange_members_max, alone), ShelfSize::lines);
        EXPECT_EQ(shelf_for(kind, 8, shelf_exchange_members_max + 1, alone), std::nullopt);
        EXPECT_EQ(shelf_for(kind, 8, members, {}), std::nullopt);  // they meet
    }
    EXPECT_TRUE(fits_on_shelf(Kind::alltoall, 64 / members, members));
    EXPECT_FALSE(fits_on_shelf(Kind::alltoall, shelf_share_bytes(members), members));
}

INSTANTIATE_TEST_SUITE_P(Sizes, ShelfTest, testing::Values(2, 3, 5, 16, 17));

}  // namespace
}  // namespace headway::engine
