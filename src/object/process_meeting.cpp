// SPDX-License-Identifier: Apache-2.0
// How a process and the others of its node meet: what each writes before all are ready, and what it
// does then. All of it for each instance of their ranks (docs/design/034).
#include <algorithm>
#include <bit>
#include <iterator>
#include <string>
#include <utility>

#include "object/collective.hpp"
#include "object/process.hpp"
#include "platform/futex.hpp"
#include "platform/peer_copy.hpp"
#include "platform/process_barrier.hpp"
#include "protocol/point_to_point.hpp"

namespace headway::object {

namespace {

void add_own_cpus(engine::Directory& directory)
{
    for (const unsigned cpu : platform::allowed_cpus()) {
        if (cpu / 64 < engine::Directory::cpu_words) {
            // Relaxed: the readers come after the announcement (1).
            directory.cpus[cpu / 64].fetch_or(std::uint64_t{1} << cpu % 64,
                                              std::memory_order_relaxed);
        }
    }
}

unsigned count_cpus(const engine::Directory& directory)
{
    int cpus = 0;
    for (const auto& word : directory.cpus) {
        cpus += std::popcount(word.load(std::memory_order_relaxed));
    }
    return static_cast<unsigned>(cpus);
}

}  // namespace

std::size_t cores_a_rank(std::size_t own, std::size_t of_parent, std::size_t node_ranks) noexcept
{
    return std::min(own, std::max(own, of_parent) / node_ranks);
}

/// How many instances each rank has, as far as settings say. Each takes some memory and, asleep, a
/// thread; what has to see all messages of a rank sees one.
std::uint32_t Process::choose_instances() const
{
    const bool is_usual = placement_.node_count == 1 && knobs_.sim == 0 && knobs_.delay_us == 0 &&
                          knobs_.delay_jitter_us == 0 && knobs_.trace.empty() &&
                          knobs_.stats == 0 && knobs_.progress == config::ProgressChoice::agent &&
                          knobs_.check == config::CheckChoice::none &&
                          knobs_.thread_waits == config::ThreadWaitsChoice::sync;
    if (!is_usual || !block_.may_have_threads) {
        return 1;
    }
    const std::uint64_t wanted =
        knobs_.instances != 0
            ? knobs_.instances
            : cores_a_rank(platform::allowed_cpus().size(), platform::count_cpus_of_parent(),
                           static_cast<std::size_t>(node_rank_count()));
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, 1, engine::instances_max));
}

/// The directories of all instances, which say the same of the job.
base::Outcome Process::describe_instances(engine::Directory& directory,
                                          memory::NodeHeap& heap) const
{
    directory.instances[0] = &directory;
    directory.instance_count = choose_instances();
    for (std::uint32_t number = 1; number < directory.instance_count; ++number) {
        auto* const made = heap.for_rank(0).make<engine::Directory>();
        if (made == nullptr) {
            return base::Failure{
                "the node heap has no room for HEADWAY_INSTANCES; raise HEADWAY_HEAP_SIZE, or the "
                "size of /dev/shm"};
        }
        directory.instances[number] = made;
        made->process_count = directory.process_count;
        made->rank_count = directory.rank_count;
        made->job_rank_count = directory.job_rank_count;
        made->lets_meet = directory.lets_meet;
        made->lets_read = directory.lets_read;
        made->cores_ask_each_other = directory.cores_ask_each_other;
    }
    for (std::uint32_t number = 1; number < directory.instance_count; ++number) {
        engine::Directory& other = *directory.instances[number];
        other.instance_count = directory.instance_count;
        std::ranges::copy(directory.instances, std::begin(other.instances));
    }
    return base::Done{};
}

std::unique_ptr<engine::Node> Process::make_instance(std::shared_ptr<memory::NodeHeap> heap,
                                                     engine::Directory& directory,
                                                     std::uint32_t number)
{
    auto node = std::make_unique<engine::Node>(
        std::move(heap), directory,
        static_cast<std::uint32_t>(placement_.place - placement_.node_first), knobs_, number);
    protocol::register_protocols(*node);
    node->user_reduction = &run_user_reduction;
    return node;
}

/// Writes what the other processes of the node have to know of this one.
base::Outcome Process::announce(engine::Node& node)
{
    for (int i = 0; i < block_.count; ++i) {
        const auto number = static_cast<std::uint32_t>(first_rank() + i);
        if (engine::create_rank_state(node, node.peer_of(number)) == nullptr) {
            return base::Failure{
                "the node heap has no room for the state of all ranks; raise "
                "HEADWAY_HEAP_SIZE, or the size of /dev/shm"};
        }
    }
    const auto identity = node.peer_memory.own_identity();
    engine::ProcessEntry& entry = node.own_entry();
    entry.process_id = identity.process_id;
    entry.token_address = identity.token_address;
    entry.token = identity.token;
    add_own_cpus(node.directory);
    return base::Done{};
}

/// Once all processes have done so.
void Process::meet_peers(engine::Node& node)
{
    const engine::Directory& directory = node.directory;
    for (std::uint32_t process = 0; process < directory.process_count; ++process) {
        const engine::ProcessEntry& other = directory.processes[process];
        node.peer_memory.introduce(process, {other.process_id, other.token_address, other.token});
    }
    // A simulation is the same on every machine: it has one core.
    const std::uint32_t cpus = knobs_.sim != 0 ? 1 : count_cpus(directory);
    node.is_oversubscribed = knobs_.sim != 0 || directory.rank_count > cpus;
    node.has_idle_cores = directory.rank_count < cpus;
    // Relaxed: counted before all were ready.
    node.parks_with_barrier =
        !node.is_oversubscribed && node.is_plain &&
        node_->directory.without_barriers.load(std::memory_order_relaxed) == 0;
    node.choose_buffers();
}

base::Outcome Process::meet_all()
{
    engine::Directory& directory = node_->directory;
    for (std::uint32_t number = 0; number < instance_count(); ++number) {
        if (auto announced = announce(node(number)); !announced) {
            return announced;
        }
    }
    platform::allow_peer_copies();
    if (!platform::join_process_barriers()) {
        // Relaxed: published by (1).
        directory.without_barriers.fetch_add(1, std::memory_order_relaxed);
    }
    // (1) release, pairs with (2): entry, ranks and cpus are visible to who counts all as ready.
    const std::uint32_t ready = directory.ready.fetch_add(1, std::memory_order_acq_rel) + 1;
    if (ready == directory.process_count) {
        platform::futex_wake(directory.ready);
    }
    const auto deadline = platform::Deadline::after_ns(patience_ns);
    // (2) acquire, pairs with (1).
    for (std::uint32_t seen = ready; seen < directory.process_count;
         seen = directory.ready.load(std::memory_order_acquire)) {  // as (2)
        if (platform::futex_wait(directory.ready, seen, deadline) ==
            platform::FutexWait::timed_out) {
            return base::Failure{"only " + std::to_string(seen) + " of " +
                                 std::to_string(directory.process_count) +
                                 " processes came up within two minutes; did one of them die?"};
        }
    }
    node_->heap->unlink_name();
    for (std::uint32_t number = 0; number < instance_count(); ++number) {
        meet_peers(node(number));
    }
    return base::Done{};
}

}  // namespace headway::object
