// SPDX-License-Identifier: Apache-2.0
//
// Collectives of all ranks of a node in this process, for tests of the engine that runs them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/graph_engine.hpp"
#include "in_process_node.hpp"
#include "protocol/coll/select.hpp"

namespace headway::engine {

using protocol::coll::Algorithm;
using protocol::coll::build;

inline constexpr std::uint64_t in_heap_limit = 8192;  ///< the default of the knob eager_limit

/// A collective of all ranks: one template and one run a rank.
class Collective {
  public:
    Collective(InProcessNode& node, Algorithm algorithm, std::uint32_t root = 0,
               bool in_place = false)
        : node_(node)
    {
        for (std::uint32_t rank = 0; rank < node.size(); ++rank) {
            templates_.push_back(
                store_graph(node.driver(rank).allocator(),
                            build(algorithm, {rank, node.size(), in_place}, root)));
        }
        ops_.resize(node.size());
    }
    ~Collective()
    {
        for (std::uint32_t rank = 0; rank < node_.size(); ++rank) {
            destroy_template(node_.driver(rank).allocator(), templates_[rank]);
        }
    }
    Collective(const Collective&) = delete;
    Collective& operator=(const Collective&) = delete;

    void start(std::uint32_t rank, const GraphArguments& arguments)
    {
        ops_[rank] =
            start_graph(node_.driver(rank), *templates_[rank], node_.world(rank), arguments);
        ASSERT_NE(ops_[rank], nullptr);
    }
    bool is_complete(std::uint32_t rank) const { return ops_[rank]->word.is_complete(); }
    /// The result of a rank's run, which is freed.
    OpError end(std::uint32_t rank)
    {
        EXPECT_TRUE(is_complete(rank)) << "rank " << rank;
        const OpError error = ops_[rank]->error;
        node_.driver(rank).destroy_op(ops_[rank]);
        return error;
    }
    /// Lets a rank's template go. Requires: its run is over.
    void forget(std::uint32_t rank)
    {
        destroy_template(node_.driver(rank).allocator(), std::exchange(templates_[rank], nullptr));
    }
    GraphTemplate& stored(std::uint32_t rank) { return *templates_[rank]; }

  private:
    InProcessNode& node_;
    std::vector<GraphTemplate*> templates_;
    std::vector<Op*> ops_;
};

inline constexpr Reduction sum_of_int64{data::ReduceOperator::sum, data::ElementKind::int64, 0};

inline GraphArguments vector_of(const std::vector<std::int64_t>& send,
                                std::vector<std::int64_t>& receive)
{
    return {.send = send.data(),
            .receive = receive.data(),
            .count = receive.size(),
            .element_bytes = sizeof(std::int64_t),
            .reduction = sum_of_int64};
}

struct Route {
    const char* name;
    Distance distance;
    std::uint64_t eager_limit;
};

inline constexpr Route routes[] = {
    {"eager", Distance::together, in_heap_limit},
    {"offers", Distance::together, 0},
    {"reads", Distance::reachable, 0},
    {"pipes", Distance::apart, 0},
};

inline std::string name_of_route(const testing::TestParamInfo<Route>& each)
{
    return each.param.name;
}

inline config::Knobs knobs_of(const Route& route)
{
    config::Knobs all;
    all.eager_limit = route.eager_limit;
    return all;
}

}  // namespace headway::engine
