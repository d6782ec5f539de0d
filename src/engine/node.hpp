// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "config/knobs.hpp"
#include "data/element.hpp"
#include "engine/agent.hpp"
#include "engine/rank_state.hpp"
#include "engine/watch.hpp"
#include "memory/node_heap.hpp"
#include "observe/tracer.hpp"
#include "sync/task_pool.hpp"
#include "transport/network.hpp"
#include "transport/peer_memory.hpp"

namespace headway::platform {
class HostLinks;
}

namespace headway::engine {

class Driver;

/// Takes one frame in. The frame is valid during the call. Registered by a protocol.
using FrameHandler = void (*)(Driver&, const transport::Frame&, std::uint32_t sender);

/// Moves what a protocol has under way for the driver's rank; the number of events.
using Poller = int (*)(Driver&);

inline constexpr std::uint64_t no_message = ~std::uint64_t{0};

/// What the engine asks of the protocol of messages.
struct MessageOperations {
    void (*start_send)(Driver&, Op*) = nullptr;
    void (*start_receive)(Driver&, Op*) = nullptr;
    /// See protocol::receive_at_once.
    bool (*receive_at_once)(Driver&, QuickReceive&, std::uint32_t sender) = nullptr;
    /// Turns an eager send whose frame still waits into an offer: its receiver takes no more eager
    /// messages now.
    void (*make_offer)(Driver&, Op*) = nullptr;
    /// What comes for the posted receives of a run is dropped from now on; their number.
    std::uint32_t (*withdraw_receives)(Driver&, std::uint32_t context,
                                       const GraphInstance* run) = nullptr;
    /// Posts the frame of a control op whose word is complete: what it waited for has happened.
    void (*post_answer)(Driver&, Op*) = nullptr;
    /// Bytes of the message that a frame carries or offers; no_message for other frames. Asked in
    /// observed jobs only.
    std::uint64_t (*bytes_named)(transport::FrameKind, const void* payload,
                                 std::size_t payload_bytes) = nullptr;
};

/// Runs a user-defined reduction of the driver's rank: inout = in (op) inout. False: it cannot run.
using UserReduction = bool (*)(Driver&, std::uint64_t user_op, const void* in, void* inout,
                               std::uint64_t count);

/// Whether the cores of this machine ask each other for the lines they have written, rather than
/// share a cache (the knob core_caches, and docs/design/011).
bool do_cores_ask_each_other(config::CoreCachesChoice choice);

/// What a process knows of its node: the mapped heap, the ways into other processes' memory, and
/// the protocols of its own copy of the library. Nothing here lies in the heap; several ranks of
/// the process share it.
///
/// Thread rule: written while the process initialises, read-only afterwards.
class Node {
  public:
    /// `instance`: whose directory it is, of those that share the heap.
    Node(std::shared_ptr<memory::NodeHeap> node_heap, Directory& node_directory,
         std::uint32_t process, const config::Knobs& settings, std::uint32_t instance = 0);

    memory::Allocator& allocator(std::uint32_t rank) { return allocators_[rank]; }
    RankState& rank_state(std::uint32_t rank) { return *directory.ranks[rank]; }
    /// Wakes a rank that has parked, after something was published that it may wait for.
    void wake_parked(RankState& rank) noexcept
    {
        if (parks_with_barrier) {
            rank.ownership.notify_parked_without_fence();
        } else {
            rank.ownership.notify_parked();
        }
    }
    /// Peers are ranks counted from this node's first one, around the job: those of this node have
    /// the numbers of its directory. The others are distant: nothing of theirs can be read here.
    bool is_distant(std::uint32_t peer) const noexcept { return peer >= rank_count; }
    std::uint32_t job_rank(std::uint32_t peer) const noexcept
    {
        const std::uint32_t before_end = job_rank_count - origin;
        return peer < before_end ? peer + origin : peer - before_end;
    }
    std::uint32_t peer_of(std::uint32_t job_rank) const noexcept
    {
        return job_rank >= origin ? job_rank - origin : job_rank + (job_rank_count - origin);
    }
    ProcessEntry& own_entry() { return directory.processes[own_process]; }
    /// One more thread of the library, or one less, as all instances see it.
    void count_thread(int change) noexcept;

