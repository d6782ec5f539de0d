// SPDX-License-Identifier: Apache-2.0
// What a reader of traces cannot check from outside: work by agents and helpers, ends under way,
// files that cannot be written. That the text is JSON and tells the truth is test/trace.
#include "observe/trace_file.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <vector>

#include "platform/process.hpp"

namespace headway::observe {
namespace {

std::string temporary_file()
{
    return testing::TempDir() + "headway-trace-" + std::to_string(platform::process_id());
}

std::string text_of(const std::string& path)
{
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    std::remove(path.c_str());
    return text.str();
}

class TraceFile : public testing::Test {
  protected:
    Ring& make_ring(std::uint32_t rank, ThreadKind kind)
    {
        memories_.emplace_back(Ring::bytes_needed(8) / sizeof(std::max_align_t) + 1);
        Ring* ring = Ring::create(memories_.back().data(), 8);
        ring->rank = rank;
        ring->thread = kind;
        job_.ranks[rank].rings.push_back(ring);
        return *ring;
    }

    void SetUp() override
    {
        job_.version = "test";
        job_.end = "finalize";
        job_.function_name = [](std::uint16_t) { return "MPI_Test_me"; };
        job_.ranks.resize(2);
        for (std::uint32_t rank = 0; rank < 2; ++rank) {
            job_.ranks[rank].rank = rank;
            job_.ranks[rank].counters = {{"calls", 3}, {"call_ns", 1000}};
        }
    }

    std::string written()
    {
        const std::string path = temporary_file();
        EXPECT_TRUE(write_trace_file(path, job_).has_value());
        return text_of(path);
    }

    JobTrace job_;
    std::vector<std::vector<std::max_align_t>> memories_;
};

bool has(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

TEST_F(TraceFile, AgentsAndHelpersHaveRowsOfTheirOwn)
{
    Ring& agent = make_ring(0, ThreadKind::agent);
    agent.write({.begin_ns = 5000,
                 .amount = 1500,
                 .rank = 1,
                 .peer = 0,
                 .index = static_cast<std::uint16_t>(SpanKind::agent),
                 .kind = EventKind::span});
    Ring& helper = make_ring(0, ThreadKind::application);
    helper.write({.begin_ns = 9000,
                  .amount = 250,
                  .rank = 1,
                  .peer = 0,
                  .index = static_cast<std::uint16_t>(SpanKind::help),
                  .kind = EventKind::span});
    const std::string text = written();
    EXPECT_TRUE(has(text, R"({"ph":"X","pid":1,"tid":1000,"ts":0.000,"dur":1.500,"cat":"span",)"
                          R"("name":"agent","args":{"by":0}})"))
        << text;
    EXPECT_TRUE(has(text, R"({"ph":"X","pid":1,"tid":1001,"ts":4.000,"dur":0.250,"cat":"span",)"
                          R"("name":"help","args":{"by":0}})"))
        << text;
    EXPECT_TRUE(has(text, R"("pid":1,"tid":1001,"name":"thread_name",)"
                          R"("args":{"name":"help by rank 0"}})"))
        << text;
}

TEST_F(TraceFile, ACallUnderWayEndsWhereTheTraceDoes)
{
    Ring& ring = make_ring(0, ThreadKind::application);
    ring.begin_call(3, platform::monotonic_ns());
    const std::string text = written();
    EXPECT_TRUE(has(text, R"("cat":"mpi","name":"MPI_Test_me"})")) << text;
    // The counter has that call's time too: more than was counted before.
    EXPECT_FALSE(has(text, R"("rank":0,"calls":3,"call_ns":1000)")) << text;
    EXPECT_TRUE(has(text, R"("rank":1,"calls":3,"call_ns":1000)")) << text;
}

TEST_F(TraceFile, BothEndsGiveAMessageOneName)
{
    Record message = {.begin_ns = 1000,
                      .amount = 64,
                      .context = 4,
                      .source = 7,
                      .tag = 9,
                      .sequence = 3,
                      .rank = 0,
                      .peer = 1,
                      .kind = EventKind::posted};
    make_ring(0, ThreadKind::application).write(message);
    message.rank = 1;
    message.peer = 0;
    message.kind = EventKind::delivered;
    make_ring(1, ThreadKind::application).write(message);
    const std::string text = written();
    const std::size_t first = text.find(R"("id":"1.4.7.3")");
    ASSERT_NE(first, std::string::npos) << text;
    EXPECT_NE(text.find(R"("id":"1.4.7.3")", first + 1), std::string::npos) << text;
}

TEST_F(TraceFile, SaysWhatWasDropped)
{
    Ring& ring = make_ring(1, ThreadKind::application);
    for (int i = 0; i < 11; ++i) {
        ring.write({.begin_ns = i, .amount = 1, .rank = 1});
    }
    EXPECT_TRUE(has(written(), R"({"rank":1,"thread":0,"events":4})"));
}

TEST_F(TraceFile, AFileThatCannotBeWrittenIsNamed)
{
    const auto absent = prepare_trace_file("/nonexistent/folder/trace.json");
    ASSERT_FALSE(absent.has_value());
    EXPECT_EQ(absent.sentence(),
              "cannot write '/nonexistent/folder/trace.json' (No such file or directory)");
    const auto full = write_trace_file("/dev/full", job_);
    ASSERT_FALSE(full.has_value());
    EXPECT_EQ(full.sentence(), "cannot write '/dev/full' (No space left on device)");
}

}  // namespace
}  // namespace headway::observe
