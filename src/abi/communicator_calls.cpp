// SPDX-License-Identifier: Apache-2.0
// Communicators (MPI-5.0 section 7.4).
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "abi/any_time.hpp"
#include "abi/call_order.hpp"
#include "abi/message_calls.hpp"
#include "abi/new_communicator.hpp"
#include "abi/tag_spreading.hpp"
#include "abi_calls.hpp"
#include "object/agreement.hpp"
#include "object/collective.hpp"
#include "object/memory_kinds.hpp"
#include "object/process.hpp"
#include "object/request.hpp"
#include "object/session.hpp"
#include "protocol/point_to_point.hpp"

namespace headway::abi {
namespace {

using object::AttributeSet;
using object::Communicator;
using object::Rank;

int fail_for_intra(Call& call)
{
    return call.fail(MPI_ERR_COMM,
                     "the communicator is an intracommunicator; it has no remote "
                     "group");
}

/// Runs the copy callbacks. Where one fails, what was copied before is deleted again.
int copy_attributes(Call& call, Communicator& from, Communicator& to)
{
    const int code = object::copy_attributes(from.attributes(), from.handle(), to.attributes());
    if (code == MPI_SUCCESS) {
        return MPI_SUCCESS;
    }
    const int ignored = object::delete_attributes(to.attributes(), to.handle());
    static_cast<void>(ignored);
    return call.fail(code, "the copy callback of an attribute answered %d", code);
}

/// `hints` are null for a duplicate without an info.
int duplicate(Call& call, Communicator& comm, const object::Info* hints, MPI_Comm* newcomm)
{
    if (const int error = check_order(call, comm); error != MPI_SUCCESS) [[unlikely]] {
        return error;
    }
    const auto context = object::agree_for_all(rank_of(call), comm);
    if (const int error = check_context(call, context); error != MPI_SUCCESS) {
        return error;
    }
    NewCommunicator made(call, comm, context.value_or(0));
    if (made.get() == nullptr) {
        return MPI_ERR_NO_MEM;
    }
    // Before what may fail on one member alone: all of them have to come here.
    if (hints != nullptr) {
        if (const int error = take_first_hints(call, *made.get(), *hints); error != MPI_SUCCESS) {
            return error;
        }
    }
    if (const int code = copy_attributes(call, comm, *made.get()); code != MPI_SUCCESS) {
        return code;
    }
    made.get()->set_topology(comm.shared_topology());
    *newcomm = made.release();
    return MPI_SUCCESS;
}

/// The handle is there at once; the communicator gets its context when the request is completed.
/// Attributes are those of now (MPI-5.0 section 7.4.2).
int start_duplicate(Call& call, Communicator& comm, const object::Info* hints, MPI_Comm* newcomm,
                    MPI_Request* request)
{
    if (const int error = check_order(call, comm); error != MPI_SUCCESS) [[unlikely]] {
        return error;
    }
    NewCommunicator made(call, comm, 0);
    if (made.get() == nullptr) {
        return MPI_ERR_NO_MEM;
    }
    if (const int code = copy_attributes(call, comm, *made.get()); code != MPI_SUCCESS) {
        return code;
    }
    if (hints != nullptr) {
        made.get()->take_hints(*hints);
    }
    made.get()->set_topology(comm.shared_topology());
    engine::Op* op = object::start_duplicate(rank_of(call), comm, *made.get(), hints != nullptr);
    if (op == nullptr) {
        return fail_for_memory(call);
    }
    *newcomm = made.release();
    *request = object::make_request(rank_of(call), comm, op);
    return MPI_SUCCESS;
}

/// MPI_SUCCESS where all of the group are members of the communicator.
int check_members(Call& call, const Communicator& comm, const object::Group& group)
{
    const object::Group all(comm.members(), rank_of(call).world_rank);
    for (const int member : group.world_ranks()) {
        if (all.find(member) == MPI_UNDEFINED) {
            return call.fail(MPI_ERR_GROUP,
                             "the group holds a process (rank %d of MPI_COMM_WORLD) "
                             "that is no member of the communicator",
                             member);
        }
    }
    return MPI_SUCCESS;
}

/// Of two comparisons.
int worse_of(int first, int second)
{
    if (first == MPI_UNEQUAL || second == MPI_UNEQUAL) {
        return MPI_UNEQUAL;
    }
    return first == MPI_SIMILAR || second == MPI_SIMILAR ? MPI_SIMILAR : MPI_IDENT;
}

int refuse_inter(Call& call)
{
    return call.fail(MPI_ERR_COMM,
                     "the communicator is an inter-communicator; give an intra-communicator");
}

std::vector<int> members_of(const object::Group& group)
{
    return {group.world_ranks().begin(), group.world_ranks().end()};
}

/// What a rank of an inter-communicator says of the group that it gave MPI_Comm_create.
struct GroupOffer {
    int place;  ///< its own there, or MPI_UNDEFINED
    std::uint32_t context;
};

/// The members of one new group, in order: those of `offers` that have a place there.
std::vector<int> placed_members(const Communicator& comm, const std::vector<GroupOffer>& offers,
                                int begin, int end)
{
    std::vector<int> members;
    for (int i = begin; i < end; ++i) {
        if (offers[static_cast<std::size_t>(i)].place != MPI_UNDEFINED) {
            members.push_back(i);
        }
    }
    std::ranges::sort(members, {},
                      [&](int i) { return offers[static_cast<std::size_t>(i)].place; });
    for (int& member : members) {
        member = static_cast<int>(comm.joint_scope().job_rank(static_cast<std::uint32_t>(member)));
    }
    return members;
}

/// Each group of the new inter-communicator is part of one of the old one's.
int create_between(Call& call, Communicator& comm, const object::Group& group, MPI_Comm* newcomm)
{
    Rank& rank = rank_of(call);
    const GroupOffer own{group.rank(), group.rank() == 0 ? rank.pick_context() : 0};
    std::vector<GroupOffer> offers(comm.joint_scope().size);
    if (!object::allgather_bytes(rank, comm, &own, offers.data(), sizeof own)) {
        return fail_for_memory(call);
    }
    const bool is_first = comm.is_first_group();
    const int middle = is_first ? comm.size() : comm.peer_count();
    const int all = comm.size() + comm.peer_count();
    const std::vector<int> first = placed_members(comm, offers, 0, middle);
    const std::vector<int> second = placed_members(comm, offers, middle, all);
    const bool is_made = own.place != MPI_UNDEFINED && !first.empty() && !second.empty();
    if (own.context != 0 && (!is_made || !is_first)) {
        rank.contexts().give_back(own.context);
    }
    if (!is_made) {
        *newcomm = MPI_COMM_NULL;
        return MPI_SUCCESS;
    }
    const auto leads = [](const GroupOffer& offer) { return offer.place == 0; };
    const std::uint32_t context = std::ranges::find_if(offers, leads)->context;
    return create_communicator(
        call, comm, context,
        object::TwoGroups{is_first ? first : second, is_first ? second : first, is_first}, newcomm);
}

int free_communicator(Call& call, Communicator* comm_object, MPI_Comm* comm)
{
    if (const int error = check_order(call, *comm_object); error != MPI_SUCCESS) [[unlikely]] {
        return error;
    }
    AttributeSet& attributes = comm_object->attributes();
    if (const int code = object::delete_attributes(attributes, *comm); code != MPI_SUCCESS) {
        return call.fail(code,
                         "the delete callback of an attribute answered %d; the communicator "
                         "stays",
                         code);
    }
    *comm = MPI_COMM_NULL;
    comm_object->free_handle();
    call.set_error_source(nullptr);
    return MPI_SUCCESS;
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
    // Hints do not pass to a duplicate (MPI-5.0 section 7.4.2).
    return duplicate(call, *comm, nullptr, newcomm);
}

int Comm_dup_with_info(Call& call, Communicator* comm, MPI_Info info, MPI_Comm* newcomm)
{
    const object::Info hints = hints_of(call, info);
    return duplicate(call, *comm, &hints, newcomm);
}

int Comm_idup(Call& call, Communicator* comm, MPI_Comm* newcomm, MPI_Request* request)
{
    return start_duplicate(call, *comm, nullptr, newcomm, request);
}

int Comm_idup_with_info(Call& call, Communicator* comm, MPI_Info info, MPI_Comm* newcomm,
                        MPI_Request* request)
{
    const object::Info hints = hints_of(call, info);
    return start_duplicate(call, *comm, &hints, newcomm, request);
}

int Comm_create(Call& call, Communicator* comm, object::Group* group, MPI_Comm* newcomm)
{
    if (const int error = check_members(call, *comm, *group); error != MPI_SUCCESS) {
        return error;
    }
    if (const int error = check_order(call, *comm); error != MPI_SUCCESS) [[unlikely]] {
        return error;
    }
    if (comm->is_inter()) {
        return create_between(call, *comm, *group, newcomm);
    }
    const auto context = object::agree_for_part(rank_of(call), *comm, *group);
    if (context && group->rank() == MPI_UNDEFINED) {
        *newcomm = MPI_COMM_NULL;
        return MPI_SUCCESS;
    }
    return create_communicator(call, *comm, context, members_of(*group), newcomm);
}

int Comm_create_group(Call& call, Communicator* comm, object::Group* group, int tag,
                      MPI_Comm* newcomm)
{
    if (comm->is_inter()) {
        return refuse_inter(call);
    }
    if (const int error = check_members(call, *comm, *group); error != MPI_SUCCESS) {
        return error;
    }
    if (group->rank() == MPI_UNDEFINED) {
        *newcomm = MPI_COMM_NULL;
        return MPI_SUCCESS;
    }
    return create_communicator(call, *comm,
                               object::agree_in_group(rank_of(call), *comm, *group, tag),
                               members_of(*group), newcomm);
}

int Comm_split(Call& call, Communicator* comm, int color, int key, MPI_Comm* newcomm)
{
    return split_communicator(call, *comm, color, key, newcomm);
}

int Comm_free(Call& call, Communicator* comm_object, MPI_Comm* comm)
{
    if (object::is_predefined(object::bits_of(*comm))) {
        return call.fail(MPI_ERR_COMM, "a predefined communicator cannot be freed");
    }
    return free_communicator(call, comm_object, comm);
}

int Comm_disconnect(Call& call, Communicator* comm_object, MPI_Comm* comm)
{
    if (object::is_predefined(object::bits_of(*comm))) {
        return call.fail(MPI_ERR_COMM, "a predefined communicator cannot be disconnected");
    }
    Rank& rank = rank_of(call);
    engine::Op* barrier = object::start_barrier(rank, *comm_object);
    if (barrier == nullptr) {
        return fail_for_memory(call);
    }
    engine::wait_for(rank.driver(), barrier);
    rank.driver().destroy_op(barrier);
    // Sends whose requests were completed or freed may still wait for room.
    for (std::uint32_t number = 0; number < rank.instance_count(); ++number) {
        object::Instance& at = rank.instance(number);
        if (comm_object->spreads_tags() || &at == &comm_object->instance()) {
            call.move_to(at);
            engine::Driver& driver = *at.driver;
            engine::wait_until(driver, [&] { return protocol::is_quiet(driver.rank()); });
        }
    }
    call.move_to(rank.first());
    return free_communicator(call, comm_object, comm);
}

int Comm_get_parent(Call& /*call*/, MPI_Comm* parent)
{
    // No process is started by MPI_Comm_spawn.
    *parent = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

int Comm_test_inter(Call& /*call*/, Communicator* comm, int* flag)
{
    *flag = comm->is_inter() ? 1 : 0;
    return MPI_SUCCESS;
}

int Comm_remote_size(Call& call, Communicator* comm, int* size)
{
    if (!comm->is_inter()) {
        return fail_for_intra(call);
    }
    *size = comm->peer_count();
    return MPI_SUCCESS;
}

int Comm_remote_group(Call& call, Communicator* comm, MPI_Group* group)
{
    if (!comm->is_inter()) {
        return fail_for_intra(call);
    }
    Rank& rank = rank_of(call);
    *group = rank.pool().acquire<MPI_Group>(
        new object::Group(comm->peers(), rank.world_rank, comm->session()));
    return MPI_SUCCESS;
}

int Comm_set_info(Call& call, Communicator* comm, MPI_Info info)
{
    if (const int error = check_order(call, *comm); error != MPI_SUCCESS) [[unlikely]] {
        return error;
    }
    return change_hints(call, *comm, hints_of(call, info));
}

int Comm_get_info(Call& call, Communicator* comm, MPI_Info* info_used)
{
    Rank& rank = rank_of(call);
    object::Session* const session = rank.find_session(comm->session());
    const std::string* const kinds =
        session != nullptr ? session->hints().find(object::memory_kinds_key) : nullptr;
    object::Info used = comm->hints();
    used.set(object::memory_kinds_key,
             kinds != nullptr
                 ? *kinds
                 : object::supported_memory_kinds(rank.process().knobs().memory_alloc_kinds));
    return make_info(call, std::move(used), info_used);
}

int Comm_compare(Call& call, Communicator* comm1, Communicator* comm2, int* result)
{
    if (comm1 == comm2) {
        *result = MPI_IDENT;
        return MPI_SUCCESS;
    }
    if (comm1->is_inter() != comm2->is_inter()) {
        *result = MPI_UNEQUAL;
        return MPI_SUCCESS;
    }
    const int own = rank_of(call).world_rank;
    *result = object::compare({comm1->members(), own}, {comm2->members(), own});
    if (comm1->is_inter()) {
        *result = worse_of(*result, object::compare({comm1->peers(), own}, {comm2->peers(), own}));
    }
    if (*result == MPI_IDENT) {
        *result = MPI_CONGRUENT;
    }
    return MPI_SUCCESS;
}

int Comm_group(Call& call, Communicator* comm, MPI_Group* group)
{
    Rank& rank = rank_of(call);
    *group = rank.pool().acquire<MPI_Group>(
        new object::Group(comm->members(), rank.world_rank, comm->session()));
    return MPI_SUCCESS;
}

}  // namespace call
}  // namespace headway::abi
