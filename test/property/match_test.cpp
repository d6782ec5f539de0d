// SPDX-License-Identifier: Apache-2.0
//
// Random programs of receives, arrivals, cancels and probes beside a sequential model of matching:
// two plain lists, searched from the front (MPI-5.0 section 3.5).
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "protocol/match.hpp"
#include "unit/memory/heap_fixture.hpp"

namespace headway::protocol {
namespace {

using engine::Op;
using transport::FrameHeader;

enum class Deed : std::uint8_t { receive, arrive, cancel, probe };

struct Step {
    Deed deed;
    std::int32_t source;
    std::int32_t tag;
    std::uint32_t sequence;
    std::size_t pick;  ///< which posted receive a cancel takes
};

/// How the names of a program are drawn.
struct Names {
    bool with_wildcards;
    bool with_sequences;
    bool collide;  ///< far-away values, many of which share a bin
    bool has_bins = true;
};

std::int32_t value_of(const Names& names, std::int32_t small)
{
    // Any values do: with 64 bins and 512 names, most bins hold several.
    return names.collide && small >= 0 ? small * 7919 % 512 : small;
}

rc::Gen<std::vector<Step>> any_program(const Names& names)
{
    const std::int32_t limit = names.collide ? 300 : 3;
    const auto deed = rc::gen::weightedElement<Deed>(
        {{8, Deed::receive}, {8, Deed::arrive}, {1, Deed::cancel}, {2, Deed::probe}});
    return rc::gen::container<std::vector<Step>>(
        300, rc::gen::construct<Step>(deed, rc::gen::inRange<std::int32_t>(-1, limit),
                                      rc::gen::inRange<std::int32_t>(-1, limit),
                                      rc::gen::inRange<std::uint32_t>(0, 3),
                                      rc::gen::arbitrary<std::size_t>()));
}

/// The name that a receive or a probe asks for: negative draws are wildcards where allowed.
FrameHeader wanted_of(const Names& names, const Step& step)
{
    FrameHeader name{.context = names.with_sequences ? 5U : 4U};
    const bool wild_source = step.source < 0 && names.with_wildcards;
    const bool wild_tag = step.tag < 0 && names.with_wildcards;
    name.source = wild_source ? any_source : value_of(names, std::max(step.source, 0));
    name.tag = wild_tag ? any_tag : value_of(names, std::max(step.tag, 0));
    name.sequence = names.with_sequences ? step.sequence : 0;
    return name;
}

FrameHeader message_of(const Names& names, const Step& step)
{
    Step sent = step;
    sent.source = std::max(step.source, 0);
    sent.tag = std::max(step.tag, 0);
    FrameHeader name = wanted_of(names, sent);
    // Between two ranks the sequence of a message is no part of its name.
    name.sequence = step.sequence;
    return name;
}

class Model {
  public:
    explicit Model(bool with_sequences) : with_sequences_(with_sequences) {}

    bool fits(const FrameHeader& wanted, const FrameHeader& message) const
    {
        return (wanted.source == any_source || wanted.source == message.source) &&
               (wanted.tag == any_tag || wanted.tag == message.tag) &&
               (!with_sequences_ || wanted.sequence == message.sequence);
    }
    Op* take_posted(const FrameHeader& message)
    {
        const auto found =
            std::ranges::find_if(posted, [&](const Op* op) { return fits(op->header, message); });
        if (found == posted.end()) {
            return nullptr;
        }
        Op* op = *found;
        posted.erase(found);
        return op;
    }
    Unexpected* find(const FrameHeader& wanted) const
    {
        const auto found = std::ranges::find_if(
            arrived, [&](const Unexpected* each) { return fits(wanted, each->header); });
        return found == arrived.end() ? nullptr : *found;
    }

    std::deque<Op*> posted;
    std::deque<Unexpected*> arrived;

  private:
    bool with_sequences_;
};

class Comparison {
  public:
    Comparison(const Names& names, memory::Allocator& allocator)
        : names_(names),
          allocator_(allocator),
          context_(names.with_sequences ? 5U : 4U, counters_, names.has_bins),
          model_(names.with_sequences)
    {
    }

