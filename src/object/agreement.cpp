// SPDX-License-Identifier: Apache-2.0
#include "object/agreement.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "engine/wait.hpp"
#include "object/collective.hpp"
#include "object/op_keep.hpp"
#include "protocol/point_to_point.hpp"

namespace headway::object {

namespace {

/// What a member brings to a duplicate; the context is that of member 0.
struct DuplicateOffer {
    std::uint32_t context;
    std::uint32_t lets_spread_tags;
};

/// The offers under way to a duplicate: of all members, or of the first one. Stays with the op that
/// writes them.
class PendingContext final : public OpKeep {
  public:
    PendingContext(Communicator& made, DuplicateOffer own, std::size_t count)
        : made_(made), own_(own), offers_(count, own)
    {
        made_.add_reference();
    }
    ~PendingContext() override { made_.drop_reference(); }

    const DuplicateOffer* own() const noexcept { return &own_; }
    DuplicateOffer* offers() noexcept { return offers_.data(); }

    void finish(Rank& rank, engine::Op& op) override
    {
        if (op.error == engine::OpError::none &&
            (offers_.front().context == 0 || rank.contexts().is_held(offers_.front().context))) {
            op.error = engine::OpError::no_memory;
        }
        if (op.error != engine::OpError::none) {
            made_.set_context(0);
            return;
        }
        made_.set_context(offers_.front().context);
        if (std::ranges::all_of(
                offers_, [](const DuplicateOffer& offer) { return offer.lets_spread_tags != 0; })) {
            made_.set_spreads_tags(true);
        }
    }

  private:
    Communicator& made_;
    DuplicateOffer own_;
    std::vector<DuplicateOffer> offers_;
};

/// Starts one message of the library's own between two members of `parent`. Null: no memory.
engine::Op* start_message(engine::Driver& driver, Communicator& parent, engine::OpKind kind,
                          int partner, int tag, void* bytes, std::uint64_t size_bytes)
{
    engine::Op* op = driver.create_op(kind);
    if (op == nullptr) {
        return nullptr;
    }
    const bool is_send = kind == engine::OpKind::send;
    op->header = {.context = parent.internal_context(),
                  .source = is_send ? parent.rank() : partner,
                  .tag = tag,
                  .sequence = 0};
    op->peer = parent.scope().peer(static_cast<std::uint32_t>(partner));
    op->address = static_cast<std::byte*>(bytes);
    op->size_bytes = size_bytes;
    if (is_send) {
        protocol::start_send(driver, op, false);
    } else {
        protocol::start_receive(driver, op);
    }
    return op;
}

/// Waits for it. False: it is null, or has failed.
bool end_message(engine::Driver& driver, engine::Op* op)
{
    if (op == nullptr) {
        return false;
    }
    engine::wait_for(driver, op);
    const bool is_done = op->error == engine::OpError::none;
    driver.destroy_op(op);
    return is_done;
}

/// One message of a tree of the library's own. False: no memory.
bool exchange(Rank& rank, Communicator& parent, engine::OpKind kind, int partner, int tag,
              std::uint32_t* context)
{
    engine::Driver& driver = rank.driver();
    return end_message(driver,
                       start_message(driver, parent, kind, partner, tag, context, sizeof *context));
}

}  // namespace

std::optional<std::uint32_t> agree_for_all(Rank& rank, Communicator& parent)
{
    std::uint32_t context = parent.joint_scope().rank == 0 ? rank.pick_context() : 0;
    if (!bcast_bytes(rank, parent, &context, sizeof context, 0)) {
        return std::nullopt;
    }
    return context;
}

std::optional<std::uint32_t> agree_for_part(Rank& rank, Communicator& parent, const Group& group)
{
    const std::uint32_t offer = group.rank() == 0 ? rank.pick_context() : 0;
    std::vector<std::uint32_t> offers(static_cast<std::size_t>(parent.size()));
    if (!allgather_bytes(rank, parent, &offer, offers.data(), sizeof offer)) {
        return std::nullopt;
    }
    if (group.rank() == MPI_UNDEFINED) {
        return 0;
    }
    const int leader = Group(parent.members(), rank.world_rank).find(group.world_ranks()[0]);
    return offers[static_cast<std::size_t>(leader)];
}

std::optional<std::uint32_t> agree_in_group(Rank& rank, Communicator& parent, const Group& group,
                                            int tag)
{
    const Group all(parent.members(), rank.world_rank);
    const auto place_of = [&](int member) {
        return all.find(group.world_ranks()[static_cast<std::size_t>(member)]);
    };
    std::uint32_t context = group.rank() == 0 ? rank.pick_context() : 0;
    // A binomial tree. Sources are ranks of the parent, so that trees of other groups that use the
    // tag before or after this one take other names or keep their order.
    int step = 1;
    for (; step < group.size(); step *= 2) {
        if ((group.rank() & step) != 0) {
            if (!exchange(rank, parent, engine::OpKind::receive, place_of(group.rank() - step), tag,
                          &context)) {
                return std::nullopt;
            }
            break;
        }
    }
    for (step /= 2; step > 0; step /= 2) {
        const int child = group.rank() + step;
        if (child < group.size() &&
            !exchange(rank, parent, engine::OpKind::send, place_of(child), tag, &context)) {
            return std::nullopt;
        }
    }
    return context;
}

bool swap_bytes(engine::Driver& driver, Communicator& comm, int partner, int tag,
                std::span<const std::byte> given, std::span<std::byte> taken)
{
    engine::Op* const receive = start_message(driver, comm, engine::OpKind::receive, partner, tag,
                                              taken.data(), taken.size());
    engine::Op* const send = start_message(driver, comm, engine::OpKind::send, partner, tag,
                                           const_cast<std::byte*>(given.data()), given.size());
    const bool is_sent = end_message(driver, send);
    return end_message(driver, receive) && is_sent;
}

engine::Op* start_duplicate(Rank& rank, Communicator& parent, Communicator& made,
                            bool made_with_info)
{
    const bool asks_all = made_with_info && rank.instance_count() > 1;
    const DuplicateOffer own{
        .context = parent.joint_scope().rank == 0 ? rank.pick_context() : 0,
        .lets_spread_tags =
            asks_all && rank.spreads_communicators() && made.would_promise_tags({}) ? 1U : 0U};
    auto pending =
        std::make_unique<PendingContext>(made, own, asks_all ? parent.joint_scope().size : 1);
    CollectiveCall call;
    call.collective =
        asks_all ? protocol::coll::Collective::allgather : protocol::coll::Collective::bcast;
    call.send = asks_all ? pending->own() : nullptr;
    call.receive = pending->offers();
    call.count = sizeof own;
    engine::Op* op = start_collective(rank.first(), parent, std::move(call));
    if (op != nullptr) {
        set_keep(*op, pending.release());
    } else if (own.context != 0) {
        rank.contexts().give_back(own.context);
    }
    return op;
}

}  // namespace headway::object
