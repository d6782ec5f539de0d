// SPDX-License-Identifier: Apache-2.0
#include "object/network.hpp"

#include <charconv>
#include <chrono>
#include <string_view>
#include <utility>

#include "boot/places.hpp"
#include "engine/node.hpp"
#include "object/version.hpp"
#include "platform/fatal.hpp"
#include "platform/module.hpp"
#include "platform/process.hpp"

namespace headway::object {

namespace {

#if defined(__x86_64__)
constexpr const char* machine_kind = " for x86-64";
#elif defined(__aarch64__) && defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
constexpr const char* machine_kind = " for aarch64";
#else
#error "name the machine, so that hosts with other numbers are told apart"
#endif
constexpr const char* module_file = "libheadway_ofi.so";
constexpr std::string_view secret_key = "headway-secret-0";

std::string key_of(int process)
{
    return "headway-net-" + std::to_string(process);
}

/// What other hosts must have too, a word: the version, and a machine that keeps numbers alike.
std::string version_word()
{
    std::string word = std::string(library_version) + machine_kind;
    for (char& byte : word) {
        byte = byte == ' ' ? '_' : byte;
    }
    return word;
}

/// What all processes of the job must agree on, by the word of the first one.
struct JobWord {
    base::Secret secret;
    std::uint64_t ranks_a_process = 1;

    std::string word() const
    {
        return std::to_string(secret.first) + "-" + std::to_string(secret.second) + "-" +
               std::to_string(ranks_a_process);
    }
    /// Nothing: it is no such word.
    static std::optional<JobWord> of(std::string_view word)
    {
        JobWord found;
        const char* at = word.data();
        const char* const end = word.data() + word.size();
        for (std::uint64_t* const number :
             {&found.secret.first, &found.secret.second, &found.ranks_a_process}) {
            const auto read = std::from_chars(at, end, *number);
            const bool is_last = number == &found.ranks_a_process;
            if (read.ec != std::errc() || (read.ptr == end) != is_last ||
                (!is_last && *read.ptr != '-')) {
                return std::nullopt;
            }
            at = read.ptr + (is_last ? 0 : 1);
        }
        return found;
    }
};

base::Result<std::unique_ptr<transport::Network>> open_module(
    const transport::NetworkOptions& options)
{
    const std::string start = "the job is on several nodes, and ";
    const auto module = platform::Module::open(module_file);
    if (!module) {
        return base::Failure{start + "the module for that cannot be loaded (" + module.sentence() +
                             "); install libfabric 1.17 or later and a Headway built with it, or "
                             "start all ranks on one node"};
    }
    const auto* const version =
        static_cast<const char*>(module.value().find(transport::network_version_symbol));
    void* const entry = module.value().find(transport::network_symbol);
    if (entry == nullptr || version == nullptr || !library_version.starts_with(version)) {
        return base::Failure{start + module_file +
                             " beside the library is of another Headway; install both together"};
    }
    std::string failure;
    auto* const network = reinterpret_cast<transport::OpenNetwork>(entry)(options, failure);
    if (network == nullptr) {
        return base::Failure{start + failure};
    }
    return std::unique_ptr<transport::Network>(network);
}

}  // namespace

/// What a process says of itself in the launcher's dictionary.
struct NetworkDoor::Entry {
    std::string host;
    std::string version;
    std::string watched_at;  ///< of platform::HostLinks; "-": nowhere
    std::string address;     ///< of transport::Network

