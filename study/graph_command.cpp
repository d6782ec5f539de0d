// SPDX-License-Identifier: Apache-2.0
#include "study/graph_command.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protocol/coll/choices.hpp"
#include "protocol/coll/topology.hpp"
#include "study/graph_order.hpp"
#include "study/option_words.hpp"
#include "study/other_graphs.hpp"
#include "study/tuning_words.hpp"
#include "study/verifier.hpp"

namespace headway::study {

using engine::Extent;
using engine::Graph;
using engine::GraphNode;
using engine::NodeKind;

namespace {

// A drawing of more is no help to anybody.
constexpr std::uint64_t most_ranks = 64;

int complain(const std::string& sentence)
{
    std::fprintf(stderr, "headway: graph: %s\n", sentence.c_str());
    return 2;
}

struct Task {
    const coll::Row* row = nullptr;    ///< or
    std::optional<OtherGraphs> other;  ///< of a collective that stands in no table
    coll::Call call;
    std::uint32_t size = 1;
    std::uint32_t ranks_a_node = 1;
    bool in_place = false;
};

/// The collective of that name, or the algorithm.
const coll::Row* choose_row(std::string_view collective, std::string_view algorithm,
                            const coll::Shape& shape)
{
    for (const coll::Row& row : coll::table()) {
        if (name_of(row.collective) != collective) {
            continue;
        }
        if (algorithm.empty()) {
            return &coll::row_of(coll::Choices().find(row.collective, shape).algorithm);
        }
        if (row.name == algorithm) {
            return &row;
        }
    }
    return nullptr;
}

/// Takes a collective that stands in no table.
std::optional<std::string> take_other(std::string_view collective, const OtherCall& call,
                                      Task& task)
{
    auto graphs = other_graphs(collective, call);
    if (!graphs) {
        return graphs.sentence();
    }
    task.other = std::move(graphs.value());
    return std::nullopt;
}

/// Finds the algorithm and tunes it.
std::optional<std::string> take_row(std::string_view collective, std::string_view algorithm,
                                    std::uint64_t bytes, std::span<const std::string_view> tuned,
                                    Task& task)
{
    task.row = choose_row(collective, algorithm, {.size = task.size, .bytes = bytes});
    if (task.row == nullptr) {
        return "there is no algorithm" +
               (algorithm.empty() ? "" : " '" + std::string(algorithm) + "'") + " of '" +
               std::string(collective) + "'; there are " + known_names(collective) + ", " +
               other_names();
    }
    task.call.tuning = task.row->tuning;
    for (const std::string_view assignment : tuned) {
        tune(task.call.tuning, *task.row, assignment);
    }
    if (!coll::fits(*task.row, task.size, task.call.tuning)) {
        return std::string(task.row->name) + " wants " +
               (task.row->sizes == coll::Sizes::even
                    ? std::string("an even number of ranks")
                    : "a power of " + std::to_string(task.call.tuning.ports + 1) + " ranks") +
               ", not " + std::to_string(task.size) + "; change --ranks";
    }
    return std::nullopt;
}

std::optional<std::string> read_task(OptionWords& words, Task& task)
{
    task.size = static_cast<std::uint32_t>(words.take_number("--ranks", 8, 1, most_ranks));
    task.ranks_a_node = static_cast<std::uint32_t>(words.take_number("--ppn", 4, 1, most_ranks));
    task.call.root = static_cast<std::uint32_t>(words.take_number("--root", 0, 0, task.size - 1));
    const std::uint64_t bytes = words.take_number("--bytes", 8, 0, std::uint64_t{1} << 40);
    const std::string_view algorithm = words.take("--algorithm").value_or("");
    task.in_place = words.take_flag("--in-place");
    const OtherCall other{
        .size = task.size,
        .root = task.call.root,
        .first_size = static_cast<std::uint32_t>(words.take_number("--first", 0, 1, most_ranks)),
        .width = static_cast<std::uint32_t>(words.take_number("--width", 0, 1, most_ranks))};
    std::vector<std::string_view> tuned;
    while (const auto assignment = words.take("--set")) {
        if (!is_of_tuning(*assignment)) {
            return "'" + std::string(*assignment) + "' cannot be set; " + std::string(tuning_keys) +
                   " can, like radix=4";
        }
        if (auto fault = fault_of_tuning(*assignment)) {
            return fault;
        }
        tuned.push_back(*assignment);
    }
    if (words.fault()) {
        return words.fault();
    }
    if (words.rest().size() != 1) {
        return words.rest().empty() ? std::string("name a collective, like allreduce")
                                    : "'" + std::string(words.rest().back()) +
                                          "' is no option; one collective is drawn at a time";
    }
    const std::string_view collective = words.rest().front();
    if (is_other(collective) && (algorithm.empty() || algorithm == collective)) {
        return take_other(collective, other, task);
    }
    if (other.first_size != 0 || other.width != 0) {
        return "--first and --width are for collectives of another kind: " + other_names();
    }
    return take_row(collective, algorithm, bytes, tuned, task);
}

const char* name_of(NodeKind kind)
{
    switch (kind) {
        case NodeKind::send:
            return "send";
        case NodeKind::receive:
            return "receive";
        case NodeKind::copy:
            return "copy";
        case NodeKind::publish:
            return "publish";
        case NodeKind::wait:
            return "wait";
        case NodeKind::peer_copy:
            return "peer_copy";
        case NodeKind::peer_reduce:
            return "peer_reduce";
        case NodeKind::reduce:
            break;
    }
    return "reduce";
}

void print_extent(const char* key, Extent extent)
{
    std::printf(", \"%s\": [\"%s\", %u, %u]", key, study::name_of(extent.space).data(),
                extent.first_block, extent.block_count);
}

void print_graph(const Graph& graph, std::uint32_t machine_node)
{
    std::printf("{\"node\": %u, \"nodes\": [", machine_node);
    for (Graph::NodeIndex i = 0; i < graph.nodes().size(); ++i) {
        const GraphNode& step = graph.nodes()[i];
        std::printf("%s\n{\"kind\": \"%s\"", i == 0 ? "" : ",", name_of(step.kind));
        if (is_message(step.kind) || reads_peer(step.kind)) {
            std::printf(", \"peer\": %u", step.peer);
        }
        if (is_message(step.kind)) {
            std::printf(", \"slot\": %u", step.slot);
        }
        if (has_own_source(step.kind) || reads_peer(step.kind)) {
            print_extent("source", step.source);
        }
        if (has_target(step.kind)) {
            print_extent("target", step.target);
        }
        std::printf("}");
    }
    std::printf("], \"edges\": [");
    const GraphOrder order(graph);
    const char* comma = "";
    for (Graph::NodeIndex before = 0; before < graph.nodes().size(); ++before) {
        std::vector<Graph::NodeIndex> after(order.after(before).begin(), order.after(before).end());
        std::ranges::sort(after);
        after.erase(std::ranges::unique(after).begin(), after.end());
        for (const Graph::NodeIndex node : after) {
            const bool is_implied = std::ranges::any_of(
                after, [&](Graph::NodeIndex other) { return order.is_before(other, node); });
            if (!is_implied) {
                std::printf("%s[%u, %u]", comma, before, node);
                comma = ", ";
            }
        }
    }
    std::printf("]}");
}

}  // namespace

int run_graph(std::span<const std::string_view> arguments)
{
    OptionWords words(arguments);
    Task task;
    if (const auto fault = read_task(words, task)) {
        return complain(*fault);
    }
    std::vector<std::uint32_t> node_of_rank(task.size);
    for (std::uint32_t rank = 0; rank < task.size; ++rank) {
        node_of_rank[rank] = rank / task.ranks_a_node;
    }
    const coll::Topology topology(node_of_rank);
    task.call.topology = &topology;
    const std::string_view name = task.other ? task.other->name : task.row->name;
    const std::string_view collective = task.other ? name : coll::name_of(task.row->collective);
    std::printf("{\"algorithm\": \"%s\", \"collective\": \"%s\", \"ranks\": [", name.data(),
                collective.data());
    for (std::uint32_t rank = 0; rank < task.size; ++rank) {
        std::printf("%s\n", rank == 0 ? "" : ",");
        if (task.other) {
            print_graph(task.other->build(rank), 0);
            continue;
        }
        const bool in_place =
            task.in_place &&
            (task.row->in_place == coll::InPlace::everyone ||
             (task.row->in_place == coll::InPlace::root && rank == task.call.root));
        task.call.place = {rank, task.size, in_place};
        print_graph(task.row->build(task.call),
                    task.row->reads.topology ? topology.node_of(rank) : 0);
    }
    std::printf("]}\n");
    return 0;
}

}  // namespace headway::study
