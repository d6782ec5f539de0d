// SPDX-License-Identifier: Apache-2.0
// Inter-communicators (MPI-5.0 section 7.6).
#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "abi/any_time.hpp"
#include "abi/call_order.hpp"
#include "abi/new_communicator.hpp"
#include "abi/tag_spreading.hpp"
#include "abi_calls.hpp"
#include "object/agreement.hpp"
#include "object/collective.hpp"
#include "object/group.hpp"

namespace headway::abi {
namespace {

using object::Communicator;
using object::Rank;

/// What a leader says of its group to the other leader, and then to its own group of the other.
struct GroupOffer {
    std::uint32_t context = 0;
    std::int32_t leader = -1;  ///< in MPI_COMM_WORLD
    std::int32_t size = 0;     ///< 0: the leaders did not come together
    std::int32_t error = MPI_SUCCESS;
};

template <typename Value>
std::span<std::byte> bytes_of(std::vector<Value>& values)
{
    return std::as_writable_bytes(std::span(values));
}

/// What the local group learns from its leader.
struct Meeting {
    GroupOffer own;
    GroupOffer other;
    std::vector<int> remote;
};

/// The leaders' part. An error class, which goes to the whole group.
int meet(Call& call, Communicator& local, MPI_Comm peer_handle, int remote_leader, int tag,
         Meeting& meeting)
{
    Rank& rank = rank_of(call);
    Communicator* const peer =
        peer_handle == nullptr ? rank.ground() : object::find_communicator(rank, peer_handle);
    if (peer == nullptr) {
        return call.fail(MPI_ERR_COMM, "the peer communicator (argument peer_comm, 0x%zx) is none",
                         static_cast<std::size_t>(object::bits_of(peer_handle)));
    }
    if (remote_leader < 0 || remote_leader >= peer->peer_count()) {
        return call.fail(MPI_ERR_RANK,
                         "the remote leader (argument remote_leader) is %d, outside the peer "
                         "communicator's %d ranks",
                         remote_leader, peer->peer_count());
    }
    meeting.own.context = rank.pick_context();
    meeting.own.leader = rank.world_rank;
    meeting.own.size = local.size();
    if (!object::swap_bytes(rank.driver(), *peer, remote_leader, tag,
                            std::as_bytes(std::span(&meeting.own, 1)),
                            std::as_writable_bytes(std::span(&meeting.other, 1)))) {
        return fail_for_memory(call);
    }
    std::vector<int> members = local.members();
    meeting.remote.resize(static_cast<std::size_t>(meeting.other.size));
    if (!object::swap_bytes(rank.driver(), *peer, remote_leader, tag, bytes_of(members),
                            bytes_of(meeting.remote))) {
        return fail_for_memory(call);
    }
    return MPI_SUCCESS;
}

/// Both leaders pick a context; that of the lower one is taken.
bool is_first(const Meeting& meeting)
{
    return meeting.own.leader < meeting.other.leader;
}

int check_disjoint(Call& call, const std::vector<int>& local, const std::vector<int>& remote)
{
    for (const int member : local) {
        if (std::ranges::find(remote, member) != remote.end()) {
            return call.fail(MPI_ERR_COMM,
                             "rank %d of MPI_COMM_WORLD is in both groups; they must have no "
                             "member in common",
                             member);
        }
    }
    return MPI_SUCCESS;
}

/// Tells the local group what its leader knows. An error class: the leader could not.
int spread(Call& call, Communicator& local, int leader, Meeting& meeting)
{
    Rank& rank = rank_of(call);
    const auto root = static_cast<std::uint32_t>(leader);
    GroupOffer both[2] = {meeting.own, meeting.other};
    if (!object::bcast_bytes(rank, local, both, sizeof both, root)) {
        return fail_for_memory(call);
    }
    meeting.own = both[0];
    meeting.other = both[1];
    if (meeting.own.error != MPI_SUCCESS) {
        return local.rank() == leader
                   ? meeting.own.error
                   : call.fail(meeting.own.error,
                               "the leader of the local group (rank %d) could not reach that of "
                               "the remote one",
                               leader);
    }
    meeting.remote.resize(static_cast<std::size_t>(meeting.other.size));
    if (!object::bcast_bytes(rank, local, meeting.remote.data(),
                             meeting.remote.size() * sizeof(int), root)) {
        return fail_for_memory(call);
    }
    return MPI_SUCCESS;
}

/// Where the groups' leaders meet.
struct MeetingPoint {
    MPI_Comm peer_comm;  ///< or null: the library's communicator of all ranks
    int remote_leader;   ///< looked at by the local leader only, as the communicator is
    int tag;
};

int join_groups(Call& call, Communicator& local_comm, int local_leader, const MeetingPoint& point,
                MPI_Comm* newintercomm)
{
    Meeting meeting;
    if (local_comm.rank() == local_leader) {
        meeting.own.error =
            meet(call, local_comm, point.peer_comm, point.remote_leader, point.tag, meeting);
    }
    int error = spread(call, local_comm, local_leader, meeting);
    if (error == MPI_SUCCESS) {
        error = check_disjoint(call, local_comm.members(), meeting.remote);
    }
    const bool picked = local_comm.rank() == local_leader && meeting.own.context != 0;
    if (picked && (error != MPI_SUCCESS || !is_first(meeting))) {
        rank_of(call).contexts().give_back(meeting.own.context);
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    const std::uint32_t context = is_first(meeting) ? meeting.own.context : meeting.other.context;
    return create_communicator(
        call, local_comm, context,
        object::TwoGroups{local_comm.members(), meeting.remote, is_first(meeting)}, newintercomm);
}

int check_leader(Call& call, const char* name, int leader, const object::Group& group)
{
    if (leader < 0 || leader >= group.size()) {
        return call.fail(MPI_ERR_RANK,
                         "the leader (argument %s) is %d, outside its group's %d ranks", name,
                         leader, group.size());
    }
    return MPI_SUCCESS;
}

}  // namespace

namespace call {

int Intercomm_create(Call& call, Communicator* local_comm, int local_leader, MPI_Comm peer_comm,
                     int remote_leader, int tag, MPI_Comm* newintercomm)
{
    if (local_comm->is_inter()) {
        return call.fail(MPI_ERR_COMM,
                         "the local communicator is an inter-communicator; give an "
                         "intra-communicator");
    }
    if (local_leader < 0 || local_leader >= local_comm->size()) {
        return call.fail(MPI_ERR_RANK,
                         "the local leader (argument local_leader) is %d, outside the "
                         "communicator's %d ranks",
                         local_leader, local_comm->size());
    }
    if (const int error = check_order(call, *local_comm); error != MPI_SUCCESS) [[unlikely]] {
        return error;
    }
    return join_groups(call, *local_comm, local_leader, {peer_comm, remote_leader, tag},
                       newintercomm);
}

int Intercomm_create_from_groups(Call& call, object::Group* local_group, int local_leader,
                                 object::Group* remote_group, int remote_leader,
                                 const char* stringtag, MPI_Info info,
                                 object::ErrorHandler* errhandler, MPI_Comm* newintercomm)
{
    Rank& rank = rank_of(call);
    call.set_error_holder(errhandler, object::bits_of(MPI_COMM_NULL));
    int error = check_leader(call, "local_leader", local_leader, *local_group);
    if (error == MPI_SUCCESS && local_group->rank() == MPI_UNDEFINED) {
        error = call.fail(MPI_ERR_GROUP, "the caller is no member of the local group");
    }
    // The remote group is known to the leader, and perhaps to the others.
    MeetingPoint point{nullptr, 0, tag_of_text(stringtag)};
    if (error == MPI_SUCCESS && local_group->rank() == local_leader) {
        error = check_leader(call, "remote_leader", remote_leader, *remote_group);
        if (error == MPI_SUCCESS) {
            point.remote_leader =
                remote_group->world_ranks()[static_cast<std::size_t>(remote_leader)];
        }
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    MPI_Comm local_handle = MPI_COMM_NULL;
    error = create_from_group(call, *local_group, point.tag, &local_handle);
    if (error != MPI_SUCCESS) {
        return error;
    }
    Communicator* const local = object::find_communicator(rank, local_handle);
    error = join_groups(call, *local, local_leader, point, newintercomm);
    // It was there to join the groups.
    local->free_handle();
    if (error == MPI_SUCCESS) {
        Communicator* const made = object::find_communicator(rank, *newintercomm);
        made->set_error_handler(errhandler);
        return take_first_hints(call, *made, hints_of(call, info));
    }
    return error;
}

int Intercomm_merge(Call& call, Communicator* intercomm, int high, MPI_Comm* newintracomm)
{
    if (!intercomm->is_inter()) {
        return call.fail(MPI_ERR_COMM,
                         "the communicator (argument intercomm) is an intra-communicator; it has "
                         "no groups to merge");
    }
    if (const int error = check_order(call, *intercomm); error != MPI_SUCCESS) [[unlikely]] {
        return error;
    }
    Rank& rank = rank_of(call);
    const char own = high != 0 ? 1 : 0;
    std::vector<char> flags(intercomm->joint_scope().size);
    if (!object::allgather_bytes(rank, *intercomm, &own, flags.data(), sizeof own)) {
        return fail_for_memory(call);
    }
    const object::TwoGroups groups = intercomm->groups();
    const std::vector<int>& first = groups.is_first ? groups.local : groups.remote;
    const std::vector<int>& second = groups.is_first ? groups.remote : groups.local;
    // Where both say the same, the order is the library's to choose.
    const bool is_turned = flags.front() > flags.back();
    std::vector<int> members = is_turned ? second : first;
    const std::vector<int>& behind = is_turned ? first : second;
    members.insert(members.end(), behind.begin(), behind.end());
    return create_communicator(call, *intercomm, object::agree_for_all(rank, *intercomm), members,
                               newintracomm);
}

}  // namespace call
}  // namespace headway::abi
