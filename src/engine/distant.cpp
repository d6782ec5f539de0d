// SPDX-License-Identifier: Apache-2.0
//
// What a driver does for peers of other nodes.
#include <new>

#include "engine/driver.hpp"
#include "engine/post.hpp"
#include "platform/fatal.hpp"
#include "platform/host_links.hpp"

namespace headway::engine {

namespace {

/// A look at the network is a system call. A rank that waits for others of its node too looks at
/// them more often.
constexpr std::int64_t look_interval_ns = 1'000;

/// Between two looks of a rank that is on its way out of a call. What has come may be requests for
/// long messages, and to serve them would keep the ones behind it in a burst from being offered.
constexpr std::int64_t passing_interval_ns = 20'000;

/// Looks between two glances at the clock of a rank that has its node to itself: what is read
/// there is a tenth of what a look costs.
constexpr std::uint32_t looks_a_glance = 16;

/// Between two looks of a sleeping rank that nobody tells when something moves.
constexpr std::int64_t nap_ns = 200'000;

/// How long frames are held back at most while their rank computes. Most ranks that send a burst
/// wait for something soon after, and look before; a shorter time wakes the watch for nothing.
constexpr std::int64_t hold_ns = 100'000;

/// Whether ranks of other nodes may send such frames. The others name addresses of this node.
bool may_come_from_afar(transport::FrameKind kind) noexcept
{
    return kind == transport::FrameKind::eager || kind == transport::FrameKind::given_up ||
           kind == transport::FrameKind::distant_offer ||
           kind == transport::FrameKind::distant_request ||
           kind == transport::FrameKind::distant_bytes ||
           kind == transport::FrameKind::distant_note;
}

/// Ends the job if a host is lost.
void look_for_losses(platform::HostLinks& links, std::uint32_t own_rank, std::int64_t now_ns)
{
    const platform::HostLinks::Loss* const loss = links.look(now_ns);
    if (loss == nullptr) [[likely]] {
        return;
    }
    // A launcher that has noticed says more of it, and ends this process first.
    constexpr std::chrono::milliseconds launchers_time(500);
    platform::fatal(own_rank, loss->sentence,
                    loss->has_ended
                        ? platform::Pauses{.before = launchers_time, .after = launchers_time}
                        : platform::Pauses{.after = links.skew()});
}

}  // namespace

PeerSlot& Driver::distant_slot(std::uint32_t peer)
{
    const std::uint32_t place = peer - node_.rank_count;
    PeerSlot*& block = rank_.distant_slots[place / distant_block_size];
    if (block == nullptr) {
        auto* const made =
            static_cast<PeerSlot*>(allocator().allocate(distant_block_size * sizeof(PeerSlot)));
        if (made == nullptr) {
            platform::fatal(rank_.job_rank,
                            "the node heap has no room for another peer; raise HEADWAY_HEAP_SIZE, "
                            "or the size of /dev/shm where the heap is there");
        }
        for (std::uint32_t i = 0; i < distant_block_size; ++i) {
            new (&made[i]) PeerSlot;
        }
        block = made;
    }
    return block[place % distant_block_size];
}

bool Driver::takes_eager(std::uint32_t peer) const noexcept
{
    if (node_.is_distant(peer)) [[unlikely]] {
        return port_->takes_eager(node_.job_rank(peer));
    }
    return node_.rank_state(peer).takes_eager();
}

bool Driver::try_post_distant(std::uint32_t peer, transport::FrameHeader header,
                              const void* address, std::uint64_t size_bytes)
{
    return size_bytes <= node_.network->frame_bytes_max() && slot(peer).waiting.is_empty() &&
           post_bytes(peer, header, address, size_bytes) == base::Status::done;
}

base::Status Driver::post_distant(std::uint32_t peer, transport::FrameKind kind,
                                  transport::FrameHeader header, const void* payload,
                                  std::size_t payload_bytes)
{
    const std::uint32_t number = node_.job_rank(peer);
    base::Status status = port_->post(number, kind, header, payload, payload_bytes);
    if (status == base::Status::retry_unknown) [[unlikely]] {
        node_.introduce(number);
        status = port_->post(number, kind, header, payload, payload_bytes);
    }
    if (status == base::Status::failed) {
        platform::fatal(rank_.job_rank, node_.network->failure());
    }
    // Only the executor writes these.
    auto& counter =
        status == base::Status::done ? rank_.counters.frames_posted : rank_.counters.retries;
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return status;
}

/// Whether the rank looks at the network now; now and then it looks after the hosts, too. Where
/// others share its node, `now_ns` is set.
bool Driver::begins_look(std::int64_t& now_ns)
{
    platform::HostLinks* const links = node_.host_links;
    const bool is_alone = node_.rank_count == 1;
    const bool is_alerted = links != nullptr && links->is_alerted();
    if (is_alone && ++looks_ % looks_a_glance != 0 && !passes_by_ && !is_alerted) {
        return true;
    }
    now_ns = platform::monotonic_ns();
    if ((!is_alone && now_ns - network_looked_ns_ < look_interval_ns) ||
        (passes_by_ && !is_alerted && now_ns - clock_ns_ < passing_interval_ns)) {
        return false;
    }
    clock_ns_ = now_ns;
    if (links != nullptr) {
        look_for_losses(*links, rank_.job_rank, now_ns);
    }
    return true;
}

int Driver::take_distant_frames()
{
    std::int64_t now_ns = 0;
    if (!begins_look(now_ns)) {
        return 0;
    }
    transport::Network& network = *node_.network;
    port_->announce_full(!rank_.takes_eager());
    transport::Frame frame;
    std::uint32_t sender = 0;
    int taken = 0;
    // What came with the first frame is taken too, but nobody waits for another look at the network
    // before he goes on with what he has.
    for (bool is_there = port_->poll(frame, sender); is_there;
         is_there = port_->poll_next(frame, sender)) {
        if (port_->is_from_stranger() && !network.knows(sender)) [[unlikely]] {
            node_.introduce(sender);
        }
        if (!may_come_from_afar(frame.kind)) {
            platform::fatal(rank_.job_rank, "rank " + std::to_string(sender) +
                                                " sent a frame that makes no sense between nodes; "
                                                "do all hosts have the same Headway?");
        }
        node_.handlers[static_cast<std::size_t>(frame.kind)](*this, frame, node_.peer_of(sender));
        ++taken;
    }
    ring_called();
    if (!network.failure().empty()) {
        platform::fatal(rank_.job_rank, network.failure());
    }
    network_looked_ns_ = taken == 0 ? now_ns : 0;
    return taken;
}

int Driver::progress_in_passing()
{
    passes_by_ = true;
    const int events = progress();
    passes_by_ = false;
    return events;
}

/// Ranks of this process that looks of this one have taken something in for.
void Driver::ring_called()
{
    std::uint32_t called = 0;
    while (port_->poll_called(called)) {
        worker_.ring(node_.rank_state(node_.peer_of(called)));
    }
}

bool Driver::settle_network()
{
    const bool is_settled = port_->settle();
    ring_called();
    return is_settled;
}

bool Driver::keeps_unsent()
{
    if (!has_unsent()) [[likely]] {
        return false;
    }
    if (!settle_network()) {
        network_looked_ns_ = 0;
        progress();
    }
    return port_->has_unsent() || !leave_held();
}

bool Driver::leave_held()
{
    if (port_ == nullptr || !port_->has_held() ||
        node_.watch().send_by(platform::monotonic_ns() + hold_ns)) {
        return true;
    }
    network_looked_ns_ = 0;
    progress();
    return !port_->has_held() && !port_->has_unsent();
}

bool Driver::listen()
{
    return port_ == nullptr || listen_by(&transport::Port::prepare_sleep, &Watch::listen);
}

bool Driver::listen_soon()
{
    return port_ == nullptr || listen_by(&transport::Port::prepare_absence, &Watch::listen_soon);
}

bool Driver::listen_by(bool (transport::Port::*prepare)() noexcept, bool (Watch::*call)())
{
    network_looked_ns_ = 0;
    const bool is_alerted = node_.host_links != nullptr && node_.host_links->is_alerted();
    const bool is_prepared = !is_alerted && (port_->*prepare)();
    ring_called();
    if (is_prepared) {
        is_heard_ = (node_.watch().*call)();
    }
    return is_prepared;
}

std::int64_t Driver::look_again_ns() const noexcept
{
    if (port_ == nullptr || (is_heard_ && !port_->has_unconnected())) {
        return rank_.due_ns;
    }
    const std::int64_t look_ns = platform::monotonic_ns() + nap_ns;
    return rank_.due_ns != 0 && rank_.due_ns < look_ns ? rank_.due_ns : look_ns;
}

}  // namespace headway::engine
