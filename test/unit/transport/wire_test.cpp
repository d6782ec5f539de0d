// SPDX-License-Identifier: Apache-2.0
#include "transport/ofi/wire.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace headway::transport::ofi {
namespace {

constexpr std::uint64_t job = 42;
constexpr std::uint32_t ranks = 4;

struct Received {
    Received()
    {
        header.magic = wire_magic;
        header.version = wire_version;
        header.kind = FrameKind::eager;
        header.job = job;
        header.sender = 3;
        header.payload_bytes = 5;
    }

    WireHeader header;
    std::size_t payload_bytes = 5;

    Verdict judged(WireHeader* found) const
    {
        std::vector<std::byte> bytes(sizeof header + payload_bytes);
        std::memcpy(bytes.data(), &header, sizeof header);
        return judge(bytes.data(), bytes.size(), job, ranks, found);
    }
    Verdict judged() const
    {
        WireHeader found;
        return judged(&found);
    }
};

TEST(Wire, TakesAFrameOfTheJob)
{
    Received received;
    received.header.message = {.context = 7, .source = 1, .tag = -3, .sequence = 9};
    WireHeader found;
    ASSERT_EQ(received.judged(&found), Verdict::good);
    EXPECT_EQ(found.sender, 3U);
    EXPECT_EQ(found.message.tag, -3);
    received.header.payload_bytes = 0;
    received.payload_bytes = 0;
    EXPECT_EQ(received.judged(), Verdict::good);
    received.header.kind = FrameKind::none;
    EXPECT_EQ(received.judged(), Verdict::good);
}

TEST(Wire, LeavesStrangersAlone)
{
    Received received;
    received.header.job = job + 1;
    EXPECT_EQ(received.judged(), Verdict::foreign);
    received.header.magic = 0x20544547;  // "GET "
    EXPECT_EQ(received.judged(), Verdict::foreign);
    WireHeader found;
    EXPECT_EQ(judge(&received, sizeof(WireHeader) - 1, job, ranks, &found), Verdict::foreign);
    EXPECT_EQ(judge(nullptr, 0, job, ranks, &found), Verdict::foreign);
}

TEST(Wire, TellsOtherHeadwaysApart)
{
    Received received;
    received.header.version = wire_version + 1;
    EXPECT_EQ(received.judged(), Verdict::version);
    received.header.magic = __builtin_bswap32(wire_magic);
    EXPECT_EQ(received.judged(), Verdict::byte_order);
}

TEST(Wire, RefusesMembersThatBreakTheRules)
{
    Received received;
    received.header.sender = ranks;
    EXPECT_EQ(received.judged(), Verdict::malformed);
    received = {};
    received.header.payload_bytes = 6;
    EXPECT_EQ(received.judged(), Verdict::malformed);
    received = {};
    received.header.payload_bytes = UINT32_MAX;
    EXPECT_EQ(received.judged(), Verdict::malformed);
    received = {};
    received.header.kind = FrameKind::count;
    EXPECT_EQ(received.judged(), Verdict::malformed);
    received = {};
    received.header.kind = FrameKind::none;
    EXPECT_EQ(received.judged(), Verdict::malformed) << "an acknowledgement has no payload";
}

}  // namespace
}  // namespace headway::transport::ofi
