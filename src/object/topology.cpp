// SPDX-License-Identifier: Apache-2.0
#include "object/topology.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace headway::object {

int Cartesian::size() const noexcept
{
    if (std::ranges::find(dims, 0) != dims.end()) {
        return 0;
    }
    int product = 1;
    for (const int extent : dims) {
        product *= extent;
    }
    return product;
}

std::vector<int> Cartesian::coordinates(int rank) const
{
    std::vector<int> result(dims.size());
    for (std::size_t i = dims.size(); i-- > 0;) {
        result[i] = rank % dims[i];
        rank /= dims[i];
    }
    return result;
}

std::optional<int> Cartesian::rank(std::span<const int> coordinates) const
{
    int result = 0;
    for (std::size_t i = 0; i < dims.size(); ++i) {
        int place = coordinates[i];
        if (place < 0 || place >= dims[i]) {
            if (periods[i] == 0) {
                return std::nullopt;
            }
            place = static_cast<int>((std::int64_t{place} % dims[i] + dims[i]) % dims[i]);
        }
        result = result * dims[i] + place;
    }
    return result;
}

int Cartesian::shifted(int rank, int dimension, std::int64_t steps) const
{
    std::vector<int> place = coordinates(rank);
    const auto along = static_cast<std::size_t>(dimension);
    const std::int64_t extent = dims[along];
    std::int64_t moved = std::int64_t{place[along]} + steps;
    if (periods[along] != 0) {
        moved = (moved % extent + extent) % extent;
    }
    if (moved < 0 || moved >= extent) {
        return MPI_PROC_NULL;
    }
    place[along] = static_cast<int>(moved);
    return this->rank(place).value_or(MPI_PROC_NULL);
}

std::span<const int> FullGraph::neighbors(int rank) const
{
    const auto place = static_cast<std::size_t>(rank);
    const auto begin = static_cast<std::size_t>(rank != 0 ? index[place - 1] : 0);
    const auto end = static_cast<std::size_t>(index[place]);
    return std::span(edges).subspan(begin, end - begin);
}

int kind_of(const Topology& topology) noexcept
{
    if (std::holds_alternative<Cartesian>(topology)) {
        return MPI_CART;
    }
    return std::holds_alternative<FullGraph>(topology) ? MPI_GRAPH : MPI_DIST_GRAPH;
}

std::vector<PlaceEdge> edges_of(const Topology& topology)
{
    std::vector<PlaceEdge> edges;
    if (const auto* const grid = std::get_if<Cartesian>(&topology)) {
        const int places = grid->size();
        for (int place = 0; place < places; ++place) {
            for (int dimension = 0; dimension < static_cast<int>(grid->dims.size()); ++dimension) {
                const int next = grid->shifted(place, dimension, 1);
                if (next != MPI_PROC_NULL && next != place) {
                    edges.push_back({place, next, 1});
                }
            }
        }
    } else if (const auto* const graph = std::get_if<FullGraph>(&topology)) {
        for (int place = 0; place < static_cast<int>(graph->index.size()); ++place) {
            for (const int neighbor : graph->neighbors(place)) {
                edges.push_back({place, neighbor, 1});
            }
        }
    }
    return edges;
}

Neighborhood neighborhood_of(const Topology& topology, int rank)
{
    if (const auto* const adjacent = std::get_if<AdjacentGraph>(&topology)) {
        return {adjacent->sources, adjacent->destinations};
    }
    std::vector<int> both;
    if (const auto* const graph = std::get_if<FullGraph>(&topology)) {
        const std::span<const int> neighbors = graph->neighbors(rank);
        both.assign(neighbors.begin(), neighbors.end());
    } else {
        const Cartesian& grid = std::get<Cartesian>(topology);
        for (int dimension = 0; dimension < static_cast<int>(grid.dims.size()); ++dimension) {
            both.push_back(grid.shifted(rank, dimension, -1));
            both.push_back(grid.shifted(rank, dimension, 1));
        }
    }
    return {both, both};
}

namespace {

/// The divisors of a number, ascending.
std::vector<int> divisors_of(int number)
{
    std::vector<int> low;
    std::vector<int> high;
    for (int divisor = 1; divisor <= number / divisor; ++divisor) {
        if (number % divisor == 0) {
            low.push_back(divisor);
            if (divisor != number / divisor) {
                high.push_back(number / divisor);
            }
        }
    }
    low.insert(low.end(), high.rbegin(), high.rend());
    return low;
}

/// Looks for the factors, the largest first, whose largest and smallest are closest together.
class FactorSearch {
  public:
    FactorSearch(int product, std::size_t count) : divisors_(divisors_of(product)), factors_(count)
    {
        search(0, product, product);
    }

    const std::vector<int>& best() const noexcept { return best_; }

  private:
    /// Chooses the factor at `place`: not above `limit`, and not below what leaves the others,
    /// which are not larger, too much to do.
    void search(std::size_t place, int rest, int limit)
    {
        if (place + 1 == factors_.size()) {
            if (rest <= limit) {
                factors_[place] = rest;
                take();
            }
            return;
        }
        const auto end = std::upper_bound(divisors_.begin(), divisors_.end(), limit);
        for (auto factor = divisors_.begin(); factor != end; ++factor) {
            if (rest % *factor != 0 || !can_finish(*factor, rest, factors_.size() - place)) {
                continue;
            }
            // The smallest factor is not above the smallest that could be the largest.
            if (place == 0 && !best_.empty() && *factor - smallest_top_ >= spread(best_)) {
                return;
            }
            if (place != 0 && !best_.empty() && factors_[0] - *factor >= spread(best_)) {
                continue;
            }
            if (place == 0 && smallest_top_ == 0) {
                smallest_top_ = *factor;
            }
            factors_[place] = *factor;
            search(place + 1, rest / *factor, *factor);
        }
    }

    /// Whether `count` factors up to `largest` can multiply to `product`.
    static bool can_finish(int largest, int product, std::size_t count)
    {
        std::int64_t reach = 1;
        for (std::size_t i = 0; i < count && reach < product; ++i) {
            reach *= largest;
        }
        return reach >= product;
    }

    static int spread(const std::vector<int>& factors) { return factors.front() - factors.back(); }

    void take()
    {
        if (best_.empty() || spread(factors_) < spread(best_)) {
            best_ = factors_;
        }
    }

    std::vector<int> divisors_;
    std::vector<int> factors_;
    std::vector<int> best_;
    int smallest_top_ = 0;  ///< the smallest factor that the largest can be
};

}  // namespace

bool balance_dims(int nodes, std::span<int> dims)
{
    std::int64_t given = 1;
    std::size_t open = 0;
    for (const int extent : dims) {
        if (extent < 0) {
            return false;
        }
        open += extent == 0 ? 1 : 0;
        given *= extent != 0 ? extent : 1;
        if (given > nodes) {
            return false;
        }
    }
    if (nodes % given != 0 || (open == 0 && given != nodes)) {
        return false;
    }
    if (open == 0) {
        return true;
    }
    const FactorSearch search(static_cast<int>(nodes / given), open);
    auto factor = search.best().begin();
    for (int& extent : dims) {
        if (extent == 0) {
            extent = *factor++;
        }
    }
    return true;
}

}  // namespace headway::object
