// SPDX-License-Identifier: Apache-2.0
// The graphs of all ranks run on expressions in place of bytes: points 3 and 5 of verifier.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "study/expressions.hpp"
#include "study/message_ends.hpp"
#include "study/peer_proof.hpp"
#include "study/rank_proof.hpp"
#include "study/verifier.hpp"

namespace headway::study {

/// Runs calls one after the other; keeps its memory. A send ends when its receive takes it, not
/// before.
class BlockRun {
  public:
    /// Requires: graphs that RankProof accepts, in these orders, with these ends.
    std::optional<std::string> run(std::span<const engine::Graph> graphs,
                                   std::span<const GraphOrder> orders, const Contract& contract,
                                   const MessageEnds& ends);
    /// What the run has left behind, with the contract.
    std::optional<std::string> compare();
    Traffic traffic() const noexcept { return traffic_; }
    std::span<const Met> meetings() const noexcept { return meetings_; }

  private:
    using Place = MessageEnds::Place;
    /// Where the values of a rank begin, and the numbers of its blocks from there on.
    struct Rank {
        std::size_t first_value = 0;
        BlockNumbers numbers;
    };
    /// What a node waits for.
    struct Waiting {
        std::uint32_t edges = 0;
        bool is_here = false;  ///< for its other end
    };

    const engine::GraphNode& node_at(Place place) const
    {
        return graphs_[place.rank].nodes()[place.node];
    }
    std::size_t number(std::uint32_t rank, engine::Extent extent) const
    {
        return ranks_[rank].first_value + ranks_[rank].numbers.first(extent);
    }
    std::string say(Place place) const
    {
        return of_rank(place.rank) + ": " + describe(graphs_[place.rank], place.node);
    }

    void set_up();
    void set_up_barrier();
    std::optional<std::string> start(Place place);
    std::optional<std::string> meet(Place place);
    std::optional<std::string> deliver(Place from, Place to);
    void count(std::uint32_t rank, engine::Extent arrived);
    Place source_of(Place place) const;
    std::optional<std::string> take(Place from, engine::Extent source, Place to);
    std::optional<std::string> combine(Place place);
    void complete(Place place);
    void know(Place place, Place sender);
    std::optional<std::string> explain_standstill() const;
    std::string say_waits(Place place) const;
    std::optional<std::string> compare_block(std::uint32_t rank, std::uint32_t block);
    std::optional<std::string> compare_barrier() const;

    std::span<const engine::Graph> graphs_;
    std::span<const GraphOrder> orders_;
    const Contract* contract_ = nullptr;
    const MessageEnds* ends_ = nullptr;
    std::vector<Rank> ranks_;
    Expressions expressions_;
    std::vector<Expressions::Value> values_;  ///< of the blocks of all ranks
    std::vector<std::uint32_t> sizes_;        ///< their names, likewise
    std::vector<char> is_written_;            ///< likewise
    std::vector<Waiting> waiting_;            ///< by number of the node
    std::vector<Place> ready_;
    Traffic traffic_;
    bool do_read_peers_ = false;
    std::vector<Met> meetings_;  ///< where ranks read their peers
    std::size_t remaining_ = 0;
    /// Barriers only: by number of the node a set of words_ words, who has surely begun when it
    /// starts, and when it is over.
    std::vector<std::uint64_t> begun_;
    std::size_t words_ = 0;
};

}  // namespace headway::study
