// SPDX-License-Identifier: Apache-2.0
#include "study/fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>

#include "study/simulator.hpp"

namespace headway::study {

namespace {

/// Each with its first guess; that of a 0 follows from what was measured.
constexpr std::pair<std::string_view, double> wanted[] = {
    {"overhead_us", 0.1},          {"node_latency_us", 0.0}, {"node_gigabytes", 15.0},
    {"node_long_gigabytes", 15.0}, {"node_offer_us", 0.0},   {"switch_us", 1.0},
    {"reduce_gigabytes", 15.0},    {"copy_gigabytes", 15.0},
};
constexpr std::size_t keys_max = std::size(wanted);

// How sure the first guesses are: the standard error of their logarithms. They count by that as the
// times count by what these miss by.
constexpr double guess_error = 1.5;
constexpr double pull_first = 0.01;
constexpr double pull_least = 1e-4;
constexpr int weighings = 2;
// Beyond, a miss counts by its size, no longer by its square.
constexpr double usual = 0.2;
constexpr double step = 0.01;     // of a logarithm, for slopes
constexpr double step_max = 2.0;  // of a logarithm, in one round
constexpr int rounds_max = 100;
constexpr double enough = 1e-7;  // a smaller part of the squares is not worth another round

using Vector = std::vector<double>;
using Row = std::array<double, keys_max>;  // by key; the first ones are in use
using Matrix = std::array<Row, keys_max>;

/// The squares and what makes them up: first what measurements miss by, then what guesses do.
struct Misses {
    Vector each;
    double squares = 0.0;
};

class Search {
  public:
    Search(std::vector<Measurement> measured, const Machine& machine);

    /// Goes down from the guesses, with this one for the overhead.
    base::Outcome go(double overhead_factor);
    double squares() const { return now_.squares; }
    Fitted result() const;

  private:
    Machine machine_at(const Row& logarithms) const;
    base::Result<Misses> misses_at(const Row& logarithms) const;
    /// Goes down from where it is.
    base::Outcome descend();
    base::Outcome take_slopes();
    /// What one time misses by.
    double noise() const;
    Row step_with(double damping) const;
    /// Of slopes_, each with each.
    Matrix products() const;

