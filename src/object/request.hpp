// SPDX-License-Identifier: Apache-2.0
// Requests: the MPI face of ops. A request's slot holds its op; the op's cookie is the communicator
// whose error handler answers for it, kept alive by a reference, or the persistent request that
// started it.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "engine/op.hpp"
#include "mpi.h"
#include "object/communicator.hpp"
#include "object/op_keep.hpp"
#include "object/persistent.hpp"
#include "object/rank.hpp"

namespace headway::object {

// Functions that are given an instance need the caller inside it; those that are given the rank
// work in its first one.

/// A request for a started op; takes a reference on `communicator`. MPI_REQUEST_NULL: the handle
/// table is full (the op is then completed and freed here).
MPI_Request make_request(Instance& instance, Communicator& communicator, engine::Op* op);
inline MPI_Request make_request(Rank& rank, Communicator& communicator, engine::Op* op)
{
    return make_request(rank.first(), communicator, op);
}

/// A request for something that is over already. Thread rule: any thread of the rank.
MPI_Request make_done_request(Instance& instance);

/// The op behind a request, or null where it is no live one. MPI_REQUEST_NULL gives null too.
inline engine::Op* find_request(const Rank& rank, MPI_Request request) noexcept
{
    return rank.handles->find<engine::Op>(request);
}

inline Communicator* communicator_of(const engine::Op& op) noexcept
{
    const Persistent* const starter = starter_of(op);
    return starter != nullptr ? starter->communicator()
                              : reinterpret_cast<Communicator*>(op.owner_cookie);
}

/// report() where there is something to say.
int report_in_full(const engine::Op& op, MPI_Status* status);

/// Writes the op's result into `status` (which may be null). Returns the error class.
/// Requires: complete and settled.
inline int report(const engine::Op& op, MPI_Status* status)
{
    const bool is_silent =
        status == MPI_STATUS_IGNORE && op.error == engine::OpError::none && keep_of(op) == nullptr;
    return is_silent ? MPI_SUCCESS : report_in_full(op, status);
}

/// settle() of an op with something kept.
void settle_kept(Rank& rank, engine::Op& op);

/// Lets what is kept with a complete op do its last step, once; afterwards the op's result is what
/// the caller may see.
inline void settle(Rank& rank, engine::Op& op)
{
    if (keep_of(op) != nullptr) [[unlikely]] {
        settle_kept(rank, op);
    }
}

/// end_op() of an op with something kept.
int end_kept_op(Instance& instance, engine::Op* op, MPI_Status* status);

/// Ends orphans that are complete. What they received has to be in its place before the program can
/// learn of it, so every call that ends a receive or a collective looks at them, with an op or
/// without.
void end_orphans(Instance& instance);
inline void end_complete_orphans(Instance& instance)
{
    if (!instance.orphans.empty()) [[unlikely]] {
        end_orphans(instance);
    }
}

/// settle(), report(), and frees the op.
inline int end_op(Instance& instance, engine::Op* op, MPI_Status* status)
{
    if (keep_of(*op) != nullptr) [[unlikely]] {
        return end_kept_op(instance, op, status);
    }
    const int error = report(*op, status);
    instance.driver->destroy_op(op);
    end_complete_orphans(instance);
    return error;
}
inline int end_op(Rank& rank, engine::Op* op, MPI_Status* status)
{
    return end_op(rank.first(), op, status);
}

// Runs of persistent requests begin and end in line: with a short message these are half of them.

inline bool Persistent::activate(MPI_Request handle)
{
    engine::Op* const op = start();
    if (op == nullptr) [[unlikely]] {
        return false;
    }
    is_active_ = true;
    op->owner_cookie = reinterpret_cast<std::uintptr_t>(this) | 1U;
    rank_.pool().change_live(bits_of(handle), Kind::request, op);
    if (binding_ != nullptr) [[unlikely]] {
        attach_run(op);
    }
    return true;
}

inline int Persistent::end(Instance& instance, MPI_Request handle, engine::Op* op,
                           MPI_Status* status)
{
    is_active_ = false;
    rank_.pool().change_live(bits_of(handle), Kind::idle_request, this);
    if (!is_own_op(op)) {
        return end_op(instance, op, status);
    }
    end_complete_orphans(instance);
    return report(*op, status);
}

/// Handles that one call gives back together, at the latest when this ends: the pool is locked once
/// and not for each.
class FreedRequests {
  public:
    explicit FreedRequests(Instance& instance) noexcept : instance_(&instance) {}
    ~FreedRequests() { give_back(); }
    FreedRequests(const FreedRequests&) = delete;
    FreedRequests& operator=(const FreedRequests&) = delete;

    Instance& instance() const noexcept { return *instance_; }
    /// What comes next belongs to another instance.
    void move_to(Instance& instance) noexcept
    {
        give_back();
        instance_ = &instance;
    }

    void add(MPI_Request request) noexcept
    {
        bits_[count_++] = bits_of(request);
        if (count_ == bits_.size()) {
            give_back();
        }
    }

  private:
    void give_back() noexcept
    {
        if (count_ != 0) {
            instance_->pool->release_all(Kind::request, {bits_.data(), std::exchange(count_, 0)});
        }
    }

    Instance* instance_;
    std::size_t count_ = 0;
    std::array<HandleBits, 64> bits_;  // NOLINT(cppcoreguidelines-pro-type-member-init): `count_`
};

/// report(), then frees op and request and sets the handle to null; a persistent request becomes
/// inactive instead. Requires: complete.
inline int finish_request(Instance& instance, MPI_Request* request, engine::Op* op,
                          MPI_Status* status, FreedRequests& freed)
{
    if (Persistent* const starter = starter_of(*op); starter != nullptr) [[unlikely]] {
        return starter->end(instance, *request, op, status);
    }
    freed.add(*request);
    *request = MPI_REQUEST_NULL;
    if (op == instance.done_op) {
        return report(*op, status);
    }
    Communicator* communicator = communicator_of(*op);
    const int error = end_op(instance, op, status);
    communicator->drop_reference(instance);
    return error;
}

/// finish_request() for all of them where all are of sends of one instance that were done at once,
/// and a status for each unless `statuses` is null. False: nothing happened. Thread rule: any
/// thread of the rank.
bool finish_done_requests(Rank& rank, std::span<MPI_Request> requests, MPI_Status* statuses);

/// Invalidates the handle; the operation goes on and frees itself (MPI_Request_free). Returns what
/// the free callback of a generalized request says. Requires: inside the first instance, too.
int free_request(Instance& instance, MPI_Request* request, engine::Op* op);

/// MPI's word for why an op failed.
int error_class_of(engine::OpError error) noexcept;

}  // namespace headway::object
