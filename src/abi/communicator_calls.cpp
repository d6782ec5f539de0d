// SPDX-License-Identifier: Apache-2.0
// Communicators (MPI-5.0 section 7.4).
#include <algorithm>
#include <vector>

#include "abi/message_calls.hpp"
#include "abi_calls.hpp"
#include "object/collective.hpp"

namespace headway::abi {
namespace {

using object::Communicator;
using object::Rank;

int fail_for_contexts(Call& call)
{
    return call.fail(MPI_ERR_OTHER, "the rank that leads the new communicator has 4095 alive; free "
                                    "communicators that are not used any more");
}

/// Makes the communicator of which this rank is a member.
int create(Call& call, const Communicator& parent, std::uint32_t context,
           const std::vector<int>& members, MPI_Comm* newcomm)
{
    Communicator* made =
        Communicator::create(rank_of(call), context, members, parent.error_handler());
    if (made == nullptr) {
        return fail_for_memory(call);
    }
    *newcomm = made->handle();
    return MPI_SUCCESS;
}

/// What a rank brings to MPI_Comm_split. Everybody offers a context id; that of the new rank 0 is
/// taken, so one exchange settles everything.
struct SplitOffer {
    int color;
    int key;
    std::uint32_t context;
};

std::vector<int> split_members(const std::vector<SplitOffer>& offers, int color)
{
    std::vector<int> members;
    for (std::size_t i = 0; i < offers.size(); ++i) {
        if (offers[i].color == color) {
            members.push_back(static_cast<int>(i));
        }
    }
    // Ties keep the order of the old ranks.
    std::ranges::stable_sort(members, {},
                             [&](int i) { return offers[static_cast<std::size_t>(i)].key; });
    return members;
}

}  // namespace

namespace call {

int Comm_size(Call& /*call*/, Communicator* comm, int* size)
{
    *size = comm->size();
    return MPI_SUCCESS;
}

int Comm_rank(Call& /*call*/, Communicator* comm, int* rank)
{
    *rank = comm->rank();
    return MPI_SUCCESS;
}

int Comm_dup(Call& call, Communicator* comm, MPI_Comm* newcomm)
{
    Rank& rank = rank_of(call);
    std::uint32_t context = comm->rank() == 0 ? rank.acquire_context() : 0;
    if (!object::bcast_bytes(rank, *comm, &context, sizeof context, 0)) {
        return fail_for_memory(call);
    }
    if (context == 0) {
        return fail_for_contexts(call);
    }
    return create(call, *comm, context, comm->members(), newcomm);
}

int Comm_split(Call& call, Communicator* comm, int color, int key, MPI_Comm* newcomm)
{
    Rank& rank = rank_of(call);
    const SplitOffer own{color, key, color != MPI_UNDEFINED ? rank.acquire_context() : 0};
    std::vector<SplitOffer> offers(static_cast<std::size_t>(comm->size()));
    if (!object::allgather_bytes(rank, *comm, &own, offers.data(), sizeof own)) {
        return fail_for_memory(call);
    }
    if (color == MPI_UNDEFINED) {
        *newcomm = MPI_COMM_NULL;
        return MPI_SUCCESS;
    }
    std::vector<int> members = split_members(offers, color);
    const int leader = members.front();
    if (leader != comm->rank() && own.context != 0) {
        rank.release_context(own.context);
    }
    const std::uint32_t context = offers[static_cast<std::size_t>(leader)].context;
    if (context == 0) {
        return fail_for_contexts(call);
    }
    for (int& member : members) {
        member = static_cast<int>(comm->scope().peer(static_cast<std::uint32_t>(member)));
    }
    return create(call, *comm, context, members, newcomm);
}

int Comm_free(Call& call, Communicator* comm_object, MPI_Comm* comm)
{
    if (object::is_predefined(object::bits_of(*comm))) {
        return call.fail(MPI_ERR_COMM, "a predefined communicator cannot be freed");
    }
    *comm = MPI_COMM_NULL;
    comm_object->free_handle();
    call.set_error_source(nullptr);
    return MPI_SUCCESS;
}

int Comm_compare(Call& call, Communicator* comm1, Communicator* comm2, int* result)
{
    if (comm1 == comm2) {
        *result = MPI_IDENT;
        return MPI_SUCCESS;
    }
    const int own = rank_of(call).world_rank;
    *result = object::compare({comm1->members(), own}, {comm2->members(), own});
    if (*result == MPI_IDENT) {
        *result = MPI_CONGRUENT;
    }
    return MPI_SUCCESS;
}

int Comm_group(Call& call, Communicator* comm, MPI_Group* group)
{
    Rank& rank = rank_of(call);
    *group =
        rank.pool().acquire<MPI_Group>(new object::Group(comm->members(), rank.world_rank));
    return MPI_SUCCESS;
}

}  // namespace call
}  // namespace headway::abi
