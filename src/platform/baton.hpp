// SPDX-License-Identifier: Apache-2.0
//
// Threads of one process that run one at a time, over a clock of their own: whoever has the baton
// runs. At a scheduling point it may go to another thread; which one, and when, follows from a
// seed and from nothing else, so that a run can be repeated. The threads are ordinary ones; those
// without the baton sleep on a futex of the system.
//
// Invariant: only the thread with the baton reads or writes anything here but its own turn.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "platform/scheduler.hpp"

namespace headway::platform {

class Baton final : public Scheduler {
  public:
    /// The calling thread gets the first seat, and the baton.
    explicit Baton(std::uint64_t seed);
    /// Requires: the thread that made it, and all other seats left.
    ~Baton();

    std::int64_t now_ns() const noexcept override { return now_ns_; }
    void step() noexcept override;
    void yield() noexcept override;
    FutexWait wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                   std::int64_t deadline_ns) noexcept override;
    void wake(const std::atomic<std::uint32_t>& word, int count) noexcept override;
    Seat* add_seat() override;
    void take_seat(Seat* seat) noexcept override;
    void leave_seat() noexcept override;
    void remove_seat(Seat* seat) noexcept override;
    void wait_for_end(Seat* seat) noexcept override;
    void name_seat(const char* name) noexcept override;
    const WaitNote* exchange_note(const WaitNote* note) noexcept override;

    std::uint64_t seed() const noexcept { return seed_; }
    /// Virtual time since it was made.
    std::int64_t elapsed_ns() const noexcept { return now_ns_ - first_ns; }
    /// Scheduling points so far.
    std::uint64_t steps() const noexcept { return steps_; }
    /// A number that two runs share if the same threads got the baton at the same moments.
    std::uint64_t digest() const noexcept { return digest_; }

  private:
    /// When virtual time begins: not at 0, which stands for "no moment" in many places.
    static constexpr std::int64_t first_ns = 1'000'000'000;

    std::uint64_t draw() noexcept;
    bool is_ready(const Seat& seat) const noexcept;
    Seat& pick(const Seat* except = nullptr) noexcept;
    void pass_to(Seat& next) noexcept;
    void sleep_until(std::int64_t moment_ns) noexcept;
    [[noreturn]] void report_standstill() noexcept;

    const std::uint64_t seed_;
    std::uint64_t random_;
    std::uint64_t switch_one_in_;  ///< scheduling points from one change of threads to the next
    std::int64_t now_ns_;
    std::uint64_t steps_ = 0;
    std::uint64_t digest_ = 0;
    Seat* current_ = nullptr;
    std::vector<std::unique_ptr<Seat>> seats_;
};

}  // namespace headway::platform
