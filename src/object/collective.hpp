// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/graph_engine.hpp"
#include "object/collective_keep.hpp"
#include "object/communicator.hpp"
#include "object/rank.hpp"
#include "protocol/coll/select.hpp"

namespace headway::object {

/// One call of a collective, already checked. What the spaces hold: protocol/coll/algorithms.hpp.
struct CollectiveCall {
    protocol::coll::Collective collective = protocol::coll::Collective::barrier;
    const void* send = nullptr;
    void* receive = nullptr;
    /// Elements of the vector (bcast, reductions), or of one rank's block.
    std::uint64_t count = 0;
    std::uint64_t element_bytes = 1;
    /// Of which the vector, or one block of the side described last, has `type_count`, for those
    /// who compare calls. Null: the call lists its blocks, or moves nothing.
    const Datatype* type = nullptr;
    std::uint64_t type_count = 0;
    std::uint32_t root = 0;  ///< in the joint scope, or protocol::coll::no_root
    bool in_place = false;
    /// Of an inter-communicator as MPI has it: between its groups. Else all members of both take
    /// part alike, which is what the library's own calls want.
    bool is_between_groups = false;
    /// A v-form of gather or scatter, also on ranks that list no blocks.
    bool is_listed = false;
    /// v-forms: a block for each rank, in elements; empty where the blocks of a side are uniform.
    std::vector<engine::BlockRange> send_blocks;
    std::vector<engine::BlockRange> receive_blocks;
    /// Reductions only.
    engine::Reduction reduction;
    bool is_commutative = true;
    /// Goes over to the op if the call can be started. Null: nothing is kept.
    std::unique_ptr<CollectiveKeep> keep;

    CollectiveKeep& make_keep();
};

// Calls of the application are inside the communicator's instance; what the library tells by a
// collective of its own goes by the first one, on all members alike.

/// Starts it: chooses the algorithm, finds or builds its graph, runs it. Null: the node heap is
/// exhausted and nothing was started.
engine::Op* start_collective(Instance& at, Communicator& communicator, CollectiveCall&& call);

/// As start_collective(), for a caller who waits for it: it may be over at once, without an op.
engine::StartedGraph run_collective(Instance& at, Communicator& communicator,
                                    CollectiveCall&& call);

/// A persistent request for it, which takes its place in the order of collectives now.
/// MPI_REQUEST_NULL: the node heap or the handle table is exhausted.
MPI_Request make_repeated_collective(Rank& rank, Communicator& communicator, CollectiveCall call);

/// inout = in (op) inout at once, in this thread (MPI_Reduce_local): `send` and `receive` of the
/// call.
void reduce_local(Rank& rank, CollectiveCall call);

/// A barrier of the library's own.
engine::Op* start_barrier(Rank& rank, Communicator& communicator);

/// Collectives that the library needs for itself, on vectors of bytes; block until done. False:
/// the node heap is exhausted.
bool bcast_bytes(Instance& at, Communicator& communicator, void* bytes, std::uint64_t size,
                 std::uint32_t root);
inline bool bcast_bytes(Rank& rank, Communicator& communicator, void* bytes, std::uint64_t size,
                        std::uint32_t root)
{
    return bcast_bytes(rank.first(), communicator, bytes, size, root);
}
bool allgather_bytes(Rank& rank, Communicator& communicator, const void* own, void* all,
                     std::uint64_t size);

/// The same for lists of different lengths, `sizes` bytes of each rank, which follow each other.
bool allgather_lists(Rank& rank, Communicator& communicator, const void* own, void* all,
                     const std::vector<std::uint64_t>& sizes);

/// Runs user-defined operators for the graph engine.
bool run_user_reduction(engine::Driver& driver, std::uint64_t user_op, const void* in, void* inout,
                        std::uint64_t count);

}  // namespace headway::object
