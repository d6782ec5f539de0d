// SPDX-License-Identifier: Apache-2.0
#include "engine/siblings.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>

#include "engine/door.hpp"
#include "engine/wait.hpp"
#include "protocol/point_to_point.hpp"
#include "unit/memory/heap_fixture.hpp"

namespace headway::engine {
namespace {

constexpr std::uint32_t ranks = 2;
constexpr std::uint32_t instances = 2;

/// Two ranks of this process with two instances each: whole engines over one heap.
class SiblingsTest : public testing::Test {
  protected:
    struct Part {
        Door door;
        std::unique_ptr<Worker> worker;
        std::unique_ptr<Driver> driver;
    };

    SiblingsTest()
    {
        const std::shared_ptr<memory::NodeHeap> heap = memory::make_heap(ranks * instances);
        for (std::uint32_t number = 0; number < instances; ++number) {
            auto* const directory = heap->for_rank(0).make<Directory>();
            directory->rank_count = ranks;
            directory->job_rank_count = ranks;
            directory->process_count = 1;
            nodes_[number] = std::make_unique<Node>(heap, *directory, 0, config::Knobs{}, number);
            Node& node = *nodes_[number];
            node.peer_memory.introduce(0, node.peer_memory.own_identity());
            node.is_oversubscribed = true;  // waits sleep soon
            protocol::register_protocols(node);
            for (std::uint32_t rank = 0; rank < ranks; ++rank) {
                make_part(rank, number);
            }
        }
    }

    void make_part(std::uint32_t rank, std::uint32_t number)
    {
        Part& part = part_[rank][number];
        RankState* const state = create_rank_state(*nodes_[number], rank);
        part.worker = std::make_unique<Worker>(*nodes_[number], state);
        part.driver = std::make_unique<Driver>(*part.worker, *state, part.door.lock());
        part.driver->join_siblings(siblings_[rank]);
        siblings_[rank].add(number, part.door);
        siblings_[rank].open(number);
        EXPECT_TRUE(protocol::create_rank_part(*part.driver));
        part.door.enable_threads();
        part.door.open(*part.driver);
    }

    Driver& driver(std::uint32_t rank, std::uint32_t number) { return *part_[rank][number].driver; }
    Door& door(std::uint32_t rank, std::uint32_t number) { return part_[rank][number].door; }

    /// Inside that instance.
    Op* receive(std::uint32_t rank, std::uint32_t number, int* value)
    {
        Op* const op = driver(rank, number).create_op(OpKind::receive);
        op->header = {.context = 0, .source = 1 - static_cast<int>(rank), .tag = 1, .sequence = 0};
        op->address = reinterpret_cast<std::byte*>(value);
        op->size_bytes = sizeof *value;
        protocol::start_receive(driver(rank, number), op);
        return op;
    }
    Op* send(std::uint32_t rank, std::uint32_t number, int* value, bool is_synchronous)
    {
        Op* const op = driver(rank, number).create_op(OpKind::send);
        op->header = {.context = 0, .source = static_cast<int>(rank), .tag = 1, .sequence = 0};
        op->peer = 1 - rank;
        op->address = reinterpret_cast<std::byte*>(value);
        op->size_bytes = sizeof *value;
        protocol::start_send(driver(rank, number), op, is_synchronous);
        return op;
    }

