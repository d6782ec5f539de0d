// SPDX-License-Identifier: Apache-2.0
//
// What a node's heap holds for each rank. Everything here is plain data at one address in all
// processes: no code pointers, nothing private to a process.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/copy_job.hpp"
#include "engine/op.hpp"
#include "engine/open_ops.hpp"
#include "engine/own_lane.hpp"
#include "engine/presence.hpp"
#include "engine/rank_set.hpp"
#include "engine/send_habit.hpp"
#include "engine/staging.hpp"
#include "observe/ring.hpp"
#include "sync/ownership_word.hpp"
#include "transport/delay/schedule.hpp"
#include "transport/self/loopback.hpp"
#include "transport/shm/endpoint.hpp"

namespace headway::engine {

/// One peer as a rank sees it; all bytes zero: never used. Belongs to the rank's executor.
struct PeerSlot {
    transport::shm::Lane* lane = nullptr;     ///< outbound; made with the first frame
    OpList waiting;                           ///< frames that found no room, in order
    transport::shm::Lane* inbound = nullptr;  ///< the peer's own; noted when first asked for
    PeerSlot* next_waiting = nullptr;  ///< in RankState::peers_waiting while `waiting` is not empty
    std::uint32_t messages_numbered = 0;  ///< in an observed job: sent to the peer, see observation
    std::uint32_t last_arrived = 0;       ///< likewise: the highest number of those from the peer
    transport::delay::LaneOrder order;    ///< of the lane, where frames are withheld
};

/// Slots for peers of other nodes are made in blocks of so many.
inline constexpr std::uint32_t distant_block_size = 32;

/// Counts of one rank, for tests and reports. Written by the executor, read by anyone, relaxed.
struct RankCounters {
    std::atomic<std::uint64_t> frames_posted{0};
    std::atomic<std::uint64_t> frames_received{0};
    std::atomic<std::uint64_t> retries{0};
    /// Received by one copy from another process. Written by whoever copies.
    std::atomic<std::uint64_t> bytes_copied_across{0};
    /// Received by two copies, through the heap. Written by the executor.
    std::atomic<std::uint64_t> bytes_piped{0};
    /// Combined as they came, instead of stored (engine/combination). Written by whoever does it.
    std::atomic<std::uint64_t> bytes_combined{0};
    std::atomic<std::uint64_t> parks{0};
    std::atomic<std::uint64_t> unexpected_bytes{0};  ///< held for eager messages without a receive
    std::atomic<std::uint64_t> unexpected_bytes_max{0};
    std::atomic<std::uint64_t> offers_for_room{0};  ///< short messages offered to full receivers
    /// How often somebody else took the rank's word and worked for it. Written by who holds it.
    std::atomic<std::uint64_t> times_helped{0};
    /// Bells that found the rank away and nobody with its word. Written by who rings.
    std::atomic<std::uint64_t> calls_for_help{0};
    std::atomic<std::uint64_t> sweeps{0};  ///< over all that can move for the rank

    // Queues of matching, of all communicators of the rank together.
    std::atomic<std::uint64_t> posted_queue{0};  ///< receives that wait now
    std::atomic<std::uint64_t> posted_queue_max{0};
    std::atomic<std::uint64_t> unexpected_queue{0};  ///< messages that wait now
    std::atomic<std::uint64_t> unexpected_queue_max{0};
    /// Spent in the match tables while `times_matching` was not 0.
    std::atomic<std::uint64_t> match_work_ns{0};
    /// 1 while a tool wants to know that time. Written by tools, read by the executor: two looks at
    /// the clock cost as much as the work between them, so there are none unasked.
    std::atomic<std::uint32_t> times_matching{0};

    // Counted in an observed job only (HEADWAY_TRACE, HEADWAY_STATS), by any thread that works for
    // the rank.
    std::atomic<std::uint64_t> calls{0};     ///< of the application, not those inside callbacks
    std::atomic<std::uint64_t> call_ns{0};   ///< spent in them
    std::atomic<std::uint64_t> sleep_ns{0};  ///< of that, asleep
    /// Others held the rank's word or moved its bytes, while it was away or had just come back.
    std::atomic<std::uint64_t> helped_ns{0};
    std::atomic<std::uint64_t> messages_sent{0};
    std::atomic<std::uint64_t> bytes_sent{0};
    std::atomic<std::uint64_t> messages_received{0};
    std::atomic<std::uint64_t> bytes_received{0};
    std::atomic<std::uint64_t> messages_kept{0};          ///< arrived before their receive
    std::atomic<std::uint64_t> messages_matched_late{0};  ///< of those, taken by a receive
    std::atomic<std::uint64_t> messages_overtaken{0};  ///< came after a later one of their sender
    std::atomic<std::uint64_t> threads_unobserved{0};  ///< threads for which there was no ring
};

/// What one function of the interface took, in a job with a profile (HEADWAY_STATS=2).
struct CallTally {
    std::atomic<std::uint64_t> calls{0};
    std::atomic<std::uint64_t> call_ns{0};
};

/// By the index of the function. Written by threads of the rank, read by who prints the profile.
struct CallTable {
    static constexpr std::size_t functions_max = 1024;

