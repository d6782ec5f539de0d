// SPDX-License-Identifier: Apache-2.0
// Persistent messages (MPI-5.0 section 3.9), the start of every persistent request, and generalized
// requests (section 13.2).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "abi/sync_calls.hpp"
#include "abi/transfer.hpp"
#include "abi_calls.hpp"
#include "object/generalized.hpp"
#include "object/persistent.hpp"
#include "object/request.hpp"
#include "protocol/quick_receive.hpp"

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
        : Persistent(rank, comm, facts_of(rank, transfer, mode)),
          type_(*transfer.type),
          transfer_(transfer),
          mode_(mode),
          is_usual_(is_usual(rank, transfer, mode))
    {
        // The program may free the datatype before the request.
        transfer_.type = &type_;
        if (is_usual_) {
            peer_ = peer_of(comm, transfer.peer);
            name_ = mode == Mode::receive ? name_of_wanted(comm, transfer.peer, transfer.tag)
                                          : name_of_sent(comm, transfer.tag);
        }
    }

    std::string complaint() const override { return complaint_; }

  protected:
    Op* start() override
    {
        if (is_usual_) [[likely]] {
            return start_usual();
        }
        if (transfer_.peer == MPI_PROC_NULL) {
            return mode_ == Mode::receive ? make_null_receive(rank().first()) : own_op();
        }
        if (mode_ == Mode::buffered) {
            const base::Result<bool> sent = buffer_send(rank(), *communicator(), transfer_);
            complaint_ = sent ? "" : sent.sentence();
            return sent && sent.value() ? own_op() : nullptr;
        }
        const object::Inside inside(communicator()->instance_for(transfer_.tag));
        if (mode_ == Mode::receive) {
            return begin_receive(rank(), *communicator(), transfer_);
        }
        if (mode_ == Mode::standard &&
            send_at_once(rank(), *communicator(), transfer_, engine::Sender::goes_on)) {
            return own_op();
        }
        return begin_send(rank(), *communicator(), transfer_, mode_ == Mode::synchronous);
    }

  private:
    /// A message like most: of a mode without a word of its own, from or to a member that is named,
    /// short enough to come whole.
    static bool is_usual(Rank& rank, const Transfer& transfer, Mode mode)
    {
        const bool has_mode = mode == Mode::standard || mode == Mode::receive;
        return has_mode && !transfer.is_special && transfer.peer != MPI_PROC_NULL &&
               transfer.peer != MPI_ANY_SOURCE &&
               transfer.bytes <= rank.driver().node().whole_bytes_max;
    }
    static Facts facts_of(Rank& rank, const Transfer& transfer, Mode mode)
    {
        const bool is_send = mode != Mode::receive;
        return {.kind = is_send ? OpKind::send : OpKind::receive,
                .takes_any_tag = transfer.tag == MPI_ANY_TAG && transfer.peer != MPI_PROC_NULL,
                .is_short_send = is_send && is_usual(rank, transfer, mode) &&
                                 transfer.bytes <= rank.driver().node().knobs.eager_limit};
    }

    /// With what was found out when the request was made: as MPI_Isend and MPI_Irecv go their short
    /// way, but that what is over at once needs no op.
    Op* start_usual()
    {
        const object::Inside inside(communicator()->instance_for(transfer_.tag));
        engine::Driver& driver = communicator()->driver_for(transfer_.tag);
        auto* const address = static_cast<std::byte*>(const_cast<void*>(transfer_.address));
        if (mode_ != Mode::receive) {
            return protocol::send_at_once(driver, peer_, name_, address, transfer_.bytes,
                                          engine::Sender::goes_on)
                       ? own_op()
                       : begin_send(rank(), *communicator(), transfer_, false);
        }
        engine::QuickReceive wanted{
            .wanted = name_, .address = address, .size_bytes = transfer_.bytes};
        if (rank().tracer == nullptr && protocol::take_next(driver, wanted, peer_)) {
            protocol::note_taken(*own_op(), wanted);
            return own_op();
        }
        Op* const op = driver.create_op(OpKind::receive);
        if (op != nullptr) [[likely]] {
            protocol::start_wanted(driver, op, wanted, peer_);
        }
        return op;
    }

    object::Datatype type_;
    Transfer transfer_;
    Mode mode_;
    bool is_usual_;
    // Of one that is, in each run.
    std::uint32_t peer_ = 0;
    transport::FrameHeader name_;
    std::string complaint_;
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

