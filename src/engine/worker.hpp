// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/node.hpp"
#include "engine/rank_state.hpp"

namespace headway::engine {

/// A thread of this process that works for ranks of the node: for its own, for others whose
/// ownership word it takes, or, as an agent, for others only. Completes ops, rings bells, and
/// remembers whom it found away with nobody at work for them.
///
/// Thread rule: one thread at a time (that of the rank inside the library; the agent).
class alignas(64) Worker {
  public:
    /// `own` is null for an agent.
    Worker(Node& node, RankState* own);
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    Node& node() noexcept { return node_; }
    RankState* own() noexcept { return own_; }
    /// What an ownership word shows as its holder: the own rank, an agent's first one.
    std::uint32_t name() const noexcept { return name_; }
    memory::Allocator& allocator() noexcept { return allocator_; }

    /// Null: nothing is recorded.
    observe::Tracer* tracer() noexcept { return tracer_; }
    void start_recording(observe::Tracer& tracer) noexcept { tracer_ = &tracer; }
    void stop_recording() noexcept { tracer_ = nullptr; }

    /// Completes an op of any rank and fires who waits for it. The results were written before.
    /// The op may be gone when this returns.
    void complete(Op* op);

    /// The same for an op on whose word no other thread hangs or takes off anything: one of a rank
    /// with one thread, by that thread.
    void complete_own(Op* op);

    /// Does what each waiter of a chain, taken off its word, is there for.
    void fire(sync::Waiter* chain);

    /// `rank`'s CPU is needed for work that was published before: its owner or holder will see it,
    /// or it is woken, or it is one of those for whom help() is due.
    void ring(RankState& rank);

    /// Ranks were found away and somebody has to work for them.
    bool has_asked() const noexcept { return asked_count_ != 0 || must_hand_over_; }

    /// Works for those whom ring() found away, and for ranks that others left behind. True: there
    /// was something to do. Requires: no word in hand but the own rank's.
    bool help();

    /// Sees to it that others work for whom this worker has not: an idle rank, else their agents.
    void hand_over();

    /// `rank` is left behind with copies that nobody does.
    void leave_behind(RankState& rank);
    /// Likewise, with pieces that only its own process can move.
    void leave_to_own_process(RankState& rank);

    /// An idle rank was woken to help: what it cannot do it must pass on.
    void take_over() noexcept { must_hand_over_ = true; }

    /// Takes the word of a rank that is away, as often as there is something to do.
    void work_for(RankState& rank);

    /// From now on copies of others are left where they are, or not.
    void defer_copies(bool are_deferred) noexcept
    {
        defers_copies_ = are_deferred;
        has_deferred_ = false;
    }
    /// Whether copies were left since then; their ranks are among the wanted.
    bool has_deferred() const noexcept { return has_deferred_; }

    /// work_for() every rank of this process that is away with operations open.
    void work_for_all();

    /// Somebody of `rank`'s process is to work for it when its next frame may be seen, at `due_ns`.
    void see_to(RankState& rank, std::int64_t due_ns);

  private:
    class Help;

    static constexpr std::size_t asked_max = 8;

    template <typename Finish>
    void complete_by(Op* op, Finish&& finish);
    void remember(RankState& rank);
    bool can_work_for(const RankState& rank);
    bool help_wanted();
    void wake_agent_of(const RankState& rank);

    Node& node_;
    RankState* const own_;
    memory::Allocator& allocator_;
    const std::uint32_t name_;
    observe::Tracer* tracer_;
    RankState* holding_ = nullptr;  ///< whose word this worker has beside its own
    RankState* asked_[asked_max] = {};
    std::size_t asked_count_ = 0;
    bool must_hand_over_ = false;
    bool defers_copies_ = false;
    bool has_deferred_ = false;
};

}  // namespace headway::engine
