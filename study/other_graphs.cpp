// SPDX-License-Identifier: Apache-2.0
#include "study/other_graphs.hpp"

#include <algorithm>
#include <memory>
#include <numeric>

#include "protocol/coll/select.hpp"
#include "study/traffic.hpp"

namespace headway::study {

namespace {

using coll::Algorithm;

using Named = NamedAlgorithm;

constexpr Named between_groups[] = {
    {"inter_bcast", Algorithm::inter_bcast},
    {"inter_reduce", Algorithm::inter_reduce},
    {"inter_allreduce", Algorithm::inter_allreduce},
    {"inter_gather", Algorithm::inter_gather},
    {"inter_scatter", Algorithm::inter_scatter},
    {"inter_allgather", Algorithm::inter_allgather},
    {"inter_alltoall", Algorithm::inter_alltoall},
    {"inter_reduce_scatter", Algorithm::inter_reduce_scatter},
};
constexpr Named of_neighbors[] = {
    {"neighbor_allgather", Algorithm::neighbor_allgather},
    {"neighbor_alltoall", Algorithm::neighbor_alltoall},
};

const Named* find(std::span<const Named> all, std::string_view name)
{
    const auto found = std::ranges::find(all, name, &Named::name);
    return found != all.end() ? &*found : nullptr;
}

base::Result<OtherGraphs> graphs_between(const Named& named, const OtherCall& call)
{
    const std::uint32_t first = call.first_size != 0 ? call.first_size : call.size / 2;
    if (call.width != 0) {
        return base::Failure{"--width is for collectives of neighbours; leave it out"};
    }
    if (first == 0 || first >= call.size) {
        return base::Failure{"--first is " + std::to_string(first) + " of " +
                             std::to_string(call.size) +
                             " ranks; either group wants one rank at least"};
    }
    if (named.algorithm == Algorithm::inter_reduce_scatter && 2 * first != call.size) {
        return base::Failure{
            "inter_reduce_scatter of equal blocks wants groups of one size; let "
            "--first be half of the ranks"};
    }
    const std::uint32_t with_root = call.root < first ? first : call.size - first;
    return OtherGraphs{
        .name = named.name,
        .messages =
            traffic_between_groups(named.algorithm, with_root, call.size - with_root).messages,
        .build = [algorithm = named.algorithm, call, first](std::uint32_t rank) {
            return coll::build_between_groups(algorithm, {rank, call.size, first},
                                              root_named_to(rank, call.root, first));
        }};
}

std::uint64_t messages_of(const Neighborhoods& all)
{
    return std::accumulate(all.sources.begin(), all.sources.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const std::vector<int>& each) {
                               const auto nobody = std::ranges::count(each, -1);
                               return sum + each.size() - static_cast<std::uint64_t>(nobody);
                           });
}

base::Result<OtherGraphs> graphs_of_neighbors(const Named& named, const OtherCall& call)
{
    if (call.first_size != 0) {
        return base::Failure{"--first is for collectives between groups; leave it out"};
    }
    std::uint32_t width = call.width;
    if (width == 0) {
        std::uint32_t height = 1;
        for (std::uint32_t each = 2; std::uint64_t{each} * each <= call.size; ++each) {
            height = call.size % each == 0 ? each : height;
        }
        width = call.size / height;
    }
    // In a circle of one a rank would send to itself, which goes another way.
    if (width < 2 || call.size % width != 0) {
        return base::Failure{"--width is " + std::to_string(width) + "; a grid of " +
                             std::to_string(call.size) +
                             " ranks wants one that divides them, 2 at least"};
    }
    const auto all = std::make_shared<const Neighborhoods>(
        grid(static_cast<int>(width), static_cast<int>(call.size / width)));
    const bool has_one_block = named.algorithm == Algorithm::neighbor_allgather;
    return OtherGraphs{.name = named.name,
                       .messages = messages_of(*all),
                       .build = [all, has_one_block](std::uint32_t rank) {
                           return coll::neighbor_exchange(
                               {all->sources[rank], all->destinations[rank], all->are_opposite},
                               has_one_block);
                       }};
}

}  // namespace

Neighborhoods grid(int width, int height)
{
    Neighborhoods all{.are_opposite = true};
    for (int rank = 0; rank < width * height; ++rank) {
        const int x = rank % width;
        const int y = rank / width;
        all.sources.push_back({y * width + (x + width - 1) % width, y * width + (x + 1) % width,
                               y > 0 ? rank - width : -1, y + 1 < height ? rank + width : -1});
    }
    all.destinations = all.sources;
    return all;
}

std::uint32_t root_named_to(std::uint32_t rank, std::uint32_t root, std::uint32_t first_size)
{
    const bool shares_group = (rank < first_size) == (root < first_size);
    return rank != root && shares_group ? coll::no_root : root;
}

std::span<const NamedAlgorithm> algorithms_between_groups() noexcept
{
    return between_groups;
}

bool is_other(std::string_view collective)
{
    return find(between_groups, collective) != nullptr || find(of_neighbors, collective) != nullptr;
}

std::string other_names()
{
    std::string text;
    for (const std::span<const Named> all :
         {std::span<const Named>(between_groups), std::span<const Named>(of_neighbors)}) {
        for (const Named& each : all) {
            text += (text.empty() ? "" : ", ") + std::string(each.name);
        }
    }
    return text;
}

base::Result<OtherGraphs> other_graphs(std::string_view collective, const OtherCall& call)
{
    const Named* const between = find(between_groups, collective);
    return between != nullptr ? graphs_between(*between, call)
                              : graphs_of_neighbors(*find(of_neighbors, collective), call);
}

}  // namespace headway::study
