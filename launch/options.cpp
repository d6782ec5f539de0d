// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "boot/pmi1_line.hpp"
#include "option_table.hpp"

namespace headway::launch {
namespace {

constexpr int rank_count_max = 65536;

base::Failure refuse(const std::string& option, const std::string& why)
{
    return {"option " + option + ": " + why};
}

std::string_view without_dashes(std::string_view word) noexcept
{
    word.remove_prefix(word.starts_with("--") ? 2 : 1);
    return word;
}

const Option* find_option(std::string_view name) noexcept
{
    const auto table = option_table();
    const auto found = std::find_if(table.begin(), table.end(),
                                    [name](const Option& each) { return each.name == name; });
    return found == table.end() ? nullptr : &*found;
}

std::size_t edit_distance(std::string_view from, std::string_view to)
{
    std::vector<std::size_t> row(to.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < from.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < to.size(); ++j) {
            const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

std::vector<std::string> split(std::string_view text, char separator)
{
    std::vector<std::string> parts;
    while (true) {
        const std::size_t end = text.find(separator);
        parts.emplace_back(text.substr(0, end));
        if (end == std::string_view::npos) {
            return parts;
        }
        text.remove_prefix(end + 1);
    }
}

/// Reads one command line from left to right.
class Reader {
  public:
    explicit Reader(std::span<const std::string> arguments) : rest_(arguments) {}

    base::Result<Options> read();

  private:
    base::Outcome read_program();
    base::Outcome read_option(const std::string& word);
    base::Outcome apply(const Option& option);
    base::Outcome apply_environment(const Option& option);
    base::Outcome apply_placement(const Option& option);
    base::Outcome apply_layout(const Option& option);
    base::Outcome apply_ranks(const Option& option);
    base::Outcome choose_initial_handler();
    base::Outcome choose_host();
    base::Outcome check_hosting() const;
    base::Outcome check_scheduling() const;
    base::Outcome set_variable(std::vector<std::pair<std::string, std::string>>& into);
    base::Outcome choose_hosts(base::Result<Allocation> hosts);
    base::Outcome bind_to(std::string_view what);
    base::Outcome map_by();
    base::Result<int> count_value(int max) const;
    base::Outcome store_count(int max, int& into) const;

    std::span<const std::string> rest_;
    Options options_;
    Program program_;
    std::string for_ult_;              ///< an option that only user-level ranks have
    std::string for_threads_;          ///< one that only ranks of one process have
    std::string spelling_;             ///< of the option being read, for messages
    std::vector<std::string> values_;  ///< of the option being read
};

base::Result<Options> Reader::read()
{
    do {
        program_ = Program{};
        if (auto outcome = read_program(); !outcome) {
            return base::Failure{outcome.sentence()};
        }
        if (options_.request != Request::run) {
            return options_;
        }
        options_.programs.push_back(program_);
        if (options_.rank_count() > rank_count_max) {
            return base::Failure{"more than " + std::to_string(rank_count_max) +
                                 " ranks on one machine are not possible"};
        }
    } while (!rest_.empty());
    if (const auto outcome = check_hosting(); !outcome) {
        return base::Failure{outcome.sentence()};
    }
    return options_;
}

/// What depends on what a rank is, wherever --ranks stands.
base::Outcome Reader::check_hosting() const
{
    const bool is_process = options_.rank_host == RankHost::process;
    if (options_.has_label && !is_process) {
        return base::Failure{
            "--label cannot tell ranks apart that are threads of one process and share its "
            "output; leave it out, or use --ranks process"};
    }
    if (!for_threads_.empty() && is_process) {
        return refuse(for_threads_, "is for ranks of one process; use --ranks thread or ult");
    }
    if (options_.processes_per_node > options_.rank_count()) {
        return refuse("--processes-per-node", "more processes than the job has ranks (" +
                                                  std::to_string(options_.rank_count()) +
                                                  "); take fewer");
    }
    if (options_.rank_host != RankHost::ult) {
        return for_ult_.empty() ? base::Outcome(base::Done{})
                                : refuse(for_ult_, "is for user-level ranks; use --ranks ult");
    }
    return check_scheduling();
}

base::Outcome Reader::check_scheduling() const
{
    for (const Program& each : options_.programs) {
        if (each.directory != options_.programs.front().directory) {
            return base::Failure{
                "user-level ranks have one working directory; give all programs the same --wdir, "
                "or use --ranks thread"};
        }
    }
    if (options_.scheduling.seed != 0 && options_.scheduling.workers > 1) {
        return base::Failure{
            "with --schedule-seed there is one worker; leave out --workers, or set it to 1"};
    }
    if (options_.scheduling.seed != 0 && options_.processes_per_node > 1) {
        return base::Failure{
            "with --schedule-seed one worker runs all ranks; leave out --processes-per-node"};
    }
    if (options_.scheduling.workers != 0 &&
        options_.scheduling.workers < options_.processes_per_node) {
        return base::Failure{"--workers are those of all processes, and each needs one; take " +
                             std::to_string(options_.processes_per_node) +
                             " or more, or fewer --processes-per-node"};
    }
    return base::Done{};
}

/// A size with an optional suffix, in KiB.
base::Result<int> kib_of(const std::string& text)
{
    constexpr long kib_max = 1L << 20;
    char* end = nullptr;
    const long number = std::strtol(text.c_str(), &end, 10);
    const std::string_view suffix(end);
    const long factor = suffix == "G" ? 1L << 20 : suffix == "M" ? 1L << 10 : 1;
    const bool is_known = suffix == "K" || suffix == "M" || suffix == "G";
    if (end == text.c_str() || !is_known || number < 1 || number > kib_max / factor ||
        number * factor < 64) {
        return base::Failure{"takes 64K to 1G, with a suffix K, M or G, not " +
                             boot::quote_bytes(text)};
    }
    return static_cast<int>(number * factor);
}

base::Outcome Reader::choose_host()
{
    constexpr std::pair<std::string_view, RankHost> hosts[] = {
        {"process", RankHost::process}, {"thread", RankHost::thread}, {"ult", RankHost::ult}};
    for (const auto& [name, host] : hosts) {
        if (values_[0] == name) {
            options_.rank_host = host;
            return base::Done{};
        }
    }
    return refuse(spelling_, "is process, thread or ult, not " + boot::quote_bytes(values_[0]));
}

base::Outcome Reader::apply_ranks(const Option& option)
{
    Scheduling& scheduling = options_.scheduling;
    const bool is_for_both = option.action == Action::stack_size ||
                             option.action == Action::processes_per_node ||
                             option.action == Action::shared_library;
    (is_for_both ? for_threads_ : for_ult_) = spelling_;
    switch (option.action) {
        case Action::shared_library:
            program_.shared_libraries.push_back(values_[0]);
            return values_[0].empty() ? refuse(spelling_, "takes the name of a library")
                                      : base::Outcome(base::Done{});
        case Action::processes_per_node:
            return store_count(rank_count_max, options_.processes_per_node);
        case Action::workers:
            return store_count(4096, scheduling.workers);
        case Action::schedule_seed:
            return store_count(1'000'000, scheduling.seed);
        case Action::bind_ranks:
            scheduling.binds_ranks = true;
            return base::Done{};
        case Action::report_workers:
            scheduling.reports = true;
            return base::Done{};
        case Action::sleeps:
            scheduling.sleeps_suspend = values_[0] == "suspend";
            return values_[0] == "suspend" || values_[0] == "block"
                       ? base::Outcome(base::Done{})
                       : refuse(spelling_,
                                "is suspend or block, not " + boot::quote_bytes(values_[0]));
        default: {
            const auto kib = kib_of(values_[0]);
            if (!kib) {
                return refuse(spelling_, kib.sentence());
            }
            options_.stack_kib = kib.value();
            return base::Done{};
        }
    }
}

base::Outcome Reader::choose_initial_handler()
{
    for (const std::string_view name :
         {"mpi_errors_are_fatal", "mpi_errors_abort", "mpi_errors_return"}) {
        if (values_[0] == name) {
            options_.environment.set.emplace_back("HEADWAY_INITIAL_ERRHANDLER", name);
            return base::Done{};
        }
    }
    return refuse(spelling_,
                  "is mpi_errors_are_fatal, mpi_errors_abort or mpi_errors_return, not " +
                      boot::quote_bytes(values_[0]));
}

base::Outcome Reader::read_program()
{
    while (!rest_.empty() && rest_.front().size() > 1 && rest_.front().front() == '-') {
        const std::string word = rest_.front();
        rest_ = rest_.subspan(1);
        if (word == "--") {
            break;
        }
        if (auto outcome = read_option(word); !outcome || options_.request != Request::run) {
            return outcome;
        }
    }
    const auto end = std::find(rest_.begin(), rest_.end(), ":");
    program_.arguments.assign(rest_.begin(), end);
    const bool is_last = end == rest_.end();
    rest_ = rest_.subspan(program_.arguments.size() + (is_last ? 0 : 1));
    if (program_.arguments.empty() || (!is_last && rest_.empty())) {
        return base::Failure{
            "no program to start; give one after the options, as in "
            "mpiexec -n 4 ./program"};
    }
    return base::Done{};
}

base::Outcome Reader::read_option(const std::string& word)
{
    std::string name(without_dashes(word));
    values_.clear();
    spelling_ = word;
    const std::size_t equals = name.find('=');
    const Option* option = find_option(name);
    if (option == nullptr && equals != std::string::npos) {
        values_.push_back(name.substr(equals + 1));
        name.resize(equals);
        spelling_ = word.substr(0, word.find('='));
        option = find_option(name);
        if (option != nullptr && option->value_count == 0) {
            return refuse(spelling_, "takes no value");
        }
    }
    if (option == nullptr) {
        const std::string near = nearest_option(name);
        return base::Failure{"unknown option " + spelling_ + "; " +
                             (near.empty() ? "" : "did you mean --" + near + "? ") +
                             "mpiexec --help lists what there is"};
    }
    while (values_.size() < static_cast<std::size_t>(option->value_count)) {
        if (rest_.empty()) {
            return refuse(spelling_, "its value is missing");
        }
        values_.push_back(rest_.front());
        rest_ = rest_.subspan(1);
    }
    return apply(*option);
}

base::Outcome Reader::apply(const Option& option)
{
    switch (option.action) {
        case Action::set_variable:
        case Action::export_variable:
        case Action::set_variable_for_all:
        case Action::keep_variables:
        case Action::keep_variables_for_all:
        case Action::keep_no_variable:
        case Action::keep_no_variable_for_all:
            return apply_environment(option);
        case Action::bind_to:
        case Action::map_by:
        case Action::cpus_per_rank:
        case Action::hosts:
        case Action::host_file:
            return apply_placement(option);
        case Action::shared_library:
        case Action::processes_per_node:
        case Action::workers:
        case Action::bind_ranks:
        case Action::stack_size:
        case Action::sleeps:
        case Action::report_workers:
        case Action::schedule_seed:
            return apply_ranks(option);
        case Action::report_bindings:
            options_.reports_bindings = true;
            return base::Done{};
        case Action::report:
            options_.environment.set.emplace_back("HEADWAY_STATS", "2");
            return base::Done{};
        case Action::progress:
            options_.environment.set.emplace_back("HEADWAY_PROGRESS", values_[0]);
            return base::Done{};
        case Action::memory_kinds:
            options_.environment.set.emplace_back("HEADWAY_MEMORY_ALLOC_KINDS", values_[0]);
            return base::Done{};
        case Action::initial_handler:
            return choose_initial_handler();
        case Action::label:
            options_.has_label = true;
            return base::Done{};
        case Action::help:
            options_.request = Request::help;
            return base::Done{};
        case Action::version:
            options_.request = Request::version;
            return base::Done{};
        case Action::accept:
            return base::Done{};
        case Action::hydra:
            options_.for_hydra.push_back("-" + std::string(option.name));
            options_.for_hydra.insert(options_.for_hydra.end(), values_.begin(), values_.end());
            return base::Done{};
        case Action::refuse:
            return refuse(spelling_, std::string(option.note));
        default:
            return apply_layout(option);
    }
}

base::Outcome Reader::apply_layout(const Option& option)
{
    switch (option.action) {
        case Action::rank_count:
            program_.has_count = true;
            return store_count(rank_count_max, program_.rank_count);
        case Action::per_node: {
            const auto outcome = store_count(rank_count_max, options_.per_host);
            if (!program_.has_count) {
                program_.rank_count = std::max(options_.per_host, 1);
            }
            return outcome;
        }
        case Action::directory:
            program_.directory = values_[0];
            return base::Done{};
        case Action::ranks:
            return choose_host();
        case Action::standard_input:
            options_.gives_stdin = values_[0] != "none";
            return values_[0] == "none" || values_[0] == "0"
                       ? base::Outcome(base::Done{})
                       : refuse(spelling_, "standard input goes to rank 0 (0) or nobody (none)");
        default: {
            char* end = nullptr;
            options_.timeout_s = std::strtod(values_[0].c_str(), &end);
            const bool is_number = !values_[0].empty() && *end == '\0';
            if (!is_number || !(options_.timeout_s > 0) || !std::isfinite(options_.timeout_s)) {
                return refuse(spelling_, "takes a number of seconds above 0, not " +
                                             boot::quote_bytes(values_[0]));
            }
            return base::Done{};
        }
    }
}

base::Outcome Reader::apply_environment(const Option& option)
{
    switch (option.action) {
        case Action::set_variable:
            return set_variable(program_.environment.set);
        case Action::set_variable_for_all:
            return set_variable(options_.environment.set);
        case Action::export_variable:
            if (values_[0].find('=') == std::string::npos) {
                const char* value = std::getenv(values_[0].c_str());
                if (value != nullptr) {
                    program_.environment.set.emplace_back(values_[0], value);
                }
                return base::Done{};
            }
            return set_variable(program_.environment.set);
        case Action::keep_variables:
            program_.environment.kept = split(values_[0], ',');
            return base::Done{};
        case Action::keep_variables_for_all:
            options_.environment.kept = split(values_[0], ',');
            return base::Done{};
        case Action::keep_no_variable:
            program_.environment.kept.emplace();
            return base::Done{};
        default:
            options_.environment.kept.emplace();
            return base::Done{};
    }
}

base::Outcome Reader::set_variable(std::vector<std::pair<std::string, std::string>>& into)
{
    const std::size_t equals = values_[0].find('=');
    if (equals == 0 || values_[0].empty()) {
        return refuse(spelling_, "the name of the variable is empty");
    }
    if (equals != std::string::npos) {
        into.emplace_back(values_[0].substr(0, equals), values_[0].substr(equals + 1));
        return base::Done{};
    }
    if (rest_.empty()) {
        return refuse(spelling_, "give NAME=VALUE, or NAME and VALUE");
    }
    into.emplace_back(values_[0], rest_.front());
    rest_ = rest_.subspan(1);
    return base::Done{};
}

base::Outcome Reader::apply_placement(const Option& option)
{
    switch (option.action) {
        case Action::bind_to:
            return bind_to(values_.empty() ? option.note : values_[0]);
        case Action::map_by:
            return map_by();
        case Action::cpus_per_rank:
            return store_count(1 << 16, options_.cpus_per_rank);
        case Action::host_file:
            return choose_hosts(read_host_file(values_[0]));
        default:
            return choose_hosts(read_host_list(values_[0]));
    }
}

base::Outcome Reader::bind_to(std::string_view what)
{
    const std::string_view kind = what.substr(0, what.find(':'));
    if (kind == "none" || kind == "core") {
        options_.binding = kind == "none" ? Binding::none : Binding::core;
        const std::size_t colon = what.find(':');
        const auto width = colon == std::string_view::npos
                               ? std::nullopt
                               : boot::parse_int(what.substr(colon + 1));
        if (width && *width > 0) {
            options_.cpus_per_rank = *width;
        }
        return base::Done{};
    }
    return refuse(spelling_, "binds to core or none, not " + boot::quote_bytes(what) +
                                 "; --cpus-per-rank N gives a rank several cores");
}

base::Outcome Reader::map_by()
{
    for (const std::string& part : split(values_[0], ':')) {
        const bool is_width = part.starts_with("PE=") || part.starts_with("pe=");
        const auto width =
            is_width ? boot::parse_int(std::string_view(part).substr(3)) : std::nullopt;
        if (is_width && (!width || *width < 1)) {
            return refuse(spelling_, "PE=N takes a number of cores above 0");
        }
        options_.cpus_per_rank = width.value_or(options_.cpus_per_rank);
    }
    return base::Done{};
}

base::Outcome Reader::choose_hosts(base::Result<Allocation> hosts)
{
    if (!hosts) {
        return refuse(spelling_, hosts.sentence());
    }
    options_.hosts = std::move(hosts.value());
    return base::Done{};
}

base::Result<int> Reader::count_value(int max) const
{
    const auto count = boot::parse_int(values_[0]);
    if (!count || *count < 1 || *count > max) {
        return refuse(spelling_, "takes a number from 1 to " + std::to_string(max) + ", not " +
                                     boot::quote_bytes(values_[0]));
    }
    return *count;
}

base::Outcome Reader::store_count(int max, int& into) const
{
    const auto count = count_value(max);
    if (!count) {
        return base::Failure{count.sentence()};
    }
    into = count.value();
    return base::Done{};
}

}  // namespace

int Options::rank_count() const noexcept
{
    return std::accumulate(programs.begin(), programs.end(), 0,
                           [](int sum, const Program& each) { return sum + each.rank_count; });
}

base::Result<Options> parse_options(std::span<const std::string> arguments)
{
    return Reader(arguments).read();
}

std::string nearest_option(std::string_view name)
{
    std::string best;
    std::size_t best_distance = std::max<std::size_t>(name.size() / 3, 1) + 1;
    for (const Option& option : option_table()) {
        const std::size_t distance = edit_distance(name, option.name);
        if (option.name.size() > 2 && distance < best_distance) {
            best = option.name;
            best_distance = distance;
        }
    }
    return best;
}

}  // namespace headway::launch
