// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "engine/graph_engine.hpp"
#include "object/communicator.hpp"
#include "object/datatype.hpp"
#include "object/operator.hpp"
#include "object/rank.hpp"
#include "protocol/coll/select.hpp"

namespace headway::object {

/// One call of a collective, already checked.
struct CollectiveCall {
    protocol::coll::Collective collective = protocol::coll::Collective::barrier;
    const void* send = nullptr;
    void* receive = nullptr;
    /// Elements of the vector (bcast, reductions), or of one rank's block.
    std::uint64_t count = 0;
    std::uint64_t element_bytes = 1;
    std::uint32_t root = 0;
    bool in_place = false;
    /// Reductions only. `user_op` is a UserReduction, released with the op (end_op).
    engine::Reduction reduction;
    bool is_commutative = true;
};

/// Starts it: chooses the algorithm, finds or builds its graph, runs it. Null: the node heap is
/// exhausted and nothing was started.
engine::Op* start_collective(Rank& rank, Communicator& communicator, const CollectiveCall& call);

/// MPI_Ibarrier.
engine::Op* start_barrier(Rank& rank, Communicator& communicator);

/// Collectives that the library needs for itself, on vectors of bytes; block until done. False:
/// the node heap is exhausted.
bool bcast_bytes(Rank& rank, Communicator& communicator, void* bytes, std::uint64_t size,
                 std::uint32_t root);
bool allgather_bytes(Rank& rank, Communicator& communicator, const void* own, void* all,
                     std::uint64_t size);

/// What a run of a user-defined operator needs: the graph engine hands it back for every step.
/// Private to the rank's process; lives as long as the op of its collective.
struct UserReduction {
    UserOperator* op = nullptr;
    MPI_Datatype datatype = MPI_DATATYPE_NULL;
};

/// Takes and drops a reference on the operator: it may be freed while a collective uses it.
UserReduction* make_reduction(UserOperator* op, MPI_Datatype datatype);
void release_reduction(UserReduction* reduction);

/// Drops a reference; the last one destroys the operator.
void drop_operator(UserOperator* op);

/// Runs user-defined operators for the graph engine.
bool run_user_reduction(engine::Driver& driver, std::uint64_t user_op, const void* in, void* inout,
                        std::uint64_t count);

}  // namespace headway::object
