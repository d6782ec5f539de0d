// SPDX-License-Identifier: Apache-2.0
#include "object/reordering.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace headway::object {
namespace {

std::vector<int> numbers(std::size_t count)
{
    std::vector<int> result(count);
    std::iota(result.begin(), result.end(), 0);
    return result;
}

/// Ranks site by site; sites in the order of their nodes' and caches' first ranks, so that ranks
/// which are in order stay so.
std::vector<int> ranks_by_site(std::span<const Site> sites)
{
    std::map<int, int> first_of_node;
    std::map<std::pair<int, int>, int> first_of_site;
    for (int rank = 0; const Site& site : sites) {
        first_of_node.try_emplace(site.node, rank);
        first_of_site.try_emplace({site.node, site.cache}, rank);
        ++rank;
    }
    std::vector<int> ranks = numbers(sites.size());
    std::ranges::sort(ranks, {}, [&](int rank) {
        const Site& site = sites[static_cast<std::size_t>(rank)];
        return std::tuple(first_of_node[site.node], first_of_site[{site.node, site.cache}], rank);
    });
    return ranks;
}

/// Deals the places out to the ranks in these orders.
std::vector<int> dealt(std::span<const int> places, std::span<const int> ranks)
{
    std::vector<int> member_at(places.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
        member_at[static_cast<std::size_t>(places[i])] = ranks[i];
    }
    return member_at;
}

/// Places in the order in which a region grows that always takes the neighbour it is bound to most,
/// cache by cache and node by node.
class Growth {
  public:
    Growth(std::span<const PlaceEdge> edges, std::size_t places)
        : neighbors_(places), bonds_(places), is_taken_(places, false)
    {
        for (const PlaceEdge& edge : edges) {
            if (edge.from != edge.to) {
                bind(edge.from, edge.to, edge.weight);
                bind(edge.to, edge.from, edge.weight);
            }
        }
        for (int place = 0; place < static_cast<int>(places); ++place) {
            candidates_.insert(key_of(place));
        }
    }

    /// `sites`: of the ranks to whom the places are dealt, in that order.
    std::vector<int> order(std::span<const Site> sites, std::span<const int> ranks)
    {
        std::vector<int> places;
        for (std::size_t i = 0; i < ranks.size(); ++i) {
            const Site& site = sites[static_cast<std::size_t>(ranks[i])];
            if (i > 0) {
                const Site& before = sites[static_cast<std::size_t>(ranks[i - 1])];
                forget(site.node != before.node, site != before);
            }
            places.push_back(take(std::get<4>(*candidates_.begin())));
        }
        return places;
    }

  private:
    /// How strongly a place is bound to the regions grown so far.
    struct Bonds {
        std::int64_t to_cache = 0;
        std::int64_t to_node = 0;
        std::int64_t to_all = 0;
        std::int64_t free = 0;  ///< weight of its edges to places not yet taken
    };
    /// Smallest first: most bound, then least bound to what is left, then lowest number.
    using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, int>;

    Key key_of(int place) const
    {
        const Bonds& bonds = bonds_[static_cast<std::size_t>(place)];
        return {-bonds.to_cache, -bonds.to_node, -bonds.to_all, bonds.free, place};
    }

    void bind(int place, int neighbor, std::int64_t weight)
    {
        neighbors_[static_cast<std::size_t>(place)].emplace_back(neighbor, weight);
        bonds_[static_cast<std::size_t>(place)].free += weight;
    }

    int take(int place)
    {
        candidates_.erase(key_of(place));
        is_taken_[static_cast<std::size_t>(place)] = true;
        for (const auto& [neighbor, weight] : neighbors_[static_cast<std::size_t>(place)]) {
            if (is_taken_[static_cast<std::size_t>(neighbor)]) {
                continue;
            }
            candidates_.erase(key_of(neighbor));
            Bonds& bonds = bonds_[static_cast<std::size_t>(neighbor)];
            bonds.to_cache += weight;
            bonds.to_node += weight;
            bonds.to_all += weight;
            bonds.free -= weight;
            candidates_.insert(key_of(neighbor));
            touched_.push_back(neighbor);
        }
        return place;
    }

