// SPDX-License-Identifier: Apache-2.0
// Persistent requests (MPI-5.0 sections 3.9 and 6.13): operations that MPI_Start starts again and
// again.
//
// 1. While it is inactive, the slot of its handle holds the Persistent, as Kind::idle_request;
//    while it is active, the op that runs, as Kind::request (attached to a sync object: the event
//    that leads to it, as Kind::attached_request). So whoever completes requests finds
//    nothing but ops, and pays for persistent ones only where an op ends.
// 2. The cookie of that op is the Persistent with its lowest bit set, not a communicator.
#pragma once

#include <cstdint>
#include <string>

#include "engine/op.hpp"
#include "mpi.h"
#include "object/rank_access.hpp"

namespace headway::engine {
class Driver;
struct SyncEvent;
}  // namespace headway::engine

namespace headway::object {

class Communicator;
struct Instance;
class Partitioned;
class Rank;

/// Belongs to its handle. activate() and end() are in object/request.hpp. Thread rule: the rank's
/// threads, under its lock.
class Persistent {
  public:
    struct Facts {
        engine::OpKind kind;         ///< of its operations
        bool takes_any_tag = false;  ///< it receives from MPI_ANY_TAG
        /// Its start sends a message that comes whole, asked for or not.
        bool is_short_send = false;
    };

    /// Takes a reference on `communicator`.
    Persistent(Rank& rank, Communicator& communicator, const Facts& facts);
    Persistent(const Persistent&) = delete;
    Persistent& operator=(const Persistent&) = delete;
    virtual ~Persistent();

    Communicator* communicator() const noexcept { return communicator_; }
    Rank& rank() const noexcept { return rank_; }
    const Facts& facts() const noexcept { return facts_; }
    bool is_own_op(const engine::Op* op) const noexcept { return op == own_op_; }

    /// The event of each run, where the request is attached to a sync object; else null.
    engine::SyncEvent* binding() const noexcept { return binding_; }
    /// Attaches each run from now on, or no run any more.
    void bind(engine::SyncEvent* event) noexcept { binding_ = event; }

    bool is_active() const noexcept { return is_active_; }

    /// Null: it is not partitioned. Those that are belong to their active op, and so cannot be
    /// freed before it is over.
    virtual Partitioned* as_partitioned() noexcept { return nullptr; }

    /// Starts the operation; the handle stands for its op from now on. Requires: inactive. False:
    /// complaint() says why not.
    bool activate(MPI_Request handle);
    /// Of the start that has failed: empty where the node heap is exhausted; else what is wrong
    /// with the buffer that messages go through.
    virtual std::string complaint() const { return {}; }
    /// The op is complete: reports what became of it. The handle is inactive again.
    int end(Instance& instance, MPI_Request handle, engine::Op* op, MPI_Status* status);

  protected:
    /// Starts it. Null: it could not.
    virtual engine::Op* start() = 0;
    /// The request's own op: complete while the request is inactive, so that it stands for
    /// operations that are over when they start; others may start it again. It outlives them, and
    /// nothing may be kept with it.
    engine::Op* own_op() const noexcept { return own_op_; }

  private:
    friend MPI_Request make_persistent(Rank& rank, Persistent* made);

    void attach_run(engine::Op* op);

    Rank& rank_;
    Communicator* communicator_;
    Facts facts_;
    engine::Op* own_op_;
    engine::SyncEvent* binding_ = nullptr;
    bool is_active_ = false;
};

/// An inactive request, which owns `made`. MPI_REQUEST_NULL, and `made` is gone: the node heap or
/// the handle table is exhausted.
MPI_Request make_persistent(Rank& rank, Persistent* made);

/// The inactive persistent request behind a handle, or null.
inline Persistent* find_inactive(const RankAccess& rank, MPI_Request request) noexcept
{
    return static_cast<Persistent*>(rank.handles->find(Kind::idle_request, bits_of(request)));
}

/// Requires: inactive. Sets the handle to null.
void free_inactive(Rank& rank, MPI_Request* request);

/// The persistent request that started the op, or null.
inline Persistent* starter_of(const engine::Op& op) noexcept
{
    return (op.owner_cookie & 1U) != 0 ? reinterpret_cast<Persistent*>(op.owner_cookie - 1U)
                                       : nullptr;
}

}  // namespace headway::object
