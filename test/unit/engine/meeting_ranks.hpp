// SPDX-License-Identifier: Apache-2.0
//
// All ranks of a node, a meeting for them, and the graphs that say what they may meet for.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "engine/meeting.hpp"
#include "in_process_node.hpp"
#include "protocol/coll/select.hpp"

namespace headway::engine {

inline constexpr Reduction sum_of_doubles{data::ReduceOperator::sum, data::ElementKind::float64, 0};

class MeetingRanks : public testing::TestWithParam<std::uint32_t> {
  protected:
    MeetingRanks() : node_(GetParam())
    {
        node_.node().directory.lets_meet = true;
        node_.node().is_oversubscribed = true;
    }
    ~MeetingRanks() override { forget_graphs(); }

    void prepare(protocol::coll::Algorithm algorithm, bool in_place = false, std::size_t groups = 2,
                 std::uint32_t root = 0)
    {
        forget_graphs();
        for (std::uint32_t rank = 0; rank < node_.size(); ++rank) {
            const protocol::coll::Place place{rank, node_.size(), in_place};
            templates_.push_back(store_graph(node_.driver(rank).allocator(),
                                             protocol::coll::build(algorithm, place, root)));
        }
        meeting_ = create_meeting(node_.driver(0).allocator(), node_.size(), groups);
        ASSERT_NE(meeting_, nullptr);
        seats_.assign(node_.size(), Seat{.meeting = meeting_});
    }

    bool can_meet(std::uint32_t rank, const GraphArguments& arguments)
    {
        return engine::can_meet(node_.node(), *templates_[rank], node_.world(rank), arguments);
    }

    bool try_meet(std::uint32_t rank, const GraphArguments& arguments)
    {
        return engine::meet(node_.driver(rank), seats_[rank], *templates_[rank], node_.world(rank),
                            arguments);
    }

    void meet(std::uint32_t rank, const GraphArguments& arguments)
    {
        ASSERT_TRUE(can_meet(rank, arguments));
        ASSERT_TRUE(try_meet(rank, arguments));
    }

    void leave()
    {
        for (std::uint32_t rank = 0; rank < node_.size(); ++rank) {
            leave_meeting(node_.driver(rank).allocator(), seats_[rank]);
        }
    }

    /// Runs the graphs of all ranks by messages.
    void send_messages(const std::function<GraphArguments(std::uint32_t)>& arguments)
    {
        std::vector<Op*> ops;
        for (std::uint32_t rank = 0; rank < node_.size(); ++rank) {
            ops.push_back(start_graph(node_.driver(rank), *templates_[rank], node_.world(rank),
                                      arguments(rank)));
        }
        node_.settle();
        for (std::uint32_t rank = 0; rank < node_.size(); ++rank) {
            EXPECT_TRUE(ops[rank]->word.is_complete());
            node_.driver(rank).destroy_op(ops[rank]);
        }
    }

    void run_threads(const std::function<void(std::uint32_t)>& body)
    {
        std::vector<std::thread> threads;
        threads.reserve(node_.size());
        for (std::uint32_t rank = 0; rank < node_.size(); ++rank) {
            threads.emplace_back([&body, rank] { body(rank); });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
    }

    InProcessNode node_;
    std::vector<GraphTemplate*> templates_;
    std::vector<Seat> seats_;
    Meeting* meeting_ = nullptr;

  private:
    void forget_graphs()
    {
        for (std::uint32_t rank = 0; rank < templates_.size(); ++rank) {
            destroy_template(node_.driver(rank).allocator(), templates_[rank]);
        }
        templates_.clear();
    }
};

}  // namespace headway::engine
