// SPDX-License-Identifier: Apache-2.0
//
// What every transport must keep, written against the concept of transport/transport.hpp. A new
// transport joins by a Link: it opens the transport and says what its back-pressure is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "memory/node_heap.hpp"
#include "platform/cpu.hpp"
#include "transport/delay/delayed.hpp"
#include "transport/self/loopback.hpp"
#include "transport/shm/endpoint.hpp"
#include "unit/memory/heap_fixture.hpp"
#ifdef HEADWAY_HAS_OFI
#include "conformance/ofi_link.hpp"
#endif

namespace headway::transport {
namespace {

using base::Status;

/// A heap that is soon full, so that running out of it can be met, with room for the slab of each
/// size that the allocator keeps.
std::unique_ptr<memory::NodeHeap> make_tight_heap()
{
    memory::HeapOptions options = memory::small_heap(2);
    options.size_bytes = std::uint64_t{16} << 20;
    auto heap = memory::NodeHeap::create(options);
    EXPECT_TRUE(heap.has_value()) << (heap ? std::string() : heap.sentence());
    return heap ? std::move(heap.value()) : nullptr;
}

struct ShmLink {
    using Endpoint = shm::Endpoint;
    static constexpr Status no_room = Status::retry_lane_full;

    ShmLink()
    {
        memory::Allocator& allocator = heap->for_rank(0);
        auto* lane =
            new (allocator.allocate(shm::Lane::bytes_needed(shm::lane_ring_bytes_min))) shm::Lane;
        lane->open(0, shm::lane_ring_bytes_min);
        auto* inbound = new (allocator.allocate(sizeof(shm::Inbound))) shm::Inbound;
        inbound->join(lane);
        endpoint = {lane, inbound};
    }

    std::unique_ptr<memory::NodeHeap> heap = make_tight_heap();
    Endpoint endpoint{};
};

struct SelfLink {
    using Endpoint = self::Endpoint;
    static constexpr Status no_room = Status::retry_lane_full;

    SelfLink()
    {
        memory::Allocator& allocator = heap->for_rank(0);
        endpoint = {allocator.make<self::Loopback>(), &allocator};
    }

    std::unique_ptr<memory::NodeHeap> heap = make_tight_heap();
    Endpoint endpoint{};
};

/// A delay that is over when the frame is looked for.
struct DelayLink {
    using Endpoint = delay::Endpoint<shm::Lane, shm::Inbound>;
    static constexpr Status no_room = Status::retry_lane_full;

    ShmLink wrapped;
    Endpoint endpoint{
        wrapped.endpoint.outbound, wrapped.endpoint.inbound, {}, &platform::monotonic_ns};
};

/// Frames that are due at moments drawn from a seed, on a clock that a look moves past all of them.
struct SimLink {
    using Endpoint = delay::Endpoint<shm::Lane, shm::Inbound>;
    static constexpr Status no_room = Status::retry_lane_full;
    static constexpr std::int64_t jitter_ns = 50'000;

    static std::int64_t look_at_clock() noexcept
    {
        static std::int64_t now_ns = 0;
        return now_ns += jitter_ns;
    }

    ShmLink wrapped;
    Endpoint endpoint{wrapped.endpoint.outbound,
                      wrapped.endpoint.inbound,
                      {.jitter_ns = jitter_ns, .seed = 11},
                      &look_at_clock};
};

#ifdef HEADWAY_HAS_OFI
/// Libfabric over the loopback interface, by one of its providers.
template <const char* provider>
struct OfiLink {
    using Endpoint = OfiEndpoint;
    static constexpr Status no_room = Status::retry_lane_full;

    OfiLink() { endpoint.open(provider); }

    Endpoint endpoint;
};
constexpr char tcp[] = "tcp";
constexpr char net[] = "net";
constexpr char sockets[] = "sockets";
#endif

/// Why a link cannot be tried here; empty if it can.
template <typename Link>
std::string why_not(const Link& link)
{
    if constexpr (requires { link.endpoint.why_not(); }) {
        return link.endpoint.why_not();
    }
    return {};
}

/// Whether a link that has refused a frame may take it though none was taken from it meanwhile.
template <typename Link>
bool drains_by_itself(const Link& link)
{
    if constexpr (requires { link.endpoint.drains_by_itself(); }) {
        return link.endpoint.drains_by_itself();
    }
    return false;
}

/// A frame that can be told from every other by its number.
struct Sent {
    std::uint32_t number;
    std::size_t bytes;