    std::int64_t began_ns = 0;  ///< when the rank began to communicate
    CallTally tallies[functions_max];
};

/// What the deadlock report knows of the threads of a rank that has several (engine/standstill).
struct ThreadsOfRank {
    // 1 where they may all call at once: while one sleeps, others may compute. Written once, before
    // the second thread can call; read by the rank that sees all asleep, relaxed.
    std::atomic<std::uint32_t> are_several{0};
    // Asleep beside the one that sleeps on the ownership word, and not woken. Written by them and
    // by who wakes them, see sync::ThreadSlot.
    std::atomic<std::int32_t> asleep{0};
    // How often one of them has lain down. Written with the rank's lock, read likewise.
    std::atomic<std::uint64_t> sleeps{0};
};

struct RankState {
    // The lines that peers write.
    alignas(64) sync::OwnershipWord ownership;
    sync::MpscList fired;  ///< graph nodes whose op completed; taken by the executor
    // 1 while the rank holds as many eager messages without a receive as it may: senders offer
    // theirs instead. Written by the executor, read by senders with the ownership word, relaxed: a
    // sender that sees it late adds at most what fits its lane.
    std::atomic<std::uint32_t> is_full{0};
    OpenOps open_ops;
    // Node::whole_bytes_max of the rank's process, for which its receives with gaps have room.
    // Written by that process before the rank runs, read by senders; relaxed, as 0 is right, too.
    std::atomic<std::uint64_t> whole_bytes_max{0};
    // 1 while the rank waits for others to move its messages (passive_wait.hpp). Written by the
    // owner, read by the threads of dedicated cpus; relaxed, as they look again and again.
    std::atomic<std::uint32_t> is_passive{0};
    Presence presence;  ///< of a rank that shares cores; read by who waits for its messages
    sync::MpscList invitations;  ///< copy jobs whose bytes this rank sends; taken by the executor
    alignas(64) transport::shm::Inbound inbound;
    // What peers look at to guess what this rank does for a long message: on a line of their own,
    // as the rank writes it in each wait. Relaxed, hints.
    //
    // Threads of this rank in the one wait. Written by the owner, read by receivers of its offers.
    alignas(64) std::atomic<std::uint32_t> waiting_threads{0};
    // 1 while a thread of the rank looks for a long message without an op. Written by it.
    std::atomic<std::uint32_t> is_looking{0};
    // 1 while a thread of the rank copies more than one piece by one call of the system: it neither
    // stages pieces nor takes them out meanwhile. Written by that thread, read by the other rank of
    // a message, which copies by the system then, too, instead of waiting.
    std::atomic<std::uint32_t> is_copying{0};
    // When the rank last did one of the first two, or left the library with operations open, by
    // platform::ticks(). Written by the owner, read by senders to guess whether it is back at once.
    std::atomic<std::uint64_t> left_at{0};

    OwnLane own_lane;  ///< frames to itself of a rank with several threads; written by these

    // The executor's own.
    alignas(64) transport::self::Loopback loopback;
    PeerSlot* peers = nullptr;           ///< by node rank
    PeerSlot** distant_slots = nullptr;  ///< of other peers, in blocks that are made when used
    PeerSlot* peers_waiting = nullptr;   ///< those with frames that wait for room
    bool lacks_memory = false;           ///< the last sweep found no memory for a lane to a peer
    /// The last sweep ended before the lanes were empty or all frames out, and no bell may come for
    /// what is left: who leaves the word free sweeps once more, and leaves the rest to others.
    bool has_left_frames = false;
    SendHabit send_habit;  ///< of its own threads, which need not have the word
    /// When the first frame that the last sweep saw withheld may be seen (transport/delay), 0 if
    /// there was none. Nobody rings then: who lets go of the rank sees to it that somebody looks.
    std::int64_t due_ns = 0;
    GraphInstance* stalled_graphs = nullptr;  ///< runs that lacked memory to start a node
    GraphInstance* owner_graphs = nullptr;    ///< runs whose next node is the owner's to run
    CopiesOfReceiver copies;                  ///< into this rank, with pieces to be taken
    CopiesOfSender invited;                   ///< out of this rank, which it was asked to join
    CopiesOfSender invited_to_stage;          ///< likewise, if no piece can go another way
    CopiesOfSender offered;              ///< likewise, not matched yet, with a beginning to stage
    std::uint32_t early_pieces = 0;      ///< in slots of this rank, of messages not matched yet
    StagingSlot* kept_pieces = nullptr;  ///< staged pieces not taken out when they came
    /// Looks at copies that were left to their senders to stage, since a piece came.
    std::uint32_t looks_without_piece = 0;
    bool has_new_pieces = false;  ///< since the last look
    Staging* staging = nullptr;   ///< made with the first piece that goes through it
    Op* spare_ops = nullptr;      ///< ops to be used again, linked by `next`
    std::uint32_t spare_op_count = 0;
    void* protocol = nullptr;    ///< protocol::RankPart, in the heap too
    std::uint32_t rank = 0;      ///< node rank
    std::uint32_t job_rank = 0;  ///< number in the job, for sentences
    std::uint32_t process = 0;   ///< index of its process on the node
    std::uint32_t instance = 0;  ///< of the rank's, see Directory::instances

