// SPDX-License-Identifier: Apache-2.0
#include "allocation.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <utility>

#include "boot/pmi1_line.hpp"

namespace headway::launch {
namespace {

/// More is a mistake in the text, not a machine.
constexpr std::size_t hosts_max = 100'000;
constexpr int slots_max = 65'536;
constexpr std::string_view blanks = " \t\r\n";

using Words = std::vector<std::string>;

Words words_of(std::string_view text, std::string_view separators)
{
    Words words;
    for (std::size_t end = 0; end != std::string_view::npos;) {
        const std::size_t begin = text.find_first_not_of(separators, end);
        if (begin == std::string_view::npos) {
            break;
        }
        end = text.find_first_of(separators, begin);
        words.emplace_back(text.substr(begin, end == std::string_view::npos ? end : end - begin));
    }
    return words;
}

std::optional<int> slots_of(std::string_view text)
{
    const auto slots = boot::parse_int(text);
    return slots && *slots >= 1 && *slots <= slots_max ? slots : std::nullopt;
}

void add(Allocation& allocation, const std::string& name, int slots)
{
    const auto found = std::ranges::find(allocation.hosts, name, &Host::name);
    if (found == allocation.hosts.end()) {
        allocation.hosts.push_back({name, slots});
    } else {
        found->slots = std::min(found->slots + slots, slots_max);
    }
}

/// NAME or NAME:SLOTS. Several colons are an address of IPv6, which has no slots.
std::optional<Host> host_of(const std::string& word)
{
    if (word.front() == '-') {  // a launcher would take it for an option
        return std::nullopt;
    }
    const std::size_t colon = word.find(':');
    if (colon == std::string::npos || word.find(':', colon + 1) != std::string::npos) {
        return Host{word, 1};
    }
    const auto slots = slots_of(std::string_view(word).substr(colon + 1));
    return slots && colon != 0 ? std::optional(Host{word.substr(0, colon), *slots}) : std::nullopt;
}

bool is_this_machine(std::string_view host)
{
    std::array<char, 256> buffer{};
    ::gethostname(buffer.data(), buffer.size() - 1);
    const std::string_view own(buffer.data());
    if (host == "localhost" || host == "127.0.0.1" || host == "::1" || host == own) {
        return true;
    }
    // One of the two may be the name with its domain, the other without.
    const auto first = [](std::string_view name) { return name.substr(0, name.find('.')); };
    const bool is_short = first(host) == host || first(own) == own;
    return is_short && first(host) == first(own);
}

/// Hosts out of lines of a file; a reader takes one line's words and says whether they make sense.
template <typename ReadLine>
base::Result<Allocation> read_lines(const std::string& path, const std::string& source,
                                    ReadLine&& read_line)
{
    std::ifstream file(path);
    Allocation allocation{.source = source, .hosts = {}};
    const std::string said_by = source.starts_with("--") ? "" : source + ": ";
    if (!file) {
        return base::Failure{said_by + "cannot read " + boot::quote_bytes(path)};
    }
    for (std::string line; std::getline(file, line);) {
        const Words words = words_of(line.substr(0, line.find('#')), blanks);
        if (!words.empty() && !read_line(allocation, words)) {
            return base::Failure{said_by + boot::quote_bytes(path) + " has the line " +
                                 boot::quote_bytes(line) + ", which names no host"};
        }
    }
    if (allocation.hosts.empty()) {
        return base::Failure{said_by + boot::quote_bytes(path) + " names no host"};
    }
    return allocation;
}

/// A line of Hydra's or Open MPI's host files.
bool read_user_line(Allocation& allocation, const Words& words)
{
    auto host = host_of(words[0]);
    if (!host) {
        return false;
    }
    for (std::size_t i = 1; i < words.size(); ++i) {
        const std::string_view word(words[i]);
        if (word.starts_with("slots=")) {
            const auto slots = slots_of(word.substr(6));
            if (!slots) {
                return false;
            }
            host->slots = *slots;
        }
    }
    add(allocation, host->name, host->slots);
    return true;
}

/// A line a slot: PBS, LSF.
bool read_slot_line(Allocation& allocation, const Words& words)
{
    add(allocation, words[0], 1);
    return words.size() == 1;
}

/// Grid Engine: host, slots, queue, processors.
bool read_grid_line(Allocation& allocation, const Words& words)
{
    const auto slots = words.size() < 2 ? std::nullopt : slots_of(words[1]);
    add(allocation, words[0], slots.value_or(1));
    return slots.has_value();
}

class Environment {
  public:
    explicit Environment(const std::vector<std::string>& assignments) : assignments_(assignments) {}

