// SPDX-License-Identifier: Apache-2.0
#include "engine/passive_wait.hpp"

#include <algorithm>

#include "engine/away.hpp"
#include "engine/bedding.hpp"
#include "engine/executor.hpp"
#include "platform/cpu.hpp"

namespace headway::engine {

namespace {

/// For which a rank with a core of its own looks at its slot before it sleeps.
constexpr std::int64_t look_ns = 20'000;
/// Looks between two looks at the clock.
constexpr unsigned looks_a_clock = 64;

/// A user's reduction is the rank's own to run, and nobody rings for it: so the rank looks for it
/// now and then, and after some time waits by itself, where standstills are found.
constexpr std::int64_t nap_ns = 1'000'000;
constexpr int naps_max = 50;

/// While it lives, the threads of dedicated cpus look at the rank although no call has left
/// anything open.
class Passive {
  public:
    explicit Passive(RankState& rank) : rank_(rank) { set(1); }
    ~Passive() { set(0); }
    Passive(const Passive&) = delete;
    Passive& operator=(const Passive&) = delete;

  private:
    // Relaxed: see RankState::is_passive.
    void set(std::uint32_t value) noexcept
    {
        rank_.is_passive.store(value, std::memory_order_relaxed);
    }

    RankState& rank_;
};

/// Until the slot is signalled, or a nap is over.
void rest(Node& node, sync::ThreadSlot& slot)
{
    if (node.is_oversubscribed) {
        // Whoever is to send may need this core.
        platform::yield_core();
    } else {
        const std::int64_t end_ns = platform::monotonic_ns() + look_ns;
        for (unsigned look = 0; !slot.has_signal(); ++look) {
            if (look % looks_a_clock == looks_a_clock - 1 && platform::monotonic_ns() >= end_ns) {
                break;
            }
            platform::cpu_relax();
        }
    }
    if (slot.prepare_sleep(sync::Bed::own_slot)) {
        (void)slot.sleep(platform::Deadline::after_ns(nap_ns));
    }
    (void)slot.end_sleep();
}

}  // namespace

bool waits_passively(Driver& driver, std::span<Op* const> ops)
{
    const Node& node = driver.node();
    if (!has_dedicated_cpus(node) || node.knobs.wait == config::WaitChoice::active ||
        node.shares_workers || driver.lock().is_enabled() || driver.lock().is_nested()) {
        return false;
    }
    return std::ranges::any_of(ops, [](const Op* op) { return op != nullptr; });
}

bool wait_passively(Driver& driver, Condition condition, std::span<Op* const> ops,
                    std::int32_t needed)
{
    Bedding bedding(driver, ops, needed);
    if (!bedding.is_made()) {
        return false;
    }
    RankState& rank = driver.rank();
    for (int nap = 0; nap < naps_max; ++nap) {
        if (condition()) {
            return true;
        }
        if (rank.stalled_graphs != nullptr || rank.lacks_memory) {
            return false;
        }
        {
            const Passive passive(rank);
            leave_word(driver);
            if (driver.worker().has_asked()) {
                driver.worker().hand_over();
            }
            rest(driver.node(), bedding.slot());
            take_word(driver);
        }
        driver.progress();
    }
    return condition();
}

}  // namespace headway::engine
