// SPDX-License-Identifier: Apache-2.0
#include "study/machine.hpp"

#include <charconv>
#include <functional>

namespace headway::study {

namespace {

constexpr double us = 1e6;

/// Picoseconds a byte at so many gigabytes a second.
double of_gigabytes(double rate)
{
    return 1000.0 / rate;
}

struct Key {
    std::string_view name;
    std::string_view about;
    bool may_be_zero;
    void (*set)(Machine& machine, double value);
};

constexpr Key keys[] = {
    {"overhead_us", "CPU time of a message, at either end", true,
     [](Machine& machine, double value) { machine.overhead = std::llround(value * us); }},
    {"latency_us", "between nodes", true,
     [](Machine& machine, double value) {
         machine.between_nodes.latency = std::llround(value * us);
     }},
    {"gigabytes", "a second, of one NIC", false,
     [](Machine& machine, double value) { machine.between_nodes.per_byte = of_gigabytes(value); }},
    {"message_rate", "million messages a second of one NIC", false,
     [](Machine& machine, double value) { machine.message_gap = std::llround(us / value); }},
    {"nics", "NICs of a node", false,
     [](Machine& machine, double value) { machine.nics = static_cast<std::uint32_t>(value); }},
    {"node_latency_us", "in a node", true,
     [](Machine& machine, double value) { machine.in_node.latency = std::llround(value * us); }},
    {"node_gigabytes", "a second, of one rank in a node", false,
     [](Machine& machine, double value) { machine.in_node.per_byte = of_gigabytes(value); }},
    {"reduce_gigabytes", "a second that a rank combines", false,
     [](Machine& machine, double value) { machine.reduce_per_byte = of_gigabytes(value); }},
    {"copy_gigabytes", "a second that a rank copies", false,
     [](Machine& machine, double value) { machine.copy_per_byte = of_gigabytes(value); }},
    {"eager_bytes", "largest message that is not offered first", true,
     [](Machine& machine, double value) {
         machine.eager_bytes = static_cast<std::uint64_t>(value);
     }},
};

}  // namespace

std::optional<std::string> set_machine(Machine& machine, std::string_view assignment)
{
    const std::size_t sign = assignment.find('=');
    const std::string_view name = assignment.substr(0, sign);
    for (const Key& key : keys) {
        if (key.name != name || sign == std::string_view::npos) {
            continue;
        }
        const std::string_view text = assignment.substr(sign + 1);
        double value = 0.0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool is_number = error == std::errc() && end == text.data() + text.size();
        const double least = key.name == "nics" ? 1.0 : 0.0;
        if (!is_number || value < least || value > 1e9 || (value == 0.0 && !key.may_be_zero)) {
            return std::string(name) + " cannot be '" + std::string(text) +
                   "'; give it a number like 2.5";
        }
        key.set(machine, value);
        return std::nullopt;
    }
    return "the machine has no '" + std::string(name) + "' to set; it has\n" + machine_keys();
}

std::string machine_keys()
{
    std::string text;
    for (const Key& key : keys) {
        text += "  " + std::string(key.name) + "  " + std::string(key.about) + "\n";
    }
    return text;
}

}  // namespace headway::study
