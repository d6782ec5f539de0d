// SPDX-License-Identifier: Apache-2.0
#include "engine/wait.hpp"

#include <algorithm>
#include <mutex>
#include <optional>

#include "engine/bedding.hpp"
#include "engine/copy_job.hpp"
#include "engine/famine.hpp"
#include "engine/observation.hpp"
#include "engine/passive_wait.hpp"
#include "engine/shared_task.hpp"
#include "engine/siblings.hpp"
#include "engine/staged_pieces.hpp"
#include "engine/standing_back.hpp"
#include "engine/standstill.hpp"
#include "engine/wait_note.hpp"
#include "platform/cpu.hpp"
#include "platform/process_barrier.hpp"
#include "platform/thread.hpp"

namespace headway::engine {

namespace {

/// Sweeps between two looks at the clock.
constexpr unsigned sweeps_a_look = 32;

/// Sweeps for nothing before a thread with a core of its own works for others, half a microsecond:
/// a peer that is away between two calls comes back and copies its message itself, while this rank
/// copies its own. Work for it would do one after the other.
constexpr unsigned sweeps_before_help = 6;

/// How much longer a rank looks while a long message moves, of which it hears nothing until all is
/// there: as long as a slow network takes (100 MB/s). Who sleeps meanwhile leaves the copying in
/// and out of sockets to a thread that has to be woken for every part.
constexpr std::int64_t bulk_ns_a_byte = 10;

/// How many times as long a wait looks where ranks share cores: who wakes up meets another rank on
/// its core, and is moved to another one, away from its caches. A core that nobody else wants
/// meanwhile would idle (docs/design/025).
constexpr std::int64_t patience_on_shared_cores = 5;

/// How long a user-level rank looks for what another core is about to tell it: some five times what
/// it takes to sleep and to be woken.
constexpr std::int64_t other_core_ns = 20'000;

/// Looks for that between two sweeps, half a microsecond: what a sweep looks at, others use too.
constexpr unsigned looks_a_sweep = 16;

/// While it lives, the thread has given its core away, or is about to.
class Absence {
  public:
    explicit Absence(Driver& driver)
        : presence_(driver.node().shows_presence() ? &driver.rank().presence : nullptr)
    {
        if (presence_ != nullptr) {
            presence_->go();
        }
    }
    ~Absence()
    {
        if (presence_ != nullptr) {
            presence_->come(platform::current_processor());
        }
    }
    Absence(const Absence&) = delete;
    Absence& operator=(const Absence&) = delete;

  private:
    Presence* presence_;
};

/// How a waiting thread spends its time until it sleeps: it sweeps for a while if every rank has
/// a core, else it gives its core away after each sweep, a number of times and for a while. A
/// user-level rank gives it away as often, but sleeps at no cost; one that waits for another core
/// does both in turn for a while, as its worker has nothing else to run.
class Patience {
  public:
    Patience(Driver& driver, WaitReason reason)
        : driver_(&driver),
          yields_left_(driver.node().knobs.yields),
          may_spin_(!driver.node().is_oversubscribed),
          looks_at_other_core_(reason == WaitReason::other_core && driver.node().shares_workers),
          spin_ns_(static_cast<std::int64_t>(driver.node().knobs.spin_us) * 1000),
          sharing_ns_(sharing_ns(driver.node(), looks_at_other_core_, spin_ns_))
    {
    }

    bool spins() const noexcept { return may_spin_; }

    /// How often the caller should look, after a sweep, whether its condition holds.
    unsigned looks() const noexcept { return looks_at_other_core_ ? looks_a_sweep : 1; }

    /// True while the caller should sweep again; gives the core away where that is due.
    bool goes_on()
    {
        if (may_spin_ && is_spinning()) {
            return true;
        }
        if (!has_turn_left()) {
            return false;
        }
        const Absence away(*driver_);
        if (driver_->lock().is_enabled()) {
            driver_->lock().stand_back(1);  // who runs now may be a thread of this rank
        } else {
            platform::yield_core();
        }
        return true;
    }

  private:
    static std::int64_t sharing_ns(const Node& node, bool looks_at_other_core, std::int64_t spin_ns)
    {
        if (looks_at_other_core) {
            return other_core_ns;
        }
        // Who has asked for no yields sleeps at once.
        const bool lasts = node.is_oversubscribed && !node.shares_workers && node.knobs.yields != 0;
        return lasts ? spin_ns * patience_on_shared_cores : 0;
    }

