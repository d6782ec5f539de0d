// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/op.hpp"
#include "mpi.h"

namespace headway::object {

class Rank;

/// What must stay until an op is over, and what its owner still has to do then. Hangs on
/// Op::owner_keep; private to the rank's process. Exactly one of the two happens:
/// finish() when the owner completes the request, or the destructor alone when the op is dropped.
/// One that is_lasting() is not finished: it stays with the op and speaks for it until it is freed.
struct OpKeep {
    OpKeep() = default;
    OpKeep(const OpKeep&) = delete;
    OpKeep& operator=(const OpKeep&) = delete;
    virtual ~OpKeep() = default;

    /// Runs in the owner's thread, inside a call, after the op is complete and before its result
    /// is reported. May change the result.
    virtual void finish(Rank& rank, engine::Op& op) = 0;
    /// After finish(), its last use by the op.
    virtual void let_go() noexcept { delete this; }

    virtual bool is_lasting() const noexcept { return false; }
    /// Of lasting ones: says what became of the op, in place of the op. Returns the error class.
    virtual int report(MPI_Status* /*status*/) { return MPI_SUCCESS; }
    /// Of lasting ones: the op is about to go, and this with it. Returns the error class.
    virtual int close() { return MPI_SUCCESS; }
};

/// Hangs `keep` on the op, which owns it from now on.
inline void set_keep(engine::Op& op, OpKeep* keep) noexcept
{
    op.owner_keep = reinterpret_cast<std::uintptr_t>(keep);
}

inline OpKeep* keep_of(const engine::Op& op) noexcept
{
    return reinterpret_cast<OpKeep*>(op.owner_keep);
}

}  // namespace headway::object
