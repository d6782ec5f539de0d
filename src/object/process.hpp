// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "boot/boot.hpp"
#include "boot/placement.hpp"
#include "config/knobs.hpp"
#include "engine/node.hpp"
#include "object/any_time.hpp"
#include "object/checks.hpp"
#include "object/hosted_scheduler.hpp"
#include "object/rank.hpp"
#include "platform/device_memory.hpp"
#include "platform/hardware.hpp"
#include "platform/process.hpp"
#include "protocol/coll/choices.hpp"

namespace headway::object {

class NetworkDoor;

/// The ranks of a process: consecutive ones of the job.
struct RankBlock {
    int first = 0;
    int count = 1;
    int all = 0;  ///< of the job; 0: every process hosts as many as this one, in their order
    bool may_have_threads = true;  ///< ranks ask for MPI_THREAD_MULTIPLE, or nobody knows yet
};

/// Cores that each of a node's ranks has to itself, by what one process sees: it may run on `own`
/// cores, whoever started it on `of_parent`. Fewer than one: 0.
std::size_t cores_a_rank(std::size_t own, std::size_t of_parent, std::size_t node_ranks) noexcept;

/// A process of a job and the ranks that it hosts: one under `mpiexec --ranks process`, all of the
/// node for a team of threads, a block of them in a host program. Owns the connection to the
/// launcher and the mapped node heap.
///
/// Thread rule: opened and closed by one thread; const afterwards, except as said.
class Process {
  public:
    /// Meets the launcher and makes this process's ranks; communication is possible only after each
    /// rank's open(). Failure: one sentence with the cure; `boot` stays the caller's then, so that
    /// the launcher can be told.
    static base::Result<std::unique_ptr<Process>> open(std::unique_ptr<boot::Boot>& boot,
                                                       const RankBlock& ranks);
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    /// All ranks have ended their communication, and nothing of it is under way: leaves the job.
    base::Outcome leave_job();

    /// Joins the node: from now on every rank of the node can be reached. Blocks for the others.
    base::Outcome join_node();

    boot::Boot& boot() noexcept { return *boot_; }
    bool is_joined() const noexcept { return node_ != nullptr; }
    /// Requires is_joined().
    engine::Node& node() noexcept { return *node_; }
    /// Of an instance.
    engine::Node& node(std::uint32_t instance) noexcept
    {
        return instance == 0 ? *node_ : *more_nodes_[instance - 1];
    }
    std::uint32_t instance_count() const noexcept
    {
        return static_cast<std::uint32_t>(more_nodes_.size()) + 1;
    }
    HandleTable& handles() noexcept { return *process_handles(); }
    const config::Knobs& knobs() const noexcept { return knobs_; }

    /// Which algorithms serve collective calls. Requires is_joined().
    const protocol::coll::Choices& choices() const noexcept { return *choices_; }

    /// Null: nobody compares collective calls.
    CallOrder* call_order() const noexcept { return checks_.calls; }
    /// Of the blocks of collective calls. Null: the same.
    NoteBoard* blocks() const noexcept { return checks_.blocks; }
    /// Null: nobody compares the types of messages.
    NoteBoard* sent_types() const noexcept { return checks_.messages; }

    /// Which processes are where; ranks are numbered by their places.
    const boot::Placement& placement() const noexcept { return placement_; }
    /// Number of the node that a rank of the job is on.
    std::uint32_t node_of(std::uint32_t job_rank) const noexcept
    {
        return static_cast<std::uint32_t>(
            placement_.node_count == 1
                ? 0
                : placement_.node_of(static_cast<int>(job_rank) / block_.count));
    }
    int first_rank() const noexcept { return block_.first; }
    /// Ranks of this node.
    int node_rank_count() const noexcept
    {
        return placement_.node_count == 1 ? block_.all : placement_.node_size * block_.count;
    }
    int rank_count() const noexcept { return block_.all; }
    int ranks_here() const noexcept { return block_.count; }
    Rank& rank(int index) noexcept { return *ranks_[static_cast<std::size_t>(index)]; }

