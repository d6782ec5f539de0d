// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <headway/interface.h>

#include "platform/scheduler.hpp"

namespace headway::object {

/// The scheduler of a process whose host program runs ranks in workers of its own: sleeping,
/// yielding and waking are the host's, time is the system's. Threads of the library take part.
/// Any thread.
class HostedScheduler final : public platform::Scheduler {
  public:
    /// `scheduling` outlives all threads.
    explicit HostedScheduler(const headway_scheduling& scheduling) noexcept
        : Scheduler(false), scheduling_(scheduling)
    {
    }
    ~HostedScheduler() = default;

    std::int64_t now_ns() const noexcept override;
    void step() noexcept override {}
    void yield() noexcept override { scheduling_.yield(); }
    platform::FutexWait wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                             std::int64_t deadline_ns) noexcept override;
    void wake(const std::atomic<std::uint32_t>& word, int count) noexcept override
    {
        scheduling_.wake(&word, count);
    }

    // Threads of the library have no seat: their ends are the system's to wait for.
    Seat* add_seat() override { return nullptr; }
    void take_seat(Seat* seat) noexcept override;
    void leave_seat() noexcept override;
    void remove_seat(Seat* /*seat*/) noexcept override {}
    void wait_for_end(Seat* /*seat*/) noexcept override {}
    void name_seat(const char* /*name*/) noexcept override {}
    const platform::WaitNote* exchange_note(const platform::WaitNote* /*note*/) noexcept override
    {
        return nullptr;
    }

  private:
    const headway_scheduling& scheduling_;
};

}  // namespace headway::object
