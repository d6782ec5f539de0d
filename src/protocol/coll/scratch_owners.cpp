// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <numeric>

#include "protocol/coll/table.hpp"
#include "protocol/coll/topology.hpp"

namespace headway::protocol::coll {

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

}  // namespace headway::protocol::coll
