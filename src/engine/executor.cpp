// SPDX-License-Identifier: Apache-2.0
#include "engine/executor.hpp"

#include "engine/agent.hpp"
#include "engine/node.hpp"
#include "engine/worker.hpp"
#include "platform/cpu.hpp"
#include "platform/process.hpp"
#include "platform/thread.hpp"

namespace headway::engine {

namespace {

using config::ProgressChoice;

/// Between two looks of an agent that is asked all the time.
constexpr std::int64_t patrol_ns = 1'000'000;

/// For which it leaves copies to the ranks where there is no idle core.
constexpr std::int64_t grace_ns = 5'000'000;

/// The ranks of this process in a set of those that are wanted.
bool sweep_set(Worker& worker, RankSet& wanted)
{
    Node& node = worker.node();
    bool has_worked = false;
    for (std::uint32_t rank = wanted.next(); rank != ranks_per_node_max;
         rank = wanted.next(rank + 1)) {
        RankState& state = node.rank_state(rank);
        if (state.process == node.own_process && wanted.remove(rank)) {
            // Relaxed: a statistic with one writer.
            node.own_entry().agent_turns.fetch_add(1, std::memory_order_relaxed);
            worker.work_for(state);
            has_worked = true;
        }
    }
    return has_worked;
}

/// And whom the work for them found away.
bool sweep_wanted(Worker& worker)
{
    Directory& directory = worker.node().directory;
    const bool has_worked = sweep_set(worker, directory.wanted_at_home);
    const bool has_helped = sweep_set(worker, directory.wanted) || has_worked;
    return (worker.has_asked() && worker.help()) || has_helped;
}

/// Sleeps until it is asked: the agent.
class AskedExecutor final : public Executor {
  public:
    void settle(Node& node) override
    {
        platform::name_thread("headway-agent");
        platform::allow_cpus(node.cpus());
        // Where frames are delayed, it is asked to see that one is on its way: each step of a
        // collective would wait for a turn of whoever computes.
        if (node.schedule.withholds()) {
            platform::take_short_turns();
        } else {
            platform::give_way();
        }
    }

    void turn(Worker& worker, Agent& thread) override
    {
        worker.defer_copies(!worker.node().has_idle_cores);
        while (!worker.has_deferred() && sweep_wanted(worker)) {
        }
        if (worker.has_deferred()) {
            if (thread.nap(grace_ns)) {
                worker.defer_copies(false);
                while (sweep_wanted(worker)) {
                }
            }
            return;
        }
        if (pace_.is_patrol()) {
            if (thread.nap(patrol_ns) && !sweep_wanted(worker)) {
                pace_.end_patrol();
            }
            return;
        }
        platform::scheduling_point();
        ProcessEntry& entry = worker.node().own_entry();
        if (entry.agent_bed.prepare_park()) {
            if (!sweep_wanted(worker) && !thread.must_end()) {
                entry.agent_bed.park();
                pace_.count_wake();
                // Relaxed: a statistic.
                entry.agent_wakes.fetch_add(1, std::memory_order_relaxed);
            }
            (void)entry.agent_bed.end_park();
        }
    }

  private:
    Pace pace_;
};

/// What an executor that looks by itself does where it has found nothing.
enum class Pause : std::uint8_t { yield, nap, spin };

/// One thread runs at a time: whoever spins keeps the others from running.
bool is_simulated() noexcept
{
    return platform::own_scheduler != nullptr && platform::own_scheduler->is_simulated();
}

/// Looks by itself, all the time or each so often.
class PollingExecutor final : public Executor {
  public:
    PollingExecutor(const char* name, void (*take_place)(Node&), Pause pause,
                    std::int64_t interval_ns)
        : name_(name), take_place_(take_place), pause_(pause), interval_ns_(interval_ns)
    {
    }

    void settle(Node& node) override
    {
        take_place_(node);
        // Last: who finds the name finds the thread in its place.
        platform::name_thread(name_);
    }

    void turn(Worker& worker, Agent& thread) override
    {
        worker.work_for_all();
        const bool has_worked = sweep_wanted(worker);
        if (pause_ == Pause::nap) {
            while (sweep_wanted(worker)) {
            }
            (void)thread.nap(interval_ns_);
        } else if (!has_worked) {
            if (pause_ == Pause::spin && !is_simulated()) {
                platform::cpu_relax();
            } else {
                platform::yield_core();
            }
        }
    }

  private:
    const char* const name_;
    void (*const take_place_)(Node&);
    const Pause pause_;
    const std::int64_t interval_ns_;  ///< of naps
};

void share_cpus(Node& node)
{
    platform::allow_cpus(node.cpus());
}

void share_cpus_and_give_way(Node& node)
{
    share_cpus(node);
    platform::give_way();
}

void share_idle_cpus(Node& node)
{
    share_cpus(node);
    platform::give_way_to_all();
}

/// Processes share the dedicated cpus out among themselves; in a simulation there are none.
void take_dedicated_cpu(Node& node)
{
    const auto& cpus = node.dedicated_cpus;
    if (!cpus.empty()) {
        platform::allow_cpus({cpus[node.own_process % cpus.size()]});
    }
}

}  // namespace

bool is_polled(const Node& node) noexcept
{
    return node.knobs.progress != ProgressChoice::none &&
           node.knobs.progress != ProgressChoice::agent;
}

bool has_dedicated_cpus(const Node& node) noexcept
{
    return node.knobs.progress == ProgressChoice::dedicated;
}

std::unique_ptr<Executor> make_executor(const Node& node)
{
    switch (node.knobs.progress) {
        case ProgressChoice::thread:
            return std::make_unique<PollingExecutor>("headway-thread", share_cpus_and_give_way,
                                                     Pause::yield, 0);
        case ProgressChoice::idle:
            return std::make_unique<PollingExecutor>("headway-idle", share_idle_cpus, Pause::yield,
                                                     0);
        case ProgressChoice::timer:
            return std::make_unique<PollingExecutor>(
                "headway-timer", share_cpus, Pause::nap,
                static_cast<std::int64_t>(node.knobs.timer_us) * 1000);
        case ProgressChoice::dedicated: {
            // Where several processes have their threads on one cpu, each lets the others look.
            const bool is_shared = node.directory.process_count > node.dedicated_cpus.size();
            return std::make_unique<PollingExecutor>("headway-cpu", take_dedicated_cpu,
                                                     is_shared ? Pause::yield : Pause::spin, 0);
        }
        default:
            return std::make_unique<AskedExecutor>();
    }
}

}  // namespace headway::engine
