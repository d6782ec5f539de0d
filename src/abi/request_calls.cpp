// SPDX-License-Identifier: Apache-2.0
// Completion calls (MPI-5.0 sections 3.7.3 to 3.7.5).
#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <memory>
#include <span>
#include <vector>

#include "abi/message_calls.hpp"
#include "abi/request_endings.hpp"
#include "abi/sync_calls.hpp"
#include "abi/transfer.hpp"
#include "abi_calls.hpp"
#include "object/generalized.hpp"
#include "object/request.hpp"
#include "object/status.hpp"
#include "object/sync_object.hpp"
#include "protocol/point_to_point.hpp"

namespace headway::abi {
namespace {

using engine::Op;
using object::Rank;

/// The ops behind an array of requests; null for MPI_REQUEST_NULL and for inactive ones. On the
/// stack for the usual number of requests.
class OpArray {
  public:
    explicit OpArray(std::size_t wanted)
    {
        if (wanted > few_.size()) {
            many_ = std::make_unique<Op*[]>(wanted);
        }
        ops_ = std::span(many_ != nullptr ? many_.get() : few_.data(), wanted);
    }

    std::span<Op*> ops() noexcept { return ops_; }

  private:
    std::array<Op*, 128> few_;
    std::unique_ptr<Op*[]> many_;
    std::span<Op*> ops_;
};

int refuse_request(Call& call, MPI_Request given, int index)
{
    const auto bits = object::bits_of(given);
    const char* why = "is no request";
    if (object::find_inactive(rank_of(call), given) != nullptr) {
        why = "is not active; call MPI_Start first";
    } else if (object::find_attached(rank_of(call), given) != nullptr) {
        why = "is attached to a sync object; take its event there, or call MPIX_Sync_detach first";
    } else if (call.rank().handles->is_in_range(bits)) {
        why = "is not active: it was completed or freed before";
    }
    return call.fail(MPI_ERR_REQUEST, "request %d (0x%zx) %s", index,
                     static_cast<std::size_t>(bits), why);
}

/// Looks the requests up. The class of the first that is none, else MPI_SUCCESS.
int find_ops(Call& call, std::span<const MPI_Request> requests, std::span<Op*> ops)
{
    const Rank& rank = rank_of(call);
    for (std::size_t i = 0; i < requests.size(); ++i) {
        ops[i] = object::find_request(rank, requests[i]);
        if (ops[i] == nullptr && requests[i] != MPI_REQUEST_NULL &&
            object::find_inactive(rank, requests[i]) == nullptr) {
            return refuse_request(call, requests[i], static_cast<int>(i));
        }
    }
    return MPI_SUCCESS;
}

int find_op(Call& call, const MPI_Request& request, Op** op)
{
    return find_ops(call, {&request, 1}, {op, 1});
}

/// The same, where what is not active is refused too.
int find_live_op(Call& call, MPI_Request request, Op** op)
{
    *op = object::find_request(rank_of(call), request);
    return *op != nullptr ? MPI_SUCCESS : refuse_request(call, request, 0);
}

/// Looks the requests of a call up; `body` gets their ops and gives the call's result. Part of its
/// callers, so that MPI_Waitall has no call more than it needs.
template <typename Body>
[[gnu::always_inline]] inline int with_ops(Call& call, int count, const MPI_Request* requests,
                                           const Body& body)
{
    const std::span<const MPI_Request> given(requests, static_cast<std::size_t>(count));
    OpArray array(given.size());
    const int error = find_ops(call, given, array.ops());
    return error == MPI_SUCCESS ? body(array.ops()) : error;
}

bool is_partitioned(const Op& op)
{
    object::Persistent* const starter = object::starter_of(op);
    return starter != nullptr && starter->as_partitioned() != nullptr;
}

bool is_over(const Op* op)
{
    return op == nullptr || op->word.is_complete();
}

/// Index of the first op, not before `from`, that is not complete.
std::size_t first_open(std::span<Op* const> ops, std::size_t from)
{
    while (from < ops.size() && is_over(ops[from])) {
        ++from;
    }
    return from;
}

/// The instances of those that are not complete.
engine::InstanceSet instances_of(Call& call, std::span<Op* const> ops)
{
    engine::InstanceSet found = 0;
    for (const Op* const op : ops) {
        if (!is_over(op)) {
            // Of an exchange the halves are anywhere.
            found |= op->kind == engine::OpKind::exchange
                         ? engine::set_of(rank_of(call).instance_count()) - 1
                         : engine::set_of(op->owner->instance);
        }
    }
    return found;
}

/// A sweep in each instance of those that are not complete.
void advance(Call& call, std::span<Op* const> ops)
{
    if (!is_spread(call)) [[likely]] {
        call.instance().driver->advance();
        return;
    }
    for (engine::InstanceSet left = instances_of(call, ops); left != 0; left &= left - 1) {
        call.move_to(rank_of(call).instance(static_cast<std::uint32_t>(std::countr_zero(left))));
        call.instance().driver->advance();
    }
}

void await_all(Call& call, std::span<Op* const> ops)
{
    std::size_t open = 0;
    const auto all_over = [&] {
        open = first_open(ops, open);
        return open == ops.size();
    };
    if (!all_over()) {
        protocol::look_for_posted(*call.instance().driver, ops[open]);
    }
    engine::wait_until(*call.instance().driver, all_over, ops,
                       static_cast<std::int32_t>(ops.size()));
}

/// Waits for those of one instance after the other, inside it.
void await_all_spread(Call& call, std::span<Op* const> ops)
{
    for (engine::InstanceSet left = instances_of(call, ops); left != 0; left &= left - 1) {
        const auto number = static_cast<std::uint32_t>(std::countr_zero(left));
        std::vector<Op*> own;
        std::ranges::copy_if(ops, std::back_inserter(own), [&](const Op* op) {
            return op != nullptr && op->owner->instance == number;
        });
        call.move_to(rank_of(call).instance(number));
        await_all(call, own);
    }
}

/// Whether all are over, if need be after a sweep.
bool are_over(Call& call, std::span<Op* const> ops)
{
    const std::size_t open = first_open(ops, 0);
    if (open == ops.size()) {
        return true;
    }
    advance(call, ops);
    return first_open(ops, open) == ops.size();
}

constexpr int none_complete = -1;
constexpr int none_live = -2;

/// Index of the first live op that is complete, or why there is none.
int first_complete(std::span<Op* const> ops)
{
    int result = none_live;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (ops[i] == nullptr) {
            continue;
        }
        if (ops[i]->word.is_complete()) {
            return static_cast<int>(i);
        }
        result = none_complete;
    }
    return result;
}

/// The same after a sweep where none is.
int find_complete(Call& call, std::span<Op* const> ops)
{
    const int found = first_complete(ops);
    if (found != none_complete) {
        return found;
    }
    advance(call, ops);
    return first_complete(ops);
}

/// The same after a wait.
int await_complete(Call& call, std::span<Op* const> ops)
{
    int found = none_complete;
    const auto has_one = [&] {
        found = first_complete(ops);
        return found != none_complete;
    };
    engine::wait_until(*call.instance().driver, has_one, ops, 1);
    return found;
}

template <typename Ending>
int end_all(std::span<Op* const> ops, MPI_Status* statuses, Ending&& ending)
{
    for (std::size_t i = 0; i < ops.size(); ++i) {
        ending.end_listed(i, ops[i], status_at(statuses, i));
    }
    return ending.result();
}

/// Ends the op that first_complete() found.
template <typename Ending>
int end_any(std::span<Op* const> ops, int found, int* index, MPI_Status* status, Ending&& ending)
{
    *index = found >= 0 ? found : MPI_UNDEFINED;
    if (found >= 0) {
        const auto place = static_cast<std::size_t>(found);
        return ending.end_one(place, ops[place], status);
    }
    if (found == none_live) {
        set_empty(status);
    }
    return MPI_SUCCESS;
}

/// Ends all ops that are complete by now; `found` is what first_complete() said of them.
template <typename Ending>
int end_some(std::span<Op* const> ops, int found, int* outcount, int* indices, MPI_Status* statuses,
             Ending&& ending)
{
    if (found == none_live) {
        *outcount = MPI_UNDEFINED;
        return MPI_SUCCESS;
    }
    std::size_t ended = 0;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (ops[i] != nullptr && ops[i]->word.is_complete()) {
            indices[ended] = static_cast<int>(i);
            ending.end_listed(i, ops[i], status_at(statuses, ended));
            ++ended;
        }
    }
    *outcount = static_cast<int>(ended);
    return ending.result();
}