    /// Its ranks wait by these functions, and share the cores that run them. Requires is_joined();
    /// before other threads ask.
    void schedule_by(const headway_scheduling& scheduling);
    /// Null: the system schedules.
    HostedScheduler* scheduler() noexcept { return scheduler_.get(); }
    /// Where the calling rank may run.
    platform::HardwarePlace hardware_of_rank() const
    {
        return platform::find_hardware(scheduler_ != nullptr ? scheduler_->cpus_of_rank()
                                                             : platform::allowed_cpus());
    }

    /// What its ranks begin with: looking for drivers takes a search in many folders. Any rank.
    platform::DeviceMemory& device_memory();

    /// Says once which settings of the environment nobody knows, in one process of the job.
    void warn_about_settings();

    /// A rank calls MPI_Init. False: another one of the node has ended without, so it would wait
    /// for ever.
    bool note_start() noexcept;
    /// A rank ends without having called MPI_Init. True: another one of the node has called it.
    bool note_absence() noexcept;
    /// A rank has ended its communication. True: it was the last one, and the process leaves the
    /// job; once in a run of the program.
    bool note_finalized() noexcept;
    /// A rank whose end was noted begins to communicate again.
    void note_return() noexcept;
    /// Whether none of its ranks communicates any more.
    bool has_ended() const noexcept;
    /// Whether a rank of this process has called MPI_Init.
    bool has_started() const noexcept;

    /// Ends the whole job. Any thread; does not return.
    [[noreturn]] void abort_job(int code, std::string_view sentence) noexcept;

  private:
    /// Start-up needs every process; one that has died is noticed by the launcher, so this is only
    /// for launchers that do not look.
    static constexpr std::int64_t patience_ns = 120'000'000'000;

    Process(std::unique_ptr<boot::Boot> boot, const RankBlock& ranks, const config::Knobs& knobs);

    base::Outcome prepare();
    base::Outcome check_node();
    base::Outcome open_network();
    base::Outcome describe_node(engine::Directory& directory, memory::NodeHeap& heap);
    std::string heap_key() const;
    base::Outcome describe_hosts(memory::NodeHeap& heap) const;
    base::Outcome describe_choices(memory::NodeHeap& heap);
    base::Outcome compare_choices();
    base::Outcome create_heap();
    base::Result<std::unique_ptr<memory::NodeHeap>> make_heap();
    /// How the other processes get at the heap: a word of the launcher's dictionary.
    base::Result<std::string> hand_out(const memory::NodeHeap& heap);
    base::Outcome attach_heap();
    base::Result<std::unique_ptr<memory::NodeHeap>> take_heap(const std::string& way,
                                                              std::uintptr_t address);
    base::Outcome make_node(std::unique_ptr<memory::NodeHeap> heap);
    std::unique_ptr<engine::Node> make_instance(std::shared_ptr<memory::NodeHeap> heap,
                                                engine::Directory& directory, std::uint32_t number);
    std::uint32_t choose_instances() const;
    base::Outcome describe_instances(engine::Directory& directory, memory::NodeHeap& heap) const;
    base::Outcome announce(engine::Node& node);
    void meet_peers(engine::Node& node);
    base::Outcome meet_all();

    std::unique_ptr<boot::Boot> boot_;
    RankBlock block_;
    config::Knobs knobs_;
    boot::Placement placement_;
    std::vector<unsigned> dedicated_cpus_;  ///< of HEADWAY_PROGRESS=dedicated; else empty
    std::unique_ptr<NetworkDoor> network_;  ///< null in a job of one node
    std::unique_ptr<engine::Node> node_;
    std::vector<std::unique_ptr<engine::Node>> more_nodes_;  ///< of the instances behind the first
    const protocol::coll::Choices* choices_ = nullptr;
    Checks checks_;
    HostDirectory* hosts_ = nullptr;  ///< written while the process initialises
    std::unique_ptr<HostedScheduler> scheduler_;
    std::once_flag has_looked_for_devices_;
    std::unique_ptr<platform::DeviceMemory> device_memory_;  ///< written once, by the first to ask
    std::atomic<bool> has_started_{false};                   ///< set by ranks that call MPI_Init
    std::atomic<bool> has_warned_{false};                    ///< set by the first rank to ask
    std::atomic<int> finalized_count_{0};  ///< written by ranks that end, or begin again
    bool has_left_ = false;                ///< touched by ranks that end, under a mutex of theirs
    std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace headway::object
