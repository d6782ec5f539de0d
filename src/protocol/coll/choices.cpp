// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/choices.hpp"

#include <algorithm>

#include "base/mix.hpp"

namespace headway::protocol::coll {

namespace {

constexpr Range from(std::uint64_t first)
{
    return {first, UINT64_MAX};
}

constexpr Range below(std::uint64_t end)
{
    return {0, end - 1};
}

// Where the long-message algorithms begin to pay: by ping-pong figures of one node. Ranks that
// share cores: measured at 4, 8 and 16 ranks on 2 cores. Calls that block meet there instead
// (docs/design/026), of which the linear allreduce has the order; its rank 0 keeps a vector of
// every rank, so long ones are for few. Two levels: simulated at 2 to 16 nodes of 2 to 36
// ranks, on a fast network and on one like sockets (docs/design/021). Direct ones: measured with
// ranks as threads and user-level ones, 2 to 16 of them on 2 cores; between processes they lose.
constexpr Choice built_in[] = {
    {.collective = Collective::barrier,
     .cores = Cores::shared,
     .algorithm = Algorithm::barrier_linear},
    {.collective = Collective::barrier,
     .nodes = Nodes::several,
     .algorithm = Algorithm::barrier_two_level},
    {.collective = Collective::barrier, .algorithm = Algorithm::barrier_dissemination},
    {.collective = Collective::bcast,
     .nodes = Nodes::process,
     .algorithm = Algorithm::bcast_direct,
     .ranks = from(3),
     .bytes = from(32 * 1024)},
    {.collective = Collective::bcast,
     .algorithm = Algorithm::bcast_scatter_ring,
     .ranks = from(3),
     .bytes = from(128 * 1024)},
    {.collective = Collective::bcast,
     .nodes = Nodes::several,
     .algorithm = Algorithm::bcast_two_level},
    {.collective = Collective::bcast, .algorithm = Algorithm::bcast_binomial},
    {.collective = Collective::reduce,
     .nodes = Nodes::several,
     .algorithm = Algorithm::reduce_two_level},
    {.collective = Collective::reduce,
     .cores = Cores::own,
     .algorithm = Algorithm::reduce_pipelined_chain,
     .ranks = {2, 2},
     .bytes = from(512 * 1024)},
    {.collective = Collective::reduce, .algorithm = Algorithm::reduce_binomial},
    {.collective = Collective::allreduce,
     .nodes = Nodes::process,
     .algorithm = Algorithm::allreduce_direct,
     .ranks = {2, 4},
     .bytes = from(64 * 1024)},
    {.collective = Collective::allreduce,
     .nodes = Nodes::process,
     .algorithm = Algorithm::allreduce_direct,
     .ranks = from(5),
     .bytes = from(256 * 1024)},
    {.collective = Collective::allreduce,
     .cores = Cores::shared,
     .algorithm = Algorithm::allreduce_linear,
     .ranks = from(3),
     .bytes = below(4 * 1024)},
    {.collective = Collective::allreduce,
     .cores = Cores::shared,
     .algorithm = Algorithm::allreduce_linear,
     .ranks = {3, 16},
     .bytes = {0, 1024 * 1024}},
    {.collective = Collective::allreduce,
     .cores = Cores::shared,
     .algorithm = Algorithm::allreduce_linear,
     .ranks = {3, 32},
     .bytes = {0, 256 * 1024}},
    {.collective = Collective::allreduce,
     .nodes = Nodes::several,
     .algorithm = Algorithm::allreduce_many_leads,
     .bytes = from(64 * 1024)},
    {.collective = Collective::allreduce,
     .nodes = Nodes::several,
     .algorithm = Algorithm::allreduce_two_level},
    {.collective = Collective::allreduce,
     .algorithm = Algorithm::allreduce_halving_doubling,
     .bytes = from(16 * 1024)},
    {.collective = Collective::allreduce, .algorithm = Algorithm::allreduce_recursive_doubling},
    {.collective = Collective::gather, .algorithm = Algorithm::gather_flat},
    {.collective = Collective::scatter,
     .nodes = Nodes::process,
     .algorithm = Algorithm::scatter_direct,
     .ranks = {2, 4},
     .bytes = from(32 * 1024)},
    {.collective = Collective::scatter, .algorithm = Algorithm::scatter_flat},
    {.collective = Collective::allgather,
     .nodes = Nodes::process,
     .algorithm = Algorithm::allgather_direct,
     .ranks = from(7),
     .bytes = from(4 * 1024)},
    {.collective = Collective::allgather,
     .nodes = Nodes::process,
     .algorithm = Algorithm::allgather_direct,
     .ranks = from(2),
     .bytes = from(16 * 1024)},
    {.collective = Collective::allgather,
     .nodes = Nodes::several,
     .algorithm = Algorithm::allgather_two_level,
     .ranks = from(3),
     .bytes = below(4 * 1024)},
    {.collective = Collective::allgather,
     .cores = Cores::shared,
     .algorithm = Algorithm::allgather_exchange,
     .ranks = {4, 4},
     .bytes = {2 * 1024, 32 * 1024},
     .tuning = {.ports = 3}},
    {.collective = Collective::allgather,
     .cores = Cores::shared,
     .algorithm = Algorithm::allgather_linear,
     .ranks = {3, 6},
     .bytes = {0, 64 * 1024}},
    {.collective = Collective::allgather,
     .algorithm = Algorithm::allgather_bruck,
     .ranks = from(3),
     .bytes = below(4 * 1024)},
    {.collective = Collective::allgather,
     .cores = Cores::shared,
     .algorithm = Algorithm::allgather_linear,
     .ranks = from(7),
     .bytes = {4 * 1024, 64 * 1024}},
    {.collective = Collective::allgather, .algorithm = Algorithm::allgather_ring},
    {.collective = Collective::allgather, .algorithm = Algorithm::allgather_bruck},
    {.collective = Collective::allgatherv,
     .nodes = Nodes::several,
     .algorithm = Algorithm::allgatherv_two_level,
     .ranks = from(3),
     .bytes = below(4 * 1024)},
    {.collective = Collective::allgatherv,
     .algorithm = Algorithm::allgatherv_bruck,
     .ranks = from(3),
     .bytes = below(4 * 1024)},
    {.collective = Collective::allgatherv, .algorithm = Algorithm::allgather_ring},
    {.collective = Collective::allgatherv, .algorithm = Algorithm::allgatherv_bruck},
    {.collective = Collective::alltoall,
     .nodes = Nodes::process,
     .algorithm = Algorithm::alltoall_direct,
     .ranks = from(7),
     .bytes = from(4 * 1024)},
    {.collective = Collective::alltoall,
     .nodes = Nodes::process,
     .algorithm = Algorithm::alltoall_direct,
     .ranks = from(2),
     .bytes = from(32 * 1024)},
    {.collective = Collective::alltoall,
     .algorithm = Algorithm::alltoall_bruck,
     .ranks = from(8),
     .bytes = below(256)},
    {.collective = Collective::alltoall, .algorithm = Algorithm::alltoall_pairwise},
    {.collective = Collective::alltoallv, .algorithm = Algorithm::alltoall_pairwise},
    {.collective = Collective::scan,
     .nodes = Nodes::several,
     .algorithm = Algorithm::scan_two_level},
    {.collective = Collective::scan, .algorithm = Algorithm::scan_doubling},
    {.collective = Collective::exscan,
     .nodes = Nodes::several,
     .algorithm = Algorithm::exscan_two_level},
    {.collective = Collective::exscan, .algorithm = Algorithm::exscan_doubling},
    {.collective = Collective::reduce_scatter,
     .nodes = Nodes::process,
     .algorithm = Algorithm::reduce_scatter_direct,
     .ranks = from(2),
     .bytes = from(16 * 1024)},
    {.collective = Collective::reduce_scatter,
     .nodes = Nodes::several,
     .algorithm = Algorithm::reduce_scatter_two_level,
     .bytes = below(8 * 1024)},
    {.collective = Collective::reduce_scatter,
     .nodes = Nodes::levels,
     .algorithm = Algorithm::reduce_scatter_ring,
     .ranks = from(3),
     .bytes = from(8 * 1024)},
    {.collective = Collective::reduce_scatter, .algorithm = Algorithm::reduce_scatter_halving},
    {.collective = Collective::reduce_scatter, .algorithm = Algorithm::reduce_scatter_binomial},
};

std::uint64_t digest_of(const Choice& choice, std::uint64_t before) noexcept
{
    std::uint64_t digest = before;
    for (const std::uint64_t part :
         {static_cast<std::uint64_t>(choice.collective), static_cast<std::uint64_t>(choice.cores),
          static_cast<std::uint64_t>(choice.nodes), static_cast<std::uint64_t>(choice.algorithm),
          choice.ranks.first, choice.ranks.last, choice.bytes.first, choice.bytes.last,
          std::uint64_t{choice.tuning.radix}, std::uint64_t{choice.tuning.ports},
          std::uint64_t{choice.tuning.window}, std::uint64_t{choice.tuning.segments}}) {
        digest = base::mix(digest + part + 1);
    }
    return digest;
}

}  // namespace

bool can_be_chosen(const Row& row, Collective collective) noexcept
{
    switch (collective) {
        case Collective::allgatherv:
            return row.listing != Listing::no && (row.collective == Collective::allgather ||
                                                  row.collective == Collective::allgatherv);
        case Collective::alltoallv:
            return row.listing != Listing::no && row.collective == Collective::alltoall;
        default:
            return row.collective == collective;
    }
}

bool Choices::has_room_for(std::size_t lines) noexcept
{
    return lines <= lines_max - std::size(built_in);
}

Choices::Choices(std::span<const Choice> first) noexcept
{
    std::size_t count = 0;
    const auto add = [&](Choice choice) {
        const auto end = lines_.begin() + static_cast<std::ptrdiff_t>(count);
        const auto same = std::find_if(lines_.begin(), end, [&](const Choice& other) {
            return other.algorithm == choice.algorithm && other.tuning == choice.tuning;
        });
        choice.graph_number = same != end ? same->graph_number : static_cast<std::uint16_t>(count);
        const Row& row = row_of(choice.algorithm);
        choice.keeps_order = row.keeps_order;
        choice.keeps_order_of_nodes = row.keeps_order_of_nodes;
        choice.takes_listed = row.listing != Listing::no;
        choice.needs_levels = row.reads.topology;
        choice.needs_peers = row.reads.peers;
        choice.takes_any_size = row.sizes == Sizes::any && row.ranks_max == UINT32_MAX;
        lines_[count++] = choice;
    };
    for (std::size_t collective = 0; collective < chosen_collectives; ++collective) {
        begins_[collective] = static_cast<std::uint16_t>(count);
        for (const Choice& choice : first) {
            if (static_cast<std::size_t>(choice.collective) == collective) {
                add(choice);
            }
        }
        for (Choice choice : built_in) {
            if (static_cast<std::size_t>(choice.collective) == collective) {
                choice.tuning = row_of(choice.algorithm).tuning;
                choice.is_built_in = true;
                add(choice);
            }
        }
    }
    begins_[chosen_collectives] = static_cast<std::uint16_t>(count);
}

std::span<const Choice> Choices::of(Collective collective) const noexcept
{
    const auto index = static_cast<std::size_t>(collective);
    return {lines_.data() + begins_[index], lines_.data() + begins_[index + 1]};
}

std::uint64_t Choices::digest() const noexcept
{
    std::uint64_t digest = 0;
    for (std::size_t i = 0; i < begins_[chosen_collectives]; ++i) {
        digest = digest_of(lines_[i], digest);
    }
    return digest;
}

}  // namespace headway::protocol::coll
