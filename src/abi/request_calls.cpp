// SPDX-License-Identifier: Apache-2.0
// Completion calls (MPI-5.0 sections 3.7.3 to 3.7.5).
#include <array>
#include <memory>
#include <span>

#include "abi/message_calls.hpp"
#include "abi_calls.hpp"
#include "object/request.hpp"
#include "object/status.hpp"
#include "protocol/point_to_point.hpp"

namespace headway::abi {
namespace {

using engine::Op;
using object::Rank;

/// The ops behind an array of requests; null for MPI_REQUEST_NULL. On the stack for the usual
/// number of requests.
class OpArray {
  public:
    explicit OpArray(int count)
    {
        const auto wanted = static_cast<std::size_t>(count);
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
    const bool was_request = call.rank().handles->is_in_range(bits);
    return call.fail(
        MPI_ERR_REQUEST, "request %d (0x%zx) %s", index, static_cast<std::size_t>(bits),
        was_request ? "is not active: it was completed or freed before" : "is no request");
}

/// Looks the requests up. The class of the first that is none, else MPI_SUCCESS.
int find_ops(Call& call, std::span<const MPI_Request> requests, std::span<Op*> ops)
{
    const Rank& rank = rank_of(call);
    for (std::size_t i = 0; i < requests.size(); ++i) {
        ops[i] = object::find_request(rank, requests[i]);
        if (ops[i] == nullptr && requests[i] != MPI_REQUEST_NULL) {
            return refuse_request(call, requests[i], static_cast<int>(i));
        }
    }
    return MPI_SUCCESS;
}

template <typename Request>
std::span<Request> requests_of(Request* array, int count)
{
    return {array, static_cast<std::size_t>(count)};
}

MPI_Status* status_at(MPI_Status* array, std::size_t index)
{
    return array != MPI_STATUSES_IGNORE ? &array[index] : MPI_STATUS_IGNORE;
}

/// What a call says of no request; its error field is MPI_SUCCESS (MPI-5.0, 3.7.3).
void set_empty(MPI_Status* status)
{
    if (status != MPI_STATUS_IGNORE) {
        object::clear_status(*status);
    }
}

/// Errors of this operation go to its communicator's handler.
void blame(Call& call, const Op& op)
{
    if (object::communicator_of(op) != nullptr) {
        call.set_error_source(object::communicator_of(op));
    }
}

int finish(Call& call, MPI_Request* request, Op* op, MPI_Status* status)
{
    object::settle(rank_of(call), *op);
    if (op->error != engine::OpError::none) [[unlikely]] {
        blame(call, *op);
        if (op->error == engine::OpError::truncated) {
            call.fail(MPI_ERR_TRUNCATE,
                      "the message was longer than the receive buffer; its first "
                      "%llu bytes were received",
                      static_cast<unsigned long long>(op->status_bytes));
        }
    }
    return object::finish_request(rank_of(call), request, op, status);
}

/// Finishes all ops of a call that completes several, and says in each status what became of it.
class Finisher {
  public:
    Finisher(Call& call, MPI_Request* requests) : call_(call), requests_(requests) {}

