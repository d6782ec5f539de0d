// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "engine/copy_job.hpp"
#include "engine/driver.hpp"
#include "engine/graph_engine.hpp"
#include "engine/node.hpp"
#include "engine/rank_lock.hpp"
#include "engine/scope.hpp"
#include "protocol/point_to_point.hpp"
#include "unit/memory/heap_fixture.hpp"

namespace headway::engine {

/// Where ranks believe they live: in this process, each in one that the others can reach into, or
/// each in one that nobody can reach into, so that long messages go through the node heap.
enum class Distance : std::uint8_t { together, reachable, apart };

/// All ranks of a node in this process over one node heap, each with a pair of hands that the test
/// moves: one thread moves all in a fixed order, or every rank gets a thread.
class InProcessNode {
  public:
    /// `distant_ranks` belong to the job, too, on other nodes, and `network` is the way there.
    explicit InProcessNode(std::uint32_t ranks, config::Knobs knobs = {},
                           Distance distance = Distance::together, std::uint32_t distant_ranks = 0,
                           transport::Network* network = nullptr)
    {
        const bool apart = distance != Distance::together;
        auto heap = memory::make_heap(ranks);
        auto* directory = heap->for_rank(0).make<Directory>();
        directory->rank_count = ranks;
        directory->job_rank_count = ranks + distant_ranks;
        // The test's own process is none of those in which the ranks believe to live.
        directory->process_count = apart ? ranks + 1 : 1;
        directory->cores_ask_each_other = do_cores_ask_each_other(knobs.core_caches);
        knobs.cma = distance == Distance::apart ? config::CmaChoice::off : knobs.cma;
        node_ = std::make_unique<Node>(std::move(heap), *directory, apart ? ranks : 0, knobs);
        for (std::uint32_t process = 0; process < directory->process_count; ++process) {
            node_->peer_memory.introduce(process, node_->peer_memory.own_identity());
        }
        node_->network = network;
        node_->is_oversubscribed = true;  // waits sleep soon
        protocol::register_protocols(*node_);
        std::vector<std::uint32_t> everyone(ranks);
        std::iota(everyone.begin(), everyone.end(), 0);
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            RankState* state = create_rank_state(*node_, rank);
            state->process = apart ? rank : 0;
            drivers_.emplace_back(workers_.emplace_back(*node_, state), *state,
                                  locks_.emplace_back());
            EXPECT_TRUE(protocol::create_rank_part(driver(rank)));
            worlds_.push_back(make_scope(rank, 0, everyone));
        }
    }

    /// Each rank has a core of its own from now on. Requires: no lane is open.
    void give_cores()
    {
        node_->is_oversubscribed = false;
        node_->choose_buffers();
    }

    Node& node() noexcept { return *node_; }
    std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(drivers_.size()); }
    Driver& driver(std::uint32_t rank) noexcept { return drivers_[rank]; }
    RankLock& lock(std::uint32_t rank) noexcept { return locks_[rank]; }
    Scope& world(std::uint32_t rank) noexcept { return *worlds_[rank]; }

    /// The view that `rank`, a member, has of a communicator.
    Scope* make_scope(std::uint32_t rank, std::uint32_t context,
                      const std::vector<std::uint32_t>& members)
    {
        const auto size = static_cast<std::uint32_t>(members.size());
        auto* scope = new (driver(rank).allocator().allocate(Scope::bytes_needed(size))) Scope;
        scope->context = context;
        scope->size = size;
        for (std::uint32_t member = 0; member < size; ++member) {
            scope->peers()[member] = members[member];
            scope->rank = members[member] == rank ? member : scope->rank;
        }
        return scope;
    }

    /// What a rank that waits does once, but help others; the number of events.
    int sweep(std::uint32_t rank)
    {
        return driver(rank).progress() + (copy_next(driver(rank), CopyShare::all) ? 1 : 0);
    }

    /// Sweeps every rank but `except` in turn until nobody finds anything to do.
    void settle(std::uint32_t except = UINT32_MAX)
    {
        for (int sweeps = 0; sweeps < sweeps_max; ++sweeps) {
            int events = 0;
            for (std::uint32_t rank = 0; rank < size(); ++rank) {
                events += rank == except ? 0 : sweep(rank);
            }
            if (events == 0) {
                return;
            }
        }
        ADD_FAILURE() << "the ranks never come to rest";
    }

    Op* start_send(std::uint32_t from, std::uint32_t to, std::int32_t tag, const void* address,
                   std::uint64_t bytes, bool is_synchronous = false)
    {
        Op* op = driver(from).create_op(OpKind::send);
        op->header = {.context = 0, .source = static_cast<std::int32_t>(from), .tag = tag};
        op->peer = to;
        op->address = static_cast<std::byte*>(const_cast<void*>(address));
        op->size_bytes = bytes;
        protocol::start_send(driver(from), op, is_synchronous);
        return op;
    }

    Op* start_receive(std::uint32_t rank, std::int32_t source, std::int32_t tag, void* address,
                      std::uint64_t bytes)
    {
        Op* op = driver(rank).create_op(OpKind::receive);
        op->header = {.context = 0, .source = source, .tag = tag};
        op->address = static_cast<std::byte*>(address);
        op->size_bytes = bytes;
        protocol::start_receive(driver(rank), op);
        return op;
    }

    /// Bytes of small blocks that all ranks have in use.
    /// Without ops that were freed and wait for their next use.
    std::uint64_t bytes_in_use()
    {
        std::uint64_t spare = 0;
        for (std::uint32_t rank = 0; rank < size(); ++rank) {
            driver(rank).allocator().take_inbound();
            for (Op* op = driver(rank).rank().spare_ops; op != nullptr; op = op->next) {
                spare += driver(rank).allocator().usable_bytes(op);
            }
        }
        return node_->heap->statistics().slab_bytes_in_use - spare;
    }

    /// Bytes of the heap that slabs and long blocks have taken.
    std::uint64_t bytes_reserved() { return node_->heap->statistics().bytes_reserved; }

  private:
    static constexpr int sweeps_max = 100'000;

    std::unique_ptr<Node> node_;
    std::deque<RankLock> locks_;
    std::deque<Worker> workers_;
    std::deque<Driver> drivers_;
    std::vector<Scope*> worlds_;
};

}  // namespace headway::engine