    ThreadsOfRank threads;
    RankCounters counters;
    CallTable* calls = nullptr;  ///< null unless there is a profile; written when the rank starts

    // Rings of the rank's threads, the newest first. Written by the executor, read by whoever
    // writes the trace.
    std::atomic<observe::Ring*> rings{nullptr};
    std::uint32_t rings_made = 0;

    /// Whether an eager message may be sent to this rank. Thread rule: any sender.
    bool takes_eager() const noexcept { return is_full.load(std::memory_order_relaxed) == 0; }
};

/// How processes find each other, at the start of the node heap.
struct ProcessEntry {
    // Written by the process before `ready`, read by the others after.
    std::int32_t process_id = 0;
    const std::uint64_t* token_address = nullptr;
    std::uint64_t token = 0;

    // What its agent sleeps on: an ownership word of which the agent is the owner.
    sync::OwnershipWord agent_bed;
    // Threads of the library in this process, of any instance. Written by who starts and ends them,
    // relaxed.
    std::atomic<std::uint32_t> own_threads{0};
    // Counts, relaxed. Written by the agent, the first by its second thread too; read by anyone.
    std::atomic<std::uint64_t> agent_wakes{0};
    std::atomic<std::uint64_t> agent_turns{0};  ///< times it took a rank's word
};

/// A rank has so many instances at most: a bound for the memory that they take.
inline constexpr std::uint32_t instances_max = 8;

struct Directory {
    std::uint32_t process_count = 0;   ///< written by the creator before the heap is ready
    std::uint32_t rank_count = 0;      ///< likewise
    std::uint32_t job_rank_count = 0;  ///< likewise; ranks of all nodes
    std::uint32_t origin = 0;          ///< likewise; number in the job of the node's first rank
    // Processes that take part in no barriers of others. Counted up by each before it is ready.
    std::atomic<std::uint32_t> without_barriers{0};
    // Processes whose entry and ranks are written; a futex for those who wait for all.
    std::atomic<std::uint32_t> ready{0};
    // Ranks that nobody in MPI works for, although their bell was rung: for idle ranks and agents.
    RankSet wanted;
    // Likewise, for agents of the rank's own process only.
    RankSet wanted_at_home;
    // Ranks asleep in the one wait, whom one may wake to work for others. Each changes it twice a
    // sleep: of all in one line, cores would do little else than hand that to each other.
    SpreadRankSet idle;
    // Ranks that have ended their communication: nobody waits for them in vain unnoticed.
    RankSet ended;
    static constexpr std::size_t cpu_words = 16;
    // Cores that some process of the node may use, a bit each. Written by every process before it
    // counts as ready, read after all do.
    std::atomic<std::uint64_t> cpus[cpu_words] = {};
    ProcessEntry processes[ranks_per_node_max] = {};
    RankState* ranks[ranks_per_node_max] = {};
    // Written by the creator before the heap is ready, so that all ranks agree.
    bool is_observed = false;  ///< events are counted
    bool is_traced = false;    ///< and recorded
    bool lets_meet = false;    ///< ranks may meet instead of sending messages (engine/meeting)
    bool lets_read = false;    ///< and read each other's memory in collectives (peer_reading)
    bool cores_ask_each_other = false;  ///< for lines they have written (platform/line_transfer)
    // Instances of each rank: whole engines, which know nothing of each other; the directories of
    // all, this one among them. Written by the creator, likewise. A count of 0: it is alone.
    std::uint32_t instance_count = 0;
    Directory* instances[instances_max] = {};
    // When frames between ranks may be seen. Written by the creator before the heap is ready.
    transport::delay::Schedule schedule;
    // 1 once a rank has seen that all wait and nothing moves: each says then what it waits for, and
    // the last one ends the job. A futex for the others.
    std::atomic<std::uint32_t> is_standing_still{0};
    std::atomic<std::uint32_t> threads_told{0};
    // How many are to do so. Written by that rank before.
    std::uint32_t threads_standing = 0;
    // Who writes the trace has set it: one writes, whatever happens.
    std::atomic<bool> is_trace_taken{false};
};

}  // namespace headway::engine
