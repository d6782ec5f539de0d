// SPDX-License-Identifier: Apache-2.0
#include "transport/ofi/wire.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace headway::transport::ofi {
namespace {

constexpr Judge by = {
    .secret = {.first = 42, .second = 43}, .own_rank = 1, .own_count = 1, .rank_count = 4};

struct Received {
    Received()
    {
        header.magic = wire_magic;
        header.version = wire_version;
        header.kind = FrameKind::eager;
        header.sender = 3;
        header.receiver = by.own_rank;
        header.payload_bytes = 5;
    }

    WireHeader header;
    std::size_t payload_bytes = 5;

    Verdict judged_as_is(WireHeader* found) const
    {
        std::vector<std::byte> bytes(sizeof header + payload_bytes);
        std::memcpy(bytes.data(), &header, sizeof header);
        return judge(bytes.data(), bytes.size(), by, found);
    }
    /// As a member sends it.
    Verdict judged(WireHeader* found)
    {
        header.proof = proof_of(header, by.secret);
        return judged_as_is(found);
    }
    Verdict judged()
    {
        WireHeader found;
        return judged(&found);
    }
};

TEST(KeyedNumber, IsSipHash)
{
    unsigned char bytes[16];
    for (unsigned i = 0; i < sizeof bytes; ++i) {
        bytes[i] = static_cast<unsigned char>(i);
    }
    base::Secret secret;
    std::memcpy(&secret, bytes, sizeof secret);
    // The example of the paper's appendix.
    EXPECT_EQ(base::keyed_number(secret, bytes, 15), 0xA129'CA61'49BE'45E5U);
}

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
    WireHeader found;
    received.header.proof = proof_of(received.header, {.first = 42, .second = 44});
    EXPECT_EQ(received.judged_as_is(&found), Verdict::foreign) << "of another job";
    received.header.magic = 0x20544547;  // "GET "
    EXPECT_EQ(received.judged(), Verdict::foreign);
    received = {};
    received.header.version = wire_version + 1;
    EXPECT_EQ(received.judged(), Verdict::foreign);
    received = {};
    received.header.receiver = 2;
    EXPECT_EQ(received.judged(), Verdict::foreign) << "meant for another rank";
    EXPECT_EQ(judge(&received, sizeof(WireHeader) - 1, by, &found), Verdict::foreign);
    EXPECT_EQ(judge(nullptr, 0, by, &found), Verdict::foreign);
}

TEST(Wire, EveryBitOfAHeaderIsProven)
{
    Received received;
    WireHeader found;
    ASSERT_EQ(received.judged(&found), Verdict::good);
    for (std::size_t bit = 0; bit < 8 * sizeof(WireHeader); ++bit) {
        Received changed = received;
        auto* const bytes = reinterpret_cast<unsigned char*>(&changed.header);
        bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ 1U << bit % 8);
        EXPECT_EQ(changed.judged_as_is(&found), Verdict::foreign) << "bit " << bit;
    }
}

TEST(Wire, RefusesMembersThatBreakTheRules)
{
    Received received;
    received.header.sender = by.rank_count;
    EXPECT_EQ(received.judged(), Verdict::malformed);
    received.header.sender = by.own_rank;
    EXPECT_EQ(received.judged(), Verdict::malformed) << "nobody sends to itself";
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

TEST(Wire, AFrameEndsItsPacketOrLeavesRoomForAnother)
{
    Received received;
    received.payload_bytes = frame_distance(5);
    EXPECT_EQ(received.judged(), Verdict::good) << "another one may begin behind it";
    for (std::size_t bytes = 6; bytes < frame_distance(5); ++bytes) {
        received.payload_bytes = bytes;
        EXPECT_EQ(received.judged(), Verdict::malformed) << bytes;
    }
}

}  // namespace
}  // namespace headway::transport::ofi