    std::string word() const { return host + "/" + version + "/" + watched_at + "/" + address; }
    /// Nothing: it is no such word.
    static std::optional<Entry> of(std::string_view word)
    {
        Entry entry;
        for (std::string* field : {&entry.host, &entry.version, &entry.watched_at}) {
            const std::size_t end = word.find('/');
            if (end == std::string_view::npos) {
                return std::nullopt;
            }
            *field = word.substr(0, end);
            word.remove_prefix(end + 1);
        }
        entry.address = word;
        return entry;
    }
};

base::Result<std::unique_ptr<NetworkDoor>> NetworkDoor::open(boot::Boot& boot,
                                                             const config::Knobs& knobs,
                                                             const boot::Placement& placement,
                                                             int ranks_a_process)
{
    std::unique_ptr<NetworkDoor> door(new NetworkDoor(boot, placement, ranks_a_process));
    const auto ranks = static_cast<std::uint32_t>(ranks_a_process);
    auto network = open_module(
        {.own_rank = static_cast<std::uint32_t>(placement.place) * ranks,
         .own_count = ranks,
         .rank_count = static_cast<std::uint32_t>(boot.process_count()) * ranks,
         .window_bytes = knobs.network_window,
         .push_bytes_max = knobs.network_push_max,
         .provider = knobs.ofi_provider,
         .are_hosts_watched = knobs.network_timeout_s != 0,
         .may_hold = knobs.progress != config::ProgressChoice::none,
         .interface = knobs.ofi_interface,
         .regions_kept_max = knobs.network_regions,
         .region_bytes_max = knobs.network_region_bytes,
         .registers_all = knobs.ofi_registration == config::OfiRegistrationChoice::all});
    if (!network) {
        return base::Failure{network.sentence()};
    }
    door->network_ = std::move(network.value());
    const auto watched_at = door->open_links(knobs.network_timeout_s);
    if (!watched_at) {
        return base::Failure{watched_at.sentence()};
    }
    const Entry own{platform::host_name(), version_word(), watched_at.value(),
                    door->network_->address()};
    if (auto put = boot.put(key_of(boot.process_index()), own.word()); !put) {
        return base::Failure{put.sentence()};
    }
    if (placement.place == 0) {
        const JobWord word{platform::make_secret(), ranks};
        if (auto put = boot.put(secret_key, word.word()); !put) {
            return base::Failure{put.sentence()};
        }
    }
    return door;
}

/// Where other hosts can watch this process.
base::Result<std::string> NetworkDoor::open_links(std::uint64_t timeout_s)
{
    const std::string& address = network_->socket_address();
    if (timeout_s == 0 || address.empty()) {
        return std::string("-");
    }
    links_ = std::make_unique<platform::HostLinks>(std::chrono::seconds(timeout_s));
    is_watched_.resize(placement_.node_firsts.size());
    auto where = links_->listen(address);
    if (!where) {
        return base::Failure{"the network (" + network_->description() + ") cannot be watched: " +
                             where.sentence() + "; HEADWAY_NETWORK_TIMEOUT_S=0 does without"};
    }
    return where;
}

base::Outcome NetworkDoor::join()
{
    const auto found = boot_.get(secret_key);
    if (!found) {
        return base::Failure{found.sentence()};
    }
    const std::optional<JobWord> job = JobWord::of(found.value());
    if (!job) {
        return base::Failure{
            "the launcher handed over a secret of the job that makes no sense; is "
            "every rank of the job the same program with the same Headway?"};
    }
    if (job->ranks_a_process != static_cast<std::uint64_t>(ranks_a_process_)) {
        return base::Failure{
            "processes of a job on several nodes host as many ranks each, but this one " +
            std::to_string(ranks_a_process_) + " and the first one " +
            std::to_string(job->ranks_a_process) +
            "; start as many ranks on every host, or with mpiexec --ranks process"};
    }
    network_->join_job(job->secret);
    return base::Done{};
}

base::Result<NetworkDoor::Entry> NetworkDoor::find_entry(int place)
{
    if (!order_) {
        auto order = boot::order_by_place(boot_);
        if (!order) {
            return base::Failure{order.sentence()};
        }
        order_ = std::move(order.value());
    }
    const auto found = boot_.get(key_of(boot::process_at(*order_, place)));
    if (!found) {
        return base::Failure{found.sentence()};
    }
    auto entry = Entry::of(found.value());
    if (!entry) {
        return base::Failure{"the launcher does not know where " + ranks_at(place, place + 1) +
                             " is; is every rank of the job a program with the same Headway?"};
    }
    return std::move(*entry);
}

base::Outcome NetworkDoor::look_up(std::uint32_t rank)
{
    const std::lock_guard guard(lock_);
    const auto found = find_entry(place_of(rank));
    if (!found) {
        return base::Failure{found.sentence()};
    }
    const Entry& entry = found.value();
    if (entry.version != version_word()) {
        return base::Failure{"rank " + std::to_string(rank) + " on host '" + entry.host +
                             "' runs " + entry.version + " and this one " + version_word() +
                             "; install the same Headway on all hosts"};
    }
    if (auto watched = watch_host_of(place_of(rank)); !watched) {
        return watched;
    }
    return network_->introduce(rank, entry.address, entry.host);
}

/// Once for each host. Its processes are watched by those of other hosts in turn, so that each has
/// about as many who watch it as there are hosts.
base::Outcome NetworkDoor::watch_host_of(int place)
{
    const auto node = static_cast<std::size_t>(placement_.node_of(place));
    if (links_ == nullptr || is_watched_[node]) {
        return base::Done{};
    }
    const std::vector<int>& firsts = placement_.node_firsts;
    const int first = firsts[node];
    const int end = node + 1 < firsts.size() ? firsts[node + 1] : boot_.process_count();
    const int watched = first + (placement_.place - placement_.node_first) % (end - first);
    const auto found = find_entry(watched);
    if (!found) {
        return base::Failure{found.sentence()};
    }
    const Entry& entry = found.value();
    is_watched_[node] = true;
    if (entry.watched_at == "-") {
        return base::Done{};
    }
    return links_->connect({.where = entry.watched_at,
                            .process = (ranks_a_process_ == 1 ? "" : "the process of ") +
                                       ranks_at(watched, watched + 1),
                            .host = "host '" + entry.host + "' (" + ranks_at(first, end) + ")"});
}

std::string NetworkDoor::ranks_at(int first, int end) const
{
    const std::string first_rank = std::to_string(first * ranks_a_process_);
    const int count = (end - first) * ranks_a_process_;
    return count == 1 ? "rank " + first_rank
                      : "ranks " + first_rank + " to " +
                            std::to_string(first * ranks_a_process_ + count - 1);
}

void NetworkDoor::open_for(engine::Node& node)
{
    network_->declare_lasting(reinterpret_cast<const void*>(node.heap->address()),
                              node.heap->size_bytes());
    node.network = network_.get();
    node.host_links = links_.get();
    node.introduce = [this](std::uint32_t rank) { introduce(rank); };
    node.watch().set_descriptor(network_->descriptor());
}

void NetworkDoor::stop_watching(engine::Node& node)
{
    node.watch().stop();
    node.host_links = nullptr;
}

/// Looks up where a rank is. Ends the job where it cannot be reached. Thread rule: any thread.
void NetworkDoor::introduce(std::uint32_t rank)
{
    if (const auto known = look_up(rank); !known) {
        platform::fatal(placement_.place * ranks_a_process_, known.sentence());
    }
}

}  // namespace headway::object
