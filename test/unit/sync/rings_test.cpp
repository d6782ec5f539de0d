// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "process_pair.hpp"
#include "sync/holder_lock.hpp"
#include "sync/mpsc_list.hpp"
#include "sync/spsc_bytes.hpp"
#include "sync/spsc_cells.hpp"

namespace headway::sync {
namespace {

TEST(MpscList, TakesInOrderOfPushing)
{
    Shared<MpscList> list;
    ListLink links[3];
    EXPECT_TRUE(list->is_empty());
    EXPECT_EQ(list->take_all(), nullptr);
    EXPECT_TRUE(list->push(&links[0]));
    EXPECT_FALSE(list->push(&links[1]));
    EXPECT_FALSE(list->push(&links[2]));
    ListLink* each = list->take_all();
    for (ListLink& expected : links) {
        ASSERT_EQ(each, &expected);
        each = each->next;
    }
    EXPECT_EQ(each, nullptr);
    EXPECT_TRUE(list->push(&links[1]));
}

TEST(MpscList, ProducersKeepTheirOrder)
{
    constexpr std::uint32_t producers = 3;
    constexpr std::uint32_t count = 20'000;
    struct Node : ListLink {
        std::uint32_t producer;
        std::uint32_t number;
    };
    struct Table {
        MpscList list;
        Node nodes[producers][count];
    };
    Shared<Table> table;
    const auto produce = [&](std::uint32_t me) {
        for (std::uint32_t number = 0; number < count; ++number) {
            Node& node = table->nodes[me][number];
            node.producer = me;
            node.number = number;
            table->list.push(&node);
        }
        return 0;
    };
    Child first([&] { return produce(0); });
    Child second([&] { return produce(1); });
    std::thread third(produce, 2);
    std::uint32_t next[producers] = {};
    for (std::uint32_t taken = 0; taken < producers * count;) {
        for (ListLink* each = table->list.take_all(); each != nullptr; each = each->next) {
            const auto* const node = static_cast<Node*>(each);
            ASSERT_EQ(node->number, next[node->producer]++);
            ++taken;
        }
        platform::yield_core();
    }
    third.join();
    EXPECT_EQ(first.exit_code(), 0);
    EXPECT_EQ(second.exit_code(), 0);
}

TEST(SpscCells, ZeroBytesAreEmptyAndFullIsFull)
{
    Shared<SpscCells<8>> ring;
    EXPECT_EQ(ring->peek(), nullptr);
    for (std::uint8_t kind = 0; kind < 8; ++kind) {
        Cell* const cell = ring->reserve();
        ASSERT_NE(cell, nullptr);
        EXPECT_EQ(ring->reserve(), cell);
        cell->words[14] = kind * 3U;
        ring->publish(cell, kind);
    }
    EXPECT_EQ(ring->reserve(), nullptr);
    for (std::uint8_t kind = 0; kind < 8; ++kind) {
        std::uint8_t peeked = 0;
        Cell* const cell = ring->peek(&peeked);
        ASSERT_NE(cell, nullptr);
        EXPECT_EQ(peeked, kind);
        EXPECT_EQ(cell->words[14], kind * 3U);
        ring->consume();
    }
    EXPECT_EQ(ring->peek(), nullptr);
    EXPECT_NE(ring->reserve(), nullptr);
}

TEST(SpscCells, CreditsTravelByTheQuarter)
{
    Shared<SpscCells<8>> ring;
    while (Cell* const cell = ring->reserve()) {
        ring->publish(cell, 1);
    }
    ring->consume();
    EXPECT_EQ(ring->reserve(), nullptr);
    ring->consume();
    EXPECT_NE(ring->reserve(), nullptr);
}

template <typename Ring>
int send_numbers(Ring& ring, std::uint32_t count)
{
    for (std::uint32_t number = 0; number < count; ++number) {
        Cell* cell = ring.reserve();
        while (cell == nullptr) {
            platform::yield_core();
            cell = ring.reserve();
        }
        for (std::uint32_t& word : cell->words) {
            word = number;
        }
        ring.publish(cell, static_cast<std::uint8_t>(number % 251));
    }
    return 0;
}

template <typename Ring>
bool receive_numbers(Ring& ring, std::uint32_t count)
{
    bool right = true;
    for (std::uint32_t number = 0; number < count;) {
        std::uint8_t kind = 0;
        Cell* const cell = ring.peek(&kind);
        if (cell == nullptr) {
            platform::yield_core();
            continue;
        }
        right = right && kind == number % 251;
        for (const std::uint32_t word : cell->words) {
            right = right && word == number;
        }
        ring.consume();
        ++number;
    }
    return right;
}

TEST(SpscCells, TwoThreadsKeepOrderAndContents)
{
    auto ring = std::make_unique<SpscCells<16>>();
    std::thread producer([&] { send_numbers(*ring, 200'000); });
    EXPECT_TRUE(receive_numbers(*ring, 200'000));
    producer.join();
}

TEST(SpscCells, TwoProcessesKeepOrderAndContents)
{
    Shared<SpscCells<64>> ring;
    Child producer([&] { return send_numbers(*ring, 200'000); });
    EXPECT_TRUE(receive_numbers(*ring, 200'000));
    EXPECT_EQ(producer.exit_code(), 0);
}

/// The 24-bit lap passes through zero; the smallest ring gets there with 2^26 messages.
TEST(SpscCells, LapWrapsAround)
{
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "one thread, and half a minute under ThreadSanitizer";
#endif
    Shared<SpscCells<4>> ring;
    constexpr std::uint64_t messages = (std::uint64_t{1} << 26) + 100;
    for (std::uint64_t number = 0; number < messages; ++number) {
        Cell* const cell = ring->reserve();
        ASSERT_NE(cell, nullptr);
        ring->publish(cell, 7);
        ASSERT_EQ(ring->peek(), cell);
        ring->consume();
        ASSERT_EQ(ring->peek(), nullptr);
    }
}

struct ByteRing {
    static constexpr std::uint64_t capacity = 4096;
    SpscBytes control;
    unsigned char bytes[capacity];
};

TEST(SpscBytes, ZeroBytesRefuseEverything)
{
    Shared<ByteRing> ring;
    ByteReservation piece{};
    EXPECT_FALSE(ring->control.reserve(1, &piece));
    ring->control.open(ByteRing::capacity);
    ASSERT_TRUE(ring->control.reserve(1, &piece));
    EXPECT_EQ(ring->control.place_of(piece.begin), ring->bytes);
    EXPECT_EQ(SpscBytes::bytes_needed(ByteRing::capacity), sizeof(ByteRing));
}

TEST(SpscBytes, PiecesAreContiguousAndTheLargestAlwaysFitsAnEmptyRing)
{
    Shared<ByteRing> ring;
    ring->control.open(ByteRing::capacity);
    const std::uint64_t largest = ring->control.reservation_bytes_max();
    EXPECT_EQ(largest, 1024U);
    ByteReservation piece{};
    EXPECT_FALSE(ring->control.reserve(largest + 1, &piece));
    for (std::uint64_t turn = 0; turn < 10'000; ++turn) {
        const std::uint64_t size = turn % 2 == 0 ? largest : turn % largest + 1;
        ASSERT_TRUE(ring->control.reserve(size, &piece)) << turn;
        const auto* const place = static_cast<unsigned char*>(ring->control.place_of(piece.begin));
        ASSERT_GE(place, ring->bytes);
        ASSERT_LE(place + size, ring->bytes + ByteRing::capacity);
        ASSERT_EQ(ring->control.begin_of(piece.end, size), piece.begin);
        ring->control.release(piece.end);
    }
}

TEST(SpscBytes, FullIsFull)
{
    Shared<ByteRing> ring;
    ring->control.open(ByteRing::capacity);
    ByteReservation pieces[4];
    for (ByteReservation& piece : pieces) {
        ASSERT_TRUE(ring->control.reserve(1000, &piece));
    }
    ByteReservation more{};
    EXPECT_FALSE(ring->control.reserve(1, &more));
    ring->control.release(pieces[0].end);
    ASSERT_TRUE(ring->control.reserve(1, &more));
    EXPECT_EQ(ring->control.place_of(more.begin), ring->bytes);
}

/// Cells carry sizes, the byte ring the contents, as a transport uses them.
TEST(SpscBytes, PayloadFollowsItsCellBetweenProcesses)
{
    struct Lane {
        SpscCells<16> cells;
        ByteRing bytes;
    };
    constexpr std::uint32_t count = 50'000;
    const auto size_of = [](std::uint32_t number) { return number * 37 % 1000 + 1; };
    Shared<Lane> lane;
    lane->bytes.control.open(ByteRing::capacity);
    Child producer([&] {
        for (std::uint32_t number = 0; number < count; ++number) {
            ByteReservation piece{};
            Cell* cell = nullptr;
            while ((cell = lane->cells.reserve()) == nullptr ||
                   !lane->bytes.control.reserve(size_of(number), &piece)) {
                platform::yield_core();
            }
            std::memset(lane->bytes.control.place_of(piece.begin), static_cast<int>(number % 256),
                        size_of(number));
            std::memcpy(cell->payload(), &piece, sizeof piece);
            lane->cells.publish(cell, 1);
        }
        return 0;
    });
    bool right = true;
    for (std::uint32_t number = 0; number < count;) {
        Cell* const cell = lane->cells.peek();
        if (cell == nullptr) {
            platform::yield_core();
            continue;
        }
        ByteReservation piece{};
        std::memcpy(&piece, cell->payload(), sizeof piece);
        const auto* const place =
            static_cast<unsigned char*>(lane->bytes.control.place_of(piece.begin));
        for (std::uint32_t each = 0; each < size_of(number); ++each) {
            right = right && place[each] == number % 256;
        }
        lane->bytes.control.release(piece.end);
        lane->cells.consume();
        ++number;
    }
    EXPECT_TRUE(right);
    EXPECT_EQ(producer.exit_code(), 0);
}

TEST(HolderLock, NamesItsHolder)
{
    HolderLock lock;
    EXPECT_EQ(lock.holder(), -1);
    ASSERT_TRUE(lock.lock(0));
    EXPECT_EQ(lock.holder(), 0);
    EXPECT_FALSE(lock.try_lock(1));
    EXPECT_FALSE(lock.lock(1, platform::Deadline::after_ns(1'000'000)));
    EXPECT_EQ(lock.holder(), 0);
    lock.unlock();
    EXPECT_TRUE(lock.try_lock(1));
}

TEST(HolderLock, ProcessesTakeTurns)
{
    struct Table {
        HolderLock lock;
        std::uint64_t counter;
    };
    constexpr std::uint64_t rounds = 50'000;
    Shared<Table> table;
    const auto add = [&](std::uint32_t who) {
        for (std::uint64_t round = 0; round < rounds; ++round) {
            if (!table->lock.lock(who)) {
                return 1;
            }
            ++table->counter;
            if (round % 64 == 0) {
                platform::yield_core();
            }
            table->lock.unlock();
        }
        return 0;
    };
    Child first([&] { return add(1); });
    Child second([&] { return add(2); });
    EXPECT_EQ(add(0), 0);
    EXPECT_EQ(first.exit_code(), 0);
    EXPECT_EQ(second.exit_code(), 0);
    EXPECT_EQ(table->counter, 3 * rounds);
}

}  // namespace
}  // namespace headway::sync
