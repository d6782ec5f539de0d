// SPDX-License-Identifier: Apache-2.0
//
// Machines made up here, their simulated times with noise, and what the fit finds of them.
#include "study/fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "study/machine_file.hpp"

namespace headway::study {
namespace {

constexpr std::uint64_t sizes[] = {8, 1024, 16 << 10, 64 << 10, 512 << 10};

Measurement measurement(const std::string& name, std::uint32_t ranks, std::uint64_t bytes)
{
    const coll::Row& row = *coll::find_row(name);
    return {.row = &row, .tuning = row.tuning, .ranks = ranks, .bytes = bytes, .us = 0.0};
}

double us_of(const Measurement& each, const Machine& machine)
{
    const auto us = simulated_us(each, machine);
    EXPECT_TRUE(us.has_value());
    return us.value();
}

/// Each at most three times or a third of something usual; `slow` is how late everything comes.
Machine machine_of(std::mt19937_64& random, double slow)
{
    std::uniform_real_distribution<double> exponent(-1.0, 1.0);
    Machine machine;
    machine.cores = 2;
    for (const auto& [name, usual] : {std::pair{"overhead_us", 0.1},
                                      {"node_latency_us", slow},
                                      {"node_gigabytes", 12.0},
                                      {"node_long_gigabytes", 20.0},
                                      {"node_offer_us", slow},
                                      {"switch_us", 2.0},
                                      {"reduce_gigabytes", 8.0},
                                      {"copy_gigabytes", 9.0}}) {
        find_machine_key(name)->set(machine, usual * std::pow(3.0, exponent(random)));
    }
    return machine;
}

/// What the machine takes, by some algorithms of 2 to 4 ranks; each time is multiplied by what
/// `noise` returns.
template <typename Noise>
std::vector<Measurement> measured_on(const Machine& machine, const Noise& noise)
{
    std::vector<Measurement> found;
    for (const char* name : {"bcast_binomial", "bcast_pipelined_chain", "reduce_binomial",
                             "allgather_ring", "alltoall_pairwise"}) {
        for (const std::uint32_t ranks : {2u, 3u, 4u}) {
            for (const std::uint64_t bytes : sizes) {
                found.push_back(measurement(name, ranks, bytes));
                found.back().us = us_of(found.back(), machine) * noise();
            }
        }
    }
    return found;
}

Fitted fitted_to(const std::vector<Measurement>& measured)
{
    Machine given;
    given.cores = 2;
    auto found = fit(measured, given);
    EXPECT_TRUE(found.has_value());
    return found.value();
}

/// By how much the fit is wrong about other sizes, algorithms and numbers of ranks, at worst.
double worst_error(const Machine& fitted, const Machine& machine)
{
    double worst = 0.0;
    for (const char* name : {"allreduce_recursive_doubling", "gather_flat", "bcast_binomial"}) {
        for (const std::uint32_t ranks : {2u, 8u}) {
            for (const std::uint64_t bytes : {64u, 4096u, 1u << 20}) {
                const Measurement each = measurement(name, ranks, bytes);
                worst = std::max(worst, std::abs(us_of(each, fitted) / us_of(each, machine) - 1.0));
            }
        }
    }
    return worst;
}

TEST(Fit, FindsTheNumbersOfAMachine)
{
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 random(seed);
        const Machine machine = machine_of(random, seed % 3 == 2 ? 1000.0 : 0.3);
        const Fitted found = fitted_to(measured_on(machine, [] { return 1.0; }));
        ASSERT_EQ(found.keys.size(), 8u);
        for (const FittedKey& each : found.keys) {
            // What the times do not tell, the fit must say.
            const double truth = each.key->get(machine);
            EXPECT_LT(std::abs(std::log(each.value / truth)), 0.02 + 4.0 * each.error)
                << each.key->name << " is " << truth << ", fitted " << each.value;
        }
        EXPECT_LT(worst_error(found.machine, machine), 0.03);
    }
}

TEST(Fit, NoiseAndDisturbedTimesMoveItLittle)
{
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 random(seed);
        const Machine machine = machine_of(random, seed % 3 == 2 ? 1000.0 : 0.3);
        std::normal_distribution<double> noise(0.0, 0.03);
        const Fitted found = fitted_to(measured_on(
            machine, [&] { return std::exp(noise(random)) * (random() % 25 == 0 ? 2.5 : 1.0); }));
        EXPECT_LT(worst_error(found.machine, machine), 0.2);
        for (const FittedKey& each : found.keys) {
            const double truth = each.key->get(machine);
            EXPECT_LT(std::abs(std::log(each.value / truth)), 0.1 + 4.0 * each.error)
                << each.key->name << " is " << truth << ", fitted " << each.value;
        }
    }
}

// With a core for each rank nothing can be known of what shared ones do.
TEST(Fit, SharedCoresAreFittedOnlyWhereThereAreSome)
{
    std::vector<Measurement> measured = measured_on(Machine{}, [] { return 1.0; });
    std::erase_if(measured, [](const Measurement& each) { return each.ranks > 2; });
    for (const FittedKey& each : fitted_to(measured).keys) {
        EXPECT_NE(each.key->name, "switch_us");
    }
}

TEST(Fit, NothingMeasuredIsRefused)
{
    const std::vector<Measurement> wanted = {measurement("bcast_binomial", 2, 8)};
    const auto found = fit(wanted, Machine{});
    ASSERT_FALSE(found.has_value());
    EXPECT_EQ(found.sentence(), "nothing was measured, so nothing can be fitted");
}

TEST(MachineFile, NamesWhatItSays)
{
    const auto machine = parse_machine("# mine\ncores = 2\n\nnode_latency_us=0.5 # short\n", "f");
    ASSERT_TRUE(machine.has_value());
    EXPECT_EQ(machine.value().cores, 2u);
    EXPECT_EQ(machine.value().in_node.latency, 500'000);
    EXPECT_EQ(machine.value().overhead, Machine{}.overhead);
}

TEST(MachineFile, ABrokenOneIsRefusedWithItsLine)
{
    for (const auto& [text, sentence] :
         {std::pair{"cores = 2\nluck = 1\n", "f, line 2: the machine has no 'luck' to set"},
          {"cores = two", "f, line 1: cores cannot be 'two'; give it a whole number like 2"},
          {"node_gigabytes = 0", "f, line 1: node_gigabytes cannot be '0'"},
          {"overhead_us = nan", "f, line 1: overhead_us cannot be 'nan'"},
          {"\noverhead_us 1", "f, line 2: 'overhead_us1' is no line of a machine file"},
          {"cores=2\ncores=3", "f, line 2: 'cores' is there twice"},
          {"# nothing\n", "f says nothing of a machine"},
          {"", "f says nothing of a machine"}}) {
        const auto machine = parse_machine(text, "f");
        ASSERT_FALSE(machine.has_value()) << text;
        EXPECT_EQ(machine.sentence().find(sentence), 0u) << machine.sentence();
    }
    EXPECT_NE(read_machine("/").sentence().find("/ cannot be read"), std::string::npos);
}

}  // namespace
}  // namespace headway::study
