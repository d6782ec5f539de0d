// SPDX-License-Identifier: Apache-2.0
// What the hand-written collective calls share: descriptions of buffers, and the run itself.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "abi/call_order.hpp"
#include "abi/check.hpp"
#include "abi/message_calls.hpp"
#include "object/collective.hpp"
#include "object/count_array.hpp"

namespace headway::abi {

/// What becomes of a call that was described: it is waited for, or there is a request for it.
class Completion {
  public:
    /// Null: it is waited for. Else it is started, and this is its request.
    Completion(MPI_Request* request) : request_(request) {}
    /// It gets a persistent request, and MPI_Start starts it.
    static Completion on_start(MPI_Request* request)
    {
        Completion made(request);
        made.is_persistent_ = true;
        return made;
    }

    MPI_Request* request() const noexcept { return request_; }
    bool is_persistent() const noexcept { return is_persistent_; }

  private:
    MPI_Request* request_;
    bool is_persistent_ = false;
};

/// One side of a call: blocks of `count` elements, one after the other.
struct UniformSide {
    const void* buffer = nullptr;
    MPI_Count count = 0;
    MPI_Datatype datatype = MPI_DATATYPE_NULL;
};

/// One side of a v-form: a block for each rank.
struct ListedSide {
    const void* buffer = nullptr;
    object::CountArray counts;
    object::CountArray displacements;  ///< in extents of the datatype; with `datatypes`, in bytes
    MPI_Datatype datatype = MPI_DATATYPE_NULL;
    const MPI_Datatype* datatypes = nullptr;  ///< set where each block has its own
};

inline ListedSide listed(const void* buffer, object::CountArray counts,
                         object::CountArray displacements, MPI_Datatype datatype)
{
    return {buffer, counts, displacements, datatype, nullptr};
}

// Data that is moved counts in bytes: ranks may name the same bytes by different types.
// Each returns false where the bytes cannot be counted; the call has failed then.

/// A side of `blocks` blocks; sets the call's count to the bytes of one.
bool set_send(Call& call, object::CollectiveCall& collective, const UniformSide& side,
              std::uint32_t blocks);
bool set_receive(Call& call, object::CollectiveCall& collective, const UniformSide& side,
                 std::uint32_t blocks);
bool set_send(Call& call, object::CollectiveCall& collective, const ListedSide& side,
              std::uint32_t blocks);
bool set_receive(Call& call, object::CollectiveCall& collective, const ListedSide& side,
                 std::uint32_t blocks);

/// Vectors of a reduction. Sides that stay unset are not touched.
void set_send_vector(Call& call, object::CollectiveCall& collective, const void* buffer,
                     MPI_Count count, MPI_Datatype datatype);
void set_receive_vector(Call& call, object::CollectiveCall& collective, void* buffer,
                        MPI_Count count, MPI_Datatype datatype);

inline const object::Datatype& type_of_block(Call& call, const ListedSide& side,
                                             std::uint32_t block)
{
    return type_of(call, side.datatypes != nullptr ? side.datatypes[block] : side.datatype);
}

/// The two halves of run(), between which calls are compared (HEADWAY_CHECK).
inline int prepare(Call& call, const object::Communicator& comm, object::CollectiveCall& collective)
{
    collective.is_between_groups = comm.is_inter();
    if (comm.is_inter() && collective.in_place) [[unlikely]] {
        return call.fail(MPI_ERR_BUFFER,
                         "MPI_IN_PLACE has no meaning between the groups of an inter-communicator; "
                         "give a buffer");
    }
    return MPI_SUCCESS;
}
int run_in_turn(Call& call, object::Communicator& comm, object::CollectiveCall&& collective,
                Completion completion);

/// Starts what was described and waits for it, or makes a request of it.
inline int run(Call& call, object::Communicator& comm, object::CollectiveCall&& collective,
               Completion completion)
{
    if (const int error = prepare(call, comm, collective); error != MPI_SUCCESS) [[unlikely]] {
        return error;
    }
    if (const int error = check_order(call, comm, &collective); error != MPI_SUCCESS) [[unlikely]] {
        return error;
    }
    return run_in_turn(call, comm, std::move(collective), completion);
}

/// Blocks of those sides that have one for every rank that messages can name.
inline std::uint32_t size_of(const object::Communicator& comm) noexcept
{
    return static_cast<std::uint32_t>(comm.peer_count());
}

/// A checked root as collectives count ranks.
inline std::uint32_t joint_root(int root, const object::Communicator& comm) noexcept
{
    if (!comm.is_inter()) {
        return static_cast<std::uint32_t>(root);
    }
    if (root == MPI_ROOT) {
        return comm.joint_scope().rank;
    }
    const int other_begin = comm.is_first_group() ? comm.size() : 0;
    return root == MPI_PROC_NULL ? protocol::coll::no_root
                                 : static_cast<std::uint32_t>(other_begin + root);
}

/// Whether this rank has something of its own in a call with a root: not where the root is of the
/// same group.
inline bool has_own_part(int root) noexcept
{
    return root >= 0;
}

/// Lists the blocks of both sides, which are uniform but not of one size: `sent` bytes for each of
/// `sent_blocks`, the call's count for each of `received_blocks`.
void list_sides(object::CollectiveCall& collective, std::uint64_t sent, std::uint32_t sent_blocks,
                std::uint32_t received_blocks);

/// Describes both sides of a call without a root. What is given may be in place. False: the bytes
/// cannot be counted; the call has failed then.
template <typename Sent, typename Received>
bool set_sides(Call& call, object::CollectiveCall& collective, const Sent& sent,
               std::uint32_t sent_blocks, const Received& received, std::uint32_t received_blocks)
{
    collective.in_place = sent.buffer == MPI_IN_PLACE;
    if (!collective.in_place && !set_send(call, collective, sent, sent_blocks)) {
        return false;
    }
    [[maybe_unused]] const std::uint64_t sent_bytes = collective.count;
    if (!set_receive(call, collective, received, received_blocks)) {
        return false;
    }
    if constexpr (std::is_same_v<Sent, UniformSide> && std::is_same_v<Received, UniformSide>) {
        // They may differ between groups, and with neighbours on one side only.
        if (!collective.in_place && collective.count != sent_bytes) [[unlikely]] {
            list_sides(collective, sent_bytes, sent_blocks, received_blocks);
        }
    }
    return true;
}

}  // namespace headway::abi
