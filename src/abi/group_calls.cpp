// SPDX-License-Identifier: Apache-2.0
// Groups (MPI-5.0 section 7.3).
#include <tuple>
#include <utility>
#include <vector>

#include "abi/message_calls.hpp"
#include "abi_calls.hpp"
#include "object/group.hpp"

namespace headway::abi {
namespace {

using object::Group;

/// `from`: the group it is made of.
int make_group(Call& call, const Group& from, std::vector<int> world_ranks, MPI_Group* newgroup)
{
    object::Rank& rank = rank_of(call);
    *newgroup = world_ranks.empty() ? MPI_GROUP_EMPTY
                                    : rank.pool().acquire<MPI_Group>(new Group(
                                          std::move(world_ranks), rank.world_rank, from.session()));
    return MPI_SUCCESS;
}

/// Which members the caller named, in his order. An empty result is never a failure.
class Selection {
  public:
    Selection(Call& call, const Group& group)
        : call_(call), group_(group), is_chosen_(static_cast<std::size_t>(group.size()))
    {
    }

    /// MPI_SUCCESS, or the class of what is wrong with the rank.
    int add(int rank)
    {
        if (rank < 0 || rank >= group_.size()) {
            return call_.fail(MPI_ERR_RANK, "rank %d is outside the group's %d ranks", rank,
                              group_.size());
        }
        const auto place = static_cast<std::size_t>(rank);
        if (is_chosen_[place]) {
            return call_.fail(MPI_ERR_RANK, "rank %d is named twice", rank);
        }
        is_chosen_[place] = true;
        chosen_.push_back(group_.world_ranks()[place]);
        return MPI_SUCCESS;
    }

    int add_range(const int range[3])
    {
        const auto [first, last, stride] = std::tuple(range[0], range[1], range[2]);
        if (stride == 0) {
            return call_.fail(MPI_ERR_ARG, "a range has stride 0");
        }
        for (long rank = first; stride > 0 ? rank <= last : rank >= last; rank += stride) {
            if (const int error = add(static_cast<int>(rank)); error != MPI_SUCCESS) {
                return error;
            }
        }
        return MPI_SUCCESS;
    }

    std::vector<int> chosen() && { return std::move(chosen_); }

    /// The members that were not named, in the group's order.
    std::vector<int> others() const
    {
        std::vector<int> result;
        for (std::size_t place = 0; place < is_chosen_.size(); ++place) {
            if (!is_chosen_[place]) {
                result.push_back(group_.world_ranks()[place]);
            }
        }
        return result;
    }

  private:
    Call& call_;
    const Group& group_;
    std::vector<bool> is_chosen_;
    std::vector<int> chosen_;
};

int select_ranges(Selection& selection, int n, int ranges[][3])
{
    for (int i = 0; i < n; ++i) {
        if (const int error = selection.add_range(ranges[i]); error != MPI_SUCCESS) {
            return error;
        }
    }
    return MPI_SUCCESS;
}

int select_ranks(Selection& selection, int n, const int ranks[])
{
    for (int i = 0; i < n; ++i) {
        if (const int error = selection.add(ranks[i]); error != MPI_SUCCESS) {
            return error;
        }
    }
    return MPI_SUCCESS;
}

}  // namespace

namespace call {

int Group_size(Call& /*call*/, Group* group, int* size)
{
    *size = group->size();
    return MPI_SUCCESS;
}

int Group_rank(Call& /*call*/, Group* group, int* rank)
{
    *rank = group->rank();
    return MPI_SUCCESS;
}

int Group_translate_ranks(Call& /*call*/, Group* group1, int n, const int ranks1[], Group* group2,
                          int ranks2[])
{
    for (int i = 0; i < n; ++i) {
        ranks2[i] = ranks1[i] == MPI_PROC_NULL
                        ? MPI_PROC_NULL
                        : group2->find(group1->world_ranks()[static_cast<std::size_t>(ranks1[i])]);
    }
    return MPI_SUCCESS;
}

int Group_compare(Call& /*call*/, Group* group1, Group* group2, int* result)
{
    *result = object::compare(*group1, *group2);
    return MPI_SUCCESS;
}

int Group_union(Call& call, Group* group1, Group* group2, MPI_Group* newgroup)
{
    return make_group(call, *group1, object::unite(*group1, *group2), newgroup);
}

int Group_intersection(Call& call, Group* group1, Group* group2, MPI_Group* newgroup)
{
    return make_group(call, *group1, object::intersect(*group1, *group2), newgroup);
}

int Group_difference(Call& call, Group* group1, Group* group2, MPI_Group* newgroup)
{
    return make_group(call, *group1, object::subtract(*group1, *group2), newgroup);
}

int Group_incl(Call& call, Group* group, int n, const int ranks[], MPI_Group* newgroup)
{
    Selection selection(call, *group);
    const int error = select_ranks(selection, n, ranks);
    return error != MPI_SUCCESS ? error
                                : make_group(call, *group, std::move(selection).chosen(), newgroup);
}

int Group_excl(Call& call, Group* group, int n, const int ranks[], MPI_Group* newgroup)
{
    Selection selection(call, *group);
    const int error = select_ranks(selection, n, ranks);
    return error != MPI_SUCCESS ? error : make_group(call, *group, selection.others(), newgroup);
}

int Group_range_incl(Call& call, Group* group, int n, int ranges[][3], MPI_Group* newgroup)
{
    Selection selection(call, *group);
    const int error = select_ranges(selection, n, ranges);
    return error != MPI_SUCCESS ? error
                                : make_group(call, *group, std::move(selection).chosen(), newgroup);
}

int Group_range_excl(Call& call, Group* group, int n, int ranges[][3], MPI_Group* newgroup)
{
    Selection selection(call, *group);
    const int error = select_ranges(selection, n, ranges);
    return error != MPI_SUCCESS ? error : make_group(call, *group, selection.others(), newgroup);
}

int Group_free(Call& call, Group* group_object, MPI_Group* group)
{
    // MPI_GROUP_EMPTY may be freed: it is what empty results are (MPI-5.0 section 7.3.3).
    if (!object::is_predefined(object::bits_of(*group))) {
        rank_of(call).pool().release(*group);
        delete group_object;
    }
    *group = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}

}  // namespace call
}  // namespace headway::abi