    void step(const Step& step)
    {
        switch (step.deed) {
            case Deed::receive:
                receive(wanted_of(names_, step));
                break;
            case Deed::arrive:
                arrive(message_of(names_, step));
                break;
            case Deed::cancel:
                cancel(step.pick);
                break;
            case Deed::probe: {
                const FrameHeader wanted = wanted_of(names_, step);
                RC_ASSERT(context_.find(wanted) == model_.find(wanted));
                break;
            }
        }
        posted_max_ = std::max<std::uint64_t>(posted_max_, model_.posted.size());
        arrived_max_ = std::max<std::uint64_t>(arrived_max_, model_.arrived.size());
        RC_ASSERT(counters_.posted_queue == model_.posted.size());
        RC_ASSERT(counters_.posted_queue_max == posted_max_);
        RC_ASSERT(counters_.unexpected_queue == model_.arrived.size());
        RC_ASSERT(counters_.unexpected_queue_max == arrived_max_);
    }

    /// Everything left comes out in the order of the model.
    void empty()
    {
        while (!model_.arrived.empty()) {
            receive(model_.arrived.front()->header);
        }
        while (!model_.posted.empty()) {
            cancel(0);
        }
        RC_ASSERT(context_.find({context_.context(), any_source, any_tag, 0}) == nullptr);
    }

  private:
    void receive(const FrameHeader& wanted)
    {
        Unexpected* message = context_.find(wanted);
        RC_ASSERT(message == model_.find(wanted));
        if (message != nullptr) {
            context_.remove(message);
            std::erase(model_.arrived, message);
            return;
        }
        Op* op = &ops_.emplace_back();
        op->header = wanted;
        context_.post(op);
        context_.make_room(allocator_);
        model_.posted.push_back(op);
    }

    void arrive(const FrameHeader& name)
    {
        Op* taker = context_.take_posted(name);
        RC_ASSERT(taker == model_.take_posted(name));
        if (taker != nullptr) {
            RC_ASSERT(!context_.cancel(taker));
            return;
        }
        Unexpected* message = &messages_.emplace_back();
        message->header = name;
        context_.keep(message);
        context_.make_room(allocator_);
        model_.arrived.push_back(message);
    }

    void cancel(std::size_t pick)
    {
        if (model_.posted.empty()) {
            return;
        }
        const auto chosen =
            model_.posted.begin() + static_cast<std::ptrdiff_t>(pick % model_.posted.size());
        Op* op = *chosen;
        model_.posted.erase(chosen);
        RC_ASSERT(context_.cancel(op));
        RC_ASSERT(!context_.cancel(op));
    }