template <typename Ending>
int test_one(Call& call, const MPI_Request& request, int* flag, MPI_Status* status, Ending&& ending)
{
    Op* op = nullptr;
    if (const int error = find_op(call, request, &op); error != MPI_SUCCESS) {
        return error;
    }
    *flag = are_over(call, {&op, 1}) ? 1 : 0;
    return *flag != 0 ? ending.end_one(0, op, status) : MPI_SUCCESS;
}

template <typename Ending>
int test_all(Call& call, int count, const MPI_Request* requests, int* flag, MPI_Status* statuses,
             Ending&& ending)
{
    return with_ops(call, count, requests, [&](std::span<Op* const> ops) {
        *flag = are_over(call, ops) ? 1 : 0;
        return *flag != 0 ? end_all(ops, statuses, ending) : MPI_SUCCESS;
    });
}

template <typename Ending>
int test_any(Call& call, int count, const MPI_Request* requests, int* index, int* flag,
             MPI_Status* status, Ending&& ending)
{
    return with_ops(call, count, requests, [&](std::span<Op* const> ops) {
        const int found = find_complete(call, ops);
        *flag = found != none_complete ? 1 : 0;
        return end_any(ops, found, index, status, ending);
    });
}

template <typename Ending>
int test_some(Call& call, int count, const MPI_Request* requests, int* outcount, int* indices,
              MPI_Status* statuses, Ending&& ending)
{
    return with_ops(call, count, requests, [&](std::span<Op* const> ops) {
        return end_some(ops, find_complete(call, ops), outcount, indices, statuses, ending);
    });
}

}  // namespace