    bool has_turn_left()
    {
        const bool is_left = yields_left_ != 0 && !looks_at_other_core_;
        yields_left_ -= is_left ? 1 : 0;
        if (sharing_ns_ == 0 || (is_left && spin_until_ns_ != 0)) {
            return is_left;
        }
        const std::int64_t now_ns = platform::monotonic_ns();
        if (spin_until_ns_ == 0) {
            spin_until_ns_ = now_ns + sharing_ns_;
        }
        return is_left || now_ns < spin_until_ns_;
    }

    bool is_spinning()
    {
        if (++sweeps_ % sweeps_a_look != 0) {
            return true;
        }
        const std::int64_t now_ns = platform::monotonic_ns();
        if (spin_until_ns_ == 0) {
            spin_until_ns_ = now_ns + spin_ns_;
        }
        const auto bulk_bytes = static_cast<std::int64_t>(driver_->bytes_under_way());
        // Who has asked for no spinning gets none.
        may_spin_ = spin_ns_ != 0 && now_ns < spin_until_ns_ + bulk_bytes * bulk_ns_a_byte;
        return may_spin_;
    }

    Driver* driver_;
    std::uint64_t yields_left_;
    bool may_spin_;
    bool looks_at_other_core_;
    std::int64_t spin_ns_;
    std::int64_t sharing_ns_;  ///< of giving the core away; 0: `yields_left_` alone counts
    std::int64_t spin_until_ns_ = 0;
    unsigned sweeps_ = 0;
};

/// Tells receivers of this rank's messages that it will do its share of the copying.
class Waiting {
  public:
    explicit Waiting(RankState& rank) : rank_(rank)
    {
        add(1);
        rank.send_habit.forget();
    }
    ~Waiting()
    {
        add(-1);
        // Relaxed: a hint.
        rank_.left_at.store(platform::ticks(), std::memory_order_relaxed);
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

  private:
    void add(int threads) noexcept
    {
        // Relaxed: a hint with one writer at a time.
        const std::uint32_t before = rank_.waiting_threads.load(std::memory_order_relaxed);
        rank_.waiting_threads.store(before + static_cast<std::uint32_t>(threads),
                                    std::memory_order_relaxed);
    }

    RankState& rank_;
};

/// What a waiting thread does: sweeps, copies a piece of its rank's long messages, and where there
/// is neither, works for ranks that compute, if it may. The number of events.
int work_once(Driver& driver, CopyShare share)
{
    int events = driver.progress();
    if (copy_next(driver, share)) {
        ++events;
    }
    if (events == 0 && share != CopyShare::own && driver.worker().help()) {
        ++events;
    }
    return events;
}

/// In the set of idle ranks while the thread sleeps.
class Idle {
  public:
    explicit Idle(Driver& driver) : driver_(driver)
    {
        driver_.node().directory.idle.add(driver_.rank().rank);
    }
    ~Idle()
    {
        if (!driver_.node().directory.idle.remove(driver_.rank().rank)) {
            driver_.worker().take_over();
        }
    }
    Idle(const Idle&) = delete;
    Idle& operator=(const Idle&) = delete;

