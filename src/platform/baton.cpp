// SPDX-License-Identifier: Apache-2.0
#include "platform/baton.hpp"

#include <algorithm>
#include <climits>
#include <limits>
#include <utility>

#include "base/mix.hpp"
#include "platform/fatal.hpp"
#include "platform/futex.hpp"

namespace headway::platform {

namespace {

constexpr std::int64_t never_ns = std::numeric_limits<std::int64_t>::max();
/// The most that a step takes, and what giving the core away takes.
constexpr std::uint64_t step_ns_max = 100;
constexpr std::uint64_t yield_ns_max = 400;
/// The longest run of scheduling points without a change of threads, on average: by seed.
constexpr std::uint64_t switch_one_in_max = 8;
/// One step in so many ends with the thread off its core for a while, as when the system gives it
/// to somebody else: up to 2^16 ns.
constexpr std::uint64_t stall_one_in = 256;
constexpr std::uint64_t stall_bits_max = 17;
/// One sleep in so many ends without a cause, as futexes may.
constexpr std::uint64_t early_one_in = 32;

}  // namespace

struct Scheduler::Seat {
    /// 1: the baton is the seat's. Written by who gives it and by the seat's thread; a futex.
    std::atomic<std::uint32_t> turn{0};
    /// 1: its thread has left. A futex of the baton's own.
    std::atomic<std::uint32_t> has_left{0};
    std::uint32_t number = 0;
    std::string name;
    const WaitNote* note = nullptr;
    /// What it sleeps on; null: a wake-up came, or it does not sleep.
    const std::atomic<std::uint32_t>* word = nullptr;
    /// It is ready from this moment on.
    std::int64_t ready_ns = 0;
};

Baton::Baton(std::uint64_t seed)
    : Scheduler(true), seed_(seed), random_(base::mix(seed + 1)), now_ns_(first_ns)
{
    switch_one_in_ = 1 + draw() % switch_one_in_max;
    current_ = add_seat();
    name_seat("the program");
    own_scheduler = this;
}

Baton::~Baton()
{
    own_scheduler = nullptr;
}

std::uint64_t Baton::draw() noexcept
{
    random_ += 0x9E3779B97F4A7C15U;
    return base::mix(random_);
}

bool Baton::is_ready(const Seat& seat) const noexcept
{
    return seat.ready_ns <= now_ns_;
}

/// A seat that is ready, by chance, not `except` if there is another. Time goes on to the first
/// deadline where none is.
Scheduler::Seat& Baton::pick(const Seat* except) noexcept
{
    std::uint64_t ready = 0;
    std::int64_t earliest_ns = never_ns;
    for (const auto& seat : seats_) {
        if (seat.get() != except) {
            ready += is_ready(*seat) ? 1U : 0U;
            earliest_ns = std::min(earliest_ns, seat->ready_ns);
        }
    }
    if (ready == 0) {
        if (except != nullptr) {
            return *current_;
        }
        if (earliest_ns == never_ns) {
            report_standstill();
        }
        now_ns_ = earliest_ns;
        return pick();
    }
    std::uint64_t chosen = draw() % ready;
    for (const auto& seat : seats_) {
        if (seat.get() != except && is_ready(*seat) && chosen-- == 0) {
            return *seat;
        }
    }
    return *current_;
}

void Baton::pass_to(Seat& next) noexcept
{
    digest_ = base::mix(digest_ ^ (static_cast<std::uint64_t>(now_ns_) << 12 ^ next.number));
    Seat& own = *current_;
    if (&next == &own) {
        return;
    }
    current_ = &next;
    // (1) release, pairs with (2): the next one sees all that was done before it.
    next.turn.store(1, std::memory_order_release);
    system_wake(next.turn, 1);
    take_seat(&own);
}

void Baton::take_seat(Seat* seat) noexcept
{
    own_scheduler = this;
    // (2) acquire, pairs with (1) and (3).
    while (seat->turn.load(std::memory_order_acquire) == 0) {
        (void)system_wait(seat->turn, 0, never_ns);
    }
    seat->turn.store(0, std::memory_order_relaxed);  // relaxed: its thread's own until (1)
}

void Baton::leave_seat() noexcept
{
    Seat& own = *current_;
    own.has_left.store(1, std::memory_order_relaxed);  // relaxed: the baton orders it
    wake(own.has_left, INT_MAX);
    own.ready_ns = never_ns;
    own.note = nullptr;
    Seat& next = pick();
    digest_ = base::mix(digest_ ^ (static_cast<std::uint64_t>(now_ns_) << 12 ^ next.number));
    current_ = &next;
    own_scheduler = nullptr;
    // (3) release, pairs with (2), as (1).
    next.turn.store(1, std::memory_order_release);
    system_wake(next.turn, 1);
}

void Baton::remove_seat(Seat* seat) noexcept
{
    seat->has_left.store(1, std::memory_order_relaxed);  // relaxed: the baton orders it
    seat->ready_ns = never_ns;
}

Scheduler::Seat* Baton::add_seat()
{
    seats_.push_back(std::make_unique<Seat>());
    Seat* const seat = seats_.back().get();
    seat->number = static_cast<std::uint32_t>(seats_.size() - 1);
    seat->name = "thread " + std::to_string(seat->number);
    return seat;
}

void Baton::wait_for_end(Seat* seat) noexcept
{
    while (seat->has_left.load(std::memory_order_relaxed) == 0) {  // relaxed: the baton orders it
        (void)wait(seat->has_left, 0, never_ns);
    }
}

/// The thread is not ready before `moment_ns`, unless somebody makes it so.
void Baton::sleep_until(std::int64_t moment_ns) noexcept
{
    Seat& own = *current_;
    own.ready_ns = moment_ns;
    pass_to(pick());
    own.ready_ns = 0;
}

void Baton::step() noexcept
{
    ++steps_;
    const std::uint64_t chance = draw();
    now_ns_ += static_cast<std::int64_t>(1 + chance % step_ns_max);
    if ((chance >> 16) % stall_one_in == 0) {
        const std::uint64_t longest_ns = std::uint64_t{1} << (chance >> 32) % stall_bits_max;
        sleep_until(now_ns_ + static_cast<std::int64_t>(draw() % longest_ns));
    } else if ((chance >> 40) % switch_one_in_ == 0) {
        pass_to(pick());
    }
}

void Baton::yield() noexcept
{
    ++steps_;
    now_ns_ += static_cast<std::int64_t>(1 + draw() % yield_ns_max);
    pass_to(pick(current_));
}

FutexWait Baton::wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                      std::int64_t deadline_ns) noexcept
{
    step();
    // Relaxed: the baton orders all threads, and nobody else runs until we sleep.
    if (word.load(std::memory_order_relaxed) != expected) {
        return FutexWait::value_differed;
    }
    if (draw() % early_one_in == 0) {
        yield();
        return FutexWait::awake;
    }
    Seat& own = *current_;
    own.word = &word;
    sleep_until(deadline_ns);
    return std::exchange(own.word, nullptr) == nullptr ? FutexWait::awake : FutexWait::timed_out;
}