int end_request(Call& call, MPI_Request* request, Op* op, MPI_Status* status)
{
    object::Instance& instance = rank_of(call).instance_of(*op);
    const object::Inside inside(instance);
    object::FreedRequests freed(instance);
    return finish_op(call, request, op, status, freed);
}

int refuse_inactive(Call& call, MPI_Request given)
{
    return refuse_request(call, given, 0);
}

namespace call {

int Wait(Call& call, MPI_Request* request, MPI_Status* status)
{
    Op* op = nullptr;
    if (const int error = find_op(call, *request, &op); error != MPI_SUCCESS) {
        return error;
    }
    if (op == nullptr) {
        set_empty(status);
        return MPI_SUCCESS;
    }
    protocol::look_for_posted(*call.instance().driver, op);
    engine::wait_for(*call.instance().driver, op);
    return finish_op(call, request, op, status);
}

int Waitall(Call& call, int count, MPI_Request requests[], MPI_Status statuses[])
{
    return with_ops(call, count, requests, [&](std::span<Op* const> ops) {
        if (is_spread(call)) [[unlikely]] {
            await_all_spread(call, ops);
        } else {
            await_all(call, ops);
        }
        return end_all(ops, statuses, Finisher(call, requests));
    });
}

int Waitany(Call& call, int count, MPI_Request requests[], int* index, MPI_Status* status)
{
    return with_ops(call, count, requests, [&](std::span<Op* const> ops) {
        return end_any(ops, await_complete(call, ops), index, status, Finisher(call, requests));
    });
}

int Waitsome(Call& call, int incount, MPI_Request requests[], int* outcount, int indices[],
             MPI_Status statuses[])
{
    return with_ops(call, incount, requests, [&](std::span<Op* const> ops) {
        return end_some(ops, await_complete(call, ops), outcount, indices, statuses,
                        Finisher(call, requests));
    });
}

int Test(Call& call, MPI_Request* request, int* flag, MPI_Status* status)
{
    return test_one(call, *request, flag, status, Finisher(call, request));
}

int Testall(Call& call, int count, MPI_Request requests[], int* flag, MPI_Status statuses[])
{
    return test_all(call, count, requests, flag, statuses, Finisher(call, requests));
}

int Testany(Call& call, int count, MPI_Request requests[], int* index, int* flag,
            MPI_Status* status)
{
    return test_any(call, count, requests, index, flag, status, Finisher(call, requests));
}

int Testsome(Call& call, int incount, MPI_Request requests[], int* outcount, int indices[],
             MPI_Status statuses[])
{
    return test_some(call, incount, requests, outcount, indices, statuses,
                     Finisher(call, requests));
}

int Request_get_status(Call& call, MPI_Request request, int* flag, MPI_Status* status)
{
    return test_one(call, request, flag, status, Looker(call));
}

int Request_get_status_all(Call& call, int count, const MPI_Request requests[], int* flag,
                           MPI_Status statuses[])
{
    return test_all(call, count, requests, flag, statuses, Looker(call));
}

int Request_get_status_any(Call& call, int count, const MPI_Request requests[], int* index,
                           int* flag, MPI_Status* status)
{
    return test_any(call, count, requests, index, flag, status, Looker(call));
}

int Request_get_status_some(Call& call, int incount, const MPI_Request requests[], int* outcount,
                            int indices[], MPI_Status statuses[])
{
    return test_some(call, incount, requests, outcount, indices, statuses, Looker(call));
}

int Request_free(Call& call, MPI_Request* request)
{
    if (object::find_inactive(rank_of(call), *request) != nullptr) {
        object::free_inactive(rank_of(call), request);
        return MPI_SUCCESS;
    }
    Op* op = nullptr;
    if (const int error = find_live_op(call, *request, &op); error != MPI_SUCCESS) {
        return error;
    }
    if (op->kind == engine::OpKind::graph) {
        return call.fail(MPI_ERR_REQUEST,
                         "a non-blocking collective cannot be freed before it is "
                         "complete; wait for it (MPI-5.0 section 6.12)");
    }
    if (is_partitioned(*op)) {
        blame(call, *op);
        return call.fail(MPI_ERR_REQUEST,
                         "an active partitioned request cannot be freed; complete it first "
                         "(MPI-5.0 section 4.2)");
    }
    // A persistent request goes with it, which belongs to the first instance.
    object::Instance& instance = rank_of(call).instance_of(*op);
    const object::Inside inside(instance);
    return object::free_request(instance, request, op);
}

int Cancel(Call& call, MPI_Request* request)
{
    Op* op = nullptr;
    if (const auto* const event = object::find_attached(rank_of(call), *request);
        event != nullptr) {
        op = event->op;
    } else if (const int error = find_live_op(call, *request, &op); error != MPI_SUCCESS) {
        return error;
    }
    if (op->kind == engine::OpKind::graph) {
        blame(call, *op);
        return call.fail(MPI_ERR_REQUEST, "a non-blocking collective cannot be cancelled");
    }
    if (const object::Generalized* const generalized = object::generalized_of(*op);
        generalized != nullptr) {
        return generalized->cancel(op->word.is_complete());
    }
    if (is_partitioned(*op)) {
        blame(call, *op);
        return call.fail(MPI_ERR_REQUEST, "a partitioned request cannot be cancelled");
    }
    if (op->kind == engine::OpKind::receive) {
        (void)follow_op(call, *op);  // one with a sync object may be elsewhere
        // A receive that has matched completes as if nothing had been asked; sends always do.
        (void)protocol::cancel_receive(*call.instance().driver, op);
    }
    return MPI_SUCCESS;
}

}  // namespace call
}  // namespace headway::abi
