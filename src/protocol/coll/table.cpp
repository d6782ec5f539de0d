// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/table.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "protocol/coll/topology.hpp"

namespace headway::protocol::coll {

namespace {

// Builders take what they need; the table hands out calls.
template <Graph (*builder)(Place)>
Graph of_place(const Call& call)
{
    return builder(call.place);
}

template <Graph (*builder)(Place, std::uint32_t)>
Graph of_root(const Call& call)
{
    return builder(call.place, call.root);
}

template <Graph (*builder)(Place, std::uint32_t)>
Graph of_ports(const Call& call)
{
    return builder(call.place, call.tuning.ports);
}

template <Graph (*builder)(Place, std::uint32_t)>
Graph of_window(const Call& call)
{
    return builder(call.place, call.tuning.window);
}

/// A k-nomial tree whose root has everyone as a child.
template <Graph (*builder)(const Call&)>
Graph of_flat_tree(const Call& call)
{
    Call flat = call;
    flat.tuning.radix = call.place.size;
    return builder(flat);
}

constexpr Row rows[] = {
    {.algorithm = Algorithm::barrier_dissemination,
     .name = "barrier_dissemination",
     .collective = Collective::barrier,
     .build = of_ports<barrier_dissemination>,
     .tuning = {.ports = 1}},
    {.algorithm = Algorithm::barrier_dissemination_ports,
     .name = "barrier_dissemination_ports",
     .collective = Collective::barrier,
     .build = of_ports<barrier_dissemination>,
     .reads = {.ports = true},
     .tuning = {.ports = 3}},
    {.algorithm = Algorithm::barrier_linear,
     .name = "barrier_linear",
     .collective = Collective::barrier,
     .build = of_place<barrier_linear>},
    {.algorithm = Algorithm::barrier_two_level,
     .name = "barrier_two_level",
     .collective = Collective::barrier,
     .build = barrier_two_level,
     .reads = {.ports = true, .topology = true},
     .tuning = {.ports = 1}},
    {.algorithm = Algorithm::bcast_flat,
     .name = "bcast_flat",
     .collective = Collective::bcast,
     .build = of_flat_tree<bcast_knomial>},
    {.algorithm = Algorithm::bcast_binomial,
     .name = "bcast_binomial",
     .collective = Collective::bcast,
     .build = bcast_knomial,
     .tuning = {.radix = 2}},
    {.algorithm = Algorithm::bcast_knomial,
     .name = "bcast_knomial",
     .collective = Collective::bcast,
     .build = bcast_knomial,
     .reads = {.radix = true},
     .tuning = {.radix = 4}},
    {.algorithm = Algorithm::bcast_pipelined_chain,
     .name = "bcast_pipelined_chain",
     .collective = Collective::bcast,
     .build = bcast_pipelined,
     .reads = {.segments = true},
     .tuning = {.radix = 1}},
    {.algorithm = Algorithm::bcast_pipelined_tree,
     .name = "bcast_pipelined_tree",
     .collective = Collective::bcast,
     .build = bcast_pipelined,
     .reads = {.radix = true, .segments = true},
     .tuning = {.radix = 2}},
    {.algorithm = Algorithm::bcast_scatter_ring,
     .name = "bcast_scatter_ring",
     .collective = Collective::bcast,
     .build = of_root<bcast_scatter_ring>,
     .ranks_max = 65536},
    {.algorithm = Algorithm::bcast_two_level,
     .name = "bcast_two_level",
     .collective = Collective::bcast,
     .build = bcast_two_level,
     .reads = {.topology = true}},
    {.algorithm = Algorithm::bcast_direct,
     .name = "bcast_direct",
     .collective = Collective::bcast,
     .build = of_root<bcast_direct>,
     .reads = {.peers = true}},
    {.algorithm = Algorithm::reduce_flat,
     .name = "reduce_flat",
     .collective = Collective::reduce,
     .build = of_flat_tree<reduce_knomial>,
     .in_place = InPlace::root,
     .scratch = {.a_rank = 1}},
    {.algorithm = Algorithm::reduce_binomial,
     .name = "reduce_binomial",
     .collective = Collective::reduce,
     .build = reduce_knomial,
     .in_place = InPlace::root,
     .scratch = {.a_partner = 1},
     .tuning = {.radix = 2}},
    {.algorithm = Algorithm::reduce_knomial,
     .name = "reduce_knomial",
     .collective = Collective::reduce,
     .build = reduce_knomial,
     .in_place = InPlace::root,
     .scratch = {.a_partner = 1},
     .reads = {.radix = true},
     .tuning = {.radix = 4}},
    {.algorithm = Algorithm::reduce_pipelined_chain,
     .name = "reduce_pipelined_chain",
     .collective = Collective::reduce,
     .build = reduce_pipelined,
     .in_place = InPlace::root,
     .keeps_order = false,
     .scratch = {.vectors = 1},
     .reads = {.segments = true},
     .tuning = {.radix = 1}},
    {.algorithm = Algorithm::reduce_pipelined_tree,
     .name = "reduce_pipelined_tree",
     .collective = Collective::reduce,
     .build = reduce_pipelined,
     .in_place = InPlace::root,
     .keeps_order = false,
     .scratch = {.a_child = 1},
     .reads = {.radix = true, .segments = true},
     .tuning = {.radix = 2}},
    {.algorithm = Algorithm::reduce_halving_gather,
     .name = "reduce_halving_gather",
     .collective = Collective::reduce,
     .build = of_root<reduce_halving_gather>,
     .in_place = InPlace::root,
     .keeps_order = false,
     .scratch = {.vectors = 2}},
    {.algorithm = Algorithm::reduce_two_level,
     .name = "reduce_two_level",
     .collective = Collective::reduce,
     .build = reduce_two_level,
     .in_place = InPlace::root,
     .keeps_order = false,
     .scratch = {.a_partner = 2},
     .reads = {.topology = true}},
    {.algorithm = Algorithm::allreduce_linear,
     .name = "allreduce_linear",
     .collective = Collective::allreduce,
     .build = of_place<allreduce_linear>,
     .in_place = InPlace::everyone,
     .scratch = {.a_rank = 1}},
    {.algorithm = Algorithm::allreduce_recursive_doubling,
     .name = "allreduce_recursive_doubling",
     .collective = Collective::allreduce,
     .build = of_place<allreduce_recursive_doubling>,
     .in_place = InPlace::everyone,
     .scratch = {.a_partner = 2}},
    {.algorithm = Algorithm::allreduce_halving_doubling,
     .name = "allreduce_halving_doubling",
     .collective = Collective::allreduce,
     .build = of_place<allreduce_halving_doubling>,
     .in_place = InPlace::everyone,
     .keeps_order = false,
     .scratch = {.vectors = 1}},
    {.algorithm = Algorithm::allreduce_ring,
     .name = "allreduce_ring",
     .collective = Collective::allreduce,
     .build = of_place<allreduce_ring>,
     .in_place = InPlace::everyone,
     .keeps_order = false,
     .ranks_max = 32768,
     .scratch = {.vectors = 1}},
    {.algorithm = Algorithm::allreduce_two_level,
     .name = "allreduce_two_level",
     .collective = Collective::allreduce,
     .build = allreduce_two_level,
     .in_place = InPlace::everyone,
     .keeps_order = false,
     .keeps_order_of_nodes = true,
     .scratch = {.a_partner = 3},
     .reads = {.topology = true}},
    {.algorithm = Algorithm::allreduce_direct,
     .name = "allreduce_direct",
     .collective = Collective::allreduce,
     .build = of_place<allreduce_direct>,
     .in_place = InPlace::everyone,
     .scratch = {.vectors = 1},
     .reads = {.peers = true}},
    {.algorithm = Algorithm::gather_flat,
     .name = "gather_flat",
     .collective = Collective::gather,
     .build = of_root<gather_flat>,
     .in_place = InPlace::root,
     .listing = Listing::no_scratch},
    {.algorithm = Algorithm::gather_binomial,
     .name = "gather_binomial",
     .collective = Collective::gather,
     .build = gather_knomial,
     .in_place = InPlace::root,
     .scratch = {.a_rank = 1},
     .tuning = {.radix = 2}},
    {.algorithm = Algorithm::gather_knomial,
     .name = "gather_knomial",
     .collective = Collective::gather,
     .build = gather_knomial,
     .in_place = InPlace::root,
     .scratch = {.a_rank = 1},
     .reads = {.radix = true},
     .tuning = {.radix = 4}},
    {.algorithm = Algorithm::gather_two_level,
     .name = "gather_two_level",
     .collective = Collective::gather,
     .build = gather_two_level,
     .in_place = InPlace::root,
     .scratch = {.a_rank = 1},
     .reads = {.topology = true}},
    {.algorithm = Algorithm::scatter_flat,
     .name = "scatter_flat",
     .collective = Collective::scatter,
     .build = of_root<scatter_flat>,
     .in_place = InPlace::root,
     .listing = Listing::no_scratch},
    {.algorithm = Algorithm::scatter_binomial,
     .name = "scatter_binomial",
     .collective = Collective::scatter,
     .build = scatter_knomial,
     .in_place = InPlace::root,
     .scratch = {.a_rank = 1},
     .tuning = {.radix = 2}},
    {.algorithm = Algorithm::scatter_knomial,
     .name = "scatter_knomial",
     .collective = Collective::scatter,
     .build = scatter_knomial,
     .in_place = InPlace::root,
     .scratch = {.a_rank = 1},
     .reads = {.radix = true},
     .tuning = {.radix = 4}},
    {.algorithm = Algorithm::scatter_two_level,
     .name = "scatter_two_level",
     .collective = Collective::scatter,
     .build = scatter_two_level,
     .in_place = InPlace::root,
     .scratch = {.a_rank = 1},
     .reads = {.topology = true}},
    {.algorithm = Algorithm::scatter_direct,
     .name = "scatter_direct",
     .collective = Collective::scatter,
     .build = of_root<scatter_direct>,
     .in_place = InPlace::root,
     .reads = {.peers = true}},
    {.algorithm = Algorithm::allgather_linear,
     .name = "allgather_linear",
     .collective = Collective::allgather,
     .build = of_place<allgather_linear>,
     .in_place = InPlace::everyone,
     .listing = Listing::no_scratch},
    {.algorithm = Algorithm::allgather_ring,
     .name = "allgather_ring",
     .collective = Collective::allgather,
     .build = of_place<allgather_ring>,
     .in_place = InPlace::everyone,
     .ranks_max = 65536,
     .listing = Listing::no_scratch},
    {.algorithm = Algorithm::allgather_recursive_doubling,
     .name = "allgather_recursive_doubling",
     .collective = Collective::allgather,
     .build = allgather_exchange,
     .in_place = InPlace::everyone,
     .sizes = Sizes::power_of_ports,
     .tuning = {.ports = 1}},
    {.algorithm = Algorithm::allgather_exchange,
     .name = "allgather_exchange",
     .collective = Collective::allgather,
     .build = allgather_exchange,
     .in_place = InPlace::everyone,
     .sizes = Sizes::power_of_ports,
     .reads = {.ports = true},
     .tuning = {.ports = 3}},
    {.algorithm = Algorithm::allgather_bruck,
     .name = "allgather_bruck",
     .collective = Collective::allgather,
     .build = of_ports<allgather_bruck>,
     .in_place = InPlace::everyone,
     .scratch = {.a_rank = 1},
     .tuning = {.ports = 1}},
    {.algorithm = Algorithm::allgather_bruck_ports,
     .name = "allgather_bruck_ports",
     .collective = Collective::allgather,
     .build = of_ports<allgather_bruck>,
     .in_place = InPlace::everyone,
     .scratch = {.a_rank = 1},
     .reads = {.ports = true},
     .tuning = {.ports = 3}},
    {.algorithm = Algorithm::allgather_pipelined_bruck,
     .name = "allgather_pipelined_bruck",
     .collective = Collective::allgather,
     .build = allgather_pipelined_bruck,
     .in_place = InPlace::everyone,
     .ranks_max = 65536,
     .reads = {.ports = true},
     .tuning = {.ports = 1}},
    {.algorithm = Algorithm::allgather_neighbor_exchange,
     .name = "allgather_neighbor_exchange",
     .collective = Collective::allgather,
     .build = of_place<allgather_neighbor_exchange>,
     .in_place = InPlace::everyone,
     .sizes = Sizes::even,
     .ranks_max = 131072},
    {.algorithm = Algorithm::allgather_cayley,
     .name = "allgather_cayley",
     .collective = Collective::allgather,
     .build = allgather_cayley,
     .in_place = InPlace::everyone,
     .ranks_max = 65536,
     .reads = {.radix = true},
     .tuning = {.radix = 3}},
    {.algorithm = Algorithm::allgather_two_level,
     .name = "allgather_two_level",
     .collective = Collective::allgather,
     .build = allgather_two_level,
     .in_place = InPlace::everyone,
     .scratch = {.a_rank = 1},
     .reads = {.topology = true}},
    {.algorithm = Algorithm::allgather_direct,
     .name = "allgather_direct",
     .collective = Collective::allgather,
     .build = of_place<allgather_direct>,
     .in_place = InPlace::everyone,
     .reads = {.peers = true}},
    {.algorithm = Algorithm::allgatherv_bruck,
     .name = "allgatherv_bruck",
     .collective = Collective::allgatherv,
     .build = of_place<allgatherv_bruck>,
     .in_place = InPlace::everyone,
     .listing = Listing::rotated,
     .scratch = {.a_rank = 1}},
    {.algorithm = Algorithm::allgatherv_two_level,
     .name = "allgatherv_two_level",
     .collective = Collective::allgatherv,
     .build = allgatherv_two_level,
     .in_place = InPlace::everyone,
     .listing = Listing::by_position,
     .scratch = {.a_rank = 1},
     .reads = {.topology = true}},
    {.algorithm = Algorithm::alltoall_pairwise,
     .name = "alltoall_pairwise",
     .collective = Collective::alltoall,
     .build = of_window<alltoall_pairwise>,
     .in_place = InPlace::everyone,
     .listing = Listing::as_receive,
     .scratch = {.a_rank = 1},
     .tuning = {.window = UINT32_MAX}},
    {.algorithm = Algorithm::alltoall_throttled,
     .name = "alltoall_throttled",
     .collective = Collective::alltoall,
     .build = of_window<alltoall_pairwise>,
     .in_place = InPlace::everyone,
     .listing = Listing::as_receive,
     .scratch = {.a_rank = 1},
     .reads = {.window = true},
     .tuning = {.window = 4}},
    {.algorithm = Algorithm::alltoall_bruck,
     .name = "alltoall_bruck",
     .collective = Collective::alltoall,
     .build = of_place<alltoall_bruck>,
     .in_place = InPlace::everyone,
     .scratch = {.vectors = 1, .a_rank = 2}},
    {.algorithm = Algorithm::alltoall_two_level,
     .name = "alltoall_two_level",
     .collective = Collective::alltoall,
     .build = alltoall_two_level,
     .in_place = InPlace::everyone,
     .scratch = {.a_member = 4},
     .reads = {.topology = true}},
    {.algorithm = Algorithm::alltoall_direct,
     .name = "alltoall_direct",
     .collective = Collective::alltoall,
     .build = of_place<alltoall_direct>,
     .in_place = InPlace::everyone,
     .scratch = {.a_rank = 1},
     .reads = {.peers = true}},
    {.algorithm = Algorithm::scan_linear,
     .name = "scan_linear",
     .collective = Collective::scan,
     .build = of_place<scan_linear>,
     .in_place = InPlace::everyone,
     .scratch = {.vectors = 1}},
    {.algorithm = Algorithm::scan_doubling,
     .name = "scan_doubling",
     .collective = Collective::scan,
     .build = of_place<scan_doubling>,
     .in_place = InPlace::everyone,
     .scratch = {.vectors = 2}},
    {.algorithm = Algorithm::scan_two_level,
     .name = "scan_two_level",
     .collective = Collective::scan,
     .build = scan_two_level,
     .in_place = InPlace::everyone,
     .scratch = {.vectors = 4, .a_partner = 1},
     .reads = {.topology = true}},
    {.algorithm = Algorithm::exscan_doubling,
     .name = "exscan_doubling",
     .collective = Collective::exscan,
     .build = of_place<exscan_doubling>,
     .in_place = InPlace::everyone,
     .scratch = {.vectors = 3}},
    {.algorithm = Algorithm::exscan_two_level,
     .name = "exscan_two_level",
     .collective = Collective::exscan,
     .build = exscan_two_level,
     .in_place = InPlace::everyone,
     .scratch = {.vectors = 4, .a_partner = 1},
     .reads = {.topology = true}},
    {.algorithm = Algorithm::reduce_scatter_halving,
     .name = "reduce_scatter_halving",
     .collective = Collective::reduce_scatter,
     .build = of_place<reduce_scatter_halving>,
     .in_place = InPlace::everyone,
     .keeps_order = false,
     .listing = Listing::as_send,
     .scratch = {.vectors = 2}},
    {.algorithm = Algorithm::reduce_scatter_binomial,
     .name = "reduce_scatter_binomial",
     .collective = Collective::reduce_scatter,
     .build = of_place<reduce_scatter_binomial>,
     .in_place = InPlace::everyone,
     .listing = Listing::as_send,
     .scratch = {.a_partner = 1}},
    {.algorithm = Algorithm::reduce_scatter_ring,
     .name = "reduce_scatter_ring",
     .collective = Collective::reduce_scatter,
     .build = of_place<reduce_scatter_ring>,
     .in_place = InPlace::everyone,
     .keeps_order = false,
     .ranks_max = 65536,
     .listing = Listing::as_send,
     .scratch = {.vectors = 1}},
    {.algorithm = Algorithm::reduce_scatter_pairwise,
     .name = "reduce_scatter_pairwise",
     .collective = Collective::reduce_scatter,
     .build = of_place<reduce_scatter_pairwise>,
     .in_place = InPlace::everyone,
     .scratch = {.vectors = 1}},
    {.algorithm = Algorithm::reduce_scatter_two_level,
     .name = "reduce_scatter_two_level",
     .collective = Collective::reduce_scatter,
     .build = reduce_scatter_two_level,
     .in_place = InPlace::everyone,
     .keeps_order = false,
     .keeps_order_of_nodes = true,
     .ranks_max = 65536,
     .listing = Listing::by_node,
     .scratch = {.a_partner = 1, .a_node = 1},
     .reads = {.topology = true}},
    {.algorithm = Algorithm::reduce_scatter_direct,
     .name = "reduce_scatter_direct",
     .collective = Collective::reduce_scatter,
     .build = of_place<reduce_scatter_direct>,
     .in_place = InPlace::everyone,
     .scratch = {.a_rank = 1},
     .reads = {.peers = true}},
};

constexpr bool is_in_order()
{
    for (std::size_t i = 0; i < std::size(rows); ++i) {
        if (static_cast<std::size_t>(rows[i].algorithm) != i) {
            return false;
        }
    }
    return true;
}
static_assert(is_in_order());

constexpr std::string_view collective_names[] = {
    "barrier", "bcast",     "reduce",         "allreduce",          "gather",
    "scatter", "allgather", "allgatherv",     "alltoall",           "alltoallv",
    "scan",    "exscan",    "reduce_scatter", "neighbor_allgather", "neighbor_alltoall",
};
static_assert(std::size(collective_names) ==
              static_cast<std::size_t>(Collective::neighbor_alltoall) + 1);

}  // namespace

std::string_view name_of(Collective collective) noexcept
{
    return collective_names[static_cast<std::size_t>(collective)];
}

std::span<const Row> table() noexcept
{
    return rows;
}

const Row& row_of(Algorithm algorithm) noexcept
{
    return rows[static_cast<std::size_t>(algorithm)];
}

const Row* find_row(std::string_view name) noexcept
{
    const Row* const found = std::ranges::find(rows, name, &Row::name);
    return found != std::end(rows) ? found : nullptr;
}

namespace {

std::vector<std::uint32_t> owners_by_node(Place place, const Topology& topology)
{
    const std::uint32_t node = topology.node_of(place.rank);
    const auto ranks = topology.ranks_of(node);
    std::vector<std::uint32_t> owners;
    const auto add_vector = [&] {
        owners.resize(owners.size() + place.size);
        std::iota(owners.end() - static_cast<std::ptrdiff_t>(place.size), owners.end(), 0U);
    };
    if (place.rank != ranks.front()) {
        add_vector();
        return owners;
    }
    for (std::uint32_t row = 0; row < topology.node_count(); ++row) {
        owners.insert(owners.end(), ranks.begin(), ranks.end());
    }
    // A vector for each child in a binomial tree.
    for (auto child = std::bit_width(ranks.size() - 1); child != 0; --child) {
        add_vector();
    }
    return owners;
}

}  // namespace

std::vector<std::uint32_t> scratch_owners(Listing listing, Place place, const Topology* topology)
{
    if (listing == Listing::by_node) {
        return owners_by_node(place, *topology);
    }
    if (listing == Listing::by_position) {
        return {topology->by_position().begin(), topology->by_position().end()};
    }
    std::vector<std::uint32_t> owners(place.size);
    for (std::uint32_t block = 0; block < place.size; ++block) {
        owners[block] = listing == Listing::rotated ? (place.rank + block) % place.size : block;
    }
    return owners;
}

bool fits(const Row& row, std::uint32_t size, const Tuning& tuning) noexcept
{
    std::uint64_t power = 1;
    if (size > row.ranks_max) {
        return false;
    }
    switch (row.sizes) {
        case Sizes::any:
            return true;
        case Sizes::even:
            return size % 2 == 0;
        case Sizes::power_of_ports:
            break;
    }
    while (power < size) {
        power *= std::uint64_t{tuning.ports} + 1;
    }
    return power == size;
}

}  // namespace headway::protocol::coll
