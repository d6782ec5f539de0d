// SPDX-License-Identifier: Apache-2.0
//
// Which algorithm serves which call: what is built in, what is forced, what files say.
#include "protocol/coll/choices.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "protocol/coll/choice_words.hpp"

namespace headway::protocol::coll {
namespace {

Algorithm chosen(const Choices& choices, Collective collective, const Shape& shape)
{
    return choices.find(collective, shape).algorithm;
}

Collective collective_at(std::size_t index)
{
    return static_cast<Collective>(index);
}

Choices read(const config::Knobs& knobs)
{
    const auto choices = read_choices(knobs);
    EXPECT_TRUE(choices.has_value()) << choices.sentence();
    return choices ? choices.value() : Choices();
}

std::string fault_of(const config::Knobs& knobs)
{
    const auto choices = read_choices(knobs);
    return choices ? "accepted" : choices.sentence();
}

std::string fault_of_text(std::string_view text)
{
    const auto choices = parse_choices(text, "some.tuning");
    return choices ? "accepted" : choices.sentence();
}

std::string text_of(const Choices& choices)
{
    std::string text;
    for (std::size_t collective = 0; collective < chosen_collectives; ++collective) {
        for (const Choice& choice : choices.of(collective_at(collective))) {
            text += line_of(choice) + "\n";
        }
    }
    return text;
}

/// Shapes at and around every bound, of calls that any algorithm or only few can serve.
template <typename Use>
void for_each_shape(const Use& use)
{
    for (const std::uint32_t size : {1U, 2U, 3U, 4U, 7U, 8U, 9U, 65536U, 65537U, 4'000'000U}) {
        for (const std::uint64_t bytes : {0ULL, 8ULL, 255ULL, 256ULL, 4095ULL, 4096ULL, 16383ULL,
                                          16384ULL, 131071ULL, 131072ULL, ~0ULL}) {
            for (unsigned facts = 0; facts < 32; ++facts) {
                use(Shape{size, bytes, (facts & 1) != 0, (facts & 2) != 0, (facts & 4) != 0,
                          facts >= 8, facts >= 16, facts >= 24});
            }
        }
    }
}

TEST(Choices, WhatIsBuiltInServesEveryCall)
{
    const Choices choices;
    for (std::size_t i = 0; i < chosen_collectives; ++i) {
        for_each_shape([&](Shape shape) {
            const Collective collective = collective_at(i);
            shape.is_listed = shape.is_listed && (collective == Collective::gather ||
                                                  collective == Collective::scatter ||
                                                  collective == Collective::reduce_scatter);
            shape.is_listed = shape.is_listed || collective == Collective::allgatherv ||
                              collective == Collective::alltoallv;
            const Choice& choice = choices.find(collective, shape);
            EXPECT_TRUE(serves(choice, shape)) << line_of(choice) << ", " << shape.size << " ranks";
            EXPECT_TRUE(can_be_chosen(row_of(choice.algorithm), collective)) << line_of(choice);
        });
    }
}

TEST(Choices, LongMessagesTakeOtherAlgorithms)
{
    const Choices choices;
    using enum Collective;
    EXPECT_EQ(chosen(choices, bcast, {.size = 3, .bytes = 131071}), Algorithm::bcast_binomial);
    EXPECT_EQ(chosen(choices, bcast, {.size = 3, .bytes = 131072}), Algorithm::bcast_scatter_ring);
    EXPECT_EQ(chosen(choices, bcast, {.size = 2, .bytes = 1 << 20}), Algorithm::bcast_binomial);
    EXPECT_EQ(chosen(choices, bcast, {.size = 70000, .bytes = 1 << 20}), Algorithm::bcast_binomial);
    EXPECT_EQ(chosen(choices, allreduce, {.size = 2, .bytes = 16384}),
              Algorithm::allreduce_halving_doubling);
    EXPECT_EQ(chosen(choices, allreduce, {.size = 2, .bytes = 16383}),
              Algorithm::allreduce_recursive_doubling);
    EXPECT_EQ(chosen(choices, allreduce, {.size = 2, .bytes = 1 << 20, .is_commutative = false}),
              Algorithm::allreduce_recursive_doubling);
    EXPECT_EQ(chosen(choices, allgather, {.size = 3, .bytes = 4095}), Algorithm::allgather_bruck);
    EXPECT_EQ(chosen(choices, allgather, {.size = 3, .bytes = 4096}), Algorithm::allgather_ring);
    EXPECT_EQ(chosen(choices, allgather, {.size = 2, .bytes = 8}), Algorithm::allgather_ring);
    EXPECT_EQ(chosen(choices, alltoall, {.size = 8, .bytes = 255}), Algorithm::alltoall_bruck);
    EXPECT_EQ(chosen(choices, alltoall, {.size = 7, .bytes = 8}), Algorithm::alltoall_pairwise);
    EXPECT_EQ(chosen(choices, reduce_scatter, {.size = 5, .is_commutative = false}),
              Algorithm::reduce_scatter_binomial);
}

TEST(Choices, RanksThatShareCoresSendFewerMessages)
{
    const Choices choices;
    using enum Collective;
    const auto shared = [&](Collective collective, std::uint32_t size, std::uint64_t bytes) {
        return chosen(choices, collective, {.size = size, .bytes = bytes, .shares_cores = true});
    };
    EXPECT_EQ(shared(barrier, 4, 0), Algorithm::barrier_linear);
    EXPECT_EQ(chosen(choices, barrier, {.size = 4}), Algorithm::barrier_dissemination);
    EXPECT_EQ(shared(allreduce, 8, 8), Algorithm::allreduce_linear);
    EXPECT_EQ(shared(allreduce, 1000, 8), Algorithm::allreduce_linear);
    EXPECT_EQ(shared(allreduce, 8, 256 << 10), Algorithm::allreduce_linear);
    EXPECT_EQ(shared(allreduce, 16, 1 << 20), Algorithm::allreduce_linear);
    EXPECT_EQ(shared(allreduce, 17, 1 << 20), Algorithm::allreduce_halving_doubling);
    EXPECT_EQ(shared(allreduce, 8, (1 << 20) + 1), Algorithm::allreduce_halving_doubling);
    EXPECT_EQ(shared(allreduce, 33, 65536), Algorithm::allreduce_halving_doubling);
    EXPECT_EQ(shared(allreduce, 2, 8), Algorithm::allreduce_recursive_doubling);
    EXPECT_EQ(shared(allgather, 8, 4096), Algorithm::allgather_linear);
    EXPECT_EQ(shared(allgather, 4, 4096), Algorithm::allgather_exchange);
    EXPECT_EQ(shared(allgather, 4, 1024), Algorithm::allgather_linear);
    EXPECT_EQ(shared(allgather, 6, 65536), Algorithm::allgather_linear);
    EXPECT_EQ(shared(allgather, 6, 65537), Algorithm::allgather_ring);
    EXPECT_EQ(shared(allgather, 8, 1024), Algorithm::allgather_bruck);
}

TEST(Choices, FewMessagesLeaveANode)
{
    const Choices choices;
    using enum Collective;
    const auto between = [&](Collective collective, std::uint64_t bytes, bool is_commutative) {
        return chosen(choices, collective,
                      {.size = 8,
                       .bytes = bytes,
                       .is_commutative = is_commutative,
                       .spans_nodes = true,
                       .has_levels = true});
    };
    EXPECT_EQ(between(barrier, 0, true), Algorithm::barrier_two_level);
    EXPECT_EQ(between(bcast, 8, true), Algorithm::bcast_two_level);
    EXPECT_EQ(between(bcast, 1 << 20, true), Algorithm::bcast_scatter_ring);
    EXPECT_EQ(between(reduce, 1 << 20, true), Algorithm::reduce_two_level);
    EXPECT_EQ(between(reduce, 1 << 20, false), Algorithm::reduce_binomial);
    EXPECT_EQ(between(allreduce, 65535, true), Algorithm::allreduce_two_level);
    EXPECT_EQ(between(allreduce, 65536, true), Algorithm::allreduce_many_leads);
    EXPECT_EQ(between(allreduce, 8, false), Algorithm::allreduce_recursive_doubling);
    EXPECT_EQ(between(allgather, 4095, true), Algorithm::allgather_two_level);
    EXPECT_EQ(between(allgather, 4096, true), Algorithm::allgather_ring);
    EXPECT_EQ(between(scan, 1 << 20, false), Algorithm::scan_two_level);
    EXPECT_EQ(between(exscan, 1 << 20, false), Algorithm::exscan_two_level);
    EXPECT_EQ(between(reduce_scatter, 8191, true), Algorithm::reduce_scatter_two_level);
    EXPECT_EQ(between(reduce_scatter, 8192, true), Algorithm::reduce_scatter_ring);
    EXPECT_EQ(between(reduce_scatter, 8, false), Algorithm::reduce_scatter_binomial);
    EXPECT_EQ(
        chosen(
            choices, allgatherv,
            {.size = 8, .bytes = 4095, .is_listed = true, .spans_nodes = true, .has_levels = true}),
        Algorithm::allgatherv_two_level);
    // A rank a node: there is one level.
    EXPECT_EQ(chosen(choices, allreduce, {.size = 8, .bytes = 1 << 20, .spans_nodes = true}),
              Algorithm::allreduce_halving_doubling);
}

TEST(Choices, LeadsKeepTheOrderOfRanksWhereNodesFollowEachOther)
{
    const Choices choices;
    using enum Collective;
    const auto between = [&](Collective collective, bool are_contiguous) {
        return chosen(choices, collective,
                      {.size = 8,
                       .bytes = 8,
                       .is_commutative = false,
                       .spans_nodes = true,
                       .has_levels = true,
                       .are_nodes_contiguous = are_contiguous});
    };
    EXPECT_EQ(between(allreduce, true), Algorithm::allreduce_two_level);
    EXPECT_EQ(between(allreduce, false), Algorithm::allreduce_recursive_doubling);
    EXPECT_EQ(between(reduce_scatter, true), Algorithm::reduce_scatter_two_level);
    EXPECT_EQ(between(reduce_scatter, false), Algorithm::reduce_scatter_binomial);
    EXPECT_EQ(between(reduce, true), Algorithm::reduce_binomial);
}

TEST(Choices, KnobsForceWhereTheAlgorithmServes)
{
    config::Knobs knobs;
    knobs.coll_allreduce = "ring";
    knobs.coll_bcast = "bcast_pipelined_tree:3:5";
    knobs.coll_gather = "knomial:4";
    knobs.coll_allgather = "recursive_doubling";
    knobs.coll_reduce_scatter = "pairwise";
    const Choices choices = read(knobs);
    using enum Collective;
    EXPECT_EQ(chosen(choices, allreduce, {.size = 2, .bytes = 8}), Algorithm::allreduce_ring);
    EXPECT_EQ(chosen(choices, allreduce, {.size = 2, .bytes = 8, .is_commutative = false}),
              Algorithm::allreduce_recursive_doubling);
    const Choice& tree = choices.find(bcast, {.size = 2, .bytes = 8});
    EXPECT_EQ(tree.algorithm, Algorithm::bcast_pipelined_tree);
    EXPECT_EQ(tree.tuning.radix, 3U);
    EXPECT_EQ(tree.tuning.segments, 5U);
    EXPECT_EQ(chosen(choices, gather, {.size = 9, .bytes = 8}), Algorithm::gather_knomial);
    EXPECT_EQ(chosen(choices, gather, {.size = 9, .is_listed = true}), Algorithm::gather_flat);
    EXPECT_EQ(chosen(choices, allgather, {.size = 8, .bytes = 9999}),
              Algorithm::allgather_recursive_doubling);
    EXPECT_EQ(chosen(choices, allgather, {.size = 6, .bytes = 9999}), Algorithm::allgather_ring);
    EXPECT_EQ(chosen(choices, reduce_scatter, {.size = 5, .is_listed = true}),
              Algorithm::reduce_scatter_halving);
}

TEST(Choices, EveryAlgorithmCanBeForced)
{
    for (const Row& row : table()) {
        Choice choice{.collective = row.collective};
        const std::string name(row.name);
        const std::string rest = name.substr(name_of(row.collective).size() + 1);
        EXPECT_TRUE(parse_algorithm(name, choice).has_value()) << name;
        EXPECT_TRUE(parse_algorithm(rest, choice).has_value()) << rest;
        EXPECT_EQ(choice.algorithm, row.algorithm);
        EXPECT_EQ(choice.tuning, row.tuning);
    }
}

TEST(Choices, TwoLevelsServeWhereNodesHaveSeveralRanks)
{
    int families = 0;
    for (const Row& row : table()) {
        if (!row.reads.topology) {
            continue;
        }
        ++families;
        std::vector<Choice> forced(1, {.collective = row.collective});
        ASSERT_TRUE(parse_algorithm(row.name, forced[0]).has_value());
        const Choices choices(forced);
        for_each_shape([&](const Shape& shape) {
            const Choice& choice = choices.find(row.collective, shape);
            const bool keeps_order =
                row.keeps_order || (row.keeps_order_of_nodes && shape.are_nodes_contiguous);
            EXPECT_EQ(choice.algorithm == row.algorithm,
                      shape.has_levels && (keeps_order || shape.is_commutative) &&
                          (row.listing != Listing::no || !shape.is_listed) &&
                          fits(row, shape.size, row.tuning))
                << row.name << ", " << shape.size << " ranks";
        });
    }
    EXPECT_EQ(families, 13);
}

TEST(Choices, LinesMayBeForSeveralNodes)
{
    const auto lines = parse_choices(
        "bcast any any any one flat\nbcast any any any several knomial:8\n"
        "gather any any any several two_level",
        "some.tuning");
    ASSERT_TRUE(lines.has_value()) << lines.sentence();
    const Choices choices(lines.value());
    using enum Collective;
    EXPECT_EQ(chosen(choices, bcast, {.size = 4}), Algorithm::bcast_flat);
    EXPECT_EQ(chosen(choices, bcast, {.size = 4, .spans_nodes = true}), Algorithm::bcast_knomial);
    EXPECT_EQ(chosen(choices, gather, {.size = 4}), Algorithm::gather_flat);
    EXPECT_EQ(chosen(choices, gather, {.size = 4, .spans_nodes = true}), Algorithm::gather_flat);
    EXPECT_EQ(chosen(choices, gather, {.size = 4, .spans_nodes = true, .has_levels = true}),
              Algorithm::gather_two_level);
    // A line that says so differs from one that does not.
    EXPECT_NE(Choices(parse_choices("bcast 3 8 any any flat", "").value()).digest(),
              Choices(parse_choices("bcast 3 8 any one flat", "").value()).digest());
}

TEST(Choices, WrongWordsNameWhatThereIs)
{
    config::Knobs knobs;
    knobs.coll_barrier = "fast";
    EXPECT_EQ(fault_of(knobs),
              "HEADWAY_COLL_BARRIER: there is no algorithm 'fast' of barrier; there are "
              "dissemination, dissemination_ports[:ports], linear, two_level[:ports]");
    knobs.coll_barrier = "dissemination:3";
    EXPECT_EQ(fault_of(knobs),
              "HEADWAY_COLL_BARRIER: 'dissemination:3' is no algorithm of barrier: dissemination "
              "takes no parameter");
    for (const char* word :
         {"dissemination_ports:", "dissemination_ports:0", "dissemination_ports:x",
          "dissemination_ports:3:4", "dissemination_ports:99999", "dissemination_ports: 3"}) {
        knobs.coll_barrier = word;
        EXPECT_EQ(fault_of(knobs), "HEADWAY_COLL_BARRIER: '" + std::string(word) +
                                       "' is no algorithm of barrier: dissemination_ports takes "
                                       "its ports, a whole number from 1 to 1024, after ':'");
    }
    knobs.coll_barrier = "";
    knobs.coll_alltoallv = "bruck";
    EXPECT_EQ(fault_of(knobs),
              "HEADWAY_COLL_ALLTOALLV: there is no algorithm 'bruck' of alltoallv; there are "
              "pairwise, throttled[:window]");
}

TEST(Choices, LinesOfAFileComeBeforeWhatIsBuiltIn)
{
    const std::string name = testing::TempDir() + "choices.tuning";
    std::ofstream(name) << "# mine\n\n"
                           "  allreduce 3..8\t16K..1M own any ring # long\r\n"
                           "bcast any ..7 any any flat\n"
                           "bcast 4 any shared any knomial:8";
    config::Knobs knobs;
    knobs.tuning = name;
    knobs.coll_bcast = "pipelined_chain";
    const Choices choices = read(knobs);
    std::remove(name.c_str());
    using enum Collective;
    const auto reduce_of = [&](std::uint32_t size, std::uint64_t bytes, bool shares) {
        return chosen(choices, allreduce, {.size = size, .bytes = bytes, .shares_cores = shares});
    };
    EXPECT_EQ(reduce_of(3, 16384, false), Algorithm::allreduce_ring);
    EXPECT_EQ(reduce_of(8, 1 << 20, false), Algorithm::allreduce_ring);
    EXPECT_EQ(reduce_of(9, 1 << 20, false), Algorithm::allreduce_halving_doubling);
    EXPECT_EQ(reduce_of(8, (1 << 20) + 1, false), Algorithm::allreduce_halving_doubling);
    EXPECT_NE(reduce_of(8, 1 << 20, true), Algorithm::allreduce_ring);
    EXPECT_EQ(choices.of(bcast)[0].algorithm, Algorithm::bcast_pipelined_chain);
    EXPECT_EQ(choices.of(bcast)[1].algorithm, Algorithm::bcast_flat);
    EXPECT_EQ(choices.of(bcast)[2].tuning.radix, 8U);
}

TEST(Choices, MalformedFilesAreRefusedByLine)
{
    const std::string before = "HEADWAY_TUNING, file 'some.tuning', line 2: ";
    const auto fault = [](const char* line) {
        return fault_of_text("barrier any any any any linear\n" + std::string(line) + "\n");
    };
    EXPECT_EQ(fault("bcast any any any any flat"), "accepted");
    EXPECT_EQ(fault("bcast"), before +
                                  "it has 1 word, not the six: collective, ranks, bytes, "
                                  "cores, nodes, algorithm");
    EXPECT_EQ(fault("bcast any any any any flat now"),
              before +
                  "it has 7 words, not the six: collective, ranks, bytes, cores, nodes, "
                  "algorithm");
    EXPECT_EQ(fault("brodcast any any any any flat"),
              before +
                  "there is no collective 'brodcast'; there are barrier, bcast, reduce, "
                  "allreduce, gather, scatter, allgather, allgatherv, alltoall, alltoallv, "
                  "scan, exscan, reduce_scatter");
    EXPECT_EQ(fault("bcast any any some any flat"),
              before + "'some' are no cores; write any, own or shared");
    EXPECT_EQ(fault("bcast any any any two flat"),
              before + "'two' are no nodes; write any, one, process, several or levels");
    EXPECT_EQ(fault("bcast any any any any ring"),
              before +
                  "there is no algorithm 'ring' of bcast; there are flat, binomial, "
                  "knomial[:radix], pipelined_chain[:segments], "
                  "pipelined_tree[:radix][:segments], scatter_ring, two_level, direct");
    for (const char* range : {"..", "x", "8..4", "4...8", "4-8", "-1", "1.5", "8Q", "8KB", "K",
                              "99999999999999999999", "18446744073709551615K", "..x"}) {
        EXPECT_EQ(fault(("bcast any " + std::string(range) + " any any flat").c_str()),
                  before + "'" + range +
                      "' are no bytes; write a number, first.., ..last, first..last or any");
    }
    EXPECT_NE(fault("bcast 1.. x any any flat").find("bytes"), std::string::npos);
    EXPECT_NE(fault("bcast x 1.. any any flat").find("ranks"), std::string::npos);
    // What is no text is neither printed nor printed in full.
    const std::string noise = fault(("\x1b[31m\x01" + std::string(500, 'y')).c_str());
    EXPECT_LT(noise.size(), 200U);
    EXPECT_EQ(noise.find('\x1b'), std::string::npos);
}

TEST(Choices, FilesThatCannotBeReadAreRefused)
{
    config::Knobs knobs;
    knobs.tuning = "/does/not/exist";
    EXPECT_EQ(fault_of(knobs),
              "HEADWAY_TUNING is '/does/not/exist', which cannot be read; name a tuning file, or "
              "unset it");
    knobs.tuning = "/";
    EXPECT_NE(fault_of(knobs).find("cannot be read"), std::string::npos);
    knobs.tuning = "/dev/zero";
    EXPECT_NE(fault_of(knobs).find("cannot be read"), std::string::npos);
    const std::string name = testing::TempDir() + "long.tuning";
    knobs.tuning = name;
    std::ofstream(name) << std::string(1 << 20, '#');
    EXPECT_NE(fault_of(knobs).find("longer than a tuning file"), std::string::npos);
    std::ofstream file(name);
    for (std::size_t i = 0; i < Choices::lines_max; ++i) {
        file << "bcast any any any any flat\n";
    }
    file.close();
    EXPECT_NE(fault_of(knobs).find("has 256 choices, more than there is room for"),
              std::string::npos);
    std::remove(name.c_str());
}

TEST(Choices, WhatIsPrintedSaysTheSame)
{
    config::Knobs knobs;
    knobs.coll_bcast = "pipelined_tree:3:5";
    knobs.coll_alltoallv = "throttled:7";
    const Choices choices = read(knobs);
    const auto again = parse_choices(text_of(choices), "printed");
    ASSERT_TRUE(again.has_value()) << again.sentence();
    std::string text;
    for (const Choice& choice : again.value()) {
        text += line_of(choice) + "\n";
    }
    EXPECT_EQ(text, text_of(choices));
    EXPECT_NE(
        text.find("bcast           3..       128K..          any     any      scatter_ring\n"),
        std::string::npos)
        << text;
    EXPECT_NE(text.find("throttled:7\n"), std::string::npos);
}

TEST(Choices, TablesThatDifferHaveOtherDigests)
{
    config::Knobs knobs;
    EXPECT_EQ(read(knobs).digest(), Choices().digest());
    knobs.coll_bcast = "knomial:4";
    const std::uint64_t four = read(knobs).digest();
    EXPECT_EQ(read(knobs).digest(), four);
    knobs.coll_bcast = "knomial:5";
    EXPECT_NE(read(knobs).digest(), four);
    EXPECT_NE(four, Choices().digest());
}

TEST(Choices, GraphsAreNumberedByAlgorithmAndTuning)
{
    std::vector<Choice> lines(3, {.collective = Collective::bcast});
    ASSERT_TRUE(parse_algorithm("knomial:4", lines[0]).has_value());
    ASSERT_TRUE(parse_algorithm("knomial:5", lines[1]).has_value());
    ASSERT_TRUE(parse_algorithm("knomial:4", lines[2]).has_value());
    lines[2].bytes = {7, 8};
    const Choices choices(lines);
    const auto bcast = choices.of(Collective::bcast);
    EXPECT_EQ(bcast[0].graph_number, bcast[2].graph_number);
    EXPECT_NE(bcast[0].graph_number, bcast[1].graph_number);
    EXPECT_LT(bcast.back().graph_number, Choices::lines_max);
}

}  // namespace
}  // namespace headway::protocol::coll
