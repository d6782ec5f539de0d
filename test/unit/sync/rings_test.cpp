// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
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
    for (const bool is_whole : {true, false}) {
        EXPECT_EQ(ring->peek(), nullptr);
        const std::uint32_t room = is_whole ? 8 : 16;
        const std::size_t last = is_whole ? 13 : 6;
        for (std::uint32_t tag = 0; tag < room; ++tag) {
            std::uint32_t* const words = ring->reserve(is_whole);
            ASSERT_NE(words, nullptr);
            EXPECT_EQ(ring->reserve(is_whole), words);
            words[last] = tag * 3U;
            ring->publish(is_whole, tag);
        }
        EXPECT_EQ(ring->reserve(is_whole), nullptr);
        for (std::uint32_t tag = 0; tag < room; ++tag) {
            std::uint32_t peeked = 0;
            const std::uint32_t* const words = ring->peek(&peeked);
            ASSERT_NE(words, nullptr);
            EXPECT_EQ(peeked, tag);
            EXPECT_EQ(words[last], tag * 3U);
            ring->consume();
        }
        EXPECT_EQ(ring->peek(), nullptr);
        EXPECT_NE(ring->reserve(is_whole), nullptr);
    }
}

TEST(SpscCells, CreditsTravelByTheQuarter)
{
    Shared<SpscCells<8>> ring;
    while (ring->reserve(true) != nullptr) {
        ring->publish(true, 1);
    }
    ASSERT_NE(ring->peek(), nullptr);
    EXPECT_FALSE(ring->consume());
    EXPECT_EQ(ring->reserve(true), nullptr);
    ASSERT_NE(ring->peek(), nullptr);
    EXPECT_TRUE(ring->consume());
    EXPECT_NE(ring->reserve(true), nullptr);
}

TEST(SpscCells, AWholeLineAfterHalfALineLeavesAGap)
{
    Shared<SpscCells<4>> ring;
    for (std::uint32_t lap = 0; lap < 20; ++lap) {
        std::uint32_t* const half = ring->reserve(false);
        ASSERT_NE(half, nullptr);
        ring->publish(false, 1);
        std::uint32_t* const whole = ring->reserve(true);
        ASSERT_NE(whole, nullptr);
        EXPECT_NE(whole, half + 8) << "not in the same line";
        EXPECT_EQ(ring->peek(), half);
        ring->consume();
        EXPECT_EQ(ring->peek(), nullptr) << "the gap holds nothing";
        ring->announce(5);
        std::uint32_t tag = 0;
        ASSERT_EQ(ring->peek(&tag), whole);
        EXPECT_EQ(tag, 5U);
        ring->publish(true, 2);
        ASSERT_EQ(ring->peek(&tag), whole);
        EXPECT_EQ(tag, 2U);
        ring->consume();
        EXPECT_EQ(ring->peek(), nullptr);
    }
}

