// SPDX-License-Identifier: Apache-2.0
//
// Somebody who finds an endpoint of a job and does not know its secret: nothing of his reaches the
// engine, and none of it ends the job.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "conformance/ofi_link.hpp"

namespace headway::transport {
namespace {

class OfiStrangerTest : public ::testing::TestWithParam<const char*> {
  protected:
    void SetUp() override
    {
        link.open(GetParam());
        if (!link.why_not().empty()) {
            GTEST_SKIP() << link.why_not();
        }
    }

    ofi::OfiNetwork& victim() { return link.network(1); }

    /// An endpoint that passes for rank 0, with what it believes the secret is.
    std::unique_ptr<ofi::OfiNetwork> open_stranger(const base::Secret& secret)
    {
        NetworkOptions options;
        options.rank_count = 2;
        std::string why_not;
        auto opened = open_network(GetParam(), options, why_not);
        if (opened == nullptr) {
            throw std::runtime_error(why_not);
        }
        opened->join_job(secret);
        if (!opened->introduce(1, victim().address(), "here")) {
            throw std::runtime_error("the stranger does not find its victim");
        }
        return opened;
    }

    /// Sends frames until the provider says that all of them are out, and so are there.
    void send_as(ofi::OfiNetwork& stranger, const std::vector<int>& values)
    {
        std::size_t sent = 0;
        await([&] {
            if (sent < values.size() &&
                stranger.port(0).post(1, FrameKind::eager, {}, &values[sent],
                                      sizeof values[sent]) == base::Status::done) {
                ++sent;
            }
            look(stranger.port(0));
            look(link.port(1));
            return sent == values.size() && !stranger.port(0).has_unsent();
        });
    }

    /// A frame of the member comes through, and before it nothing else does.
    void expect_member(int value)
    {
        ASSERT_EQ(link.post(FrameKind::eager, {}, &value, sizeof value), base::Status::done);
        Frame frame;
        ASSERT_TRUE(link.poll(frame));
        ASSERT_EQ(frame.payload_bytes, sizeof value);
        int found = 0;
        std::memcpy(&found, frame.payload, sizeof found);
        EXPECT_EQ(found, value);
        link.release();
        EXPECT_EQ(victim().failure(), "");
    }

    template <typename Condition>
    void await(Condition&& condition)
    {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(40);
        while (!condition()) {
            ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "nothing moves";
        }
    }

    static void look(Port& port)
    {
        Frame frame;
        std::uint32_t sender = 0;
        ASSERT_FALSE(port.poll(frame, sender)) << "a stranger's frame came through";
    }

    OfiEndpoint link;
};

TEST_P(OfiStrangerTest, FramesByAnotherSecretComeToNothing)
{
    expect_member(1);
    const auto stranger =
        open_stranger({.first = secret_of_tests.first, .second = secret_of_tests.second ^ 1});
    send_as(*stranger, {100, 101, 102});
    expect_member(2);
}

TEST_P(OfiStrangerTest, WhatAMemberHasSentIsWorthNothingOnceMore)
{
    expect_member(1);
    expect_member(2);
    // Who sends the member's first frames again has them proven: a copy of what went over a wire.
    const auto stranger = open_stranger(secret_of_tests);
    send_as(*stranger, {1, 2});
    expect_member(3);
}

TEST_P(OfiStrangerTest, WhatIsNoFrameComesToNothing)
{
    expect_member(1);
    auto info = ofi::choose_provider({.provider = GetParam(), .interface = "lo"});
    ASSERT_TRUE(info) << info.sentence();
    auto stranger = ofi::Fabric::open(std::move(info.value()));
    ASSERT_TRUE(stranger) << stranger.sentence();
    fi_addr_t there = FI_ADDR_UNSPEC;
    ASSERT_EQ(fi_av_insert(stranger.value().addresses.get(), victim().socket_address().data(), 1,
                           &there, 0, nullptr),
              1);
    // Nothing, less than a header, more than a frame, more than a block of memory for frames.
    constexpr std::size_t lengths[] = {0, 20, 60'000, 200'000};
    std::vector<std::byte> text(200'000, std::byte{0x5A});
    auto region = ofi::Region::open(stranger.value(), text.data(), text.size(), FI_SEND, 1);
    ASSERT_TRUE(region) << region.sentence();
    // More than there are blocks, so that one that was lost would be missed.
    constexpr std::size_t count_of_all = 40 * std::size(lengths);
    std::vector<fi_context2> contexts(count_of_all);
    std::size_t begun = 0;
    std::size_t ended = 0;
    // The provider may keep the sender of what was refused in suspense, so others go on at once.
    int looks_left = 20'000;  // once all have begun
    await([&] {
        if (begun < count_of_all &&
            fi_send(stranger.value().endpoint.get(), text.data(),
                    lengths[begun % std::size(lengths)], region.value().descriptor(), there,
                    &contexts[begun]) == 0) {
            ++begun;
        }
        fi_cq_data_entry entry{};
        const ssize_t count = fi_cq_read(stranger.value().completions.get(), &entry, 1);
        if (count == -FI_EAVAIL) {
            fi_cq_err_entry error{};
            (void)fi_cq_readerr(stranger.value().completions.get(), &error, 0);
        }
        ended += count == 1 || count == -FI_EAVAIL ? 1 : 0;
        look(link.port(1));
        return begun == count_of_all && (ended == begun || --looks_left == 0);
    });
    expect_member(2);
    expect_member(3);
}

INSTANTIATE_TEST_SUITE_P(Providers, OfiStrangerTest, ::testing::Values("tcp", "net", "sockets"),
                         &name_of_provider);

}  // namespace
}  // namespace headway::transport
