// SPDX-License-Identifier: Apache-2.0
// How the completion calls end what is complete, or only show what became of it.
#pragma once

#include <cstddef>

#include "abi/call.hpp"
#include "abi/transfer.hpp"
#include "object/request.hpp"
#include "object/status.hpp"

namespace headway::abi {

inline MPI_Status* status_at(MPI_Status* array, std::size_t index)
{
    return array != MPI_STATUSES_IGNORE ? &array[index] : MPI_STATUS_IGNORE;
}

/// What a call says of no request; its error field is MPI_SUCCESS (MPI-5.0, 3.7.3).
inline void set_empty(MPI_Status* status)
{
    if (status != MPI_STATUS_IGNORE) {
        object::clear_status(*status);
    }
}

/// Errors of this operation go to its communicator's handler.
inline void blame(Call& call, const engine::Op& op)
{
    if (object::communicator_of(op) != nullptr) {
        call.set_error_source(object::communicator_of(op));
    }
}

inline int finish_op(Call& call, MPI_Request* request, engine::Op* op, MPI_Status* status,
                     object::FreedRequests& freed)
{
    object::settle(rank_of(call), *op);
    if (op->error != engine::OpError::none) [[unlikely]] {
        blame(call, *op);
        explain(call, *op);
    }
    return object::finish_request(freed.instance(), request, op, status, freed);
}

inline int finish_op(Call& call, MPI_Request* request, engine::Op* op, MPI_Status* status)
{
    object::FreedRequests freed(call.instance());
    return finish_op(call, request, op, status, freed);
}

/// Ops of the rank may belong to several instances.
inline bool is_spread(const Call& call) noexcept
{
    return call.rank().is_spread.load(std::memory_order_relaxed);  // relaxed: see there
}

/// Goes where the op belongs. True: it was elsewhere.
inline bool follow_op(Call& call, const engine::Op& op)
{
    object::Instance& home = rank_of(call).instance_of(op);
    const bool is_elsewhere = &home != &call.instance();
    call.move_to(home);
    return is_elsewhere;
}

/// How calls end what is complete: its request is over, and in a list each status says what became
/// of it. An op that is null is that of no request.
class Finisher {
  public:
    Finisher(Call& call, MPI_Request* requests)
        : call_(call), requests_(requests), freed_(call.instance())
    {
    }

    int end_one(std::size_t index, engine::Op* op, MPI_Status* status)
    {
        if (op == nullptr) {
            set_empty(status);
            return MPI_SUCCESS;
        }
        if (is_spread(call_) && follow_op(call_, *op)) [[unlikely]] {
            freed_.move_to(call_.instance());
        }
        return finish_op(call_, &requests_[index], op, status, freed_);
    }

    void end_listed(std::size_t index, engine::Op* op, MPI_Status* status)
    {
        const int error = end_one(index, op, status);
        if (status != MPI_STATUS_IGNORE) {
            status->MPI_ERROR = error;
        }
        if (error != MPI_SUCCESS) {
            has_failed_ = true;
        }
    }

    int result() const { return has_failed_ ? MPI_ERR_IN_STATUS : MPI_SUCCESS; }

  private:
    Call& call_;
    MPI_Request* requests_;
    object::FreedRequests freed_;
    bool has_failed_ = false;
};

/// The other way: requests stay, only their statuses are shown. Errors belong to the calls that
/// will complete them.
class Looker {
  public:
    explicit Looker(Call& call) : call_(call) {}

    int end_one(std::size_t, engine::Op* op, MPI_Status* status)
    {
        if (op == nullptr) {
            set_empty(status);
            return MPI_SUCCESS;
        }
        if (is_spread(call_)) [[unlikely]] {
            (void)follow_op(call_, *op);
        }
        object::settle(rank_of(call_), *op);
        (void)object::report(*op, status);
        return MPI_SUCCESS;
    }

    void end_listed(std::size_t index, engine::Op* op, MPI_Status* status)
    {
        end_one(index, op, status);
    }
    int result() const { return MPI_SUCCESS; }

  private:
    Call& call_;
};

}  // namespace headway::abi