    FrameKind kind() const
    {
        return number % 2 == 0 ? FrameKind::eager : FrameKind::request_to_send;
    }
    FrameHeader header() const
    {
        return {number * 2, static_cast<std::int32_t>(number % 77), -static_cast<int>(number),
                ~number};
    }
    std::vector<std::byte> payload() const
    {
        std::vector<std::byte> all(bytes);
        for (std::size_t i = 0; i < bytes; ++i) {
            all[i] = static_cast<std::byte>(number * 31 + i + (i >> 8));
        }
        return all;
    }
};

template <typename Endpoint>
Status post(Endpoint& endpoint, const Sent& sent)
{
    const std::vector<std::byte> payload = sent.payload();
    return endpoint.post(sent.kind(), sent.header(), payload.data(), payload.size());
}

::testing::AssertionResult is_frame(const Frame& frame, const Sent& sent)
{
    const FrameHeader header = sent.header();
    if (frame.kind != sent.kind() || frame.header.context != header.context ||
        frame.header.source != header.source || frame.header.tag != header.tag ||
        frame.header.sequence != header.sequence) {
        return ::testing::AssertionFailure() << "not the frame " << sent.number;
    }
    const std::vector<std::byte> payload = sent.payload();
    if (frame.payload_bytes != payload.size() ||
        !std::equal(payload.begin(), payload.end(), frame.payload)) {
        return ::testing::AssertionFailure() << "not the payload of frame " << sent.number;
    }
    return ::testing::AssertionSuccess();
}

/// Takes the oldest frame, which must be `sent`.
template <typename Endpoint>
void take(Endpoint& endpoint, const Sent& sent)
{
    Frame frame;
    ASSERT_TRUE(endpoint.poll(frame)) << "frame " << sent.number << " is not there";
    ASSERT_TRUE(is_frame(frame, sent));
    endpoint.release();
}

template <typename Link>
class TransportTest : public ::testing::Test {
  protected:
    void SetUp() override
    {
        if (const std::string why = why_not(link); !why.empty()) {
            GTEST_SKIP() << why;
        }
    }

    /// Posts frames of `bytes` until there is no room; they get the numbers from `first` on.
    std::uint32_t fill(std::size_t bytes, std::uint32_t first = 0)
    {
        for (std::uint32_t number = first;; ++number) {
            const Status status = post(link.endpoint, {number, bytes});
            if (status != Status::done) {
                EXPECT_EQ(status, Link::no_room);
                EXPECT_TRUE(base::is_retry(status));
                return number;
            }
        }
    }

