// SPDX-License-Identifier: Apache-2.0
#include "abi/new_communicator.hpp"

#include <algorithm>

#include "abi/call_order.hpp"
#include "object/agreement.hpp"
#include "object/collective.hpp"
#include "object/group.hpp"

namespace headway::abi {

using object::Communicator;
using object::Rank;

int check_context(Call& call, std::optional<std::uint32_t> context)
{
    if (!context) {
        return fail_for_memory(call);
    }
    const object::ContextIds& contexts = rank_of(call).contexts();
    if (*context == 0) {
        return call.fail(MPI_ERR_OTHER,
                         "the rank that leads the new communicator has %u alive; free "
                         "communicators that are not used any more",
                         contexts.alive_max());
    }
    if (contexts.is_held(*context)) {
        return call.fail(MPI_ERR_OTHER,
                         "the new communicator's context is still in use by operations on an old "
                         "one that was freed; complete them before so many others are made");
    }
    return MPI_SUCCESS;
}

NewCommunicator::NewCommunicator(Call& call, const Communicator& parent, std::uint32_t context,
                                 const std::vector<int>& members)
    : made_(Communicator::create(rank_of(call), context, members, parent.error_handler()))
{
    take_parent(call, parent);
}

NewCommunicator::NewCommunicator(Call& call, const Communicator& parent, std::uint32_t context,
                                 const object::TwoGroups& groups)
    : made_(Communicator::create_inter(rank_of(call), context, groups, parent.error_handler()))
{
    take_parent(call, parent);
}

NewCommunicator::NewCommunicator(Call& call, const Communicator& parent, std::uint32_t context)
    : made_(parent.is_inter() ? Communicator::create_inter(rank_of(call), context, parent.groups(),
                                                           parent.error_handler())
                              : Communicator::create(rank_of(call), context, parent.members(),
                                                     parent.error_handler()))
{
    take_parent(call, parent);
}

void NewCommunicator::take_parent(Call& call, const Communicator& parent)
{
    if (made_ == nullptr) {
        fail_for_memory(call);
    } else {
        made_->set_session(parent.session());
    }
}

NewCommunicator::~NewCommunicator()
{
    if (made_ != nullptr) {
        made_->free_handle();
    }
}

namespace {

/// `Groups` are members, or those of two groups.
template <typename Groups>
int create(Call& call, const Communicator& parent, std::optional<std::uint32_t> context,
           const Groups& groups, MPI_Comm* newcomm,
           std::shared_ptr<const object::Topology> topology)
{
    if (const int error = check_context(call, context); error != MPI_SUCCESS) {
        return error;
    }
    NewCommunicator made(call, parent, context.value_or(0), groups);
    if (made.get() == nullptr) {
        return MPI_ERR_NO_MEM;
    }
    if (topology != nullptr) {
        made.get()->set_topology(std::move(topology));
    }
    *newcomm = made.release();
    return MPI_SUCCESS;
}

/// What a rank brings to MPI_Comm_split. Everybody offers a context id; that of the new rank 0 is
/// taken, of the first group's where there are two, so one exchange settles everything.
struct SplitOffer {
    int color;
    int key;
    std::uint32_t context;
};

/// Members of one colour in their new order, as places among the offers.
std::vector<int> split_members(const std::vector<SplitOffer>& offers, int begin, int end, int color)
{
    std::vector<int> members;
    for (int i = begin; i < end; ++i) {
        if (offers[static_cast<std::size_t>(i)].color == color) {
            members.push_back(i);
        }
    }
    // Ties keep the order of the old ranks.
    std::ranges::sort(members, {},
                      [&](int i) { return std::pair(offers[static_cast<std::size_t>(i)].key, i); });
    return members;
}

std::vector<int> world_ranks_of(const Communicator& comm, std::vector<int> places)
{
    for (int& place : places) {
        place = static_cast<int>(comm.joint_scope().job_rank(static_cast<std::uint32_t>(place)));
    }
    return places;
}

}  // namespace

int create_communicator(Call& call, const Communicator& parent,
                        std::optional<std::uint32_t> context, const std::vector<int>& members,
                        MPI_Comm* newcomm, std::shared_ptr<const object::Topology> topology)
{
    return create(call, parent, context, members, newcomm, std::move(topology));
}

int create_communicator(Call& call, const Communicator& parent,
                        std::optional<std::uint32_t> context, const object::TwoGroups& groups,
                        MPI_Comm* newcomm)
{
    return create(call, parent, context, groups, newcomm, nullptr);
}

int tag_of_text(const char* text) noexcept
{
    std::uint32_t hash = 0x811C'9DC5U;
    for (; *text != '\0'; ++text) {
        hash = (hash ^ static_cast<unsigned char>(*text)) * 0x0100'0193U;
    }
    return static_cast<int>(hash >> 1U);
}

int create_from_group(Call& call, const object::Group& group, int tag, MPI_Comm* newcomm)
{
    Rank& rank = rank_of(call);
    Communicator* const ground = rank.ground();
    if (ground == nullptr) {
        return fail_for_memory(call);
    }
    const auto context = object::agree_in_group(rank, *ground, group, tag);
    const std::vector<int> members(group.world_ranks().begin(), group.world_ranks().end());
    const int error = create_communicator(call, *ground, context, members, newcomm);
    if (error == MPI_SUCCESS) {
        object::find_communicator(rank, *newcomm)->set_session(group.session());
    }
    return error;
}

int split_communicator(Call& call, Communicator& comm, int color, int key, MPI_Comm* newcomm,
                       const std::shared_ptr<const object::Topology>& topology)
{
    if (const int error = check_order(call, comm); error != MPI_SUCCESS) [[unlikely]] {
        return error;
    }
    return split_in_turn(call, comm, color, key, newcomm, topology);
}

int split_in_turn(Call& call, Communicator& comm, int color, int key, MPI_Comm* newcomm,
                  const std::shared_ptr<const object::Topology>& topology)
{
    Rank& rank = rank_of(call);
    const engine::Scope& scope = comm.joint_scope();
    const SplitOffer own{color, key, color != MPI_UNDEFINED ? rank.pick_context() : 0};
    std::vector<SplitOffer> offers(scope.size);
    if (!object::allgather_bytes(rank, comm, &own, offers.data(), sizeof own)) {
        return fail_for_memory(call);
    }
    const int all = static_cast<int>(scope.size);
    const int first = !comm.is_inter() || comm.is_first_group() ? comm.size() : comm.peer_count();
    const std::vector<int> members = split_members(offers, 0, first, color);
    const std::vector<int> others = split_members(offers, first, all, color);
    const bool is_made =
        color != MPI_UNDEFINED && !members.empty() && (!comm.is_inter() || !others.empty());
    const int leader = is_made ? members.front() : -1;
    if (leader != static_cast<int>(scope.rank) && own.context != 0) {
        rank.contexts().give_back(own.context);
    }
    if (!is_made) {
        *newcomm = MPI_COMM_NULL;
        return MPI_SUCCESS;
    }
    const std::uint32_t context = offers[static_cast<std::size_t>(leader)].context;
    if (!comm.is_inter()) {
        return create_communicator(call, comm, context, world_ranks_of(comm, members), newcomm,
                                   topology);
    }
    const bool is_first = comm.is_first_group();
    const object::TwoGroups groups{world_ranks_of(comm, is_first ? members : others),
                                   world_ranks_of(comm, is_first ? others : members), is_first};
    return create_communicator(call, comm, context, groups, newcomm);
}

}  // namespace headway::abi
