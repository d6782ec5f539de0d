// SPDX-License-Identifier: Apache-2.0
// Fits the numbers of a machine to measured times of collectives on one node, so that simulated
// times come as near to them as they can: least squares of the logarithms of their ratios, that is
// of relative errors; large ones, which a disturbed machine makes, count less. What is fitted is
// what the simulator computes, not formulas beside it.
//
// A number that the measurements say little of stays near its first guess: a weak pull goes there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "protocol/coll/table.hpp"
#include "study/machine.hpp"

namespace headway::study {

namespace coll = protocol::coll;

/// One algorithm, called by so many ranks of a node at the same moment.
struct Measurement {
    const coll::Row* row = nullptr;
    coll::Tuning tuning{};
    std::uint32_t ranks = 0;
    std::uint64_t bytes = 0;
    double us = 0.0;  ///< from there to the end of the last rank; 0: not measured
};

/// Requires: the algorithm serves so many ranks.
base::Result<double> simulated_us(const Measurement& measurement, const Machine& machine);

struct FittedKey {
    const MachineKey* key;
    double value;
    double error;  ///< standard error, as a part of the value
};

struct Fitted {
    Machine machine;
    std::vector<FittedKey> keys;
};

/// `machine` says what is not fitted: cores, eager_bytes and all between nodes. Measurements with
/// us = 0 are passed over. Failure: there are none, or a graph comes to a standstill.
base::Result<Fitted> fit(std::span<const Measurement> measurements, const Machine& machine);

}  // namespace headway::study
