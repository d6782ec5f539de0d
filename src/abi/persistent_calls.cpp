// SPDX-License-Identifier: Apache-2.0
// Persistent messages (MPI-5.0 section 3.9), the start of every persistent request, and generalized
// requests (section 13.2).
#include "abi/sync_calls.hpp"
#include "abi/transfer.hpp"
#include "abi_calls.hpp"
#include "object/generalized.hpp"
#include "object/persistent.hpp"
#include "object/request.hpp"

namespace headway::abi {
namespace {

using engine::Op;
using engine::OpKind;
using object::Communicator;
using object::Persistent;
using object::Rank;

enum class Mode : std::uint8_t { standard, synchronous, buffered, receive };

class PersistentMessage final : public Persistent {
  public:
    PersistentMessage(Rank& rank, Communicator& comm, const Transfer& transfer, Mode mode)
        : Persistent(rank, comm, mode == Mode::receive ? OpKind::receive : OpKind::send),
          type_(*transfer.type),
          transfer_(transfer),
          mode_(mode)
    {
        // The program may free the datatype before the request.
        transfer_.type = &type_;
    }

    bool takes_any_tag() const noexcept override
    {
        return transfer_.tag == MPI_ANY_TAG && transfer_.peer != MPI_PROC_NULL;
    }

  protected:
    base::Result<Op*> start() override
    {
        if (transfer_.peer == MPI_PROC_NULL) {
            return mode_ == Mode::receive ? make_null_receive(rank().first()) : done_op();
        }
        if (mode_ == Mode::buffered) {
            const base::Result<bool> sent = buffer_send(rank(), *communicator(), transfer_);
            if (!sent) {
                return base::Failure{sent.sentence()};
            }
            return sent.value() ? done_op() : nullptr;
        }
        const object::Inside inside(communicator()->instance_for(transfer_.tag));
        if (mode_ == Mode::receive) {
            return begin_receive(rank(), *communicator(), transfer_);
        }
        if (mode_ == Mode::standard &&
            send_at_once(rank(), *communicator(), transfer_, engine::Sender::goes_on)) {
            return done_op();
        }
        return begin_send(rank(), *communicator(), transfer_, mode_ == Mode::synchronous);
    }

  private:
    object::Datatype type_;
    Transfer transfer_;
    Mode mode_;
};

int make(Call& call, const void* buf, MPI_Count count, MPI_Datatype datatype, int peer, int tag,
         Communicator& comm, Mode mode, MPI_Request* request)
{
    Transfer transfer;
    if (!describe(call, buf, count, datatype, peer, tag, &transfer)) {
        return MPI_ERR_COUNT;
    }
    Rank& rank = rank_of(call);
    const MPI_Request made =
        make_persistent(rank, new PersistentMessage(rank, comm, transfer, mode));
    if (made == MPI_REQUEST_NULL) {
        return fail_for_memory(call);
    }
    *request = made;
    return MPI_SUCCESS;
}

int start(Call& call, MPI_Request request, int index)
{
    Rank& rank = rank_of(call);
    if (const auto* const event = object::find_attached(rank, request); event != nullptr) {
        // Its last run, without an event, may be over.
        if (const int error = collect_events(call, *event->object); error != MPI_SUCCESS) {
            return error;
        }
    }
    Persistent* const idle = object::find_inactive(rank, request);
    if (idle == nullptr) {
        const char* why = "is no persistent request";
        if (object::find_attached(rank, request) != nullptr) {
            why =
                "is attached to a sync object and active; take its event before it is started "
                "again";
        } else if (const Op* const op = object::find_request(rank, request); op != nullptr) {
            why = object::starter_of(*op) != nullptr
                      ? "is active already; complete it before it is started again"
                      : "is not persistent; only those of MPI_..._init can be started";
        }
        return call.fail(MPI_ERR_REQUEST, "request %d (0x%zx) %s", index,
                         static_cast<std::size_t>(object::bits_of(request)), why);
    }
    call.set_error_source(idle->communicator());
    if (idle->takes_any_tag() && idle->communicator()->spreads_tags()) [[unlikely]] {
        return refuse_any_tag(call, *idle->communicator());
    }
    const base::Result<bool> started = idle->activate(request);
    if (!started) {
        return call.fail(MPI_ERR_BUFFER, "%s", started.sentence().c_str());
    }
    return started.value() ? MPI_SUCCESS : fail_for_memory(call);
}

}  // namespace

namespace call {

int Send_init(Call& call, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
              int tag, Communicator* comm, MPI_Request* request)
{
    return make(call, buf, count, datatype, dest, tag, *comm, Mode::standard, request);
}

int Rsend_init(Call& call, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
               int tag, Communicator* comm, MPI_Request* request)
{
    return make(call, buf, count, datatype, dest, tag, *comm, Mode::standard, request);
}

int Ssend_init(Call& call, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
               int tag, Communicator* comm, MPI_Request* request)
{
    return make(call, buf, count, datatype, dest, tag, *comm, Mode::synchronous, request);
}

int Bsend_init(Call& call, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
               int tag, Communicator* comm, MPI_Request* request)
{
    return make(call, buf, count, datatype, dest, tag, *comm, Mode::buffered, request);
}

int Recv_init(Call& call, void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
              Communicator* comm, MPI_Request* request)
{
    return make(call, buf, count, datatype, source, tag, *comm, Mode::receive, request);
}

int Start(Call& call, MPI_Request* request)
{
    return start(call, *request, 0);
}

int Startall(Call& call, int count, MPI_Request requests[])
{
    for (int index = 0; index < count; ++index) {
        if (const int error = start(call, requests[index], index); error != MPI_SUCCESS) {
            return error;
        }
    }
    return MPI_SUCCESS;
}

int Grequest_start(Call& call, MPI_Grequest_query_function* query_fn,
                   MPI_Grequest_free_function* free_fn, MPI_Grequest_cancel_function* cancel_fn,
                   void* extra_state, MPI_Request* request)
{
    const MPI_Request made =
        object::start_generalized(rank_of(call), {query_fn, free_fn, cancel_fn, extra_state});
    if (made == MPI_REQUEST_NULL) {
        return fail_for_memory(call);
    }
    *request = made;
    return MPI_SUCCESS;
}

int Grequest_complete(Call& call, MPI_Request request)
{
    Rank& rank = rank_of(call);
    Op* const op = object::find_generalized(rank, request);
    if (op == nullptr || op->word.is_complete()) {
        return call.fail(MPI_ERR_REQUEST, "the request (argument request, 0x%zx) %s",
                         static_cast<std::size_t>(object::bits_of(request)),
                         op == nullptr ? "is no generalized request"
                                       : "was completed by MPI_Grequest_complete before");
    }
    return object::complete_generalized(rank, request, op);
}

}  // namespace call
}  // namespace headway::abi