    /// The next place belongs to another node or another cache.
    void forget(bool is_other_node, bool is_other_cache)
    {
        if (!is_other_cache) {
            return;
        }
        for (const int place : touched_) {
            if (is_taken_[static_cast<std::size_t>(place)]) {
                continue;
            }
            candidates_.erase(key_of(place));
            Bonds& bonds = bonds_[static_cast<std::size_t>(place)];
            bonds.to_cache = 0;
            bonds.to_node = is_other_node ? 0 : bonds.to_node;
            candidates_.insert(key_of(place));
        }
        if (is_other_node) {
            touched_.clear();
        }
    }

    std::vector<std::vector<std::pair<int, std::int64_t>>> neighbors_;
    std::vector<Bonds> bonds_;
    std::vector<bool> is_taken_;
    std::vector<int> touched_;
    std::set<Key> candidates_;
};

/// Calls `use` with every shape whose extents divide those of the grid and whose places are so
/// many.
template <typename Use>
void for_each_brick(std::span<const int> dims, int places, std::vector<int>& brick, const Use& use)
{
    const std::size_t dimension = brick.size();
    if (dimension == dims.size()) {
        if (places == 1) {
            use(brick);
        }
        return;
    }
    for (int extent = 1; extent <= std::min(dims[dimension], places); ++extent) {
        if (dims[dimension] % extent == 0 && places % extent == 0) {
            brick.push_back(extent);
            for_each_brick(dims, places / extent, brick, use);
            brick.pop_back();
        }
    }
}

/// Where a place comes in the order: its brick, then its place in there, both row-major.
std::int64_t position_in_bricks(std::span<const int> dims, std::span<const int> brick, int place)
{
    std::int64_t which = 0;
    std::int64_t within = 0;
    std::int64_t bricks_behind = 1;
    std::int64_t places_behind = 1;
    for (std::size_t i = dims.size(); i-- > 0;) {
        const int coordinate = place % dims[i];
        place /= dims[i];
        which += coordinate / brick[i] * bricks_behind;
        within += coordinate % brick[i] * places_behind;
        bricks_behind *= dims[i] / brick[i];
        places_behind *= brick[i];
    }
    return which * places_behind + within;
}

}  // namespace

Crossing crossing_of(std::span<const PlaceEdge> edges, std::span<const int> member_at,
                     std::span<const Site> sites)
{
    Crossing crossing;
    const auto site_of = [&](int place) {
        return sites[static_cast<std::size_t>(member_at[static_cast<std::size_t>(place)])];
    };
    for (const PlaceEdge& edge : edges) {
        const Site from = site_of(edge.from);
        const Site to = site_of(edge.to);
        if (from.node != to.node) {
            crossing.nodes += edge.weight;
        } else if (from.cache != to.cache) {
            crossing.caches += edge.weight;
        }
    }
    return crossing;
}

Reordering reorder(std::span<const PlaceEdge> edges, std::span<const Site> sites,
                   std::span<const std::vector<int>> tried)
{
    Reordering best{numbers(sites.size()), {}, {}};
    best.before = crossing_of(edges, best.member_at, sites);
    best.after = best.before;
    if (best.before == Crossing{}) {
        return best;
    }
    const std::vector<int> ranks = ranks_by_site(sites);
    const auto try_order = [&](std::span<const int> places) {
        std::vector<int> member_at = dealt(places, ranks);
        const Crossing crossing = crossing_of(edges, member_at, sites);
        if (crossing < best.after) {
            best.member_at = std::move(member_at);
            best.after = crossing;
        }
    };
    try_order(numbers(sites.size()));
    std::ranges::for_each(tried, try_order);
    try_order(Growth(edges, sites.size()).order(sites, ranks));
    return best;
}

std::vector<std::vector<int>> brick_orders(std::span<const int> dims, int brick_places)
{
    const int places = std::accumulate(dims.begin(), dims.end(), 1, std::multiplies<>());
    std::vector<std::vector<int>> orders;
    std::vector<int> brick;
    for_each_brick(dims, brick_places, brick, [&](const std::vector<int>& shape) {
        std::vector<int> order(static_cast<std::size_t>(places));
        for (int place = 0; place < places; ++place) {
            order[static_cast<std::size_t>(position_in_bricks(dims, shape, place))] = place;
        }
        orders.push_back(std::move(order));
    });
    return orders;
}

}  // namespace headway::object
