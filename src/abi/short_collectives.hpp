// SPDX-License-Identifier: Apache-2.0
// The short way of the usual collective: few bytes of a predefined type, or none, a communicator
// that has a shelf (engine/shelf). As abi/short_way.hpp; what is in doubt goes the general way,
// which comes to the same shelf.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/short_way.hpp"
#include "base/diagnostics.hpp"
#include "data/reduce.hpp"
#include "engine/shelf.hpp"
#include "object/operator.hpp"
#include "object/process.hpp"

namespace headway::abi::short_way {

using Kind = engine::ShelfCall::Kind;

/// A rank that calls, and its place at the shelf; null where the general way has to look.
struct Visitor {
    object::RankAccess* access = nullptr;
    const object::Communicator* comm = nullptr;
    const engine::Scope* scope = nullptr;
    engine::ShelfSeat* seat = nullptr;
    object::Instance* instance = nullptr;

    bool is(int root) const noexcept { return scope->rank == static_cast<std::uint32_t>(root); }
};

[[gnu::always_inline]] inline Visitor visitor(Kind kind, int root, MPI_Comm comm) noexcept
{
    object::RankAccess* const access = usual_rank();
    if (access == nullptr) [[unlikely]] {
        return {};
    }
    object::Communicator* const found = object::find_communicator(*access, comm);
    if (found == nullptr) [[unlikely]] {
        return {};
    }
    const engine::Scope& scope = found->scope();
    if (static_cast<std::uint32_t>(root) >= scope.size) [[unlikely]] {
        return {};
    }
    return {access, found, &scope, found->known_seat_at_shelf(engine::ShelfSize::lines, kind),
            &found->instance()};
}

/// Bytes of a block, where its elements are usual ones; else 0.
[[gnu::always_inline]] inline std::uint64_t block_bytes(const object::RankAccess& access,
                                                        const void* buf, MPI_Count count,
                                                        MPI_Datatype datatype) noexcept
{
    const object::Datatype* const type = usual_type(access, datatype);
    if (type == nullptr || static_cast<std::uint64_t>(count) > elements_max ||
        !object::is_plain_buffer(access, buf)) [[unlikely]] {
        return 0;
    }
    return static_cast<std::uint64_t>(count) * type->size_bytes;
}

/// False: the general way has to do it, or to say what is wrong.
[[gnu::always_inline]] inline bool visit(const Visitor& visitor, const engine::ShelfCall& call)
{
    object::Instance& instance = *visitor.instance;
    if ((call.bytes == 0 && call.kind != Kind::barrier) ||
        !engine::fits_on_shelf(call.kind, call.bytes, visitor.scope->size) ||
        (base::has_diagnostics && instance.rank.process().call_order() != nullptr) ||
        !instance.door.enter_at_home()) [[unlikely]] {
        return false;
    }
    const engine::OpError error =
        engine::use_shelf(*instance.driver, *visitor.seat, *visitor.scope, call);
    object::end_complete_orphans(instance);
    instance.door.leave_in_line();
    return error == engine::OpError::none;
}

[[gnu::always_inline]] inline bool Bcast(void* buffer, MPI_Count count, MPI_Datatype datatype,
                                         int root, MPI_Comm comm)
{
    const Visitor who = visitor(Kind::bcast, root, comm);
    if (who.seat == nullptr) [[unlikely]] {
        return false;
    }
    return visit(who, {.kind = Kind::bcast,
                       .root = static_cast<std::uint32_t>(root),
                       .receive = static_cast<std::byte*>(buffer),
                       .bytes = block_bytes(*who.access, buffer, count, datatype)});
}

/// Who gives and takes names both sides, by the same bytes a block.
[[gnu::always_inline]] inline bool visit_with_blocks(Kind kind, const void* sendbuf,
                                                     MPI_Count sendcount, MPI_Datatype sendtype,
                                                     void* recvbuf, MPI_Count recvcount,
                                                     MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    const Visitor who = visitor(kind, root, comm);
    if (who.seat == nullptr) [[unlikely]] {
        return false;
    }
    const bool does_both = !engine::ShelfCall::has_root(kind) || who.is(root);
    const bool gives = does_both || kind == Kind::gather;
    const bool takes = does_both || kind == Kind::scatter;
    const std::uint64_t given = gives ? block_bytes(*who.access, sendbuf, sendcount, sendtype) : 0;
    const std::uint64_t taken = takes ? block_bytes(*who.access, recvbuf, recvcount, recvtype) : 0;
    if (does_both && (given != taken || sendbuf == recvbuf)) [[unlikely]] {
        return false;
    }
    return visit(who, {.kind = kind,
                       .root = static_cast<std::uint32_t>(root),
                       .send = static_cast<const std::byte*>(sendbuf),
                       .receive = static_cast<std::byte*>(recvbuf),
                       .bytes = gives ? given : taken});
}

[[gnu::always_inline]] inline bool Scatter(const void* sendbuf, MPI_Count sendcount,
                                           MPI_Datatype sendtype, void* recvbuf,
                                           MPI_Count recvcount, MPI_Datatype recvtype, int root,
                                           MPI_Comm comm)
{
    return visit_with_blocks(Kind::scatter, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                             recvtype, root, comm);
}

[[gnu::always_inline]] inline bool Gather(const void* sendbuf, MPI_Count sendcount,
                                          MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                                          MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    return visit_with_blocks(Kind::gather, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                             recvtype, root, comm);
}

[[gnu::always_inline]] inline bool Allgather(const void* sendbuf, MPI_Count sendcount,
                                             MPI_Datatype sendtype, void* recvbuf,
                                             MPI_Count recvcount, MPI_Datatype recvtype,
                                             MPI_Comm comm)
{
    return visit_with_blocks(Kind::allgather, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                             recvtype, 0, comm);
}

[[gnu::always_inline]] inline bool Alltoall(const void* sendbuf, MPI_Count sendcount,
                                            MPI_Datatype sendtype, void* recvbuf,
                                            MPI_Count recvcount, MPI_Datatype recvtype,
                                            MPI_Comm comm)
{
    return visit_with_blocks(Kind::alltoall, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                             recvtype, 0, comm);
}

/// What the general way found out of the last calls alike is asked, not found out again.
[[gnu::always_inline]] inline bool visit_with_vectors(Kind kind, const void* sendbuf, void* recvbuf,
                                                      MPI_Count count, MPI_Datatype datatype,
                                                      MPI_Op op, int root, MPI_Comm comm)
{
    const Visitor who = visitor(kind, root, comm);
    if (who.seat == nullptr) [[unlikely]] {
        return false;
    }
    const bool is_for_all = !engine::ShelfCall::has_root(kind);
    const bool takes = is_for_all || who.is(root);
    const std::uint64_t bytes = block_bytes(*who.access, sendbuf, count, datatype);
    const auto operation = object::find_predefined_operator(op);
    if (bytes == 0 || !operation ||
        (takes && (sendbuf == recvbuf || !object::is_plain_buffer(*who.access, recvbuf))))
        [[unlikely]] {
        return false;
    }
    const object::Datatype& type = *usual_type(*who.access, datatype);
    const engine::Reduction reduction{.op = *operation, .kind = type.kind};
    using protocol::coll::Collective;
    const object::CollectiveShape shape{
        .collective = is_for_all ? Collective::allreduce : Collective::reduce,
        .combines_pieces = object::combines_pieces(type.size_bytes),
        .root = static_cast<std::uint32_t>(root),
        .bytes = bytes};
    const engine::Meets how = is_for_all ? engine::Meets::halving : engine::Meets::collecting;
    if (!who.comm->recent_graphs().find(shape).lets_combine(how) ||
        data::reduce_kernel(reduction.op, reduction.kind) == nullptr) [[unlikely]] {
        return false;
    }
    return visit(who, {.kind = kind,
                       .root = static_cast<std::uint32_t>(root),
                       .send = static_cast<const std::byte*>(sendbuf),
                       .receive = static_cast<std::byte*>(recvbuf),
                       .bytes = bytes,
                       .element_bytes = type.size_bytes,
                       .reduction = &reduction});
}

[[gnu::always_inline]] inline bool Reduce(const void* sendbuf, void* recvbuf, MPI_Count count,
                                          MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm)
{
    return visit_with_vectors(Kind::reduce, sendbuf, recvbuf, count, datatype, op, root, comm);
}

[[gnu::always_inline]] inline bool Allreduce(const void* sendbuf, void* recvbuf, MPI_Count count,
                                             MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    return visit_with_vectors(Kind::allreduce, sendbuf, recvbuf, count, datatype, op, 0, comm);
}

[[gnu::always_inline]] inline bool Barrier(MPI_Comm comm)
{
    const Visitor who = visitor(Kind::barrier, 0, comm);
    return who.seat != nullptr && visit(who, {.kind = Kind::barrier});
}

}  // namespace headway::abi::short_way
