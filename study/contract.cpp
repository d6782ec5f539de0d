// SPDX-License-Identifier: Apache-2.0
#include "study/contract.hpp"

#include <algorithm>
#include <numeric>

namespace headway::study {

using coll::Collective;
using coll::Listing;

namespace {

/// Names of sizes in a call of one group. Only where blocks are listed do they differ.
class Sizes {
  public:
    explicit Sizes(const Setting& setting) : setting_(setting) {}

    /// Of the one block that `rank` gives or gets.
    std::uint32_t of_rank(std::uint32_t rank) const
    {
        return setting_.listing == Listing::no ? 0 : rank;
    }
    /// Of what goes from one rank to another (alltoall).
    std::uint32_t of_pair(std::uint32_t from, std::uint32_t to) const
    {
        return setting_.listing == Listing::no ? 0 : from * setting_.size + to;
    }

  private:
    const Setting& setting_;
};

std::vector<std::uint32_t> scratch_sizes(const Setting& setting, std::uint32_t rank,
                                         const RankContract& facts)
{
    std::vector<std::uint32_t> sizes;
    if (setting.pieces != 0) {
        sizes.resize(setting.pieces);
        std::iota(sizes.begin(), sizes.end(), 0U);
    } else if (setting.listing == Listing::as_send) {
        std::ranges::transform(facts.send, std::back_inserter(sizes), &SendBlock::size);
    } else if (setting.listing == Listing::as_receive) {
        std::ranges::transform(facts.receive, std::back_inserter(sizes), &ReceiveBlock::size);
    } else if (setting.listing != Listing::no && setting.listing != Listing::no_scratch) {
        // A rank's block is named as the rank.
        sizes =
            coll::scratch_owners(setting.listing, {rank, setting.size, false}, setting.topology);
    }
    return sizes.empty() ? std::vector<std::uint32_t>{0} : sizes;
}

/// A vector of the call, in pieces: what `rank` contributes, and what it gets.
void add_vector(RankContract& facts, const Setting& setting, std::uint32_t rank, Wanted wanted,
                std::uint32_t first, std::uint32_t count)
{
    const bool is_root = rank == setting.root;
    const bool is_bcast = setting.collective == Collective::bcast;
    const bool gets = setting.collective != Collective::reduce || is_root;
    const std::uint32_t pieces = std::max(setting.pieces, 1U);
    for (std::uint32_t piece = 0; piece < pieces; ++piece) {
        const bool has_input = is_bcast ? is_root : setting.is_in_place(rank);
        if (!is_bcast && !has_input) {
            facts.send.push_back({{rank, piece}, piece});
        }
        if (gets) {
            facts.receive.push_back({.has_input = has_input,
                                     .input = {rank, piece},
                                     .wanted = wanted,
                                     .origin = {first, piece},
                                     .count = count,
                                     .size = piece});
        }
    }
}

/// `count` blocks of `from`, each of its own size, one to a rank.
void add_outgoing(RankContract& facts, std::uint32_t from, std::uint32_t count, const auto& size_of)
{
    for (std::uint32_t to = 0; to < count; ++to) {
        facts.send.push_back({{from, to}, size_of(to)});
    }
}

/// Gather and allgather: a block of each rank.
void add_gathered(RankContract& facts, const Setting& setting, std::uint32_t rank)
{
    const Sizes sizes(setting);
    const bool in_place = setting.is_in_place(rank);
    if (!in_place) {
        facts.send.push_back({{rank, 0}, sizes.of_rank(rank)});
    }
    const bool gets = setting.collective != Collective::gather || rank == setting.root;
    for (std::uint32_t from = 0; gets && from < setting.size; ++from) {
        facts.receive.push_back({.has_input = in_place && from == rank,
                                 .input = {rank, 0},
                                 .wanted = Wanted::input,
                                 .origin = {from, 0},
                                 .size = sizes.of_rank(from)});
    }
}

void add_alltoall(RankContract& facts, const Setting& setting, std::uint32_t rank)
{
    const Sizes sizes(setting);
    const bool in_place = setting.is_in_place(rank);
    for (std::uint32_t other = 0; other < setting.size; ++other) {
        // In place, what comes from a rank has the size of what goes to it (MPI-5.0 section 6.8).
        const std::uint32_t low = std::min(rank, other);
        const std::uint32_t high = std::max(rank, other);
        if (!in_place) {
            facts.send.push_back({{rank, other}, sizes.of_pair(rank, other)});
        }
        facts.receive.push_back(
            {.has_input = in_place,
             .input = {rank, other},
             .wanted = Wanted::input,
             .origin = {other, rank},
             .size = in_place ? sizes.of_pair(low, high) : sizes.of_pair(other, rank)});
    }
}

RankContract contract_of_rank(const Setting& setting, std::uint32_t rank)
{
    RankContract facts;
    const Sizes sizes(setting);
    const auto of_rank = [&](std::uint32_t other) { return sizes.of_rank(other); };
    switch (setting.collective) {
        case Collective::bcast:
            add_vector(facts, setting, rank, Wanted::input, setting.root, 1);
            break;
        case Collective::reduce:
        case Collective::allreduce:
            add_vector(facts, setting, rank, Wanted::combined, 0, setting.size);
            break;
        case Collective::scan:
            add_vector(facts, setting, rank, Wanted::combined, 0, rank + 1);
            break;
        case Collective::exscan:
            // Rank 0 gets nothing; in place its contribution stays.
            add_vector(facts, setting, rank, rank == 0 ? Wanted::untouched : Wanted::combined, 0,
                       rank);
            break;
        case Collective::gather:
        case Collective::allgather:
        case Collective::allgatherv:
            add_gathered(facts, setting, rank);
            break;
        case Collective::scatter:
            if (rank == setting.root) {
                add_outgoing(facts, rank, setting.size, of_rank);
            }
            if (!setting.is_in_place(rank)) {
                facts.receive.push_back({.wanted = Wanted::input,
                                         .origin = {setting.root, rank},
                                         .size = sizes.of_rank(rank)});
            }
            break;
        case Collective::alltoall:
        case Collective::alltoallv:
            add_alltoall(facts, setting, rank);
            break;
        case Collective::reduce_scatter:
            add_outgoing(facts, rank, setting.size, of_rank);
            if (setting.size > 1 || !setting.is_in_place(rank)) {
                facts.receive.push_back({.wanted = Wanted::combined,
                                         .origin = {0, rank},
                                         .count = setting.size,
                                         .size = sizes.of_rank(rank)});
            }
            break;
        case Collective::barrier:
        case Collective::neighbor_allgather:
        case Collective::neighbor_alltoall:
            break;
    }
    facts.scratch = scratch_sizes(setting, rank, facts);
    return facts;
}

}  // namespace

Contract contract_of(const Setting& setting)
{
    Contract contract;
    for (std::uint32_t rank = 0; rank < setting.size; ++rank) {
        contract.ranks.push_back(contract_of_rank(setting, rank));
    }
    const bool is_reduce_scatter = setting.collective == Collective::reduce_scatter;
    contract.blocks = setting.pieces == 0 ? engine::Blocks::uniform : engine::Blocks::split;
    contract.block_count = std::max(setting.pieces, 1U);
    contract.has_listed_blocks = setting.listing != Listing::no;
    contract.do_send_blocks_follow = is_reduce_scatter;
    contract.is_ordered = setting.is_ordered;
    contract.is_equal_on_all = setting.collective == Collective::allreduce;
    contract.is_barrier = setting.collective == Collective::barrier;
    contract.do_spaces_overlap = is_reduce_scatter && setting.in_place == coll::InPlace::everyone;
    return contract;
}

namespace {

/// The facts of one rank between two groups.
class AcrossGroups {
  public:
    AcrossGroups(Collective collective, coll::TwoSides sides, std::uint32_t root)
        : collective_(collective), sides_(sides), root_(root)
    {
    }