  private:
    Driver& driver_;
};

/// Sleeps on the rank's ownership word, where messages wake the thread too.
void park(Driver& driver, Condition condition, Bedding& bedding, Elsewhere& elsewhere)
{
    RankLock& lock = driver.lock();
    sync::ThreadSlot& slot = bedding.slot();
    sync::OwnershipWord& word = driver.rank().ownership;
    if (!slot.prepare_sleep(sync::Bed::ownership_word)) {
        (void)slot.end_sleep();
        return;
    }
    lock.set_parker(true);
    platform::scheduling_point();
    // The sweep between prepare_park and park is what makes a lost wake-up impossible.
    if (word.prepare_park()) {
        if (driver.node().parks_with_barrier) {
            platform::pass_process_barrier();
        }
        const Idle idle(driver);
        const LeftToOthers left(elsewhere);
        // What has come for others of the process, who listens hears of last, and nobody else does.
        if (work_once(driver, CopyShare::any) == 0 && !condition() && !has_to_stage(driver) &&
            driver.listen() && !driver.worker().has_asked()) {
            const std::int64_t asleep_ns = observe::span_begin(driver.tracer());
            const std::int64_t due_ns = driver.look_again_ns();
            const Absence away(driver);
            const platform::Deadline alarm = left.alarm(bedding.alarm());
            lock.unlock();
            if (due_ns != 0) {
                word.park(platform::earlier(platform::Deadline::at_ns(due_ns), alarm));
            } else {
                sleep_until_rung(driver, alarm);
            }
            lock.lock();
            record_sleep(driver, asleep_ns);
            auto& parks = driver.rank().counters.parks;
            // Relaxed: a statistic with one writer.
            parks.store(parks.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        }
        (void)word.end_park();
    }
    lock.set_parker(false);
    (void)slot.end_sleep();
}

/// What a thread has begun while another one of its rank is parked, a copy from that one's message
/// say, nobody else knows of: the thread sees to it until it is over, or there is nothing that it
/// can do. What can be done later only, the parked one takes into account when it lies down again.
void sweep_beside_parker(Driver& driver, Condition condition)
{
    RankLock& lock = driver.lock();
    while (!condition() && work_once(driver, CopyShare::any) != 0) {
        lock.wake_sleepers();
    }
    if (has_to_stage(driver) || driver.look_again_ns() != 0 || !driver.listen()) {
        driver.rank().ownership.notify_parked();
    }
    if (driver.worker().has_asked()) {
        driver.worker().hand_over();
    }
}

/// How often a thread beside the leader looks whether its ops are complete before it sleeps.
constexpr std::uint64_t looks_beside = 50;

/// Waits in the thread's own slot: another thread of the rank makes progress for both.
/// `is_for_all`: any event may be what this thread waits for.
void sleep_beside(Driver& driver, Condition condition, Bedding& bedding, bool is_for_all,
                  Elsewhere& elsewhere)
{
    if (elsewhere.has_ops()) {
        elsewhere.visit();
    }
    RankLock& lock = driver.lock();
    sync::ThreadSlot& slot = bedding.slot();
    if (lock.has_parker()) {
        sweep_beside_parker(driver, condition);
    }
    lock.add_sleeper(&slot, is_for_all);
    auto& sleeps = driver.rank().threads.sleeps;
    // Relaxed: see ThreadsOfRank.
    sleeps.store(sleeps.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (is_for_all && driver.node().parks_with_barrier) {
        platform::pass_process_barrier();  // as who parks: it may wait for marks of other ranks
    }
    if (!condition()) {
        const std::int64_t asleep_ns = observe::span_begin(driver.tracer());
        lock.unlock();
        const std::uint64_t looks = std::min(looks_beside, driver.node().knobs.yields);
        for (std::uint64_t look = 0; look < looks && !slot.has_signal(); ++look) {
            platform::yield_core();
        }
        if (slot.prepare_sleep(sync::Bed::own_slot)) {
            (void)slot.sleep(elsewhere.alarm(bedding.alarm()));
        }
        lock.lock();
        record_sleep(driver, asleep_ns);
    }
    (void)slot.end_sleep();
    lock.remove_sleeper(&slot);
}

void sleep_once(Driver& driver, Condition condition, Bedding& bedding, Elsewhere& elsewhere)
{
    RankLock& lock = driver.lock();
    if (lock.has_parker()) {
        if (lock.is_nested()) {
            return;  // its sleep would keep the parker out
        }
        sleep_beside(driver, condition, bedding, true, elsewhere);
        return;
    }
    park(driver, condition, bedding, elsewhere);
    if (lock.has_sleepers()) {
        // What this thread's sweeps do may be what they wait for; or it leaves and one of them
        // must become the parker.
        lock.wake_sleepers();
    }
}

/// Sweeps until the condition holds (true) or the thread's patience is over. `has_swept`: the
/// caller has just done so for nothing; where whoever could change that waits for this thread's
/// worker, it comes first.
bool sweep(Driver& driver, Condition condition, std::span<Op* const> ops, WaitReason reason,
           bool has_swept, Elsewhere& elsewhere)
{
    RankLock& lock = driver.lock();
    Patience patience(driver, reason);
    unsigned idle_sweeps = 0;
    News news(driver.rank(), ops);
    StandingBack standing_back(lock, news, elsewhere.has_threads());
    if (has_swept && driver.node().shares_workers && !patience.goes_on()) {
        return false;
    }
    do {
        const bool may_help = idle_sweeps >= sweeps_before_help || !patience.spins();
        ++idle_sweeps;
        news.forget();
        if (work_once(driver, may_help ? CopyShare::all : CopyShare::own) != 0) {
            idle_sweeps = 0;
            patience = Patience(driver, reason);
            if (lock.has_sleepers()) {
                lock.wake_sleepers();
            }
        }
        if (holds_soon(condition, patience.looks())) {
            return true;
        }
        elsewhere.visit();
        if (help_with_task(driver)) {
            patience = Patience(driver, reason);
            continue;
        }
        standing_back.once();
    } while (patience.goes_on());
    return false;
}

/// Waits as older libraries do, for comparisons: whatever completes, every thread of the process
/// looks by itself, one at a time, and the others sleep in the system's mutex until it is theirs.
/// It comes before the rank's lock; a thread inside a user's function, which cannot leave that,
/// passes it by.
void race(Driver& driver, Condition condition)
{
    static std::mutex progress_mutex;
    RankLock& lock = driver.lock();
    while (!condition()) {
        if (lock.is_nested()) {
            (void)work_once(driver, CopyShare::any);
            lock.stand_back(1);
            continue;
        }
        lock.unlock();
        const std::lock_guard guard(progress_mutex);
        lock.lock();
        (void)work_once(driver, CopyShare::any);
    }
}

/// The lead among the waiting threads of a rank, if the thread takes it, for the length of a wait.
class Lead {
  public:
    explicit Lead(RankLock& lock) : lock_(lock), had_it_(lock.is_enabled() && lock.leads()) {}
    ~Lead()
    {
        if (!lock_.is_enabled() || had_it_) {
            return;
        }
        if (lock_.leads()) {
            lock_.leave_lead();
        } else {
            // It was woken to lead perhaps.
            lock_.wake_leader();
        }
    }
    Lead(const Lead&) = delete;
    Lead& operator=(const Lead&) = delete;

    bool take() { return !lock_.is_enabled() || lock_.take_lead(); }

  private:
    RankLock& lock_;
    bool had_it_;  ///< this wait is inside another one of the same thread
};

/// Whether a thread that does not lead has somebody to wait for it: whoever leads. One inside a
/// user's function would keep him out.
bool can_wait_beside(const RankLock& lock, std::span<Op* const> ops)
{
    return !lock.is_nested() &&
           std::ranges::any_of(ops, [](const Op* op) { return op != nullptr; });
}

}  // namespace

void wait_slowly(Driver& driver, Condition condition, std::span<Op* const> ops, std::int32_t needed,
                 WaitReason reason)
{
    if (waits_passively(driver, ops) && wait_passively(driver, condition, ops, needed)) {
        return;
    }
    const Waiting waiting(driver.rank());
    const WaitNote note(ops, reason);
    const platform::NotedWait noted(note);
    LateWait late(driver, note);
    if (driver.node().knobs.thread_waits == config::ThreadWaitsChoice::race &&
        driver.lock().is_shared()) {
        race(driver, condition);
        return;
    }
    std::optional<Bedding> bedding;
    Famine famine;
    Lead lead(driver.lock());
    Elsewhere elsewhere(driver, ops);
    const auto look_around = [&] {
        if (is_standing_still(driver)) [[unlikely]] {
            report_standstill(driver, note);
        }
        if (!condition()) {
            late.tell_if_due();
            (void)help_with_task(driver);
        }
        bedding->set_alarm(late.alarm());
    };
    for (bool has_swept = true;; has_swept = false) {
        const bool leads = lead.take();
        if (leads && sweep(driver, condition, ops, reason, has_swept, elsewhere)) {
            return;
        }
        if (!bedding.has_value()) {
            bedding.emplace(driver, ops, needed);
            bedding->set_alarm(late.alarm());
        }
        if (!leads) {
            if (bedding->is_made() && can_wait_beside(driver.lock(), ops)) {
                sleep_beside(driver, condition, *bedding, false, elsewhere);
                if (condition()) {
                    return;
                }
                look_around();
                continue;
            }
            if (sweep(driver, condition, ops, reason, has_swept, elsewhere)) {
                return;
            }
        }
        // What lacks memory goes on when somebody frees some, which rings nobody's bell:
        // the thread stays awake, giving its core away, until it could.
        if (driver.rank().stalled_graphs != nullptr || driver.rank().lacks_memory) {
            famine.endure(driver.rank().job_rank);
            continue;
        }
        famine = Famine();
        if (bedding->is_made()) {
            sleep_once(driver, condition, *bedding, elsewhere);
            look_around();
        }
    }
}

}  // namespace headway::engine