    Names names_;
    memory::Allocator& allocator_;
    engine::RankCounters counters_;
    MatchContext context_;
    std::uint64_t posted_max_ = 0;
    std::uint64_t arrived_max_ = 0;
    Model model_;
    // Addresses stay; nothing is given back before the end.
    std::deque<Op> ops_;
    std::deque<Unexpected> messages_;
};

bool matches_like_the_model(const Names& names)
{
    // One heap for all programs; what they leave in it is of no concern.
    const auto heap = memory::make_heap(1);
    return rc::check([names, &heap] {
        const std::vector<Step> program = *any_program(names);
        Comparison run(names, heap->for_rank(0));
        for (const Step& step : program) {
            run.step(step);
        }
        run.empty();
    });
}

TEST(MatchProperty, FewNamesAndWildcards)
{
    EXPECT_TRUE(matches_like_the_model({true, false, false}));
}

TEST(MatchProperty, ManyNamesInFewBins)
{
    EXPECT_TRUE(matches_like_the_model({true, false, true}));
}

TEST(MatchProperty, CollectiveStepsCarrySequences)
{
    EXPECT_TRUE(matches_like_the_model({false, true, false}));
    EXPECT_TRUE(matches_like_the_model({false, true, true}));
}

TEST(MatchProperty, OneListMatchesLikeTheBins)
{
    EXPECT_TRUE(matches_like_the_model({true, false, true, false}));
    EXPECT_TRUE(matches_like_the_model({false, true, true, false}));
}

/// Names that hardly ever meet, until there are bins for thousands; then all goes again.
TEST(MatchProperty, BinsBecomeMoreWithWhatWaits)
{
    for (const bool with_sequences : {false, true}) {
        const auto heap = memory::make_heap(1);
        std::mt19937 random(7);
        const auto draw = [&random](int least, int most) {
            return std::uniform_int_distribution(least, most)(random);
        };
        Comparison run({!with_sequences, with_sequences, true}, heap->for_rank(0));
        for (int i = 0; i < 6000; ++i) {
            const Deed deed = draw(0, 1) == 0 ? Deed::receive : Deed::arrive;
            run.step({deed, draw(0, 511), draw(draw(0, 20) == 0 ? -1 : 0, 511),
                      static_cast<std::uint32_t>(draw(0, 2)), 0});
        }
        for (int i = 0; i < 500; ++i) {
            run.step({Deed::cancel, 0, 0, 0, static_cast<std::size_t>(draw(0, 10'000))});
        }
        run.empty();
    }
}

/// Without memory the search is longer, and finds the same.
TEST(MatchProperty, WithoutMemoryTheFirstBinsDo)
{
    const auto heap = memory::make_heap(1);
    memory::Allocator& allocator = heap->for_rank(0);
    for (std::size_t bytes = std::size_t{1} << 26; bytes >= 256; bytes /= 2) {
        while (allocator.allocate(bytes) != nullptr) {
        }
    }
    Comparison run({true, false, true}, allocator);
    for (std::int32_t i = 0; i < 1000; ++i) {
        run.step({i % 2 == 0 ? Deed::receive : Deed::arrive, i % 300, i / 2, 0, 0});
    }
    run.empty();
}

/// What a step of each kind costs is counted when somebody asks for it, and not before.
TEST(MatchProperty, TimeIsTakenWhenItIsAskedFor)
{
    engine::RankCounters counters;
    MatchContext context(4, counters);
    const auto match_some = [&] {
        std::deque<Op> ops(1000);
        for (Op& op : ops) {
            op.header = {.context = 4, .source = 1, .tag = 1};
            context.post(&op);
        }
        while (context.take_posted(ops.front().header) != nullptr) {
        }
    };
    match_some();
    EXPECT_EQ(counters.match_work_ns, 0U);
    counters.times_matching = 1;
    match_some();
    EXPECT_GT(counters.match_work_ns, 0U);
    counters.times_matching = 0;
    const std::uint64_t before = counters.match_work_ns;
    match_some();
    EXPECT_EQ(counters.match_work_ns, before);
}

TEST(MatchProperty, ATableForgetsWhatIsEmpty)
{
    const auto heap = memory::make_heap(1);
    memory::Allocator& allocator = heap->for_rank(0);
    engine::RankCounters counters;
    MatchTable table(counters);
    MatchContext* const kept = table.context(allocator, 8);
    std::deque<Op> ops(1000);
    for (Op& op : ops) {
        op.header = {.context = 8, .source = 1, .tag = 1};
        kept->post(&op);
        kept->make_room(allocator);
    }
    const std::uint64_t before = heap->statistics().bytes_reserved;
    for (std::uint32_t id = 10; id < 100'000; id += 2) {
        ASSERT_NE(table.context(allocator, id), nullptr);
        table.forget(allocator, id);
        table.forget(allocator, id + 1);  // nothing was heard of it
        ASSERT_EQ(table.recent(), nullptr);
        table.forget(allocator, 8);
    }
    EXPECT_LE(heap->statistics().bytes_reserved, before + (1U << 20));
    EXPECT_EQ(table.context(allocator, 8), kept) << "receives are posted in it";
    while (kept->take_posted(ops.front().header) != nullptr) {
    }
    table.forget(allocator, 8);
    EXPECT_EQ(table.recent(), nullptr);
}

TEST(MatchProperty, ATableKeepsItsContexts)
{
    // One heap for all programs; what they leave in it is of no concern.
    const auto heap = memory::make_heap(1);
    EXPECT_TRUE(rc::check([&heap] {
        const auto ids = *rc::gen::container<std::vector<std::uint32_t>>(
            100, rc::gen::oneOf(rc::gen::inRange<std::uint32_t>(0, 40),
                                rc::gen::arbitrary<std::uint32_t>()));
        engine::RankCounters counters;
        MatchTable table(counters);
        std::vector<std::pair<std::uint32_t, MatchContext*>> known;
        for (const std::uint32_t id : ids) {
            MatchContext* context = table.context(heap->for_rank(0), id);
            RC_ASSERT(context != nullptr);
            RC_ASSERT(context->context() == id);
            for (const auto& [other, its] : known) {
                RC_ASSERT((other == id) == (its == context));
            }
            known.emplace_back(id, context);
        }
    }));
}

}  // namespace
}  // namespace headway::protocol
