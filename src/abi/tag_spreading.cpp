// SPDX-License-Identifier: Apache-2.0
#include "abi/tag_spreading.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "object/agreement.hpp"
#include "object/collective.hpp"
#include "protocol/point_to_point.hpp"

namespace headway::abi {

namespace {

using object::Communicator;
using object::Rank;

/// No communicator that is made from a group has it, as programs give such a tag.
constexpr int flush_tag = std::numeric_limits<int>::min();

/// Whether all members say yes. False: the node heap is exhausted.
bool ask_all(Rank& rank, Communicator& comm, bool says_yes, bool* do_all)
{
    const char own = says_yes ? 1 : 0;
    std::vector<char> answers(comm.joint_scope().size);
    if (!object::allgather_bytes(rank, comm, &own, answers.data(), sizeof own)) {
        return false;
    }
    *do_all = std::ranges::all_of(answers, [](char answer) { return answer != 0; });
    return true;
}

/// Exchanges a message with each rank that messages of the communicator name, in the same order on
/// all of them. What any of these sent there before has been taken from its lane afterwards. False:
/// the node heap is exhausted.
bool flush(engine::Driver& driver, Communicator& comm)
{
    for (int peer = 0; peer < comm.peer_count(); ++peer) {
        const std::byte given{};
        std::byte taken{};
        if (!object::swap_bytes(driver, comm, peer, flush_tag, {&given, 1}, {&taken, 1})) {
            return false;
        }
    }
    return true;
}

/// Inside all instances of a rank, in the first one once more, so that no wait lets another thread
/// in. Nowhere, if another thread has ever been inside any: two of them that wait so on two
/// communicators would keep each other's peers out.
class AloneInside {
  public:
    explicit AloneInside(Rank& rank) : rank_(rank)
    {
        rank.first().door.enter();
        entered_ = 1;
        while (entered_ < rank.instance_count() && rank.instance(entered_).door.try_enter()) {
            ++entered_;
        }
        if (entered_ < rank.instance_count() || is_shared()) {
            leave();
        }
    }
    ~AloneInside() { leave(); }
    AloneInside(const AloneInside&) = delete;
    AloneInside& operator=(const AloneInside&) = delete;

    /// The thread is inside all, and no receive of the communicator is posted in any, and no
    /// message kept.
    bool has_nothing_of(const Communicator& comm) const
    {
        bool has_nothing = entered_ != 0;
        for (std::uint32_t number = 0; has_nothing && number < entered_; ++number) {
            has_nothing = protocol::is_unused(*rank_.instance(number).driver, comm.context());
        }
        return has_nothing;
    }

  private:
    bool is_shared() const noexcept
    {
        bool is_shared = false;
        for (std::uint32_t number = 0; number < rank_.instance_count(); ++number) {
            is_shared = is_shared || rank_.instance(number).door.lock().is_shared();
        }
        return is_shared;
    }
    void leave()
    {
        while (entered_ != 0) {
            rank_.instance(--entered_).door.leave();
        }
    }

    Rank& rank_;
    std::uint32_t entered_ = 0;
};

}  // namespace

int take_first_hints(Call& call, Communicator& made, const object::Info& hints)
{
    Rank& rank = rank_of(call);
    made.take_hints(hints);
    if (rank.instance_count() == 1) {
        return MPI_SUCCESS;
    }
    bool are_spread = false;
    if (!ask_all(rank, made, rank.spreads_communicators() && made.would_promise_tags(hints),
                 &are_spread)) {
        return fail_for_memory(call);
    }
    if (are_spread) {
        made.set_spreads_tags(true);
    }
    return MPI_SUCCESS;
}

int take_first_hints(Call& call, MPI_Comm made, const object::Info& hints)
{
    return made != MPI_COMM_NULL
               ? take_first_hints(call, *object::find_communicator(rank_of(call), made), hints)
               : MPI_SUCCESS;
}

namespace {

/// All members are in the call, and agree on what they want. True: nothing of the communicator was
/// under way, and its messages go the new way.
bool try_to_spread(Call& call, Communicator& comm, bool are_spread)
{
    Rank& rank = rank_of(call);
    for (std::uint32_t number = 0; number < rank.instance_count(); ++number) {
        object::Instance& at = rank.instance(number);
        if (comm.spreads_tags() || &at == &comm.instance()) {
            call.move_to(at);
            if (!flush(*at.driver, comm)) {
                return false;
            }
        }
    }
    call.move_to(rank.first());
    const AloneInside inside(rank);
    bool is_certain = false;
    if (!ask_all(rank, comm, inside.has_nothing_of(comm), &is_certain)) {
        return false;
    }
    if (is_certain) {
        comm.set_spreads_tags(are_spread);
    }
    return true;
}

}  // namespace

int change_hints(Call& call, Communicator& comm, const object::Info& hints)
{
    Rank& rank = rank_of(call);
    if (rank.instance_count() > 1) {
        bool are_spread = false;
        if (!ask_all(rank, comm, rank.spreads_communicators() && comm.would_promise_tags(hints),
                     &are_spread) ||
            (are_spread != comm.spreads_tags() && !try_to_spread(call, comm, are_spread))) {
            return fail_for_memory(call);
        }
    }
    comm.take_hints(hints);
    return MPI_SUCCESS;
}

}  // namespace headway::abi
