// SPDX-License-Identifier: Apache-2.0
#include "abi/transfer.hpp"

#include <algorithm>

#include "abi/type_check.hpp"
#include "object/request.hpp"
#include "object/status.hpp"

namespace headway::abi {

using engine::Op;
using object::Communicator;
using object::Rank;

int fail_for_memory(Call& call)
{
    return call.fail(MPI_ERR_NO_MEM,
                     "the node heap is exhausted; complete operations earlier, raise "
                     "HEADWAY_HEAP_SIZE, or the size of /dev/shm where the heap is there");
}

object::Instance& go_to(Call& call, const Communicator& comm, int tag)
{
    // What is read outside may change before the door is passed, but not behind it.
    while (&comm.instance_for(tag) != &call.instance()) [[unlikely]] {
        call.move_to(comm.instance_for(tag));
    }
    return call.instance();
}

int refuse_any_tag(Call& call, const Communicator& comm)
{
    return call.fail(MPI_ERR_TAG,
                     "MPI_ANY_TAG on the communicator '%.64s', whose members all promised by the "
                     "info key mpi_assert_no_any_tag not to use it; name the tag, or leave the key "
                     "out",
                     comm.name().c_str());
}

object::Instance* go_to_wanted(Call& call, const Communicator& comm, int tag)
{
    object::Instance& at = go_to(call, comm, tag);
    if (tag == MPI_ANY_TAG && comm.spreads_tags()) [[unlikely]] {
        refuse_any_tag(call, comm);
        return nullptr;
    }
    return &at;
}

bool send_special_at_once(Rank& rank, const Communicator& comm, const Transfer& transfer)
{
    // Of shorter ones a receiver gains nothing by parts.
    constexpr std::size_t made_bytes_min = 2048;
    constexpr std::size_t packed_here_max = 4096;
    engine::Driver& driver = comm.driver_for(transfer.tag);
    if (transfer.bytes > driver.node().knobs.eager_limit || rank.compares_types) {
        return false;
    }
    const std::uint32_t peer = peer_of(comm, transfer.peer);
    const transport::FrameHeader name = name_of_sent(comm, transfer.tag);
    if (transfer.bytes >= made_bytes_min) {
        const auto pack = [](const void* elements, std::uint64_t from, std::uint64_t to,
                             std::byte* place) {
            data::pack(*static_cast<const data::TypedElements*>(elements), from, to, place);
        };
        const data::TypedElements elements = object::elements_of(transfer.block());
        if (driver.try_post_made(peer, name, {pack, &elements, transfer.bytes})) {
            return true;
        }
    }
    if (transfer.bytes > packed_here_max) {
        return false;
    }
    std::byte packed[packed_here_max];
    object::pack(transfer.block(), packed);
    return protocol::send_at_once(driver, peer, name, packed, transfer.bytes,
                                  engine::Sender::is_kept);
}

namespace {

void set_elements(Op* op, engine::InElements state, object::ElementsInPlace* keep)
{
    op->in_elements = state;
    op->elements = &keep->elements();
    object::set_keep(*op, keep);
}

/// What a send of other than the usual kind needs before it starts.
void prepare_special(Rank& rank, const Communicator& comm, Op* op, const Transfer& transfer)
{
    const bool is_long = transfer.bytes > comm.driver().node().knobs.eager_limit;
    if (transfer.is_packed && !transfer.is_copied && is_long &&
        protocol::carries_elements(comm.driver())) {
        op->address = nullptr;
        set_elements(op, engine::InElements::yes, new object::ElementsInPlace(transfer.block()));
    } else if (transfer.is_packed || transfer.is_copied) {
        auto* keep = new object::PackedSend(transfer.block());
        op->address = keep->bytes();
        object::set_keep(*op, keep);
    }
    if (rank.compares_types) {
        op->header.sequence = leave_note(rank, op->peer, transfer);
    }
}

/// Likewise of a receive.
void set_special_target(Rank& rank, Communicator& comm, Op* op, const Transfer& transfer)
{
    if (transfer.is_packed) {
        engine::Driver& driver = comm.driver();
        const bool is_carried = protocol::carries_elements(driver);
        // What comes whole: short messages by the limit of their sender, longer ones by that of
        // here; all of them where none goes to its elements.
        const std::uint64_t whole_bytes =
            std::max<std::uint64_t>(config::eager_limit_max, driver.node().whole_bytes_max);
        auto* keep = new object::ElementsToReceive(
            transfer.block(), is_carried ? std::min(transfer.bytes, whole_bytes) : transfer.bytes);
        op->address = keep->bytes();
        set_elements(op, is_carried ? engine::InElements::possible : engine::InElements::no, keep);
    }
    if (rank.compares_types) {
        compare_at_end(comm, op, transfer);
    }
}

}  // namespace

Op* begin_send(Rank& rank, const Communicator& comm, const Transfer& transfer, bool is_synchronous)
{
    engine::Driver& driver = comm.driver_for(transfer.tag);
    Op* op = driver.create_op(engine::OpKind::send);
    if (op == nullptr) {
        return nullptr;
    }
    op->header = name_of_sent(comm, transfer.tag);
    op->peer = peer_of(comm, transfer.peer);
    op->address = static_cast<std::byte*>(const_cast<void*>(transfer.address));
    if (transfer.is_special || transfer.is_copied) [[unlikely]] {
        prepare_special(rank, comm, op, transfer);
    }
    op->size_bytes = transfer.bytes;
    protocol::start_send(driver, op, is_synchronous);
    return op;
}

void set_target(Rank& rank, Communicator& comm, Op* op, const Transfer& transfer)
{
    op->address = static_cast<std::byte*>(const_cast<void*>(transfer.address));
    if (transfer.is_special) [[unlikely]] {
        set_special_target(rank, comm, op, transfer);
    }
    op->size_bytes = transfer.bytes;
}

Op* begin_receive(Rank& rank, Communicator& comm, const Transfer& transfer)
{
    engine::Driver& driver = comm.driver_for(transfer.tag);
    Op* op = driver.create_op(engine::OpKind::receive);
    if (op == nullptr) {
        return nullptr;
    }
    op->header = name_of_wanted(comm, transfer.peer, transfer.tag);
    // Who waits for a long one of elements shares its copies with the sender.
    const bool is_looked_for =
        !transfer.is_special || transfer.bytes <= driver.node().knobs.eager_limit;
    if (transfer.peer != MPI_ANY_SOURCE && is_looked_for) {
        op->peer = peer_of(comm, transfer.peer);
    }
    set_target(rank, comm, op, transfer);
    protocol::start_receive(driver, op);
    return op;
}

namespace {

/// Receives without an op what is there or comes soon. False: an op is needed, and only
/// bytes of the buffer that the message will fill have changed.
bool receive_at_once(object::Instance& at, const Communicator& comm, const Transfer& transfer,
                     MPI_Status* status)
{
    data::TypedElements elements;
    if (transfer.is_special) [[unlikely]] {
        // Longer ones are taken in pieces, by both ranks.
        if (at.rank.compares_types || transfer.bytes > at.driver->node().knobs.eager_limit) {
            return false;
        }
        elements = object::elements_of(transfer.block());
    }
    engine::QuickReceive receive{
        .wanted = name_of_wanted(comm, transfer.peer, transfer.tag),
        .address = static_cast<std::byte*>(const_cast<void*>(transfer.address)),
        .size_bytes = transfer.bytes,
        .elements = transfer.is_special ? &elements : nullptr};
    const std::uint32_t sender =
        transfer.peer == MPI_ANY_SOURCE ? protocol::any_sender : peer_of(comm, transfer.peer);
    if (!protocol::receive_at_once(*at.driver, receive, sender)) {
        return false;
    }
    object::end_complete_orphans(at);
    if (status != MPI_STATUS_IGNORE) {
        object::fill_status(*status, receive.matched.source, receive.matched.tag,
                            static_cast<std::int64_t>(receive.status_bytes));
    }
    return true;
}

}  // namespace

int receive(Call& call, object::Instance& at, Communicator& comm, const Transfer& transfer,
            MPI_Status* status)
{
    if (receive_at_once(at, comm, transfer, status)) [[likely]] {
        return MPI_SUCCESS;
    }
    Op* op = begin_receive(at.rank, comm, transfer);
    return op != nullptr ? complete(call, op, status) : fail_for_memory(call);
}

Op* make_null_receive(object::Instance& instance)
{
    Op* op = instance.driver->create_op(engine::OpKind::receive);
    if (op != nullptr) {
        op->status_source = MPI_PROC_NULL;
        op->status_tag = MPI_ANY_TAG;
        instance.driver->complete(op);
    }
    return op;
}

void explain(Call& call, const Op& op)
{
    if (op.error == engine::OpError::types_differ) {
        call.fail(MPI_ERR_TYPE, "%s", rank_of(call).complaint().c_str());
        return;
    }
    if (op.error == engine::OpError::given_up) {
        call.fail(MPI_ERR_OTHER,
                  "a collective of this communicator failed at another member, whose call says "
                  "why, and so its part of the result did not come; the communicator can be used "
                  "again");
        return;
    }
    if (op.error != engine::OpError::truncated) {
        return;
    }
    if (op.kind == engine::OpKind::graph) {
        call.fail(MPI_ERR_TRUNCATE,
                  "another member of the communicator gave more bytes than this one has room for; "
                  "give all of them the same count and type (HEADWAY_CHECK=collectives names who "
                  "differs)");
        return;
    }
    call.fail(MPI_ERR_TRUNCATE,
              "the message of rank %d (tag %d) has %llu bytes, but there was room for %llu, which "
              "were received; receive more elements, or send fewer",
              op.status_source, op.status_tag, static_cast<unsigned long long>(op.order),
              static_cast<unsigned long long>(op.status_bytes));
}

int complete(Call& call, Op* op, MPI_Status* status)
{
    object::Instance& instance = call.instance();
    engine::wait_for(*instance.driver, op);
    object::settle(instance.rank, *op);
    if (op->error != engine::OpError::none) [[unlikely]] {
        explain(call, *op);
    }
    return object::end_op(instance, op, status);
}

void set_null_status(MPI_Status* status) noexcept
{
    if (status != MPI_STATUS_IGNORE) {
        object::fill_status(*status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    }
}

void set_probed_status(MPI_Status* status, const protocol::Unexpected& message) noexcept
{
    if (status != MPI_STATUS_IGNORE) {
        object::fill_status(*status, message.header.source, message.header.tag,
                            static_cast<std::int64_t>(message.message_bytes));
    }
}

}  // namespace headway::abi
