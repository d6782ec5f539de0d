// SPDX-License-Identifier: Apache-2.0
//
// Long messages that leave before their receiver has a place for them.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/ofi_link.hpp"

namespace headway::transport {
namespace {

/// More than the system keeps in sockets between two processes.
constexpr std::size_t long_bytes = std::size_t{64} << 20;
constexpr std::size_t short_bytes = 10'000;

/// Rank 0 pushes, rank 1 takes.
class OfiPushesTest : public OfiTransferTest {
  protected:
    void SetUp() override
    {
        NetworkOptions options;
        options.push_bytes_max = 2 * long_bytes;
        link.open(GetParam(), options);
        if (!link.why_not().empty()) {
            GTEST_SKIP() << link.why_not();
        }
    }

    /// Bytes that say whose they are.
    static std::vector<std::byte> message(std::size_t bytes, unsigned seed)
    {
        std::vector<std::byte> made(bytes);
        for (std::size_t i = 0; i < bytes; ++i) {
            made[i] = static_cast<std::byte>(i * 7 + i / 251 + seed);
        }
        return made;
    }

    /// A message, and the place for it.
    struct Letter {
        Letter(std::size_t size, unsigned seed) : bytes(message(size, seed)), target(size) {}
        const std::vector<std::byte> bytes;
        std::vector<std::byte> target;
        Pushed name;
    };

    Pushed reserve(std::size_t bytes)
    {
        return {.rank = 1, .number = link.port(0).reserve_push(1, bytes), .bytes = bytes};
    }
    /// Its number is what the sender's port answers when it is over.
    void push(const Pushed& to, const std::vector<std::byte>& bytes)
    {
        await([&] { return link.port(0).push(to, bytes.data(), to.number) == base::Status::done; });
    }
    Pushed push(const std::vector<std::byte>& bytes)
    {
        const Pushed to = reserve(bytes.size());
        push(to, bytes);
        return to;
    }
    static Pushed from_first(const Pushed& what) { return {0, what.number, what.bytes}; }
    void leave(const Pushed& what) { link.port(1).leave_pushed(from_first(what)); }
    void take(const Pushed& what, std::vector<std::byte>& target)
    {
        await([&] {
            return link.port(1).take_pushed(from_first(what), target.data(), target.size(),
                                            what.number) == base::Status::done;
        });
    }
    bool has_ended(std::uint32_t rank, std::uint64_t number)
    {
        std::uint64_t cookie = 0;
        while (link.port(rank).poll_transfer(cookie)) {
            ended_[rank].insert(cookie);
        }
        return ended_[rank].contains(number);
    }

    /// What must not happen has had its time.
    void look_in_vain()
    {
        for (int looks = 0; looks < 300; ++looks) {
            look(0);
            look(1);
        }
    }
    void post(std::uint32_t from)
    {
        await([&] {
            return link.port(from).post(1 - from, FrameKind::eager, {}, nullptr, 0) ==
                   base::Status::done;
        });
    }