    std::vector<Measurement> measured_;
    Machine machine_;
    std::vector<const MachineKey*> keys_;
    Row guess_{};  ///< logarithms
    Row at_{};
    double pull_ = pull_first;  ///< of a guess, beside a time
    Misses now_;
    std::vector<Vector> slopes_;  ///< by key, of each miss
};

/// Solves matrix * x = right for a symmetric positive matrix of that size, which it uses up.
Row solve(Matrix matrix, Row right, std::size_t size)
{
    for (std::size_t pivot = 0; pivot < size; ++pivot) {
        for (std::size_t row = pivot + 1; row < size; ++row) {
            const double factor = matrix[row][pivot] / matrix[pivot][pivot];
            for (std::size_t column = pivot; column < size; ++column) {
                matrix[row][column] -= factor * matrix[pivot][column];
            }
            right[row] -= factor * right[pivot];
        }
    }
    for (std::size_t row = size; row-- > 0;) {
        for (std::size_t column = row + 1; column < size; ++column) {
            right[row] -= matrix[row][column] * right[column];
        }
        right[row] /= matrix[row][row];
    }
    return right;
}

Search::Search(std::vector<Measurement> measured, const Machine& machine)
    : measured_(std::move(measured)), machine_(machine)
{
    const auto by_time = [](const Measurement& each) { return each.us; };
    const double least_us = std::ranges::min(measured_, {}, by_time).us;
    const bool is_shared =
        machine.cores != 0 && std::ranges::any_of(measured_, [&](const Measurement& each) {
            return each.ranks > machine.cores;
        });
    for (const auto& [name, guess] : wanted) {
        if (name != "switch_us" || is_shared) {
            guess_[keys_.size()] = std::log(guess != 0.0 ? guess : least_us / 2.0);
            keys_.push_back(find_machine_key(name));
        }
    }
}

/// Huber's: so that one disturbed time does not outweigh many good ones.
double limited(double miss)
{
    const double size = std::abs(miss);
    return size <= usual ? miss : std::copysign(std::sqrt(usual * (2.0 * size - usual)), miss);
}

Machine Search::machine_at(const Row& logarithms) const
{
    Machine machine = machine_;
    for (std::size_t key = 0; key < keys_.size(); ++key) {
        keys_[key]->set(machine, std::exp(logarithms[key]));
    }
    return machine;
}

base::Result<Misses> Search::misses_at(const Row& logarithms) const
{
    const Machine machine = machine_at(logarithms);
    Misses misses;
    for (const Measurement& each : measured_) {
        const auto us = simulated_us(each, machine);
        if (!us) {
            return base::Failure{us.sentence()};
        }
        // Whole picoseconds: a machine without any costs takes none.
        misses.each.push_back(limited(std::log(std::max(us.value(), 1e-6) / each.us)));
    }
    for (std::size_t key = 0; key < keys_.size(); ++key) {
        misses.each.push_back(pull_ * (logarithms[key] - guess_[key]));
    }
    for (const double miss : misses.each) {
        misses.squares += miss * miss;
    }
    return misses;
}

base::Outcome Search::take_slopes()
{
    slopes_.clear();
    for (std::size_t key = 0; key < keys_.size(); ++key) {
        Row beside = at_;
        beside[key] += step;
        auto found = misses_at(beside);
        if (!found) {
            return base::Failure{found.sentence()};
        }
        Vector& slope = slopes_.emplace_back(std::move(found.value().each));
        for (std::size_t index = 0; index < slope.size(); ++index) {
            slope[index] = (slope[index] - now_.each[index]) / step;
        }
    }
    return base::Done{};
}

Matrix Search::products() const
{
    Matrix matrix{};
    for (std::size_t row = 0; row < keys_.size(); ++row) {
        for (std::size_t column = 0; column < keys_.size(); ++column) {
            matrix[row][column] = std::inner_product(slopes_[row].begin(), slopes_[row].end(),
                                                     slopes_[column].begin(), 0.0);
        }
    }
    return matrix;
}

/// Levenberg and Marquardt's.
Row Search::step_with(double damping) const
{
    Matrix matrix = products();
    Row right{};
    for (std::size_t row = 0; row < keys_.size(); ++row) {
        matrix[row][row] *= 1.0 + damping;
        right[row] =
            -std::inner_product(slopes_[row].begin(), slopes_[row].end(), now_.each.begin(), 0.0);
    }
    Row taken = solve(matrix, right, keys_.size());
    for (double& each : taken) {
        each = std::clamp(each, -step_max, step_max);
    }
    return taken;
}

base::Outcome Search::go(double overhead_factor)
{
    at_ = guess_;
    at_[0] += std::log(overhead_factor);
    auto descended = descend();
    for (int weighing = 0; weighing < weighings && descended; ++weighing) {
        pull_ = std::max(noise() / guess_error, pull_least);
        descended = descend();
    }
    return descended;
}

double Search::noise() const
{
    const std::span<const double> times(now_.each.data(), measured_.size());
    const double free =
        std::max(1.0, static_cast<double>(measured_.size()) - static_cast<double>(keys_.size()));
    return std::sqrt(std::inner_product(times.begin(), times.end(), times.begin(), 0.0) / free);
}

base::Outcome Search::descend()
{
    auto begun = misses_at(at_);
    if (!begun) {
        return base::Failure{begun.sentence()};
    }
    now_ = std::move(begun.value());
    double damping = 0.1;
    for (int round = 0; round < rounds_max && damping < 1e6; ++round) {
        if (auto slopes = take_slopes(); !slopes) {
            return slopes;
        }
        bool is_better = false;
        double gain = 0.0;
        while (!is_better && damping < 1e6) {
            Row next = at_;
            const Row taken = step_with(damping);
            for (std::size_t key = 0; key < keys_.size(); ++key) {
                next[key] += taken[key];
            }
            auto found = misses_at(next);
            if (!found) {
                return base::Failure{found.sentence()};
            }
            is_better = found.value().squares < now_.squares;
            if (is_better) {
                gain = now_.squares - found.value().squares;
                at_ = next;
                now_ = std::move(found.value());
            }
            damping *= is_better ? 0.2 : 4.0;
        }
        if (is_better && gain < enough * now_.squares) {
            break;
        }
    }
    return take_slopes();
}

Fitted Search::result() const
{
    Fitted fitted{.machine = machine_at(at_), .keys = {}};
    // As the guesses were weighed by: what no time tells is as uncertain as its guess.
    const double miss = pull_ * guess_error;
    for (std::size_t key = 0; key < keys_.size(); ++key) {
        Row unit{};
        unit[key] = 1.0;
        const double variance = std::max(solve(products(), unit, keys_.size())[key], 0.0);
        fitted.keys.push_back({keys_[key], std::exp(at_[key]), miss * std::sqrt(variance)});
    }
    return fitted;
}

}  // namespace

base::Result<double> simulated_us(const Measurement& measurement, const Machine& machine)
{
    const std::vector<std::uint32_t> node_of_rank(measurement.ranks, 0);
    const coll::Topology topology(node_of_rank);
    coll::Call call{.place = {0, measurement.ranks, false},
                    .tuning = measurement.tuning,
                    .topology = &topology};
    const auto found = simulate({.build =
                                     [&](std::uint32_t rank) {
                                         call.place.rank = rank;
                                         return measurement.row->build(call);
                                     },
                                 .topology = &topology,
                                 .bytes = measurement.bytes,
                                 .report_progress = {}},
                                machine);
    if (!found) {
        return base::Failure{std::string(measurement.row->name) + ": " + found.sentence()};
    }
    return static_cast<double>(found.value().time) / 1e6;
}

base::Result<Fitted> fit(std::span<const Measurement> measurements, const Machine& machine)
{
    std::vector<Measurement> measured;
    std::ranges::copy_if(measurements, std::back_inserter(measured),
                         [](const Measurement& each) { return each.us > 0.0; });
    if (measured.empty()) {
        return base::Failure{"nothing was measured, so nothing can be fitted"};
    }
    // Where one message is under way at a time, overhead and latency look alike, and the search
    // may end beside the best place: so it begins at several.
    Search best(measured, machine);
    if (auto found = best.go(1.0); !found) {
        return base::Failure{found.sentence()};
    }
    for (const double factor : {0.1, 10.0}) {
        Search other(measured, machine);
        if (auto found = other.go(factor); !found) {
            return base::Failure{found.sentence()};
        }
        if (other.squares() < best.squares()) {
            best = std::move(other);
        }
    }
    return best.result();
}

}  // namespace headway::study
