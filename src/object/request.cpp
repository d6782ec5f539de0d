// SPDX-License-Identifier: Apache-2.0
#include "object/request.hpp"

#include <memory>

#include "engine/wait.hpp"
#include "object/generalized.hpp"
#include "object/op_keep.hpp"
#include "object/status.hpp"

namespace headway::object {

MPI_Request make_request(Instance& instance, Communicator& communicator, engine::Op* op)
{
    op->owner_cookie = reinterpret_cast<std::uintptr_t>(&communicator);
    const auto request = instance.pool->acquire<MPI_Request>(op);
    if (bits_of(request) == 0) {
        engine::wait_for(*instance.driver, op);
        (void)end_op(instance, op, MPI_STATUS_IGNORE);
        return MPI_REQUEST_NULL;
    }
    communicator.add_reference(instance);
    return request;
}

MPI_Request make_done_request(Instance& instance)
{
    const auto request = instance.pool->acquire<MPI_Request>(instance.done_op);
    return bits_of(request) != 0 ? request : MPI_REQUEST_NULL;
}

bool finish_done_requests(Rank& rank, std::span<MPI_Request> requests, MPI_Status* statuses)
{
    engine::Op* const done = find_request(rank, requests.front());
    if (done == nullptr || done != rank.instance_of(*done).done_op) {
        return false;
    }
    for (const MPI_Request request : requests) {
        if (find_request(rank, request) != done) {
            return false;
        }
    }
    FreedRequests freed(rank.instance_of(*done));
    for (std::size_t i = 0; i < requests.size(); ++i) {
        freed.add(requests[i]);
        requests[i] = MPI_REQUEST_NULL;
        if (statuses != MPI_STATUSES_IGNORE) {
            (void)report(*done, &statuses[i]);
            statuses[i].MPI_ERROR = MPI_SUCCESS;
        }
    }
    return true;
}

int error_class_of(engine::OpError error) noexcept
{
    switch (error) {
        case engine::OpError::none:
            return MPI_SUCCESS;
        case engine::OpError::truncated:
            return MPI_ERR_TRUNCATE;
        case engine::OpError::bad_address:
            return MPI_ERR_BUFFER;
        case engine::OpError::types_differ:
            return MPI_ERR_TYPE;
        case engine::OpError::no_memory:
            return MPI_ERR_NO_MEM;
        case engine::OpError::given_up:
            return MPI_ERR_OTHER;
        case engine::OpError::user_function:
            break;
    }
    return MPI_ERR_OP;
}

int report_in_full(const engine::Op& op, MPI_Status* status)
{
    if (OpKeep* const lasting = keep_of(op); lasting != nullptr) [[unlikely]] {
        return lasting->report(status);
    }
    if (status != MPI_STATUS_IGNORE) {
        if (op.kind == engine::OpKind::receive || op.kind == engine::OpKind::exchange) {
            fill_status(*status, op.status_source, op.status_tag,
                        static_cast<std::int64_t>(op.status_bytes));
            set_status_cancelled(*status, op.is_cancelled);
        } else {
            const int error = status->MPI_ERROR;
            clear_status(*status);
            status->MPI_ERROR = error;
        }
    }
    return error_class_of(op.error);
}

namespace {

struct LetGo {
    void operator()(OpKeep* keep) const noexcept { keep->let_go(); }
};

}  // namespace

void settle_kept(Rank& rank, engine::Op& op)
{
    OpKeep* const found = keep_of(op);
    if (found->is_lasting()) {
        return;
    }
    const std::unique_ptr<OpKeep, LetGo> keep(found);
    set_keep(op, nullptr);
    keep->finish(rank, op);
}

void end_orphans(Instance& instance)
{
    std::erase_if(instance.orphans, [&](engine::Op* op) {
        const bool is_over = op->word.is_complete();
        if (is_over) {
            settle(instance.rank, *op);
            instance.driver->destroy_op(op);
        }
        return is_over;
    });
}

int end_kept_op(Instance& instance, engine::Op* op, MPI_Status* status)
{
    settle(instance.rank, *op);
    int error = report(*op, status);
    if (const std::unique_ptr<OpKeep> lasting(keep_of(*op)); lasting != nullptr) [[unlikely]] {
        set_keep(*op, nullptr);
        const int closed = lasting->close();
        error = error != MPI_SUCCESS ? error : closed;
    }
    instance.driver->destroy_op(op);
    end_complete_orphans(instance);
    return error;
}

namespace {

/// Lets an op without a request go on by itself.
void let_go(Instance& instance, engine::Op* op)
{
    if (keep_of(*op) != nullptr) {
        instance.orphans.push_back(op);
        end_orphans(instance);
    } else {
        instance.driver->abandon_op(op);
    }
}

}  // namespace

int free_request(Instance& instance, MPI_Request* request, engine::Op* op)
{
    const MPI_Request freed = *request;
    *request = MPI_REQUEST_NULL;
    if (Generalized* const generalized = generalized_of(*op); generalized != nullptr) {
        return generalized->free(instance.rank, freed, op);
    }
    if (Persistent* const starter = starter_of(*op); starter != nullptr) {
        instance.rank.pool().release(freed);
        if (!starter->is_own_op(op)) {
            let_go(instance, op);
        }
        delete starter;
        return MPI_SUCCESS;
    }
    instance.pool->release(freed);
    if (op == instance.done_op) {
        return MPI_SUCCESS;
    }
    // Messages do not look at the communicator any more; collectives cannot be freed early.
    Communicator* communicator = communicator_of(*op);
    let_go(instance, op);
    communicator->drop_reference(instance);
    return MPI_SUCCESS;
}

}  // namespace headway::object
