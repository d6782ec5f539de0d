// SPDX-License-Identifier: Apache-2.0
#include "boot/pmi1_line.hpp"

#include <algorithm>
#include <charconv>

namespace headway::boot {
namespace {

bool is_printable(char byte) noexcept
{
    return byte >= ' ' && byte <= '~';
}

/// Values that people read: some servers put blanks into them.
bool may_hold_blanks(std::string_view key) noexcept
{
    return key == "msg" || key == "reason";
}

base::Failure refuse(std::string_view why, std::string_view text)
{
    return {std::string(why) + ": " + quote_bytes(text)};
}

/// Cuts a number off the front of `rest`; empty when there is none.
std::optional<int> take_int(std::string_view& rest) noexcept
{
    int value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc{}) {
        return std::nullopt;
    }
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return value;
}

bool take(std::string_view& rest, std::string_view literal) noexcept
{
    if (!rest.starts_with(literal)) {
        return false;
    }
    rest.remove_prefix(literal.size());
    return true;
}

/// Highest number of a node, and most nodes.
constexpr int node_max = 1 << 28;

struct Block {
    int first_node;
    int node_count;
    int processes_per_node;
};

std::optional<Block> take_block(std::string_view& rest) noexcept
{
    if (!take(rest, "(")) {
        return std::nullopt;
    }
    const auto first = take_int(rest);
    if (!first || !take(rest, ",")) {
        return std::nullopt;
    }
    const auto count = take_int(rest);
    if (!count || !take(rest, ",")) {
        return std::nullopt;
    }
    const auto size = take_int(rest);
    if (!size || !take(rest, ")") || *first < 0 || *count < 1 || *size < 1 || *first > node_max ||
        *count > node_max) {
        return std::nullopt;
    }
    return Block{*first, *count, *size};
}

/// Appends the nodes of `block` until `nodes` holds `limit` entries.
void append_block(const Block& block, std::size_t limit, std::vector<int>& nodes)
{
    for (int node = 0; node < block.node_count; ++node) {
        for (int process = 0; process < block.processes_per_node; ++process) {
            if (nodes.size() == limit) {
                return;
            }
            nodes.push_back(block.first_node + node);
        }
    }
}

/// A block, or the node of one process.
bool take_nodes(std::string_view& rest, std::size_t limit, std::vector<int>& nodes)
{
    if (rest.starts_with('(')) {
        const auto block = take_block(rest);
        if (block) {
            append_block(*block, limit, nodes);
        }
        return block.has_value();
    }
    const auto node = take_int(rest);
    if (!node || *node < 0 || *node > node_max) {
        return false;
    }
    append_block({*node, 1, 1}, limit, nodes);
    return true;
}

/// `[...,...]xN`: what stands in brackets, N times.
bool take_repeated(std::string_view& rest, std::size_t limit, std::vector<int>& nodes)
{
    std::vector<int> once;
    if (!take(rest, "[") || !take_nodes(rest, limit, once)) {
        return false;
    }
    while (take(rest, ",")) {
        if (!take_nodes(rest, limit, once)) {
            return false;
        }
    }
    if (!take(rest, "]x")) {
        return false;
    }
    const auto times = take_int(rest);
    if (!times || *times < 1) {
        return false;
    }
    for (int time = 0; time < *times && nodes.size() < limit; ++time) {
        const std::size_t left = limit - nodes.size();
        nodes.insert(nodes.end(), once.begin(),
                     once.begin() + static_cast<std::ptrdiff_t>(std::min(left, once.size())));
    }
    return true;
}

}  // namespace

std::optional<std::string_view> Pmi1Line::find(std::string_view key) const noexcept
{
    const auto field = std::find_if(fields_.begin(), fields_.end(),
                                    [key](const Pmi1Field& each) { return each.key == key; });
    if (field == fields_.end()) {
        return std::nullopt;
    }
    return field->value;
}

std::optional<int> Pmi1Line::find_int(std::string_view key) const noexcept
{
    const auto value = find(key);
    return value ? parse_int(*value) : std::nullopt;
}

base::Result<Pmi1Line> parse_pmi1_line(std::string_view text)
{
    if (text.size() > pmi1_line_max) {
        return refuse("a line that is too long", text);
    }
    if (!std::all_of(text.begin(), text.end(), is_printable)) {
        return refuse("a line with bytes that are not text", text);
    }
    std::vector<Pmi1Field> fields;
    std::string_view rest = text;
    while (true) {
        rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
        if (rest.empty()) {
            break;
        }
        const std::string_view word = rest.substr(0, rest.find(' '));
        const std::size_t equals = word.find('=');
        const bool is_pair = equals != std::string_view::npos && equals != 0;
        if (is_pair) {
            const std::string_view key = word.substr(0, equals);
            const bool is_last = key == "message";
            fields.push_back({key, (is_last ? rest : word).substr(equals + 1)});
            rest.remove_prefix(is_last ? rest.size() : word.size());
            continue;
        }
        if (fields.empty() || !may_hold_blanks(fields.back().key)) {
            return refuse("a line with a word that is not key=value", text);
        }
        std::string_view& value = fields.back().value;
        value = {value.data(), static_cast<std::size_t>(word.data() + word.size() - value.data())};
        rest.remove_prefix(word.size());
    }
    if (fields.empty() || (fields.front().key != "cmd" && fields.front().key != "mcmd") ||
        fields.front().value.empty()) {
        return refuse("a line that does not start with a command", text);
    }
    return Pmi1Line(std::move(fields));
}

std::optional<int> parse_int(std::string_view text) noexcept
{
    const auto value = take_int(text);
    return text.empty() ? value : std::nullopt;
}

std::string quote_bytes(std::string_view bytes)
{
    constexpr std::size_t shown_max = 60;
    constexpr std::string_view digits = "0123456789abcdef";
    std::string quoted = "'";
    for (const char byte : bytes.substr(0, shown_max)) {
        if (is_printable(byte)) {
            quoted += byte;
            continue;
        }
        const auto code = static_cast<unsigned char>(byte);
        quoted += "\\x";
        quoted += digits[code >> 4U];
        quoted += digits[code & 15U];
    }
    quoted += bytes.size() > shown_max ? "...'" : "'";
    return quoted;
}

base::Result<std::vector<int>> expand_process_mapping(std::string_view text, int process_count)
{
    if (text.empty()) {
        return std::vector<int>{};
    }
    const auto limit = static_cast<std::size_t>(process_count);
    std::vector<int> nodes;
    std::string_view rest = text;
    if (!take(rest, "(vector")) {
        return refuse("a process mapping that is not a vector", text);
    }
    while (take(rest, ",")) {
        if (!(rest.starts_with('[') ? take_repeated(rest, limit, nodes)
                                    : take_nodes(rest, limit, nodes))) {
            return refuse("a process mapping that cannot be read", text);
        }
    }
    if (rest != ")" || nodes.empty()) {
        return refuse("a process mapping that cannot be read", text);
    }
    const std::size_t period = nodes.size();
    while (nodes.size() < limit) {
        nodes.push_back(nodes[nodes.size() - period]);
    }
    return nodes;
}

}  // namespace headway::boot