    RankContract facts() const;

  private:
    bool is_root() const { return sides_.rank == root_; }
    /// The root is in the other group, so this rank takes part.
    bool has_root_across() const
    {
        const bool is_root_first = root_ < sides_.first_size;
        return is_root_first != sides_.is_first();
    }
    ReceiveBlock combined_of_others(std::uint32_t block) const
    {
        return {.wanted = Wanted::combined,
                .origin = {sides_.other_begin(), block},
                .count = sides_.other_size()};
    }
    std::uint32_t own_index() const { return sides_.rank - sides_.own_begin(); }

    Collective collective_;
    coll::TwoSides sides_;
    std::uint32_t root_;
};

RankContract AcrossGroups::facts() const
{
    RankContract facts;
    const Origin own{sides_.rank, 0};
    const auto each_other = [&](const auto& use) {
        for (std::uint32_t i = 0; i < sides_.other_size(); ++i) {
            use(sides_.other_begin() + i, i);
        }
    };
    switch (collective_) {
        case Collective::bcast:
            if (is_root()) {
                facts.receive.push_back(
                    {.has_input = true, .input = own, .wanted = Wanted::input, .origin = own});
            } else if (has_root_across()) {
                facts.receive.push_back({.wanted = Wanted::input, .origin = {root_, 0}});
            }
            break;
        case Collective::reduce:
            if (is_root()) {
                facts.receive.push_back(combined_of_others(0));
            } else if (has_root_across()) {
                facts.send.push_back({own});
            }
            break;
        case Collective::allreduce:
            facts.send.push_back({own});
            facts.receive.push_back(combined_of_others(0));
            break;
        case Collective::gather:
            if (has_root_across()) {
                facts.send.push_back({own});
            }
            break;
        case Collective::scatter:
            if (has_root_across()) {
                facts.receive.push_back({.wanted = Wanted::input, .origin = {root_, own_index()}});
            }
            break;
        case Collective::allgather:
            facts.send.push_back({own});
            break;
        case Collective::reduce_scatter:
            // Both groups' vectors are as long; blocks are those of the own group.
            for (std::uint32_t i = 0; i < sides_.own_size(); ++i) {
                facts.send.push_back({{sides_.rank, i}});
            }
            facts.receive.push_back(combined_of_others(own_index()));
            break;
        default:
            break;
    }
    const bool is_alltoall = collective_ == Collective::alltoall;
    each_other([&](std::uint32_t other, std::uint32_t index) {
        if (is_alltoall || (collective_ == Collective::scatter && is_root())) {
            facts.send.push_back({{sides_.rank, index}});
        }
        if (is_alltoall) {
            facts.receive.push_back({.wanted = Wanted::input, .origin = {other, own_index()}});
        } else if (collective_ == Collective::allgather ||
                   (collective_ == Collective::gather && is_root())) {
            facts.receive.push_back({.wanted = Wanted::input, .origin = {other, 0}});
        }
    });
    return facts;
}

}  // namespace

Contract contract_between_groups(Collective collective, std::uint32_t size,
                                 std::uint32_t first_size, std::uint32_t root)
{
    Contract contract;
    for (std::uint32_t rank = 0; rank < size; ++rank) {
        contract.ranks.push_back(AcrossGroups(collective, {rank, size, first_size}, root).facts());
    }
    contract.do_send_blocks_follow = true;
    contract.is_equal_on_all = collective == Collective::allreduce;
    contract.equal_from = first_size;
    contract.is_barrier = collective == Collective::barrier;
    return contract;
}

namespace {

/// The block of `from` that is its edge to `rank`: the n-th, or on a grid that of the direction
/// opposite to `edge`.
std::uint32_t block_toward(std::span<const std::vector<int>> sources,
                           std::span<const std::vector<int>> destinations, std::size_t rank,
                           std::size_t edge, bool are_opposite)
{
    if (are_opposite) {
        return static_cast<std::uint32_t>(edge % 2 == 0 ? edge + 1 : edge - 1);
    }
    const int from = sources[rank][edge];
    auto earlier = std::count(sources[rank].begin(),
                              sources[rank].begin() + static_cast<std::ptrdiff_t>(edge), from);
    const std::vector<int>& edges = destinations[static_cast<std::size_t>(from)];
    for (std::size_t i = 0; i < edges.size(); ++i) {
        if (edges[i] == static_cast<int>(rank) && earlier-- == 0) {
            return static_cast<std::uint32_t>(i);
        }
    }
    return 0;
}

}  // namespace

Contract contract_of_neighbors(std::span<const std::vector<int>> sources,
                               std::span<const std::vector<int>> destinations, bool are_opposite,
                               bool has_one_block)
{
    Contract contract;
    for (std::uint32_t rank = 0; rank < sources.size(); ++rank) {
        RankContract facts;
        const auto blocks = static_cast<std::uint32_t>(destinations[rank].size());
        add_outgoing(facts, rank, has_one_block ? 1 : blocks, [](std::uint32_t) { return 0U; });
        for (std::size_t edge = 0; edge < sources[rank].size(); ++edge) {
            const int from = sources[rank][edge];
            ReceiveBlock block;
            if (from >= 0) {
                block.wanted = Wanted::input;
                block.origin = {
                    static_cast<std::uint32_t>(from),
                    has_one_block ? 0
                                  : block_toward(sources, destinations, rank, edge, are_opposite)};
            }
            facts.receive.push_back(block);
        }
        contract.ranks.push_back(std::move(facts));
    }
    return contract;
}

}  // namespace headway::study
