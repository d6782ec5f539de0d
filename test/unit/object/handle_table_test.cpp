// SPDX-License-Identifier: Apache-2.0
#include "object/handle_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <thread>
#include <vector>

namespace headway::object {
namespace {

constexpr std::size_t block_bytes = slot_bytes * slots_per_block;

struct FreeBytes {
    void operator()(std::byte* bytes) const noexcept { std::free(bytes); }
};

/// Zeroed memory in place of the range that a process reserves.
class Range {
  public:
    explicit Range(std::size_t blocks)
        : size_bytes_(blocks * block_bytes),
          bytes_(static_cast<std::byte*>(std::aligned_alloc(block_bytes, size_bytes_)))
    {
        std::fill_n(bytes_.get(), size_bytes_, std::byte{0});
    }

    std::span<std::byte> span() const { return {bytes_.get(), size_bytes_}; }

  private:
    std::size_t size_bytes_;
    std::unique_ptr<std::byte, FreeBytes> bytes_;
};

class HandleTableTest : public testing::Test {
  protected:
    Range range_{8};
    HandleTable table_{range_.span()};
    int object_ = 0;
};

TEST_F(HandleTableTest, finds_an_object_by_its_handle)
{
    HandlePool pool(table_, 0, false);
    int other = 0;
    const auto comm = pool.acquire<MPI_Comm>(&object_);
    const auto group = pool.acquire<MPI_Group>(&other);
    EXPECT_EQ(table_.find<int>(comm), &object_);
    EXPECT_EQ(table_.find<int>(group), &other);
    EXPECT_EQ(pool.live_count(), 2U);
}

TEST_F(HandleTableTest, changes_what_a_handle_stands_for)
{
    HandlePool pool(table_, 0, false);
    int other = 0;
    const auto request = pool.acquire<MPI_Request>(&object_);
    const HandleBits bits = bits_of(request);
    EXPECT_TRUE(pool.change(Kind::request, bits, Kind::idle_request, &other));
    EXPECT_EQ(table_.find<int>(request), nullptr);
    EXPECT_EQ(table_.find(Kind::idle_request, bits), &other);
    EXPECT_FALSE(pool.change(Kind::request, bits, Kind::idle_request, &object_));
    EXPECT_TRUE(pool.change(Kind::idle_request, bits, Kind::request, &object_));
    EXPECT_EQ(table_.find<int>(request), &object_);
    EXPECT_TRUE(pool.release(request));
    EXPECT_FALSE(pool.change(Kind::request, bits, Kind::request, &other));
    EXPECT_EQ(pool.live_count(), 0U);
}

TEST_F(HandleTableTest, kinds_do_not_mix)
{
    HandlePool pool(table_, 0, false);
    constexpr std::array kinds = {
        Kind::communicator,  Kind::group,   Kind::datatype, Kind::op,
        Kind::error_handler, Kind::request, Kind::info,     Kind::message,
        Kind::window,        Kind::file,    Kind::session,
    };
    for (const Kind kind : kinds) {
        const HandleBits bits = pool.acquire(kind, &object_);
        for (const Kind asked : kinds) {
            EXPECT_EQ(table_.find(asked, bits) != nullptr, asked == kind);
        }
    }
}

TEST_F(HandleTableTest, a_freed_handle_is_not_found)
{
    HandlePool pool(table_, 0, false);
    const HandleBits bits = pool.acquire(Kind::request, &object_);
    EXPECT_FALSE(pool.release(Kind::group, bits));
    EXPECT_TRUE(pool.release(Kind::request, bits));
    EXPECT_EQ(table_.find(Kind::request, bits), nullptr);
    EXPECT_TRUE(table_.is_in_range(bits));
    EXPECT_FALSE(pool.release(Kind::request, bits));
    EXPECT_EQ(pool.live_count(), 0U);
}

TEST_F(HandleTableTest, a_stale_handle_is_not_found_after_its_slot_is_used_again)
{
    HandlePool pool(table_, 0, false);
    const HandleBits stale = pool.acquire(Kind::request, &object_);
    ASSERT_TRUE(pool.release(Kind::request, stale));
    const HandleBits fresh = pool.acquire(Kind::request, &object_);
    ASSERT_EQ(fresh / slot_bytes, stale / slot_bytes) << "the test needs the same slot again";
    EXPECT_NE(fresh, stale);
    EXPECT_EQ(table_.find(Kind::request, stale), nullptr);
    EXPECT_EQ(table_.find(Kind::request, fresh), &object_);
}

TEST_F(HandleTableTest, generations_wrap_in_the_handle_only)
{
    HandlePool pool(table_, 0, false);
    std::set<HandleBits> seen;
    for (std::size_t turn = 0; turn < slot_bytes; ++turn) {
        const HandleBits bits = pool.acquire(Kind::info, &object_);
        EXPECT_TRUE(seen.insert(bits).second) << "the same value twice within 64 generations";
        ASSERT_TRUE(pool.release(Kind::info, bits));
    }
    EXPECT_TRUE(seen.contains(pool.acquire(Kind::info, &object_)));
}

TEST_F(HandleTableTest, quarantine_keeps_a_slot_out_for_as_many_frees)
{
    constexpr std::uint32_t quarantine = 5;
    HandlePool pool(table_, quarantine, false);
    const HandleBits first = pool.acquire(Kind::request, &object_);
    ASSERT_TRUE(pool.release(Kind::request, first));
    std::uint32_t frees_after = 0;
    while (true) {
        const HandleBits next = pool.acquire(Kind::request, &object_);
        if (next / slot_bytes == first / slot_bytes) {
            break;
        }
        ASSERT_TRUE(pool.release(Kind::request, next));
        ASSERT_LT(++frees_after, 100U);
    }
    EXPECT_EQ(frees_after, quarantine);
}

TEST_F(HandleTableTest, a_full_table_cuts_the_quarantine_short_and_then_refuses)
{
    Range small(1);
    HandleTable table(small.span());
    HandlePool pool(table, 1000, false);
    std::vector<HandleBits> all;
    for (std::size_t index = 0; index < slots_per_block; ++index) {
        all.push_back(pool.acquire(Kind::op, &object_));
        EXPECT_NE(all.back(), 0U);
    }
    EXPECT_EQ(pool.acquire(Kind::op, &object_), 0U);
    ASSERT_TRUE(pool.release(Kind::op, all.front()));
    const HandleBits again = pool.acquire(Kind::op, &object_);
    EXPECT_NE(again, 0U);
    EXPECT_EQ(table.find(Kind::op, all.front()), nullptr);
    EXPECT_EQ(pool.acquire(Kind::op, &object_), 0U);
}

TEST_F(HandleTableTest, integers_go_there_and_back)
{
    HandlePool pool(table_, 0, false);
    const HandleBits bits = pool.acquire(Kind::communicator, &object_);
    const int integer = table_.to_integer(bits);
    EXPECT_GE(integer, static_cast<int>(predefined_limit));
    EXPECT_EQ(table_.from_integer(integer), bits);
    EXPECT_EQ(table_.to_integer(bits_of(MPI_COMM_WORLD)), 0x101);
    EXPECT_EQ(table_.from_integer(0x101), bits_of(MPI_COMM_WORLD));
    ASSERT_TRUE(pool.release(Kind::communicator, bits));
    EXPECT_EQ(table_.find(Kind::communicator, table_.from_integer(integer)), nullptr);
}

TEST_F(HandleTableTest, values_that_are_no_handles_are_told_apart)
{
    EXPECT_EQ(table_.find(Kind::communicator, bits_of(MPI_COMM_WORLD)), nullptr);
    EXPECT_EQ(table_.find(Kind::communicator, bits_of(&object_)), nullptr);
    EXPECT_EQ(table_.find(Kind::communicator, ~HandleBits{0}), nullptr);
    const HandleBits base = bits_of(range_.span().data());
    EXPECT_EQ(table_.find(Kind::none, base), nullptr);
    EXPECT_EQ(table_.find(Kind::communicator, base - 1), nullptr);
    EXPECT_EQ(table_.find(Kind::communicator, base + range_.span().size()), nullptr);
    EXPECT_EQ(table_.to_integer(bits_of(&object_)), -1);
    EXPECT_EQ(table_.from_integer(-1), 0U);
    EXPECT_EQ(table_.from_integer(std::numeric_limits<int>::max()), 0U);
}

TEST_F(HandleTableTest, ranks_take_blocks_without_meeting)
{
    constexpr std::size_t rank_count = 4;
    constexpr std::size_t handles_each = slots_per_block + 3;
    std::array<std::vector<HandleBits>, rank_count> handles;
    std::vector<std::thread> threads;
    threads.reserve(rank_count);
    for (auto& mine : handles) {
        threads.emplace_back([this, &mine] {
            HandlePool pool(table_, 0, false);
            for (std::size_t index = 0; index < handles_each; ++index) {
                mine.push_back(pool.acquire(Kind::request, &mine));
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    std::set<HandleBits> all;
    for (const auto& mine : handles) {
        for (const HandleBits bits : mine) {
            EXPECT_TRUE(all.insert(bits).second);
            EXPECT_EQ(table_.find(Kind::request, bits), &mine);
        }
    }
    EXPECT_EQ(all.size(), rank_count * handles_each);
}

/// Threads that take handles of one pool and give them back, one by one and all in one step.
void use_from_threads(HandleTable& table, HandlePool& pool, std::size_t thread_count)
{
    constexpr std::size_t turns = 2000;
    std::vector<int> objects(thread_count);
    const auto use = [&](int& mine) {
        for (std::size_t turn = 0; turn < turns; ++turn) {
            std::array<HandleBits, 3> bits{};
            for (HandleBits& each : bits) {
                each = pool.acquire(Kind::request, &mine);
                ASSERT_EQ(table.find(Kind::request, each), &mine);
            }
            ASSERT_TRUE(pool.release(Kind::request, bits.back()));
            pool.release_all(Kind::request, std::span(bits).first(2));
        }
    };
    std::vector<std::thread> threads;
    threads.reserve(thread_count);
    for (std::size_t i = 1; i < thread_count; ++i) {
        threads.emplace_back([&use, &mine = objects[i]] { use(mine); });
    }
    use(objects[0]);
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(pool.live_count(), 0U);
}

TEST_F(HandleTableTest, threads_of_a_rank_share_a_pool)
{
    HandlePool pool(table_, 4, true);
    use_from_threads(table_, pool, 3);
}

TEST_F(HandleTableTest, a_pool_belongs_to_one_thread_until_others_come)
{
    HandlePool pool(table_, 4, false);
    pool.share();
    use_from_threads(table_, pool, 1);
    pool.share();
    use_from_threads(table_, pool, 3);
    use_from_threads(table_, pool, 1);
}

TEST(PredefinedTypeTest, sizes_are_those_of_the_types)
{
    const auto size = [](MPI_Datatype type) { return predefined_size_bytes(bits_of(type)); };
    EXPECT_EQ(size(MPI_INT), int{sizeof(int)});
    EXPECT_EQ(size(MPI_LONG_DOUBLE), int{sizeof(long double)});
    EXPECT_EQ(size(MPI_C_DOUBLE_COMPLEX), 16);
    EXPECT_EQ(size(MPI_BYTE), 1);
    EXPECT_EQ(size(MPI_UINT16_T), 2);
    EXPECT_EQ(size(MPI_INT32_T), 4);
    EXPECT_EQ(size(MPI_UINT64_T), 8);
    EXPECT_EQ(size(MPI_COMPLEX32), 32);
    EXPECT_EQ(size(MPI_DOUBLE_INT), 12);
    EXPECT_EQ(size(MPI_DATATYPE_NULL), no_such_datatype);
    EXPECT_EQ(size(MPI_REAL2), datatype_not_here);
    EXPECT_EQ(predefined_size_bytes(0x242), no_such_datatype);
    EXPECT_EQ(predefined_size_bytes(bits_of(MPI_COMM_WORLD)), no_such_datatype);
    EXPECT_EQ(predefined_size_bytes(~HandleBits{0}), no_such_datatype);
}

TEST_F(HandleTableTest, remembers_where_live_handles_were_made)
{
    HandlePool pool(table_, 0, false);
    const HandleBits before = pool.acquire(Kind::info, &object_);
    EXPECT_TRUE(pool.origins().empty());
    pool.track_origins();
    const HandleBits first = pool.acquire(Kind::group, &object_);
    const HandleBits second = pool.acquire(Kind::idle_request, &object_);
    ASSERT_TRUE(pool.change(Kind::idle_request, second, Kind::request, &object_));
    ASSERT_TRUE(pool.release(Kind::info, before));
    const auto two = pool.origins();
    ASSERT_EQ(two.size(), 2U);
    EXPECT_EQ(two[0].bits, first);
    EXPECT_EQ(two[0].kind, Kind::group);
    EXPECT_GT(two[0].frames->count, 0U);
    EXPECT_EQ(two[1].bits, second);
    EXPECT_EQ(two[1].kind, Kind::request);
    ASSERT_TRUE(pool.release(Kind::group, first));
    ASSERT_EQ(pool.origins().size(), 1U);
    EXPECT_EQ(pool.origins()[0].bits, second);
    // It stays so where the pool becomes one of several threads.
    pool.share();
    const HandleBits third = pool.acquire(Kind::info, &object_);
    EXPECT_EQ(pool.origins().size(), 2U);
    EXPECT_EQ(table_.find(Kind::info, third), &object_);
}

TEST(PredefinedOpTest, all_but_the_null_op_are_known)
{
    int known = 0;
    for (HandleBits bits = 0; bits < predefined_limit; ++bits) {
        known += is_predefined_op(bits) ? 1 : 0;
    }
    EXPECT_EQ(known, 14);
    EXPECT_TRUE(is_predefined_op(bits_of(MPI_SUM)));
    EXPECT_TRUE(is_predefined_op(bits_of(MPI_NO_OP)));
    EXPECT_FALSE(is_predefined_op(bits_of(MPI_OP_NULL)));
}

}  // namespace
}  // namespace headway::object