    void finish_one(std::size_t index, Op* op, MPI_Status* status)
    {
        const int error = op != nullptr ? finish(call_, &requests_[index], op, status)
                                        : (set_empty(status), MPI_SUCCESS);
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
    bool has_failed_ = false;
};

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

/// Index of the first live op that is complete; -1: none is, -2: there is no live one.
int first_complete(std::span<Op* const> ops)
{
    int result = -2;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (ops[i] == nullptr) {
            continue;
        }
        if (ops[i]->word.is_complete()) {
            return static_cast<int>(i);
        }
        result = -1;
    }
    return result;
}

/// The same after a sweep where none is.
int find_complete(Call& call, std::span<Op* const> ops)
{
    const int found = first_complete(ops);
    if (found != -1) {
        return found;
    }
    rank_of(call).driver().advance();
    return first_complete(ops);
}

/// The status of a complete op (null: of no request), which stays. Its error belongs to the call
/// that will complete the request.
void look(Call& call, Op* op, MPI_Status* status)
{
    if (op == nullptr) {
        set_empty(status);
        return;
    }
    object::settle(rank_of(call), *op);
    (void)object::report(*op, status);
}

/// Finishes what is complete; MPI_UNDEFINED where no request is live.
int collect_some(Call& call, std::span<Op* const> ops, MPI_Request* requests, int* outcount,
                 int* indices, MPI_Status* statuses)
{
    Finisher finisher(call, requests);
    int found = 0;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (ops[i] != nullptr && ops[i]->word.is_complete()) {
            indices[found] = static_cast<int>(i);
            finisher.finish_one(i, ops[i], status_at(statuses, static_cast<std::size_t>(found)));
            ++found;
        }
    }
    *outcount = found;
    return finisher.result();
}

int finish_all(Call& call, std::span<Op* const> ops, MPI_Request* requests, MPI_Status* statuses)
{
    Finisher finisher(call, requests);
    for (std::size_t i = 0; i < ops.size(); ++i) {
        finisher.finish_one(i, ops[i], status_at(statuses, i));
    }
    return finisher.result();
}

}  // namespace

namespace call {

int Wait(Call& call, MPI_Request* request, MPI_Status* status)
{
    Op* op = nullptr;
    if (const int error = find_ops(call, {request, 1}, {&op, 1}); error != MPI_SUCCESS) {
        return error;
    }
    if (op == nullptr) {
        set_empty(status);
        return MPI_SUCCESS;
    }
    engine::wait_for(rank_of(call).driver(), op);
    return finish(call, request, op, status);
}

int Test(Call& call, MPI_Request* request, int* flag, MPI_Status* status)
{
    Op* op = nullptr;
    if (const int error = find_ops(call, {request, 1}, {&op, 1}); error != MPI_SUCCESS) {
        return error;
    }
    if (op == nullptr) {
        *flag = 1;
        set_empty(status);
        return MPI_SUCCESS;
    }
    if (!op->word.is_complete()) {
        rank_of(call).driver().advance();
    }
    *flag = op->word.is_complete() ? 1 : 0;
    return *flag != 0 ? finish(call, request, op, status) : MPI_SUCCESS;
}

int Waitall(Call& call, int count, MPI_Request requests[], MPI_Status statuses[])
{
    OpArray array(count);
    const std::span<Op*> ops = array.ops();
    if (const int error = find_ops(call, requests_of(requests, count), ops); error != MPI_SUCCESS) {
        return error;
    }
    std::size_t open = 0;
    const auto all_over = [&] {
        open = first_open(ops, open);
        return open == ops.size();
    };
    engine::wait_until(rank_of(call).driver(), all_over, ops, count);
    return finish_all(call, ops, requests, statuses);
}

int Testall(Call& call, int count, MPI_Request requests[], int* flag, MPI_Status statuses[])
{
    OpArray array(count);
    const std::span<Op*> ops = array.ops();
    if (const int error = find_ops(call, requests_of(requests, count), ops); error != MPI_SUCCESS) {
        return error;
    }
    if (first_open(ops, 0) != ops.size()) {
        rank_of(call).driver().advance();
    }
    *flag = first_open(ops, 0) == ops.size() ? 1 : 0;
    return *flag != 0 ? finish_all(call, ops, requests, statuses) : MPI_SUCCESS;
}

int Waitany(Call& call, int count, MPI_Request requests[], int* index, MPI_Status* status)
{
    OpArray array(count);
    const std::span<Op*> ops = array.ops();
    if (const int error = find_ops(call, requests_of(requests, count), ops); error != MPI_SUCCESS) {
        return error;
    }
    int found = -1;
    const auto has_one = [&] {
        found = first_complete(ops);
        return found != -1;
    };
    engine::wait_until(rank_of(call).driver(), has_one, ops, 1);
    if (found < 0) {
        *index = MPI_UNDEFINED;
        set_empty(status);
        return MPI_SUCCESS;
    }
    *index = found;
    const auto place = static_cast<std::size_t>(found);
    return finish(call, &requests[place], ops[place], status);
}

int Testany(Call& call, int count, MPI_Request requests[], int* index, int* flag,
            MPI_Status* status)
{
    OpArray array(count);
    const std::span<Op*> ops = array.ops();
    if (const int error = find_ops(call, requests_of(requests, count), ops); error != MPI_SUCCESS) {
        return error;
    }
    const int found = find_complete(call, ops);
    *flag = found != -1 ? 1 : 0;
    *index = found >= 0 ? found : MPI_UNDEFINED;
    if (found >= 0) {
        const auto place = static_cast<std::size_t>(found);
        return finish(call, &requests[place], ops[place], status);
    }
    if (found == -2) {
        set_empty(status);
    }
    return MPI_SUCCESS;
}

int Waitsome(Call& call, int incount, MPI_Request requests[], int* outcount, int indices[],
             MPI_Status statuses[])
{
    OpArray array(incount);
    const std::span<Op*> ops = array.ops();
    if (const int error = find_ops(call, requests_of(requests, incount), ops);
        error != MPI_SUCCESS) {
        return error;
    }
    int found = -1;
    const auto has_one = [&] {
        found = first_complete(ops);
        return found != -1;
    };
    engine::wait_until(rank_of(call).driver(), has_one, ops, 1);
    if (found < 0) {
        *outcount = MPI_UNDEFINED;
        return MPI_SUCCESS;
    }
    return collect_some(call, ops, requests, outcount, indices, statuses);
}

int Testsome(Call& call, int incount, MPI_Request requests[], int* outcount, int indices[],
             MPI_Status statuses[])
{
    OpArray array(incount);
    const std::span<Op*> ops = array.ops();
    if (const int error = find_ops(call, requests_of(requests, incount), ops);
        error != MPI_SUCCESS) {
        return error;
    }
    const int found = find_complete(call, ops);
    if (found == -2) {
        *outcount = MPI_UNDEFINED;
        return MPI_SUCCESS;
    }
    return collect_some(call, ops, requests, outcount, indices, statuses);
}

int Request_free(Call& call, MPI_Request* request)
{
    Op* op = nullptr;
    if (const int error = find_ops(call, {request, 1}, {&op, 1}); error != MPI_SUCCESS) {
        return error;
    }
    if (op == nullptr) {
        return refuse_request(call, *request, 0);
    }
    if (op->kind == engine::OpKind::graph) {
        return call.fail(MPI_ERR_REQUEST,
                         "a non-blocking collective cannot be freed before it is "
                         "complete; wait for it (MPI-5.0 section 6.12)");
    }
    object::free_request(rank_of(call), request, op);
    return MPI_SUCCESS;
}

int Request_get_status(Call& call, MPI_Request request, int* flag, MPI_Status* status)
{
    Op* op = nullptr;
    if (const int error = find_ops(call, {&request, 1}, {&op, 1}); error != MPI_SUCCESS) {
        return error;
    }
    if (!is_over(op)) {
        rank_of(call).driver().advance();
    }
    *flag = is_over(op) ? 1 : 0;
    if (*flag != 0) {
        look(call, op, status);
    }
    return MPI_SUCCESS;
}

int Request_get_status_all(Call& call, int count, const MPI_Request requests[], int* flag,
                           MPI_Status statuses[])
{
    OpArray array(count);
    const std::span<Op*> ops = array.ops();
    if (const int error = find_ops(call, requests_of(requests, count), ops); error != MPI_SUCCESS) {
        return error;
    }
    if (first_open(ops, 0) != ops.size()) {
        rank_of(call).driver().advance();
    }
    *flag = first_open(ops, 0) == ops.size() ? 1 : 0;
    for (std::size_t i = 0; *flag != 0 && i < ops.size(); ++i) {
        look(call, ops[i], status_at(statuses, i));
    }
    return MPI_SUCCESS;
}

int Request_get_status_any(Call& call, int count, const MPI_Request requests[], int* index,
                           int* flag, MPI_Status* status)
{
    OpArray array(count);
    const std::span<Op*> ops = array.ops();
    if (const int error = find_ops(call, requests_of(requests, count), ops); error != MPI_SUCCESS) {
        return error;
    }
    const int found = find_complete(call, ops);
    *flag = found != -1 ? 1 : 0;
    *index = found >= 0 ? found : MPI_UNDEFINED;
    if (found != -1) {
        look(call, found >= 0 ? ops[static_cast<std::size_t>(found)] : nullptr, status);
    }
    return MPI_SUCCESS;
}

int Request_get_status_some(Call& call, int incount, const MPI_Request requests[], int* outcount,
                            int indices[], MPI_Status statuses[])
{
    OpArray array(incount);
    const std::span<Op*> ops = array.ops();
    if (const int error = find_ops(call, requests_of(requests, incount), ops);
        error != MPI_SUCCESS) {
        return error;
    }
    if (find_complete(call, ops) == -2) {
        *outcount = MPI_UNDEFINED;
        return MPI_SUCCESS;
    }
    std::size_t found = 0;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (ops[i] != nullptr && ops[i]->word.is_complete()) {
            indices[found] = static_cast<int>(i);
            look(call, ops[i], status_at(statuses, found));
            ++found;
        }
    }
    *outcount = static_cast<int>(found);
    return MPI_SUCCESS;
}

int Cancel(Call& call, MPI_Request* request)
{
    Op* op = nullptr;
    if (const int error = find_ops(call, {request, 1}, {&op, 1}); error != MPI_SUCCESS) {
        return error;
    }
    if (op == nullptr) {
        return refuse_request(call, *request, 0);
    }
    if (op->kind == engine::OpKind::graph) {
        blame(call, *op);
        return call.fail(MPI_ERR_REQUEST, "a non-blocking collective cannot be cancelled");
    }
    if (op->kind == engine::OpKind::receive) {
        // A receive that has matched completes as if nothing had been asked; sends always do.
        (void)protocol::cancel_receive(rank_of(call).driver(), op);
    }
    return MPI_SUCCESS;
}

}  // namespace call
}  // namespace headway::abi