    /// Empty: it is not set.
    std::string value(std::string_view name) const
    {
        for (const std::string& each : assignments_) {
            if (each.size() > name.size() && each.starts_with(name) && each[name.size()] == '=') {
                return each.substr(name.size() + 1);
            }
        }
        return {};
    }

  private:
    const std::vector<std::string>& assignments_;
};

base::Failure no_sense(const std::string& source, const std::string& name, const std::string& value)
{
    return {source + " says " + name + "=" + boot::quote_bytes(value) +
            ", which makes no sense; give the hosts by --hosts, or unset the variable"};
}

/// Slurm's counts of each node: `2(x3),1`. Empty: they make no sense.
std::vector<int> expand_counts(const std::string& text)
{
    std::vector<int> counts;
    for (const std::string& word : words_of(text, ",")) {
        const std::size_t times_at = word.find("(x");
        const auto count = slots_of(std::string_view(word).substr(0, times_at));
        std::optional<int> times = 1;
        if (times_at != std::string::npos) {
            times = word.back() != ')' ? std::nullopt
                                       : slots_of(std::string_view(word).substr(
                                             times_at + 2, word.size() - times_at - 3));
        }
        if (!count || !times || counts.size() + static_cast<std::size_t>(*times) > hosts_max) {
            return {};
        }
        counts.insert(counts.end(), static_cast<std::size_t>(*times), *count);
    }
    return counts;
}

base::Result<Allocation> read_slurm(const Environment& environment)
{
    const std::string id = environment.value("SLURM_JOB_ID");
    const std::string nodes = environment.value("SLURM_JOB_NODELIST");
    Allocation allocation{.source = "Slurm job " + id, .is_slurm = true, .hosts = {}};
    const auto names = expand_host_names(nodes);
    if (!names) {
        return no_sense(allocation.source, "SLURM_JOB_NODELIST", nodes);
    }
    std::vector<int> counts(names.value().size(), 1);
    for (const char* name : {"SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE"}) {
        const std::string text = environment.value(name);
        if (text.empty()) {
            continue;
        }
        counts = expand_counts(text);
        if (counts.size() != names.value().size()) {
            return no_sense(allocation.source, name, text);
        }
        break;
    }
    for (std::size_t i = 0; i < counts.size(); ++i) {
        add(allocation, names.value()[i], counts[i]);
    }
    return allocation;
}

base::Result<Allocation> read_lsf(const Environment& environment)
{
    const std::string source = "LSF job " + environment.value("LSB_JOBID");
    if (const std::string path = environment.value("LSB_DJOB_HOSTFILE"); !path.empty()) {
        return read_lines(path, source, read_slot_line);
    }
    Allocation allocation{.source = source, .hosts = {}};
    const std::string text = environment.value("LSB_MCPU_HOSTS");
    const Words words = words_of(text, blanks);
    for (std::size_t i = 0; i < words.size(); i += 2) {
        const auto slots = i + 1 < words.size() ? slots_of(words[i + 1]) : std::nullopt;
        if (!slots) {
            return no_sense(source, "LSB_MCPU_HOSTS", text);
        }
        add(allocation, words[i], *slots);
    }
    return allocation;
}

/// Appends what `text` stands for behind `stem`; false: it makes no sense.
bool expand_name(const std::string& stem, std::string_view text, std::vector<std::string>& names)
{
    const std::size_t open = text.find('[');
    const std::string before = stem + std::string(text.substr(0, open));
    if (open == std::string_view::npos) {
        names.push_back(before);
        return before.find(']') == std::string::npos && !before.empty() && names.size() < hosts_max;
    }
    const std::size_t close = text.find(']', open);
    const Words ranges = words_of(text.substr(open + 1, close - open - 1), ",");
    if (close == std::string_view::npos || ranges.empty()) {
        return false;
    }
    for (const std::string& range : ranges) {
        const std::size_t dash = range.find('-');
        const std::string first = range.substr(0, dash);
        const std::string last = dash == std::string::npos ? first : range.substr(dash + 1);
        const auto from = boot::parse_int(first);
        const auto to = boot::parse_int(last);
        if (!from || !to || *from < 0 || *from > *to ||
            static_cast<std::size_t>(*to - *from) >= hosts_max) {
            return false;
        }
        for (int number = *from; number <= *to; ++number) {
            std::string digits = std::to_string(number);
            digits.insert(0, first.size() - std::min(first.size(), digits.size()), '0');
            if (!expand_name(before + digits, text.substr(close + 1), names)) {
                return false;
            }
        }
    }
    return true;
}

}  // namespace

bool Allocation::leaves_this_machine() const
{
    return !std::ranges::all_of(hosts, is_this_machine, &Host::name);
}

std::string Allocation::list(std::string_view separator, bool shows_slots) const
{
    std::string text;
    for (const Host& host : hosts) {
        text += text.empty() ? "" : separator;
        text += shows_slots ? host.name + ":" + std::to_string(host.slots) : host.name;
    }
    return text;
}

base::Result<std::vector<std::string>> expand_host_names(std::string_view text)
{
    std::vector<std::string> names;
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        if (i < text.size() && (text[i] != ',' || depth != 0)) {
            depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
            continue;
        }
        if (!expand_name("", text.substr(begin, i - begin), names)) {
            return base::Failure{boot::quote_bytes(text) + " names no hosts"};
        }
        begin = i + 1;
    }
    return names;
}

