// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "engine/graph_engine.hpp"
#include "engine/scope.hpp"
#include "engine/seat.hpp"
#include "engine/shelf.hpp"
#include "mpi.h"
#include "object/attribute.hpp"
#include "object/error_handler.hpp"
#include "object/info.hpp"
#include "object/instance.hpp"
#include "object/recent_graphs.hpp"
#include "object/topology.hpp"
#include "protocol/coll/topology.hpp"

namespace headway::engine {
class Driver;
}

namespace headway::object {

class Rank;
class SendBuffer;

/// The two groups of an inter-communicator, by world rank.
struct TwoGroups {
    std::vector<int> local;
    std::vector<int> remote;
    /// The local group comes first where the library counts the members of both; exactly one side
    /// says so.
    bool is_first = false;
};

/// A communicator as one of its ranks sees it. One reference for the handle, one for each started
/// operation: a freed communicator stays until its traffic is over (MPI-5.0 section 7.4.3).
/// Thread rule: the rank's threads, under its lock.
class Communicator {
  public:
    /// `members`: their world ranks, in order. Null: the node heap is exhausted. The handle is
    /// acquired here unless a predefined one is given.
    static Communicator* create(Rank& rank, std::uint32_t context, const std::vector<int>& members,
                                ErrorHandler* error_handler, MPI_Comm predefined = nullptr);
    /// An inter-communicator; null as above.
    static Communicator* create_inter(Rank& rank, std::uint32_t context, const TwoGroups& groups,
                                      ErrorHandler* error_handler);
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    /// Of the local group.
    int size() const noexcept { return size_; }
    int rank() const noexcept { return static_cast<int>(scope_->rank); }
    /// Ranks that messages can name: of the remote group of an inter-communicator, else of all.
    int peer_count() const noexcept { return static_cast<int>(scope_->size); }
    bool is_inter() const noexcept { return joint_ != nullptr; }
    /// Where its collectives belong, and its messages unless these are spread: the same one on all
    /// members.
    Instance& instance() const noexcept { return *instance_; }
    /// Of that.
    engine::Driver& driver() const noexcept { return *driver_; }
    /// Where messages with that tag belong, on all members; instance() for MPI_ANY_TAG. Who has not
    /// gone in by that door has to ask again inside (docs/design/035).
    Instance& instance_for(int tag) const noexcept
    {
        return spreads_tags() ? instance_of_tag(tag) : *instance_;
    }
    engine::Driver& driver_for(int tag) const noexcept
    {
        return spreads_tags() ? driver_of_tag(tag) : *driver_;
    }
    /// Its messages are spread over the rank's instances by their tags: no receive may name any
    /// tag.
    bool spreads_tags() const noexcept
    {
        return spreads_tags_.load(std::memory_order_relaxed);  // relaxed: see there
    }
    /// On all members alike. Before its handle is known; or inside all instances of a rank of which
    /// one thread only has ever been inside any, and while no message of the communicator is
    /// under way.
    void set_spreads_tags(bool spreads);
    MPI_Comm handle() const noexcept { return handle_; }
    ErrorHandler* error_handler() const noexcept { return error_handler_; }
    /// Of messages: its ranks are those of peer_count().
    engine::Scope& scope() noexcept { return *scope_; }
    const engine::Scope& scope() const noexcept { return *scope_; }
    /// Of collectives: of an inter-communicator the members of both groups, the first group's
    /// first.
    engine::Scope& joint_scope() noexcept { return joint_ != nullptr ? *joint_ : *scope_; }
    const engine::Scope& joint_scope() const noexcept
    {
        return joint_ != nullptr ? *joint_ : *scope_;
    }
    /// Where the local group's members stand in the joint scope. Requires: is_inter().
    bool is_first_group() const noexcept { return is_first_; }
    std::uint32_t context() const noexcept { return scope_->context; }
    /// Context of messages that the library sends for itself; no communicator's own, for context
    /// ids stay below the bit.
    std::uint32_t internal_context() const noexcept { return scope_->context | internal_bit; }
    /// All contexts of messages of a communicator with that context.
    static std::array<std::uint32_t, 4> contexts_of(std::uint32_t context) noexcept
    {
        return {context, context | 1U, context | internal_bit, context | internal_bit | 1U};
    }
    /// For one that was created before its context was known; 0 stands for that. Requires that
    /// nothing was started on it.
    void set_context(std::uint32_t context);