    /// The lowest rank of this process.
    std::uint32_t first_rank() const;
    /// The cores that ranks of the node may use.
    std::vector<unsigned> cpus() const;
    /// Whether the process of a rank has ended, as far as can be seen from here.
    bool is_gone(std::uint32_t rank);
    /// Chooses what lanes and staged messages of this process take of the heap, and lets senders
    /// know what may come whole. Requires: is_oversubscribed has been found out, and no lane is
    /// open.
    void choose_buffers();

    Agent& agent() noexcept { return agent_; }
    Watch& watch() noexcept { return watch_; }

    const std::shared_ptr<memory::NodeHeap> heap;  ///< of all instances
    Directory& directory;
    std::uint32_t own_process;
    const std::uint32_t instance;
    const std::uint32_t rank_count;      ///< of this node
    const std::uint32_t job_rank_count;  ///< of all nodes
    const std::uint32_t origin;          ///< number in the job of this node's first rank
    config::Knobs knobs;
    transport::PeerMemory peer_memory;
    /// The way of this process's ranks to other nodes; null in a job of one node. A rank's port of
    /// it belongs to who holds the rank's ownership word.
    transport::Network* network = nullptr;
    /// Makes a rank of another node, by its number in the job, known to the network. It ends the
    /// job where it cannot. Any thread.
    std::function<void(std::uint32_t job_rank)> introduce;
    /// By which this process notices that other hosts have gone; null where nothing can tell, or
    /// nobody asks.
    platform::HostLinks* host_links = nullptr;
    const transport::delay::Schedule schedule;  ///< of the directory
    /// Frames are seen at once, and this is no simulated team: what nearly every job is.
    const bool is_plain;
    /// When threads that wait say so (HEADWAY_WAITS_TOLD_AT), on CLOCK_MONOTONIC; else never.
    platform::Deadline waits_told_at = platform::Deadline::never();
    std::size_t lane_ring_bytes = transport::shm::lane_ring_bytes_min;  ///< of each lane made here
    transport::shm::Showing lane_showing = transport::shm::Showing::in_steps;  ///< likewise
    transport::shm::Reading lane_reading = transport::shm::Reading::measured;  ///< likewise
    /// Most bytes of a message that goes whole to a receiver that is inside MPI, and comes so from
    /// one: the knob eager_limit, or more where choose_buffers() finds room for it.
    std::uint64_t whole_bytes_max = 0;
    std::uint32_t staging_slots = Staging::slots_min;  ///< of each rank of this process
    bool is_oversubscribed = false;  ///< more ranks on this node than cores they may use
    /// Each rank has a core, and cores ask each other for what they wrote (the knob core_caches).
    bool asks_other_cores = false;
    /// Of long messages that are under way together, with so many bytes, both ranks copy by the
    /// system (docs/design/013); of fewer the sender stages pieces.
    std::uint64_t copied_by_system_min = UINT64_MAX;
    bool has_idle_cores = true;  ///< fewer
    /// Who parks passes a barrier for all, so that nobody who posts to a rank, or lays something
    /// down for it, needs a fence of his own: where a rank seldom parks. The same in all processes.
    bool parks_with_barrier = false;
    /// Cpus of threads that do nothing but work for ranks (HEADWAY_PROGRESS=dedicated), none of
    /// which is a rank's; the same in all processes of the node.
    std::vector<unsigned> dedicated_cpus;
    /// Ranks of this process share workers: one that waits lets others run before it looks again.
    bool shares_workers = false;

    /// Whether ranks say where they run (Presence): processes and threads that share cores.
    bool shows_presence() const noexcept
    {
        return is_oversubscribed && !shares_workers && is_plain;
    }

    /// What threads of this process that wait may take part in.
    sync::TaskPool tasks;

    std::array<FrameHandler, static_cast<std::size_t>(transport::FrameKind::count)> handlers{};
    /// Null unless the job is observed.
    std::unique_ptr<observe::Tracer> tracer;
    Poller poller = nullptr;
    MessageOperations messages;
    UserReduction user_reduction = nullptr;

  private:
    memory::Allocator* const allocators_;  ///< of this instance, by rank

    // They end before what they work with, the agent first: it sets the watch's timer.
    Watch watch_{*this};
    Agent agent_{*this};
};

/// Makes the state of one rank of this process in the heap and announces it, its ownership word
/// owned. Null: the heap is exhausted.
RankState* create_rank_state(Node& node, std::uint32_t rank);

}  // namespace headway::engine
