// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

namespace headway::engine {

class Agent;
class Node;
class Worker;

/// How the thread of a process that works for its ranks spends its time (HEADWAY_PROGRESS). The
/// thread itself is Agent's; idle ranks help under every executor.
///
/// Thread rule: that thread.
class Executor {
  public:
    virtual ~Executor() = default;

    /// Once, before the first turn: cpus, scheduling and name of the calling thread.
    virtual void settle(Node& node) = 0;
    /// One look at the ranks of the process, with work for those that need it, and what comes until
    /// the next look. Called until the thread is to end; what it sleeps in, ends then.
    virtual void turn(Worker& worker, Agent& thread) = 0;
};

/// The one that the knobs ask for. Requires: not HEADWAY_PROGRESS=none.
std::unique_ptr<Executor> make_executor(const Node& node);

/// Whether the executor looks by itself all the time, so that nobody has to wake it.
bool is_polled(const Node& node) noexcept;

/// Whether a thread on a cpu of its own works for the ranks of every process.
bool has_dedicated_cpus(const Node& node) noexcept;

}  // namespace headway::engine