    std::array<std::unique_ptr<Node>, instances> nodes_;
    std::array<Siblings, ranks> siblings_;
    std::array<std::array<Part, instances>, ranks> part_;
};

TEST_F(SiblingsTest, MessagesOfOneInstanceAreNotSeenInTheOther)
{
    int out = 7;
    int in = 0;
    int other = 0;
    Op* const wanted = receive(1, 1, &in);
    Op* const elsewhere = receive(1, 0, &other);
    driver(0, 1).destroy_op(send(0, 1, &out, false));
    driver(1, 0).progress();
    EXPECT_FALSE(elsewhere->word.is_complete());
    EXPECT_FALSE(wanted->word.is_complete());
    driver(1, 1).progress();
    EXPECT_TRUE(wanted->word.is_complete());
    EXPECT_EQ(in, 7);
}

TEST_F(SiblingsTest, WhoLooksInTakesWhatIsThereAndLeavesPostedReceivesToOthers)
{
    int out = 7;
    int in = 0;
    Op* const wanted = receive(1, 1, &in);
    EXPECT_FALSE(siblings_[1].look_in(set_of(1)));
    EXPECT_FALSE(driver(1, 1).rank().ownership.is_free());
    EXPECT_TRUE(siblings_[1].look_in(set_of(1), true));
    EXPECT_TRUE(driver(1, 1).rank().ownership.is_free());
    Op* const sent = send(0, 1, &out, true);
    EXPECT_TRUE(driver(0, 1).worker().help());
    EXPECT_TRUE(wanted->word.is_complete());
    EXPECT_TRUE(sent->word.is_complete());
    door(1, 1).enter();
    EXPECT_FALSE(driver(1, 1).rank().ownership.is_free());
    door(1, 1).leave();
}

TEST_F(SiblingsTest, WhoLooksInWaitsForNobody)
{
    door(1, 1).enter();
    std::thread([&] { EXPECT_FALSE(siblings_[1].look_in(set_of(1), true)); }).join();
    EXPECT_EQ(siblings_[1].own_among(set_of(1)), set_of(1));
    door(1, 1).leave();
    EXPECT_EQ(siblings_[1].own_among(set_of(1)), 0U);
}

/// So often a thread visits before it has looked at the only other instance `looks` times.
void visit(Elsewhere& elsewhere, int looks)
{
    for (int i = 0; i < 64 * looks; ++i) {
        elsewhere.visit();
    }
}

TEST_F(SiblingsTest, WhoWaitsSweepsElsewhereOnlyWhereNobodyElseDoes)
{
    std::atomic<std::uint64_t>& sweeps = driver(1, 1).rank().counters.sweeps;
    Elsewhere elsewhere(driver(1, 0), {});
    driver(1, 1).progress();
    visit(elsewhere, 1);  // sees how often others have swept
    for (int look = 0; look < 4; ++look) {
        driver(1, 1).progress();
        const std::uint64_t before = sweeps.load();
        visit(elsewhere, 1);
        EXPECT_EQ(sweeps.load(), before);
    }
    int out = 7;
    int in = 0;
    Op* const wanted = receive(1, 1, &in);
    driver(0, 1).destroy_op(send(0, 1, &out, false));
    visit(elsewhere, 2);
    EXPECT_TRUE(wanted->word.is_complete());
}

TEST_F(SiblingsTest, AWaitThatSleepsLeavesTheOtherInstancesFree)
{
    int out = 7;
    int early = 0;
    int late = 0;
    Op* const posted = receive(1, 1, &early);
    std::thread waiting([&] {
        door(1, 0).enter();
        Op* const wanted = receive(1, 0, &late);
        wait_for(driver(1, 0), wanted);
        door(1, 0).leave();
    });
    // Complete only if somebody works for the receiver, who is asleep elsewhere.
    door(0, 1).enter();
    Op* const first = send(0, 1, &out, true);
    wait_for(driver(0, 1), first);
    door(0, 1).leave();
    EXPECT_TRUE(posted->word.is_complete());
    door(0, 0).enter();
    Op* const second = send(0, 0, &out, true);
    wait_for(driver(0, 0), second);
    door(0, 0).leave();
    waiting.join();
    EXPECT_EQ(early, 7);
    EXPECT_EQ(late, 7);
}

TEST_F(SiblingsTest, OpsOfBothAreAwaitedTogether)
{
    int out = 7;
    std::array<int, instances> in{};
    for (std::uint32_t there = 0; there < instances; ++there) {
        door(1, 1).enter();
        const std::array<Op*, instances> ops = {receive(1, 0, &in[0]), receive(1, 1, &in[1])};
        std::thread sender([&] {
            door(0, there).enter();
            driver(0, there).destroy_op(send(0, there, &out, false));
            door(0, there).leave();
        });
        wait_until(driver(1, 1), [&] { return ops[there]->word.is_complete(); }, ops);
        door(1, 1).leave();
        sender.join();
        EXPECT_EQ(in[there], 7);
        EXPECT_TRUE(protocol::cancel_receive(driver(1, 1 - there), ops[1 - there]));
    }
}

}  // namespace
}  // namespace headway::engine