base::Result<Allocation> read_host_list(std::string_view text)
{
    Allocation allocation{.source = "--hosts", .hosts = {}};
    for (const std::string& word : words_of(text, ",")) {
        const auto host = host_of(word);
        if (!host) {
            return base::Failure{"takes NAME or NAME:SLOTS, not " + boot::quote_bytes(word)};
        }
        add(allocation, host->name, host->slots);
    }
    if (allocation.hosts.empty()) {
        return base::Failure{"names no host"};
    }
    return allocation;
}

base::Result<Allocation> read_host_file(const std::string& path)
{
    return read_lines(path, "--hostfile", read_user_line);
}

base::Result<Allocation> find_allocation(const std::vector<std::string>& environment)
{
    const Environment variables(environment);
    const auto is_set = [&](const char* name) { return !variables.value(name).empty(); };
    if (is_set("SLURM_JOB_ID") && is_set("SLURM_JOB_NODELIST")) {
        return read_slurm(variables);
    }
    if (is_set("LSB_JOBID") && (is_set("LSB_DJOB_HOSTFILE") || is_set("LSB_MCPU_HOSTS"))) {
        return read_lsf(variables);
    }
    if (is_set("PBS_JOBID") && is_set("PBS_NODEFILE")) {
        return read_lines(variables.value("PBS_NODEFILE"),
                          "PBS job " + variables.value("PBS_JOBID"), read_slot_line);
    }
    if (is_set("JOB_ID") && is_set("PE_HOSTFILE")) {
        return read_lines(variables.value("PE_HOSTFILE"),
                          "Grid Engine job " + variables.value("JOB_ID"), read_grid_line);
    }
    return Allocation{};
}

}  // namespace headway::launch
