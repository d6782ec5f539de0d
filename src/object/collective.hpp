// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "engine/graph_engine.hpp"
#include "object/communicator.hpp"
#include "object/datatype.hpp"
#include "object/op_keep.hpp"
#include "object/operator.hpp"
#include "object/rank.hpp"
#include "protocol/coll/select.hpp"

namespace headway::object {

/// What a run of a user-defined operator needs: the graph engine hands it back for every step.
/// Holds a reference on the operator: it may be freed while a collective uses it.
class UserReduction final : public OpKeep {
  public:
    UserReduction(UserOperator* op, MPI_Datatype datatype);
    ~UserReduction() override;

    void finish(Rank& rank, engine::Op& op) override;
    /// inout = in (op) inout.
    void apply(const void* in, void* inout, std::uint64_t count) const;

  private:
    UserOperator* op_;
    MPI_Datatype datatype_;
};

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
    /// Reductions only.
    engine::Reduction reduction;
    /// Of a user-defined operator; goes over to the op if the call can be started.
    std::unique_ptr<UserReduction> user;
    bool is_commutative = true;
};

/// Starts it: chooses the algorithm, finds or builds its graph, runs it. Null: the node heap is
/// exhausted and nothing was started.
engine::Op* start_collective(Rank& rank, Communicator& communicator, CollectiveCall call);

/// MPI_Ibarrier.
engine::Op* start_barrier(Rank& rank, Communicator& communicator);

/// Collectives that the library needs for itself, on vectors of bytes; block until done. False:
/// the node heap is exhausted.
bool bcast_bytes(Rank& rank, Communicator& communicator, void* bytes, std::uint64_t size,
                 std::uint32_t root);
bool allgather_bytes(Rank& rank, Communicator& communicator, const void* own, void* all,
                     std::uint64_t size);

/// Drops a reference; the last one destroys the operator.
void drop_operator(UserOperator* op);

/// Runs user-defined operators for the graph engine.
bool run_user_reduction(engine::Driver& driver, std::uint64_t user_op, const void* in, void* inout,
                        std::uint64_t count);

}  // namespace headway::object
