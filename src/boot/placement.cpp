// SPDX-License-Identifier: Apache-2.0
#include "boot/placement.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "boot/places.hpp"
#include "platform/process.hpp"

namespace headway::boot {

namespace {

std::string where_key(int process)
{
    return "headway-where-" + std::to_string(process);
}

/// Nodes of all processes, from what each has said of its own.
base::Result<std::vector<int>> compare_words(Boot& boot)
{
    std::map<std::string, int> numbers;
    std::vector<int> nodes;
    for (int process = 0; process < boot.process_count(); ++process) {
        auto where = boot.get(where_key(process));
        if (!where) {
            return base::Failure{where.sentence()};
        }
        const int next = static_cast<int>(numbers.size());
        nodes.push_back(numbers.try_emplace(std::move(where.value()), next).first->second);
    }
    return nodes;
}

base::Result<std::vector<int>> ask_each_other(Boot& boot)
{
    if (auto put = boot.put(where_key(boot.process_index()), platform::node_identity()); !put) {
        return base::Failure{put.sentence()};
    }
    if (auto fenced = boot.fence(); !fenced) {
        return base::Failure{fenced.sentence()};
    }
    return compare_words(boot);
}

}  // namespace

int Placement::node_of(int any_place) const noexcept
{
    const auto after = std::ranges::upper_bound(node_firsts, any_place);
    return static_cast<int>(after - node_firsts.begin()) - 1;
}

Placement place_process(const std::vector<int>& nodes, int own)
{
    struct Node {
        int number;  ///< in the order of first processes
        int size = 0;
    };
    std::unordered_map<int, Node> known;
    std::vector<Node*> in_order;
    for (const int node : nodes) {
        const auto [entry, is_new] =
            known.try_emplace(node, Node{static_cast<int>(in_order.size())});
        if (is_new) {
            in_order.push_back(&entry->second);
        }
        ++entry->second.size;
    }
    const int own_node = nodes[static_cast<std::size_t>(own)];
    Placement found;
    found.node_count = static_cast<int>(in_order.size());
    found.node = known.at(own_node).number;
    found.node_size = known.at(own_node).size;
    for (const Node* const node : in_order) {
        const int after = found.node_firsts.back() + node->size;
        if (node != in_order.back()) {
            found.node_firsts.push_back(after);
        }
    }
    found.node_first = found.node_firsts[static_cast<std::size_t>(found.node)];
    found.place = found.node_first +
                  static_cast<int>(std::count(nodes.begin(), nodes.begin() + own, own_node));
    return found;
}

base::Result<std::vector<int>> order_by_place(Boot& boot)
{
    auto nodes = boot.node_map();
    if (nodes && nodes.value().empty() && boot.process_count() > 1) {
        nodes = compare_words(boot);
    }
    if (!nodes) {
        return nodes;
    }
    std::unordered_map<int, std::vector<int>> members;
    std::vector<const std::vector<int>*> in_order;
    for (std::size_t process = 0; process < nodes.value().size(); ++process) {
        const auto [entry, is_new] = members.try_emplace(nodes.value()[process]);
        if (is_new) {
            in_order.push_back(&entry->second);
        }
        entry->second.push_back(static_cast<int>(process));
    }
    std::vector<int> processes;
    for (const auto* const node : in_order) {
        processes.insert(processes.end(), node->begin(), node->end());
    }
    if (std::ranges::is_sorted(processes)) {
        processes.clear();
    }
    return processes;
}

base::Result<Placement> find_placement(Boot& boot)
{
    auto nodes = boot.node_map();
    if (!nodes) {
        return base::Failure{nodes.sentence()};
    }
    if (nodes.value().empty() && boot.process_count() > 1) {
        nodes = ask_each_other(boot);
        if (!nodes) {
            return base::Failure{nodes.sentence()};
        }
    }
    if (nodes.value().empty()) {
        return Placement{};
    }
    return place_process(nodes.value(), boot.process_index());
}

}  // namespace headway::boot
