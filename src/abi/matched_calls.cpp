// SPDX-License-Identifier: Apache-2.0
// Matched probes and receives (MPI-5.0 sections 3.8.2 and 3.8.3).
#include "abi/transfer.hpp"
#include "abi_calls.hpp"
#include "object/message.hpp"
#include "object/request.hpp"

namespace headway::abi {
namespace {

using engine::Op;
using object::Communicator;
using object::Rank;

/// Gives a message that was found to the caller.
int hand_out(Call& call, Communicator& comm, protocol::Unexpected* found, MPI_Message* message,
             MPI_Status* status)
{
    object::Instance& at = call.instance();
    const MPI_Message handle = object::make_message(at, comm, found);
    if (handle == MPI_MESSAGE_NULL) {
        return call.fail(MPI_ERR_NO_MEM,
                         "there are too many live handles; receive messages that "
                         "were probed, or complete requests, first");
    }
    set_probed_status(status, *found);
    protocol::take(*at.driver, found);
    *message = handle;
    return MPI_SUCCESS;
}

void hand_out_nobody(MPI_Message* message, MPI_Status* status) noexcept
{
    *message = MPI_MESSAGE_NO_PROC;
    set_null_status(status);
}

int refuse_message(Call& call, MPI_Message given)
{
    const auto bits = object::bits_of(given);
    const char* why = "is no message";
    if (given == MPI_MESSAGE_NULL) {
        why = "is MPI_MESSAGE_NULL; a matched probe must find a message first";
    } else if (call.rank().handles->is_in_range(bits)) {
        why = "was received before";
    }
    return call.fail(MPI_ERR_REQUEST, "the message (argument message, 0x%zx) %s",
                     static_cast<std::size_t>(bits), why);
}

/// A receive of a message that was probed.
struct Matched {
    Op* op = nullptr;
    Communicator* comm = nullptr;  ///< the message's, with a reference
};

/// Starts the receive of a checked message into a buffer, and ends the handle. An error class:
/// nothing was started and the message can still be received.
int begin_matched(Call& call, void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Message* message, Matched* matched)
{
    Transfer in;
    if (!describe(call, buf, count, datatype, 0, 0, &in)) {
        return MPI_ERR_COUNT;
    }
    Rank& rank = rank_of(call);
    object::Message* taken = object::find_message(rank, *message);
    call.set_error_source(taken->communicator);
    engine::Driver& driver = *taken->instance->driver;
    Op* op = driver.create_op(engine::OpKind::receive);
    if (op == nullptr) {
        return fail_for_memory(call);
    }
    set_target(rank, *taken->communicator, op, in);
    taken->communicator->add_reference();
    *matched = {op, taken->communicator};
    protocol::start_matched_receive(driver, op, taken->found);
    object::finish_message(message, taken);
    return MPI_SUCCESS;
}

bool is_receivable(const Rank& rank, MPI_Message message) noexcept
{
    return message == MPI_MESSAGE_NO_PROC || object::find_message(rank, message) != nullptr;
}

}  // namespace

namespace call {

int Mprobe(Call& call, int source, int tag, Communicator* comm, MPI_Message* message,
           MPI_Status* status)
{
    if (source == MPI_PROC_NULL) {
        hand_out_nobody(message, status);
        return MPI_SUCCESS;
    }
    object::Instance* const at = go_to_wanted(call, *comm, tag);
    if (at == nullptr) {
        return MPI_ERR_TAG;
    }
    engine::Driver& driver = *at->driver;
    const auto wanted = name_of_wanted(*comm, source, tag);
    protocol::Unexpected* found = nullptr;
    engine::wait_until(driver, [&] {
        found = protocol::probe(driver, wanted);
        return found != nullptr;
    });
    return hand_out(call, *comm, found, message, status);
}

int Improbe(Call& call, int source, int tag, Communicator* comm, int* flag, MPI_Message* message,
            MPI_Status* status)
{
    *flag = 1;
    if (source == MPI_PROC_NULL) {
        hand_out_nobody(message, status);
        return MPI_SUCCESS;
    }
    object::Instance* const at = go_to_wanted(call, *comm, tag);
    if (at == nullptr) {
        return MPI_ERR_TAG;
    }
    engine::Driver& driver = *at->driver;
    const auto wanted = name_of_wanted(*comm, source, tag);
    protocol::Unexpected* found = protocol::probe(driver, wanted);
    if (found == nullptr) {
        driver.advance();
        found = protocol::probe(driver, wanted);
    }
    if (found == nullptr) {
        *flag = 0;
        return MPI_SUCCESS;
    }
    return hand_out(call, *comm, found, message, status);
}

int Mrecv(Call& call, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
          MPI_Status* status)
{
    if (!is_receivable(rank_of(call), *message)) {
        return refuse_message(call, *message);
    }
    if (*message == MPI_MESSAGE_NO_PROC) {
        *message = MPI_MESSAGE_NULL;
        set_null_status(status);
        return MPI_SUCCESS;
    }
    Matched matched;
    if (const int error = begin_matched(call, buf, count, datatype, message, &matched);
        error != MPI_SUCCESS) {
        return error;
    }
    const int error = complete(call, matched.op, status);
    matched.comm->drop_reference();
    return error;
}

int Imrecv(Call& call, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
           MPI_Request* request)
{
    Rank& rank = rank_of(call);
    if (!is_receivable(rank, *message)) {
        return refuse_message(call, *message);
    }
    if (*message == MPI_MESSAGE_NO_PROC) {
        Op* op = make_null_receive(call.instance());
        if (op == nullptr) {
            return fail_for_memory(call);
        }
        *message = MPI_MESSAGE_NULL;
        *request = object::make_request(rank, rank.any_own(), op);
        return MPI_SUCCESS;
    }
    Matched matched;
    if (const int error = begin_matched(call, buf, count, datatype, message, &matched);
        error != MPI_SUCCESS) {
        return error;
    }
    *request = object::make_request(call.instance(), *matched.comm, matched.op);
    matched.comm->drop_reference();
    return MPI_SUCCESS;
}

}  // namespace call
}  // namespace headway::abi