    Link link;
};

#ifdef HEADWAY_HAS_OFI
using Links = ::testing::Types<ShmLink, SelfLink, DelayLink, SimLink, OfiLink<tcp>, OfiLink<net>,
                               OfiLink<sockets>>;
#else
using Links = ::testing::Types<ShmLink, SelfLink, DelayLink, SimLink>;
#endif
TYPED_TEST_SUITE(TransportTest, Links);

TYPED_TEST(TransportTest, StartsEmpty)
{
    Frame frame;
    EXPECT_FALSE(this->link.endpoint.poll(frame));
}

TYPED_TEST(TransportTest, CarriesEverySizeAroundTheInlineBorderAndTheLongest)
{
    auto& endpoint = this->link.endpoint;
    const std::size_t longest = TypeParam::Endpoint::frame_bytes_max();
    ASSERT_GE(longest, 16U * 1024 - 64);
    std::uint32_t number = 0;
    for (std::size_t bytes = 0; bytes <= longest; bytes += bytes < 200 ? 1 : bytes / 3) {
        ASSERT_EQ(post(endpoint, {++number, bytes}), Status::done);
        take(endpoint, {number, bytes});
    }
    for (const std::size_t bytes :
         {inline_bytes_max, inline_bytes_max + 1, longest - 1, longest, std::size_t{0}}) {
        ASSERT_EQ(post(endpoint, {++number, bytes}), Status::done);
        take(endpoint, {number, bytes});
    }
}

TYPED_TEST(TransportTest, AnEmptyPayloadNeedsNoAddress)
{
    auto& endpoint = this->link.endpoint;
    ASSERT_EQ(endpoint.post(FrameKind::eager, {}, nullptr, 0), Status::done);
    Frame frame;
    ASSERT_TRUE(endpoint.poll(frame));
    EXPECT_EQ(frame.payload_bytes, 0U);
    endpoint.release();
}

TYPED_TEST(TransportTest, APolledFrameStaysUntilItsRelease)
{
    auto& endpoint = this->link.endpoint;
    ASSERT_EQ(post(endpoint, {1, 100}), Status::done);
    Frame first;
    ASSERT_TRUE(endpoint.poll(first));
    ASSERT_EQ(post(endpoint, {2, 300}), Status::done);
    Frame again;
    ASSERT_TRUE(endpoint.poll(again));
    EXPECT_TRUE(is_frame(first, {1, 100}));
    EXPECT_TRUE(is_frame(again, {1, 100}));
    endpoint.release();
    take(endpoint, {2, 300});
    EXPECT_FALSE(endpoint.poll(again));
}

TYPED_TEST(TransportTest, KeepsOrderAndPayloadAroundTheEndOfItsRings)
{
    auto& endpoint = this->link.endpoint;
    const std::size_t sizes[] = {
        12345, 1, 40, 41, 64, 4095, TypeParam::Endpoint::frame_bytes_max(), 65, 9999};
    std::uint32_t taken = 0;
    for (std::uint32_t number = 0; number < 2000; ++number) {
        ASSERT_EQ(post(endpoint, {number, sizes[number % std::size(sizes)]}), Status::done);
        if (number % 2 == 1) {
            take(endpoint, {taken, sizes[taken % std::size(sizes)]});
            ++taken;
            take(endpoint, {taken, sizes[taken % std::size(sizes)]});
            ++taken;
        }
    }
}

TYPED_TEST(TransportTest, SaysRetryWhenFullAndChangesNothing)
{
    auto& endpoint = this->link.endpoint;
    const std::size_t longest = TypeParam::Endpoint::frame_bytes_max();
    std::uint32_t first = 0;
    for (const std::size_t bytes :
         {std::size_t{0}, inline_bytes_max, inline_bytes_max + 1, std::size_t{1000}, longest}) {
        std::uint32_t end = this->fill(bytes, first);
        ASSERT_GE(end - first, 3U) << "room for " << bytes;
        for (int attempt = 0; attempt < 3; ++attempt) {
            const bool may_have_room = drains_by_itself(this->link);
            const Status status = post(endpoint, {end, bytes});
            ASSERT_TRUE(status == TypeParam::no_room || (status == Status::done && may_have_room));
            end += status == Status::done ? 1 : 0;
        }
        for (std::uint32_t number = first; number < end; ++number) {
            ASSERT_NO_FATAL_FAILURE(take(endpoint, {number, bytes}));
        }
        Frame frame;
        ASSERT_FALSE(endpoint.poll(frame)) << "a refused frame has arrived";
        first = end;
    }
}

TYPED_TEST(TransportTest, AnEmptyTransportHasRoomForTheLongestFrame)
{
    auto& endpoint = this->link.endpoint;
    const std::size_t longest = TypeParam::Endpoint::frame_bytes_max();
    // Whatever was sent before, and wherever in its rings that ended.
    std::uint32_t number = 0;
    for (std::uint32_t before = 0; before < 200; ++before) {
        for (std::uint32_t i = 0; i < before % 7; ++i, ++number) {
            ASSERT_EQ(post(endpoint, {number, before * 80 + i}), Status::done);
            take(endpoint, {number, before * 80 + i});
        }
        ASSERT_EQ(post(endpoint, {++number, longest}), Status::done);
        ASSERT_NO_FATAL_FAILURE(take(endpoint, {number, longest}));
    }
}

TYPED_TEST(TransportTest, RoomComesBackWhileTheReceiverIsBehind)
{
    auto& endpoint = this->link.endpoint;
    const std::size_t bytes = 500;
    std::uint32_t posted = this->fill(bytes);
    const std::uint32_t room = posted;
    // Whenever half of the frames are taken, some room must be there, and order is kept.
    for (std::uint32_t taken = 0; taken < 4 * room; ++taken) {
        ASSERT_NO_FATAL_FAILURE(take(endpoint, {taken, bytes}));
        if (taken % (room / 2) == room / 2 - 1) {
            const std::uint32_t end = this->fill(bytes, posted);
            ASSERT_GT(end, posted);
            posted = end;
        }
    }
}

TYPED_TEST(TransportTest, BehavesLikeAQueue)
{
    const std::size_t longest = TypeParam::Endpoint::frame_bytes_max();
    auto& endpoint = this->link.endpoint;
    std::uint32_t number = 0;
    for (std::uint32_t seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::minstd_rand dice(seed);
        std::deque<Sent> model;
        // Sometimes the sender is faster, sometimes the receiver.
        for (unsigned step = 0; step < 400; ++step) {
            if (dice() % 4 < 1 + (step / 50) % 3) {
                const std::size_t limit = dice() % 3 == 0 ? longest : 2 * inline_bytes_max;
                const Sent sent{++number, dice() % (limit + 1)};
                const Status status = post(endpoint, sent);
                ASSERT_TRUE(status == Status::done || status == TypeParam::no_room);
                ASSERT_TRUE(status == Status::done || !model.empty());
                if (status == Status::done) {
                    model.push_back(sent);
                }
            } else if (!model.empty()) {
                ASSERT_NO_FATAL_FAILURE(take(endpoint, model.front()));
                model.pop_front();
            }
        }
        for (const Sent& sent : model) {
            ASSERT_NO_FATAL_FAILURE(take(endpoint, sent));
        }
        Frame frame;
        ASSERT_FALSE(endpoint.poll(frame));
    }
}

}  // namespace
}  // namespace headway::transport
