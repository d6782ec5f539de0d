// SPDX-License-Identifier: Apache-2.0
#include "object/observation.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include "engine/observation.hpp"
#include "engine/wait.hpp"
#include "object/collective.hpp"
#include "object/observed_call.hpp"
#include "object/profile.hpp"
#include "object/tool.hpp"
#include "object/version.hpp"
#include "observe/trace_file.hpp"
#include "platform/process.hpp"

namespace headway::object {

namespace {

struct CounterRow {
    std::string_view name;
    std::atomic<std::uint64_t> engine::RankCounters::* counter;
};

/// Counters as a trace names them.
constexpr std::array counter_rows = {
    CounterRow{"calls", &engine::RankCounters::calls},
    CounterRow{"call_ns", &engine::RankCounters::call_ns},
    CounterRow{"sleep_ns", &engine::RankCounters::sleep_ns},
    CounterRow{"messages_sent", &engine::RankCounters::messages_sent},
    CounterRow{"bytes_sent", &engine::RankCounters::bytes_sent},
    CounterRow{"messages_received", &engine::RankCounters::messages_received},
    CounterRow{"bytes_received", &engine::RankCounters::bytes_received},
    CounterRow{"frames_posted", &engine::RankCounters::frames_posted},
    CounterRow{"frames_received", &engine::RankCounters::frames_received},
    CounterRow{"retries", &engine::RankCounters::retries},
    CounterRow{"parks", &engine::RankCounters::parks},
    CounterRow{"bytes_copied_across", &engine::RankCounters::bytes_copied_across},
    CounterRow{"bytes_piped", &engine::RankCounters::bytes_piped},
    CounterRow{"threads_unobserved", &engine::RankCounters::threads_unobserved},
};

std::uint64_t value(const std::atomic<std::uint64_t>& counter) noexcept
{
    // Relaxed: statistics, each by itself.
    return counter.load(std::memory_order_relaxed);
}

/// A rank that ended before it came up (null) has nothing to tell.
observe::RankTrace trace_of(std::uint32_t number, const engine::RankState* state)
{
    observe::RankTrace trace;
    trace.rank = number;
    if (state == nullptr) {
        return trace;
    }
    const engine::RankState& rank = *state;
    // (2) acquire, pairs with (1) of engine/observation.cpp.
    for (const observe::Ring* ring = rank.rings.load(std::memory_order_acquire); ring != nullptr;
         ring = ring->next) {
        trace.rings.push_back(ring);
    }
    std::ranges::reverse(trace.rings);
    for (const CounterRow& row : counter_rows) {
        trace.counters.emplace_back(row.name, value(rank.counters.*row.counter));
    }
    return trace;
}

void complain(int rank, const std::string& clause)
{
    platform::write_error("headway: rank " + std::to_string(rank) + ": HEADWAY_TRACE: " + clause +
                          "; the program itself is not affected\n");
}

void write_trace(Process& process, int rank, std::string_view end)
{
    engine::Directory& directory = process.node().directory;
    observe::JobTrace job;
    job.version = library_version;
    job.end = end;
    job.function_name = process.node().tracer->function_name();
    for (std::uint32_t i = 0; i < directory.rank_count; ++i) {
        job.ranks.push_back(trace_of(i, directory.ranks[i]));
    }
    if (auto written = observe::write_trace_file(process.knobs().trace, job); !written) {
        complain(rank, written.sentence() + ", so the trace is not whole");
    }
}

/// True for one caller of the job.
bool take_trace(engine::Directory& directory) noexcept
{
    // Relaxed: it decides who writes, and orders nothing.
    return !directory.is_trace_taken.exchange(true, std::memory_order_relaxed);
}

void print_table(engine::Directory& directory)
{
    std::string text =
        "headway: rank     calls   in MPI ms   asleep ms   messages out/in         bytes out/in"
        "     helped  wake-ups\n";
    for (std::uint32_t i = 0; i < directory.rank_count; ++i) {
        const engine::RankCounters& counters = directory.ranks[i]->counters;
        const engine::ProcessEntry& process = directory.processes[directory.ranks[i]->process];
        std::array<char, 200> line{};
        std::snprintf(line.data(), line.size(),
                      "headway: %4u %9llu %11.3f %11.3f %8llu/%-8llu %12llu/%-12llu %8llu %9llu\n",
                      i, static_cast<unsigned long long>(value(counters.calls)),
                      static_cast<double>(value(counters.call_ns)) / 1e6,
                      static_cast<double>(value(counters.sleep_ns)) / 1e6,
                      static_cast<unsigned long long>(value(counters.messages_sent)),
                      static_cast<unsigned long long>(value(counters.messages_received)),
                      static_cast<unsigned long long>(value(counters.bytes_sent)),
                      static_cast<unsigned long long>(value(counters.bytes_received)),
                      static_cast<unsigned long long>(value(counters.times_helped)),
                      static_cast<unsigned long long>(value(process.agent_wakes)));
        text += line.data();
    }
    platform::write_error(text);
}

/// All ranks have stopped recording when this returns. True: it could be waited for.
bool meet_others(Rank& rank)
{
    engine::Op* barrier = start_barrier(rank, *rank.world);
    if (barrier == nullptr) {
        return false;
    }
    engine::wait_for(rank.driver(), barrier);
    rank.driver().destroy_op(barrier);
    return true;
}

}  // namespace

void begin_observed_call(RankAccess& rank, std::uint16_t function, std::int64_t begin_ns,
                         bool may_adopt) noexcept
{
    engine::Driver& driver = as_rank(rank).driver();
    if (may_adopt) {
        engine::observe_thread(driver, observe::ThreadKind::application);
    }
    engine::begin_call(driver, function, begin_ns);
}

void end_observed_call(RankAccess& rank, std::uint16_t function, std::int64_t begin_ns) noexcept
{
    engine::end_call(as_rank(rank).driver(), function, begin_ns);
    if (rank.tracer != nullptr) {
        deliver_tool_events(rank);
    }
}

bool prepare_trace(const config::Knobs& knobs)
{
    if (knobs.trace.empty()) {
        return false;
    }
    if (auto made = observe::prepare_trace_file(knobs.trace); !made) {
        complain(0, made.sentence() +
                        ", so there will be no trace: make the folder, or name another file");
        return false;
    }
    return true;
}

void finish_observation(Rank& rank)
{
    if (rank.tracer == nullptr) {
        return;
    }
    engine::stop_observing(rank.driver());
    rank.tracer = nullptr;
    if (!rank.process().node().directory.is_observed) {
        return;  // its own tools observed this rank, nobody the others
    }
    // Without MPI_COMM_WORLD nobody says when all have come to their end.
    const bool is_whole = rank.world == nullptr || meet_others(rank);
    if (rank.world_rank != 0) {
        return;
    }
    Process& process = rank.process();
    engine::Directory& directory = process.node().directory;
    if (!is_whole) {
        complain(0, "the node heap is exhausted, so other ranks may miss their last events");
    }
    if (process.knobs().stats == stats_with_calls) {
        print_profile(process);
    } else if (process.knobs().stats != 0) {
        print_table(directory);
    }
    if (directory.is_traced && take_trace(directory)) {
        write_trace(process, 0, "finalize");
    }
}

void save_trace_at_abort(Process& process) noexcept
{
    if (!process.is_joined() || process.node().tracer == nullptr) {
        return;
    }
    engine::Directory& directory = process.node().directory;
    if (directory.is_traced && !process.knobs().trace.empty() && take_trace(directory)) {
        try {
            write_trace(process, process.first_rank(), "abort");
        } catch (...) {  // the job ends anyway, with the sentence that it has
            platform::write_error("headway: the trace of the aborted job could not be written\n");
        }
    }
}

}  // namespace headway::object
