// SPDX-License-Identifier: Apache-2.0
//
// The graph engine with real bytes: all ranks of a node moved by one thread, so that every run is
// the same.
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "collective_runs.hpp"
#include "heap_famine.hpp"

namespace headway::engine {
namespace {

class GraphEngineTest : public testing::TestWithParam<Route> {
  protected:
    /// Starts an allreduce in which rank r gives r + i and compares all results.
    static void add_up(InProcessNode& node, Algorithm algorithm, std::size_t count)
    {
        const auto size = static_cast<std::int64_t>(node.size());
        Collective collective(node, algorithm);
        std::vector<std::vector<std::int64_t>> send(node.size());
        std::vector<std::vector<std::int64_t>> receive(node.size(),
                                                       std::vector<std::int64_t>(count));
        for (std::uint32_t rank = 0; rank < node.size(); ++rank) {
            for (std::size_t i = 0; i < count; ++i) {
                send[rank].push_back(static_cast<std::int64_t>(rank + i));
            }
            collective.start(rank, vector_of(send[rank], receive[rank]));
        }
        node.settle();
        for (std::uint32_t rank = 0; rank < node.size(); ++rank) {
            ASSERT_EQ(collective.end(rank), OpError::none);
            for (std::size_t i = 0; i < count; ++i) {
                ASSERT_EQ(receive[rank][i],
                          size * (size - 1) / 2 + size * static_cast<std::int64_t>(i));
            }
        }
    }
};

TEST_P(GraphEngineTest, AddsUpAndLeavesNothingBehind)
{
    for (const std::uint32_t ranks : {1U, 2U, 3U, 5U, 8U}) {
        SCOPED_TRACE("ranks " + std::to_string(ranks));
        InProcessNode node(ranks, knobs_of(GetParam()), GetParam().distance);
        // The first round makes lanes and contexts, which stay.
        add_up(node, Algorithm::allreduce_recursive_doubling, 1);
        add_up(node, Algorithm::allreduce_halving_doubling, ranks);
        add_up(node, Algorithm::allreduce_direct, 40'000);
        const std::uint64_t before = node.bytes_in_use();
        for (const std::size_t count : {0U, 1U, 7U, 1000U, 40'000U}) {
            add_up(node, Algorithm::allreduce_recursive_doubling, count);
            add_up(node, Algorithm::allreduce_halving_doubling, count);
            add_up(node, Algorithm::allreduce_direct, count);
        }
        EXPECT_EQ(node.bytes_in_use(), before);
    }
}

/// Six runs of a broadcast from rank 2 among five ranks.
void run_outstanding_together(InProcessNode& node, Algorithm algorithm)
{
    constexpr std::size_t runs = 6;
    const std::uint32_t ranks = node.size();
    Collective bcast(node, algorithm, 2);
    std::vector<Op*> ops;
    std::vector<std::vector<std::int64_t>> buffers(ranks * runs, std::vector<std::int64_t>(2000));
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        for (std::size_t run = 0; run < runs; ++run) {
            std::vector<std::int64_t>& buffer = buffers[rank * runs + run];
            buffer.assign(2000, rank == 2 ? static_cast<std::int64_t>(run) + 1 : 0);
            ops.push_back(start_graph(node.driver(rank), bcast.stored(rank), node.world(rank),
                                      vector_of(buffer, buffer)));
        }
    }
    node.settle();
    for (std::size_t i = 0; i < ops.size(); ++i) {
        ASSERT_TRUE(ops[i]->word.is_complete());
        EXPECT_EQ(buffers[i],
                  std::vector<std::int64_t>(2000, static_cast<std::int64_t>(i % runs) + 1));
        node.driver(static_cast<std::uint32_t>(i / runs)).destroy_op(ops[i]);
    }
}

TEST_P(GraphEngineTest, RunsOutstandingTogetherDoNotMixMessages)
{
    for (const Algorithm algorithm : {Algorithm::bcast_binomial, Algorithm::bcast_direct}) {
        InProcessNode node(5, knobs_of(GetParam()), GetParam().distance);
        run_outstanding_together(node, algorithm);
    }
}

INSTANTIATE_TEST_SUITE_P(Routes, GraphEngineTest, testing::ValuesIn(routes), name_of_route);

TEST(GraphEngine, NobodyLeavesABarrierBeforeTheLastEnters)
{
    for (const std::uint32_t ranks : {2U, 3U, 6U, 8U, 11U}) {
        InProcessNode node(ranks);
        for (std::uint32_t late = 0; late < ranks; ++late) {
            Collective barrier(node, Algorithm::barrier_dissemination);
            for (std::uint32_t rank = 0; rank < ranks; ++rank) {
                if (rank != late) {
                    barrier.start(rank, {});
                }
            }
            node.settle();
            for (std::uint32_t rank = 0; rank < ranks; ++rank) {
                ASSERT_FALSE(rank != late && barrier.is_complete(rank))
                    << "rank " << rank << " of " << ranks << " left without " << late;
            }
            barrier.start(late, {});
            node.settle();
            for (std::uint32_t rank = 0; rank < ranks; ++rank) {
                ASSERT_EQ(barrier.end(rank), OpError::none);
            }
        }
    }
}

TEST(GraphEngine, ARootThatIsBusyDoesNotHoldUpOtherCommunicators)
{
    InProcessNode node(3);
    Scope* first = node.make_scope(0, 8, {1, 0});
    Scope* second = node.make_scope(1, 8, {1, 0});
    std::vector<std::int64_t> buffer(1, 7);
    std::vector<std::int64_t> result(1, 0);
    memory::Allocator& allocator = node.driver(0).allocator();
    GraphTemplate* root =
        store_graph(allocator, build(Algorithm::bcast_binomial, {0, 2, false}, 0));
    GraphTemplate* leaf =
        store_graph(allocator, build(Algorithm::bcast_binomial, {1, 2, false}, 0));
    Op* receiving = start_graph(node.driver(0), *leaf, *first, vector_of(result, result));
    Op* sending = start_graph(node.driver(1), *root, *second, vector_of(buffer, buffer));
    node.settle();
    EXPECT_TRUE(receiving->word.is_complete());
    EXPECT_TRUE(sending->word.is_complete());
    EXPECT_EQ(result[0], 7);
}

TEST(GraphEngine, UserFunctionsRunAndMayFail)
{
    InProcessNode node(4);
    node.node().user_reduction = [](Driver&, std::uint64_t op, const void* in, void* inout,
                                    std::uint64_t count) {
        // Not commutative: the operand of the lower ranks keeps its leading digits.
        for (std::uint64_t i = 0; i < count; ++i) {
            auto* target = static_cast<std::int64_t*>(inout) + i;
            *target += 10 * static_cast<const std::int64_t*>(in)[i];
        }
        return op == 1;
    };
    for (const std::uint64_t user_op : {1U, 2U}) {
        Collective collective(node, Algorithm::reduce_binomial, 3);
        std::vector<std::vector<std::int64_t>> send(4);
        std::vector<std::int64_t> result(1);
        for (std::uint32_t rank = 0; rank < 4; ++rank) {
            send[rank] = {static_cast<std::int64_t>(rank) + 1};
            GraphArguments arguments = vector_of(send[rank], result);
            arguments.reduction.user_op = user_op;
            collective.start(rank, arguments);
        }
        node.settle();
        // Ranks 0 and 2 combine. Who fails sends nothing on, and says so.
        const bool works = user_op == 1;
        EXPECT_EQ(collective.end(0), works ? OpError::none : OpError::user_function);
        EXPECT_EQ(collective.end(2), works ? OpError::none : OpError::user_function);
        EXPECT_EQ(collective.end(1), OpError::none);
        EXPECT_EQ(collective.end(3), works ? OpError::none : OpError::given_up);
        // ((1, 2), (3, 4)) = 10 * 12 + 34
        EXPECT_EQ(result[0], works ? 154 : 0);
    }
}

/// Runs `work` where a call for each node of a long chain would find no room.
void run_on_small_stack(const std::function<void()>& work)
{
    constexpr std::size_t stack_bytes = std::size_t{256} * 1024;
    pthread_attr_t attributes;
    ASSERT_EQ(pthread_attr_init(&attributes), 0);
    ASSERT_EQ(pthread_attr_setstacksize(&attributes, stack_bytes), 0);
    pthread_t thread{};
    const auto body = [](void* given) -> void* {
        (*static_cast<const std::function<void()>*>(given))();
        return nullptr;
    };
    ASSERT_EQ(pthread_create(&thread, &attributes, body, const_cast<std::function<void()>*>(&work)),
              0);
    ASSERT_EQ(pthread_join(thread, nullptr), 0);
    pthread_attr_destroy(&attributes);
}

/// Graphs of ranks 0 and 1 whose nodes follow each other one by one: rank 0 sends `messages` times
/// its only block, rank 1 adds what it gets `sums` times each to what it has.
class LongChain {
  public:
    LongChain(InProcessNode& node, std::uint32_t messages, std::uint32_t sums) : node_(node)
    {
        Graph sender;
        Graph receiver;
        receiver.scratch_blocks = 1;
        Graph::NodeIndex sent = Graph::none;
        Graph::NodeIndex last = Graph::none;
        for (std::uint32_t message = 0; message < messages; ++message) {
            const Graph::NodeIndex next = sender.send(1, 0, {Space::send});
            sender.order(std::exchange(sent, next), next);
            const Graph::NodeIndex got = receiver.receive(0, 0, {Space::scratch});
            receiver.order(std::exchange(last, got), got);
            for (std::uint32_t sum = 0; sum < sums; ++sum) {
                const Graph::NodeIndex added = receiver.reduce({Space::scratch}, {Space::receive});
                receiver.order(std::exchange(last, added), added);
            }
        }
        graphs_[0] = store_graph(node.driver(0).allocator(), sender);
        graphs_[1] = store_graph(node.driver(1).allocator(), receiver);
    }
    ~LongChain()
    {
        destroy_template(node_.driver(0).allocator(), graphs_[0]);
        destroy_template(node_.driver(1).allocator(), graphs_[1]);
    }
    LongChain(const LongChain&) = delete;
    LongChain& operator=(const LongChain&) = delete;

    void start(std::uint32_t rank)
    {
        std::vector<std::int64_t>& buffer = rank == 0 ? given_ : sum_;
        ops_[rank] = start_graph(node_.driver(rank), *graphs_[rank], node_.world(rank),
                                 vector_of(given_, buffer));
        ASSERT_NE(ops_[rank], nullptr);
    }
    /// What rank 1 has in the end.
    std::int64_t end()
    {
        for (std::uint32_t rank = 0; rank < 2; ++rank) {
            EXPECT_TRUE(ops_[rank]->word.is_complete()) << "rank " << rank;
            EXPECT_EQ(ops_[rank]->error, OpError::none);
            node_.driver(rank).destroy_op(ops_[rank]);
        }
        return sum_[0];
    }

  private:
    InProcessNode& node_;
    GraphTemplate* graphs_[2] = {};
    Op* ops_[2] = {};
    std::vector<std::int64_t> given_{3};
    std::vector<std::int64_t> sum_{0};
};

TEST(GraphEngine, OneMessageMakesALongChainReadyAndNothingRecurses)
{
    constexpr std::uint32_t length = 100'000;
    InProcessNode node(2);
    LongChain chain(node, 1, length);
    chain.start(1);
    node.settle();
    run_on_small_stack([&] {
        chain.start(0);
        node.settle();
    });
    EXPECT_EQ(chain.end(), std::int64_t{3} * length);
}

TEST(GraphEngine, MessagesThatAreThereCompleteALongChainAndNothingRecurses)
{
    constexpr std::uint32_t length = 50'000;
    InProcessNode node(2);
    LongChain chain(node, length, 1);
    run_on_small_stack([&] {
        chain.start(0);
        node.settle();
        chain.start(1);
        node.settle();
    });
    EXPECT_EQ(chain.end(), std::int64_t{3} * length);
}

TEST(GraphEngine, WithoutMemoryNothingIsStarted)
{
    InProcessNode node(2);
    Collective barrier(node, Algorithm::barrier_dissemination);
    {
        const HeapFamine famine(node.driver(0).allocator());
        EXPECT_EQ(start_graph(node.driver(0), barrier.stored(0), node.world(0), {}), nullptr);
        EXPECT_EQ(node.world(0).next_sequence, 0U);
    }
    barrier.start(0, {});
    barrier.start(1, {});
    node.settle();
    EXPECT_EQ(barrier.end(0), OpError::none);
    EXPECT_EQ(barrier.end(1), OpError::none);
}

TEST(GraphEngine, ARunThatLacksMemoryGoesOnWhenThereIsSome)
{
    InProcessNode node(2);
    Collective bcast(node, Algorithm::bcast_binomial);
    std::vector<std::int64_t> given(20'000, 5);
    std::vector<std::int64_t> got(20'000, 0);
    Op* receiving = nullptr;
    {
        HeapFamine famine(node.driver(1).allocator());
        // Room for the run and the op of its end, but for no receive.
        for (int blocks = 0; blocks < 2 && receiving == nullptr; ++blocks) {
            famine.give_one_of_each_size();
            receiving =
                start_graph(node.driver(1), bcast.stored(1), node.world(1), vector_of(got, got));
        }
        ASSERT_NE(receiving, nullptr);
        ASSERT_NE(node.driver(1).rank().stalled_graphs, nullptr);
        node.settle();
        ASSERT_NE(node.driver(1).rank().stalled_graphs, nullptr);
    }
    bcast.start(0, vector_of(given, given));
    node.settle();
    EXPECT_EQ(bcast.end(0), OpError::none);
    ASSERT_TRUE(receiving->word.is_complete());
    EXPECT_EQ(node.driver(1).rank().stalled_graphs, nullptr);
    EXPECT_EQ(got, given);
    node.driver(1).destroy_op(receiving);
}

/// An allreduce in which rank r gives r + i, as ranks run it that come one after the other.
class RunGraph : public testing::Test {
  protected:
    static constexpr std::size_t count = 100;

    explicit RunGraph(std::uint32_t ranks = 5)
        : node(ranks), got(ranks, std::vector<std::int64_t>(count)), sent(ranks)
    {
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            for (std::size_t i = 0; i < count; ++i) {
                sent[rank].push_back(static_cast<std::int64_t>(rank + i));
            }
            templates.push_back(store_graph(
                node.driver(rank).allocator(),
                build(Algorithm::allreduce_recursive_doubling, {rank, ranks, false}, 0)));
        }
    }

    StartedGraph run(std::uint32_t rank)
    {
        return run_graph(node.driver(rank), *templates[rank], node.world(rank),
                         vector_of(sent[rank], got[rank]));
    }

    void expect_sums()
    {
        const auto size = static_cast<std::int64_t>(node.size());
        for (const std::vector<std::int64_t>& result : got) {
            for (std::size_t i = 0; i < count; ++i) {
                ASSERT_EQ(result[i], size * (size - 1) / 2 + size * static_cast<std::int64_t>(i));
            }
        }
    }

    InProcessNode node;
    std::vector<std::vector<std::int64_t>> got;
    std::vector<std::vector<std::int64_t>> sent;
    std::vector<GraphTemplate*> templates;
};

class RunGraphOfTwo : public RunGraph {
  protected:
    RunGraphOfTwo() : RunGraph(2) {}
};

TEST_F(RunGraphOfTwo, WhoFindsItsMessagesIsOverWithoutMemory)
{
    (void)run(0);
    (void)run(1);  // makes what the ranks keep for each other
    node.settle();
    const StartedGraph first = run(0);
    ASSERT_NE(first.completion, nullptr) << "nobody has sent it anything";
    EXPECT_FALSE(first.is_over);
    const std::uint64_t before = node.driver(1).allocator().slab_bytes_in_use();
    const StartedGraph second = run(1);
    EXPECT_TRUE(second.is_over);
    EXPECT_EQ(second.completion, nullptr);
    EXPECT_EQ(node.driver(1).allocator().slab_bytes_in_use(), before);
    node.settle();
    EXPECT_TRUE(first.completion->word.is_complete());
    EXPECT_EQ(first.completion->error, OpError::none);
    expect_sums();
}

TEST_F(RunGraphOfTwo, CallsNobodyForAReceiverThatHasNotCome)
{
    RankState& away = node.driver(1).rank();
    ASSERT_FALSE(away.ownership.leave());
    const StartedGraph first = run(0);
    EXPECT_FALSE(node.driver(0).worker().has_asked());
    EXPECT_EQ(away.counters.calls_for_help.load(), 0U);
    ASSERT_TRUE(away.ownership.enter());
    EXPECT_TRUE(run(1).is_over) << "it finds the step when it comes";
    node.settle();
    ASSERT_NE(first.completion, nullptr);
    EXPECT_TRUE(first.completion->word.is_complete());
    expect_sums();
}

TEST_F(RunGraph, GoesOnInTheHeapWhereverItHadToStop)
{
    std::vector<std::uint32_t> order{0, 1, 2, 3, 4};
    do {
        for (std::vector<std::int64_t>& result : got) {
            std::ranges::fill(result, -1);
        }
        std::vector<Op*> ops;
        for (const std::uint32_t rank : order) {
            const StartedGraph started = run(rank);
            ASSERT_NE(started.completion != nullptr, started.is_over);
            if (started.completion != nullptr) {
                ops.push_back(started.completion);
            }
        }
        node.settle();
        for (const Op* op : ops) {
            ASSERT_TRUE(op->word.is_complete());
            ASSERT_EQ(op->error, OpError::none);
        }
        expect_sums();
    } while (std::ranges::next_permutation(order).found);
}

}  // namespace
}  // namespace headway::engine
