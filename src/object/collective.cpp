// SPDX-License-Identifier: Apache-2.0
#include "object/collective.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/wait.hpp"

namespace headway::object {

namespace {

using protocol::coll::Algorithm;
using protocol::coll::Collective;

/// A graph depends on these; everything else is patched in when it starts.
std::uint64_t graph_key(Algorithm algorithm, std::uint32_t root, bool in_place)
{
    return std::uint64_t{root} << 16 | static_cast<std::uint64_t>(algorithm) << 1 |
           (in_place ? 1U : 0U);
}

engine::GraphTemplate* find_or_build(Rank& rank, Communicator& communicator, Algorithm algorithm,
                                     const CollectiveCall& call)
{
    const std::uint64_t key = graph_key(algorithm, call.root, call.in_place);
    if (engine::GraphTemplate* known = communicator.find_graph(key); known != nullptr) {
        return known;
    }
    const engine::Scope& scope = communicator.scope();
    const protocol::coll::Place place{scope.rank, scope.size, call.in_place};
    const engine::Graph graph = protocol::coll::build(algorithm, place, call.root);
    engine::GraphTemplate* stored = engine::store_graph(rank.driver().allocator(), graph);
    if (stored != nullptr) {
        communicator.remember_graph(key, stored);
    }
    return stored;
}

bool wait_and_free(Rank& rank, engine::Op* op)
{
    if (op == nullptr) {
        return false;
    }
    engine::wait_for(rank.driver(), op);
    const bool is_done = op->error == engine::OpError::none;
    rank.driver().destroy_op(op);
    return is_done;
}

}  // namespace

engine::Op* start_collective(Rank& rank, Communicator& communicator, CollectiveCall call)
{
    const protocol::coll::Shape shape{communicator.scope().size, call.count * call.element_bytes,
                                      call.is_commutative};
    const Algorithm algorithm = protocol::coll::choose(call.collective, shape);
    engine::GraphTemplate* stored = find_or_build(rank, communicator, algorithm, call);
    if (stored == nullptr) {
        return nullptr;
    }
    if (call.user != nullptr) {
        call.reduction.user_op = reinterpret_cast<std::uintptr_t>(call.user.get());
    }
    const engine::GraphArguments arguments{.send = call.send,
                                           .receive = call.receive,
                                           .count = call.count,
                                           .element_bytes = call.element_bytes,
                                           .reduction = call.reduction};
    engine::Op* op =
        engine::start_graph(rank.driver(), *stored, communicator.scope(), arguments);
    if (op != nullptr && call.user != nullptr) {
        set_keep(*op, call.user.release());
    }
    return op;
}

engine::Op* start_barrier(Rank& rank, Communicator& communicator)
{
    return start_collective(rank, communicator, {});
}

bool bcast_bytes(Rank& rank, Communicator& communicator, void* bytes, std::uint64_t size,
                 std::uint32_t root)
{
    CollectiveCall call;
    call.collective = Collective::bcast;
    call.receive = bytes;
    call.count = size;
    call.root = root;
    return wait_and_free(rank, start_collective(rank, communicator, std::move(call)));
}

bool allgather_bytes(Rank& rank, Communicator& communicator, const void* own, void* all,
                     std::uint64_t size)
{
    CollectiveCall call;
    call.collective = Collective::allgather;
    call.send = own;
    call.receive = all;
    call.count = size;
    return wait_and_free(rank, start_collective(rank, communicator, std::move(call)));
}

UserReduction::UserReduction(UserOperator* op, MPI_Datatype datatype) : op_(op), datatype_(datatype)
{
    ++op_->references;
}

UserReduction::~UserReduction()
{
    drop_operator(op_);
}

void UserReduction::finish(Rank& /*rank*/, engine::Op& /*op*/) {}

void UserReduction::apply(const void* in, void* inout, std::uint64_t count) const
{
    MPI_Datatype datatype = datatype_;
    if (op_->wide != nullptr) {
        auto elements = static_cast<MPI_Count>(count);
        op_->wide(const_cast<void*>(in), inout, &elements, &datatype);
        return;
    }
    const Datatype* type = find_datatype(datatype);
    // A user function of the narrow kind takes its vector in pieces that an int can count.
    constexpr std::uint64_t piece_max = std::numeric_limits<int>::max();
    for (std::uint64_t done = 0; done < count;) {
        const std::uint64_t piece = std::min(piece_max, count - done);
        auto elements = static_cast<int>(piece);
        const std::uint64_t offset = done * type->extent_bytes;
        op_->narrow(static_cast<char*>(const_cast<void*>(in)) + offset,
                    static_cast<char*>(inout) + offset, &elements, &datatype);
        done += piece;
    }
}

void drop_operator(UserOperator* op)
{
    if (--op->references == 0) {
        delete op;
    }
}

bool run_user_reduction(engine::Driver& /*driver*/, std::uint64_t user_op, const void* in,
                        void* inout, std::uint64_t count)
{
    reinterpret_cast<const UserReduction*>(user_op)->apply(in, inout, count);
    return true;
}

}  // namespace headway::object