    /// Number of the session that it comes from; 0: from the world that MPI_Init makes.
    std::uint32_t session() const noexcept { return session_; }
    void set_session(std::uint32_t number) noexcept { session_ = number; }

    /// World ranks of the members of the local group, in order.
    std::vector<int> members() const;
    /// World ranks of those that peer_count() counts, in order.
    std::vector<int> peers() const;
    /// Of an inter-communicator.
    TwoGroups groups() const { return {members(), peers(), is_first_}; }

    /// Which members of the joint scope share a node; null: all do. Made at the first call.
    const protocol::coll::Topology* nodes()
    {
        if (!knows_nodes_) [[unlikely]] {
            find_nodes();
        }
        return nodes_.get();
    }

    /// Where its members meet instead of sending messages; null: nowhere yet. Called for each call
    /// for which they may, on all of them; after some of those one member makes the place and
    /// tells the others, which blocks.
    engine::Seat* seat()
    {
        if (seat_.meeting == nullptr && calls_to_meeting_ != 0) [[unlikely]] {
            count_to_meeting();
        }
        return seat_.meeting != nullptr ? &seat_ : nullptr;
    }

    /// The same for calls of that kind that fit on a shelf of that size (engine/shelf).
    engine::ShelfSeat* seat_at_shelf(engine::ShelfSize size, engine::ShelfCall::Kind kind)
    {
        if (engine::ShelfSeat* const seat = known_seat_at_shelf(size, kind); seat != nullptr)
            [[likely]] {
            return seat;
        }
        return shelf_uses_[static_cast<std::size_t>(size)].calls_left != 0
                   ? count_to_shelf(size, kind)
                   : nullptr;
    }
    /// Null also where the shelf is still to be made.
    engine::ShelfSeat* known_seat_at_shelf(engine::ShelfSize size,
                                           engine::ShelfCall::Kind kind) noexcept
    {
        const ShelfUse& use = shelf_uses_[static_cast<std::size_t>(size)];
        return use.is_used[static_cast<std::size_t>(kind)] ? &seat_.at(size) : nullptr;
    }

    /// Null: it has none.
    const Topology* topology() const noexcept { return topology_.get(); }
    const std::shared_ptr<const Topology>& shared_topology() const noexcept { return topology_; }
    /// Before anything was started on it.
    void set_topology(std::shared_ptr<const Topology> topology);
    /// With whom its neighbourhood collectives exchange blocks; empty without a topology.
    const Neighborhood& neighborhood() const noexcept { return neighborhood_; }
    int source_count() const noexcept { return static_cast<int>(neighborhood_.sources.size()); }
    int destination_count() const noexcept
    {
        return static_cast<int>(neighborhood_.destinations.size());
    }

    const std::string& name() const noexcept { return name_; }
    void set_name(std::string_view name) { name_ = name; }
    AttributeSet& attributes() noexcept { return attributes_; }
    /// Hints that are in effect, default ones too (MPI-5.0 section 7.4.4).
    Info hints() const;
    /// Takes those that Headway knows, if their values make sense; others stay as they are. A
    /// promise on which its messages are spread stays as well.
    void take_hints(const Info& given);
    /// Whether it would hold after that that no receive names any tag.
    bool would_promise_tags(const Info& given) const;
    /// Number of the next collective call, from 1 on, where somebody counts them.
    std::uint64_t count_collective() noexcept { return ++collectives_; }
    /// How many partitioned messages in one direction with that peer and tag were initialized
    /// before this one.
    std::uint32_t count_partitioned(bool is_send, int peer, int tag)
    {
        return partitioned_[{is_send ? 1 : 0, peer, tag}]++;
    }
    /// Takes a reference on the new handler and drops the one on the old.
    void set_error_handler(ErrorHandler* handler) noexcept;
    /// Whether the application has set one.
    bool is_handler_chosen() const noexcept { return is_handler_chosen_; }

