// SPDX-License-Identifier: Apache-2.0
#include "object/profile.hpp"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <new>
#include <string>
#include <vector>

#include "object/process.hpp"
#include "object/rank.hpp"
#include "platform/cpu.hpp"
#include "platform/process.hpp"

namespace headway::object {

namespace {

/// Of the page: it is to be one.
constexpr std::uint32_t ranks_shown_max = 24;
constexpr std::size_t calls_shown_max = 16;

double value(const std::atomic<std::uint64_t>& counter) noexcept
{
    // Relaxed: statistics, each by itself.
    return static_cast<double>(counter.load(std::memory_order_relaxed));
}

double seconds(const std::atomic<std::uint64_t>& counter) noexcept
{
    return value(counter) / 1e9;
}

[[gnu::format(printf, 2, 3)]] void add_line(std::string* text, const char* format, ...)
{
    std::array<char, 200> line{};
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(line.data(), line.size(), format, arguments);
    va_end(arguments);
    *text += "headway: ";
    *text += line.data();
    *text += '\n';
}

double percent(double part, double whole) noexcept
{
    return whole > 0 ? part / whole * 100 : 0;
}

/// Seconds from the first rank's start to now.
double elapsed(const engine::Directory& directory)
{
    std::int64_t first_ns = platform::monotonic_ns();
    for (std::uint32_t i = 0; i < directory.rank_count; ++i) {
        if (const engine::CallTable* const calls = directory.ranks[i]->calls; calls != nullptr) {
            first_ns = std::min(first_ns, calls->began_ns);
        }
    }
    return static_cast<double>(platform::monotonic_ns() - first_ns) / 1e9;
}

void add_rank(std::string* text, const engine::Directory& directory, std::uint32_t number,
              double job_s)
{
    const engine::RankState& rank = *directory.ranks[number];
    const engine::RankCounters& counters = rank.counters;
    const double in_mpi_s = seconds(counters.call_ns);
    add_line(text, "%5u %9.3f %6.1f %9.3f %9.0f %9.3f %9.0f %9.3f %10.0f %7.0f %10.6f %8.0f",
             number, in_mpi_s, percent(in_mpi_s, job_s), seconds(counters.sleep_ns),
             value(counters.messages_sent), value(counters.bytes_sent) / 1e6,
             value(counters.messages_received), value(counters.bytes_received) / 1e6,
             value(counters.messages_kept), value(counters.times_helped),
             seconds(counters.helped_ns), value(counters.parks));
}

/// One function, all ranks together.
struct Taken {
    std::uint16_t function;
    double calls = 0;
    double all_s = 0;
    double most_s = 0;
    std::uint32_t most_rank = 0;
};

Taken sum_up(const engine::Directory& directory, std::uint16_t function)
{
    Taken sum{function};
    for (std::uint32_t i = 0; i < directory.rank_count; ++i) {
        const engine::CallTable* const table = directory.ranks[i]->calls;
        if (table == nullptr) {
            continue;
        }
        const double own_s = seconds(table->tallies[function].call_ns);
        sum.calls += value(table->tallies[function].calls);
        sum.all_s += own_s;
        if (own_s > sum.most_s) {
            sum.most_s = own_s;
            sum.most_rank = i;
        }
    }
    return sum;
}

void add_calls(std::string* text, const engine::Directory& directory, observe::FunctionName name)
{
    std::vector<Taken> calls;
    double all_s = 0;
    for (std::uint16_t i = 0; i < engine::CallTable::functions_max; ++i) {
        const Taken sum = sum_up(directory, i);
        if (sum.calls > 0) {
            calls.push_back(sum);
            all_s += sum.all_s;
        }
    }
    std::ranges::sort(calls, std::ranges::greater{}, &Taken::all_s);
    add_line(text, "%-28s %10s %10s %7s %10s %5s", "call", "calls", "all s", "% MPI", "most s",
             "rank");
    for (std::size_t i = 0; i < std::min(calls.size(), calls_shown_max); ++i) {
        const Taken& each = calls[i];
        add_line(text, "%-28s %10.0f %10.3f %7.1f %10.3f %5u", name(each.function), each.calls,
                 each.all_s, percent(each.all_s, all_s), each.most_s, each.most_rank);
    }
    if (calls.size() > calls_shown_max) {
        add_line(text, "and %zu other functions", calls.size() - calls_shown_max);
    }
}

}  // namespace

void begin_profile(Rank& rank)
{
    if (rank.process().knobs().stats != stats_with_calls || rank.tracer == nullptr) {
        return;
    }
    void* const place = rank.driver().allocator().allocate(sizeof(engine::CallTable));
    if (place != nullptr) {
        auto* const table = new (place) engine::CallTable;
        table->began_ns = platform::monotonic_ns();
        rank.driver().rank().calls = table;
    }
}

void print_profile(Process& process)
{
    const engine::Directory& directory = process.node().directory;
    const double job_s = elapsed(directory);
    std::string text;
    add_line(&text, "profile of %u ranks in %u processes, %.3f s from MPI_Init to MPI_Finalize",
             directory.rank_count, directory.process_count, job_s);
    add_line(&text, "%5s %9s %6s %9s %9s %9s %9s %9s %10s %7s %10s %8s", "rank", "in MPI s", "%",
             "asleep s", "sent", "MB", "received", "MB", "unexpected", "helped", "helped s",
             "sleeps");
    for (std::uint32_t i = 0; i < std::min(directory.rank_count, ranks_shown_max); ++i) {
        add_rank(&text, directory, i, job_s);
    }
    if (directory.rank_count > ranks_shown_max) {
        add_line(&text, "and %u other ranks", directory.rank_count - ranks_shown_max);
    }
    double helped_s = 0;
    for (std::uint32_t i = 0; i < directory.rank_count; ++i) {
        helped_s += seconds(directory.ranks[i]->counters.helped_ns);
    }
    add_line(&text, "overlap: others moved messages for %.6f s while their ranks were outside MPI",
             helped_s);
    double wakes = 0;
    for (std::uint32_t i = 0; i < directory.process_count; ++i) {
        wakes += value(directory.processes[i].agent_wakes);
    }
    add_line(&text, "agents were woken %.0f times", wakes);
    if (const observe::FunctionName name = process.node().tracer->function_name();
        name != nullptr) {
        add_calls(&text, directory, name);
    }
    platform::write_error(text);
}

}  // namespace headway::object
