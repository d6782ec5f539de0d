// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/op.hpp"
#include "mpi.h"
#include "object/op_keep.hpp"

namespace headway::object {

/// Kept with the op of a generalized request (MPI-5.0 section 13.2), which the program completes:
/// its callbacks. They run on a thread of the rank inside MPI, may call MPI and may throw.
class Generalized final : public OpKeep {
  public:
    struct Functions {
        MPI_Grequest_query_function* query;
        MPI_Grequest_free_function* free;
        MPI_Grequest_cancel_function* cancel;
        void* extra_state;
    };

    explicit Generalized(const Functions& functions) : functions_(functions) {}

    void finish(Rank& rank, engine::Op& op) override;
    bool is_lasting() const noexcept override { return true; }
    int report(MPI_Status* status) override;
    int close() override;

    int cancel(bool is_complete) const;
    /// MPI_Request_free: at once where the op is complete, else MPI_Grequest_complete, to whom
    /// the handle stays known, does what remains. Returns the error class.
    int free(Rank& rank, MPI_Request handle, engine::Op* op);

  private:
    Functions functions_;
};

/// The callbacks of a generalized request's op; null for others.
inline Generalized* generalized_of(const engine::Op& op) noexcept
{
    OpKeep* const keep = keep_of(op);
    return keep != nullptr && keep->is_lasting() ? static_cast<Generalized*>(keep) : nullptr;
}

/// MPI_Grequest_start. MPI_REQUEST_NULL: the node heap or the handle table is exhausted.
MPI_Request start_generalized(Rank& rank, const Generalized::Functions& functions);

/// The op of a generalized request that MPI_Grequest_complete may name; null for others.
engine::Op* find_generalized(const Rank& rank, MPI_Request request) noexcept;

/// Completes it. Requires: pending. Returns what the free callback says, where the request was
/// freed before.
int complete_generalized(Rank& rank, MPI_Request request, engine::Op* op);

}  // namespace headway::object
