// SPDX-License-Identifier: Apache-2.0
#include "abi/reordered.hpp"

#include <algorithm>
#include <string>

#include "object/collective.hpp"
#include "object/process.hpp"
#include "platform/process.hpp"

namespace headway::abi {
namespace {

using object::Communicator;
using object::Site;

Site own_site(object::Rank& rank)
{
    const object::Process& process = rank.process();
    if (const auto group = static_cast<int>(process.knobs().reorder_group); group > 0) {
        return {rank.world_rank / group, 0};
    }
    return {process.placement().node, platform::last_cache_number()};
}

std::string weights_of(const object::Crossing& crossing)
{
    return std::to_string(crossing.nodes) + " between nodes, " + std::to_string(crossing.caches) +
           " between caches";
}

void report(Call& call, const Communicator& comm, const object::Reordering& reordering)
{
    int moved = 0;
    for (int place = 0; const int member : reordering.member_at) {
        moved += member != place++ ? 1 : 0;
    }
    platform::write_error(
        "headway: rank " + std::to_string(rank_of(call).world_rank) + ": " + call.name() + ": " +
        std::to_string(moved) + " of " + std::to_string(comm.size()) +
        " ranks change their number; weight of edges before: " + weights_of(reordering.before) +
        "; after: " + weights_of(reordering.after) + "\n");
}

/// How many ranks the sites have, if all have as many; 0 where they differ.
int ranks_per_site(std::span<const Site> sites, bool by_node)
{
    std::vector<std::pair<int, int>> names;
    for (const Site& site : sites) {
        names.emplace_back(site.node, by_node ? 0 : site.cache);
    }
    std::ranges::sort(names);
    int each = 0;
    for (auto at = names.begin(); at != names.end();) {
        const auto next = std::ranges::upper_bound(at, names.end(), *at);
        const auto count = static_cast<int>(next - at);
        if (each != 0 && each != count) {
            return 0;
        }
        each = count;
        at = next;
    }
    return each;
}

}  // namespace

std::optional<std::vector<Site>> find_sites(Call& call, Communicator& comm, int places)
{
    const Site own = own_site(rank_of(call));
    std::vector<Site> sites(static_cast<std::size_t>(comm.size()));
    if (!object::allgather_bytes(rank_of(call), comm, &own, sites.data(), sizeof own)) {
        return std::nullopt;
    }
    sites.resize(static_cast<std::size_t>(places));
    if (std::ranges::adjacent_find(sites, std::ranges::not_equal_to()) == sites.end()) {
        sites.clear();
    }
    return sites;
}

std::vector<int> find_places(Call& call, const Communicator& comm,
                             std::span<const object::PlaceEdge> edges, std::span<const Site> sites,
                             std::span<const int> dims)
{
    std::vector<std::vector<int>> tried;
    if (!dims.empty()) {
        for (const bool by_node : {true, false}) {
            if (const int each = ranks_per_site(sites, by_node); each > 1) {
                std::ranges::move(object::brick_orders(dims, each), std::back_inserter(tried));
            }
        }
    }
    object::Reordering reordering = object::reorder(edges, sites, tried);
    if (comm.rank() == 0 && rank_of(call).process().knobs().reorder_report != 0) {
        report(call, comm, reordering);
    }
    return std::move(reordering.member_at);
}

}  // namespace headway::abi
