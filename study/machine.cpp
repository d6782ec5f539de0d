// SPDX-License-Identifier: Apache-2.0
#include "study/machine.hpp"

#include <algorithm>
#include <charconv>
#include <functional>

namespace headway::study {

namespace {

constexpr double us = 1e6;
constexpr double most = 1e9;

/// Picoseconds a byte at so many gigabytes a second, and back.
double of_gigabytes(double rate)
{
    return 1000.0 / rate;
}

constexpr MachineKey keys[] = {
    {"overhead_us", "CPU time of a message, at either end", Least::zero,
     [](Machine& machine, double value) { machine.overhead = std::llround(value * us); },
     [](const Machine& machine) { return static_cast<double>(machine.overhead) / us; }},
    {"latency_us", "between nodes", Least::zero,
     [](Machine& machine, double value) {
         machine.between_nodes.latency = std::llround(value * us);
     },
     [](const Machine& machine) {
         return static_cast<double>(machine.between_nodes.latency) / us;
     }},
    {"gigabytes", "a second, of one NIC", Least::above_zero,
     [](Machine& machine, double value) { machine.between_nodes.per_byte = of_gigabytes(value); },
     [](const Machine& machine) { return of_gigabytes(machine.between_nodes.per_byte); }},
    {"message_rate", "million messages a second of one NIC", Least::above_zero,
     [](Machine& machine, double value) { machine.message_gap = std::llround(us / value); },
     [](const Machine& machine) { return us / static_cast<double>(machine.message_gap); }},
    {"nics", "NICs of a node", Least::one_whole,
     [](Machine& machine, double value) { machine.nics = static_cast<std::uint32_t>(value); },
     [](const Machine& machine) { return static_cast<double>(machine.nics); }},
    {"cores", "of a node, shared by its ranks; 0: each has one", Least::zero_whole,
     [](Machine& machine, double value) { machine.cores = static_cast<std::uint32_t>(value); },
     [](const Machine& machine) { return static_cast<double>(machine.cores); }},
    {"switch_us", "of a shared core from one rank to another", Least::zero,
     [](Machine& machine, double value) { machine.switch_time = std::llround(value * us); },
     [](const Machine& machine) { return static_cast<double>(machine.switch_time) / us; }},
    {"node_latency_us", "in a node", Least::zero,
     [](Machine& machine, double value) { machine.in_node.latency = std::llround(value * us); },
     [](const Machine& machine) { return static_cast<double>(machine.in_node.latency) / us; }},
    {"node_gigabytes", "a second that a rank's CPU moves in a node", Least::above_zero,
     [](Machine& machine, double value) { machine.in_node.per_byte = of_gigabytes(value); },
     [](const Machine& machine) { return of_gigabytes(machine.in_node.per_byte); }},
    {"node_long_gigabytes", "the same, of a message that is offered first", Least::above_zero,
     [](Machine& machine, double value) { machine.long_per_byte = of_gigabytes(value); },
     [](const Machine& machine) { return of_gigabytes(machine.long_per_byte); }},
    {"node_offer_us", "in a node, from where both ends of a long message are there", Least::zero,
     [](Machine& machine, double value) { machine.offer = std::llround(value * us); },
     [](const Machine& machine) { return static_cast<double>(machine.offer) / us; }},
    {"reduce_gigabytes", "a second that a rank combines", Least::above_zero,
     [](Machine& machine, double value) { machine.reduce_per_byte = of_gigabytes(value); },
     [](const Machine& machine) { return of_gigabytes(machine.reduce_per_byte); }},
    {"copy_gigabytes", "a second that a rank copies", Least::above_zero,
     [](Machine& machine, double value) { machine.copy_per_byte = of_gigabytes(value); },
     [](const Machine& machine) { return of_gigabytes(machine.copy_per_byte); }},
    {"eager_bytes", "largest message that is not offered first", Least::zero_whole,
     [](Machine& machine, double value) {
         machine.eager_bytes = static_cast<std::uint64_t>(value);
     },
     [](const Machine& machine) { return static_cast<double>(machine.eager_bytes); }},
};

bool is_allowed(Least least, double value)
{
    switch (least) {
        case Least::zero:
            return value >= 0.0;
        case Least::above_zero:
            return value > 0.0;
        case Least::zero_whole:
            return value >= 0.0 && value == std::floor(value);
        case Least::one_whole:
            return value >= 1.0 && value == std::floor(value);
    }
    return false;
}

}  // namespace

std::span<const MachineKey> machine_keys() noexcept
{
    return keys;
}

const MachineKey* find_machine_key(std::string_view name) noexcept
{
    const auto* const found = std::ranges::find(keys, name, &MachineKey::name);
    return found != std::end(keys) ? found : nullptr;
}

std::optional<std::string> set_machine(Machine& machine, std::string_view assignment)
{
    const std::size_t sign = assignment.find('=');
    const std::string_view name = assignment.substr(0, sign);
    const MachineKey* const key = find_machine_key(name);
    if (key == nullptr || sign == std::string_view::npos) {
        return "the machine has no '" + std::string(name) + "' to set; it has\n" +
               text_of_machine_keys();
    }
    const std::string_view text = assignment.substr(sign + 1);
    double value = 0.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    if (!is_number || !is_allowed(key->least, value) || value > most) {
        const bool is_whole = key->least == Least::zero_whole || key->least == Least::one_whole;
        return std::string(name) + " cannot be '" + std::string(text) + "'; give it a " +
               (is_whole ? "whole number like 2" : "number like 2.5");
    }
    key->set(machine, value);
    return std::nullopt;
}

std::string text_of_machine_keys()
{
    std::string text;
    for (const MachineKey& key : keys) {
        text += "  " + std::string(key.name) + "  " + std::string(key.about) + "\n";
    }
    return text;
}

}  // namespace headway::study
