// SPDX-License-Identifier: Apache-2.0
#include "object/network.hpp"

#include <charconv>
#include <string_view>
#include <utility>

#include "boot/places.hpp"
#include "object/version.hpp"
#include "platform/fatal.hpp"
#include "platform/module.hpp"
#include "platform/process.hpp"

namespace headway::object {

namespace {

constexpr const char* module_file = "libheadway_ofi.so";
constexpr std::string_view job_key = "headway-job-0";

std::string key_of(int process)
{
    return "headway-net-" + std::to_string(process);
}

/// What of the version other hosts must have too: a word.
std::string version_word()
{
    std::string word(library_version);
    for (char& byte : word) {
        byte = byte == ' ' ? '_' : byte;
    }
    return word;
}

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

base::Result<std::unique_ptr<NetworkDoor>> NetworkDoor::open(boot::Boot& boot,
                                                             const config::Knobs& knobs,
                                                             std::uint32_t own_rank,
                                                             std::uint32_t rank_count)
{
    std::unique_ptr<NetworkDoor> door(new NetworkDoor(boot, own_rank));
    auto network = open_module({.own_rank = own_rank,
                                .rank_count = rank_count,
                                .window_bytes = knobs.network_window,
                                .provider = knobs.ofi_provider,
                                .interface = knobs.ofi_interface});
    if (!network) {
        return base::Failure{network.sentence()};
    }
    door->network_ = std::move(network.value());
    const std::string where =
        platform::host_name() + "/" + version_word() + "/" + door->network_->address();
    if (auto put = boot.put(key_of(boot.process_index()), where); !put) {
        return base::Failure{put.sentence()};
    }
    if (own_rank == 0) {
        if (auto put = boot.put(job_key, std::to_string(platform::random_token())); !put) {
            return base::Failure{put.sentence()};
        }
    }
    return door;
}

base::Outcome NetworkDoor::join()
{
    const auto found = boot_.get(job_key);
    if (!found) {
        return base::Failure{found.sentence()};
    }
    const std::string& text = found.value();
    std::uint64_t job = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), job);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size()) {
        return base::Failure{
            "the launcher handed over a number of the job that makes no sense; is "
            "every rank of the job the same program with the same Headway?"};
    }
    network_->join_job(job);
    return base::Done{};
}

base::Outcome NetworkDoor::look_up(std::uint32_t rank)
{
    if (!order_) {
        auto order = boot::order_by_place(boot_);
        if (!order) {
            return base::Failure{order.sentence()};
        }
        order_ = std::move(order.value());
    }
    const auto found = boot_.get(key_of(boot::process_at(*order_, static_cast<int>(rank))));
    if (!found) {
        return base::Failure{found.sentence()};
    }
    const std::string_view where(found.value());
    const std::size_t first = where.find('/');
    const std::size_t second = where.find('/', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) {
        return base::Failure{"the launcher does not know where rank " + std::to_string(rank) +
                             " is; is every rank of the job a program with the same Headway?"};
    }
    const std::string_view host = where.substr(0, first);
    const std::string_view version = where.substr(first + 1, second - first - 1);
    if (version != version_word()) {
        return base::Failure{"rank " + std::to_string(rank) + " on host '" + std::string(host) +
                             "' runs " + std::string(version) + " and this one " + version_word() +
                             "; install the same Headway on all hosts"};
    }
    return network_->introduce(rank, where.substr(second + 1), host);
}

void NetworkDoor::introduce(std::uint32_t rank)
{
    if (const auto known = look_up(rank); !known) {
        platform::fatal(own_rank_, known.sentence());
    }
}

}  // namespace headway::object
