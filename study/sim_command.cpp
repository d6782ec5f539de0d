// SPDX-License-Identifier: Apache-2.0
#include "study/sim_command.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <vector>

#include "study/machine_file.hpp"
#include "study/option_words.hpp"
#include "study/other_graphs.hpp"
#include "study/simulator.hpp"
#include "study/traffic.hpp"
#include "study/tuning_words.hpp"

namespace headway::study {

namespace {

constexpr std::uint64_t most_ranks = 1 << 20;

struct Task {
    std::string_view collective;
    std::string_view algorithm;  ///< empty: all
    std::uint32_t nodes = 1;
    std::uint32_t ranks_a_node = 1;
    std::uint32_t root = 0;
    OtherCall other{};  ///< of collectives that stand in no table
    std::uint64_t limit = 0;
    std::vector<std::uint64_t> bytes;
    std::vector<std::string_view> tuned;  ///< "key=value", to be tried on each row
    Machine machine;
};

int complain(const std::string& sentence)
{
    std::fprintf(stderr, "headway: sim: %s\n", sentence.c_str());
    return 2;
}

std::optional<std::string> take_machine(OptionWords& words, Task& task)
{
    const auto name = words.take("--machine");
    if (!name) {
        return std::nullopt;
    }
    const auto machine = read_machine(std::string(*name));
    if (!machine) {
        return "--machine: " + machine.sentence();
    }
    task.machine = machine.value();
    return std::nullopt;
}

/// Takes all "--set KEY=VALUE"; a sentence about the first that is wrong.
std::optional<std::string> take_settings(OptionWords& words, Task& task)
{
    while (const auto assignment = words.take("--set")) {
        if (is_of_tuning(*assignment)) {
            if (auto fault = fault_of_tuning(*assignment)) {
                return fault;
            }
            task.tuned.push_back(*assignment);
        } else if (auto fault = set_machine(task.machine, *assignment)) {
            return *fault + "  " + std::string(tuning_keys) + "  of the algorithms that read them";
        }
    }
    return std::nullopt;
}

std::optional<std::string> take_bytes(OptionWords& words, Task& task)
{
    std::string_view text = words.take("--bytes").value_or("8");
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const auto bytes = OptionWords::number_of(text.substr(0, comma));
        if (!bytes || *bytes > std::uint64_t{1} << 40) {
            return "--bytes wants numbers with commas between them, not '" + std::string(text) +
                   "'";
        }
        task.bytes.push_back(*bytes);
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return task.bytes.empty() ? std::optional<std::string>("--bytes is empty") : std::nullopt;
}

bool is_wanted(const coll::Row& row, const Task& task)
{
    return name_of(row.collective) == task.collective &&
           (task.algorithm.empty() || task.algorithm == row.name);
}

std::optional<std::string> read_task(OptionWords& words, Task& task)
{
    task.nodes = static_cast<std::uint32_t>(words.take_number("--nodes", 16, 1, most_ranks));
    task.ranks_a_node = static_cast<std::uint32_t>(words.take_number("--ppn", 1, 1, 65'536));
    task.limit = words.take_number("--limit", 10'000'000, 1, std::uint64_t{1} << 40);
    const std::uint64_t ranks = std::uint64_t{task.nodes} * task.ranks_a_node;
    if (ranks > most_ranks) {
        return std::to_string(ranks) + " ranks are more than the " + std::to_string(most_ranks) +
               " that can be simulated; give fewer --nodes or --ppn";
    }
    task.root = static_cast<std::uint32_t>(words.take_number("--root", 0, 0, ranks - 1));
    task.algorithm = words.take("--algorithm").value_or("");
    task.other = {
        .size = static_cast<std::uint32_t>(ranks),
        .root = task.root,
        .first_size = static_cast<std::uint32_t>(words.take_number("--first", 0, 1, most_ranks)),
        .width = static_cast<std::uint32_t>(words.take_number("--width", 0, 1, most_ranks))};
    if (auto fault = take_bytes(words, task)) {
        return fault;
    }
    if (auto fault = take_machine(words, task)) {
        return fault;
    }
    if (auto fault = take_settings(words, task)) {
        return fault;
    }
    if (words.fault()) {
        return words.fault();
    }
    if (words.rest().size() != 1) {
        return words.rest().empty() ? std::string("name a collective, like allreduce")
                                    : "'" + std::string(words.rest().back()) +
                                          "' is no option; one collective is simulated at a time";
    }
    task.collective = words.rest().front();
    if (is_other(task.collective) &&
        (task.algorithm.empty() || task.algorithm == task.collective)) {
        return std::nullopt;
    }
    if (task.other.first_size != 0 || task.other.width != 0) {
        return "--first and --width are for collectives of another kind: " + other_names();
    }
    if (std::ranges::none_of(coll::table(),
                             [&](const coll::Row& row) { return is_wanted(row, task); })) {
        return "there is no algorithm" +
               (task.algorithm.empty() ? "" : " '" + std::string(task.algorithm) + "'") + " of '" +
               std::string(task.collective) + "'; there are " + known_names(task.collective) +
               ", " + other_names();
    }
    return std::nullopt;
}

/// Says on a terminal how far a long simulation is.
class Progress {
  public:
    Progress(std::string_view name, std::uint64_t bytes, std::uint64_t messages)
        : name_(name), bytes_(bytes), messages_(std::max<std::uint64_t>(messages, 1))
    {
    }
    ~Progress()
    {
        if (is_shown_) {
            std::fprintf(stderr, "\r%78s\r", "");
        }
    }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void report(std::uint64_t arrived)
    {
        const auto now = std::chrono::steady_clock::now();
        if (isatty(STDERR_FILENO) == 0 || now - last_ < std::chrono::milliseconds(500)) {
            return;
        }
        last_ = now;
        is_shown_ = true;
        std::fprintf(stderr, "\r%.*s, %llu bytes: %3llu %%", static_cast<int>(name_.size()),
                     name_.data(), static_cast<unsigned long long>(bytes_),
                     static_cast<unsigned long long>(100 * arrived / messages_));
        std::fflush(stderr);
    }

  private:
    std::string_view name_;
    std::uint64_t bytes_;
    std::uint64_t messages_;
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
    bool is_shown_ = false;
};

/// Why so many messages are not simulated; nothing if they are.
std::optional<std::string> skipped_for(std::uint64_t messages, const Task& task)
{
    if (messages <= task.limit) {
        return std::nullopt;
    }
    return std::to_string(messages) + " messages, --limit is " + std::to_string(task.limit);
}

/// Why an algorithm is not simulated; nothing if it is.
std::optional<std::string> reason_to_skip(const coll::Row& row, const coll::Call& call,
                                          std::uint64_t messages, const Task& task)
{
    if (call.place.size > row.ranks_max) {
        return "is for at most " + std::to_string(row.ranks_max) + " ranks";
    }
    if (!coll::fits(row, call.place.size, call.tuning)) {
        return row.sizes == coll::Sizes::even
                   ? std::string("wants an even number of ranks")
                   : "wants a power of " + std::to_string(call.tuning.ports + 1) + " ranks";
    }
    if (row.reads.peers && call.topology->node_count() > 1) {
        return "is for the ranks of one node, which read each other's memory";
    }
    return skipped_for(messages, task);
}

void print_skipped(std::string_view name, std::uint64_t bytes, const std::string& reason)
{
    std::printf("{\"algorithm\": \"%s\", \"bytes\": %llu, \"skipped\": \"%s\"}\n", name.data(),
                static_cast<unsigned long long>(bytes), reason.c_str());
}

/// An algorithm as it is to be simulated. The name ends with a 0.
struct Plan {
    std::string_view name;
    std::uint64_t messages = 0;
    std::optional<std::string> skipped;
    std::function<engine::Graph(std::uint32_t rank)> build;
};

Plan plan_of(const coll::Row& row, const coll::Topology& topology, const Task& task)
{
    coll::Call call{
        .place = {0, task.nodes * task.ranks_a_node, false},
        .root = task.root,
        .tuning = row.tuning,
        .topology = &topology,
    };
    for (const std::string_view assignment : task.tuned) {
        tune(call.tuning, row, assignment);
    }
    const std::uint64_t messages = traffic_of(row, call, {}).messages;
    return {.name = row.name,
            .messages = messages,
            .skipped = reason_to_skip(row, call, messages, task),
            .build = [&row, call](std::uint32_t rank) {
                coll::Call own = call;
                own.place.rank = rank;
                return row.build(own);
            }};
}

/// For all sizes. Returns whether its graphs come to an end.
bool simulate_plan(const Plan& plan, const coll::Topology& topology, const Task& task)
{
    for (const std::uint64_t bytes : task.bytes) {
        if (plan.skipped) {
            print_skipped(plan.name, bytes, *plan.skipped);
            continue;
        }
        Progress progress(plan.name, bytes, plan.messages);
        const auto found =
            simulate({.build = plan.build,
                      .topology = &topology,
                      .bytes = bytes,
                      .report_progress = [&](std::uint64_t arrived) { progress.report(arrived); }},
                     task.machine);
        if (!found) {
            complain(std::string(plan.name) + ": " + found.sentence());
            return false;
        }
        std::printf("{\"algorithm\": \"%s\", \"bytes\": %llu, \"us\": %.6f, \"messages\": %llu}\n",
                    plan.name.data(), static_cast<unsigned long long>(bytes),
                    static_cast<double>(found.value().time) / 1e6,
                    static_cast<unsigned long long>(found.value().messages));
        std::fflush(stdout);
    }
    return true;
}

/// One of those that stand in no table. Returns the exit code.
int simulate_other(const coll::Topology& topology, const Task& task)
{
    const auto graphs = other_graphs(task.collective, task.other);
    if (!graphs) {
        return complain(graphs.sentence());
    }
    const OtherGraphs& found = graphs.value();
    return simulate_plan({.name = found.name,
                          .messages = found.messages,
                          .skipped = skipped_for(found.messages, task),
                          .build = found.build},
                         topology, task)
               ? 0
               : 1;
}

}  // namespace

int run_sim(std::span<const std::string_view> arguments)
{
    OptionWords words(arguments);
    Task task;
    if (const auto fault = read_task(words, task)) {
        return complain(*fault);
    }
    std::vector<std::uint32_t> node_of_rank(std::size_t{task.nodes} * task.ranks_a_node);
    for (std::uint32_t rank = 0; rank < node_of_rank.size(); ++rank) {
        node_of_rank[rank] = rank / task.ranks_a_node;
    }
    const coll::Topology topology(node_of_rank);
    if (is_other(task.collective)) {
        return simulate_other(topology, task);
    }
    for (const coll::Row& row : coll::table()) {
        if (is_wanted(row, task) && !simulate_plan(plan_of(row, topology, task), topology, task)) {
            return 1;
        }
    }
    return 0;
}

}  // namespace headway::study