    std::set<std::uint64_t> ended_[2];
};

TEST_P(OfiPushesTest, BytesGoWhereTheirReceiverSays)
{
    Letter first(long_bytes, 1);
    first.name = reserve(long_bytes);
    take(first.name, first.target);
    push(first.name, first.bytes);
    await([&] { return has_ended(1, first.name.number) && has_ended(0, first.name.number); });
    EXPECT_EQ(first.target, first.bytes);

    Letter second(short_bytes, 2);
    second.name = push(second.bytes);
    leave(second.name);
    look_in_vain();
    EXPECT_FALSE(has_ended(1, second.name.number));
    take(second.name, second.target);
    await([&] { return has_ended(1, second.name.number) && has_ended(0, second.name.number); });
    EXPECT_EQ(second.target, second.bytes);
}

TEST_P(OfiPushesTest, WhatComesBeforeALaterOneThatIsTakenIsKept)
{
    Letter first(long_bytes, 1);
    Letter second(short_bytes, 2);
    Letter third(short_bytes, 3);
    for (Letter* const letter : {&first, &second, &third}) {
        letter->name = push(letter->bytes);
    }
    leave(first.name);
    leave(second.name);
    take(third.name, third.target);
    // One is taken while it comes in, one when it is there.
    take(first.name, first.target);
    await([&] { return has_ended(1, third.name.number) && has_ended(1, first.name.number); });
    EXPECT_EQ(third.target, third.bytes);
    EXPECT_EQ(first.target, first.bytes);
    EXPECT_FALSE(has_ended(1, second.name.number));
    take(second.name, second.target);
    EXPECT_TRUE(has_ended(1, second.name.number));
    EXPECT_EQ(second.target, second.bytes);
    await([&] { return has_ended(0, third.name.number); });
}

TEST_P(OfiPushesTest, WhatIsHeardOfAfterALaterOneWasTakenIsKeptToo)
{
    Letter first(short_bytes, 1);
    Letter second(short_bytes, 2);
    first.name = push(first.bytes);
    second.name = push(second.bytes);
    take(second.name, second.target);
    look_in_vain();
    EXPECT_FALSE(has_ended(1, second.name.number));
    leave(first.name);
    await([&] { return has_ended(1, second.name.number); });
    EXPECT_EQ(second.target, second.bytes);
    take(first.name, first.target);
    await([&] { return has_ended(1, first.name.number); });
    EXPECT_EQ(first.target, first.bytes);
}

TEST_P(OfiPushesTest, WhatIsNotAsItWasOfferedEndsTheJob)
{
    const auto bytes = message(short_bytes, 1);
    std::vector<std::byte> longer(short_bytes + 1);
    Pushed pushed = push(bytes);
    pushed.bytes = longer.size();
    take(pushed, longer);
    await([&] { return !link.network(1).failure().empty(); });
    EXPECT_NE(link.network(1).failure().find("rank 0 on host 'here'"), std::string::npos);
}

TEST_P(OfiPushesTest, NobodyOffersOneTwice)
{
    const auto bytes = message(short_bytes, 1);
    const Pushed pushed = push(bytes);
    leave(pushed);
    EXPECT_EQ(link.network(1).failure(), "");
    leave(pushed);
    EXPECT_NE(link.network(1).failure(), "");
}

TEST_P(OfiPushesTest, AShorterPlaceGetsTheBeginning)
{
    const auto bytes = message(short_bytes, 1);
    std::vector<std::byte> target(short_bytes, std::byte{77});
    std::vector<std::byte> begin(short_bytes / 2);
    const Pushed pushed = push(bytes);
    take(pushed, begin);
    await([&] { return has_ended(1, pushed.number); });
    EXPECT_TRUE(std::equal(begin.begin(), begin.end(), bytes.begin()));
    std::vector<std::byte> nothing;
    const Pushed empty = push(bytes);
    take(empty, nothing);
    await([&] { return has_ended(1, empty.number); });
    const Pushed whole = push(bytes);
    take(whole, target);
    await([&] { return has_ended(1, whole.number); });
    EXPECT_EQ(target, bytes);
}

TEST_P(OfiPushesTest, WhatWaitsKeepsNoFrameAndNoReadWaiting)
{
    const auto bytes = message(long_bytes, 1);
    std::vector<std::byte> target(long_bytes);
    const Pushed pushed = push(bytes);
    look_in_vain();
    post(0);
    await([&] { return frames_[1] == 1; });

    Exposure exposure;
    void* const exposed = link.port(1).expose(target.data(), short_bytes, &exposure);
    std::vector<std::byte> copy(short_bytes, std::byte{9});
    constexpr std::uint64_t of_read = 1000;
    await([&] {
        return link.port(0).read(1, exposure, 0, copy.data(), short_bytes, nullptr, of_read) ==
               base::Status::done;
    });
    await([&] { return has_ended(0, of_read); });
    EXPECT_EQ(copy, std::vector<std::byte>(short_bytes));
    link.port(1).conceal(exposed);
    EXPECT_FALSE(has_ended(0, pushed.number));
    take(pushed, target);
    await([&] { return has_ended(0, pushed.number) && has_ended(1, pushed.number); });
    EXPECT_EQ(target, bytes);
}

TEST_P(OfiPushesTest, WhoDoesNotReceiveIsNotSentMore)
{
    const auto bytes = message(long_bytes, 1);
    std::vector<std::byte> target(long_bytes);
    const Pushed first = push(bytes);
    const Pushed second = push(bytes);
    EXPECT_EQ(reserve(short_bytes).number, 0U);
    take(first, target);
    await([&] { return has_ended(1, first.number); });
    // Half of what there may be is over: the receiver says so without being asked.
    Pushed third;
    await([&] {
        third = reserve(long_bytes);
        return third.number != 0;
    });
    EXPECT_EQ(frames_[0], 0);
    EXPECT_EQ(reserve(short_bytes).number, 0U);
    push(third, bytes);
    take(second, target);
    take(third, target);
    await([&] { return has_ended(0, third.number) && has_ended(1, third.number); });
}

TEST_P(OfiPushesTest, WhoSettlesAgainAndAgainLosesNoFrame)
{
    const auto bytes = message(long_bytes, 1);
    const Pushed pushed = push(bytes);  // under way until it is taken
    constexpr int posted = 20;
    int sent = 0;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (frames_[0] < posted) {
        ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "frames are lost";
        if (sent < posted &&
            link.port(1).post(0, FrameKind::eager, {}, nullptr, 0) == base::Status::done) {
            ++sent;
        }
        look(1);
        for (int times = 0; times < 3; ++times) {
            (void)link.port(0).settle();
        }
        if (sent == posted) {
            look(0);
        }
    }
    std::vector<std::byte> target(long_bytes);
    take(pushed, target);
    await([&] { return has_ended(0, pushed.number) && has_ended(1, pushed.number); });
}

TEST_P(OfiPushesTest, AVeryShortOneIsNotPushed)
{
    EXPECT_EQ(reserve(1).number, 0U);
    EXPECT_NE(reserve(short_bytes).number, 0U);
}

TEST_P(OfiPushesTest, TheyBeginInTheirOrder)
{
    const auto bytes = message(short_bytes, 1);
    const Pushed first = reserve(short_bytes);
    const Pushed second = reserve(short_bytes);
    EXPECT_NE(link.port(0).push(second, bytes.data(), second.number), base::Status::done);
    push(first, bytes);
    push(second, bytes);
    std::vector<std::byte> target(short_bytes);
    take(first, target);
    take(second, target);
    await([&] { return has_ended(1, second.number) && has_ended(1, first.number); });
}

INSTANTIATE_TEST_SUITE_P(Providers, OfiPushesTest, ::testing::Values("net"), &name_of_provider);

TEST(OfiPushes, OtherProvidersAndRanksThatShareAProcessPushNothing)
{
    for (const char* provider : {"net", "tcp;ofi_rxm", "sockets"}) {
        NetworkOptions options;
        options.rank_count = 3;
        options.push_bytes_max = long_bytes;
        options.own_count = std::string_view(provider) == "net" ? 2 : 1;
        std::string why_not;
        const auto network = open_network(provider, options, why_not);
        if (network != nullptr) {
            EXPECT_EQ(network->port(0).reserve_push(2, short_bytes), 0U) << provider;
        }
    }
}

}  // namespace
}  // namespace headway::transport