void Baton::wake(const std::atomic<std::uint32_t>& word, int count) noexcept
{
    const std::size_t begin = draw() % seats_.size();
    for (std::size_t i = 0; i < seats_.size() && count > 0; ++i) {
        Seat& seat = *seats_[(begin + i) % seats_.size()];
        if (seat.word == &word) {
            seat.word = nullptr;
            seat.ready_ns = now_ns_;
            --count;
        }
    }
}

void Baton::name_seat(const char* name) noexcept
{
    current_->name = name;
}

const WaitNote* Baton::exchange_note(const WaitNote* note) noexcept
{
    return std::exchange(current_->note, note);
}

void Baton::report_standstill() noexcept
{
    std::string sentence =
        "the simulated job has come to a standstill after " + std::to_string(steps_) + " steps: ";
    // The first seat only waits for the others.
    for (std::size_t i = 1; i < seats_.size(); ++i) {
        const Seat& seat = *seats_[i];
        // Relaxed: nobody else runs.
        const bool has_left = seat.has_left.load(std::memory_order_relaxed) != 0;
        sentence +=
            seat.name + (has_left               ? " has ended"
                         : seat.note != nullptr ? " waits for " + seat.note->text(*seat.note)
                                                : " sleeps");
        sentence += i + 1 < seats_.size() ? ", " : "";
    }
    fatal(-1, sentence + "; HEADWAY_SIM=" + std::to_string(seed_) + " repeats it");
}

}  // namespace headway::platform
