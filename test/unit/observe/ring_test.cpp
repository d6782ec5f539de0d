// SPDX-License-Identifier: Apache-2.0
#include "observe/ring.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "observe/tracer.hpp"

namespace headway::observe {
namespace {

/// A ring in memory of its own, as the node heap would give it.
class OwnRing {
  public:
    explicit OwnRing(std::uint64_t capacity)
        : memory_(Ring::bytes_needed(capacity) / sizeof(std::max_align_t) + 1),
          ring_(Ring::create(memory_.data(), capacity))
    {
    }
    Ring& operator*() noexcept { return *ring_; }
    Ring* operator->() noexcept { return ring_; }

  private:
    std::vector<std::max_align_t> memory_;
    Ring* ring_;
};

Record numbered(std::uint64_t number)
{
    Record record;
    record.begin_ns = static_cast<std::int64_t>(number);
    record.amount = number;
    record.tag = static_cast<std::int32_t>(number);
    record.sequence = static_cast<std::uint32_t>(number);
    record.unused = static_cast<std::uint32_t>(number);
    return record;
}

std::vector<std::uint64_t> numbers_in(const Ring& ring)
{
    std::vector<std::uint64_t> numbers;
    ring.visit([&](const Record& record) { numbers.push_back(record.amount); });
    return numbers;
}

TEST(Ring, KeepsWhatFits)
{
    OwnRing ring(4);
    EXPECT_TRUE(numbers_in(*ring).empty());
    for (std::uint64_t number = 0; number < 3; ++number) {
        ring->write(numbered(number));
    }
    EXPECT_EQ(numbers_in(*ring), (std::vector<std::uint64_t>{0, 1, 2}));
    EXPECT_EQ(ring->dropped(), 0U);
}

TEST(Ring, DropsTheOldestAndCountsThem)
{
    OwnRing ring(4);
    for (std::uint64_t number = 0; number < 11; ++number) {
        ring->write(numbered(number));
    }
    EXPECT_EQ(numbers_in(*ring), (std::vector<std::uint64_t>{8, 9, 10}));
    EXPECT_EQ(ring->dropped(), 8U);
}

TEST(Ring, WithoutRecordsItStillKnowsTheCalls)
{
    OwnRing ring(0);
    ring->write(numbered(1));
    EXPECT_TRUE(numbers_in(*ring).empty());
    EXPECT_EQ(ring->begin_call(7, 100), 0U);
    EXPECT_EQ(ring->begin_call(8, 200), 1U);
    EXPECT_EQ(ring->open_function(), 7U);
    EXPECT_EQ(ring->open_since_ns(), 100);
    EXPECT_EQ(ring->end_call(), 1U);
    EXPECT_EQ(ring->open_since_ns(), 100);
    EXPECT_EQ(ring->end_call(), 0U);
    EXPECT_EQ(ring->open_since_ns(), 0);
}

TEST(Ring, AReaderBesideTheWriterGetsWholeRecordsInOrder)
{
    constexpr std::uint64_t records = 200'000;
    OwnRing ring(64);
    std::thread writer([&] {
        for (std::uint64_t number = 0; number < records; ++number) {
            ring->write(numbered(number));
        }
    });
    std::uint64_t seen = 0;
    std::uint64_t last = 0;
    while (last + 1 < records) {
        std::uint64_t before = 0;
        ring->visit([&](const Record& record) {
            ASSERT_EQ(static_cast<std::uint64_t>(record.begin_ns), record.amount);
            ASSERT_EQ(static_cast<std::uint64_t>(record.sequence), record.amount);
            ASSERT_EQ(static_cast<std::uint64_t>(record.unused), record.amount);
            ASSERT_TRUE(before == 0 || record.amount > before);
            before = record.amount;
            last = record.amount;
            ++seen;
        });
    }
    writer.join();
    EXPECT_GE(seen, 1U);
    EXPECT_EQ(ring->dropped(), records - 63);
}

TEST(Tracer, EveryThreadWritesToItsOwnRing)
{
    Tracer tracer(11, 4);
    OwnRing first(4);
    OwnRing second(4);
    tracer.adopt(&*first);
    std::thread other([&] {
        EXPECT_FALSE(tracer.knows_thread());
        tracer.record(numbered(1));  // goes nowhere
        tracer.adopt(&*second);
        tracer.record(numbered(2));
    });
    other.join();
    tracer.record(numbered(3));
    EXPECT_EQ(numbers_in(*first), std::vector<std::uint64_t>{3});
    EXPECT_EQ(numbers_in(*second), std::vector<std::uint64_t>{2});
    // The ring of another job is none of this one.
    Tracer later(12, 4);
    EXPECT_FALSE(later.knows_thread());
    EXPECT_EQ(later.ring(), nullptr);
}

TEST(Tracer, SpansSayWhoWorkedForWhom)
{
    Tracer tracer(13, 4);
    OwnRing ring(4);
    tracer.adopt(&*ring);
    {
        const Span helping(&tracer, SpanKind::help, 2, 5);
    }
    const std::int64_t begin_ns = span_begin(&tracer);
    span_end(&tracer, SpanKind::agent, 2, 2, begin_ns);
    std::vector<Record> records;
    ring->visit([&](const Record& record) { records.push_back(record); });
    ASSERT_EQ(records.size(), 2U);
    EXPECT_EQ(records[0].kind, EventKind::span);
    EXPECT_EQ(records[0].index, static_cast<std::uint16_t>(SpanKind::help));
    EXPECT_EQ(records[0].rank, 2U);
    EXPECT_EQ(records[0].peer, 5U);
    EXPECT_EQ(records[1].index, static_cast<std::uint16_t>(SpanKind::agent));
    EXPECT_LE(records[0].begin_ns, records[1].begin_ns);
    EXPECT_EQ(span_end(nullptr, SpanKind::agent, 0, 0, span_begin(nullptr)), 0);
}

}  // namespace
}  // namespace headway::observe
