// SPDX-License-Identifier: Apache-2.0
#include "object/process.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "boot/places.hpp"
#include "object/any_time.hpp"
#include "object/checks.hpp"
#include "object/collective.hpp"
#include "object/dedicated.hpp"
#include "object/distant_note.hpp"
#include "object/network.hpp"
#include "object/observation.hpp"
#include "object/version.hpp"
#include "platform/fatal.hpp"
#include "protocol/coll/choice_words.hpp"
#include "protocol/point_to_point.hpp"

namespace headway::object {

namespace {

/// Stands in the place of a path: the launcher has the heap's descriptor.
constexpr std::string_view by_socket = "socket";
constexpr unsigned directory_root = 0;
constexpr unsigned choices_root = 2;
constexpr unsigned hosts_root = 3;

// In the launcher's dictionary, where there are several nodes.
constexpr std::string_view choices_key = "headway-choices-0";
/// Of the ranks of a node, the low half of `HostDirectory::starts` counts those that have started,
/// the high half those that never will.
constexpr std::uint64_t one_absence = std::uint64_t{1} << 32;

}  // namespace

Process::Process(std::unique_ptr<boot::Boot> boot, const RankBlock& ranks,
                 const config::Knobs& knobs)
    : boot_(std::move(boot)), block_(ranks), knobs_(knobs)
{
}

Process::~Process()
{
    ranks_.clear();
    more_nodes_.clear();
    node_.reset();
}

base::Result<std::unique_ptr<Process>> Process::open(std::unique_ptr<boot::Boot>& boot,
                                                     const RankBlock& ranks)
{
    const platform::Environment environment = platform::Environment::of_process();
    const auto knobs = config::load_knobs(environment);
    if (!knobs) {
        return base::Failure{knobs.sentence()};
    }
    config::Knobs settings = knobs.value();
    apply_tool_settings(settings);
    std::unique_ptr<Process> process(new Process(std::move(boot), ranks, settings));
    if (auto prepared = process->prepare(); !prepared) {
        boot = std::move(process->boot_);
        return base::Failure{prepared.sentence()};
    }
    return process;
}

base::Outcome Process::prepare()
{
    auto placement = boot::find_placement(*boot_);
    if (!placement) {
        return base::Failure{placement.sentence()};
    }
    placement_ = placement.value();
    if (auto reserved = reserve_cpus(knobs_, dedicated_cpus_); !reserved) {
        return reserved;
    }
    if (block_.all == 0) {
        block_.first = placement_.place * block_.count;
        block_.all = boot_->process_count() * block_.count;
    }
    if (process_handles() == nullptr) {
        return base::Failure{
            "cannot reserve 1 GiB of addresses for handles; raise the limit on "
            "virtual memory (ulimit -v)"};
    }
    for (int i = 0; i < block_.count; ++i) {
        ranks_.push_back(std::make_unique<Rank>(*this, first_rank() + i));
    }
    return base::Done{};
}

base::Outcome Process::check_node()
{
    if (node_rank_count() > static_cast<int>(engine::ranks_per_node_max)) {
        return base::Failure{"a node can hold at most " +
                             std::to_string(engine::ranks_per_node_max) + " ranks, not " +
                             std::to_string(node_rank_count())};
    }
    if (placement_.node_count == 1) {
        return base::Done{};
    }
    if (block_.all != boot_->process_count() * block_.count) {
        return base::Failure{
            "processes of a job on several nodes host as many ranks each, but this one has " +
            std::to_string(block_.count) + " of " + std::to_string(block_.all) +
            "; start as many ranks on every host, or with mpiexec --ranks process"};
    }
    return base::Done{};
}

base::Outcome Process::open_network()
{
    auto door = NetworkDoor::open(*boot_, knobs_, placement_, block_.count);
    if (!door) {
        return base::Failure{door.sentence()};
    }
    network_ = std::move(door.value());
    // A message is no longer than its frame.
    knobs_.eager_limit =
        std::min<std::uint64_t>(knobs_.eager_limit, network_->network().frame_bytes_max());
    return base::Done{};
}

base::Outcome Process::join_node()
{
    if (auto checked = check_node(); !checked) {
        return checked;
    }
    if (placement_.node_count > 1) {
        if (auto opened = open_network(); !opened) {
            return opened;
        }
    }
    if (placement_.is_node_leader()) {
        if (auto created = create_heap(); !created) {
            return created;
        }
    }
    if (boot_->process_count() > 1) {
        if (auto fenced = boot_->fence(); !fenced) {
            return fenced;
        }
    }
    if (!placement_.is_node_leader()) {
        if (auto attached = attach_heap(); !attached) {
            return attached;
        }
    }
    if (network_ != nullptr) {
        if (auto compared = compare_choices(); !compared) {
            return compared;
        }
        if (auto joined = network_->join(); !joined) {
            return joined;
        }
    }
    return meet_all();
}

base::Outcome Process::leave_job()
{
    node_->agent().stop();
    for (const auto& node : more_nodes_) {
        node->agent().stop();
    }
    if (network_ != nullptr) {
        NetworkDoor::stop_watching(*node_);
        // A connection that its receiver closes may lose what was sent before.
        if (auto fenced = boot_->fence(); !fenced) {
            return fenced;
        }
    }
    return boot_->finalize();
}

/// Names the node's heap in the launcher's dictionary, by the process that makes it.
std::string Process::heap_key() const
{
    int leader = placement_.is_node_leader() ? boot_->process_index() : 0;
    if (!placement_.is_node_leader() && placement_.node_count > 1) {
        const auto order = boot::order_by_place(*boot_);
        leader = order ? boot::process_at(order.value(), placement_.node_first) : 0;
    }
    return "headway-heap-" + std::to_string(leader);
}

base::Result<std::unique_ptr<memory::NodeHeap>> Process::make_heap()
{
    using config::NodeHeapChoice;
    const NodeHeapChoice choice = knobs_.node_heap;
    const bool is_shared = placement_.node_size > 1;
    if (choice == NodeHeapChoice::socket && is_shared && !boot_->can_share_descriptor()) {
        return base::Failure{
            "HEADWAY_NODE_HEAP is 'socket', which only Headway's own mpiexec can do; start the job "
            "with it, or set HEADWAY_NODE_HEAP=auto"};
    }
    memory::HeapOptions options;
    options.size_bytes = knobs_.heap_size;
    // Each instance of a rank has an allocator.
    options.rank_count = static_cast<std::uint32_t>(node_rank_count()) * choose_instances();
    options.version = library_version;
    std::string name = "headway-";
    name += boot_->job().empty() ? std::to_string(platform::process_id()) : boot_->job();
    if (placement_.node_count > 1) {  // nodes that share a machine
        name += '-';
        name += std::to_string(placement_.node);
    }
    name += "-heap";
    options.name = name;
    options.family = "headway-";
    options.kind = choice == NodeHeapChoice::shm ? memory::HeapKind::shm : memory::HeapKind::memfd;
    const std::uint32_t free_addresses = memory::NodeHeap::candidate_mask(options.size_bytes);
    options.candidate = static_cast<unsigned>(std::countr_zero(free_addresses));
    auto heap = memory::NodeHeap::create(options);
    const bool is_out_of_reach = heap && is_shared && !boot_->can_share_descriptor() &&
                                 !heap.value()->can_be_opened_by_path();
    if (choice == NodeHeapChoice::automatic && (!heap || is_out_of_reach)) {
        options.kind = memory::HeapKind::shm;
        if (is_out_of_reach) {
            // It lies where the other one is to lie.
            heap.value().reset();
        }
        if (auto in_shm = memory::NodeHeap::create(options); in_shm || is_out_of_reach) {
            return in_shm;
        }
    }
    return heap;
}

base::Result<std::string> Process::hand_out(const memory::NodeHeap& heap)
{
    using config::NodeHeapChoice;
    const NodeHeapChoice choice = knobs_.node_heap;
    const bool may_share = choice == NodeHeapChoice::automatic || choice == NodeHeapChoice::socket;
    if (may_share && boot_->can_share_descriptor() && heap.kind() == memory::HeapKind::memfd) {
        const auto shared = boot_->share_descriptor(heap.fd());
        if (shared) {
            return std::string(by_socket);
        }
        if (choice == NodeHeapChoice::socket) {
            return base::Failure{shared.sentence()};
        }
    }
    return heap.path();
}

/// The table of algorithms is that of the node's first process; between nodes it is compared.
base::Outcome Process::describe_choices(memory::NodeHeap& heap)
{
    const auto choices = protocol::coll::read_choices(knobs_);
    if (!choices) {
        return base::Failure{choices.sentence()};
    }
    auto* const shared = heap.for_rank(0).make<protocol::coll::Choices>(choices.value());
    if (shared == nullptr) {
        return base::Failure{
            "the node heap is too small for the table of algorithms; raise HEADWAY_HEAP_SIZE, or "
            "the size of /dev/shm"};
    }
    heap.set_root(choices_root, shared);
    return placement_.node_count > 1 && placement_.place == 0
               ? boot_->put(choices_key, std::to_string(shared->digest()))
               : base::Outcome(base::Done{});
}

base::Outcome Process::compare_choices()
{
    const auto first = boot_->get(choices_key);
    if (!first) {
        return base::Failure{first.sentence()};
    }
    if (first.value() != std::to_string(choices_->digest())) {
        return base::Failure{
            "HEADWAY_TUNING or HEADWAY_COLL_... choose other algorithms on this node than for rank "
            "0; set them alike on all nodes, and keep copies of the tuning file alike"};
    }
    return base::Done{};
}

base::Outcome Process::describe_hosts(memory::NodeHeap& heap) const
{
    using Bell = std::atomic<sync::OutsideBell*>;
    const auto count = static_cast<std::size_t>(placement_.node_size);
    auto* const hosts = heap.for_rank(0).make<HostDirectory>();
    void* const bells = heap.for_rank(0).allocate(count * sizeof(Bell));
    if (hosts == nullptr || bells == nullptr) {
        return base::Failure{"the node heap is too small; raise HEADWAY_HEAP_SIZE"};
    }
    hosts->bells = static_cast<Bell*>(bells);
    for (std::size_t i = 0; i < count; ++i) {
        new (hosts->bells + i) Bell(nullptr);
    }
    heap.set_root(hosts_root, hosts);
    return base::Done{};
}

/// Fills in what all processes of the node must agree on.
base::Outcome Process::describe_node(engine::Directory& directory, memory::NodeHeap& heap)
{
    directory.process_count = static_cast<std::uint32_t>(placement_.node_size);
    directory.rank_count = static_cast<std::uint32_t>(node_rank_count());
    directory.job_rank_count = static_cast<std::uint32_t>(rank_count());
    directory.origin = static_cast<std::uint32_t>(placement_.node_first * block_.count);
    directory.schedule.delay_ns = static_cast<std::int64_t>(knobs_.delay_us) * 1000;
    directory.schedule.jitter_ns = static_cast<std::int64_t>(knobs_.delay_jitter_us) * 1000;
    if (knobs_.sim != 0) {
        directory.schedule.jitter_ns = static_cast<std::int64_t>(knobs_.sim_delay_us) * 1000;
        directory.schedule.seed = knobs_.sim;
    }
    directory.is_traced = prepare_trace(knobs_);
    directory.is_observed = directory.is_traced || knobs_.stats != 0;
    // Where frames are withheld, all that ranks tell each other travels in frames; where they are
    // observed, in messages that can be counted.
    directory.lets_meet = knobs_.meetings == config::MeetingsChoice::on &&
                          !directory.schedule.withholds() && !directory.is_observed;
    directory.lets_read =
        knobs_.peer_reads == config::PeerReadsChoice::on && !directory.schedule.withholds();
    directory.cores_ask_each_other = engine::do_cores_ask_each_other(knobs_.core_caches);
    heap.set_root(directory_root, &directory);
    if (auto described = describe_instances(directory, heap); !described) {
        return described;
    }
    if (auto described = describe_hosts(heap); !described) {
        return described;
    }
    if (auto described = describe_choices(heap); !described) {
        return described;
    }
    return make_checks(heap, knobs_.check);
}

base::Outcome Process::create_heap()
{
    auto heap = make_heap();
    if (!heap) {
        return base::Failure{heap.sentence()};
    }
    auto* directory = heap.value()->for_rank(0).make<engine::Directory>();
    if (directory == nullptr) {
        return base::Failure{
            "the node heap is too small for its directory; raise "
            "HEADWAY_HEAP_SIZE, or the size of /dev/shm"};
    }
    if (auto described = describe_node(*directory, *heap.value()); !described) {
        return described;
    }
    heap.value()->announce_ready();
    if (placement_.node_size > 1) {
        const auto way = hand_out(*heap.value());
        if (!way) {
            return base::Failure{way.sentence()};
        }
        const std::string value = platform::host_name() + ";" +
                                  std::to_string(heap.value()->address()) + ";" + way.value();
        if (auto put = boot_->put(heap_key(), value); !put) {
            return put;
        }
    }
    return make_node(std::move(heap.value()));
}

base::Outcome Process::attach_heap()
{
    const auto found = boot_->get(heap_key());
    if (!found) {
        return base::Failure{found.sentence()};
    }
    const std::string& value = found.value();
    const std::size_t first = value.find(';');
    const std::size_t second = value.find(';', first + 1);
    if (first == std::string::npos || second == std::string::npos) {
        return base::Failure{"the launcher handed over a node heap that makes no sense ('" +
                             value.substr(0, 80) +
                             "'); is every rank of the job the same program "
                             "with the same Headway?"};
    }
    if (value.substr(0, first) != platform::host_name()) {
        return base::Failure{"the launcher says that this rank, on '" + platform::host_name() +
                             "', shares a node with ranks on '" + value.substr(0, first) +
                             "'; is its map of the nodes right, and do containers of a node have "
                             "one host name?"};
    }
    const auto address = static_cast<std::uintptr_t>(
        std::strtoull(value.substr(first + 1, second - first - 1).c_str(), nullptr, 10));
    auto heap = take_heap(value.substr(second + 1), address);
    if (!heap) {
        return base::Failure{heap.sentence()};
    }
    if (!heap.value()->wait_ready(platform::Deadline::after_ns(patience_ns))) {
        return base::Failure{
            "the first rank of the node did not set up the node heap in time; did it die at "
            "start?"};
    }
    return make_node(std::move(heap.value()));
}

base::Result<std::unique_ptr<memory::NodeHeap>> Process::take_heap(const std::string& way,
                                                                   std::uintptr_t address)
{
    if (way != by_socket) {
        return memory::NodeHeap::attach(way, address, library_version);
    }
    const auto descriptor = boot_->take_descriptor();
    if (!descriptor) {
        return base::Failure{descriptor.sentence()};
    }
    return memory::NodeHeap::attach_descriptor(descriptor.value(), address, library_version);
}

base::Outcome Process::make_node(std::unique_ptr<memory::NodeHeap> heap)
{
    auto* directory = static_cast<engine::Directory*>(heap->root(directory_root));
    if (directory == nullptr ||
        directory->process_count != static_cast<std::uint32_t>(placement_.node_size)) {
        return base::Failure{
            "the node heap belongs to a job of another size; end left-over jobs "
            "and start again"};
    }
    choices_ = static_cast<const protocol::coll::Choices*>(heap->root(choices_root));
    const auto checks = find_checks(*heap, knobs_.check);
    if (!checks) {
        return base::Failure{checks.sentence()};
    }
    checks_ = checks.value();
    hosts_ = static_cast<HostDirectory*>(heap->root(hosts_root));
    const std::shared_ptr<memory::NodeHeap> shared = std::move(heap);
    node_ = make_instance(shared, *directory, 0);
    if (network_ != nullptr) {
        network_->open_for(*node_);
    }
    if (directory->is_observed) {
        const std::uint64_t records =
            directory->is_traced ? knobs_.trace_ring / sizeof(observe::Record) : 0;
        node_->tracer = std::make_unique<observe::Tracer>(platform::random_token(), records);
    }
    node_->dedicated_cpus = dedicated_cpus_;
    take_distant_notes(*node_);
    for (std::uint32_t number = 1; number < directory->instance_count; ++number) {
        more_nodes_.push_back(make_instance(shared, *directory->instances[number], number));
    }
    return base::Done{};
}

void Process::schedule_by(const headway_scheduling& scheduling)
{
    sync::OutsideBell* bell = nullptr;
    if (node_->directory.process_count > 1) {
        bell = node_->allocator(node_->first_rank()).make<sync::OutsideBell>();
        if (bell == nullptr) {
            platform::fatal(first_rank(), "the node heap is full; raise HEADWAY_HEAP_SIZE");
        }
    }
    scheduler_ = std::make_unique<HostedScheduler>(scheduling, *node_, *hosts_, bell);
    // Whoever spins keeps a worker from other ranks.
    node_->is_oversubscribed = true;
    node_->has_idle_cores = false;
    node_->shares_workers = true;
    node_->choose_buffers();
    if (node_->directory.process_count == 1) {
        node_->parks_with_barrier = false;
    }
    // A yield pays where it leads to the one waited for; among many, sleep costs less than looking.
    const bool has_few = node_->directory.rank_count <= 2 * node_->cpus().size();
    node_->knobs.yields = std::min<std::uint64_t>(node_->knobs.yields, has_few ? 1 : 0);
}

void Process::warn_about_settings()
{
    // Relaxed: decides who speaks, and hands nothing over.
    if (boot_->process_index() != 0 || has_warned_.exchange(true, std::memory_order_relaxed)) {
        return;
    }
    const platform::Environment environment = platform::Environment::of_process();
    for (const std::string& warning : config::unknown_knob_warnings(environment)) {
        platform::write_error("headway: " + warning + "\n");
    }
}

bool Process::note_start() noexcept
{
    // Relaxed, as below: counts that hand nothing over.
    has_started_.store(true, std::memory_order_relaxed);
    return hosts_->starts.fetch_add(1, std::memory_order_relaxed) < one_absence;
}

bool Process::note_absence() noexcept
{
    return hosts_->starts.fetch_add(one_absence, std::memory_order_relaxed) % one_absence != 0;
}

bool Process::has_started() const noexcept
{
    return has_started_.load(std::memory_order_relaxed);
}

bool Process::note_finalized() noexcept
{
    // (3) acq_rel, pairs with itself and (4): the last one finds what the others have left.
    const bool is_last =
        finalized_count_.fetch_add(1, std::memory_order_acq_rel) + 1 == block_.count;
    return is_last && !std::exchange(has_left_, true);
}

bool Process::has_ended() const noexcept
{
    // (4) acquire, pairs with (3).
    return finalized_count_.load(std::memory_order_acquire) == block_.count;
}

void Process::note_return() noexcept
{
    // Relaxed: the ranks that end order themselves.
    finalized_count_.fetch_sub(1, std::memory_order_relaxed);
}

void Process::abort_job(int code, std::string_view sentence) noexcept
{
    save_trace_at_abort(*this);
    boot_->abort(code, sentence);
    platform::exit_now(code);
}

}  // namespace headway::object
