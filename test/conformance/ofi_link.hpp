// SPDX-License-Identifier: Apache-2.0
//
// Two endpoints of libfabric in one process, as a Link of the conformance suite, and what tests of
// them share.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "transport/ofi/ofi_network.hpp"

/// The provider `net` of libfabric 1.17 keeps what it knew of connections when an endpoint is
/// closed, which it says it was (fi_close answers 0). LeakSanitizer asks for this function.
extern "C" [[gnu::used, gnu::visibility("default")]] inline const char*
__lsan_default_suppressions()  // NOLINT(bugprone-reserved-identifier)
{
    return "leak:libfabric.so";
}

namespace headway::transport {

/// Of a test that takes a provider.
inline std::string name_of_provider(const ::testing::TestParamInfo<const char*>& row)
{
    return row.param;
}

inline constexpr base::Secret secret_of_tests = {.first = 4711, .second = 11};

/// A process of a job on this machine; `of_ranks` says which ranks are its own, and how many there
/// are. Null: `why_not` says why.
inline std::unique_ptr<ofi::OfiNetwork> open_network(const char* provider, NetworkOptions of_ranks,
                                                     std::string& why_not)
{
    of_ranks.window_bytes = 256 * 1024;
    of_ranks.provider = provider;
    of_ranks.interface = "lo";
    of_ranks.are_hosts_watched = true;
    auto opened = ofi::OfiNetwork::open(of_ranks);
    if (!opened) {
        why_not = opened.sentence();
        return nullptr;
    }
    opened.value()->join_job(secret_of_tests);
    return std::move(opened.value());
}

/// A network takes its time, and moves only while somebody polls. So this endpoint polls for what
/// it knows to be under way, and looks a while for what must not come.
class OfiEndpoint {
  public:
    void open(const char* provider, bool may_hold = false)
    {
        NetworkOptions options;
        options.may_hold = may_hold;
        open(provider, options);
    }
    void open(const char* provider, NetworkOptions options)
    {
        for (std::uint32_t rank = 0; rank < 2; ++rank) {
            options.own_rank = rank;
            options.rank_count = 2;
            networks_[rank] = open_network(provider, options, why_not_);
            if (networks_[rank] == nullptr) {
                return;
            }
        }
        for (const std::uint32_t rank : {0U, 1U}) {
            const auto known =
                networks_[rank]->introduce(1 - rank, networks_[1 - rank]->address(), "here");
            if (!known) {
                why_not_ = known.sentence();
            }
        }
    }
    const std::string& why_not() const noexcept { return why_not_; }
    ofi::OfiNetwork& network(std::uint32_t rank) { return *networks_[rank]; }
    Port& port(std::uint32_t rank) { return networks_[rank]->port(rank); }

    static constexpr std::size_t frame_bytes_max() noexcept
    {
        return 16 * 1024 - sizeof(ofi::WireHeader);
    }

    base::Status post(FrameKind kind, const FrameHeader& header, const void* payload,
                      std::size_t bytes)
    {
        base::Status status = base::Status::failed;
        int looks = looks_in_vain;
        await([&] {
            status = port(0).post(1, kind, header, payload, bytes);
            if (status == base::Status::done) {
                return true;
            }
            const bool has_arrived = move_both();
            // What is still on its way may make room; then only the test does, by its release. As
            // long as nothing has arrived of what was posted, something is on its way.
            return status == base::Status::retry_lane_full && (has_arrived || under_way_ == 0) &&
                   --looks <= 0;
        });
        under_way_ += status == base::Status::done ? 1 : 0;
        return status;
    }

    /// After a refusal: the window was not what was full, but the provider, which may have room
    /// again by itself (the threads of `sockets` send when they get a core).
    bool drains_by_itself() const noexcept { return networks_[0]->port(0).has_unsent(); }

    bool poll(Frame& frame)
    {
        bool is_there = false;
        int looks = looks_in_vain;
        await([&] {
            std::uint32_t sender = 0;
            (void)move_both();
            is_there = port(1).poll(frame, sender);
            return is_there || (under_way_ == 0 && --looks == 0);
        });
        return is_there;
    }

    void release()
    {
        --under_way_;
        port(1).release();
    }

  private:
    static constexpr int looks_in_vain = 500;

    /// Whether a frame has arrived. One that is polled stays until it is released, so this takes
    /// nothing from the test.
    bool move_both()
    {
        Frame frame;
        std::uint32_t sender = 0;
        const bool has_arrived = port(1).poll(frame, sender);
        if (port(0).poll(frame, sender)) {
            throw std::runtime_error("a frame came back that nobody has posted");
        }
        return has_arrived;
    }

    template <typename Condition>
    void await(Condition&& condition)
    {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!condition()) {
            for (const auto& network : networks_) {
                if (!network->failure().empty()) {
                    throw std::runtime_error(network->failure());
                }
            }
            if (std::chrono::steady_clock::now() > deadline) {
                throw std::runtime_error("nothing moves between the endpoints");
            }
        }
    }

    std::unique_ptr<ofi::OfiNetwork> networks_[2];
    std::string why_not_;
    int under_way_ = 0;
};

/// Tests of what moves between two ranks without frames, while both look.
class OfiTransferTest : public ::testing::TestWithParam<const char*> {
  protected:
    /// A frame that has come is counted, and forgotten.
    void look(std::uint32_t rank)
    {
        Frame frame;
        std::uint32_t sender = 0;
        if (link.port(rank).poll(frame, sender)) {
            ++frames_[rank];
            link.port(rank).release();
        }
    }
    template <typename Condition>
    void await(Condition&& condition)
    {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(40);
        while (!condition()) {
            ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "nothing moves";
            look(0);
            look(1);
        }
    }

    OfiEndpoint link;
    int frames_[2] = {0, 0};
};

}  // namespace headway::transport
