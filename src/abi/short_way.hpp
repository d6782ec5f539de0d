// SPDX-License-Identifier: Apache-2.0
// The short way of the usual call: a predefined type, a peer of the communicator, a rank that has
// its word and that nobody observes. One test of everything, then the functions that the general
// way calls too, in line. Whatever is in doubt is left to the general way (the Call and the checks
// of the entry point), errors first of all: these functions report none.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

#include "abi/check.hpp"
#include "abi/message_calls.hpp"
#include "engine/post.hpp"
#include "object/partitioned.hpp"
#include "object/request.hpp"
#include "object/status.hpp"
#include "platform/cpu.hpp"
#include "protocol/point_to_point.hpp"
#include "protocol/quick_receive.hpp"

namespace headway::abi::short_way {

/// A message as the short way knows it. `comm` is null where the general way has to look. Where
/// the rank may have threads, spread() says where it belongs.
struct Message {
    object::Rank* rank = nullptr;
    object::Communicator* comm = nullptr;
    engine::Driver* driver = nullptr;  ///< these two are the communicator's, or the tag's
    object::Instance* instance = nullptr;
    std::uint64_t bytes = 0;
    std::uint32_t peer = 0;
};

/// Whether a buffer that does not look like a usual one is none, as a message of no elements may
/// have it; but not where all buffers are looked at.
inline bool needs_no_buffer(const object::RankAccess& access, MPI_Count count) noexcept
{
    return count == 0 && access.plain_address_min != std::numeric_limits<std::uintptr_t>::max();
}

/// The predefined type behind a handle whose elements are one run, or null. A type that this
/// platform does not have has no size.
[[gnu::always_inline]] inline const object::Datatype* usual_type(const object::RankAccess& access,
                                                                 MPI_Datatype datatype) noexcept
{
    const object::HandleBits type_index = object::bits_of(datatype) - object::datatype_first;
    constexpr object::HandleBits type_count = object::datatype_limit - object::datatype_first;
    if (type_index >= type_count) [[unlikely]] {
        return nullptr;
    }
    const object::Datatype& type = access.predefined_datatypes[type_index];
    return type.size_bytes != 0 && type.is_dense ? &type : nullptr;
}

/// So few elements make no product too large.
constexpr std::uint64_t elements_max = 1U << 20;

/// The calling rank where its calls may go a short way: it runs, and nobody observes it. Else null.
[[gnu::always_inline]] inline object::RankAccess* usual_rank() noexcept
{
    object::RankAccess* const access = object::current_rank();
    if (access == nullptr || access->phase != object::Phase::running || access->tracer != nullptr)
        [[unlikely]] {
        return nullptr;
    }
    return access;
}

/// Checks all arguments but the tag. Neither MPI_PROC_NULL nor wildcards come this way.
[[gnu::always_inline]] inline Message describe(const void* buf, MPI_Count count,
                                               MPI_Datatype datatype, int member,
                                               MPI_Comm comm) noexcept
{
    object::RankAccess* const access = usual_rank();
    if (access == nullptr) [[unlikely]] {
        return {};
    }
    object::Communicator* const found = object::find_communicator(*access, comm);
    const object::Datatype* const type = usual_type(*access, datatype);
    if (found == nullptr || type == nullptr) [[unlikely]] {
        return {};
    }
    const engine::Scope& scope = found->scope();
    object::Rank& rank = object::as_rank(*access);
    const std::uint64_t bytes = static_cast<std::uint64_t>(count) * type->size_bytes;
    if (static_cast<std::uint64_t>(count) > elements_max ||
        static_cast<std::uint32_t>(member) >= scope.size ||
        bytes > found->driver().node().whole_bytes_max) [[unlikely]] {
        return {};
    }
    if (!object::is_plain_buffer(*access, buf) && !needs_no_buffer(*access, count)) [[unlikely]] {
        return {};
    }
    return {.rank = &rank,
            .comm = found,
            .driver = &found->driver(),
            .instance = &found->instance(),
            .bytes = bytes,
            .peer = scope.peer(static_cast<std::uint32_t>(member))};
}

inline bool has_threads(const Message& message) noexcept
{
    return message.instance->door.lock().is_enabled();
}

/// The same message, turned to the instance of its tag. No reference: the usual call would keep it
/// in memory.
inline Message spread(Message message, int tag) noexcept
{
    message.instance = &message.comm->instance_for(tag);
    message.driver = message.instance->driver.get();
    return message;
}

/// Whether that is still so: asked behind its door, or once several threads have been inside it,
/// the answer stays (docs/design/035).
inline bool is_at_home(const Message& message, int tag) noexcept
{
    return message.instance == &message.comm->instance_for(tag);
}

/// The same of a receive, which besides may not be for any tag there.
inline bool can_receive(const Message& message, int tag) noexcept
{
    return is_at_home(message, tag) && !(tag == MPI_ANY_TAG && message.comm->spreads_tags());
}

// A call into the rank goes on after these where they say true.

/// Posts the message. False: nothing happened.
template <bool among_threads>
[[gnu::always_inline]] inline bool send_in_call(const Message& message, const void* buf, int tag,
                                                engine::Sender sender)
{
    engine::Door& door = message.instance->door;
    if (!is_tag(tag) || !door.enter_at_home()) [[unlikely]] {
        return false;
    }
    if constexpr (among_threads) {
        if (!is_at_home(message, tag)) [[unlikely]] {
            door.leave();
            return false;
        }
    }
    const bool is_sent =
        protocol::goes_whole(*message.driver, message.peer, message.bytes, sender) &&
        message.driver->try_post_whole(message.peer, name_of_sent(*message.comm, tag), buf,
                                       message.bytes);
    if (!is_sent) [[unlikely]] {
        door.leave();
    }
    return is_sent;
}

/// Likewise, takes the message that is there.
template <bool among_threads>
[[gnu::always_inline]] inline bool receive_in_call(const Message& message,
                                                   engine::QuickReceive& receive)
{
    engine::Door& door = message.instance->door;
    if (!is_recv_tag(receive.wanted.tag) || !door.enter_at_home()) [[unlikely]] {
        return false;
    }
    if constexpr (among_threads) {
        if (!can_receive(message, receive.wanted.tag)) [[unlikely]] {
            door.leave();
            return false;
        }
    }
    const bool is_taken = protocol::take_next(*message.driver, receive, message.peer);
    if (!is_taken) {
        door.leave();
    }
    return is_taken;
}

/// False: nothing happened, as below. `request` is null for a send that has none.
template <bool among_threads>
[[gnu::always_inline]] inline bool send_alone(const Message& message, const void* buf, int tag,
                                              MPI_Request* request)
{
    const auto sender = request != nullptr ? engine::Sender::goes_on : engine::Sender::is_kept;
    if (!send_in_call<among_threads>(message, buf, tag, sender)) [[unlikely]] {
        return false;
    }
    if (request != nullptr) {
        *request = object::make_done_request(*message.instance);
    }
    message.instance->door.leave_in_line();
    return true;
}

/// Where the rank may have several threads: a message to itself is posted beside the one inside.
/// Apart, so that others do not pay for it.
[[gnu::noinline]] inline bool send_among_threads(Message described, const void* buf, int tag,
                                                 MPI_Request* request)
{
    const Message message = spread(described, tag);
    engine::Driver& driver = *message.driver;
    if (message.peer != driver.rank().rank || !is_tag(tag) ||
        message.bytes > driver.node().knobs.eager_limit || !driver.rank().own_lane.gate.is_open() ||
        !is_at_home(message, tag) ||
        !engine::post_beside(driver.node(), driver.rank(), name_of_sent(*message.comm, tag), buf,
                             message.bytes)) {
        return send_alone<true>(message, buf, tag, request);
    }
    if (request != nullptr) {
        *request = object::make_done_request(*message.instance);
    }
    return true;
}

[[gnu::always_inline]] inline bool Send(const void* buf, MPI_Count count, MPI_Datatype datatype,
                                        int dest, int tag, MPI_Comm comm)
{
    const Message message = describe(buf, count, datatype, dest, comm);
    if (message.comm == nullptr) [[unlikely]] {
        return false;
    }
    if (has_threads(message)) [[unlikely]] {
        return send_among_threads(message, buf, tag, nullptr);
    }
    return send_alone<false>(message, buf, tag, nullptr);
}

[[gnu::always_inline]] inline bool Isend(const void* buf, MPI_Count count, MPI_Datatype datatype,
                                         int dest, int tag, MPI_Comm comm, MPI_Request* request)
{
    const Message message = describe(buf, count, datatype, dest, comm);
    if (message.comm == nullptr || request == nullptr) [[unlikely]] {
        return false;
    }
    if (has_threads(message)) [[unlikely]] {
        return send_among_threads(message, buf, tag, request);
    }
    return send_alone<false>(message, buf, tag, request);
}

/// Of a call that is still inside.
[[gnu::always_inline]] inline void end_receive(const Message& message,
                                               const engine::QuickReceive& receive,
                                               MPI_Status* status)
{
    object::end_complete_orphans(*message.instance);
    if (status != MPI_STATUS_IGNORE) {
        object::fill_status(*status, receive.matched.source, receive.matched.tag,
                            static_cast<std::int64_t>(receive.status_bytes));
    }
}

template <bool among_threads>
[[gnu::always_inline]] inline bool receive_alone(const Message& message, void* buf, int source,
                                                 int tag, MPI_Status* status)
{
    engine::QuickReceive receive{.wanted = name_of_wanted(*message.comm, source, tag),
                                 .address = static_cast<std::byte*>(buf),
                                 .size_bytes = message.bytes};
    if (!receive_in_call<among_threads>(message, receive)) {
        return false;
    }
    end_receive(message, receive, status);
    message.instance->door.leave_in_line();
    return true;
}

/// For so many turns of the run queue a receive waits outside for what another thread of its rank
/// is to send.
constexpr std::uint64_t turns_outside = 32;

/// As send_among_threads(). What another thread of the rank is to send is seldom there already, and
/// who waits for it inside keeps others out: so this one goes in, if nobody is there, once at first
/// and then whenever something has been posted.
[[gnu::noinline]] inline bool receive_among_threads(Message described, void* buf, int source,
                                                    int tag, MPI_Status* status)
{
    const Message message = spread(described, tag);
    engine::Driver& driver = *message.driver;
    if (message.peer != driver.rank().rank || !message.instance->door.lock().is_shared()) {
        return receive_alone<true>(message, buf, source, tag, status);
    }
    const config::Knobs& knobs = driver.node().knobs;
    if (knobs.thread_posts == config::ThreadPostsChoice::inside ||
        knobs.thread_waits == config::ThreadWaitsChoice::race) {
        return receive_alone<true>(message, buf, source, tag, status);
    }
    if (!is_recv_tag(tag)) [[unlikely]] {
        return false;
    }
    engine::QuickReceive receive{.wanted = name_of_wanted(*message.comm, source, tag),
                                 .address = static_cast<std::byte*>(buf),
                                 .size_bytes = message.bytes};
    const std::atomic<std::uint64_t>& posted = driver.rank().own_lane.posted;
    const std::uint64_t turns = std::min(turns_outside, knobs.yields);
    std::uint64_t seen = 0;
    bool has_news = true;
    for (std::uint64_t turn = 0; turn < turns; ++turn) {
        if (has_news && message.instance->door.try_enter()) {
            if (!can_receive(message, tag)) [[unlikely]] {
                message.instance->door.leave();
                return false;
            }
            // Relaxed: see OwnLane::posted.
            seen = posted.load(std::memory_order_relaxed);
            const bool is_taken = protocol::take_next(driver, receive, message.peer);
            if (is_taken) {
                end_receive(message, receive, status);
            }
            // What is kept may be the message; the general way looks.
            const bool keeps_any = !is_taken && protocol::keeps_any(driver, receive);
            message.instance->door.leave();
            if (is_taken || keeps_any) {
                return is_taken;
            }
        }
        platform::yield_core();
        // Relaxed: see OwnLane::posted.
        has_news = posted.load(std::memory_order_relaxed) != seen;
    }
    return false;
}

[[gnu::always_inline]] inline bool Recv(void* buf, MPI_Count count, MPI_Datatype datatype,
                                        int source, int tag, MPI_Comm comm, MPI_Status* status)
{
    const Message message = describe(buf, count, datatype, source, comm);
    if (message.comm == nullptr) [[unlikely]] {
        return false;
    }
    if (has_threads(message)) [[unlikely]] {
        return receive_among_threads(message, buf, source, tag, status);
    }
    return receive_alone<false>(message, buf, source, tag, status);
}

/// A receive of a message that is not there is posted as ever.
[[gnu::always_inline]] inline bool Irecv(void* buf, MPI_Count count, MPI_Datatype datatype,
                                         int source, int tag, MPI_Comm comm, MPI_Request* request)
{
    Message message = describe(buf, count, datatype, source, comm);
    if (message.comm == nullptr || request == nullptr || !is_recv_tag(tag)) [[unlikely]] {
        return false;
    }
    const bool is_among_threads = has_threads(message);
    if (is_among_threads) [[unlikely]] {
        message = spread(message, tag);
    }
    message.instance->door.enter();
    if (is_among_threads && !can_receive(message, tag)) [[unlikely]] {
        message.instance->door.leave();
        return false;
    }
    engine::Driver& driver = *message.driver;
    engine::Op* const op = driver.create_op(engine::OpKind::receive);
    if (op == nullptr) [[unlikely]] {
        message.instance->door.leave();
        return false;
    }
    engine::QuickReceive receive{.wanted = name_of_wanted(*message.comm, source, tag),
                                 .address = static_cast<std::byte*>(buf),
                                 .size_bytes = message.bytes};
    if (protocol::take_next(driver, receive, message.peer)) {
        protocol::complete_taken(driver, op, receive);
    } else {
        protocol::start_wanted(driver, op, receive, message.peer);
    }
    *request = object::make_request(*message.instance, *message.comm, op);
    message.instance->door.leave_in_line();
    return true;
}

/// A partition of a send that is active.
[[gnu::always_inline]] inline bool Pready(int partition, MPI_Request request)
{
    object::RankAccess* const access = usual_rank();
    if (access == nullptr || !access->door->enter_at_home()) [[unlikely]] {
        return false;
    }
    object::Partitioned* const found = object::find_active_send(*access, request);
    const bool is_usual = found != nullptr && partition >= 0 && partition < found->partitions() &&
                          !found->is_ready(partition);
    if (is_usual) [[likely]] {
        found->make_ready(partition);
    }
    access->door->leave_in_line();
    return is_usual;
}

/// Sends to the rank itself that are over, as post_beside() leaves them: they need no lock either.
[[gnu::always_inline]] inline bool Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    object::RankAccess* const access = usual_rank();
    // Relaxed: see there.
    return access != nullptr && count > 0 && requests != nullptr &&
           (access->door->lock().is_shared() ||
            access->is_spread.load(std::memory_order_relaxed)) &&
           object::finish_done_requests(object::as_rank(*access),
                                        {requests, static_cast<std::size_t>(count)}, statuses);
}

}  // namespace headway::abi::short_way