/// Halves and whole lines in an order of which every gap is a part.
bool is_whole(std::uint32_t number)
{
    return (number * 0x9E37'79B1U >> 29) < 3;
}

template <typename Ring>
int send_numbers(Ring& ring, std::uint32_t count)
{
    for (std::uint32_t number = 0; number < count; ++number) {
        std::uint32_t* words = ring.reserve(is_whole(number));
        while (words == nullptr) {
            platform::yield_core();
            words = ring.reserve(is_whole(number));
        }
        std::fill_n(words, is_whole(number) ? 14 : 7, number);
        ring.publish(is_whole(number), number % Ring::tag_limit);
    }
    return 0;
}

template <typename Ring>
bool receive_numbers(Ring& ring, std::uint32_t count)
{
    bool right = true;
    for (std::uint32_t number = 0; number < count;) {
        std::uint32_t tag = 0;
        const std::uint32_t* const words = ring.peek(&tag);
        if (words == nullptr) {
            platform::yield_core();
            continue;
        }
        right = right && tag == number % Ring::tag_limit;
        for (std::size_t i = 0; i < (is_whole(number) ? 14U : 7U); ++i) {
            right = right && words[i] == number;
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

/// The 16-bit lap passes through zero, and words that look like states of it are taken for none.
TEST(SpscCells, LapWrapsAround)
{
    Shared<SpscCells<4>> ring;
    constexpr std::uint32_t messages = 3 * 8 * (1U << 16) / 2;
    for (std::uint32_t number = 0; number < messages; ++number) {
        std::uint32_t* const words = ring->reserve(is_whole(number));
        ASSERT_NE(words, nullptr);
        std::fill_n(words, is_whole(number) ? 14 : 7, (number / 4 + 1) << 16);
        ring->publish(is_whole(number), 7);
        ASSERT_EQ(ring->peek(), words);
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

/// Whether a load of a forward copy looks like a store of it to the 4 KiB before, by the low bits.
bool meets_itself(const void* place, const void* source, std::uint64_t bytes)
{
    const auto behind =
        (reinterpret_cast<std::uintptr_t>(place) - reinterpret_cast<std::uintptr_t>(source)) % 4096;
    return behind != 0 && behind < bytes && behind <= 4096 - SpscBytes::granule_bytes;
}

TEST(SpscBytes, APieceWithASourceIsPlacedSoThatItsCopyDoesNotMeetItself)
{
    struct LargeRing {
        SpscBytes control;
        unsigned char bytes[128 * 1024];
    };
    Shared<LargeRing> ring;
    ring->control.open(sizeof ring->bytes);
    alignas(4096) static unsigned char source[3 * 4096];
    std::uint64_t before = 0;
    for (std::uint64_t turn = 0; turn < 20'000; ++turn) {
        const std::uint64_t size = 256 + turn * 97 % 7937;
        const unsigned char* const from = source + turn * 61 % 4096;
        ByteReservation piece{};
        ASSERT_TRUE(ring->control.reserve(size, &piece, from)) << turn;
        const auto* const place = static_cast<unsigned char*>(ring->control.place_of(piece.begin));
        EXPECT_FALSE(meets_itself(place, from, size)) << turn;
        EXPECT_GE(piece.begin, before);
        ASSERT_LE(place + size, ring->bytes + sizeof ring->bytes);
        before = piece.end;
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

TEST(SpscBytes, ARingGrowsWithItsTraffic)
{
    Shared<ByteRing> ring;
    ring->control.open(ByteRing::capacity);
    constexpr std::uint64_t size = 256;
    const unsigned char* most = ring->bytes;
    int new_pieces = 0;
    const auto send = [&] {
        ByteReservation piece{};
        ASSERT_TRUE(ring->control.reserve(size, &piece));
        const auto* const place = static_cast<unsigned char*>(ring->control.place_of(piece.begin));
        EXPECT_EQ(piece.is_new, place + size > most) << "what was used before is not new";
        most = std::max(most, place + size);
        new_pieces += piece.is_new ? 1 : 0;
        ring->control.release(piece.end);
    };
    for (int i = 0; i < 30; ++i) {
        send();
    }
    EXPECT_GE(most, ring->bytes + ByteRing::capacity / 4) << "short rounds are slow";
    EXPECT_LE(most, ring->bytes + ByteRing::capacity / 2) << "places used before come first";
    for (int i = 0; i < 1000; ++i) {
        send();
    }
    EXPECT_EQ(most, ring->bytes + ByteRing::capacity) << "much traffic takes all of it";
    EXPECT_EQ(new_pieces, static_cast<int>(ByteRing::capacity / size));
}

TEST(SpscBytes, OfARingThatIsHardlyUsedTheNextPieceIsKnownToBeNew)
{
    Shared<ByteRing> ring;
    ring->control.open(ByteRing::capacity);
    ByteReservation piece{};
    for (std::uint64_t used = 0; used < ByteRing::capacity / 4; used += 256) {
        EXPECT_TRUE(ring->control.is_next_new(1)) << used;
        ASSERT_TRUE(ring->control.reserve(256, &piece));
        EXPECT_TRUE(piece.is_new);
        ring->control.release(piece.end);
    }
    EXPECT_FALSE(ring->control.is_next_new(1)) << "rounds may end here";
}

TEST(SpscBytes, ARingWhoseConsumerIsLateTakesAllOfItAtOnce)
{
    Shared<ByteRing> ring;
    ring->control.open(ByteRing::capacity);
    for (std::uint64_t place = 0; place < ByteRing::capacity; place += 256) {
        ByteReservation piece{};
        ASSERT_TRUE(ring->control.reserve(256, &piece));
        EXPECT_EQ(piece.begin, place);
    }
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
            std::uint32_t* words = nullptr;
            while ((words = lane->cells.reserve(true)) == nullptr ||
                   !lane->bytes.control.reserve(size_of(number), &piece)) {
                platform::yield_core();
            }
            std::memset(lane->bytes.control.place_of(piece.begin), static_cast<int>(number % 256),
                        size_of(number));
            std::memcpy(words, &piece, sizeof piece);
            lane->cells.publish(true, 1);
        }
        return 0;
    });
    bool right = true;
    for (std::uint32_t number = 0; number < count;) {
        const std::uint32_t* const words = lane->cells.peek();
        if (words == nullptr) {
            platform::yield_core();
            continue;
        }
        ByteReservation piece{};
        std::memcpy(&piece, words, sizeof piece);
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