    /// One of an operation, by a call that is inside its instance, as who drops it is. Where calls
    /// are in several instances, each has a count of its own: one that they share would go from
    /// core to core with every message.
    void add_reference(const Instance& instance) noexcept
    {
        if (shares_ != nullptr && !shares_[instance.number].is_closed) [[unlikely]] {
            ++shares_[instance.number].references;
        } else {
            add_reference();
        }
    }
    void drop_reference(const Instance& instance)
    {
        if (shares_ != nullptr && !shares_[instance.number].is_closed) [[unlikely]] {
            --shares_[instance.number].references;
        } else {
            drop_reference();
        }
    }
    // Relaxed: who adds has a reference.
    void add_reference() noexcept
    {
        if (shares_ != nullptr) [[unlikely]] {
            std::atomic_ref(references_).fetch_add(1, std::memory_order_relaxed);
        } else {
            ++references_;
        }
    }
    /// The last one destroys the communicator; see Rank::bury().
    void drop_reference()
    {
        if (shares_ != nullptr) [[unlikely]] {
            drop_shared_reference();
            return;
        }
        if (--references_ == 0) [[unlikely]] {
            destroy();
        }
    }
    /// Requires: it has no references, and the caller is inside the first instance.
    void destroy_buried() { destroy(); }
    /// Invalidates the handle; the communicator goes with its last operation.
    void free_handle();
    /// The handle's reference, which keeps the communicator whatever each instance's count says:
    /// these are added up first, inside one after the other. Requires: inside the first instance.
    void drop_first_reference();

    /// Its own buffer for sends in buffered mode; null: those use the rank's.
    std::unique_ptr<SendBuffer>& send_buffer() noexcept { return send_buffer_; }

    /// The stored graph under `key`, or null; the communicator owns what is remembered.
    engine::GraphTemplate* find_graph(std::uint64_t key);
    void remember_graph(std::uint64_t key, engine::GraphTemplate* stored);
    RecentGraphs& recent_graphs() noexcept { return recent_graphs_; }
    const RecentGraphs& recent_graphs() const noexcept { return recent_graphs_; }

  private:
    static constexpr std::uint32_t internal_bit = 0x8000'0000U;
    Communicator(Rank& owner, engine::Scope* scope, ErrorHandler* error_handler);
    ~Communicator();

    void destroy();
    void drop_shared_reference();
    void choose_instance();
    void share_count();
    Instance& instance_of_tag(int tag) const noexcept;
    engine::Driver& driver_of_tag(int tag) const noexcept;
    void find_nodes();
    void count_to_meeting();
    engine::ShelfSeat* count_to_shelf(engine::ShelfSize size, engine::ShelfCall::Kind kind);
    bool lets_use_shelf(engine::ShelfCall::Kind kind) const;
    bool is_used_on_shelf(engine::ShelfSize size, engine::ShelfCall::Kind kind) const;
    std::uintptr_t tell_all(std::uintptr_t place);

    Rank& owner_;
    engine::Scope* scope_;
    engine::Driver* driver_;
    Instance* instance_;
    engine::Scope* joint_ = nullptr;  ///< of inter-communicators only
    bool is_first_ = false;
    int size_;
    MPI_Comm handle_ = MPI_COMM_NULL;
    ErrorHandler* error_handler_;
    bool is_handler_chosen_ = false;
    // Written as set_spreads_tags() says, read by all threads; relaxed: who uses the communicator
    // has heard of it after that, or asks again behind a lock that the writer held.
    std::atomic<bool> spreads_tags_{false};
    // Under the instance's lock; of one that is not on the first instance alone, whose calls count
    // too, by any thread.
    int references_ = 1;
    /// What of the references one instance has counted, by its lock. Less than none where what it
    /// drops was counted elsewhere.
    struct alignas(64) Share {
        int references = 0;
        bool is_closed = false;  ///< added to references_, which counts from then on
    };
    std::unique_ptr<Share[]> shares_;  ///< of each instance; null where all calls are in the first
    std::uint32_t session_ = 0;
    std::uint64_t collectives_ = 0;
    std::map<std::array<int, 3>, std::uint32_t> partitioned_;
    std::unique_ptr<SendBuffer> send_buffer_;
    std::string name_;
    AttributeSet attributes_;
    Info hints_;
    bool knows_nodes_ = false;
    std::unique_ptr<const protocol::coll::Topology> nodes_;
    engine::Seat seat_;
    /// A communicator that is made for a call or two needs none; 0: there was no memory for it.
    int calls_to_meeting_ = 3;
    struct ShelfUse {
        int calls_left = 3;  ///< until it is made; 0: it is there, or there is none
        std::array<bool, engine::ShelfCall::kinds> is_used{};  ///< by kind of call
    };
    std::array<ShelfUse, engine::shelf_sizes> shelf_uses_;
    std::shared_ptr<const Topology> topology_;
    Neighborhood neighborhood_;
    std::unordered_map<std::uint64_t, engine::GraphTemplate*> graphs_;
    RecentGraphs recent_graphs_;
};

}  // namespace headway::object
