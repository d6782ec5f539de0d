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
using platform::Hardware;

/// What every rank knows of the place of another one.
Site known_site(const object::Process& process, int world_rank)
{
    const auto group = static_cast<int>(process.knobs().reorder_group);
    return {group > 0 ? world_rank / group
                      : static_cast<int>(process.node_of(static_cast<std::uint32_t>(world_rank))),
            0};
}

Site own_site(object::Rank& rank)
{
    Site site = known_site(rank.process(), rank.world_rank);
    if (rank.process().knobs().reorder_group == 0) {
        const platform::HardwarePlace place = rank.process().hardware_of_rank();
        const int last = place.of(Hardware::l3_cache);
        site.cache = last != platform::HardwarePlace::unknown ? last : place.of(Hardware::l2_cache);
    }
    return site;
}

bool are_one(std::span<const Site> sites)
{
    return std::ranges::adjacent_find(sites, std::ranges::not_equal_to()) == sites.end();
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
    if (are_one(sites)) {
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

std::vector<int> find_places(Call& call, const Communicator& comm, const object::Topology& topology,
                             std::span<const Site> sites)
{
    const auto* const grid = std::get_if<object::Cartesian>(&topology);
    return find_places(call, comm, object::edges_of(topology), sites,
                       grid != nullptr ? grid->dims : std::vector<int>());
}

int map_rank(Call& call, const Communicator& comm, const object::Topology& topology, int places)
{
    if (comm.rank() >= places) {
        return MPI_UNDEFINED;
    }
    std::vector<Site> sites;
    for (const int member : comm.members()) {
        sites.push_back(known_site(rank_of(call).process(), member));
    }
    sites.resize(static_cast<std::size_t>(places));
    if (are_one(sites)) {
        return comm.rank();
    }
    const std::vector<int> member_at = find_places(call, comm, topology, sites);
    return static_cast<int>(std::ranges::find(member_at, comm.rank()) - member_at.begin());
}

}  // namespace headway::abi
