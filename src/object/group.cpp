// SPDX-License-Identifier: Apache-2.0
#include "object/group.hpp"

#include <algorithm>

#include "mpi.h"

namespace headway::object {

Group::Group(std::vector<int> world_ranks, int own_world_rank, std::uint32_t session)
    : world_ranks_(std::move(world_ranks)), session_(session)
{
    places_.reserve(world_ranks_.size());
    for (std::size_t place = 0; place < world_ranks_.size(); ++place) {
        places_.emplace_back(world_ranks_[place], static_cast<int>(place));
    }
    std::sort(places_.begin(), places_.end());
    rank_ = find(own_world_rank);
}

int Group::find(int world_rank) const noexcept
{
    const auto found =
        std::lower_bound(places_.begin(), places_.end(), std::pair<int, int>(world_rank, 0));
    return found != places_.end() && found->first == world_rank ? found->second : MPI_UNDEFINED;
}

std::vector<int> unite(const Group& first, const Group& second)
{
    std::vector<int> result(first.world_ranks().begin(), first.world_ranks().end());
    for (const int member : second.world_ranks()) {
        if (first.find(member) == MPI_UNDEFINED) {
            result.push_back(member);
        }
    }
    return result;
}

std::vector<int> intersect(const Group& first, const Group& second)
{
    std::vector<int> result;
    for (const int member : first.world_ranks()) {
        if (second.find(member) != MPI_UNDEFINED) {
            result.push_back(member);
        }
    }
    return result;
}

std::vector<int> subtract(const Group& first, const Group& second)
{
    std::vector<int> result;
    for (const int member : first.world_ranks()) {
        if (second.find(member) == MPI_UNDEFINED) {
            result.push_back(member);
        }
    }
    return result;
}

int compare(const Group& first, const Group& second)
{
    if (first.size() != second.size()) {
        return MPI_UNEQUAL;
    }
    if (std::ranges::equal(first.world_ranks(), second.world_ranks())) {
        return MPI_IDENT;
    }
    const bool same_members = std::ranges::all_of(
        first.world_ranks(), [&](int member) { return second.find(member) != MPI_UNDEFINED; });
    return same_members ? MPI_SIMILAR : MPI_UNEQUAL;
}

}  // namespace headway::object