/// Of a request that is not inactive as it stands: the last run of one with a sync object, which
/// left no event there, may be over.
int look_for_inactive(Call& call, MPI_Request request, int index, Persistent** idle)
{
    Rank& rank = rank_of(call);
    if (const auto* const event = object::find_attached(rank, request); event != nullptr) {
        if (const int error = collect_events(call, *event->object); error != MPI_SUCCESS) {
            return error;
        }
        *idle = object::find_inactive(rank, request);
    }
    if (*idle != nullptr) {
        return MPI_SUCCESS;
    }
    const char* why = "is no persistent request";
    if (object::find_attached(rank, request) != nullptr) {
        why = "is attached to a sync object and active; take its event before it is started again";
    } else if (const Op* const op = object::find_request(rank, request); op != nullptr) {
        why = object::starter_of(*op) != nullptr
                  ? "is active already; complete it before it is started again"
                  : "is not persistent; only those of MPI_..._init can be started";
    }
    return call.fail(MPI_ERR_REQUEST, "request %d (0x%zx) %s", index,
                     static_cast<std::size_t>(object::bits_of(request)), why);
}

/// Says why a start has failed.
[[gnu::cold, gnu::noinline]] int refuse_start(Call& call, const Persistent& idle)
{
    const std::string complaint = idle.complaint();
    return complaint.empty() ? fail_for_memory(call)
                             : call.fail(MPI_ERR_BUFFER, "%s", complaint.c_str());
}

int start_inactive(Call& call, MPI_Request request, Persistent* idle)
{
    call.set_error_source(idle->communicator());
    if (idle->facts().takes_any_tag && idle->communicator()->spreads_tags()) [[unlikely]] {
        return refuse_any_tag(call, *idle->communicator());
    }
    return idle->activate(request) ? MPI_SUCCESS : refuse_start(call, *idle);
}

int start(Call& call, MPI_Request request, int index)
{
    Persistent* idle = object::find_inactive(rank_of(call), request);
    if (idle == nullptr) [[unlikely]] {
        if (const int error = look_for_inactive(call, request, index, &idle);
            error != MPI_SUCCESS) {
            return error;
        }
    }
    return start_inactive(call, request, idle);
}

/// Starts the short sends among the first requests. `left` says which of these are left to start,
/// null in the place of others.
int start_short_sends(Call& call, std::span<const MPI_Request> requests, Persistent** left)
{
    for (std::size_t index = 0; index < requests.size(); ++index) {
        Persistent* const idle = object::find_inactive(rank_of(call), requests[index]);
        left[index] = idle;
        if (idle == nullptr || !idle->facts().is_short_send) {
            continue;
        }
        if (const int error = start_inactive(call, requests[index], idle); error != MPI_SUCCESS) {
            return error;
        }
    }
    return MPI_SUCCESS;
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
    // In an order of its own (MPI-5.0 section 3.9): what is short is under way while receives are
    // posted. Longer messages had better find theirs.
    constexpr std::size_t first_max = 64;
    Persistent* left[first_max];
    const std::size_t first_count = std::min(static_cast<std::size_t>(count), first_max);
    if (const int error = start_short_sends(call, {requests, first_count}, left);
        error != MPI_SUCCESS) {
        return error;
    }
    for (int index = 0; index < count; ++index) {
        const auto place = static_cast<std::size_t>(index);
        Persistent* const idle = place < first_count ? left[place] : nullptr;
        if (idle != nullptr && idle->facts().is_short_send) {
            continue;
        }
        // A request that is named twice is active by now.
        const int error = idle != nullptr && !idle->is_active()
                              ? start_inactive(call, requests[index], idle)
                              : start(call, requests[index], index);
        if (error != MPI_SUCCESS) {
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
