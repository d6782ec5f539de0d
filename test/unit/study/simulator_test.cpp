// SPDX-License-Identifier: Apache-2.0
//
// Simulated times against what the model says by hand. Times are whole picoseconds: they must agree
// exactly.
#include "study/simulator.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "protocol/coll/table.hpp"
#include "study/event_queue.hpp"
#include "study/other_graphs.hpp"
#include "study/traffic.hpp"

namespace headway::study {
namespace {

using engine::Graph;
using engine::Space;

// All of them different, so that none can stand for another.
constexpr Picoseconds o = 300;
constexpr Picoseconds latency = 7000;
constexpr Picoseconds node_latency = 1100;
constexpr Picoseconds gap = 40;
constexpr std::uint64_t bytes = 64;
constexpr Picoseconds wire = 3 * 64;
constexpr Picoseconds memory = 5 * 64;
constexpr Picoseconds long_memory = 13 * 64;
constexpr Picoseconds reduction = 11 * 64;
constexpr Picoseconds copying = 2 * 64;
constexpr Picoseconds answer = 1900;
constexpr Picoseconds switching = 2300;
constexpr Picoseconds node_hop = o + memory + node_latency + memory + o;
constexpr Picoseconds hop = o + latency + wire + o;

Machine test_machine()
{
    Machine machine;
    machine.overhead = o;
    machine.between_nodes = {latency, 3.0};
    machine.in_node = {node_latency, 5.0};
    machine.long_per_byte = 13.0;
    machine.message_gap = gap;
    machine.reduce_per_byte = 11.0;
    machine.copy_per_byte = 2.0;
    machine.eager_bytes = bytes;
    return machine;
}

/// So many nodes, each with so many ranks.
coll::Topology nodes_of(std::uint32_t nodes, std::uint32_t ranks_a_node)
{
    std::vector<std::uint32_t> node_of_rank;
    for (std::uint32_t rank = 0; rank < nodes * ranks_a_node; ++rank) {
        node_of_rank.push_back(rank / ranks_a_node);
    }
    return coll::Topology(node_of_rank);
}

Picoseconds time_of(const std::string& name, const coll::Topology& topology,
                    const Machine& machine = test_machine(), std::uint64_t block = bytes)
{
    const coll::Row& row = *coll::find_row(name);
    const auto size = static_cast<std::uint32_t>(topology.by_position().size());
    coll::Call call{.place = {0, size, false}, .tuning = row.tuning, .topology = &topology};
    const auto found = simulate({.build =
                                     [&](std::uint32_t rank) {
                                         call.place.rank = rank;
                                         return row.build(call);
                                     },
                                 .topology = &topology,
                                 .bytes = block,
                                 .report_progress = {}},
                                machine);
    EXPECT_TRUE(found.has_value());
    EXPECT_EQ(found.value().messages, traffic_of(row, call, {}).messages);
    return found.value().time;
}

// The root tells three, one after the other; the last of them reads at its own cost and says so,
// and the root's cpu is free by then.
TEST(Simulator, WhoReadsAPeerTakesItsOwnCpuForIt)
{
    const Picoseconds told = 3 * o + node_latency + o;
    const Picoseconds says = o + node_latency + o;
    EXPECT_EQ(time_of("bcast_direct", nodes_of(1, 4)), told + memory + says);
    // Of two, the second combines what is its own with the first one's, then both read a piece.
    const Picoseconds step = o + node_latency + o;
    EXPECT_EQ(time_of("reduce_scatter_direct", nodes_of(1, 2)), step + memory + reduction + step);
}

// Ranks 4, 6 and 7 each get the first message of their parent.
TEST(Simulator, BinomialBcastTakesAHopForEachLevel)
{
    EXPECT_EQ(time_of("bcast_binomial", nodes_of(8, 1)), 3 * hop);
}

// The copy of the own block delays the first message only.
TEST(Simulator, RingTakesAHopForEachOtherRank)
{
    EXPECT_EQ(time_of("allgather_ring", nodes_of(6, 1)), copying + 5 * hop);
}

TEST(Simulator, DisseminationIsEmptyHops)
{
    EXPECT_EQ(time_of("barrier_dissemination", nodes_of(5, 1)), 3 * (2 * o + latency));
}

// Everyone's message is there at once, and takes longer to be taken in than to arrive.
TEST(Simulator, AFlatGatherQueuesAtTheRootsCpu)
{
    EXPECT_EQ(time_of("gather_flat", nodes_of(9, 1)), o + latency + wire + 8 * o);
}

TEST(Simulator, ANicThatIsSlowToStartMakesMessagesWait)
{
    Machine machine = test_machine();
    machine.message_gap = 5000;
    EXPECT_EQ(time_of("gather_flat", nodes_of(9, 1), machine), o + latency + 7 * 5000 + wire + o);
}

// Rank 0 combines with rank 1, then with 2 that has combined with 3; what comes last is combined
// where the result is to be.
TEST(Simulator, ReductionsTakeTheCpu)
{
    EXPECT_EQ(time_of("reduce_binomial", nodes_of(4, 1)), 2 * (hop + reduction));
}

TEST(Simulator, ALongMessageIsOfferedFirst)
{
    Machine machine = test_machine();
    machine.eager_bytes = bytes - 1;
    EXPECT_EQ(time_of("bcast_binomial", nodes_of(2, 1), machine), hop + 2 * latency);
    machine.offer = answer;
    EXPECT_EQ(time_of("bcast_binomial", nodes_of(1, 2), machine),
              o + node_latency + answer + long_memory + node_latency + o);
}

TEST(Simulator, MessagesInANodeTakeTheOtherWay)
{
    EXPECT_EQ(time_of("bcast_binomial", nodes_of(1, 2)), node_hop);
    EXPECT_EQ(time_of("bcast_two_level", nodes_of(2, 2)), hop + node_hop);
}

// What one puts down the other takes up; what both move at once occupies them both. Who waits
// copies its own block meanwhile.
TEST(Simulator, BytesInANodeTakeTheCpusOfBothEnds)
{
    EXPECT_EQ(time_of("alltoall_pairwise", nodes_of(1, 2)), node_hop);
    Machine machine = test_machine();
    machine.eager_bytes = bytes - 1;
    EXPECT_EQ(time_of("alltoall_pairwise", nodes_of(1, 2), machine),
              o + node_latency + 2 * long_memory + node_latency + o);
}

TEST(Simulator, ASharedCoreGoesFromRankToRank)
{
    Machine machine = test_machine();
    machine.cores = 1;
    machine.switch_time = switching;
    EXPECT_EQ(time_of("bcast_binomial", nodes_of(1, 2), machine), node_hop + switching);
    machine.eager_bytes = bytes - 1;
    EXPECT_EQ(time_of("bcast_binomial", nodes_of(1, 2), machine),
              o + node_latency + switching + 2 * long_memory + node_latency + o);
}

TEST(Simulator, RanksQueueForCoresOnlyWhereTheyAreMore)
{
    const coll::Topology topology = nodes_of(1, 4);
    const auto copy = [](std::uint32_t) {
        Graph graph;
        graph.copy({.space = Space::send}, {.space = Space::receive});
        return graph;
    };
    const Simulation simulation{
        .build = copy, .topology = &topology, .bytes = bytes, .report_progress = {}};
    Machine machine = test_machine();
    machine.switch_time = switching;
    EXPECT_EQ(simulate(simulation, machine).value().time, copying);
    machine.cores = 4;
    EXPECT_EQ(simulate(simulation, machine).value().time, copying);
    machine.cores = 2;
    EXPECT_EQ(simulate(simulation, machine).value().time, 2 * copying + switching);
    machine.cores = 1;
    EXPECT_EQ(simulate(simulation, machine).value().time, 4 * copying + 3 * switching);
}

// Two ranks of a node send to two of another one.
TEST(Simulator, RanksOfANodeShareItsNics)
{
    const coll::Topology topology = nodes_of(2, 2);
    const auto swap = [](std::uint32_t rank) {
        Graph graph;
        if (rank < 2) {
            graph.send(rank + 2, 0, {});
        } else {
            graph.receive(rank - 2, 0, {.space = Space::receive});
        }
        return graph;
    };
    Machine machine = test_machine();
    const Simulation simulation{
        .build = swap, .topology = &topology, .bytes = bytes, .report_progress = {}};
    EXPECT_EQ(simulate(simulation, machine).value().time, hop + wire);
    machine.nics = 2;
    EXPECT_EQ(simulate(simulation, machine).value().time, hop);
}

// Pieces of 8 bytes: the last one leaves the root after the others.
TEST(Simulator, PiecesOfAChainFollowEachOther)
{
    constexpr Picoseconds piece_hop = o + latency + 8 * 3 + o;
    // Between two ranks a piece costs the CPU more than the wire.
    EXPECT_EQ(time_of("bcast_pipelined_chain", nodes_of(2, 1)), piece_hop + 7 * o);
}

TEST(Simulator, ATwoLevelBarrierIsToldAndLetGo)
{
    EXPECT_EQ(time_of("barrier_two_level", nodes_of(4, 2)),
              2 * (2 * o + node_latency) + 2 * (2 * o + latency));
}

// As many messages as the formulas say, of groups and grids of several shapes.
TEST(Simulator, GraphsThatStandInNoTableComeToTheirEnd)
{
    for (const std::uint32_t size : {2u, 6u, 12u}) {
        const coll::Topology topology = nodes_of(size / 2, 2);
        std::istringstream names(other_names());
        std::string name;
        while (std::getline(names >> std::ws, name, ',')) {
            SCOPED_TRACE(name);
            for (const std::uint32_t root : {0u, size - 1}) {
                const auto graphs = other_graphs(name, {.size = size, .root = root});
                ASSERT_TRUE(graphs.has_value()) << graphs.sentence();
                const auto found = simulate({.build = graphs.value().build,
                                             .topology = &topology,
                                             .bytes = bytes,
                                             .report_progress = {}},
                                            test_machine());
                ASSERT_TRUE(found.has_value()) << found.sentence();
                EXPECT_EQ(found.value().messages, graphs.value().messages);
                EXPECT_GT(found.value().time, 0);
            }
        }
    }
}

TEST(Simulator, SaysWhenGraphsComeToAStandstill)
{
    const coll::Topology topology = nodes_of(2, 1);
    const auto found = simulate({.build =
                                     [](std::uint32_t rank) {
                                         Graph graph;
                                         if (rank == 0) {
                                             graph.receive(1, 0, {.space = Space::receive});
                                         }
                                         return graph;
                                     },
                                 .topology = &topology,
                                 .bytes = 1,
                                 .report_progress = {}},
                                test_machine());
    ASSERT_FALSE(found.has_value());
    EXPECT_EQ(found.sentence(), "1 of 2 ranks never ends; let headway-study verify say why");
}

// What nobody waits for would never arrive.
TEST(Simulator, SaysWhenAMessageHasNoReceive)
{
    const coll::Topology topology = nodes_of(2, 1);
    const auto found = simulate({.build =
                                     [](std::uint32_t rank) {
                                         Graph graph;
                                         if (rank == 0) {
                                             graph.send(1, 0, {});
                                         }
                                         return graph;
                                     },
                                 .topology = &topology,
                                 .bytes = 1,
                                 .report_progress = {}},
                                test_machine());
    EXPECT_FALSE(found.has_value());
}

// Also those that are pushed for the time that is being worked at.
TEST(EventQueue, KeepsTheOrderOfEventsOfOneTime)
{
    EventQueue<int> queue;
    queue.push(5, 1);
    queue.push(3, 2);
    queue.push(5, 3);
    std::vector<std::pair<std::int64_t, int>> popped;
    while (!queue.is_empty()) {
        const auto [time, event] = queue.pop();
        popped.emplace_back(time, event);
        if (event == 1) {
            queue.push(5, 4);
            queue.push(9, 5);
            queue.push(7, 6);
        }
        queue.end_event();
    }
    const std::vector<std::pair<std::int64_t, int>> wanted{{3, 2}, {5, 1}, {5, 3},
                                                           {5, 4}, {7, 6}, {9, 5}};
    EXPECT_EQ(popped, wanted);
}

TEST(Machine, TakesItsKeysAndRefusesOthers)
{
    Machine machine;
    EXPECT_FALSE(set_machine(machine, "latency_us=2.5"));
    EXPECT_EQ(machine.between_nodes.latency, 2'500'000);
    EXPECT_FALSE(set_machine(machine, "gigabytes=25"));
    EXPECT_EQ(machine.between_nodes.per_byte, 40.0);
    EXPECT_TRUE(set_machine(machine, "gigabytes=0"));
    EXPECT_TRUE(set_machine(machine, "nics=0.5"));
    EXPECT_TRUE(set_machine(machine, "latency_us=fast"));
    EXPECT_TRUE(set_machine(machine, "luck=1"));
    EXPECT_TRUE(set_machine(machine, "latency_us"));
    EXPECT_FALSE(set_machine(machine, "cores=2"));
    EXPECT_EQ(machine.cores, 2u);
    EXPECT_TRUE(set_machine(machine, "cores=2.5"));
    EXPECT_TRUE(set_machine(machine, "cores=-1"));
}

TEST(Machine, EachKeyGivesWhatWasSet)
{
    for (const MachineKey& key : machine_keys()) {
        Machine machine;
        key.set(machine, 4.0);
        EXPECT_DOUBLE_EQ(key.get(machine), 4.0) << key.name;
    }
}

}  // namespace
}  // namespace headway::study
