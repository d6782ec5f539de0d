// SPDX-License-Identifier: Apache-2.0
#include "study/sweep.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <utility>

#include "protocol/coll/select.hpp"
#include "study/traffic.hpp"

namespace headway::study {

using coll::Algorithm;
using coll::Listing;

std::string Case::sentence() const
{
    std::string text = std::string(row->name) + ", " + std::to_string(size) + " ranks";
    if (coll::is_rooted(row->collective)) {
        text += ", root " + std::to_string(root);
    }
    const auto add = [&](bool is_read, const char* name, std::uint32_t value) {
        text += is_read ? std::string(", ") + name + " " + std::to_string(value) : "";
    };
    add(row->reads.radix, "radix", tuning.radix);
    add(row->reads.ports, "ports", tuning.ports);
    add(row->reads.window, "window", tuning.window);
    add(row->reads.segments, "segments", tuning.segments);
    if (!node_of_rank.empty()) {
        text += ", nodes";
        for (const std::uint32_t node : node_of_rank) {
            text += " " + std::to_string(node);
        }
    }
    return text + (in_place ? ", in place" : "") + (is_listed ? ", listed blocks" : "");
}

namespace {

/// Into which a graph cuts the vector; 0: not at all.
std::uint32_t pieces_of(const engine::Graph& graph)
{
    return graph.blocks == engine::Blocks::split ? graph.block_count : 0;
}

}  // namespace

Posed pose(const Case& one)
{
    Posed posed;
    const coll::Row& row = *one.row;
    const std::optional<coll::Topology> topology =
        one.node_of_rank.empty() ? std::nullopt : std::optional<coll::Topology>(one.node_of_rank);
    Setting setting{.collective = row.collective,
                    .size = one.size,
                    .root = one.root,
                    .in_place = one.in_place ? row.in_place : coll::InPlace::nobody,
                    .is_ordered = row.keeps_order || (row.keeps_order_of_nodes && topology &&
                                                      topology->is_contiguous()),
                    .listing = one.is_listed ? row.listing : Listing::no,
                    .topology = topology ? &*topology : nullptr};
    coll::Call call{
        .root = one.root, .tuning = one.tuning, .topology = topology ? &*topology : nullptr};
    for (std::uint32_t rank = 0; rank < one.size; ++rank) {
        call.place = {rank, one.size, setting.is_in_place(rank)};
        posed.graphs.push_back(row.build(call));
        posed.scratch_blocks_max.push_back(
            scratch_blocks_max(row, call, pieces_of(posed.graphs.back())));
    }
    setting.pieces = pieces_of(posed.graphs[0]);
    posed.contract = contract_of(setting);
    posed.traffic = traffic_of(row, call, {setting.pieces, one.is_listed, one.in_place});
    return posed;
}

std::optional<std::string> examine(const Posed& posed)
{
    Verifier verifier;
    return examine(posed, verifier);
}

std::optional<std::string> examine(const Posed& posed, Verifier& verifier)
{
    const Verdict verdict = verifier.verify(posed.graphs, posed.contract);
    if (verdict.fault) {
        return verdict.fault;
    }
    for (std::size_t rank = 0; rank < posed.graphs.size(); ++rank) {
        const std::uint64_t blocks = posed.graphs[rank].scratch_blocks;
        if (blocks > posed.scratch_blocks_max[rank]) {
            return "rank " + std::to_string(rank) + " takes " + std::to_string(blocks) +
                   " blocks of scratch, but its bound says " +
                   std::to_string(posed.scratch_blocks_max[rank]);
        }
    }
    if (verdict.traffic == posed.traffic) {
        return std::nullopt;
    }
    const auto say = [](const Traffic& traffic) {
        return std::to_string(traffic.messages) + " messages of " + std::to_string(traffic.blocks) +
               " blocks and " + std::to_string(traffic.bytes) + " bytes in all";
    };
    return "sends " + say(verdict.traffic) + ", but its formula says " + say(posed.traffic);
}

namespace {

std::vector<std::uint32_t> sizes_of(const Reach& reach)
{
    std::vector<std::uint32_t> sizes(reach.through);
    std::iota(sizes.begin(), sizes.end(), 1U);
    sizes.insert(sizes.end(), reach.samples.begin(), reach.samples.end());
    return sizes;
}

std::vector<std::uint32_t> roots_of(bool has_root, std::uint32_t size, const Reach& reach)
{
    if (!has_root) {
        return {0};
    }
    if (size <= reach.all_roots_through) {
        std::vector<std::uint32_t> all(size);
        std::iota(all.begin(), all.end(), 0U);
        return all;
    }
    const std::set<std::uint32_t> some{0, 1, size / 3, size / 2, size - 2, size - 1};
    return {some.begin(), some.end()};
}

std::vector<coll::Tuning> tunings_of(const coll::Row& row, const Reach& reach)
{
    std::vector<coll::Tuning> all{row.tuning};
    if (!reach.has_all_tunings) {
        return all;
    }
    const auto vary = [&](bool is_read, std::uint32_t coll::Tuning::* field,
                          std::initializer_list<std::uint32_t> values) {
        if (!is_read) {
            return;
        }
        std::vector<coll::Tuning> varied;
        for (const coll::Tuning& tuning : all) {
            for (const std::uint32_t value : values) {
                varied.push_back(tuning);
                varied.back().*field = value;
            }
        }
        all = std::move(varied);
    };
    vary(row.reads.radix, &coll::Tuning::radix, {2, 3, 5});
    vary(row.reads.ports, &coll::Tuning::ports, {1, 2, 3});
    vary(row.reads.window, &coll::Tuning::window, {1, 3});
    vary(row.reads.segments, &coll::Tuning::segments, {1, 4});
    return all;
}

/// Nodes of one rank, of all, of neighbours, dealt in turn, and of sizes that differ, mixed by
/// seed.
std::vector<std::vector<std::uint32_t>> topologies_of(const coll::Row& row, std::uint32_t size)
{
    if (!row.reads.topology) {
        return {{}};
    }
    std::vector<std::vector<std::uint32_t>> all(5, std::vector<std::uint32_t>(size));
    std::minstd_rand dice(size);
    for (std::uint32_t rank = 0; rank < size; ++rank) {
        all[1][rank] = rank;
        all[2][rank] = rank / 3;
        all[3][rank] = rank % 4;
        all[4][rank] = static_cast<std::uint32_t>(dice() % 5 * (dice() % 3));
    }
    std::ranges::sort(all);
    all.erase(std::ranges::unique(all).begin(), all.end());
    return all;
}

/// Examines one case; returns whether the sweep goes on.
bool examine_case(const Case& one, Verifier& verifier, Swept& swept)
{
    const Posed posed = pose(one);
    ++swept.cases;
    swept.messages += posed.traffic.messages;
    if (const auto fault = examine(posed, verifier)) {
        swept.fault = one.sentence() + ": " + *fault;
    }
    return !swept.fault;
}

bool sweep_size(const coll::Row& row, std::uint32_t size, const Reach& reach, Verifier& verifier,
                Swept& swept)
{
    const auto tunings = tunings_of(row, reach);
    const auto topologies = topologies_of(row, size);
    for (const std::uint32_t root : roots_of(coll::is_rooted(row.collective), size, reach)) {
        for (const coll::Tuning& tuning : tunings) {
            for (const auto& nodes : topologies) {
                for (const int variant : {0, 1, 2, 3}) {
                    const Case one{&row,   size, root, (variant & 1) != 0, (variant & 2) != 0,
                                   tuning, nodes};
                    const bool exists = (!one.in_place || row.in_place != coll::InPlace::nobody) &&
                                        (!one.is_listed || row.listing != Listing::no);
                    if (exists && coll::fits(row, size, tuning) &&
                        !examine_case(one, verifier, swept)) {
                        return false;
                    }
                }
            }
        }
    }
    return true;
}

}  // namespace

Swept sweep(const coll::Row& row, const Reach& reach)
{
    Swept swept;
    Verifier verifier;
    for (const std::uint32_t size : sizes_of(reach)) {
        if (!sweep_size(row, size, reach, verifier, swept)) {
            break;
        }
    }
    return swept;
}

namespace {

coll::Collective collective_of(Algorithm algorithm)
{
    switch (algorithm) {
        case Algorithm::inter_bcast:
            return coll::Collective::bcast;
        case Algorithm::inter_reduce:
            return coll::Collective::reduce;
        case Algorithm::inter_allreduce:
            return coll::Collective::allreduce;
        case Algorithm::inter_gather:
            return coll::Collective::gather;
        case Algorithm::inter_scatter:
            return coll::Collective::scatter;
        case Algorithm::inter_allgather:
            return coll::Collective::allgather;
        case Algorithm::inter_alltoall:
            return coll::Collective::alltoall;
        case Algorithm::inter_reduce_scatter:
            return coll::Collective::reduce_scatter;
        default:
            return coll::Collective::barrier;
    }
}

}  // namespace

Posed pose_between_groups(Algorithm algorithm, std::uint32_t size, std::uint32_t first_size,
                          std::uint32_t root)
{
    const coll::Collective collective = collective_of(algorithm);
    Posed posed;
    for (std::uint32_t rank = 0; rank < size; ++rank) {
        posed.graphs.push_back(coll::build_between_groups(algorithm, {rank, size, first_size},
                                                          root_named_to(rank, root, first_size)));
        posed.scratch_blocks_max.push_back(scratch_blocks_between_groups(
            algorithm, rank < first_size ? first_size : size - first_size));
    }
    posed.contract = contract_between_groups(collective, size, first_size, root);
    const std::uint32_t with_root = root < first_size ? first_size : size - first_size;
    posed.traffic = traffic_between_groups(algorithm, with_root, size - with_root);
    return posed;
}

Swept sweep_between_groups(Algorithm algorithm, const Reach& reach)
{
    Swept swept;
    Verifier verifier;
    const coll::Collective collective = collective_of(algorithm);
    for (const std::uint32_t size : sizes_of(reach)) {
        for (std::uint32_t first = 1; first < size; ++first) {
            // Uniform blocks can be scattered between groups of one size only.
            const bool fits = collective != coll::Collective::reduce_scatter || 2 * first == size;
            const bool is_sampled = size <= reach.all_roots_through || first < 4 ||
                                    first + 4 > size || first == size / 2;
            if (!fits || !is_sampled) {
                continue;
            }
            for (const std::uint32_t root : roots_of(coll::is_rooted(collective), size, reach)) {
                const Posed posed = pose_between_groups(algorithm, size, first, root);
                ++swept.cases;
                swept.messages += posed.traffic.messages;
                if (const auto fault = examine(posed, verifier)) {
                    swept.fault = "between groups of " + std::to_string(first) + " and " +
                                  std::to_string(size - first) + " ranks, root " +
                                  std::to_string(root) + ": " + *fault;
                    return swept;
                }
            }
        }
    }
    return swept;
}

Posed pose_neighbors(const Neighborhoods& all, bool has_one_block)
{
    Posed posed;
    for (std::size_t rank = 0; rank < all.sources.size(); ++rank) {
        posed.graphs.push_back(coll::neighbor_exchange(
            {all.sources[rank], all.destinations[rank], all.are_opposite}, has_one_block));
        posed.traffic.messages +=
            all.sources[rank].size() -
            static_cast<std::size_t>(std::ranges::count(all.sources[rank], -1));
    }
    posed.traffic.blocks = posed.traffic.messages;
    posed.traffic.bytes = posed.traffic.blocks * bytes_of_size(0);
    posed.scratch_blocks_max.resize(posed.graphs.size());  // there is none
    posed.contract =
        contract_of_neighbors(all.sources, all.destinations, all.are_opposite, has_one_block);
    return posed;
}

namespace {

Neighborhoods drawn_by(std::uint32_t seed, std::uint32_t size)
{
    Neighborhoods all;
    all.sources.resize(size);
    all.destinations.resize(size);
    std::minstd_rand dice(seed);
    for (std::uint32_t edge = 0; edge < 3 * size; ++edge) {
        const std::uint32_t from = static_cast<std::uint32_t>(dice() % size);
        const std::uint32_t to = static_cast<std::uint32_t>(dice() % size);
        // Messages to oneself go another way, and parallel edges are common in small graphs.
        if (from != to) {
            all.destinations[from].push_back(static_cast<int>(to));
            all.sources[to].push_back(static_cast<int>(from));
        }
    }
    return all;
}

bool examine_neighbors(const Neighborhoods& all, const std::string& name, Verifier& verifier,
                       Swept& swept)
{
    for (const bool has_one_block : {false, true}) {
        const Posed posed = pose_neighbors(all, has_one_block);
        ++swept.cases;
        swept.messages += posed.traffic.messages;
        if (const auto fault = examine(posed, verifier)) {
            swept.fault = "neighbor_exchange on " + name + ": " + *fault;
            return false;
        }
    }
    return true;
}

}  // namespace

Swept sweep_neighbors(const Reach& reach)
{
    Swept swept;
    Verifier verifier;
    for (const std::uint32_t size : sizes_of(reach)) {
        if (!examine_neighbors(drawn_by(size, size), "a graph of " + std::to_string(size), verifier,
                               swept)) {
            return swept;
        }
    }
    for (int width = 2; width < 6; ++width) {
        for (int height = 1; height < 5; ++height) {
            if (!examine_neighbors(
                    grid(width, height),
                    "a grid of " + std::to_string(width) + " x " + std::to_string(height), verifier,
                    swept)) {
                return swept;
            }
        }
    }
    return swept;
}

}  // namespace headway::study
