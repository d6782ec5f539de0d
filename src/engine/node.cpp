// SPDX-License-Identifier: Apache-2.0
#include "engine/node.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "platform/hardware.hpp"
#include "platform/line_transfer.hpp"
#include "platform/process.hpp"
#include "transport/delay/delayed.hpp"

namespace headway::engine {

Node::Node(std::shared_ptr<memory::NodeHeap> node_heap, Directory& node_directory,
           std::uint32_t process, const config::Knobs& settings, std::uint32_t number)
    : heap(std::move(node_heap)),
      directory(node_directory),
      own_process(process),
      instance(number),
      rank_count(node_directory.rank_count),
      job_rank_count(std::max(node_directory.job_rank_count, node_directory.rank_count)),
      origin(node_directory.origin),
      knobs(settings),
      peer_memory(node_directory.process_count, process, settings.cma != config::CmaChoice::off),
      schedule(node_directory.schedule),
      is_plain(!schedule.withholds() && settings.sim == 0),
      allocators_(&heap->for_rank(number * node_directory.rank_count))
{
    if (schedule.withholds()) {
        knobs.eager_limit =
            std::min<std::uint64_t>(knobs.eager_limit, transport::delay::payload_bytes_max);
    }
    whole_bytes_max = knobs.eager_limit;
    if (knobs.waits_told_at != 0 && knobs.sim == 0) {
        const std::chrono::system_clock::time_point told_at(
            std::chrono::milliseconds(knobs.waits_told_at));
        const std::chrono::nanoseconds left = told_at - std::chrono::system_clock::now();
        waits_told_at = platform::Deadline::after_ns(left.count());
    }
}

void Node::count_thread(int change) noexcept
{
    const auto add = [&](Directory& each) {
        each.processes[own_process].own_threads.fetch_add(
            static_cast<std::uint32_t>(change),
            std::memory_order_relaxed);  // relaxed: see ProcessEntry
    };
    if (directory.instance_count == 0) {
        add(directory);
    }
    for (std::uint32_t i = 0; i < directory.instance_count; ++i) {
        add(*directory.instances[i]);
    }
}

std::uint32_t Node::first_rank() const
{
    std::uint32_t rank = 0;
    while (rank + 1 < directory.rank_count && directory.ranks[rank]->process != own_process) {
        ++rank;
    }
    return rank;
}

std::vector<unsigned> Node::cpus() const
{
    std::vector<unsigned> found;
    for (unsigned cpu = 0; cpu < Directory::cpu_words * 64; ++cpu) {
        // Relaxed: all processes had added theirs before the ranks could communicate.
        const std::uint64_t word = directory.cpus[cpu / 64].load(std::memory_order_relaxed);
        if ((word >> cpu % 64 & 1) != 0) {
            found.push_back(cpu);
        }
    }
    return found;
}

bool Node::is_gone(std::uint32_t rank)
{
    const std::uint32_t process = rank_state(rank).process;
    // Only where its process number is known to mean the same process here.
    return peer_memory.can_reach(process) &&
           !platform::process_exists(directory.processes[process].process_id);
}

namespace {

transport::shm::Reading reading_of(config::InsideWayChoice way)
{
    switch (way) {
        case config::InsideWayChoice::lane:
            return transport::shm::Reading::never;
        case config::InsideWayChoice::read:
            return transport::shm::Reading::always;
        case config::InsideWayChoice::automatic:
            break;
    }
    return transport::shm::Reading::measured;
}

}  // namespace

bool do_cores_ask_each_other(config::CoreCachesChoice choice)
{
    return choice == config::CoreCachesChoice::automatic
               ? platform::can_demote_lines()
               : choice == config::CoreCachesChoice::separate;
}

void Node::choose_buffers()
{
    // Where memory is reserved before it is used, long ones would take what others need.
    const bool is_reserved = heap->kind() == memory::HeapKind::shm;
    const std::uint64_t heap_bytes = heap->size_bytes();
    // Ranks that take turns on a core meet in its caches: there long ones cost their pages only.
    const bool are_short = is_reserved || is_oversubscribed;
    lane_ring_bytes = are_short ? transport::shm::lane_ring_bytes_min
                                : transport::shm::lane_ring_bytes(rank_count, heap_bytes);
    asks_other_cores = !is_oversubscribed && directory.cores_ask_each_other;
    // Through slots each core asks the other one for lines of a slot alone, and has what it sends
    // or has received at hand; unless it is more than its own cache holds.
    copied_by_system_min = asks_other_cores ? 2 * platform::own_cache_bytes() : UINT64_MAX;
    lane_showing =
        asks_other_cores ? transport::shm::Showing::announced : transport::shm::Showing::in_steps;
    lane_reading = reading_of(knobs.inside_way);
    // A ring has room for several, so that the receiver takes one out while the next is written.
    constexpr std::size_t frames_of_a_ring = 8;
    // Where cores ask each other, longer ones had better be read in two halves (docs/design/036).
    constexpr std::uint64_t asked_bytes_max = 128 * 1024;
    const std::uint64_t room = std::min<std::uint64_t>(
        asks_other_cores ? std::min(knobs.eager_limit_inside, asked_bytes_max)
                         : knobs.eager_limit_inside,
        lane_ring_bytes / frames_of_a_ring);
    const bool go_whole = is_plain && !is_oversubscribed && knobs.eager_limit != 0;
    whole_bytes_max = go_whole ? std::max(room, knobs.eager_limit) : knobs.eager_limit;
    for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
        RankState& state = rank_state(rank);
        if (state.process == own_process) {
            // Relaxed: see RankState::whole_bytes_max.
            state.whole_bytes_max.store(whole_bytes_max, std::memory_order_relaxed);
        }
    }
    staging_slots = are_short ? Staging::slots_min : Staging::slots_for(rank_count, heap_bytes);
}

RankState* create_rank_state(Node& node, std::uint32_t rank)
{
    memory::Allocator& allocator = node.allocator(rank);
    const std::uint32_t ranks = node.rank_count;
    const std::uint32_t distant = node.job_rank_count - ranks;
    const std::size_t blocks = (distant + distant_block_size - 1) / distant_block_size;
    void* place = allocator.allocate(sizeof(RankState));
    // All bytes zero is a slot that was never used: a rank of many has few peers.
    auto* peers = static_cast<PeerSlot*>(allocator.allocate_zeroed(ranks * sizeof(PeerSlot)));
    auto** slots = static_cast<PeerSlot**>(allocator.allocate((blocks + 1) * sizeof(PeerSlot*)));
    if (place == nullptr || peers == nullptr || slots == nullptr) {
        return nullptr;
    }
    auto* state = new (place) RankState;
    std::fill_n(slots, blocks + 1, nullptr);
    state->peers = peers;
    state->distant_slots = slots;
    state->rank = rank;
    state->job_rank = node.job_rank(rank);
    state->process = node.own_process;
    state->instance = node.instance;
    // From the start: peers may send before the rank is ready to be worked for.
    (void)state->ownership.enter();
    node.directory.ranks[rank] = state;
    return state;
}

}  // namespace headway::engine
