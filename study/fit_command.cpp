// SPDX-License-Identifier: Apache-2.0
#include "study/fit_command.hpp"

#include <charconv>
#include <cstdio>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "protocol/coll/choice_words.hpp"
#include "study/fit.hpp"
#include "study/machine_file.hpp"
#include "study/option_words.hpp"

namespace headway::study {

namespace {

constexpr std::uint64_t ranks_most = 1024;
constexpr std::uint64_t bytes_most = std::uint64_t{1} << 40;

/// A measurement with the words that name it.
struct Line {
    std::string collective;
    std::string algorithm;
    Measurement measurement;
};

int complain(const std::string& sentence)
{
    std::fprintf(stderr, "headway: fit: %s\n", sentence.c_str());
    return 2;
}

std::optional<coll::Collective> collective_of(std::string_view name)
{
    for (std::size_t number = 0; number < coll::chosen_collectives; ++number) {
        const auto each = static_cast<coll::Collective>(number);
        if (name_of(each) == name) {
            return each;
        }
    }
    return std::nullopt;
}

/// Microseconds above 0; 0 for "-".
std::optional<double> time_of(std::string_view text)
{
    double us = 0.0;
    if (text == "-") {
        return us;
    }
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), us);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    return is_number && us > 0.0 && us < 1e12 ? std::optional(us) : std::nullopt;
}

base::Result<Line> parse_line(const std::string& text)
{
    std::istringstream words(text);
    Line line;
    std::string ranks;
    std::string bytes;
    std::string us;
    std::string more;
    if (!(words >> line.collective >> line.algorithm >> ranks >> bytes >> us) || words >> more) {
        return base::Failure{"'" + text + "' is no measurement; write it like bcast binomial 2 " +
                             "4096 0.83"};
    }
    const auto collective = collective_of(line.collective);
    if (!collective) {
        return base::Failure{"there is no collective '" + line.collective + "' to fit to"};
    }
    coll::Choice choice{.collective = *collective};
    if (const auto parsed = coll::parse_algorithm(line.algorithm, choice); !parsed) {
        return base::Failure{parsed.sentence()};
    }
    const auto rank_count = OptionWords::number_of(ranks);
    const auto byte_count = OptionWords::number_of(bytes);
    const auto time = time_of(us);
    if (!rank_count || *rank_count < 1 || *rank_count > ranks_most || !byte_count ||
        *byte_count > bytes_most || !time) {
        return base::Failure{"'" + text + "' wants ranks from 1 to " + std::to_string(ranks_most) +
                             ", bytes, and microseconds above 0 or -"};
    }
    const coll::Row& row = coll::row_of(choice.algorithm);
    line.measurement = {.row = &row,
                        .tuning = choice.tuning,
                        .ranks = static_cast<std::uint32_t>(*rank_count),
                        .bytes = *byte_count,
                        .us = *time};
    if (!coll::fits(row, line.measurement.ranks, choice.tuning)) {
        return base::Failure{line.algorithm + " is not for " + ranks + " ranks"};
    }
    return line;
}

base::Result<std::vector<Line>> read_lines(const std::string& name)
{
    const auto text = text_of_file(name, "a file of measurements");
    if (!text) {
        return base::Failure{text.sentence()};
    }
    std::vector<Line> lines;
    std::istringstream rest(text.value());
    std::string each;
    for (std::size_t number = 1; std::getline(rest, each); ++number) {
        if (each.find_first_not_of(" \t\r") == std::string::npos) {
            continue;
        }
        auto line = parse_line(each);
        if (!line) {
            return base::Failure{name + ", line " + std::to_string(number) + ": " +
                                 line.sentence()};
        }
        lines.push_back(std::move(line.value()));
    }
    return lines;
}

}  // namespace

int run_fit(std::span<const std::string_view> arguments)
{
    OptionWords words(arguments);
    Machine machine;
    while (const auto assignment = words.take("--set")) {
        if (const auto fault = set_machine(machine, *assignment)) {
            return complain(*fault);
        }
    }
    if (words.fault() || words.rest().size() != 1) {
        return complain(words.fault().value_or("name one file of measurements"));
    }
    const auto lines = read_lines(std::string(words.rest().front()));
    if (!lines) {
        return complain(lines.sentence());
    }
    std::vector<Measurement> measurements;
    for (const Line& line : lines.value()) {
        measurements.push_back(line.measurement);
    }
    const auto fitted = fit(measurements, machine);
    if (!fitted) {
        return complain(fitted.sentence());
    }
    for (const FittedKey& each : fitted.value().keys) {
        std::printf("{\"key\": \"%s\", \"value\": %.6g, \"error\": %.4g}\n",
                    std::string(each.key->name).c_str(), each.value, each.error);
    }
    for (const Line& line : lines.value()) {
        const auto us = simulated_us(line.measurement, fitted.value().machine);
        if (!us) {
            return complain(us.sentence());
        }
        std::printf(
            "{\"collective\": \"%s\", \"algorithm\": \"%s\", \"ranks\": %u, "
            "\"bytes\": %llu, \"us\": %.6g, \"predicted_us\": %.6g}\n",
            line.collective.c_str(), line.algorithm.c_str(), line.measurement.ranks,
            static_cast<unsigned long long>(line.measurement.bytes), line.measurement.us,
            us.value());
    }
    return 0;
}

}  // namespace headway::study
